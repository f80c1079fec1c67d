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
from minikafka.theatre.nodes import Row
from minikafka.theatre.pictures.replica_set.names import Names
from minikafka.theatre.text import key_part, span_of

PRODUCERS, PRODUCERS_NARROW = 200, 108  # width of the area right of a log
MARGIN = 10  # left of them
AT_A_BROKER = 2  # producers beside one broker
HIGH, HAND = 36, 18  # heights: of a producer, of what it has in hand
WORDS = 16  # and of its name
ANSWER, ANSWER_NARROW = 92, 40  # width of an answer


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
    """The places of producers in one layout, and the records in their hands.
    place(offset): x of a record.
    """

    def __init__(
        self, d: Drawing, names: Names, scene: Mapping[str, Any], place: Any
    ) -> None:
        self.d = d
        self.names = names
        self.at = scene["at"]
        self.now = scene["number"]
        self.place = place
        self.producers = [Waiting(*each) for each in scene["space"]["producers"]]
        self.width = width_of_hands(d) - MARGIN
        self.left = d.width - self.width

    def beside(self, row: Row, end: int) -> None:
        """Those that reach this broker, the latest first. end: of its log."""
        here = [each for each in self.producers if each.at == row.broker]
        here.sort(key=lambda each: -each.number)
        y = row.y
        for producer in here[:AT_A_BROKER]:
            self._producer(producer, row, y)
            if producer.number == self.now:
                self._speaks(producer, row, end)
            y += HIGH

    def _producer(self, producer: Waiting, row: Row, y: float) -> None:
        part = self.d.part(f"producer/{key_part(producer.name)}", self.left, y)
        state = self._state(producer)
        beside = widest(state, 12) + 8 if state else 0
        room = self.width - beside
        part.text(
            "name",
            0,
            12,
            producer.name,
            bold=True,
            room=room,
        )
        if state:
            part.note("state", self.width, 12, state, "end", size=12)
        after_name = widest(producer.name, 13) + 8
        acks = f"acks={producer.acks}"
        if producer.acks and after_name + widest(acks, 12) <= room:
            part.note("acks", after_name, 12, acks, size=12)

        if producer.since is not None and producer.hand:
            self._record(part, producer)
        elif producer.failed:
            self._error(part, producer.failed)
        elif producer.done:
            self._answer(part, producer, row)

    def _state(self, producer: Waiting) -> str:
        """For how long it has waited."""
        if producer.since is None:
            return ""
        waited = f"{(self.at - producer.since) / 1000:.0f} s"
        return waited if self.d.narrow else f"waits {waited}"

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
        part.cell(
            "hand",
            *self._box(),
            text=text,
            more=more,
            **look,
        )

    def _box(self) -> Box:
        """A box as wide as a record, if there is room."""
        width = self.width if self.names.are_whole else ANSWER_NARROW
        width = min(width, self.place(1) - self.place(0) - 5)

        return Box(
            x=0,
            y=WORDS,
            w=width,
            h=HAND,
        )

    def _error(self, part: Drawing, error: str) -> None:
        shown = fit(error, self.width * LEAST_STRETCH, 12)
        part.text("error", 0, 30, shown, "trouble", size=12)

    def _answer(self, part: Drawing, producer: Waiting, row: Row) -> None:
        """It comes back from the record that it is about."""
        last = producer.done[-1]
        words = f"offset {last}"
        if len(producer.done) > 1:
            words = f"{producer.done[0]} to {last}"
        width = ANSWER_NARROW if self.d.narrow else ANSWER
        look: Look = {
            "fill": "good",
            "text": "✓",
            "more": fitting([words], width - 20, 12.5),
            "tip": f"{producer.name} has heard: done, {span_of(producer.done)}",
            "of": producer.number,
        }
        if producer.number == self.now:
            look |= {"from_x": self.place(last), "from_y": row.cells_y}
        part.cell(f"answer/{last}", 0, WORDS, width, HAND, **look)

    def _speaks(self, producer: Waiting, row: Row, end: int) -> None:
        """Draw an arrow: its record goes to the log, or the answer comes back."""
        at_log = self.place(end + 1) + 2
        at_hand = self.left - 6
        if at_hand - at_log < 12:
            return

        is_sent = producer.since is not None
        begin, stop = (at_hand, at_log) if is_sent else (at_log, at_hand)
        y = row.cells_y + row.cell / 2
        look: Look = {
            "width": 2,
            "of": producer.number,
            "tip": "a record" if is_sent else "the answer",
        }
        key = f"{row.key}/speaks"
        self.d.arrow(
            key,
            x=begin,
            y=y,
            x2=stop,
            y2=y,
            line="ink",
            **look,
        )


def width_of_hands(d: Drawing) -> float:
    return PRODUCERS_NARROW if d.narrow else PRODUCERS
