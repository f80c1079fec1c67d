"""A small Spark query with windows and a watermark, watched: what each micro-batch
read, dropped, wrote and kept.

    from minikafka.course.experiments.lesson_18_event_time import ORDERS, watch

    seen = watch(lab, ORDERS)            # sends them to a topic, and lets Spark count them in windows of ten minutes
    seen.play(q2, surprise=..., answer=...)

    query, rows = run(lab, hours)        # any query over what is there: what reached the sink, row by row

What is seen comes from Spark: its progress reports and what reached the sink. Only
which of a micro-batch's orders were dropped is told by nobody; that follows from the
watermarks, and must agree with the number that Spark reports. Times are minutes after
the shop opens, at 08:00.
"""

import ast
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from minikafka.course.data import dataset
from minikafka.course.spark import Lab
from minikafka.trace import Event

SIZE = 10  # minutes of a window
DELAY = 10  # minutes of the watermark's delay
PER_BATCH = 3  # orders in a micro-batch
MINUTE_MS = 60_000
OPENS_MS = 8 * 60 * MINUTE_MS  # of the day
MODES = ("append", "update", "complete")

Order = tuple[str, int]  # its name, and the minute in which it was placed
Id = tuple[str, int]  # of an event

# In the order in which they reach Kafka. H was placed at 08:08, on a phone without a
# network.
ORDERS: tuple[Order, ...] = (
    ("A", 2),
    ("B", 6),
    ("C", 12),
    ("D", 15),
    ("E", 18),
    ("F", 21),
    ("G", 25),
    ("H", 8),
    ("I", 28),
    ("J", 31),
    ("K", 34),
    ("L", 37),
)


@dataclass(frozen=True)
class Batch:
    """One micro-batch of the streaming query, and what it did."""

    number: int
    orders: tuple[Order, ...]
    watermark: int | None  # a minute, with which it worked; None before there is any
    dropped: int  # rows, as Spark counts them
    state: int  # windows that are kept after it
    written: dict[int, int]  # a window's begin, a minute -> count


@dataclass(frozen=True)
class Seen:
    """What Spark did with orders in this order of arrival. delay, size: minutes. mode:
    the query's output mode.
    """

    batches: tuple[Batch, ...]
    mode: str = "append"
    delay: int = DELAY
    size: int = SIZE

    @property
    def orders(self) -> list[Order]:
        """All of them, as they came."""
        return [order for batch in self.batches for order in batch.orders]

    def window(self, minute: int) -> int:
        """When the window of this minute begins."""
        return minute - minute % self.size

    def lost(self, number: int) -> list[Order]:
        """The orders that this micro-batch dropped. Raises AssertionError where Spark
        counts differently.
        """
        batch = self.batches[number]
        late = [order for order in batch.orders if self._is_late(order, number)]
        # Spark adds up each window's rows of the micro-batch first: what it drops and
        # counts are these sums.
        windows = {self.window(minute) for _, minute in late}
        assert len(windows) == batch.dropped, (
            f"micro-batch {number}: {windows} against {batch.dropped} dropped rows"
        )
        return late

    def watermark_before(self, number: int) -> int | None:
        """The watermark of the micro-batch before this one."""
        if number == 0:
            return None
        return self.batches[number - 1].watermark

    def _is_late(self, order: Order, number: int) -> bool:
        """Whether the order's window is closed before this micro-batch."""
        closed = self.watermark_before(number)
        if closed is None or self.mode == "complete":
            return False
        _, minute = order
        end = self.window(minute) + self.size
        return end <= closed

    def play(
        self,
        prediction: Any = None,
        surprise: Any = None,
        answer: Any = None,
        **options: Any,
    ) -> Any:
        """The picture of event time and watermark."""
        from minikafka.theatre import picture

        return picture(
            "watermark",
            trace(self),
            prediction=prediction,
            surprise=surprise,
            answer=answer,
            **options,
        )


# What Spark does with ORDERS, for the picture at the top of the lesson; a test lets
# Spark do it again.
RECORDED = Seen(
    (
        Batch(0, ORDERS[0:3], None, 0, 2, {}),
        Batch(1, ORDERS[3:6], 2, 0, 3, {}),
        Batch(2, ORDERS[6:9], 11, 0, 2, {0: 3}),
        Batch(3, ORDERS[9:12], 18, 0, 3, {}),
        Batch(4, (), 27, 0, 2, {10: 3}),
    )
)


