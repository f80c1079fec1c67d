"""Verdicts: what a learner hears, and that nothing an answer does brings a check down."""

import textwrap

import pytest

from minikafka.course.checks import Exercise, Rung, examine, is_stub


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


@pytest.mark.parametrize("error", [SystemExit, RecursionError, AssertionError, GeneratorExit])
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
    assert "Not yet: this is" in verdict(answer).headline and "without brackets" in str(verdict(answer))


def test_the_stub_is_not_attempted_yet():
    def double(n):
        """Twice n.

        >>> double(1), double(2)
        (2, 4)
        """
        ...

    found = verdict(double)
    assert str(found) == "Not attempted yet: double is still the stub." and not found.attempted


@pytest.mark.parametrize("answer", [lambda n: 0, lambda n: "", lambda n: n, lambda n: False])
def test_a_short_answer_is_no_stub(answer):
    assert verdict(answer).attempted


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


def test_a_number_is_asked_for_as_a_number():
    number = Exercise("moved", "yes.", ("", "", ""), DOUBLE.rungs[:1], takes=int)
    assert verdict(..., number).headline.startswith("Not attempted yet")
    assert verdict(None, number).headline.startswith("Not attempted yet")
    assert verdict("7", number).headline == "Not yet: moved should be a number, and this is '7'."


def test_an_answer_may_spoil_what_it_is_given_without_spoiling_the_case():
    lists = Rung("sums", lambda answer, case: None if answer(case) == 3 else f"{case}", cases={"two": [1, 2]})
    exercise = Exercise("total", "yes.", ("", "", ""), (lists, lists))
    assert examine(exercise, lambda numbers: sum(numbers.pop() for _ in range(2)), "x").right
