"""Every lesson runs with what set-up installs, and shows what is stored.

Simulated lessons are compared strictly with their stored outputs. Spark's vary, so
there the cells assert what holds. It is the command that a teacher types,
`pytest --nbval notebooks/NN_*.ipynb`: notebooks/conftest.py asks for pictures as text.
"""

import subprocess
import sys

import pytest

from tests import learners
from tests.notebooks.running import (
    BOOKS,
    CELL_TIMEOUT_S,
    ROOT,
    STARTED_TOO_LATE,
    environment,
    read,
    uses_spark,
)

pytestmark = [
    pytest.mark.first,
    pytest.mark.apart,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]


def test_there_are_lessons():
    assert BOOKS


@pytest.mark.parametrize("path", BOOKS)
def test_a_lesson_shows_its_stored_outputs(path):
    book = read(path)
    mode = "--nbval-lax" if uses_spark(book) else "--nbval"
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        f"--nbval-cell-timeout={CELL_TIMEOUT_S}",
        "--tb=short",
    ]
    options += ["--nbval-kernel-startup-timeout=300", "-p", "tests.no_grammar"]
    variables = learners.variables(environment(book))
    del variables["MINIKAFKA_PICTURES"]
    command = [sys.executable, "-m", "pytest", mode, *options, str(path)]

    def run():
        return subprocess.run(
            command,
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run()
    if done.returncode and STARTED_TOO_LATE in done.stdout:
        done = run()
    assert done.returncode == 0, done.stdout[-6000:]
