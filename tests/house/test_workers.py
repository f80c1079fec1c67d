"""How tests are shared among workers, and what `make quick` leaves out."""

import glob
from pathlib import Path

import pytest

from tests.conftest import FIRST, KEPT, SLOW
from tests.workers import Together, together

ROOT = Path(__file__).resolve().parents[2]
MODULE = "tests/clients/test_groups.py"
SOLVED = "tests/notebooks/test_solved_editions.py::test_a"
STORED = "tests/notebooks/test_stored_outputs.py::test_b"
NIGHT = "tests/course/test_on_call.py::test"
WRONG = "tests/course/test_wrong_answers.py::test_a"


@pytest.mark.parametrize("name", [*FIRST, *SLOW, *KEPT])
def test_what_is_named_is_there(name):
    assert glob.glob(f"{ROOT / name.partition('::')[0]}*")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{MODULE}::test_a", f"{MODULE}::test_b[Apache Kafka]"),
        ("tests/spark/test_state.py::test_a", "tests/spark/test_lab.py::test_b"),
        ("tests/spark/test_state.py::test_a", f"{WRONG}[17/1-early]"),
        (f"{WRONG}[02/1-early]", f"{WRONG}[02/2-late]"),
        (
            "tests/theatre/test_lessons.py::test_a[07]",
            "tests/theatre/test_lessons_browser.py::test_b[07]",
        ),
        (f"{SOLVED}[17_spark_kafka_as_a_source]", f"{STORED}[20_spark_state]"),
        (f"{NIGHT}_a[hot-key]", f"{NIGHT}_b[hot-key-lines5-<lambda>]"),
    ],
)
def test_what_shares_what_takes_long_to_start_goes_to_one_worker(one, other):
    assert together(one) == together(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{MODULE}::test_a", "tests/clients/test_tools.py::test_a"),
        (f"{SOLVED}[02_partitions_and_keys]", f"{SOLVED}[03_producers]"),
        (f"{SOLVED}[17_spark_kafka_as_a_source]", "tests/spark/test_state.py::test_a"),
        (f"{WRONG}[02/1-early]", f"{WRONG}[03/1-early]"),
        (
            "tests/soak/test_slices.py::test_a[1]",
            "tests/soak/test_slices.py::test_a[2]",
        ),
        (f"{NIGHT}_a[hot-key]", f"{NIGHT}_a[poison]"),
    ],
)
def test_what_shares_nothing_goes_to_whoever_is_free(one, other):
    assert together(one) != together(other)


def test_what_a_crashed_worker_had_done_is_given_to_nobody():
    """Only what it had begun. Given a module without a test to run, a worker waits for
    ever.
    """
    scheduler = Together.__new__(Together)
    done, begun = {"a": True, "b": True}, {"c": True, "d": False, "e": False}
    scheduler.assigned_work = {"gw1": {"done": done, "begun": begun}}
    scheduler.workqueue = {}
    assert scheduler.remove_node("gw1") == "d"
    assert scheduler.workqueue == {"begun": begun}
