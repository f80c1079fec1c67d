"""An open transaction as a gate on the log: all records behind it, of any producer,
wait until the transaction ends. Beside each other are a reader of all records and one
of committed ones, with the records that they were given.

A record has the colour of its writer, an outline while its transaction is open. Below,
as lengths: how long a transaction was open, and how long others' records waited.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.axis import Scene, Span
from minikafka.theatre.boxes import (
    Item,
    Places,
    Stage,
    column,
    framed,
    part,
    row,
    space,
    words,
)
from minikafka.theatre.broker_lanes import lasted
from minikafka.theatre.drawing import Drawing, widest
from minikafka.theatre.lanes import captions_wide
from minikafka.theatre.pictures.gate.story import GateStory
from minikafka.theatre.pictures.transaction.cast import READ_COMMITTED
from minikafka.theatre.pictures.transaction.log import Record
from minikafka.theatre.pictures.transaction.rows import APART, Rows
from minikafka.theatre.play import Play, Space
from minikafka.theatre.time_lanes import Bar, TimeLane, TimeLanes

MOST_OF_CAPTIONS, MOST_OF_A_NAME = 132, 150  # width
MOST_WRITERS, MOST_WAITS = 3, 2
OPEN, COMMITTED, ABORTED = ("said", "ink"), ("good", "ink"), ("trouble", "paper")


class GatePlay(Play):
    story = GateStory
    ms_a_second = 1000
    legend = "Outline: its transaction is open. Crossed out: aborted."
    rule = (
        "The gate stands at the last stable offset: readers of committed records get"
        " what is before it."
    )

    def scenario(self, scene: Scene) -> str:
        return ""  # the chips say it

    def summary(self, space: Space) -> str:
        said = []
        for name, log in zip(self.cast["parts"], space["logs"], strict=True):
            held = _values(log["records"])
            said.append(f"{name} holds {held}")
        for name, found in space["readers"]:
            records = [each for _, *each in found]
            had = _values(records)
            said.append(f"{name} has {had}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        waited = [text for *_, text in self.cast["waited"][:MOST_WAITS]]
        writers = self.cast["writers"][:MOST_WRITERS]
        names = [*self.cast["parts"], *writers, *waited]
        left = captions_wide(names, MOST_OF_CAPTIONS) + APART
        everybody = self.cast["writers"]
        rows = Rows(self.cast, scenes, everybody, left, self._waits, is_answer=True)
        lanes = TimeLanes(scenes, self.time)
        readers = [self._reader(rows, side) for side in range(len(self.cast["levels"]))]
        self.boxes = Stage(
            column(
                row(*[_writer(n, scenes) for n in range(len(writers))], gap=14),
                *rows.logs(),
                row(*readers, gap=10),
                lanes.box(scenes, lambda up_to: self._lanes(up_to[-1]), left),
                gap=8,
            )
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _reader(self, rows: Rows, side: int) -> Item:
        """A card with its name, its level, and what it was handed."""
        name, level = list(self.cast["levels"].items())[side]
        key = f"reader/{side}"

        def card(d: Drawing, places: Places, scene: Scene) -> None:
            d.rect(key, *places[key], fill="wash", line="rule", r=8)

        named = row(
            words(f"{key}/name", name, most=MOST_OF_A_NAME, bold=True),
            space(),
            words(f"{key}/level", level, fill="quiet", size=12),
            line_gap=0,
        )
        inside = column(named, rows.handed(side), gap=4)
        return framed(key, inside, card, pad=8, grow=1)

    def _waits(self, space: Space, side: int) -> list[list[int]]:
        """What is kept from a reader of committed records."""
        name, found = space["readers"][side]
        if self.cast["levels"][name] != READ_COMMITTED:
            return []
        has = {(place, offset) for place, offset, *_ in found}
        waits = [[*at] for *at, _, end, _ in space["waits"] if end is None]
        return [at for at in waits if tuple(at) not in has]

    def _lanes(self, scene: Scene) -> list[TimeLane]:
        """How long transactions were open, and how long others' records waited."""
        now, space = scene["at"], scene["space"]
        lanes = []
        for number, writer in enumerate(_writers(space)):
            if writer.name in self.cast["transactional"]:
                colour, ink = actor_colour(number), ink_on_actor(number)
                lane = _lane(
                    writer.name, "transaction open", writer.spans, now, colour, ink
                )
                lanes.append(lane)
        waited = {(place, offset): span for place, offset, *span in space["waits"]}
        for place, offset, text in self.cast["waited"][:MOST_WAITS]:
            told = [waited[place, offset]] if (place, offset) in waited else []
            lane = _lane(text, "waits", told, now, "hatch", "ink")
            key = f"waits {place} {offset}"
            lanes.append(replace(lane, key=key, is_answer=True))
        return lanes


