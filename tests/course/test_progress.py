"""What a learner has done is kept in his or her own folder, and nowhere else."""

import json

import pytest

from minikafka.course import lessons, predictions, progress
from minikafka.course.classroom import telling
from minikafka.course.contents import contents
from minikafka.course.judging.verdicts import Verdict
from tests.course.answers import solution


@pytest.fixture(autouse=True)
def a_kernel_that_has_just_started(monkeypatch):
    monkeypatch.setattr(progress, "_in_this_kernel", {})
    monkeypatch.setattr(predictions, "_first_runs", {})
    monkeypatch.setattr(predictions, "_first_answers", {})


@pytest.fixture
def my(tmp_path, monkeypatch):
    """The kernel runs in the learner's folder."""
    monkeypatch.setattr(progress, "MY", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def do_some_of_lesson_02():
    lesson = lessons.lesson.__wrapped__("02")
    asked = contents()["02"].predictions[0]
    predictions.predict(asked.question, asked.options, mine=1).settle(1)
    lesson.check(1, solution("02", 1))
    lesson.check(2, 7)
    lesson.exit_ticket(*[question.right for question in lesson._module.EXIT_TICKET])
    return lesson


def test_a_lesson_says_what_is_done_of_it(my):
    lesson = do_some_of_lesson_02()
    questions = len(lesson._module.EXIT_TICKET)
    head, row = lesson.progress().splitlines()
    assert head.split("  ")[0] == "lesson"
    assert [word.strip() for word in row.split("  ") if word] == [
        "02 partitions and keys",
        "1 of 4",
        "1 of 3",
        f"{questions} of {questions}",
    ]


def test_the_overview_has_every_lesson_and_survives_the_kernel(my, monkeypatch):
    do_some_of_lesson_02()
    monkeypatch.setattr(progress, "_in_this_kernel", {})
    rows = progress.progress().splitlines()[1:]
    assert [row[:2] for row in rows] == list(contents())
    assert "1 of 3" in rows[2] and "0 of 2" in rows[1] and "not yet" in rows[1]
    saved = json.loads((my / "progress.json").read_text(encoding="utf-8"))
    assert saved["02"]["exercises"] == [1]
    assert [path.name for path in my.iterdir()] == ["progress.json"]


def test_outside_the_learners_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "MY", tmp_path / "my")
    monkeypatch.chdir(tmp_path)
    lesson = do_some_of_lesson_02()
    assert "1 of 3" in lesson.progress()
    assert list(tmp_path.iterdir()) == []


def test_a_prediction_counts_only_if_it_was_made(my):
    asked = contents()["02"].predictions[0]
    predictions.predict(asked.question, asked.options).settle(1)
    assert "0 of 4" in progress.progress("02")
    predictions.predict(asked.question, asked.options, mine=2).settle(1)
    predictions.predict("A question of one's own?", ["yes", "no"], mine=2).settle(1)
    assert "1 of 4" in progress.progress("02")


def test_an_exercise_of_an_extra_is_told_beside_the_lessons_own(my):
    """Lesson 08's second exercise stands in an extra of lesson 12."""
    progress.solved("08", 2)
    said = progress.progress("08")
    assert "0 of 1, 1 extra" in said
    assert "extra exercises: 1 of 1" in said.cards


def test_an_unsolved_exercise_of_an_extra_is_not_told_in_words(my):
    progress.solved("08", 1)
    said = progress.progress("08")
    assert "1 of 1" in said and "extra" not in said


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_file_that_somebody_has_broken_begins_anew(my, text):
    (my / "progress.json").write_text(text, encoding="latin-1")
    progress.solved("05", 1)
    assert "1 of 1" in progress.progress("05")


def test_two_lessons_in_two_kernels_keep_what_the_other_has_done(my, monkeypatch):
    progress.solved("05", 1)
    monkeypatch.setattr(progress, "_in_this_kernel", {})
    progress.solved("06", 1)
    assert "1 of 1" in progress.progress("05") and "1 of 1" in progress.progress("06")


@pytest.fixture
def told(monkeypatch):
    """What a class hears, in order."""
    heard = []
    monkeypatch.setenv(telling.BROKER, "127.0.0.1:1")
    monkeypatch.setenv(telling.NAME, "ada")
    monkeypatch.setattr(telling, "tell", lambda *words: heard.append(words))
    return heard


def test_a_class_hears_of_a_learner_at_the_first_question(my, told):
    asked = contents()["05"].predictions[0]
    predictions.predict(asked.question, asked.options)
    [(learner, number, done)] = told
    assert learner and number == "05"
    assert done == {
        "predictions": {},
        "solved": [],
        "wrong": {},
        "hints": {},
        "rungs": {},
        "ticket": None,
        "question": "",
    }


