"""Lesson 20: tests of a processor that somebody else wrote."""

from minikafka.course.experiments.lesson_20_runs import at
from tests.course.wrong_answers.lesson_20_plans import ANSWERS

wrong, right = ANSWERS.wrong, ANSWERS.right


def in_a_tester(processor):
    from pyspark.sql.streaming.tws_tester import TwsTester

    return TwsTester(
        processor, timeMode="EventTime", eventTimeExtractor=lambda row: row[1]
    )


def clicks(user, *clocks):
    from pyspark.sql import Row

    return [Row(user_id=user, event_time_ms=at(clock)) for clock in clocks]


def told(user, start, end, events):
    return (user, at(start), at(end), events)


@right(2)
def two_sessions_of_hers(processor):
    tester = in_a_tester(processor)
    tester.test("wanda", clicks("wanda", "10:20", "10:00", "10:10"))
    assert tester.setWatermark(at("10:30")) == []
    assert tester.setWatermark(at("10:50")) == [told("wanda", "10:00", "10:20", 3)]
    tester.test("wanda", clicks("wanda", "12:00"))
    assert tester.setWatermark(at("12:30")) == [told("wanda", "12:00", "12:00", 1)]


@right(2)
def all_that_was_told(processor):
    """Everything in a list, with two users, and compared in the end."""
    tester, found = in_a_tester(processor), []
    for user, clocks in {
        "wanda": ("10:25", "10:00", "11:40"),
        "bruno": ("10:05",),
    }.items():
        found += tester.test(user, clicks(user, *clocks))
    for clock in ("10:31", "10:56", "12:10"):
        found += [(clock, *row) for row in tester.setWatermark(at(clock))]
    assert sorted(found) == [
        ("10:56", *told("bruno", "10:05", "10:05", 1)),
        ("10:56", *told("wanda", "10:00", "10:25", 2)),
        ("12:10", *told("wanda", "11:40", "11:40", 1)),
    ]


def goes_through(processor, steps):
    """Asserts what comes for each step: ("test", clocks) or ("to", clock)."""
    tester = in_a_tester(processor)
    for given, rows in steps:
        if isinstance(given, tuple):
            assert tester.test("wanda", clicks("wanda", *given)) == rows
        else:
            assert tester.setWatermark(at(given)) == rows


@wrong(2, "ends_at_the_first_timer is wrong, and the test came back as if it were")
def one_click(processor):
    goes_through(
        processor,
        [(("10:00",), []), ("10:30", [told("wanda", "10:00", "10:00", 1)])],
    )


@wrong(2, "never_sorts is wrong, and the test came back as if it were right")
def in_order_alone(processor):
    goes_through(
        processor,
        [
            (("10:00", "10:20"), []),
            ("10:30", []),
            ("10:50", [told("wanda", "10:00", "10:20", 2)]),
        ],
    )


@wrong(2, "ends_at_the_first_timer is wrong, and the test came back as if it were")
def the_watermark_jumps(processor):
    """From the last click to the end: the first timer goes off with the last."""
    goes_through(
        processor,
        [(("10:20", "10:00"), []), ("12:00", [told("wanda", "10:00", "10:20", 2)])],
    )


@wrong(2, "keeps_a_list is right, and the test failed with AssertionError")
def told_at_once(processor):
    goes_through(
        processor, [(("10:00", "10:20"), [told("wanda", "10:00", "10:20", 2)])]
    )


@wrong(2, "keeps_a_list is right, and the test failed with AssertionError")
def a_minute_too_soon(processor):
    goes_through(
        processor,
        [(("10:00",), []), ("10:29", [told("wanda", "10:00", "10:00", 1)])],
    )


@wrong(2, "keeps_a_list is right, and the test failed with AssertionError")
def half_an_hour_is_a_gap(processor):
    goes_through(
        processor,
        [(("10:00", "10:30"), []), ("10:45", [told("wanda", "10:00", "10:00", 1)])],
    )


@wrong(2, "ends_at_the_first_timer is wrong, and the test came back as if it were")
def asserts_nothing(processor):
    tester = in_a_tester(processor)
    tester.test("wanda", clicks("wanda", "10:20", "10:00"))
    return tester.setWatermark(at("10:30")) == []


@wrong(2, "keeps_a_text is right, and the test failed with AssertionError")
def looks_into_the_state(processor):
    """Another processor may call its state what it likes."""
    tester = in_a_tester(processor)
    tester.test("wanda", clicks("wanda", "10:20", "10:00"))
    assert tester.peekListState("times", "wanda") == [(at("10:20"),), (at("10:00"),)]


@wrong(2, "keeps_a_list is right, and the test failed with AssertionError")
def always_red(processor):
    raise AssertionError


@wrong(2, "keeps_a_list is right, and the test failed with IllegalArgumentException")
def back_in_time(processor):
    goes_through(processor, [(("10:00",), []), ("9:00", []), ("8:00", [])])


@wrong(2, "keeps_a_list is right, and the test failed with PySparkValueError")
def without_a_time_mode(processor):
    from pyspark.sql.streaming.tws_tester import TwsTester

    TwsTester(processor).test("wanda", clicks("wanda", "10:00"))


@wrong(2, "forgets_nothing is wrong, and the test came back as if it were right")
def the_same_row_may_come_again(processor):
    """A set doesn't say how often."""
    tester, found = in_a_tester(processor), set()
    tester.test("wanda", clicks("wanda", "10:20", "10:00"))
    assert tester.setWatermark(at("10:30")) == []
    found.update(tester.setWatermark(at("10:50")))
    assert found == {told("wanda", "10:00", "10:20", 2)}


@wrong(2, "ends_at_the_first_timer is wrong, and the test came back as if it were")
def counts_rows(processor):
    tester = in_a_tester(processor)
    tester.test("wanda", clicks("wanda", "10:20", "10:00"))
    assert len(tester.setWatermark(at("10:50"))) == 1
