"""What stops a learner's endless loop leaves nothing behind in the interpreter."""

import subprocess
import sys

import pytest

from minikafka.course.judging.watchdog import StillRunning, Watchdog

pytestmark = pytest.mark.slow

# in a process of its own: a profiler that hangs, hangs in C
PROFILED = """
import contextlib, sys
from minikafka.course.judging.watchdog import StillRunning, Watchdog

def endless():
    while True:
        pass

with contextlib.suppress(StillRunning), Watchdog(seconds=0.1) as watchdog:
    with watchdog.theirs():
        {theirs}

calls = []
sys.setprofile(lambda frame, event, arg: calls.append(event))
(lambda: None)()
sys.setprofile(None)
print("call" in calls)
"""


@pytest.mark.parametrize("theirs", ["pass", "endless()"])
def test_a_profiler_works_after_a_verdict(theirs):
    """A CPython before 3.13 that still looks for an exception to come never gets past
    the first line of a function that is profiled.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROFILED.format(theirs=theirs)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "True\n", done.stderr


def test_an_answer_that_swallows_everything_is_stopped_again_and_leaves_nothing():
    def stubborn():
        for _ in range(3):
            try:
                while True:
                    pass
            except StillRunning:
                pass

    with Watchdog(seconds=0.05) as watchdog, watchdog.theirs():
        stubborn()
    assert watchdog.over is not None
    assert sum(range(100_000)) == 4_999_950_000  # nothing comes any more
