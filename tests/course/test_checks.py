"""Verdicts: what a learner hears, and that nothing an answer does brings a check
down.
"""

import dataclasses
import select
import textwrap
import threading

import pytest

from minikafka.course.judging.checks import (
    SCENARIOS,
    Exercise,
    Rung,
    examine,
    faults_for,
    is_stub,
    number,
    whole_number,
)
from minikafka.course.judging.guard import Guard
from minikafka.course.judging.watchdog import Watchdog
from minikafka.faults import Crash, Cut, Freeze

pytestmark = pytest.mark.slow


def doubles_wrongly(answer, case):
    found = answer(case)
    return None if found == 2 * case else f"twice {case} is {2 * case}, not {found}."


DOUBLE = Exercise(
    name="double",
    right="your function doubles.",
    hints=("add", "add it to itself", "n + ..."),
    rungs=(
        Rung(
            holds="small numbers",
            broken=doubles_wrongly,
            cases={"nothing": 0, "one": 1},
        ),
        Rung(
            holds="all numbers",
            broken=doubles_wrongly,
            cases={},
            scenario=lambda source: source.randrange(10_000),
            smaller=lambda case: range(case),
        ),
    ),
)


def verdict(answer, exercise=DOUBLE):
    return examine(exercise, answer, seed="00/1")


def test_a_right_answer_hears_each_rung_and_how_much_was_tried():
    assert str(verdict(lambda n: n + n)) == textwrap.dedent("""\
        Right: your function doubles. (202 scenarios tried)
          1  small numbers
          2  all numbers""")


def test_the_smallest_case_that_breaks_is_shown_and_what_holds_already():
    found = verdict(lambda n: 2 * n if n < 100 else 0)
    assert str(found) == textwrap.dedent("""\
        Not yet: twice 100 is 200, not 0.
          smallest case: 100
          holds already: small numbers""")
    assert found.case == 100 and not found.right


def test_a_named_case_is_called_by_its_name():
    assert "smallest case: one: 1" in str(verdict(lambda n: 0))


@pytest.mark.parametrize("described", ["one and no more", "no more than one"])
def test_a_name_that_is_in_the_cases_words_is_not_told_twice(described):
    rung = dataclasses.replace(DOUBLE.rungs[0], describe=lambda case: described)
    found = verdict(lambda n: 0, dataclasses.replace(DOUBLE, rungs=(rung,)))
    assert found.lines == (f"smallest case: {described}",)


def test_the_same_seed_tries_the_same_cases():
    seen = [], []
    for each in seen:
        verdict(lambda n, each=each: each.append(n) or 2 * n)
    assert seen[0] == seen[1] and len(seen[0]) == 202


def test_an_exception_is_a_verdict_with_the_learners_lines_last():
    def double(n):
        return n + missing  # noqa: F821

    lines = str(verdict(double)).splitlines()
    assert "  your code stopped at" in lines
    assert lines[-1].strip().endswith("in double:  return n + missing  # noqa: F821")


@pytest.mark.parametrize(
    "error", [SystemExit, RecursionError, AssertionError, GeneratorExit]
)
def test_whatever_an_answer_raises_the_check_goes_on(error):
    def double(n):
        raise error("calmly")

    assert f"it raised {error.__name__}: calmly" in str(verdict(double))


def test_an_endless_loop_is_stopped_even_when_it_catches_everything():
    def double(n):
        while True:
            try:
                pass
            except Exception:
                continue

    assert "had not come back after 2 s" in verdict(double).headline


def test_an_endless_loop_in_a_greenlet_is_stopped():
    greenlet = pytest.importorskip("greenlet")

    def double(n):
        def spin():
            while True:
                pass

        return greenlet.greenlet(spin).switch()

    assert "had not come back" in verdict(double).headline


def test_what_the_answer_printed_is_shown_for_the_smallest_case_only():
    def double(n):
        print("n is", n)
        return 2 * n if n < 7 else None

    text = str(verdict(double))
    assert "n is 7" in text and text.count("n is") == 1


@pytest.mark.parametrize("answer", [None, 3, "double", [1]])
def test_something_that_is_no_function_is_named(answer):
    assert "Not yet: this is" in verdict(answer).headline and "without brackets" in str(
        verdict(answer)
    )


