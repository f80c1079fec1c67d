"""Each scenario goes as its transcript says."""

import pytest

from tests.transcripts.scenarios import SCENARIOS, file_of, played


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_nodes_do_what_the_transcript_says(name):
    assert played(name) == file_of(name).read_text(encoding="utf-8"), (
        "python -m tests.transcripts.rewrite writes it anew"
    )


def test_no_transcript_is_left_without_its_scenario():
    names = {path.stem for path in file_of("quorum_election").parent.glob("*.txt")}
    assert names == set(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_transcript_is_read_on_one_or_two_pages(name):
    lines = file_of(name).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 75 and max(map(len, lines)) <= 88
