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
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from minikafka.course.data import dataset
from minikafka.course.spark import Lab
from minikafka.trace import Event

# minutes of a window, minutes of the watermark's delay, orders in a micro-batch
SIZE, DELAY, PER_BATCH = 10, 10, 3
MINUTE_MS = 60_000
OPENS_MS = 8 * 60 * MINUTE_MS  # of the day
MODES = ("append", "update", "complete")

Order = tuple[str, int]  # its name, and when it was placed

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
    """One micro-batch. watermark: with which it worked, None before there is any.
    state: windows that are kept after it. dropped: rows, as Spark counts them. written:
    window's begin -> count.
    """

    number: int
    orders: tuple[Order, ...]
    watermark: int | None
    dropped: int
    state: int
    written: dict[int, int]


@dataclass(frozen=True)
class Seen:
    """What Spark did with orders in this order of arrival. delay, size: minutes."""

    batches: tuple[Batch, ...]
    mode: str = "append"
    delay: int = DELAY
    size: int = SIZE

    def window(self, minute: int) -> int:
        """When the window of this minute begins."""
        return minute - minute % self.size

    def lost(self, number: int) -> list[Order]:
        """The orders that this micro-batch dropped. Raises AssertionError where Spark
        counts differently.
        """
        before = self.batches[number - 1].watermark if number else None
        batch = self.batches[number]
        late = [
            order
            for order in batch.orders
            if before is not None
            and self.mode != "complete"
            and self.window(order[1]) + self.size <= before
        ]
        # Spark adds up each window's rows of the micro-batch first: what it drops and
        # counts are these sums.
        windows = {self.window(minute) for _, minute in late}
        assert len(windows) == batch.dropped, (
            f"micro-batch {number}: {windows} against {batch.dropped} dropped rows"
        )
        return late

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


# What Spark does with ORDERS, for the picture that stands above the lesson; a test lets
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
    written: dict[int, dict[int, int]] = {}
    for row in rows:
        written.setdefault(row["batch"], {})[_minute(row["begin"])] = row["orders"]
    batches = tuple(
        _batch(report, orders, written.get(report["batchId"], {}))
        for report in reports(query)
    )
    return Seen(batches, mode, delay, size)


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
        rows.extend(
            {"batch": batch, **row.asDict(recursive=True)} for row in frame.collect()
        )

    sink = (
        result.writeStream.outputMode(mode)
        .foreachBatch(keep)
        .trigger(availableNow=True)
    )
    query = sink.option(
        "checkpointLocation", checkpoint or lab.checkpoint("run")
    ).start()
    query.awaitTermination()
    return query, rows


def reports(query: Any) -> list[dict[str, Any]]:
    """The progress reports of a query's micro-batches, as plain data."""
    said = [json.loads(report.json) for report in query.recentProgress]
    return [report for report in said if report["stateOperators"]]


def dropped(query: Any) -> int:
    """Rows that came too late, as the reports count them: of an aggregation, sums of a
    micro-batch.
    """
    return sum(
        each["numRowsDroppedByWatermark"]
        for report in reports(query)
        for each in report["stateOperators"]
    )


def in_state(query: Any) -> int:
    """Rows in state after the last micro-batch."""
    return sum(each["numRowsTotal"] for each in reports(query)[-1]["stateOperators"])


def _query(lab: Lab, topic: str, delay: int, size: int) -> Any:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    reader = (
        SparkSession.active()
        .readStream.format("kafka")
        .option("kafka.bootstrap.servers", lab.bootstrap)
    )
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    rows = reader.option("maxOffsetsPerTrigger", PER_BATCH).load()
    placed_ms = F.get_json_object(
        F.col("value").cast("string"), "$.event_time_ms"
    ).cast("long")
    placed = rows.select(F.timestamp_millis(placed_ms).alias("event_time"))
    windows = placed.withWatermark("event_time", f"{delay} minutes").groupBy(
        F.window("event_time", f"{size} minutes")
    )
    return windows.agg(F.count("*").alias("orders")).select(
        F.unix_millis("window.start").alias("begin"), "orders"
    )


def _record(order: Order, arrives: int) -> Any:
    orders = dataset("orders")
    name, minute = order
    value = {"order_id": name, "event_time_ms": orders.DAY_STARTS + minute * MINUTE_MS}
    return orders.Event(
        "orders",
        name.encode(),
        orders.as_json(value),
        [],
        orders.DAY_STARTS + arrives * MINUTE_MS,
        0,
    )


def arrivals(orders: Sequence[Order]) -> list[int]:
    """When each reaches Kafka: at once, unless others that were placed later have come
    before.
    """
    return [
        max(minute for _, minute in orders[: number + 1])
        for number in range(len(orders))
    ]