def test_the_stub_is_not_attempted_yet():
    def double(n):
        """Twice n.

        >>> double(1), double(2)
        (2, 4)
        """
        ...

    found = verdict(double)
    assert (
        str(found) == "Not attempted yet: double is still the stub."
        and not found.attempted
    )


@pytest.mark.parametrize(
    "answer", [lambda n: 0, lambda n: "", lambda n: n, lambda n: False]
)
def test_a_short_answer_is_no_stub(answer):
    assert verdict(answer).attempted


def test_an_answer_that_says_return_is_no_stub():
    def gives_nothing(number):
        return None

    assert not is_stub(gives_nothing)


def test_a_class_is_a_stub_when_all_its_methods_are():
    class Log:
        def __init__(self):
            self.segments = []

        def append(self, value):
            """Adds."""
            ...

    class Begun(Log):
        def append(self, value):
            self.segments.append(value)

    assert is_stub(Log) and not is_stub(Begun)


HALF = Rung(
    "it is half",
    lambda answer, case: None if answer == 7 else f"not {answer}.",
    cases={"half of 14": None},
)


def test_a_number_is_asked_for_as_a_number():
    asked = Exercise("moved", "yes.", ("", "", ""), (HALF,), takes=whole_number)
    assert verdict(..., asked).headline.startswith("Not attempted yet")
    assert verdict(None, asked).headline.startswith("Not attempted yet")
    assert (
        verdict("7", asked).headline
        == "Not yet: moved should be a number, and this is '7'."
    )
    assert (
        verdict(7.5, asked).headline
        == "Not yet: moved should be a whole number, and this is 7.5."
    )
    assert (
        verdict(7, asked).right
        and verdict(7.0, asked).right
        and not verdict(True, asked).right
    )


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), 7j, [7], True])
def test_what_is_no_number_is_named(answer):
    asked = Exercise("minutes", "yes.", ("", "", ""), (HALF,), takes=number)
    assert "minutes should be a number, and this is" in verdict(answer, asked).headline


FAULTS = faults_for('Crash("careful", call=3)', Crash, Freeze, places=("careful",))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("careful", "faults should be a list of faults, such as [Crash("),
        ([3], "3 is no fault. Write Crash("),
        ([Cut("careful", 1, at_ms=5)], "a Cut is of no use here"),
        ([Crash("careless", call=3)], "'careless' can't be: it is 'careful'"),
        ([Crash("careful", call=0)], "call=0 can't be: it is a whole number from 1 on"),
        ([Freeze("careful", at_ms=1.5, for_ms=3)], "at_ms=1.5 can't be"),
    ],
)
def test_a_fault_that_cannot_be_is_told_in_one_line(answer, words):
    asked = Exercise("faults", "yes.", ("", "", ""), (HALF,), takes=FAULTS)
    found = verdict(answer, asked)
    assert words in found.headline and not found.lines


@pytest.mark.parametrize(
    "answer",
    [
        Crash("careful", call=3),
        (Crash("careful", call=3),),
        iter([Crash("careful", 1)]),
    ],
)
def test_one_fault_by_itself_is_a_list_of_one_and_any_iterable_will_do(answer):
    assert all(isinstance(fault, Crash) for fault in FAULTS(answer))


# --- what every check has of its own accord ---


def totals_wrongly(answer, case):
    found = answer(case)
    return None if found == sum(case) else f"the sum of {case} is not {found}."


TOTAL = Exercise(
    "total",
    "yes.",
    ("", "", ""),
    (Rung("sums", totals_wrongly, cases={"two": [1, 2]}),),
)


def test_an_argument_that_was_changed_is_told_in_one_line():
    def total(values):
        return sum(values.pop() for _ in range(len(values)))

    assert (
        verdict(total, TOTAL).headline
        == "Not yet: it changed its argument values, which is the caller's: [1, 2]"
        " became []."
    )


def test_a_changed_argument_spoils_neither_the_case_nor_the_reason():
    def total(values):
        values.clear()
        return 0

    assert verdict(total, TOTAL).headline == "Not yet: the sum of [1, 2] is not 0."


