"""What a windowed query of Spark's tells, micro-batch by micro-batch: which orders
counted, which were dropped, what is still in state, what was written, and where the
watermark stood (play.py draws it).

Times are minutes after eight o'clock. closed: the watermark of the micro-batch before,
by which Spark drops what is late; it writes and forgets windows by the watermark of the
micro-batch itself.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.play import Cast, Detail, Space, Story, Told, picked
from minikafka.theatre.text import counted, listed
from minikafka.trace import Event


@dataclass
class Window:
    """One window of event time. written: the counts that the sink got, in order. lost:
    orders that were dropped.
    """

    begin: int
    count: int = 0
    forgotten: bool = False
    written: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class Order(NamedTuple):
    """fate: counted, dropped, or "" while it is not decided."""

    name: str
    minute: int
    fate: str


@dataclass
class Row:
    """One micro-batch. written: [window, count]."""

    batch: int
    watermark: int | None
    closed: int | None
    orders: list[Order] = field(default_factory=list)
    written: list[tuple[int, int]] = field(default_factory=list)

    def settle(self, name: str, fate: str) -> None:
        """Settle the fate of one of its orders."""
        names = [order.name for order in self.orders]
        place = names.index(name)
        self.orders[place] = self.orders[place]._replace(fate=fate)


class WatermarkStory(Story):
    name = "watermark"
    title = "Orders by the time at which they were placed"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        batches = [event for event in trace if event.kind == "MicroBatchBegan"]
        about = batches[0].detail if batches else {}
        self.size = about.get("size", 1)
        self.delay = about.get("delay", 0)
        self.mode = about.get("mode", "append")
        begins = {
            event.detail["window"]
            for event in trace
            if event.kind in ("RowCounted", "RowDropped")
        }
        self.windows = {begin: Window(begin) for begin in sorted(begins)}
        self.batches = len(batches)
        self.rows: list[Row] = []
        self.dropped = 0
        # window -> what is lit of an order that still counts after its watermark
        self.late: dict[int, list[str]] = {}
        self.kept = ""  # the last of these, in words

    def cast(self) -> Cast:
        told = super().cast()
        told |= picked(self, "size", "delay", "mode", "batches")
        told["windows"] = []
        begins = list(self.windows)
        if begins:
            end = begins[-1] + self.size
            told["windows"] = list(range(begins[0], end, self.size))
        return told

    def space(self) -> Space:
        return {
            "windows": [asdict(window) for window in self.windows.values()],
            "rows": [asdict(row) for row in self.rows],
            "dropped": self.dropped,
        }

    def _see_MicroBatchBegan(self, event: Event, d: Detail) -> Told:
        batch = d["batch"]
        watermark = d["watermark"]
        orders = [Order(name, minute, "") for name, minute in d["orders"]]
        row = Row(
            batch,
            watermark,
            closed=d["closed"],
            orders=orders,
        )
        self.rows.append(row)
        return Told(
            f"Micro-batch {batch} reads {_what_it_reads(orders, watermark)}",
            chapter=f"micro-batch {batch}",
        )

    def _see_RowCounted(self, event: Event, d: Detail) -> Told:
        name = d["order"]
        window = self.windows[d["window"]]
        row = self.rows[-1]
        row.settle(name, "counted")
        window.count = d["count"]
        window.forgotten = False
        many = counted(window.count, "order")
        told = Told(
            f"{name}, placed at {clock(d['minute'])}, counts in window"
            f" {self._name(window)}: {many} there."
        )
        watermark = row.watermark
        if watermark is None or self.mode == "complete":
            return told
        if window.begin + self.size > watermark:
            return told
        told.sentence += (
            f" The watermark, {clock(watermark)}, is past this window's end, and"
            " yet it counts."
        )
        told.chapter = f"{name} counts"
        self.late[window.begin] = [f"order/{name}", f"closed/{row.batch}"]
        if row.closed is not None and self.mode == "append":
            self.kept = (
                f"{name} too: micro-batch {row.batch} drops by the watermark before,"
                f" {clock(row.closed)}, and writes by its own, {clock(watermark)}."
            )
        told.light = [
            *self.late[window.begin],
            f"state/{window.begin}",
            f"mark/{row.batch}",
        ]
        return told

    def _see_RowDropped(self, event: Event, d: Detail) -> Told:
        name = d["order"]
        window = self.windows[d["window"]]
        row = self.rows[-1]
        row.settle(name, "dropped")
        window.lost.append(name)
        self.dropped += 1
        placed = clock(d["minute"])
        watermark = clock(d["watermark"])
        return Told(
            f"{name}, placed at {placed}, is dropped: window {self._name(window)} had"
            f" ended before watermark {watermark}, that of the micro-batch before.",
            chapter=f"{name} is dropped",
            trouble=True,
            light=[
                f"order/{name}",
                f"closed/{row.batch}",
                f"sink/{window.begin}",
                "lamp",
            ],
        )

    def _see_WindowWritten(self, event: Event, d: Detail) -> Told:
        window = self.windows[d["window"]]
        row = self.rows[-1]
        count = d["count"]
        window.written.append(count)
        row.written.append((window.begin, count))
        many = counted(count, "order")
        why = self._why_written(row)
        return Told(
            f"Window {self._name(window)} is written, with {many}: {why}.",
            chapter=self.once("the first window is written"),
            light=self.first(
                "light on it",
                f"sink/{window.begin}",
                f"written/{row.batch}/{window.begin}",
                f"mark/{row.batch}",
                *self.late.get(window.begin, ()),
            ),
        )

    def _why_written(self, row: Row) -> str:
        """Why a window was written, which depends on the output mode."""
        if self.mode == "append":
            return f"the watermark, {clock(row.watermark or 0)}, has passed its end"
        return {
            "update": "it has changed",
            "complete": "all windows are, each time",
        }[self.mode]

    def _see_WindowForgotten(self, event: Event, d: Detail) -> Told:
        window = self.windows[d["window"]]
        window.forgotten = True
        return Told(
            f"Spark forgets window {self._name(window)}: nothing that comes can change"
            " it any more."
        )

    def _see_WatermarkMoved(self, event: Event, d: Detail) -> Told:
        return Told(
            f"The latest order so far was placed at {clock(d['latest'])}. {d['delay']}"
            " minutes less: the next micro-batch works with watermark"
            f" {clock(d['to'])}.",
            self.once("the watermark moves"),
        )

    def ends(self, last: Scene) -> None:
        """Tell everything in one sentence: how many orders counted, and why not
        more.
        """
        orders = [order for row in self.rows for order in row.orders]
        if not orders or "light" in last:
            return
        counts = [order for order in orders if order.fate == "counted"]
        lost = [order.name for order in orders if order.fate == "dropped"]
        words = f"{len(counts)} of {counted(len(orders), 'order')} counted"
        behind = f"the watermark, {self.delay} minutes behind the latest order,"
        if lost:
            whose = "its window" if len(lost) == 1 else "their windows"
            last["sentence"] = (
                f"{words}. {listed(lost)} did not: {behind} had passed the end of"
                f" {whose} before."
            )
        elif self.kept:
            last["sentence"] = f"{words}, {self.kept}"
        elif self.mode == "complete":
            last["sentence"] = f"{words}: output mode complete closes no window."
        else:
            last["sentence"] = f"{words}: {behind} closed no window too early."

    def _name(self, window: Window) -> str:
        return f"{clock(window.begin)} to {clock(window.begin + self.size)}"


def _what_it_reads(orders: Sequence[Order], watermark: int | None) -> str:
    mark = "There is no watermark yet."
    if watermark is not None:
        mark = f"It works with watermark {clock(watermark)}."
    if not orders:
        return f"nothing: no order has come, but the watermark has moved. {mark}"
    names = [order.name for order in orders]
    many = counted(len(orders), "order")
    return f"{many}: {listed(names, most=len(names) + 1)}. {mark}"


def clock(minute: int) -> str:
    """A minute of the day as a clock time: 08:12."""
    return f"{8 + minute // 60:02}:{minute % 60:02}"
