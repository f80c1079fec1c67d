"""Lesson 17, Spark I: what a right answer does. Exercise 1 runs on the notebook's own
Spark session.
"""

import json
import random
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from minikafka.course.data import dataset
from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.judging.progress_reports import (
    Report,
    a_report,
    a_smaller_report,
    progress_of,
)
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
        "offsets of a group that are reset",
        right=2,
        why=(
            "2. The query has no group, so nothing of its own was reset. It"
            " continues where its checkpoint says; to start over it needs a new one."
        ),
    ),
    Question(
        "the lag behind a limit",
        right=2,
        why=(
            "2. The limit is for a micro-batch, and for both partitions together: 1,000"
            " in two seconds, so 500 a second. 800 a second arrive."
        ),
    ),
    Question(
        "a query that was off for longer than the retention",
        right=3,
        why=(
            "3. Retention goes by age or size, and doesn't care who has read what. With"
            " failOnDataLoss the query stops and says so."
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

# --- 1: columns, with the broken records kept separate ---

COLUMNS = ("order_id", "customer_id", "cents")
# as Kafka's source has them
ROW = (
    "key binary, value binary, topic string, partition int, offset long, timestamp"
    " timestamp, timestampType int"
)
ROW_COLUMNS = tuple(column.split()[0] for column in ROW.split(", "))
POISON = dataset("orders").POISON


def exercise_1():
    """Rows of both formats become columns; everything else comes back as it was."""
    runs = {}  # both rungs ask the same, and Spark takes its second

    def run(answer, values):
        key = tuple(values)
        if key not in runs:
            runs[key] = on_spark(answer, values)
        return runs[key]

    common = {
        "cases": {
            "200 values": some_values(140) + other_values(random.Random("17/1"), 60),
            "the two examples": [
                an_order("o-1", "hana", 990),
                an_order("o-2", "nils", 2450, in_struct=True),
            ],
        },
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
                " that isn't. If the value isn't JSON, every field is null, but the struct"
                " itself isn't. So what tells an order from another row?"
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
                broken=lambda answer, values: not_the_orders(
                    run(answer, values), values
                ),
                **common,
            ),
            Rung(
                holds="all other rows are kept, as they came",
                broken=lambda answer, values: not_the_others(
                    run(answer, values), values
                ),
                **common,
            ),
        ),
    )