def test_a_class_hears_the_first_choice_the_tries_the_hints_and_a_raised_hand(my, told):
    asked = contents()["02"].predictions[1]
    predictions.predict(asked.question, asked.options, mine=2).settle(1)
    predictions.predict(asked.question, asked.options, mine=1).settle(1)
    lesson = lessons.lesson.__wrapped__("02")
    for _ in range(3):
        lesson.check(1, lambda *_, **__: 0)
    lesson.hint(1)
    lesson.raise_hand("What is a hash?")
    _, _, done = told[-1]
    assert done["predictions"] == {"2": 2}
    # the first of the three climbed a rung
    assert done["wrong"] == {"1": 2} and done["hints"] == {"1": 1}
    [(held, there_are)] = done["rungs"].values()
    assert 0 < held < there_are
    assert done["question"] == "What is a hash?"
    lesson.lower_hand()
    assert told[-1][-1]["question"] == ""
    assert len({learner for learner, _, _ in told}) == 1


def test_a_kernel_that_starts_again_goes_on_counting_what_is_wrong(
    my, told, monkeypatch
):
    """As helpers are told to do with a cell that hangs; and nobody climbs a rung twice."""

    def tries(*rungs):
        lesson = lessons.lesson.__wrapped__("05")
        for held in rungs:
            verdict = Verdict("Not yet", held == 4, rungs=(held, 4))
            monkeypatch.setattr(lesson, "_judge", lambda *_, said=verdict: said)
            lesson.check(1, print)
        lesson.hint(1)
        return told[-1][-1]

    assert tries(2, 2, 1)["wrong"] == {"1": 2}
    monkeypatch.setattr(progress, "_in_this_kernel", {})
    done = tries(2)
    assert (done["wrong"], done["rungs"]) == ({"1": 3}, {"1": [2, 4]})
    assert tries(3)["wrong"] == {"1": 0}
    assert tries(1, 4)["wrong"] == {"1": 0}
    assert tries(1)["wrong"] == {"1": 1}


def test_hints_that_were_read_are_not_forgotten_with_their_kernel(my, told):
    first, again = (lessons.lesson.__wrapped__("05") for _ in range(2))
    for lesson in (first, first, again):
        lesson.hint(1)
    assert told[-1][-1]["hints"] == {"1": 2}


def test_a_learner_has_one_hand(my, told):
    """Raised in lesson 00, and lowered or raised again in 05."""
    start, groups = map(lessons.lesson.__wrapped__, ("00", "05"))
    for then in (groups.lower_hand, groups.raise_hand):
        start.raise_hand("What is a log?")
        then()
        asked = {number: done["question"] for _, number, done in told}
        assert asked["00"] == ""
    assert asked["05"] == "a question"


def test_two_learners_of_one_name_are_two(tmp_path, monkeypatch, told):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        monkeypatch.setattr(progress, "_in_this_kernel", {})
        monkeypatch.setattr(progress, "MY", tmp_path / folder)
        monkeypatch.chdir(tmp_path / folder)
        progress.solved("05", 1)
        progress.solved("06", 1)
    assert len(told) == 4 and len({learner for learner, _, _ in told}) == 2


def test_two_who_share_a_folder_have_their_own_marks(my, told, monkeypatch, capsys):
    telling._said.clear()
    asked = contents()["05"].predictions[0]
    progress.solved("05", 1)
    progress.asks("05", "What is an epoch?")
    monkeypatch.setenv(telling.NAME, "cem")
    predictions.predict(asked.question, asked.options)
    progress.solved("06", 1)
    monkeypatch.setenv(telling.NAME, "ada")
    progress.answered("05", 4, 5)
    (ada, _, _), _, (cem, _, five), (still_cem, _, six), (ada_again, _, last) = told
    assert ada == ada_again != cem == still_cem
    assert (five["solved"], five["question"]) == ([], "") and six["solved"] == [1]
    assert last["solved"] == [1] and last["question"] == "What is an epoch?"
    assert "0 of 1" in progress.progress("06")
    [said] = capsys.readouterr().err.splitlines()
    assert "counts for ada" in said and 'MINIKAFKA_NAME="ada"' in said


def test_who_joins_a_class_later_has_what_was_done_before(my, told, monkeypatch):
    monkeypatch.delenv(telling.NAME)
    progress.solved("05", 1)
    monkeypatch.setenv(telling.NAME, "ada")
    progress.answered("05", 4, 5)
    assert told[-1][-1]["solved"] == [1]
    monkeypatch.delenv(telling.BROKER)
    assert "1 of 1" in progress.progress("05")


def test_a_hand_raised_outside_of_a_class_says_that_nobody_sees_it(my, monkeypatch):
    monkeypatch.delenv(telling.BROKER, raising=False)
    said = lessons.lesson.__wrapped__("05").raise_hand("Why?")
    assert "nobody would see it" in said and not (my / "progress.json").exists()


def test_a_folder_that_cannot_be_written_stops_no_lesson(my):
    (my / "progress.json").mkdir()
    progress.solved("05", 1)
