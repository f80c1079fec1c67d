"""Producers beside the broker that they reach, with the record that they have sent and
not heard of, or the answer that has come back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fit,
    fitting,
    widest,
)
from minikafka.theatre.nodes import Columns
from minikafka.theatre.pictures.log_rows import CELL
from minikafka.theatre.pictures.replica_set.names import Names
from minikafka.theatre.text import key_part, span_of

WIDTHS = 84, 190  # of the area right of a log: least, and wanted
AT_A_BROKER = 2  # producers beside one broker
HIGH, HAND = 36, 18  # heights: of a producer, of what it has in hand
WORDS = 16  # and of its name
ANSWER = 92  # width of an answer


class InHand(NamedTuple):
    """A record that is sent, and not answered yet. same: what it shares with itself in
    the logs.
    """

    letter: str
    name: str
    same: str


class Waiting(NamedTuple):
    """A producer. at: number of the broker that it sent to last. since: when, in ms, or
    None where nothing is unanswered. failed: the error that it heard last. done: the
    offsets of what it last heard is done. waited: from when to when, each time. acks:
    whose copies it waits for, or nothing where no trace says it.
    """

    name: str
    at: int
    since: int | None
    failed: str
    done: Sequence[int]
    number: int
    hand: Sequence[Sequence[str]]
    waited: Sequence[Sequence[int | None]]
    acks: str

    @property
    def heard(self) -> str:
        """The state of the producer's request, in words."""
        if self.since is not None:
            return "waits"
        return self.failed or (f"done, {span_of(self.done)}" if self.done else "")


class Hands:
    """The producers in their place beside one broker's log, and the records in their
    hands. columns: of the log.
    """

    def __init__(
        self,
        d: Drawing,
        names: Names,
        scene: Mapping[str, Any],
        columns: Columns,
        place: Box,
    ) -> None:
        self.d = d
        self.names = names
        self.at = scene["at"]
        self.now = scene["number"]
        self.copies = scene["space"]["copies"]
        self.columns = columns
        self.place = place
        self.producers = [Waiting(*each) for each in scene["space"]["producers"]]

    def beside(self, broker: int, records_y: float) -> None:
        """Those that reach this broker, the latest first. records_y: of its log."""
        here = [each for each in self.producers if each.at == broker]
        here.sort(key=lambda each: -each.number)
        ends = {copy["broker"]: copy["end"] for copy in self.copies}
        y = self.place.y
        for producer in here[:AT_A_BROKER]:
            self._producer(producer, records_y, y)
            if producer.number == self.now:
                self._speaks(producer, records_y, ends[broker])
            y += HIGH

    def _producer(self, producer: Waiting, records_y: float, y: float) -> None:
        part = self.d.part(f"producer/{key_part(producer.name)}", self.place.x, y)
        width = self.place.w
        waits = self._waits(producer)
        acks = f"acks={producer.acks}" if producer.acks else ""
        room = width - (widest(waits, 12) + 8 if waits else 0)
        name = producer.name
        named = fitting(
            [f"producer {name}"], room - widest(acks, 12) - 8, 13, bold=True
        )
        part.text("name", 0, 12, named or name, bold=True, room=room)
        after_name = widest(named or name, 13, bold=True) + 8
        if waits:
            x = min(after_name, width - widest(waits, 12))
            part.note("state", x, 12, waits, size=12)
            after_name = x + widest(waits, 12) + 8
        if producer.acks and after_name + widest(acks, 12) <= width:
            part.note("acks", after_name, 12, acks, size=12)

        if producer.since is not None and producer.hand:
            self._record(part, producer)
        elif producer.failed:
            shown = fit(producer.failed, width * LEAST_STRETCH, 12)
            part.text("error", 0, 30, shown, "trouble", size=12)
        elif producer.done:
            self._answer(part, producer, records_y)

    def _waits(self, producer: Waiting) -> str:
        """For how long it has waited."""
        if producer.since is None:
            return ""
        waited = f"{(self.at - producer.since) / 1000:.0f} s"
        room = self.place.w - widest(producer.name, 13, bold=True) - 8
        return fitting([f"waits {waited}"], room, 12) or waited

    def _record(self, part: Drawing, producer: Waiting) -> None:
        """The record it has sent is in a log, and it keeps its own copy until there is
        an answer.
        """
        hand = [InHand(*each) for each in producer.hand]
        first = hand[0]
        text, more = self.names.words(first.letter, first.name)
        if len(hand) > 1:
            text, more = f"x{len(hand)}", ""
        look: Look = {
            "fill": "paper",
            "line": "ink",
            "same": first.same,
            "tip": f"{producer.name} has it in hand: no answer yet",
        }
        part.cell("hand", *self._box(), text=text, more=more, **look)

    def _box(self) -> Box:
        """A box as wide as a record, if there is room."""
        width = min(self.place.w, self.columns.pitch - 5)
        return Box(0, WORDS, width, HAND)

    def _answer(self, part: Drawing, producer: Waiting, records_y: float) -> None:
        """It comes back from the record that it is about."""
        last = producer.done[-1]
        words = f"offset {last}"
        if len(producer.done) > 1:
            words = f"{producer.done[0]} to {last}"
        width = min(ANSWER, self.place.w)
        look: Look = {
            "fill": "good",
            "text": "✓",
            "more": fitting([words], width - 20, 12.5),
            "tip": f"{producer.name} has heard: done, {span_of(producer.done)}",
            "of": producer.number,
        }
        if producer.number == self.now:
            look |= {"from_x": self.columns(last), "from_y": records_y}
        part.cell(f"answer/{last}", 0, WORDS, width, HAND, **look)

    def _speaks(self, producer: Waiting, records_y: float, end: int) -> None:
        """Draw an arrow: its record goes to the log, or the answer comes back."""
        at_log = self.columns(end + 1) + 2
        at_hand = self.place.x - 6
        if at_hand - at_log < 12:
            return
        is_sent = producer.since is not None
        begin, stop = (at_hand, at_log) if is_sent else (at_log, at_hand)
        y = records_y + CELL / 2
        tip = "a record" if is_sent else "the answer"
        look: Look = {"line": "ink", "width": 2, "of": producer.number, "tip": tip}
        self.d.arrow(f"node/{producer.at}/speaks", begin, y, stop, y, **look)
