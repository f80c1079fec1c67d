"""What a windowed query of Spark's tells, micro-batch by micro-batch: which orders
counted, which were dropped, what is still in state, what was written, and where the
watermark stood (watermark.py draws it).

Times are minutes after eight o'clock. closed: the watermark of the micro-batch before,
by which Spark drops what is late; it writes and forgets windows by the watermark of the
micro-batch itself.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from minikafka.theatre.play import Cast, Detail, Space, Story, Told
from minikafka.theatre.text import counted
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


@dataclass
class Row:
    """One micro-batch. orders: [name, minute, fate], fate "" while it is not decided.
    written: [window, count].
    """

    batch: int
    watermark: int | None
    closed: int | None
    orders: list[list[Any]] = field(default_factory=list)
    written: list[list[int]] = field(default_factory=list)


class WatermarkStory(Story):
    name = "watermark"
    title = "Orders by the time at which they were placed"

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        about = next(
            (event.detail for event in trace if event.kind == "MicroBatchBegan"), {}
        )
        self.size, self.delay, self.mode = (
            about.get("size", 1),
            about.get("delay", 0),
            about.get("mode", "append"),
        )
        windows = sorted(
            {
                event.detail["window"]
                for event in trace
                if event.kind in ("RowCounted", "RowDropped")
            }
        )
        self.windows = {begin: Window(begin) for begin in windows}
        self.batches = sum(event.kind == "MicroBatchBegan" for event in trace)
        self.rows: list[Row] = []
        self.dropped = 0

    def cast(self) -> Cast:
        windows = list(self.windows)
        last = windows[-1] + self.size if windows else self.size
        return super().cast() | {
            "size": self.size,
            "delay": self.delay,
            "mode": self.mode,
            "batches": self.batches,
            "windows": list(range(windows[0], last, self.size)) if windows else [],
        }

    def space(self) -> Space:
        return {
            "windows": [asdict(window) for window in self.windows.values()],
            "rows": [asdict(row) for row in self.rows],
            "dropped": self.dropped,
        }

    def _see_MicroBatchBegan(self, event: Event, d: Detail) -> Told:
        orders = [[name, minute, ""] for name, minute in d["orders"]]
        self.rows.append(Row(d["batch"], d["watermark"], d["closed"], orders))
        mark = (
            f"It works with watermark {clock(d['watermark'])}."
            if d["watermark"] is not None
            else ""
        )
        if not orders:
            why = "no order has come, but the watermark has moved"
            return Told(
                f"Micro-batch {d['batch']} reads nothing: {why}. {mark}",
                f"micro-batch {d['batch']}",
            )
        names = [name for name, _, _ in orders]
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        mark = mark or "There is no watermark yet."
        return Told(
            f"Micro-batch {d['batch']} reads {counted(len(orders), 'order')}: {listed}."
            f" {mark}",
            f"micro-batch {d['batch']}",
        )

    def _see_RowCounted(self, event: Event, d: Detail) -> Told:
        window = self.windows[d["window"]]
        late = self._fate(d, "counted")
        window.count, window.forgotten = d["count"], False
        told = Told(
            f"{d['order']}, placed at {clock(d['minute'])}, counts in window"
            f" {self._name(window)}: {counted(window.count, 'order')} there."
        )
        watermark = self.rows[-1].watermark
        if (
            watermark is not None
            and window.begin + self.size <= watermark
            and self.mode != "complete"
        ):
            told.sentence += (
                f" The watermark, {clock(watermark)}, is past this window's end, and"
                " yet it counts."
            )
            told.chapter, told.light = (
                f"{d['order']} counts",
                [
                    late,
                    f"state/{window.begin}",
                    f"mark/{self._now}",
                ],
            )
        return told

    def _see_RowDropped(self, event: Event, d: Detail) -> Told:
        window = self.windows[d["window"]]
        dropped = self._fate(d, "dropped")
        window.lost.append(d["order"])
        self.dropped += 1
        return Told(
            f"{d['order']}, placed at {clock(d['minute'])}, is dropped: window"
            f" {self._name(window)} had ended before watermark {clock(d['watermark'])},"
            " that of the micro-batch before.",
            f"{d['order']} is dropped",
            True,
            light=[dropped, f"closed/{self._now}", f"sink/{window.begin}", "lamp"],
        )

    def _see_WindowWritten(self, event: Event, d: Detail) -> Told:
        window = self.windows[d["window"]]
        window.written.append(d["count"])
        self.rows[-1].written.append([window.begin, d["count"]])
        why = {
            "append": (
                f"the watermark, {clock(self.rows[-1].watermark or 0)}, has passed"
                " its end"
            ),
            "update": "it has changed",
            "complete": "all windows are, each time",
        }[self.mode]
        sentence = (
            f"Window {self._name(window)} is written, with"
            f" {counted(d['count'], 'order')}: {why}."
        )
        first = self.once("the first window is written")
        light = [
            f"sink/{window.begin}",
            f"written/{self._now}/{window.begin}",
            f"mark/{self._now}",
        ]
        return Told(sentence, first, light=light if first else ())

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

    def _fate(self, d: Detail, fate: str) -> str:
        """Notes what became of an order of this micro-batch; the key of its shape."""
        order = next(each for each in self.rows[-1].orders if each[0] == d["order"])
        order[2] = fate
        return f"order/{d['order']}"

    def _name(self, window: Window) -> str:
        return f"{clock(window.begin)} to {clock(window.begin + self.size)}"

    @property
    def _now(self) -> int:
        return self.rows[-1].batch


def clock(minute: int) -> str:
    """08:12"""
    return f"{8 + minute // 60:02}:{minute % 60:02}"