def _minute(ms: int) -> int:
    return int((ms - dataset("orders").DAY_STARTS) // MINUTE_MS)


def _batch(
    report: dict[str, Any], orders: Sequence[Order], written: dict[int, int]
) -> Batch:
    [source], [operator] = report["sources"], report["stateOperators"]
    first, end = (_offset(source[name]) for name in ("startOffset", "endOffset"))
    said = datetime.fromisoformat(report["eventTime"]["watermark"])
    watermark = _minute(round(said.timestamp() * 1000)) if said.year > 1970 else None
    dropped, state = operator["numRowsDroppedByWatermark"], operator["numRowsTotal"]
    return Batch(
        report["batchId"],
        tuple(orders[first:end]),
        watermark,
        dropped,
        state,
        dict(sorted(written.items())),
    )


def _offset(said: Any) -> int:
    """Of the only partition, in a report; 0 where there is none yet."""
    offsets = (
        ast.literal_eval(said)
        if isinstance(said, str) and said != "None"
        else said or {}
    )
    return (
        next((read["0"] for read in offsets.values()), 0)
        if isinstance(offsets, dict)
        else 0
    )


def later(
    orders: Sequence[Order], name: str, first: Sequence[Order] = ORDERS
) -> tuple[Order, ...]:
    """The same orders, but this one comes a micro-batch later; from the last one it
    goes back to where it was first.
    """
    order = next(order for order in orders if order[0] == name)
    others = [each for each in orders if each != order]
    place = orders.index(order) + PER_BATCH
    if place >= len(orders):
        place = first.index(order)
    return (*others[:place], order, *others[place:])


def trace(seen: Seen) -> list[Event]:
    """What happened, as events for the picture. at: ms of the day, when the latest
    order of a micro-batch arrived.
    """
    teller = _Teller(seen)
    for batch in seen.batches:
        teller.batch(batch)
    return teller.events


class _Teller:
    def __init__(self, seen: Seen) -> None:
        self.seen, self.events = seen, list[Event]()
        self.at = OPENS_MS
        # micro-batch -> the event that moved its watermark
        self.moved: dict[int, tuple[str, int]] = {}
        self.counts: dict[int, int] = {}
        everybody = [order for batch in seen.batches for order in batch.orders]
        self.came = dict(
            zip((name for name, _ in everybody), arrivals(everybody), strict=True)
        )

    def tell(
        self, kind: str, cause: tuple[str, int] | None = None, **detail: Any
    ) -> tuple[str, int]:
        event = Event(
            ("Spark", len(self.events) + 1), self.at, "Spark", kind, cause, detail
        )
        self.events.append(event)
        return event.id

    def batch(self, batch: Batch) -> None:
        seen, number = self.seen, batch.number
        if batch.orders:
            self.at = (
                OPENS_MS + max(self.came[name] for name, _ in batch.orders) * MINUTE_MS
            )
        about: dict[str, Any] = {
            "mode": seen.mode,
            "delay": seen.delay,
            "size": seen.size,
        }
        before = seen.batches[number - 1].watermark if number else None
        begun = self.tell(
            "MicroBatchBegan",
            self.moved.get(number),
            batch=number,
            watermark=batch.watermark,
            orders=[list(order) for order in batch.orders],
            closed=before,
            **about,
        )
        lost = seen.lost(number)
        for name, minute in batch.orders:
            where: dict[str, Any] = {
                "batch": number,
                "order": name,
                "minute": minute,
                "window": seen.window(minute),
            }
            if (name, minute) in lost:
                self.tell(
                    "RowDropped", self.moved.get(number - 1), **where, watermark=before
                )
                continue
            self.counts[where["window"]] = self.counts.get(where["window"], 0) + 1
            self.tell("RowCounted", begun, **where, count=self.counts[where["window"]])
        for window, count in batch.written.items():
            self.tell(
                "WindowWritten",
                self.moved.get(number),
                batch=number,
                window=window,
                count=count,
                **about,
            )
        if seen.mode != "complete" and batch.watermark is not None:
            for window in [
                each for each in self.counts if each + seen.size <= batch.watermark
            ]:
                del self.counts[window]
                self.tell(
                    "WindowForgotten",
                    self.moved.get(number),
                    batch=number,
                    window=window,
                )
        assert len(self.counts) == batch.state, (
            f"micro-batch {number}: {self.counts} against {batch.state} in state"
        )
        self._watermark(number)

    def _watermark(self, number: int) -> None:
        batch, after = (
            self.seen.batches[number],
            self.seen.batches[number + 1 : number + 2],
        )
        if (
            after
            and after[0].watermark != batch.watermark
            and after[0].watermark is not None
        ):
            to = after[0].watermark
            self.moved[number + 1] = self.tell(
                "WatermarkMoved",
                batch=number,
                latest=to + self.seen.delay,
                to=to,
                delay=self.seen.delay,
            )


Rerun = Callable[[Sequence[Order], str, int], Sequence[Event]]


def levers(lab: Lab, seen: Seen) -> Any:
    """The picture of this run with levers: let an order come later, change the delay or
    the output mode, and Spark runs again.

    A run takes some seconds; one that has been seen is not run again.
    """
    from pyspark.sql import SparkSession

    from minikafka.course.levers.watermark import WatermarkLive

    orders = tuple(order for batch in seen.batches for order in batch.orders)
    known = {(orders, seen.mode, seen.delay): trace(seen)}

    def rerun(shown: Sequence[Order], mode: str, delay: int) -> Sequence[Event]:
        key = (tuple(shown), mode, delay)
        if key not in known and SparkSession.getActiveSession() is None:
            raise RuntimeError(
                "Spark has stopped: run the notebook again from its beginning."
            )
        if key not in known:
            known[key] = trace(watch(lab, shown, mode, delay))
        return known[key]

    modes = [seen.mode, *(mode for mode in MODES if mode != seen.mode)]
    return WatermarkLive(
        rerun,
        lambda shown, name: later(shown, name, orders),
        orders,
        modes,
        delay=seen.delay,
    )