def test_what_the_check_does_wrong_is_not_blamed_on_the_answer():
    wrong = Rung(
        "divides", lambda answer, case: f"{case / answer(case)}", cases={"one": 1}
    )
    found = verdict(lambda n: 0, Exercise("half", "yes.", ("", "", ""), (wrong,)))
    assert (
        found.headline == "The check of half itself stopped; your code is not to blame."
    )
    assert not found.right and not found.attempted and "ZeroDivisionError" in str(found)


def test_an_exception_that_the_check_expects_is_its_to_judge():
    def refuses(answer, case):
        try:
            answer(case)
        except IndexError:
            return None
        return "no IndexError."

    def look(n):
        raise KeyError(n)

    exercise = Exercise(
        "look", "yes.", ("", "", ""), (Rung("refuses", refuses, cases={"beyond": 5}),)
    )
    assert verdict(lambda n: [][n], exercise).right
    assert "it raised KeyError: 5" in str(verdict(look, exercise))


def test_what_a_program_is_lent_can_do_what_the_thing_itself_can():
    """list() and `if` ask for a length, and do without one where there is none."""

    def program(records, rows):
        with pytest.raises(TypeError, match="generator"):
            len(records)
        return bool(records), list(records), bool(rows), len(rows), 2 in rows, rows[0]

    run = Guard(Watchdog(1.0)).program(program)
    assert run((each for each in "ab"), [1, 2]) == (True, ["a", "b"], True, 2, True, 1)
    with pytest.raises(TypeError, match="iterable"):
        Guard(Watchdog(1.0)).program(list)(Crash("pay", call=1))


def test_a_generator_is_read_and_one_without_end_is_told():
    def pairs(n):
        yield n
        yield n

    def endless(n):
        while True:
            yield n

    rung = Rung(
        "twice",
        lambda answer, n: None if answer(n) == [n, n] else "no.",
        cases={"one": 1},
    )
    exercise = Exercise("pairs", "yes.", ("", "", ""), (rung,))
    assert verdict(pairs, exercise).right
    assert "more than 100,000 values and no end" in verdict(endless, exercise).headline


def burn(turns):
    return sum(range(turns))


def test_the_number_of_cases_is_fixed_however_slow_the_machine_or_the_answer_is():
    def double(n):
        burn(100_000)
        return 2 * n

    assert f"({SCENARIOS + 2} scenarios tried)" in verdict(double).headline


def test_an_answer_that_is_too_slow_in_all_is_told_so():
    def double(n):
        burn(1_000_000)
        return 2 * n

    quick = Exercise("double", "yes.", ("", "", ""), DOUBLE.rungs, call_seconds=0.2)
    assert (
        "too slow: all cases together took more than 1 s"
        in verdict(double, quick).headline
    )


def test_the_checks_own_work_takes_none_of_the_answers_time():
    def slowly(answer, case):
        burn(30_000_000)
        return None if answer(case) == 2 else "no."

    exercise = Exercise(
        "double",
        "yes.",
        ("", "", ""),
        (Rung("twice", slowly, cases={"one": 1}),),
        call_seconds=0.1,
    )
    assert verdict(lambda n: 2 * n, exercise).right


@pytest.mark.parametrize(
    "wait", [lambda: select.select([], [], [], 1000), lambda: threading.Event().wait()]
)
def test_code_that_only_waits_is_stopped_too(wait):
    def double(n):
        wait()
        return 2 * n

    quick = Exercise("double", "yes.", ("", "", ""), DOUBLE.rungs, call_seconds=0.1)
    assert (
        "and computed nothing. What does it wait for?"
        in verdict(double, quick).headline
    )


def test_objects_of_a_class_are_guarded_too():
    class Log:
        def append(self, values):
            values.append(1)

        def spin(self):
            while True:
                pass

    def appends(answer, case):
        answer().append(case)

    def spins(answer, case):
        answer().spin()

    def misses(answer, case):
        answer().delete()

    def of(broken):
        return Exercise(
            "Log",
            "yes.",
            ("", "", ""),
            (Rung("", broken, cases={"": []}),),
            call_seconds=0.1,
        )

    assert "it changed its argument values" in verdict(Log, of(appends)).headline
    assert "had not come back after 0.1 s" in verdict(Log, of(spins)).headline
    assert (
        "it raised AttributeError: 'Log' object has no attribute 'delete'"
        in verdict(Log, of(misses)).headline
    )