def watch(
    lab: Lab,
    orders: Sequence[Order],
    mode: str = "append",
    delay: int = DELAY,
    size: int = SIZE,
) -> Seen:
    """Sends the orders to a topic of one partition, and runs a query that counts them
    in windows: three a micro-batch.

    It is over when all are read. Needs the notebook's Spark session.
    """
    topic = lab.topic("orders", partitions=1)
    lab.send(topic, map(_record, orders, arrivals(orders)))
    query, rows = run(lab, _query(lab, topic, delay, size), mode)
    written = _by_batch(rows)
    batches = []
    for report in reports(query):
        number = report["batchId"]
        batches.append(_batch(report, orders, written[number]))
    return Seen(tuple(batches), mode, delay, size)


def _by_batch(rows: Iterable[dict[str, Any]]) -> defaultdict[int, dict[int, int]]:
    """The rows that reached the sink: micro-batch -> a window's begin, in minutes ->
    count.
    """
    written: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row in rows:
        number = row["batch"]
        begin = _minute(row["begin"])
        written[number][begin] = row["orders"]
    return written


def run(
    lab: Lab, result: Any, mode: str = "append", checkpoint: str | None = None
) -> tuple[Any, list[dict[str, Any]]]:
    """Lets a stream run over what is there: the query, and the rows that reached the
    sink, each with its micro-batch.

    checkpoint: a folder, to go on where a run stopped; without one it begins at the
    beginning.
    """
    rows: list[dict[str, Any]] = []

    def keep(frame: Any, batch: int) -> None:
        for row in frame.collect():
            columns = row.asDict(recursive=True)
            rows.append({"batch": batch, **columns})

    folder = checkpoint or lab.checkpoint("run")
    sink = result.writeStream.outputMode(mode)
    sink = sink.foreachBatch(keep)
    sink = sink.trigger(availableNow=True)
    sink = sink.option("checkpointLocation", folder)
    query = sink.start()
    query.awaitTermination()
    return query, rows


def reports(query: Any) -> list[dict[str, Any]]:
    """The progress reports of a query's micro-batches, as plain data."""
    found = []
    for progress in query.recentProgress:
        report = json.loads(progress.json)
        if report["stateOperators"]:
            found.append(report)
    return found


def dropped(query: Any) -> int:
    """Rows that came too late, as the reports count them: of an aggregation, sums of a
    micro-batch.
    """
    total = 0
    for report in reports(query):
        for operator in report["stateOperators"]:
            total += operator["numRowsDroppedByWatermark"]
    return total


def in_state(query: Any) -> int:
    """Rows in state after the last micro-batch."""
    latest = reports(query)[-1]
    return sum(operator["numRowsTotal"] for operator in latest["stateOperators"])


def _day_starts_ms() -> int:
    """When the shop opens, as the orders' clock has it, in ms since 1970."""
    return int(dataset("orders").DAY_STARTS)


def _noon_ms() -> int:
    """In ms since 1970: the shop opens at 08:00."""
    return _day_starts_ms() + 4 * 60 * MINUTE_MS


def payments() -> tuple[list[Any], list[Any]]:
    """The day's payments: those that reached Kafka before noon, and the others."""
    events = dataset("orders").stream("payments", count=600, seed=7)
    noon_ms = _noon_ms()
    before = [event for event in events if event.ingest_ms < noon_ms]
    since = events[len(before) :]
    return before, since


def tell_unpaid(query: Any, rows: Sequence[dict[str, Any]]) -> int:
    """For the rows of an outer join of orders and payments: prints how many orders are
    paid and how many aren't, and returns how many of the unpaid ones were placed since
    noon.
    """
    noon_ms = _noon_ms()
    paid = set()
    not_paid = 0
    late = 0
    for row in rows:
        if row["paid_id"]:
            paid.add(row["ordered_id"])
        elif row["paid_id"] is None:
            not_paid += 1
            placed_ms = row["ordered_at"].timestamp() * 1000
            if placed_ms >= noon_ms:
                late += 1
    latest = reports(query)[-1]
    watermark = latest["eventTime"]["watermark"][11:16]
    print(
        f"{len(paid)} paid, {not_paid} not, {late} of them since 12:00;"
        f" watermark {watermark}"
    )
    return late


def _query(lab: Lab, topic: str, delay: int, size: int) -> Any:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    reader = SparkSession.active().readStream.format("kafka")
    reader = reader.option("kafka.bootstrap.servers", lab.bootstrap)
    reader = reader.option("subscribe", topic)
    reader = reader.option("startingOffsets", "earliest")
    reader = reader.option("maxOffsetsPerTrigger", PER_BATCH)
    rows = reader.load()
    value = F.col("value").cast("string")
    placed_ms = F.get_json_object(value, "$.event_time_ms").cast("long")
    placed = rows.select(F.timestamp_millis(placed_ms).alias("event_time"))
    placed = placed.withWatermark("event_time", f"{delay} minutes")
    windows = placed.groupBy(F.window("event_time", f"{size} minutes"))
    counted = windows.agg(F.count("*").alias("orders"))
    return counted.select(F.unix_millis("window.start").alias("begin"), "orders")


