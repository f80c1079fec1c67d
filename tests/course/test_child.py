"""An answer that nothing in Python can stop ends in a verdict, and the kernel lives."""

import os
import re
import signal
import sys

import psutil
import pytest

from minikafka import lesson
from minikafka.course.judging import child, verdicts, watchdog
from minikafka.course.judging.checks import Exercise, Rung, examine
from tests.course.answers import solution

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="elsewhere a check runs in the kernel"
    ),
]

SOMETHING_HUGE = "and nothing could stop it. One call that runs forever"
ONE = Exercise(
    "answer",
    "yes.",
    ("", "", ""),
    (Rung("one", lambda answer, case: f"not {answer()!r}.", cases={"": None}),),
    call_seconds=0.2,
)


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch):
    """Tests of the same worker may have started Spark."""
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)


@pytest.fixture
def no_grace(monkeypatch):
    monkeypatch.setattr(watchdog, "GRACE_SECONDS", 0.2)


def judged(answer):
    """By the shortest of checks."""
    return child.in_a_child(lambda: examine(ONE, answer, seed="1"), 0.2)


def sums():
    return sum(range(10**11))


def raises_to_a_power():
    return 9**9**8


def matches():
    return re.match("(a+)+$", 64 * "a" + "b")


def looks_for_the_largest():
    return max(iter(int, 1))


@pytest.mark.parametrize(
    "answer", [sums, raises_to_a_power, matches, looks_for_the_largest]
)
def test_one_call_that_goes_on_for_ever_is_told_with_its_line(answer, no_grace):
    found = judged(answer)
    assert not found.right and SOMETHING_HUGE in found.headline
    assert found.lines[0] == "your code stopped at"
    assert f"in {answer.__name__}:  return " in found.lines[-1]


@pytest.mark.parametrize(
    "answer", [lambda: list(range(10**9)), lambda: "a" * 10**11, lambda: [0] * 10**10]
)
def test_what_takes_all_memory_raises_memory_error(answer):
    found = judged(answer)
    assert found.headline == "Not yet: it raised MemoryError", found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: os._exit(0), "it ended the process that it ran in"),
        (lambda: os.abort(), "it brought Python down (SIGABRT)"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "the operating system ended it"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "Python down (SIGSEGV)"),
    ],
)
def test_what_ends_the_process_ends_no_kernel(answer, words):
    assert words in judged(answer).headline


def test_a_check_of_a_lesson_is_judged_in_a_child():
    """The one place where a learner's code is called."""
    mine = os.getpid()

    def my_partition(key, all_partitions, available):
        return os.getpid() == mine or "in a child"

    found = lesson("02").check(1, my_partition)
    assert "it returned 'in a child'" in found.headline


def test_a_verdict_comes_back_as_it_is_made_in_the_kernel():
    asked = lesson("05")._exercise(1)

    def judge():
        return examine(asked, lambda members, partitions: {}, seed="05/1")

    there, here = child.in_a_child(judge, 2), judge()
    assert there == here and there.case == here.case

    def everything_to_all(members, partitions):
        every = [(topic, 0) for topic in partitions]
        return dict.fromkeys(members, every)

    def picture():
        return examine(asked, everything_to_all, seed="05/1")

    there, here = child.in_a_child(picture, 2), picture()
    assert there == here and there.picture.digest == here.picture.digest


def test_a_verdict_that_cannot_be_sent_is_made_in_the_kernel():
    made = []

    def judge():
        made.append(os.getpid())
        return verdicts.Verdict("Not yet.", False, case=lambda: None)

    assert child.in_a_child(judge, 2).headline == "Not yet."
    assert made == [os.getpid()]


def test_no_child_is_left(no_grace):
    others = psutil.Process().children()
    judged(sums)
    assert psutil.Process().children() == others


def test_the_solution_is_right_in_a_child_and_runs_in_the_lesson_then(capsys):
    mine = solution("02", 1)
    assert lesson("02").check(1, mine).right
    assert lesson("02").use(1, mine, None) is mine
