"""What pytest collects, as data, for the ledger's evidence and the conformance matrix.

As a plugin (`-p tests.collected --collected FILE`) it writes the list; `collected()`
asks a pytest of its own for it, which runs nothing.
"""

import inspect
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kafka import ROOT

PATIENCE_S = 300


@dataclass(frozen=True)
class Collected:
    """One case. where: `file::name`. case: what stands in brackets behind it. says: its
    docstring. about: the docstring of the function that it is parametrized by. of_module:
    that of the module of this function, else of the test's own.
    """

    where: str
    case: str
    says: str
    about: str
    of_module: str
    marks: tuple[str, ...]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--collected", type=Path, required=True)


def pytest_collection_finish(session: pytest.Session) -> None:
    cases = [asdict(case_of(item)) for item in session.items]
    session.config.option.collected.write_text(json.dumps(cases))


def case_of(item: Any) -> Collected:
    """What an item of pytest says of itself."""
    where, _, case = item.nodeid.partition("[")
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    given = [each for each in params if inspect.isfunction(each)]
    modules = [inspect.getmodule(each) for each in given] or [item.module]
    return Collected(
        where=where,
        case=case.removesuffix("]"),
        says=item.obj.__doc__ or "",
        about=docstrings(given),
        of_module=docstrings(modules),
        marks=tuple(sorted({mark.name for mark in item.iter_markers()})),
    )


def docstrings(things: Iterable[object]) -> str:
    return " ".join(each.__doc__ or "" for each in things)


def collected(paths: Iterable[str]) -> list[Collected]:
    """All cases of these files and folders."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "collected.json")
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p"]
        command += ["tests.collected", "--collected", str(answer), *paths]
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        cases = json.loads(answer.read_text())
    return [Collected(**case | {"marks": tuple(case["marks"])}) for case in cases]