def an_order(order_id, customer_id, cents, in_struct=False, currency="EUR"):
    amount = (
        {"amount": {"cents": cents, "currency": currency}}
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


IDS = ("o-1", "o-10", "O-1", "ö-1", "1", "0")
CUSTOMERS = ("hana", "Hana", "han", "łucja", "10", " hana", "")
CURRENCIES = ("EUR", "USD", None)
STRANGE = (
    None,
    b"{",
    b"7",
    b'{"order_id": "o-1", "customer_id": null, "amount_cents": 5}',
    b'{"order_id": "o-1", "customer_id": "hana", "amount": {}}',
    b'{"Order": "o-1", "customer_id": "hana", "amount_cents": 5}',
)


def other_values(source, count):
    """Orders with ids, customers and amounts that are easily mistaken, each perhaps
    more than once; and rows that are none.
    """
    values = []
    for _ in range(count):
        cents = source.choice((0, -5, 7, 990, 3_000_000_000))
        order = an_order(
            source.choice(IDS),
            source.choice(CUSTOMERS),
            cents,
            in_struct=source.random() < 0.5,
            currency=source.choice(CURRENCIES),
        )
        values.append(order if source.random() < 0.8 else source.choice(STRANGE))
    return values


def read_rightly(value):
    """(order_id, customer_id, cents), or None for what is no order."""
    try:
        order = json.loads(value.decode())
        if "amount_cents" in order:
            cents = order["amount_cents"]
        else:
            cents = order["amount"]["cents"]
        read = order["order_id"], order["customer_id"], cents
    except (AttributeError, ValueError, TypeError, KeyError):
        return None
    return None if None in read else read


def not_the_orders(found, values):
    if isinstance(found, str):
        return found
    if sorted(found.columns) != sorted(COLUMNS):
        return (
            f"the orders have the columns {', '.join(found.columns)}, and should have"
            f" {', '.join(COLUMNS)}."
        )
    truth = Counter(filter(None, map(read_rightly, values)))
    for value in values:
        order = read_rightly(value)
        if order and not found.orders[order]:
            near = [row for row in found.orders if row[0] == order[0]]
            there = f"there as {near[0]}" if near else "not among the orders"
            return blame(values, value, f"the order {order} is {there}.")
    for order, rows in truth.items():
        if found.orders[order] != rows:
            return (
                f"the order {order} came in {rows} rows, and is there in"
                f" {found.orders[order]}."
            )
    for extra in found.orders - truth:
        return blame(
            values,
            what_might_say(extra, values),
            f"the orders have {extra}, and no value says that.",
        )
    return None


def what_might_say(order, values):
    """The value that a row of the orders may have been made of, which is no order."""
    strange = [value for value in values if not read_rightly(value)]
    order_id = order[0]
    if order_id:
        naming = [value for value in strange if value and order_id.encode() in value]
        strange = naming or strange
    return (strange or values)[0]


def not_the_others(found, values):
    if isinstance(found, str):
        return found
    if sorted(found.other_columns) != sorted(ROW_COLUMNS):
        came = ", ".join(ROW_COLUMNS)
        return (
            f"the others have the columns {', '.join(found.other_columns)}, and rows"
            f" came with {came}."
        )
    got = dict(found.others)
    if len(got) < len(found.others):
        return "a row appears twice among the others."
    for number, value in enumerate(values):
        problem = misplaced(value, number, got)
        if problem:
            return blame(values, value, problem)
    return None


def misplaced(value, number, others):
    place = place_of(number)
    if read_rightly(value):
        if place in others:
            return "this is an order, and appears among the others."
        return None
    if place not in others:
        return "this is no order, and the others don't have it: it is lost."
    came = as_it_came(value, number)
    for name in ROW_COLUMNS:
        if others[place][name] != came[name]:
            return f"the {name} came back as {others[place][name]!r}."
    return None


def place_of(number):
    """(topic, partition, offset) of the row with this number: an offset alone says
    nothing.
    """
    number, topic = divmod(number, 2)
    offset, partition = divmod(number, 3)
    return ("orders", "orders-old")[topic], partition, offset


def as_it_came(value, number):
    """The row of this value. Half of them have the same key."""
    topic, partition, offset = place_of(number)
    return {
        "key": (None, b"hana", b"hana", f"key {number}".encode())[number % 4],
        "value": value,
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": OPENS + timedelta(seconds=number // 2),
        "timestampType": 0,
    }


OPENS = datetime(2001, 1, 1, 8)


class Found(NamedTuple):
    """What the answer made. orders: (order_id, customer_id, cents) -> how often.
    others: (place, row).
    """

    columns: tuple[str, ...]
    orders: Counter
    other_columns: tuple[str, ...]
    others: list[tuple[tuple, dict]]


def on_spark(answer, values):
    """What the answer makes of rows with these values, or a line on why it can't be
    used.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return "there is no Spark session: run the cell with session() first."
    rows = []
    for number, value in enumerate(values):
        rows.append(tuple(as_it_came(value, number).values()))
    try:
        made = answer(spark.createDataFrame(rows, ROW))
        two = isinstance(made, tuple | list) and len(made) == 2
        if not two or not all(isinstance(frame, DataFrame) for frame in made):
            return (
                f"it returned a {type(made).__name__}, and should return two"
                " DataFrames: orders, others."
            )
        orders, others = made
        return Found(
            columns=tuple(orders.columns),
            orders=Counter(rows_with(orders, COLUMNS)),
            other_columns=tuple(others.columns),
            others=[placed(row) for row in rows_with(others, ROW_COLUMNS)],
        )
    except PySparkException as error:
        return f"Spark refuses: {str(error).splitlines()[0]}"


def rows_with(frame, columns):
    """Its rows, if it has these columns, in whatever order."""
    if sorted(frame.columns) != sorted(columns):
        return []
    return [tuple(row) for row in frame.select(*columns).collect()]


def placed(row):
    """(its place, the row as a dict)."""
    values = {}
    for name, value in zip(ROW_COLUMNS, row, strict=True):
        values[name] = bytes(value) if isinstance(value, bytearray) else value
    return (values["topic"], values["partition"], values["offset"]), values


_guilty = {}  # values -> the one that broke in them, last


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


EXAMPLE = Report({"orders": {0: 300, 1: 100}}, {0: 316, 1: 100})


HINTS_2 = (
    (
        "json.loads(progress.json)['sources'] is a list with one entry, or a few. In"
        " each, endOffset is a dict: topic -> partition -> offset."
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
)


def exercise_2():
    """The broker's end offset less what the query has read, for each partition of one
    topic.
    """
    common = {"broken": not_the_lag, "smaller": a_smaller_report, "describe": as_call}
    return Exercise(
        name="lag",
        right="that is the lag. All you needed from the broker was the end offsets.",
        hints=HINTS_2,
        rungs=(
            Rung(
                holds="end less read, for each partition",
                cases={
                    "caught up": Report({"orders": {0: 5}}, {0: 5}),
                    "one behind": Report({"orders": {0: 4}}, {0: 5}),
                    "two partitions": Report(
                        {"orders": {0: 300, 1: 100}}, {0: 316, 1: 113}
                    ),
                    "partition 1 first": Report({"orders": {0: 4, 1: 7}}, {1: 7, 0: 5}),
                    "an empty partition": Report(
                        {"orders": {0: 0, 1: 3}}, {0: 0, 1: 3}
                    ),
                    "the first example": EXAMPLE,
                    "a limited micro-batch": Report(
                        {"orders": {0: 4, 1: 7}}, {0: 9, 1: 9}, limited=True
                    ),
                    "another topic": Report(
                        {"refunds": {0: 4}}, {0: 5}, topic="refunds"
                    ),
                },
                scenario=a_report,
                **common,
            ),
            Rung(
                holds="a new partition counts whole",
                cases={
                    "partition 1 is new": Report({"orders": {0: 5}}, {0: 5, 1: 7}),
                    "the second example": EXAMPLE._replace(ends={0: 316, 1: 100, 2: 7}),
                },
                scenario=lambda source: a_report(source, new=2),
                **common,
            ),
            Rung(
                holds="other topics of the query don't change the result",
                cases={
                    "one source": Report(
                        {"payments": {0: 9}, "orders": {0: 4}}, {0: 5}
                    ),
                    "two sources": Report(
                        {"payments": {0: 9}, "orders": {0: 4}}, {0: 5}, apart=True
                    ),
                    "a topic whose name begins so": Report(
                        {"orders": {0: 4}, "orders-old": {0: 9}}, {0: 5}
                    ),
                },
                scenario=lambda source: a_report(source, new=1, others=2),
                **common,
            ),
        ),
    )


def as_call(case):
    offsets = [source.endOffset for source in progress_of(case).sources]
    return f"endOffset {' and '.join(offsets)}, topic {case.topic}, ends {case.ends}"


def not_the_lag(answer, case):
    found = answer(progress_of(case), case.topic, case.ends)
    read = case.read[case.topic]
    truth = {
        partition: end - read.get(partition, 0) for partition, end in case.ends.items()
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
