"""Lesson 19's three sinks survive a kill at each of their calls, and the page of the
map says what happened.
"""

import pytest

from minikafka.course.experiments.lesson_19_sinks import (
    INSERT,
    Bank,
    Fuse,
    each_partition,
)
from minikafka.course.spark import Lab
from tests.spark.kills import (
    BY_KEY,
    CASES,
    FILES,
    PAGE,
    ROWS,
    SUMS,
    Place,
    happens,
    parted,
    struck,
)

pytestmark = pytest.mark.spark

IN_THE_GATE = {
    (BY_KEY, "upsert its fifth row"),
    (SUMS, "commit its transaction"),
    (FILES, "list the files"),
}


@pytest.fixture(scope="module")
def place(kafka, spark):
    lab = Lab("19", kafka)
    yield Place(lab, spark)
    lab.close()


def cases():
    return [
        pytest.param(
            sink,
            kill,
            id=f"{sink}-{kill.where}-{kill.at}".replace(" ", "_"),
            marks=[] if (sink, kill.at) in IN_THE_GATE else [pytest.mark.nightly],
        )
        for sink, kill in CASES
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("sink, kill", cases())
def test_a_sink_survives_a_kill_at_this_call(sink, kill, place):
    found = happens(place, sink, kill)
    end, means = parted(found)
    told = section(sink)
    assert f"{row_of(kill)} {end} |" in told
    assert f"Equal means {means}.\n" in told or not means


@pytest.mark.nightly
def test_a_sink_that_appends_does_not(place):
    bank = Bank()
    write = each_partition(bank, INSERT)
    writer, _ = place.writer()
    how = Fuse("end")
    struck(writer, lambda frame, _: frame.foreachPartition(write), how, bank)
    assert len(bank) > len(ROWS) and bank.total() != 0


def section(sink):
    """The map's table of one sink."""
    [found] = [
        part
        for part in PAGE.read_text(encoding="utf-8").split("\n## ")
        if part.lower().startswith(sink.lower())
    ]
    return found


def row_of(kill):
    return f"| {kill.where} | {kill.at} |"


def test_the_map_has_a_row_for_each_kill():
    """What equal means is said once, above the rows."""
    for sink, kill in CASES:
        assert f"{row_of(kill)} equal" in section(sink)
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("\nEqual means each") == 2
    assert page.count("**pandas reads a batch twice**") == 1
    assert f"\n**{len(CASES)} kills, and {len(CASES)} times the table" in page
