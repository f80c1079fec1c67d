"""The pattern of a lesson (CONTRIBUTING, Changing a lesson), as far as a machine can
see it.
"""

import ast
import json
import re
import tomllib

import pytest

from minikafka.course import claims
from minikafka.course.contents import Contents, contents, extras, lines, plays
from minikafka.course.lessons import lesson
from minikafka.course.places import NOTEBOOKS
from minikafka.course.predictions import TITLE, explained

FIRST_CELL_LINES = 15
QUESTIONS, ON_EARLIER_LESSONS = 5, 2
WITHOUT_EXERCISES = {"00"}  # one round, no exercise, no exit ticket, no key points


def first_cell(found):
    """At most 15 lines: helpers live in the library."""
    return lines(found.code[0]["source"]) <= FIRST_CELL_LINES


def key_points(found):
    """A section "Key points" with three to five of them, after the exit ticket: they
    answer it.
    """
    section, ticket = found.section("key points"), found.section("exit ticket")
    if (
        not section
        or not ticket
        or found.sections.index(section) < found.sections.index(ticket)
    ):
        return False
    return 3 <= len(re.findall(r"^(?:-|\d\.) ", section.text, re.MULTILINE)) <= 5


def exit_ticket(found):
    """Five questions, two of them on earlier lessons: Question(..., lesson="02"). The
    sentence on each begins with the number of the right option.
    """
    ticket = lesson(found.number)._module.EXIT_TICKET
    section = found.section("exit ticket")
    asked = re.findall(r"^\d\. ", section.text, re.MULTILINE) if section else []
    earlier = [
        question
        for question in ticket
        if question.lesson and question.lesson < found.number
    ]
    if any(not question.why.startswith(f"{question.right}. ") for question in ticket):
        return False
    return len(asked) == len(ticket) == QUESTIONS and len(earlier) == ON_EARLIER_LESSONS


def at_work(found):
    """A section "At work" with a command or a configuration to type, dated."""
    section = found.section("at work")
    return (
        bool(section)
        and "Kafka 4.4" in section.heading + section.text
        and "```" in section.text
    )


def simplified(found):
    """A section "What we simplified"."""
    return bool(found.section("what we simplified"))


def next_lesson(found):
    """The last cell links to the next lesson of the course that there is."""
    numbers = list(contents())
    after = numbers[numbers.index(found.number) + 1 :]
    links = re.findall(r"\]\((\d\d)_\w+\.ipynb\)", found.cells[-1]["source"])
    return bool(links) or not after


def because(found):
    """Each option of each prediction has the sentence that is true of it, in
    because.toml: out of sight.
    """
    known = explained()
    return all(
        asked.options and options_of(known.get(asked.question, {})) == asked.options
        for asked in found.predictions
    )


def options_of(explained):
    return tuple(option for option in explained if option != TITLE)


def in_the_ledger(found):
    """The cell that settles a prediction is evidence in claims.toml, of a claim that
    was tried on Apache Kafka, too; or the prediction's section says "minikafka only".
    """
    return all(
        claims.on_apache_kafka(
            {f"{found.number}#{cell}" for cell in found.settled_in(asked)}
        )
        or "minikafka only" in section_of(found, asked.cell).text
        for asked in found.predictions
    )


def section_of(found, cell_id):
    return next(
        each
        for each in found.sections
        if any(cell["id"] == cell_id for cell in each.cells)
    )


def verdict_shown(found):
    """The verdict on a prediction is the last thing of its cell, or printed: else
    nobody sees it.
    """
    return not any(hides_its_verdict(cell["source"]) for cell in found.code)


def hides_its_verdict(source):
    statements = [] if source.startswith("%") else ast.parse(source).body
    return any(
        isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Call)
        and getattr(each.value.func, "attr", "") == "settle"
        for each in statements[:-1]
    )


RULES = {
    "first cell": first_cell,
    "key points": key_points,
    "exit ticket": exit_ticket,
    "at work": at_work,
    "simplified": simplified,
    "next lesson": next_lesson,
    "because": because,
    "predictions in the ledger": in_the_ledger,
    "verdict shown": verdict_shown,
}
FOR_LESSONS_WITH_EXERCISES = {"key points", "exit ticket", "at work"}


@pytest.mark.parametrize("number", contents())
@pytest.mark.parametrize("rule", RULES)
def test_a_lesson_follows_the_pattern(rule, number):
    if rule in FOR_LESSONS_WITH_EXERCISES and number in WITHOUT_EXERCISES:
        return
    assert RULES[rule](contents()[number]), f"{rule}: {RULES[rule].__doc__}"


def test_a_verdict_before_something_else_is_hidden():
    assert hides_its_verdict("q1.settle(2)\nprint(1)")
    assert not hides_its_verdict("print(1)\nq1.settle(2)")
    assert not hides_its_verdict("print(q1.settle(2))\nprint(1)")


