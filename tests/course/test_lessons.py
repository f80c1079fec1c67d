"""Attempts, hints, exit tickets: what a lesson remembers while its kernel runs."""

import pytest

from minikafka.course import lessons
from minikafka.course.places import NOTEBOOKS


@pytest.fixture
def lesson():
    """Lesson 02 in a kernel that has just started."""
    return lessons.lesson.__wrapped__("02")


def wrong(key, all_partitions, available):
    return 7


def stub(key, all_partitions, available):
    """The partition."""
    ...


def test_a_hint_is_offered_after_two_failures_and_the_solution_after_three_hints(
    lesson,
):
    assert "hint" not in str(lesson.check(1, wrong))
    assert 'lesson("02").hint(1) is there when you want it.' in str(
        lesson.check(1, wrong)
    )
    assert str(lesson.hint(1)).startswith("Hint 1 of 3.")
    assert str(lesson.hint(1)).startswith("Hint 2 of 3.")
    third = str(lesson.hint(1))
    assert (
        third.startswith("Hint 1 of 3.")
        and "Hint 3 of 3." in third
        and 'lesson("02").solution(1)' in third
    )
    assert 'lesson("02").solution(1) shows one way.' in str(lesson.check(1, wrong))
    assert str(lesson.solution(1)).startswith("def my_partition(")


def test_a_stub_is_no_attempt(lesson):
    for _ in range(3):
        assert "hint" not in str(lesson.check(1, stub))


def test_attempts_of_one_exercise_say_nothing_about_another(lesson):
    lesson.check(1, wrong), lesson.check(1, wrong)
    assert "hint" not in str(lesson.check(3, wrong))


def test_kafkas_own_runs_until_the_check_has_held(lesson, capsys):
    def mine(key, all_partitions, available):
        return lessons_own(key, all_partitions, available)

    lessons_own = _solved(lesson)
    assert lesson.use(1, mine, "Kafka's") == "Kafka's"
    assert "Kafka's own runs here" in capsys.readouterr().out
    lesson.use(1, mine, "another", called="another")
    assert "another runs here" in capsys.readouterr().out
    assert lesson.check(1, mine).right
    assert lesson.use(1, mine, "Kafka's") is mine
    assert "Your my_partition runs here." in capsys.readouterr().out


def _solved(lesson):
    from minikafka.clients.partitioners import murmur2

    names = {"murmur2": murmur2}
    exec(str(lesson.solution(1)), names)
    return names["my_partition"]


def test_an_exit_ticket_says_why_for_each_answer(lesson):
    right = [question.right for question in lesson._module.EXIT_TICKET]
    assert lesson.exit_ticket(*[None] * 5).headline.startswith(
        "Not answered yet: 5 questions"
    )
    assert lesson.exit_ticket(*right).right
    almost = lesson.exit_ticket(right[0], 9, *right[2:4], None)
    assert almost.headline == "3 of 5 right."
    said = [line.partition(": ") for line in almost.lines]
    assert [question for question, _, _ in said] == [
        f"Question {number}" for number in range(1, 6)
    ]
    second = lesson._module.EXIT_TICKET[1]
    assert said[1][2] == f"you chose 9; it's {second.why}"
    assert said[4][2].startswith("not answered: ")
    assert almost.marks == ("right", "wrong", "right", "right", "open")


def test_an_unknown_lesson_or_exercise_says_which_there_are(lesson):
    with pytest.raises(ValueError, match=r'there is no lesson .99., but "00", "01"'):
        lessons.lesson("99")
    for said in (lesson.check(4, wrong), lesson.hint(4), lesson.solution(4)):
        assert str(said) == "lesson 02 has the exercises 1, 2, 3, not 4"


@pytest.mark.parametrize("number", [9, "1", None, 1.0, True, wrong])
def test_what_is_no_exercise_is_told_in_one_line(lesson, number):
    for said in (
        lesson.check(number, wrong),
        lesson.hint(number),
        lesson.solution(number),
    ):
        assert str(said).startswith(
            "lesson 02 has the exercises 1, 2, 3, not "
        ) and "\n" not in str(said)


def test_a_check_without_an_answer_is_told_in_one_line_and_counts_as_no_attempt(lesson):
    found = lesson.check(1)
    assert (
        str(found) == "check(1) lacks your answer: check(1, my_partition)"
        and not found.attempted
    )


@pytest.mark.parametrize(
    "answers", [("3", "1", "2"), (3, 1, 2, 3, 1, 4), ([3, 1, 2],), (3.0, 1, 2)]
)
def test_an_exit_ticket_of_the_wrong_kind_is_told_in_one_line(lesson, answers):
    found = lesson.exit_ticket(*answers)
    assert (
        str(found).startswith(
            "Write 5 answers, each the number of an option or None, not "
        )
        and not found.attempted
    )


@pytest.mark.parametrize(
    "path",
    sorted((NOTEBOOKS / "checks").glob("lesson_??.py")),
    ids=lambda path: path.stem,
)
def test_every_exercise_has_three_hints_that_stop_short_and_a_solution(path):
    number = path.stem[-2:]
    found = lessons.lesson(number)
    for exercise, make in found._exercises().items():
        assert len(make().hints) == 3
        assert make().name in lessons.solutions(number)[str(exercise)]
        assert not any(
            "return " in hint for hint in make().hints if "returns" not in hint
        )


def test_a_lesson_without_exercises_is_there_to_raise_a_hand_in(monkeypatch):
    asked = []
    monkeypatch.setenv("MINIKAFKA_CLASS", "127.0.0.1:1")
    monkeypatch.setenv("MINIKAFKA_NAME", "ada")
    monkeypatch.setattr(
        lessons.progress, "asks", lambda *told: asked.append(told) or True
    )
    assert "Your hand is up" in str(lessons.lesson("00").raise_hand("What is a log?"))
    assert asked == [("00", "What is a log?")]


def test_a_lessons_exercises_may_stand_in_several_files(tmp_path, monkeypatch):
    for folder, text in (("checks", "def exercise_{}(): ..."), ("solutions", "{}")):
        (tmp_path / folder).mkdir()
        for exercise, name in enumerate(("lesson_01", "lesson_01_more"), 1):
            source = text.format(exercise)
            if folder == "solutions":
                source = (
                    f'"""Solutions."""\n\n# %% exercise {exercise}\nx = {exercise}\n'
                )
            (tmp_path / folder / f"{name}.py").write_text(source)
    monkeypatch.setattr(lessons, "NOTEBOOKS", tmp_path)
    found = lessons.lesson.__wrapped__("01")
    assert list(found._exercises()) == [1, 2]
    assert lessons.solutions("01") == {"1": "x = 1", "2": "x = 2"}
