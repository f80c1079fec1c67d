"""Rules that are broken on purpose: does a test notice?

mutants.toml lists them: a sentence on what is wrong, a text in a file, the text that
replaces it, and the tests that should fail. Those under `nightly` only `make nightly`
notices, and `why` says why that will do; all others must be noticed by `make test`.

    python -m tests.mutants                  all of them, one after another: some minutes
    python -m tests.mutants ISR retention    those whose sentence has one of these words

Each is applied to a copy of the checkout. The tests must be green without it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_suffix(".toml")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", re.MULTILINE)
GATE = ("-m", "not nightly")


class Unusable(Exception):
    """The text of a mutant doesn't stand in its file, or more than once; or its tests
    don't run.
    """


def copied(to: Path) -> None:
    """What git knows of the checkout, as it is now, and what tests find installed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    for name in (".venv", ".cache"):
        if (ROOT / name).exists():
            (to / name).symlink_to((ROOT / name).resolve())


def apply(mutant: dict[str, str], checkout: Path) -> None:
    path = checkout / mutant["file"]
    text = path.read_text(encoding="utf-8")
    count = text.count(mutant["text"])
    if count != 1:
        raise Unusable(f"{mutant['file']} has the text {count} times")
    text = text.replace(mutant["text"], mutant["becomes"])
    path.write_text(text, encoding="utf-8")


def noticed_by(mutant: dict[str, str], at_night: bool) -> str | None:
    """The first test that fails, or None."""
    with tempfile.TemporaryDirectory(
        prefix="mutant", ignore_cleanup_errors=True
    ) as folder:
        checkout = Path(folder)
        copied(checkout)
        apply(mutant, checkout)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:nbval"),
                *(() if at_night else GATE),
                *shlex.split(mutant["tests"]),
            ],
            cwd=checkout,
            env=os.environ | {"PYTHONPATH": str(checkout)},
            capture_output=True,
            text=True,
        )
    if done.returncode == 0:
        return None
    failed = FAILED.search(done.stdout)
    if done.returncode != 1 or failed is None:
        raise Unusable(f"{mutant['tests']}: {done.stderr or done.stdout}".strip())
    return failed[1]


def chosen(words: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    for kind, mutants in table.items():
        for mutant in mutants:
            if not words or any(word in mutant["broken"] for word in words):
                yield kind, mutant


def main(words: list[str]) -> int:
    missed = 0
    for kind, mutant in chosen(words):
        try:
            test = noticed_by(mutant, at_night=kind == "nightly")
            verdict = f"noticed by {test}" if test else "NOT NOTICED"
        except Unusable as error:
            test, verdict = None, f"UNUSABLE: {error}"
        missed += test is None
        print(f"{kind}: {mutant['broken']}\n    {verdict}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