def test_what_explains_an_option_belongs_to_a_question_of_its_lesson():
    lessons = tomllib.loads((NOTEBOOKS / "because.toml").read_text(encoding="utf-8"))
    for number, questions in lessons.items():
        asked = {
            prediction.question: prediction.options
            for prediction in (contents() | extras())[number].predictions
        }
        assert {
            question: options_of(options) for question, options in questions.items()
        }.items() <= asked.items()


def test_the_model_counts_what_a_learner_does(tmp_path):
    prose = {
        "cell_type": "markdown",
        "id": "a",
        "metadata": {},
        "source": "## One\n\n" + "word " * 199,
    }
    code = {
        "cell_type": "code",
        "id": "b",
        "metadata": {},
        "source": 'q = predict("?", ["a", "b"])\ncluster.play(q)\n',
    }
    about = {"minikafka": {"exercise": 1, "minutes": 20}}
    exercise = {"cell_type": "code", "id": "c", "metadata": about, "source": "f = ..."}
    later = {
        "cell_type": "markdown",
        "id": "d",
        "metadata": {},
        "source": "## More (stretch)\n\n" + "word " * 398,
    }
    path = tmp_path / "99_made_up.ipynb"
    path.write_text(json.dumps({"cells": [prose, code, exercise, later]}))
    found = Contents(path)
    assert found.minutes(questions=0) == pytest.approx(2 + 1 + 2 * 0.08 + 2 + 1.5 + 20)
    assert found.minutes(questions=0, stretch=True) == pytest.approx(4)


@pytest.mark.parametrize(
    ("source", "a_picture"),
    [
        ("cluster.play()", True),
        ("levers.rebalance(cluster)", True),
        ("event_time.levers(lab, seen)", True),
        ("displays()", False),
        ("from minikafka.course import levers", False),
    ],
)
def test_pictures_with_levers_are_played_wherever_their_levers_come_from(
    source, a_picture
):
    assert plays(source) == a_picture


def test_an_import_over_several_lines_is_read_as_one():
    assert lines("from a import (\n    b,\n    c,\n)\n\nb(c)") == 3
    assert lines("b(\n    c\n)") == 1
    assert lines("b(\n    '" + 180 * "c" + "',\n)\n# and\n\nd") == 5


FENCING = "larger number fences the old boss"


@pytest.mark.parametrize("number", ["05", "10", "11", "13", "14"])
def test_the_idea_of_fencing_is_named_by_the_same_words(number):
    assert FENCING in contents()[number].prose


def test_kip_966_a_fenced_broker_leaves_every_isr_but_for_its_last_place_without_elr():
    """The row `failover-dead-in-isr` of the ledger has the evidence."""
    told = [path.read_text(encoding="utf-8") for path in NOTEBOOKS.glob("*.ipynb")]
    told.append((NOTEBOOKS / "glossary.md").read_text(encoding="utf-8"))
    lines_of_it = [
        line
        for line in "\n".join(told).splitlines()
        if "leaves every ISR" in line
        or ("fence" in line and "in no ISR" in line and "new broker" not in line)
    ]
    assert len(lines_of_it) >= 3
    for line in lines_of_it:
        assert "without ELR" in line and "stays in it" in line, line


# what the code of a prediction says by its names may not be what is asked for
QUIET = ("09", "10", "11", "13", "14", "15", "21")


def words_of(text):
    """Its words, in small letters, also the parts of a name such as LogTruncated."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return set(re.findall(r"[a-z]{5,}", spaced.replace("_", " ").lower()))


def strings_left_out(source):
    """The code alone, without texts and comments."""
    return re.sub(r'f?"""[\s\S]*?"""|f?"[^"\n]*"|#.*', "", source)


def given_away(question, options, source):
    """Words of one option alone that the cell's code has as names: the learner reads
    them before the answer.
    """
    code = words_of(strings_left_out(source))
    found = set()
    for option in options:
        others = [words_of(each) for each in options if each != option]
        alone = words_of(option).difference(words_of(question), *others)
        found |= alone & code
    return found


def kinds_in_lambdas(source):
    """Kinds of events that the answer, not the surprise, is made of."""
    _, _, answer = source.partition("answer=")
    return set(re.findall(r'"([A-Z][a-z]+[A-Z]\w+)"', answer))


@pytest.mark.parametrize("number", QUIET)
def test_no_name_in_the_cell_of_a_prediction_is_a_word_of_one_option(number):
    found = contents()[number]
    sources = ["".join(cell["source"]) for cell in found.code]
    for asked in found.predictions:
        [source] = [each for each in sources if asked.question in each]
        assert given_away(asked.question, asked.options, source) == set()
        assert kinds_in_lambdas(source) == set()


def test_the_test_of_give_aways_sees_them():
    options = ["it is copied", "it is dropped"]
    assert given_away("What?", options, "dropped = cluster.run()") == {"dropped"}
    assert given_away("What?", options, 'print("dropped")') == set()
    assert kinds_in_lambdas('f(answer=lambda t: t.kind == "LogTruncated")')
