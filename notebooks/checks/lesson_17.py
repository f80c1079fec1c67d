"""Lesson 17, Spark I: what a right answer does. Exercise 1 runs on the notebook's own Spark session."""

import json
from collections import Counter
from typing import NamedTuple

from minikafka.course.checks import Exercise, Rung
from minikafka.course.data import dataset
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a new checkpoint and startingOffsets=latest",
        right=2,
        why="2. Without a checkpoint it is a first start, and the option counts: from the end on. Kafka has the records, nobody reads them.",
    ),
    Question(
        "no group for a running query",
        right=3,
        why="3. No group, no commit. The offsets stand in the checkpoint, so only Spark's own progress tells the lag.",
    ),
    Question(
        "a batch that is written again",
        right=2,
        why="2. The Kafka sink is at least once: whatever the first attempt had written stays there.",
    ),
)

# --- 1: columns, and the poison kept apart ------------------------------------------------------------------------------

COLUMNS = ("order_id", "customer_id", "cents")
ROW = "key binary, value binary, topic string, partition int, offset long"
ROW_COLUMNS = ("key", "value", "topic", "partition", "offset")
POISON = dataset("orders").POISON


def exercise_1():
    """Rows of both formats become columns; everything else comes back as it was."""
    common = {"smaller": the_guilty_value, "describe": as_values}
    return Exercise(
        name="parse",
        right="of 200 values the orders became columns, and the rest was kept as it came.",
        hints=(
            "Three steps: cast the value to a string, from_json with one schema that has the fields of both formats, then one column from two.",
            "A field that a value lacks is null, and F.coalesce takes the first that isn't. The whole struct is null where the value is no JSON. "
            "So what tells an order from another row?",
            "One condition of three isNotNull() joined by &, used twice: where(whole) and where(~whole). The others want select(rows.columns).",
        ),
        call_seconds=20.0,
        rungs=(
            Rung(
                holds="orders of both formats become order_id, customer_id and cents",
                broken=not_the_orders,
                cases={"200 values": some_values(200)},
                **common,
            ),
            Rung(
                holds="all other rows are kept, as they came",
                broken=not_the_others,
                cases={"200 values": some_values(200)},
                **common,
            ),
        ),
    )


def an_order(order_id, customer_id, cents, in_struct=False):
    amount = {"amount": {"cents": cents, "currency": "EUR"}} if in_struct else {"amount_cents": cents}
    return json.dumps({"order_id": order_id, "customer_id": customer_id, **amount}).encode()


