"""Lesson 15, exercise 2: what becomes of a story is run, the same each time, and an
answer is met calmly whatever it is.
"""

from collections.abc import Mapping

import pytest

from minikafka.course.judging.tool_runs import TOOLS
from minikafka.course.lessons import lesson
from tests.course.answers import solution, verdict
from tests.course.wrong_answers.lesson_15_stories import ANSWERS, FIRST

pytestmark = pytest.mark.slow

LESSON = "15"
STORIES = lesson(LESSON)._more[0].STORIES
HOLDS = {
    "thumbnails": ["share group", "queue"],
    "transfers": ["consumer group"],
    "emails": ["share group", "queue"],
    "audit": ["consumer group", "share group"],
    "reprocessing": ["share group"],
    "prices": ["queue"],
    "retries": ["consumer group", "queue"],
    "clicks": ["consumer group"],
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_well_with_these_tools(name, capsys):
    well = [tool for tool in TOOLS if STORIES[name].judged(tool) is None]
    assert well == HOLDS[name]
    # what a simulated client prints would stand in the verdict as the learner's
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ["transfers", "clicks"])
def test_a_story_is_the_same_each_time(name, tool):
    assert STORIES[name].judged(tool) == STORIES[name].judged(tool)


def test_the_solution_is_right_and_names_what_held():
    found = verdict(LESSON, 2, solution(LESSON, 2))
    assert found.right and len(found.lines) == len(STORIES), found


@pytest.mark.parametrize("answer", ANSWERS.accepted[2])
def test_other_choices_that_hold_are_right_too(answer):
    assert verdict(LESSON, 2, answer).right


@pytest.mark.parametrize(("answer", "words"), ANSWERS.rejected[2])
def test_a_wrong_choice_hears_what_went_wrong(answer, words):
    found = verdict(LESSON, 2, answer)
    assert not found.right and any(each in str(found) for each in words), found


def test_a_wrong_choice_is_told_by_lines_of_its_run():
    found = verdict(LESSON, 2, FIRST | {"transfers": "queue"})
    assert "0.0 s to 0.2 s  worker 3: alice 2" in found.lines
    assert found.lines[0].startswith("smallest case: transfers: each account's")


def test_who_works_and_who_waits_is_seen_in_lanes():
    found = verdict(LESSON, 2, FIRST | {"thumbnails": "consumer group"})
    assert found.lines[1:] == (
        f"worker 1  1{'-' * 58} 5- 9-",
        f"worker 2  2- 6{'-' * 58} 10",
        "worker 3  3- 7- 11",
        "worker 4  4- 8- 12",
    )
    found = verdict(LESSON, 2, FIRST | {"reprocessing": "consumer group"})
    assert "worker 3  nothing to do" in found.lines


@pytest.mark.parametrize("stub", [None, ..., {}, dict.fromkeys(FIRST)])
def test_a_stub_is_not_attempted(stub):
    found = verdict(LESSON, 2, stub)
    assert not found.right and not found.attempted


class Raises(Mapping):
    def __getitem__(self, name):
        raise RuntimeError("no")

    def __iter__(self):
        raise RuntimeError("no")

    def __len__(self):
        return 1


@pytest.mark.parametrize(
    "answer",
    [Raises(), 7, lambda story: "queue", {1: "queue"}, {"audit": float("nan")}],
)
def test_what_is_no_choice_is_met_calmly(answer):
    found = verdict(LESSON, 2, answer)
    assert not found.right and str(found).startswith("Not yet: ")
