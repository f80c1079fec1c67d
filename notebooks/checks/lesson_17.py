"""Lesson 17, Spark I: what a right answer does. Exercise 1 runs on the notebook's own
Spark session.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from minikafka.course.data import dataset
from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a new checkpoint and startingOffsets=latest",
        right=2,
        why=(
            "2. Without a checkpoint it is a first start, and the option counts: from"
            " the end on. Kafka still has the weekend's records; this query passed"
            " them by."
        ),
    ),
    Question(
        "no group for a running query",
        right=3,
        why=(
            "3. No group, no commit. The offsets are in the checkpoint, so only Spark's"
            " own reports tell the lag."
        ),
    ),
    Question(
        "maxOffsetsBehindLatest is 0 for an hour",
        right=1,
        why=(
            "1. The number is of the moment when the last micro-batch was planned. A"
            " query that hangs plans none. Ask the broker for the end offsets now."
        ),
    ),
    Question(
        "a query that was off for longer than the retention",
        right=3,
        why=(
            "3. Retention looks at age or size, and at no reader. With failOnDataLoss"
            " the query stops and says so."
        ),
        lesson="01",
    ),
    Question(
        "Spark and a Java producer, the same keys",
        right=1,
        why=(
            "1. Spark's sink is a Java producer, too: the same rule, murmur2, and the"
            " same number of partitions."
        ),
        lesson="02",
    ),
)

# --- 1: columns, and the poison kept apart ---

COLUMNS = ("order_id", "customer_id", "cents")
ROW = "key binary, value binary, topic string, partition int, offset long"
ROW_COLUMNS = ("key", "value", "topic", "partition", "offset")
POISON = dataset("orders").POISON


def exercise_1():
    """Rows of both formats become columns; everything else comes back as it was."""
    common = {
        "cases": {"200 values": some_values(200)},
        "smaller": the_guilty_value,
        "describe": as_values,
    }
    return Exercise(
        name="parse",
        right=(
            "of 200 values the orders became columns, and the rest was kept as it came."
        ),
        hints=(
            (
                "Three steps: cast the value to a string, from_json with one schema"
                " that has the fields of both formats, then one column from two."
            ),
            (
                "A field that a value lacks is null, and F.coalesce takes the first"
                " that isn't. Every field is null where the value is no JSON, and the"
                " struct itself is not. So what tells an order from another row?"
            ),
            (
                "One condition, three isNotNull() joined by &, used twice: where(whole)"
                " and where(~whole). The others want select(rows.columns)."
            ),
        ),
        call_seconds=6.0,  # nearly all of it is the JVM's: a minute on the wall
        rungs=(
            Rung(
                holds="orders of both formats become columns",
                broken=not_the_orders,
                **common,
            ),
            Rung(
                holds="all other rows are kept, as they came",
                broken=not_the_others,
                **common,
            ),
        ),
    )


def an_order(order_id, customer_id, cents, in_struct=False):
    amount = (
        {"amount": {"cents": cents, "currency": "EUR"}}
        if in_struct
        else {"amount_cents": cents}
    )
    return json.dumps(
        {"order_id": order_id, "customer_id": customer_id, **amount}
    ).encode()


def some_values(count):
    """The plain cases first, then orders of both formats from the data set; every fifth
    value is something else.
    """
    first = an_order("o-1", "hana", 990)
    plain = [
        first,
        first,
        an_order("o-2", "nils", 2450, in_struct=True),
        POISON,
        None,
        b"{}",
    ]
    # 0 cents is an amount
    free = [an_order("o-3", "hana", 0), an_order("o-4", "hana", 0, in_struct=True)]
    strange = [
        b"",
        b"[]",
        b"null",
        b"not JSON",
        b'"an order"',
        b"\x00\xff\xfe",
        b'{"order_id": "o-5"}',
        b'{"order_id": "o-6", "customer_id": "hana"}',
        b'{"order_id": "o-7", "amount_cents": 5}',
        b'{"customer_id": "hana", "amount_cents": 5}',
        b'{"order_id": "o-8", "customer_id": "hana", "amount": {"currency": "EUR"}}',
    ]
    orders = [
        event.value
        for event in dataset("orders").stream("orders", count=count, seed=17)
    ]
    mixed = [
        strange[n // 5 % len(strange)] if n % 5 == 4 else value
        for n, value in enumerate(orders)
    ]
    return (plain + free + mixed)[:count]


def read_rightly(value):
    """(order_id, customer_id, cents), or None for what is no order."""
    try:
        order = json.loads(value.decode())
        cents = (
            order["amount_cents"]
            if "amount_cents" in order
            else order["amount"]["cents"]
        )
        return order["order_id"], order["customer_id"], cents
    except (AttributeError, ValueError, TypeError, KeyError):
        return None


def not_the_orders(answer, values):
    found = run(answer, values)
    if isinstance(found, str):
        return found
    if found.columns != COLUMNS:
        return (
            f"the orders have the columns {', '.join(found.columns)}, and should have"
            f" {', '.join(COLUMNS)}."
        )
    truth = Counter(filter(None, map(read_rightly, values)))
    for value in values:
        order = read_rightly(value)
        if order and found.orders[order] != truth[order]:
            if found.orders[order]:
                return (
                    f"the order {order} came in {truth[order]} rows, and is there in"
                    f" {found.orders[order]}."
                )
            near = next((row for row in found.orders if row[0] == order[0]), None)
            there = f"there as {near}" if near else "not among the orders"
            return blame(values, value, f"the order {order} is {there}.")
    extra = next(iter(found.orders - truth), None)
    if extra is None:
        return None
    strange = [value for value in values if not read_rightly(value)]
    said_it = [
        value for value in strange if value and extra[0] and extra[0].encode() in value
    ]
    return blame(
        values,
        (said_it or strange or values)[0],
        f"the orders have {extra}, and no value says that.",
    )


def not_the_others(answer, values):
    found = run(answer, values)
    if isinstance(found, str):
        return found
    if found.other_columns != ROW_COLUMNS:
        came = ", ".join(ROW_COLUMNS)
        return (
            f"the others have the columns {', '.join(found.other_columns)}, and rows"
            f" came with {came}."
        )
    got = dict(found.others)
    if len(got) < len(found.others):
        return "a row stands twice among the others."
    for offset, value in enumerate(values):
        problem = misplaced(value, offset, got)
        if problem:
            return blame(values, value, problem)
    return None


def misplaced(value, offset, others):
    if read_rightly(value):
        return (
            "this is an order, and stands among the others."
            if offset in others
            else None
        )
    if offset not in others:
        return "this is no order, and the others don't have it: it is lost."
    came = as_it_came(value, offset)
    changed = [name for name in ROW_COLUMNS if others[offset][name] != came[name]]
    return (
        f"the {changed[0]} came back as {others[offset][changed[0]]!r}."
        if changed
        else None
    )


def as_it_came(value, offset):
    """The row of this value."""
    return dict(
        zip(
            ROW_COLUMNS,
            (f"key {offset}".encode(), value, "orders", offset % 3, offset),
            strict=True,
        )
    )


class Found(NamedTuple):
    """What the answer made. orders: (order_id, customer_id, cents) -> how often.
    others: (offset, row).
    """

    columns: tuple[str, ...]
    orders: Counter
    other_columns: tuple[str, ...]
    others: list[tuple[int, dict]]


_latest = []  # the last run: both rungs ask the same, and Spark takes its second


def run(answer, values):
    """What the answer makes of rows with these values, or a line on why it can't be
    used.
    """
    if not _latest or _latest[0] is not answer or _latest[1] != values:
        _latest[:] = [answer, values, on_spark(answer, values)]
    return _latest[2]


def on_spark(answer, values):
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return "there is no Spark session: run the cell with session() first."
    rows = [
        tuple(as_it_came(value, offset).values()) for offset, value in enumerate(values)
    ]
    try:
        made = answer(spark.createDataFrame(rows, ROW))
        two = isinstance(made, tuple | list) and len(made) == 2
        if not two or not all(isinstance(frame, DataFrame) for frame in made):
            return (
                f"it returned a {type(made).__name__}, and should return two"
                " DataFrames: orders, others."
            )
        orders, others = made
        kept = others.collect() if tuple(others.columns) == ROW_COLUMNS else []
        read = orders.collect() if tuple(orders.columns) == COLUMNS else []
        return Found(
            columns=tuple(orders.columns),
            orders=Counter(map(tuple, read)),
            other_columns=tuple(others.columns),
            others=[
                (row.offset, {name: as_bytes(row[name]) for name in ROW_COLUMNS})
                for row in kept
            ],
        )
    except PySparkException as error:
        return f"Spark refuses: {str(error).splitlines()[0]}"


def as_bytes(value):
    return bytes(value) if isinstance(value, bytearray) else value


_guilty = {}


def blame(values, value, line):
    """The line, for the value that broke; a case with this value alone is then
    tried.
    """
    _guilty[tuple(values)] = value
    return line


def the_guilty_value(values):
    if len(values) > 1 and tuple(values) in _guilty:
        yield [_guilty[tuple(values)]]


def as_values(values):
    return f"value {values[0]!r}" if len(values) == 1 else f"{len(values)} rows"


# --- 2: the lag ---


def exercise_2():
    """The broker's end offset less what the query has read, for each partition of one
    topic.
    """
    common = {"broken": not_the_lag, "smaller": a_smaller_report, "describe": as_call}
    one = ("orders",)
    return Exercise(
        name="lag",
        right="that is the lag, and the broker had no part in it but the end offsets.",
        hints=(
            (
                "progress['sources'] is a list with one entry, or a few. In each,"
                " endOffset is a text: ast.literal_eval(text) is a dict, topic ->"
                " partition -> offset."
            ),
            (
                "The report's partitions are text, '0'; those of ends are numbers, 0."
                " Go through ends: the broker knows all partitions, the report may not."
            ),
            (
                "For each partition of ends: its end less what was read, and 0 where"
                " nothing was: .get(str(partition), 0). A source may have nothing of"
                " this topic: .get(topic, {})."
            ),
        ),
        rungs=(
            Rung(
                holds="end less read, for each partition",
                cases={
                    "caught up": (one, {"orders": {0: 5}}, {0: 5}, False),
                    "one behind": (one, {"orders": {0: 4}}, {0: 5}, False),
                    "two partitions": (
                        one,
                        {"orders": {0: 300, 1: 100}},
                        {0: 316, 1: 113},
                        False,
                    ),
                    "an empty partition": (
                        one,
                        {"orders": {0: 0, 1: 3}},
                        {0: 0, 1: 3},
                        False,
                    ),
                },
                scenario=a_report,
                **common,
            ),
            Rung(
                holds="a new partition counts whole",
                cases={
                    "partition 1 is new": (one, {"orders": {0: 5}}, {0: 5, 1: 7}, False)
                },
                scenario=lambda source: a_report(source, new=2),
                **common,
            ),
            Rung(
                holds="other topics of the query don't disturb",
                cases={
                    "one source": (
                        ("orders", "payments"),
                        {"payments": {0: 9}, "orders": {0: 4}},
                        {0: 5},
                        False,
                    ),
                    "two sources": (
                        ("payments", "orders"),
                        {"payments": {0: 9}, "orders": {0: 4}},
                        {0: 5},
                        True,
                    ),
                },
                scenario=lambda source: a_report(source, new=1, others=2),
                **common,
            ),
        ),
    )


def a_report(source, new=0, others=0):
    """(topics, topic -> partition -> read up to, ends of orders, whether each topic has
    a source of its own).
    """
    topics = ["orders", "payments", "shipments"][: 1 + source.randint(0, others)]
    source.shuffle(topics)
    read = {
        topic: {number: source.randrange(400) for number in range(source.randint(1, 5))}
        for topic in topics
    }
    ends = {
        number: offset + source.choice((0, 1, source.randrange(50)))
        for number, offset in read["orders"].items()
    }
    ends |= {
        len(ends) + more: source.randrange(50) for more in range(source.randint(0, new))
    }
    return tuple(topics), read, ends, source.random() < 0.5


def a_smaller_report(case):
    topics, read, ends, apart = case
    if apart:
        yield topics, read, ends, False
    for gone in set(topics) - {"orders"}:
        yield (
            tuple(topic for topic in topics if topic != gone),
            without(read, gone),
            ends,
            apart,
        )
    for gone in sorted(ends, reverse=True):
        if without(read["orders"], gone):
            yield (
                topics,
                {**read, "orders": without(read["orders"], gone)},
                without(ends, gone),
                apart,
            )


def without(mapping, gone):
    return {key: value for key, value in mapping.items() if key != gone}


def progress_of(case):
    """As PySpark gives it: offsets as the text of a dict, and metrics of the moment of
    the report.
    """
    topics, read, _, apart = case
    metrics = {
        "avgOffsetsBehindLatest": "0.0",
        "maxOffsetsBehindLatest": "0",
        "minOffsetsBehindLatest": "0",
    }
    sources = []
    for group in [[topic] for topic in topics] if apart else [topics]:
        offsets = str(
            {
                topic: {str(number): offset for number, offset in read[topic].items()}
                for topic in group
            }
        )
        sources.append(
            {
                "startOffset": "None",
                "endOffset": offsets,
                "latestOffset": offsets,
                "metrics": metrics,
            }
        )
    return {"batchId": 3, "numInputRows": 40, "sources": sources}


def as_call(case):
    offsets = [source["endOffset"] for source in progress_of(case)["sources"]]
    return f"endOffset {' and '.join(offsets)}, ends {case[2]}"


def not_the_lag(answer, case):
    _, read, ends, _ = case
    found = answer(progress_of(case), "orders", ends)
    truth = {
        partition: end - read["orders"].get(partition, 0)
        for partition, end in ends.items()
    }
    if found == truth:
        return None
    if not isinstance(found, Mapping):
        return f"it returned {found!r}, and should return a dict: partition -> offsets."
    if found == {str(partition): count for partition, count in truth.items()}:
        return (
            "the numbers are right, and the partitions are text: they should be"
            " numbers, as in ends."
        )
    return f"it says {found}, and {truth} is true."
