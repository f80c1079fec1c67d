"""Bugs of real clients: each program prints what it has printed before, with the
version that has the bug and with one that hasn't. On Apache Kafka it prints the same,
so the bug is the client's.
"""

import os

import pytest

from minikafka.course.client_bugs import FOLDER, bugs
from tests.client_bugs.fetching import Missing
from tests.client_bugs.running import printed
from tests.kafka import BOTH

BUGS = {bug.id: bug for bug in bugs()}
RUNS = [(bug.id, version) for bug in bugs() for version in (bug.old, bug.mended)]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("id, version", RUNS)
def test_a_program_prints_what_it_has_printed_on_either_kafka(id, version, kind):
    bug = BUGS[id]
    try:
        said = printed(bug, version, kind)
    except Missing as missing:
        # the oldest have no wheels for the newest Python
        if os.environ.get("CI") and "No matching distribution" not in str(missing):
            raise
        pytest.skip(str(missing))
    assert said == bug.printed(version)


@pytest.mark.parametrize("id", BUGS)
def test_the_mended_version_prints_something_else(id):
    bug = BUGS[id]
    assert bug.printed(bug.old) != bug.printed(bug.mended)


def test_every_program_and_all_that_was_printed_belongs_to_a_bug():
    programs = {path.name for path in (FOLDER / "programs").iterdir()}
    assert programs == {bug.program for bug in BUGS.values()}
    outputs = {path.stem for path in (FOLDER / "printed").iterdir()}
    assert outputs == {f"{id}-{version}" for id, version in RUNS}
