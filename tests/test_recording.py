"""A recording notices every answer that is another one now."""

import pytest

from tests import recording
from tests.recording import Recording

STEPS = [["asked", {"error_code": "NONE", "records": b"x"}] for _ in range(40)]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """One that has been written, as the next run reads it."""
    monkeypatch.setattr(recording, "FOLDER", tmp_path)
    monkeypatch.setenv(recording.WRITES, "1")
    Recording(__file__).confirm("a story", STEPS)
    monkeypatch.delenv(recording.WRITES)
    return Recording(__file__)


def test_the_same_answers_are_found_the_same(written):
    written.check("a story", STEPS)
    written.confirm("a story", STEPS)


@pytest.mark.parametrize(
    "now",
    [
        [*STEPS[:-1], ["asked", {"error_code": "NONE", "records": b"y"}]],
        STEPS[:-1],
        [*STEPS, STEPS[0]],
        [],
    ],
    ids=["another answer", "one less", "one more", "none"],
)
def test_other_answers_are_noticed(written, now):
    with pytest.raises(AssertionError, match=r"python -m tests\.recording"):
        written.check("a story", now)
    with pytest.raises(AssertionError):
        written.confirm("a story", now)


def test_a_story_that_was_never_recorded_is_noticed(written):
    with pytest.raises(AssertionError):
        written.check("another story", STEPS)