def _record(order: Order, arrives: int) -> Any:
    orders = dataset("orders")
    name, minute = order
    placed_ms = _day_starts_ms() + minute * MINUTE_MS
    arrives_ms = _day_starts_ms() + arrives * MINUTE_MS
    value = {"order_id": name, "event_time_ms": placed_ms}
    return orders.Event(
        stream="orders",
        key=name.encode(),
        value=orders.as_json(value),
        headers=[],
        ingest_ms=arrives_ms,
        partition=0,
    )


def arrivals(orders: Sequence[Order]) -> list[int]:
    """When each reaches Kafka: at once, unless others that were placed later have come
    before. A clock that is ahead changes nothing of that.
    """
    truly = dict(ORDERS)
    placed = []
    for name, minute in orders:
        placed.append(min(minute, truly.get(name, minute)))
    return list(itertools.accumulate(placed, max))


def _minute(ms: int) -> int:
    """A moment in ms since 1970, as minutes after the shop opens."""
    return (ms - _day_starts_ms()) // MINUTE_MS


def _batch(
    report: dict[str, Any], orders: Sequence[Order], written: dict[int, int]
) -> Batch:
    [source] = report["sources"]
    [operator] = report["stateOperators"]
    first = _offset(source["startOffset"])
    end = _offset(source["endOffset"])
    return Batch(
        number=report["batchId"],
        orders=tuple(orders[first:end]),
        watermark=_watermark(report["eventTime"]["watermark"]),
        dropped=operator["numRowsDroppedByWatermark"],
        state=operator["numRowsTotal"],
        written=dict(sorted(written.items())),
    )


def _watermark(said: str) -> int | None:
    """A minute; None where Spark has none yet, and says the beginning of 1970."""
    moment = datetime.fromisoformat(said)
    if moment.year == 1970:
        return None
    ms = round(moment.timestamp() * 1000)
    return _minute(ms)


def _offset(said: Any) -> int:
    """The offset of the only partition, in a report; 0 if there is none yet."""
    if isinstance(said, str) and said != "None":
        said = ast.literal_eval(said)
    if not isinstance(said, dict):
        return 0
    for partitions in said.values():
        return int(partitions["0"])
    return 0


def later(
    orders: Sequence[Order], name: str, first: Sequence[Order] = ORDERS
) -> tuple[Order, ...]:
    """The same orders, except that this one comes a micro-batch later; from the last
    one it goes back to its first place.
    """
    names = [each for each, _ in orders]
    place = names.index(name)
    order = orders[place]
    others = [each for each in orders if each != order]
    place += PER_BATCH
    if place >= len(orders):
        place = first.index(order)
    return (*others[:place], order, *others[place:])


def begins(number: int) -> Callable[[Event], bool]:
    """Whether an event is the begin of this micro-batch."""

    def is_begin(event: Event) -> bool:
        began = event.kind == "MicroBatchBegan"
        return began and event.detail["batch"] == number

    return is_begin


def with_a_clock_ahead(name: str, minutes: int) -> list[Order]:
    """ORDERS, but this one's time of placing is that many minutes later."""
    return [
        (each, minute + minutes if each == name else minute) for each, minute in ORDERS
    ]


def comes(name: str) -> Callable[[Event], bool]:
    """Whether an event tells what happened to this order."""

    def is_told(event: Event) -> bool:
        told = event.kind in ("RowCounted", "RowDropped")
        return told and event.detail["order"] == name

    return is_told


def becomes_of_h(trace: Sequence[Event]) -> int:
    """Which option is true of H: 1 if its window was written without it, 2 with it, 3 if
    the window was written twice.
    """
    counts = []
    for event in trace:
        if event.kind == "WindowWritten" and event.detail["window"] == 0:
            counts.append(event.detail["count"])
    return {(2,): 1, (3,): 2}.get(tuple(counts), 3)


def which_are_dropped(trace: Sequence[Event]) -> int:
    """Which option is true of the orders after the clock that is ahead: 1 if all of
    them count, 2 if micro-batch 3 drops its own, 3 if micro-batch 2 does so, too.
    """
    batches = {event.detail["batch"] for event in trace if event.kind == "RowDropped"}
    return 3 if 2 in batches else 2 if 3 in batches else 1


def trace(seen: Seen) -> list[Event]:
    """What happened, as events for the picture. at: ms of the day at which the latest
    order of a micro-batch arrived.
    """
    teller = _Teller(seen)
    for batch in seen.batches:
        teller.batch(batch)
    return teller.events