def some_values(count):
    """The plain cases first, then orders of both formats from the data set; every fifth value is something else."""
    plain = [an_order("o-1", "hana", 990), an_order("o-2", "nils", 2450, in_struct=True), POISON, None, b"{}"]
    free = [an_order("o-free", "hana", 0), an_order("o-free", "hana", 0, in_struct=True)]  # 0 cents is an amount
    strange = [
        b"", b"[]", b"null", b"not JSON", b'"an order"', b"\x00\xff\xfe", b'{"order_id": "o-1"}',
        b'{"order_id": "o-2", "customer_id": "hana"}', b'{"order_id": "o-3", "amount_cents": 5}',
        b'{"customer_id": "hana", "amount_cents": 5}', b'{"order_id": "o-4", "customer_id": "hana", "amount": {"currency": "EUR"}}',
    ]  # fmt: skip
    orders = [event.value for event in dataset("orders").stream("orders", count=count, seed=17)]
    mixed = [strange[(n // 5) % len(strange)] if n % 5 == 4 else value for n, value in enumerate(orders)]
    return (plain + free + mixed)[:count]


def read_rightly(value):
    """(order_id, customer_id, cents), or None for what is no order."""
    try:
        order = json.loads(value.decode())
        cents = order["amount_cents"] if "amount_cents" in order else order["amount"]["cents"]
        return order["order_id"], order["customer_id"], cents
    except (AttributeError, ValueError, TypeError, KeyError):
        return None


def not_the_orders(answer, values):
    found = run(answer, values)
    if isinstance(found, str):
        return found
    if found.columns != COLUMNS:
        return f"the orders have the columns {', '.join(found.columns)}, and should have {', '.join(COLUMNS)}."
    truth = Counter(filter(None, map(read_rightly, values)))
    for value in values:
        order = read_rightly(value)
        if order and found.orders[order] != truth[order]:
            near = next((row for row in found.orders if row[0] == order[0]), None)
            return blame(values, value, f"the order {order} is {f'there as {near}' if near else 'not among the orders'}.")
    extra = next(iter(found.orders - truth), None)
    return f"the orders have {extra}, and no value says that." if extra else None


def not_the_others(answer, values):
    found = run(answer, values)
    if isinstance(found, str):
        return found
    if found.other_columns != ROW_COLUMNS:
        return f"the others have the columns {', '.join(found.other_columns)}, and rows came with {', '.join(ROW_COLUMNS)}."
    got = dict(found.others)
    if len(got) < len(found.others):
        return "a row stands twice among the others."
    for offset, value in enumerate(values):
        if read_rightly(value):
            if offset in got:
                return blame(values, value, "this is an order, and stands among the others.")
        elif offset not in got:
            counted = sum(found.orders.values()) > sum(read_rightly(other) is not None for other in values)
            return blame(values, value, "this is no order, and counts as one." if counted else "this is in neither of the two: it is lost.")
        elif got[offset] != value:
            return blame(values, value, f"the value came back as {got[offset]!r}.")
    return None


class Found(NamedTuple):
    """What the answer made of the rows. orders: (order_id, customer_id, cents) -> how often. others: (offset, value)."""

    columns: tuple[str, ...]
    orders: Counter
    other_columns: tuple[str, ...]
    others: list[tuple[int, bytes | None]]


_latest = []  # the last run: both rungs ask the same, and Spark takes its second


def run(answer, values):
    """What the answer makes of rows with these values, or a line on why it can't be used."""
    if not _latest or _latest[0] is not answer or _latest[1] != values:
        _latest[:] = [answer, values, on_spark(answer, values)]
    return _latest[2]


def on_spark(answer, values):
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return "there is no Spark session: run the cell with session() first."
    rows = spark.createDataFrame([(b"hana", value, "orders", 0, offset) for offset, value in enumerate(values)], ROW)
    try:
        made = answer(rows)
        if not (isinstance(made, tuple | list) and len(made) == 2 and all(isinstance(frame, DataFrame) for frame in made)):
            return f"it returned a {type(made).__name__}, and should return two DataFrames: orders, others."
        orders, others = made
        kept = [(row.offset, as_bytes(row.value)) for row in others.collect()] if tuple(others.columns) == ROW_COLUMNS else []
        return Found(tuple(orders.columns), Counter(map(tuple, orders.collect())), tuple(others.columns), kept)
    except PySparkException as error:
        return f"Spark refuses: {str(error).splitlines()[0]}"


def as_bytes(value):
    return bytes(value) if isinstance(value, bytearray) else value


_guilty = {}


def blame(values, value, line):
    """The line, for the value that broke; a case with this value alone is then tried."""
    _guilty[tuple(values)] = value
    return line


def the_guilty_value(values):
    if len(values) > 1 and tuple(values) in _guilty:
        yield [_guilty[tuple(values)]]


def as_values(values):
    return f"value {values[0]!r}" if len(values) == 1 else f"{len(values)} rows"


# --- 2: the lag ---------------------------------------------------------------------------------------------------------


def exercise_2():
    """The broker's end offset less what the query has read, for each partition of one topic."""
    common = {"smaller": a_smaller_report, "describe": as_call, "scenario": a_report}
    return Exercise(
        name="lag",
        right="that is the lag, and the broker had no part in it but the end offsets.",
        hints=(
            "progress['sources'] is a list with one entry, or a few. In each, endOffset is a text: ast.literal_eval(text)[topic] is a dict.",
            "The report's partitions are text, '0'; those of ends are numbers, 0. Go through ends: the broker knows all partitions, the report doesn't.",
            "For each partition of ends: its end less what was read, read.get(str(partition), 0). A topic may be missing in a source: .get(topic, {}).",
        ),
        rungs=(
            Rung(
                holds="end less read, for each partition",
                broken=not_the_lag,
                cases={
                    "caught up": (("orders",), {"orders": {0: 5}}, {0: 5}, 0),
                    "one behind": (("orders",), {"orders": {0: 4}}, {0: 5}, 0),
                    "new orders since the report": (("orders",), {"orders": {0: 300, 1: 100}}, {0: 316, 1: 113}, 0),
                    "an empty partition": (("orders",), {"orders": {0: 0, 1: 3}}, {0: 0, 1: 3}, 0),
                },
                **common,
            ),
            Rung(
                holds="a new partition counts whole",
                broken=not_the_lag,
                cases={"partition 1 is new": (("orders",), {"orders": {0: 5}}, {0: 5, 1: 7}, 0)},
                **{**common, "scenario": lambda source: a_report(source, new=2)},
            ),
            Rung(
                holds="other topics of the query don't disturb",
                broken=not_the_lag,
                cases={
                    "two topics, one source": (("orders", "payments"), {"payments": {0: 9}, "orders": {0: 4}}, {0: 5}, 0),
                    "two sources": (("payments", "orders"), {"payments": {0: 9}, "orders": {0: 4}}, {0: 5}, 1),
                },
                **{**common, "scenario": lambda source: a_report(source, new=1, others=2)},
            ),
        ),
    )


def a_report(source, new=0, others=0):
    """(topics, topic -> partition -> read up to, ends of orders, 1 if each topic has a source of its own)."""
    topics = ["orders", "payments", "shipments"][: 1 + source.randint(0, others)]
    source.shuffle(topics)
    read = {topic: {partition: source.randrange(400) for partition in range(source.randint(1, 5))} for topic in topics}
    ends = {partition: offset + source.choice((0, 1, source.randrange(50))) for partition, offset in read["orders"].items()}
    ends |= {len(ends) + more: source.randrange(50) for more in range(source.randint(0, new))}
    return tuple(topics), read, ends, source.randint(0, 1)


def a_smaller_report(case):
    topics, read, ends, apart = case
    if apart:
        yield topics, read, ends, 0
    for topic in topics:
        if topic != "orders":
            yield tuple(name for name in topics if name != topic), {name: read[name] for name in read if name != topic}, ends, apart
    if len(ends) > 1:
        for partition in list(ends)[::-1]:
            fewer = {number: offset for number, offset in read["orders"].items() if number != partition}
            if fewer:
                yield topics, {**read, "orders": fewer}, {number: end for number, end in ends.items() if number != partition}, apart


def progress_of(case):
    """As PySpark gives it: offsets as the text of a dict, and metrics of the moment of the report."""
    topics, read, _, apart = case
    groups = [[topic] for topic in topics] if apart else [list(topics)]
    sources = []
    for group in groups:
        offsets = {topic: {str(partition): offset for partition, offset in read[topic].items()} for topic in group}
        behind = {"avgOffsetsBehindLatest": "0.0", "maxOffsetsBehindLatest": "0", "minOffsetsBehindLatest": "0"}
        sources.append({"startOffset": "None", "endOffset": str(offsets), "latestOffset": str(offsets), "metrics": behind})
    return {"batchId": 3, "numInputRows": 40, "sources": sources}


def as_call(case):
    offsets = [source["endOffset"] for source in progress_of(case)["sources"]]
    return f"endOffset {' and '.join(offsets)}, ends {case[2]}"


def not_the_lag(answer, case):
    _, read, ends, _ = case
    found = answer(progress_of(case), "orders", dict(ends))
    truth = {partition: end - read["orders"].get(partition, 0) for partition, end in ends.items()}
    if found == truth:
        return None
    if not isinstance(found, dict):
        return f"it returned {found!r}, and should return a dict: partition -> records."
    if {str(partition): count for partition, count in found.items()} == {str(partition): count for partition, count in truth.items()}:
        return "the numbers are right, and the partitions are text: they should be numbers, as in ends."
    return f"it says {found}, and {truth} is true."
