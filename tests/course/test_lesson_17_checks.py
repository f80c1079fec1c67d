"""Lesson 17's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import ast
import json
import re
from functools import reduce
from operator import and_

import pytest

from minikafka import predict
from minikafka.course.predictions import NOT_PREDICTED
from tests.course.answers import endless, verdict

pytestmark = pytest.mark.slow


def solution(exercise, name):
    from minikafka.course import lessons

    names = {}
    exec(
        "import json\ntry:\n    from pyspark.sql import functions as F\nexcept"
        " ImportError:\n    pass",
        names,
    )
    exec(lessons.solutions("17")[str(exercise)], names)
    return names[name]


# --- 1: columns, with the broken records kept separate ---


@pytest.fixture
def F(spark):
    from pyspark.sql import functions

    return functions


BOTH = (
    "order_id string, customer_id string, amount_cents long, amount struct<cents: long>"
)


CENTS = "coalesce(order.amount_cents, order.amount.cents)"
COLUMNS = ("order.order_id", "order.customer_id", "cents")


def split(F, rows, keep=None, whole=None, columns=COLUMNS, cents=None):
    """An answer, of which a test spoils one part."""
    read = rows.withColumn("order", F.from_json(F.col("value").cast("string"), BOTH))
    read = read.withColumn(
        "cents",
        (
            F.coalesce("order.amount_cents", "order.amount.cents")
            if cents is None
            else cents
        ),
    )
    if whole is None:
        whole = reduce(and_, [F.col(name).isNotNull() for name in COLUMNS])
    return read.where(whole).select(*columns), read.where(~whole).select(
        *(keep or rows.columns)
    )


def by_path(F):
    """Right, and unlike the solution: get_json_object, and what is no order found by
    anti-join.
    """

    def parse(rows):
        def at(path):
            return F.get_json_object(F.col("value").cast("string"), path)

        cents = F.coalesce(at("$.amount_cents"), at("$.amount.cents")).cast("long")
        columns = [
            at("$.order_id").alias("order_id"),
            at("$.customer_id").alias("customer_id"),
            cents.alias("cents"),
        ]
        place = ["topic", "partition", "offset"]
        orders = rows.select(*place, *columns).dropna()
        others = rows.join(orders, place, "left_anti").select(rows.columns)
        return orders.drop(*place), others

    return parse


def in_another_order(F):
    """Right: columns have names."""

    def parse(rows):
        columns = ("cents", "order.order_id", "order.customer_id")
        return split(F, rows, columns=columns, keep=sorted(rows.columns))

    return parse


@pytest.mark.spark
def test_right_answers_pass_however_they_are_written(F):
    for answer in in_another_order(F), solution(1, "parse"), by_path(F):
        said = verdict("17", 1, answer)
        assert said.right, said
    rungs = [
        "  1  orders of both formats become columns",
        "  2  all other rows are kept, as they came",
    ]
    assert str(said).splitlines()[1:] == rungs


WRONG_PARSES = {
    "only the first format": (
        lambda F: lambda rows: split(F, rows, cents=F.col("order.amount_cents")),
        r"the order \('o-2', 'nils', 2450\) is not among the orders",
    ),
    "one DataFrame": (
        lambda F: lambda rows: split(F, rows)[0],
        "it returned a DataFrame, and should return two",
    ),
    "from_json on bytes": (
        lambda F: lambda rows: (rows.select(F.from_json("value", BOTH)), rows),
        "Spark refuses: .*(BINARY|DATATYPE_MISMATCH)",
    ),
    "a condition that is null": (
        lambda F: lambda rows: split(F, rows, whole=F.col("cents") > -9),
        (
            r"the orders have \('o-7', None, 5\), and no value says that\.\n  smallest"
            r" case: value b'.*o-7"
        ),
    ),
    "no order at all is an order": (
        lambda F: lambda rows: split(F, rows, whole=F.col("value").isNotNull()),
        "the orders have .*None.*, and no value says that",
    ),
    "the poison is dropped": (
        lambda F: lambda rows: (split(F, rows)[0], rows.limit(0)),
        "this is no order, and the others don't have it: it is lost",
    ),
    "the poison is blanked": (
        lambda F: lambda rows: blanked(F, *split(F, rows)),
        (
            r"the value came back as b''\.\n  smallest case: value b'\{\"order_id\":"
            r" \"o-\\xff"
        ),
    ),
    "the others are what has no JSON": (
        lambda F: (
            lambda rows: (
                split(F, rows)[0],
                split(F, rows, whole=F.col("order").isNotNull())[1],
            )
        ),
        "this is no order, and the others don't have it: it is lost",
    ),
    "null is lost in a comparison": (
        lambda F: (
            lambda rows: (
                split(F, rows)[0],
                split(F, rows, whole=F.col("cents") >= 0)[1],
            )
        ),
        "this is no order, and the others don't have it: it is lost",
    ),
    "only the value is kept": (
        lambda F: lambda rows: split(F, rows, keep=["value"]),
        (
            "the others have the columns value, and rows came with key, value, topic,"
            " partition, offset, timestamp, timestampType"
        ),
    ),
    "all rows are others": (
        lambda F: lambda rows: (split(F, rows)[0], rows),
        "this is an order, and appears among the others",
    ),
    "other names": (
        lambda F: (
            lambda rows: split(
                F, rows, columns=(*COLUMNS[:2], F.col("cents").alias("amount"))
            )
        ),
        (
            "the orders have the columns order_id, customer_id, amount, and should have"
            " order_id, customer_id, cents"
        ),
    ),
    "an offset names a row": (
        lambda F: lambda rows: others_by(F, rows, ["offset"]),
        "this is no order, and the others don't have it: it is lost",
    ),
    "a partition and an offset name a row": (
        lambda F: lambda rows: others_by(F, rows, ["partition", "offset"]),
        "this is no order, and the others don't have it: it is lost",
    ),
    "each order once": (
        lambda F: lambda rows: (split(F, rows)[0].distinct(), split(F, rows)[1]),
        "the order .* came in . rows, and is there in 1",
    ),
    "five columns are kept": (
        lambda F: (
            lambda rows: split(
                F, rows, keep=["key", "value", "topic", "partition", "offset"]
            )
        ),
        "the others have the columns key, value, topic, partition, offset, and rows",
    ),
    "amounts are ints": (
        lambda F: lambda rows: split(F, rows, cents=F.expr(f"int({CENTS})")),
        "the order .*3000000000.* is there as|Spark refuses",
    ),
    "an amount is above 0": (
        lambda F: (
            lambda rows: split(F, rows, cents=F.expr(f"if({CENTS} < 0, null, {CENTS})"))
        ),
        r"the order .*-5\) is not among the orders",
    ),
    "free orders are dropped": (
        lambda F: lambda rows: split(F, rows, cents=F.expr(f"nullif({CENTS}, 0)")),
        r"the order \('o-3', 'hana', 0\) is not among the orders",
    ),
}


def others_by(F, rows, place):
    orders = split(F, rows, columns=(*COLUMNS, *place))[0]
    others = rows.join(orders, place, "left_anti").select(rows.columns)
    return orders.select("order_id", "customer_id", "cents"), others


def blanked(F, orders, others):
    return orders, others.withColumn("value", F.lit(b""))


@pytest.mark.spark
@pytest.mark.parametrize("name", WRONG_PARSES)
def test_a_wrong_parse_hears_what_is_wrong(F, name):
    make, words = WRONG_PARSES[name]
    said = verdict("17", 1, make(F))
    assert not said.right and said.attempted
    assert re.search(words, str(said)), said


def failing(rows):
    raise KeyError("order_id")


@pytest.mark.spark
def test_a_parse_that_fails_is_met_calmly(spark):
    assert "it raised KeyError: 'order_id'" in str(verdict("17", 1, failing))
    assert "it returned a int, and should return two DataFrames" in str(
        verdict("17", 1, lambda rows: 7)
    )


def test_a_stub_is_not_an_attempt():
    def parse(rows):
        """..."""
        ...

    assert not verdict("17", 1, parse).attempted
    assert not verdict("17", 2, parse).attempted


# --- 2: the lag ---


def offsets(progress, topic, field="endOffset"):
    read = {}
    for source in progress["sources"]:
        read.update(ast.literal_eval(source[field]).get(topic, {}))
    return read


def in_two_steps(progress, topic, ends):
    """Right, and unlike the solution."""
    left = dict(ends)
    for source in progress["sources"]:
        for name, read in ast.literal_eval(source["endOffset"]).items():
            for partition, offset in read.items():
                if name == topic:
                    left[int(partition)] -= offset
    return left


def by_the_text_of_an_offset(progress, topic, ends):
    return less(ends, topic, [json.loads(s["endOffset"]) for s in progress["sources"]])


def by_attributes(progress, topic, ends):
    return less(ends, topic, [json.loads(s.endOffset) for s in progress.sources])


def by_each_source(progress, topic, ends):
    read = [json.loads(source.json)["endOffset"] for source in progress.sources]
    return less(ends, topic, read)


def by_the_report_as_text(progress, topic, ends):
    report = json.loads(str(progress))
    return less(ends, topic, [source["endOffset"] for source in report["sources"]])


def less(ends, topic, read):
    left = dict(ends)
    for offsets in read:
        for partition, offset in offsets.get(topic, {}).items():
            left[int(partition)] -= offset
    return left


def test_a_right_lag_passes_however_it_is_written():
    by_text = by_the_text_of_an_offset, by_attributes
    by_report = by_each_source, by_the_report_as_text
    for answer in solution(2, "lag"), in_two_steps, *by_text, *by_report:
        said = verdict("17", 2, answer)
        assert said.right, said


def by_metrics(progress, topic, ends):
    return {
        partition: int(progress["sources"][0]["metrics"]["maxOffsetsBehindLatest"])
        for partition in ends
    }


def by_latest(progress, topic, ends):
    read, latest = offsets(progress, topic), offsets(progress, topic, "latestOffset")
    return {int(partition): latest[partition] - read[partition] for partition in read}


def total(progress, topic, ends):
    return sum(ends.values()) - sum(offsets(progress, topic).values())


def as_text(progress, topic, ends):
    read = offsets(progress, topic)
    return {
        str(partition): end - read.get(str(partition), 0)
        for partition, end in ends.items()
    }


def last_offset(progress, topic, ends):
    read = offsets(progress, topic)
    return {
        partition: end - 1 - read.get(str(partition), 0)
        for partition, end in ends.items()
    }


def without_new_ones(progress, topic, ends):
    return {
        int(partition): ends[int(partition)] - offset
        for partition, offset in offsets(progress, topic).items()
    }


def first_source_only(progress, topic, ends):
    read = ast.literal_eval(progress["sources"][0]["endOffset"]).get(topic, {})
    return {
        partition: end - read.get(str(partition), 0) for partition, end in ends.items()
    }


def first_topic_only(progress, topic, ends):
    read = next(iter(ast.literal_eval(progress["sources"][0]["endOffset"]).values()))
    return {
        partition: end - read.get(str(partition), 0) for partition, end in ends.items()
    }


@pytest.mark.parametrize(
    "answer, words",
    [
        (by_metrics, r"it says \{0: 0\}, and \{0: 1\} is true"),
        (by_latest, r"it says \{0: 0\}, and \{0: 1\} is true"),
        (total, "should return a dict"),
        (as_text, "the partitions are text: they should be numbers"),
        (last_offset, r"it says \{0: -1\}, and \{0: 0\} is true"),
        (without_new_ones, r"and \{0: 0, 1: 7\} is true"),
        (first_source_only, r"is true\.\n  smallest case: two sources: endOffset"),
        (first_topic_only, r"smallest case: endOffset|smallest case: .*payments"),
    ],
)
def test_a_wrong_lag_hears_what_is_wrong(answer, words):
    said = verdict("17", 2, answer)
    assert not said.right and said.attempted
    assert re.search(words, str(said)), said


def test_a_lag_that_never_ends_is_stopped():
    assert "it had not come back after 0.1 s" in str(verdict("17", 2, endless))


# --- what settles a prediction where there is no picture ---


@pytest.mark.parametrize(
    "mine, said",
    [
        (None, NOT_PREDICTED),
        (1, "You said (1) one. It was (2) two."),
        (2, "You said (2) two, and so it was."),
    ],
)
def test_a_prediction_is_settled_by_what_was_computed(mine, said):
    assert str(predict("How many?", ["one", "two"], mine=mine).settle(2)) == said
