"""Every lesson runs, and shows what is stored.

Simulated lessons are compared strictly with their stored outputs. Spark's vary, so
there the cells assert what holds.
"""

import os
import subprocess
import sys

import pytest

from tests.notebooks.running import (
    CELL_TIMEOUT_S,
    LESSONS,
    ROOT,
    STARTED_TOO_LATE,
    uses_spark,
)

pytestmark = pytest.mark.timeout(1200)


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("path", LESSONS)
def test_a_lesson_shows_its_stored_outputs(path):
    mode = "--nbval-lax" if uses_spark(path) else "--nbval"
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        f"--nbval-cell-timeout={CELL_TIMEOUT_S}",
        "--tb=short",
    ]
    options += ["--nbval-kernel-startup-timeout=300", "-p", "tests.notebooks.patient"]
    command = [sys.executable, "-m", "pytest", mode, *options, str(path)]

    def run():
        return subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run()
    if done.returncode and STARTED_TOO_LATE in done.stdout:
        done = run()
    assert done.returncode == 0, done.stdout[-6000:]
