"""Every check hears answers from somebody who has read only the task: ten wrong ones
and two right ones at least.
"""

import importlib

import pytest

from minikafka.course import lessons
from tests.course.answers import verdict
from tests.course.wrong_answers import called

pytestmark = [pytest.mark.first, pytest.mark.slow]

LESSONS = (
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "07",
    "08",
    "09",
    "10",
    "11",
    "12",
    "13",
    "14",
    "15",
    "16",
    "17",
    "18",
    "19",
    "20",
    "21",
    "24",
)
ANSWERS = {
    number: (
        importlib.import_module(f"tests.course.wrong_answers.lesson_{number}").ANSWERS
    )
    for number in LESSONS
}
SPARK = {("17", 1), ("18", 2), ("20", 1), ("20", 2), ("20", 3)}


IN_THE_GATE = 8  # of an exercise, no two of which hear the same
# a check of seconds, with clusters that fail or with Spark
LONG = {("04", 1), ("10", 2), ("13", 1), ("14", 2), ("18", 2)}
IN_THE_GATE_OF_LONG = 3


def each(kind):
    for lesson, answers in ANSWERS.items():
        for exercise, found in getattr(answers, kind).items():
            is_long = (lesson, exercise) in LONG
            left = IN_THE_GATE_OF_LONG if is_long else IN_THE_GATE
            heard = set()
            for answer in found:
                given, words = (
                    answer if kind == "rejected" else (answer, called(answer))
                )
                marks = [pytest.mark.xdist_group(f"wrong answers of {lesson}")]
                if (lesson, exercise) in SPARK:
                    marks = [pytest.mark.spark]
                if words in heard or not left:
                    marks.append(pytest.mark.nightly)
                else:
                    heard.add(words)
                    left -= 1
                yield pytest.param(
                    lesson,
                    exercise,
                    answer,
                    id=f"{lesson}/{exercise}-{called(given)}",
                    marks=marks,
                )


@pytest.fixture(autouse=True)
def a_spark_session(request):
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")


@pytest.mark.parametrize(("lesson", "exercise", "answer"), list(each("rejected")))
def test_a_wrong_answer_hears_what_is_wrong_with_it(lesson, exercise, answer):
    given, words = answer
    found = verdict(lesson, exercise, given)
    assert not found.right and any(each in str(found) for each in words), found


@pytest.mark.parametrize(("lesson", "exercise", "answer"), list(each("accepted")))
def test_a_right_answer_is_right_however_it_is_written(lesson, exercise, answer):
    assert verdict(lesson, exercise, answer).right


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_exercise_has_ten_wrong_answers_and_two_right_ones(lesson):
    answers = ANSWERS[lesson]
    assert set(answers.rejected) == set(answers.accepted)
    assert all(len(found) >= 10 for found in answers.rejected.values())
    assert all(len(found) >= 2 for found in answers.accepted.values())
    assert all(
        words and all(words)
        for found in answers.rejected.values()
        for _, words in found
    )


# CPU seconds; Spark's exercises wait for the JVM, the others run whole clusters
LONGER = {
    ("03", 1): 4,
    ("06", 1): 4,
    ("07", 2): 10,
    ("10", 2): 4,
    ("17", 1): 6,
    ("18", 2): 6,
}


def test_an_answer_that_never_ends_is_stopped_after_two_seconds_where_nothing_takes_longer():
    found = {
        (lesson, exercise): lessons.lesson(lesson)._exercise(exercise).call_seconds
        for lesson in LESSONS
        for exercise in ANSWERS[lesson].rejected
    }
    assert found == dict.fromkeys(found, 2) | LONGER