class _Teller:
    """Tells a run as events. at: ms of the day."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.events: list[Event] = []
        self.number = 0  # of the micro-batch that is told
        self.at = OPENS_MS
        # micro-batch -> the event that moved its watermark
        self.moved: dict[int, Id] = {}
        self.counts: dict[int, int] = {}  # a window's begin, a minute -> orders
        names = [name for name, _ in seen.orders]
        # order -> the minute in which it came
        self.came = dict(zip(names, arrivals(seen.orders), strict=True))

    def tell(self, kind: str, cause: Id | None = None, **detail: Any) -> Id:
        event = Event(
            id=("Spark", len(self.events) + 1),
            at=self.at,
            node="Spark",
            kind=kind,
            cause=cause,
            detail={"batch": self.number, **detail},
        )
        self.events.append(event)
        return event.id

    def batch(self, batch: Batch) -> None:
        number = self.number = batch.number
        seen = self.seen
        moved = self.moved.get(number)
        settings = {"mode": seen.mode, "delay": seen.delay, "size": seen.size}
        if batch.orders:
            latest = max(self.came[name] for name, _ in batch.orders)
            self.at = OPENS_MS + latest * MINUTE_MS
        begun = self.tell(
            "MicroBatchBegan",
            moved,
            watermark=batch.watermark,
            orders=[list(order) for order in batch.orders],
            closed=seen.watermark_before(number),
            **settings,
        )
        lost = seen.lost(number)
        for order in batch.orders:
            if order in lost:
                self._dropped(order)
            else:
                self._counted(order, begun)
        for window, count in batch.written.items():
            self.tell("WindowWritten", moved, window=window, count=count, **settings)
        self._forget(batch)
        assert len(self.counts) == batch.state, (
            f"micro-batch {number}: {self.counts} against {batch.state} in state"
        )
        self._watermark()

    def _place(self, order: Order) -> dict[str, Any]:
        name, minute = order
        window = self.seen.window(minute)
        return {"order": name, "minute": minute, "window": window}

    def _dropped(self, order: Order) -> None:
        closed = self.seen.watermark_before(self.number)
        cause = self.moved.get(self.number - 1)
        self.tell("RowDropped", cause, **self._place(order), watermark=closed)

    def _counted(self, order: Order, begun: Id) -> None:
        place = self._place(order)
        window = place["window"]
        count = self.counts.get(window, 0) + 1
        self.counts[window] = count
        self.tell("RowCounted", begun, **place, count=count)

    def _forget(self, batch: Batch) -> None:
        """The windows that are over leave the state; complete keeps them all."""
        if self.seen.mode == "complete" or batch.watermark is None:
            return
        cause = self.moved.get(batch.number)
        for window in list(self.counts):
            end = window + self.seen.size
            if end <= batch.watermark:
                del self.counts[window]
                self.tell("WindowForgotten", cause, window=window)

    def _watermark(self) -> None:
        """The next micro-batch works with another watermark."""
        batches = self.seen.batches
        delay = self.seen.delay
        following = self.number + 1
        if following == len(batches):
            return
        before = batches[self.number].watermark
        to = batches[following].watermark
        if to is None or to == before:
            return
        told = self.tell("WatermarkMoved", latest=to + delay, to=to, delay=delay)
        self.moved[following] = told


Rerun = Callable[[Sequence[Order], str, int], Sequence[Event]]


def levers(lab: Lab, seen: Seen) -> Any:
    """The picture of this run with levers: let an order come later, change the delay or
    the output mode, and Spark runs again.

    A run takes some seconds; one that has been seen is not run again.
    """
    from pyspark.sql import SparkSession

    from minikafka.course.levers.watermark import WatermarkLive

    orders = tuple(seen.orders)
    known = {(orders, seen.mode, seen.delay): trace(seen)}

    def rerun(shown: Sequence[Order], mode: str, delay: int) -> Sequence[Event]:
        key = (tuple(shown), mode, delay)
        if key in known:
            return known[key]
        if SparkSession.getActiveSession() is None:
            raise RuntimeError(
                "Spark has stopped: run the notebook again from its beginning."
            )
        known[key] = trace(watch(lab, shown, mode, delay))
        return known[key]

    def one_later(shown: Sequence[Order], name: str) -> tuple[Order, ...]:
        return later(shown, name, first=orders)

    other_modes = [mode for mode in MODES if mode != seen.mode]
    modes = [seen.mode, *other_modes]
    return WatermarkLive(rerun, one_later, orders, modes, delay=seen.delay)
