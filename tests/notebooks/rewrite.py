"""`make notebooks`: runs lessons again and re-writes their stored outputs, text only.
The cells stay as they are.

python -m tests.notebooks.rewrite [01 17 ...]
"""

import copy
import sys

import nbformat
from nbclient.exceptions import CellExecutionError

from tests.notebooks.running import (
    code_cells,
    kernel_for,
    notebooks,
    number,
    read,
    shown,
)


def rewrite(path) -> bool:
    """Re-writes one lesson; returns whether anything changed. A failing cell raises,
    and the file stays as it was.
    """
    before = path.read_text(encoding="utf-8")
    book = read(path)
    metadata = copy.deepcopy(book.metadata)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with kernel_for(book) as client:
        for count, (at, cell) in enumerate(code_cells(book), 1):
            client.execute_cell(cell, at)
            cell.execution_count = count
            cell.metadata.pop("execution", None)
            if "machine" in cell.metadata.get("tags", []):
                cell.outputs = []  # it tells about this machine
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    for _, cell in code_cells(book):
        kinds = {kind for kind, _ in shown(cell)}
        assert kinds <= {
            "stdout",
            "stderr",
            "text/plain",
        }, f"{path.name}, cell {cell.id}: {kinds} in a stored output"
    book.metadata = metadata  # the kernel adds its own Python version
    nbformat.validate(book)
    after = nbformat.writes(book) + "\n"
    if after != before:
        path.write_text(after, encoding="utf-8")
    return after != before


def main(wanted: list[str]) -> int:
    failed = 0
    for path in notebooks():
        if wanted and number(path) not in wanted:
            continue
        try:
            print(
                f"{path.name}: {'changed' if rewrite(path) else 'as it was'}",
                flush=True,
            )
        except (CellExecutionError, AssertionError) as error:
            failed += 1
            print(f"{path.name}: left as it was.\n{error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
