"""Two leaders, one log: each broker's copy, the offset at which they part, and what
falls off when they meet again. Producers stand beside the broker that they reach, with
what they have in hand.

Below, as lengths: who believed to lead, and who waited for an answer. Options: topic,
partition (without them: the one that is copied most).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.bars import Bars, Lane, lane
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Drawing,
    Look,
    fit,
    text_width,
    widest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.nodes import Columns, Copied, Row, colour, draw_log, rows_of
from minikafka.theatre.pictures.fork_story import ForkStory
from minikafka.theatre.play import Play, Space
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import dotted, key_part

# heights: above the rows; between the two sides; of what was cut off; of a record
HEAD, WALL, TRAY, CELL = 20, 20, 46, 28
PRODUCERS, PRODUCERS_NARROW = 150, 108  # width of what stands right of a log
HAND = 20  # of a record in a producer's hand
BETWEEN = 5  # records
MOST_LANES, AT_A_BROKER = 3, 2  # producers with a lane; beside one broker


class Waiting(NamedTuple):
    """A producer. at: number of the broker that it sent to last. since: when, in ms, or
    None where nothing is unanswered. hand: a letter of each record.
    """

    name: str
    at: int
    since: int | None
    told: str
    number: int
    hand: Sequence[str]
    waited: Sequence[Sequence[int | None]]


class ForkPlay(Play):
    story = ForkStory
    ms_a_second = 1000
    foot = (
        "Colour: who led when it was written. Filled: below the high watermark (the"
        " heavy line), as far as this broker knows. Outlined: may still be cut off."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        leading = [copy for copy in space["copies"] if copy["leads"]]
        leading.sort(key=lambda copy: copy["epoch"])
        words = [
            f"broker {copy['broker']} leads in epoch {copy['epoch']}"
            for copy in leading
        ]
        return dotted(*words) or "nobody leads"

    def summary(self, space: Space) -> str:
        said = []
        for copy in space["copies"]:
            held = [record[3] for record in copy["records"]]
            words = f"broker {copy['broker']} holds {', '.join(held) or 'nothing'}"
            said.append(words + (f" ({copy['life']})" if copy["life"] else ""))
        if space["fork"] is not None:
            said.append(f"the logs part at offset {space['fork']}")
        for each in space["producers"]:
            producer = Waiting(*each)
            state = "waits" if producer.since is not None else producer.told
            said.append(f"{producer.name}: {state}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.bars = Bars(scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        foot = _Stage(drawing, scene, self.cast).draw()
        self.bars.draw(drawing, foot, self._lanes(scene), scene["at"])

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """Over the logs: before which offset something happens to them."""
        columns = _Stage(drawing, scene, self.cast).columns
        cards = [drawing.shapes[f"node/{broker}"] for broker in self.cast["order"]]
        first, last = columns.first, max(self.cast["most"], 1)
        return Ruler(
            left=columns(first) - BETWEEN / 2,
            right=columns(last) - BETWEEN / 2,
            first=first,
            last=last,
            step=1,
            edge=0,
            reach=max(card["y"] + card["h"] for card in cards),
            says=_offset,
            above=True,
        )

    def _lanes(self, scene: Scene) -> list[Lane]:
        space, now = scene["space"], scene["at"]
        leaders = set(self.cast["leaders"].values())
        lanes = []
        for copy in space["copies"]:
            if copy["broker"] in leaders:
                name = f"broker {copy['broker']} leads"
                lanes.append(lane(name, copy["led"], colour(copy["broker"]), now))
        there = {each[0]: Waiting(*each) for each in space["producers"]}
        for name in self.cast["producers"][:MOST_LANES]:
            waited = there[name].waited if name in there else ()
            lanes.append(lane(f"{name} waits", waited, "quiet", now))
        return lanes


class _Stage:
    """The brokers with their logs, the producers, and what was cut off."""

    def __init__(self, d: Drawing, scene: Scene, cast: Mapping[str, Any]) -> None:
        self.d = d
        self.space = scene["space"]
        self.now = scene["number"]
        self.at = scene["at"]
        self.cast = cast
        self.copies = {copy["broker"]: copy for copy in self.space["copies"]}
        self.right = PRODUCERS_NARROW if d.narrow else PRODUCERS
        end = self.space["end"]
        self.columns = Columns(
            d, most=cast["most"], end=end, right=self.right, least=34, widest=124
        )

    @property
    def hands(self) -> float:
        """Where producers stand."""
        return self.d.width - self.right + 10

    def draw(self) -> float:
        """Returns where it ends."""
        *others, alone = self.cast["order"] or [0]
        rows, foot = rows_of(
            self.d,
            brokers=others,
            top=HEAD,
            cell=CELL,
            live=False,
        )
        if not alone:
            return foot
        last, foot = rows_of(
            self.d, brokers=[alone], top=foot + WALL, cell=CELL, live=False
        )
        rows |= last
        row = rows[alone]
        if self.copies[alone]["life"] == "cut off":
            self._wall(row.y - WALL)
        self._fork(foot - 14)
        for row in rows.values():
            self._row(row, rows)
        for each in rows.values():
            self._producers(each)
        if self.cast["dropped"]:
            self._dropped(foot)
            foot += TRAY
        return foot

    def _row(self, row: Row, rows: Mapping[int, Row]) -> None:
        copy = self.copies[row.broker]
        row.card(copy["life"], _words(copy, self.d.narrow), ("", "", ""), copy["leads"])
        leader = rows.get(copy["follows"])
        flies: Look = {}
        if copy["leads"]:
            flies = {
                "from_x": self.hands,
                "from_y": row.cells_y,
            }
        elif leader is not None:
            flies = {"from_y": leader.cells_y}
        draw_log(
            row,
            columns=self.columns,
            log=copy,
            leaders=self.cast["leaders"],
            now=self.now,
            **flies,
        )
        if copy["asked_to"] is not None:
            self._cut_here(row, copy["asked_to"])

    def _wall(self, y: float) -> None:
        """Between those that don't hear each other."""
        words = "nothing passes"
        left = widest(words, 12, bold=True) + 10
        y += WALL / 2 - 4
        look: Look = {
            "size": 12,
            "bold": True,
        }
        self.d.text(
            "wall/words",
            0,
            y + 4,
            words,
            "trouble",
            **look,
        )
        self.d.level(
            "wall",
            left=left,
            right=self.d.width,
            y=y,
            line="trouble",
            width=2,
            dash="6 5",
        )

    def _fork(self, bottom: float) -> None:
        """Where logs part."""
        offset = self.space["fork"]
        if offset is None or offset < self.columns.first:
            return
        x = self.columns(offset) - BETWEEN / 2
        words = f"the logs part at offset {offset}"
        room = self.d.width - x
        is_wide = widest(words, 12, bold=True) > room
        look: Look = {
            "size": 12,
            "bold": True,
            "anchor": "end" if is_wide else "start",
        }
        self.d.text(
            "fork/words",
            x - 4 if is_wide else x + 4,
            14,
            words,
            **look,
        )
        self.d.upright(
            "fork", x=x, top=4, bottom=bottom, line="ink", width=1.5, dash="3 4"
        )

    def _cut_here(self, row: Row, offset: int) -> None:
        """Where the leader says that it must end."""
        if offset < self.columns.first:
            return
        self.d.upright(
            f"{row.key}/end-here",
            x=self.columns(offset) - BETWEEN / 2,
            top=row.cells_y - 8,
            bottom=row.cells_y + CELL + 8,
            line="trouble",
            width=3,
            dash="5 3",
        )

    def _producers(self, row: Row) -> None:
        """Those that reach this broker, the latest first."""
        every = [Waiting(*each) for each in self.space["producers"]]
        here = [each for each in every if each.at == row.broker]
        here.sort(key=lambda each: -each.number)
        y = row.y + 6
        for producer in here[:AT_A_BROKER]:
            self._producer(producer, y)
            if producer.number == self.now:
                self._speaks(row, producer)
            y += 34

    def _speaks(self, row: Row, producer: Waiting) -> None:
        """An arrow: its record goes to the log, or the answer comes back."""
        copy = self.copies[row.broker]
        ends = self.columns(copy["end"] + 1) + 2, self.hands - 6
        if ends[1] - ends[0] < 12:
            return
        begin, end = ends if producer.since is None else ends[::-1]
        y = row.cells_y + CELL / 2
        words = "a record" if producer.since is not None else "the answer"
        key = f"{row.key}/speaks"
        look: Look = {
            "width": 2,
            "of": producer.number,
            "tip": words,
        }
        self.d.arrow(
            key,
            x=begin,
            y=y,
            x2=end,
            y2=y,
            line="ink",
            **look,
        )

    def _producer(self, producer: Waiting, y: float) -> None:
        d = self.d
        part = d.part(f"producer/{key_part(producer.name)}", self.hands, y)
        if producer.hand:
            letter = producer.hand[0] if len(producer.hand) == 1 else ""
            text = letter or f"x{len(producer.hand)}"
            tip = f"{producer.name} has it in hand: no answer yet"
            box: Look = {
                "x": 0,
                "y": 0,
                "w": HAND + 6,
                "h": HAND,
            }
            part.cell(
                "hand",
                **box,
                text=text,
                line="ink",
                tip=tip,
            )
        left = HAND + 12
        room = self.right - 10 - left
        part.text(
            "name",
            left,
            11,
            producer.name,
            bold=True,
            room=room,
        )
        words, ink = producer.told, "ink"
        if producer.since is not None:
            waited = f"{(self.at - producer.since) / 1000:.0f} s"
            words = waited if d.narrow else f"waits {waited}"
        elif producer.told and not producer.told.startswith("done"):
            ink = "trouble"
        shown = fit(words, room * LEAST_STRETCH, 12)
        if text_width(words, 12) > room * LEAST_STRETCH and words.startswith("done"):
            shown = "done"
        part.text(
            "state",
            left,
            26,
            shown,
            ink,
            size=12,
        )

    def _dropped(self, y: float) -> None:
        """What was cut off: nobody has it any more."""
        d = self.d
        dropped = [
            (copy["broker"], Copied(*record))
            for copy in self.space["copies"]
            for record in copy["dropped"]
        ]
        if dropped:
            words = "cut off"
            d.text(
                "dropped",
                10,
                y + 18,
                words,
                "trouble",
                size=12.5,
                bold=True,
            )
        for broker, record in dropped:
            if record.offset >= self.columns.first:
                self._one_dropped(broker, record, y)

    def _one_dropped(self, broker: int, record: Copied, y: float) -> None:
        d = self.d
        width = self.columns.pitch - BETWEEN
        x = self.columns(record.offset)
        key = f"record/{broker}/{record.offset}/{record.epoch}"
        more = fit(record.more, width * LEAST_STRETCH, 12.5)
        tip = f"offset {record.offset}, epoch {record.epoch}, cut off: {record.tip}"
        d.cell(
            key,
            x=x,
            y=y,
            w=width,
            h=CELL,
            text="" if width > 40 else record.text,
            more=more if width > 40 else "",
            fill="none",
            line="trouble",
            ink="trouble",
            dash="3 3",
            width=2,
            tip=tip,
            same=record.same,
        )
        begin = x + 4, y + CELL - 4
        d.line(
            f"cut/{broker}/{record.offset}",
            *begin,
            x + width - 4,
            y + 4,
            "trouble",
        )


def _offset(offset: float) -> str:
    return f"offset {offset:.0f}"


def _words(copy: Mapping[str, Any], narrow: bool) -> str:
    """What a broker believes; on a narrow page its logs tell the epoch."""
    epoch = "" if narrow else f", epoch {copy['epoch']}"
    if copy["asked_to"] is not None:
        return f"must end at {copy['asked_to']}"
    if copy["leads"]:
        return f"leads{epoch}"
    if copy["follows"] < 0:
        return "follows nobody"
    return f"follows broker {copy['follows']}{epoch}"
