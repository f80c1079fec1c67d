"""Runs a lesson as JupyterLab would on a learner's machine: in a kernel of its own, in
its own folder, with the packages that set-up installs; pictures as text.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from minikafka.course import places
from tests import learners

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
# a lesson runs in under 60 s, one with Spark in under 90, when the machine has nothing
# else to do
CELL_TIMEOUT_S = 300
# Spark gives a Python worker ten seconds to start, and has no setting for that
STARTED_TOO_LATE = "Python worker failed to connect back"


def notebooks() -> list[Path]:
    """All lessons, and the extra notebooks beside them."""
    return sorted([*places.lessons(), *places.extras()])


def number(path: Path) -> str:
    return path.name[:2]


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def uses_spark(book: NotebookNode) -> bool:
    """Is it one of Spark's lessons? Their outputs vary, so their cells assert what must
    hold.
    """
    return any(
        "course.spark" in cell.source for cell in book.cells if cell.cell_type == "code"
    )


def environment(book: NotebookNode) -> str:
    """Which of a learner's environments it runs in."""
    return "spark" if uses_spark(book) else "lab"


def code_cells(book: NotebookNode) -> list[tuple[int, NotebookNode]]:
    """(index, cell) of the cells that a run executes."""
    return [
        (at, cell)
        for at, cell in enumerate(book.cells)
        if cell.cell_type == "code" and cell.source.strip()
    ]


@contextmanager
def kernel_for(book: NotebookNode) -> Iterator[NotebookClient]:
    """A client with a running kernel; cells are run by `client.execute_cell(cell,
    index)`, which raises on an error.
    """
    os.environ["MINIKAFKA_PICTURES"] = "text"
    share = learners.environment(environment(book)) / "share" / "jupyter"
    sockets = tempfile.TemporaryDirectory(prefix="kernel-")
    options = {
        # a free port may be taken before the kernel binds it; a socket in a folder of
        # its own can't be
        "km": AsyncKernelManager(
            transport="ipc",
            ip=f"{sockets.name}/socket",
            kernel_spec_manager=KernelSpecManager(
                kernel_dirs=[str(share / "kernels")],
            ),
            # Spark's lessons remove their topics when the kernel ends, and a busy
            # machine takes longer for that than Jupyter's five seconds
            shutdown_wait_time=CELL_TIMEOUT_S,
        ),
        "timeout": CELL_TIMEOUT_S,
        "coalesce_streams": True,
    }
    options |= {"iopub_timeout": 120, "startup_timeout": 300}
    client = NotebookClient(
        book, resources={"metadata": {"path": str(NOTEBOOKS)}}, **options
    )
    # cleanup_kc: else a kernel that is given lives on
    with sockets, client.setup_kernel(cleanup_kc=True):
        yield client


def shown(cell: NotebookNode) -> list[tuple[str, str]]:
    """What a reader sees under a cell: (kind, text) of each output."""
    seen = []
    for output in cell.outputs:
        if output.output_type == "stream":
            seen.append((output.name, output.text))
        elif output.output_type == "error":
            seen.append(("error", f"{output.ename}: {output.evalue}"))
        else:
            seen += [(kind, str(text)) for kind, text in sorted(output.data.items())]
    return seen


SPARK = [pytest.mark.spark, pytest.mark.xdist_group("Spark's lessons")]


def marks(path: Path) -> list[pytest.MarkDecorator]:
    """An extra that starts Spark takes minutes: it waits for the night. The lesson beside
    it doesn't.
    """
    if not uses_spark(read(path)):
        return []
    return [*SPARK, pytest.mark.nightly] if path in places.extras() else SPARK


BOOKS = [pytest.param(path, marks=marks(path), id=path.stem) for path in notebooks()]