class Writer(NamedTuple):
    """A producer as the story describes it. ended: how its last transaction ended.
    told: how many of its records were acknowledged.
    """

    name: str
    is_open: bool
    ended: str
    told: int
    spans: list[list[Any]]


def _writers(space: Space) -> list[Writer]:
    return [Writer(*each) for each in space["writers"][:MOST_WRITERS]]


def _lane(
    name: str, what: str, told: Sequence[Sequence[Any]], now: int, fill: str, ink: str
) -> TimeLane:
    """told: spans as stories keep them: begin, end or None, number."""
    bars = []
    for begin, end, number in told:
        span = Span(begin, now if end is None else end, what, number)
        words = [f"{what}, {lasted(span)}", what, lasted(span)]
        bars.append(Bar(span, words, words[0], fill, ink))
    last = lasted(bars[-1].span) if bars else ""
    return TimeLane(name, name if bars else "", bars, fill, last)


def _writer(number: int, scenes: Sequence[Scene]) -> Item:
    """Its name, and a chip that says what has become of its records."""
    spaces = [scene["space"] for scene in scenes]
    every = [each for space in spaces for each in _writers(space)[number : number + 1]]
    wide = max((widest(each.name, 13, bold=True) for each in every), default=0)
    chips = [widest(_became(each)[0], 12, bold=True) + 16 for each in every]
    key = f"writer/{number}"

    def writer(scene: Scene) -> Writer | None:
        shown = _writers(scene["space"])[number:]
        return shown[0] if shown else None

    def name(d: Drawing, places: Places, scene: Scene) -> None:
        if who := writer(scene):
            place = places[f"producer {number}"]
            card = d.part(key, place.x, place.y)
            card.disc("disc", 12, 13, 11, who.name[:1].upper(), number, 13)
            card.text("name", 30, 18, who.name, bold=True, room=place.w - 30)

    def chip(d: Drawing, places: Places, scene: Scene) -> None:
        who = writer(scene)
        if who and (became := _became(who))[0]:
            place = places[f"became {number}"]
            word, (fill, ink) = became
            d.chip(f"{key}/chip", place.x + 6, place.y, word, fill=fill, ink=ink)

    return row(
        part(f"producer {number}", name, high=26, least=38 + min(wide, MOST_OF_A_NAME)),
        part(f"became {number}", chip, high=19, least=max(chips, default=0)),
        gap=4,
        line_gap=2,
    )


def _values(records: Sequence[Sequence[Any]]) -> str:
    """The values of records, one after the other."""
    texts = [Record(*each).text for each in records]
    return ", ".join(texts) or "nothing"


def _became(writer: Writer) -> tuple[str, tuple[str, str]]:
    """The words on a producer's chip, and its colours."""
    if writer.is_open:
        return "transaction open", OPEN
    if writer.ended == "aborted":
        return writer.ended, ABORTED
    if writer.ended:
        return writer.ended, COMMITTED
    words = f"{writer.told} acknowledged" if writer.told else ""
    return words, COMMITTED
