"""Two leaders, one log: each broker's copy, the offset at which they diverge, and the
records that are cut off when the brokers meet again. Producers are beside the broker
that they reach, with the records in their hands.

Below, as lengths: the brokers that believed they led, and the producers that waited for
an answer. Options: topic, partition (without them: the one that is copied most).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.bars import Bars, Lane, lane
from minikafka.theatre.drawing import Box, Drawing, Look, has_room, widest
from minikafka.theatre.lanes import Scene
from minikafka.theatre.nodes import (
    CARD,
    CARD_NARROW,
    GUTTER,
    Columns,
    Copied,
    Row,
    colour,
    draw_log,
    rows_of,
)
from minikafka.theatre.pictures.fork.hands import Hands, Waiting, width_of_hands
from minikafka.theatre.pictures.fork.story import ForkStory
from minikafka.theatre.pictures.log_partition import LEGEND
from minikafka.theatre.pictures.replica_set.names import Names
from minikafka.theatre.play import Play, Space
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import dotted

# heights: above the rows; between the two sides; of what was cut off; of a record
HEAD, WALL, TRAY, CELL = 20, 20, 46, 28
BETWEEN = 5  # records
MOST_LANES = 3  # producers with a lane

# the fate of a record that was cut off, in two lines, by the answer that its producer
# got
FATES = {
    "": ("cut off", "nobody was told done"),
    "acknowledged": ("acknowledged,", "then cut off: lost"),
    "written again": ("cut off", "then sent again"),
    "failed": ("cut off", "its producer knows"),
}


class ForkPlay(Play):
    story = ForkStory
    ms_a_second = 1000
    legend = LEGEND
    rule = "Outlined: may still be cut off."

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
            held = [Copied(*record).more for record in copy["records"]]
            words = f"broker {copy['broker']} holds {', '.join(held) or 'nothing'}"
            if copy["life"]:
                words += f" ({copy['life']})"
            said.append(words)

        offset = space["fork"]
        if offset is not None:
            said.append(f"the logs part at offset {offset}")

        for each in space["producers"]:
            producer = Waiting(*each)
            said.append(f"{producer.name}: {producer.heard}")
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
        columns = _columns(drawing, scene, self.cast)
        cards = [drawing.shapes[f"node/{broker}"] for broker in self.cast["order"]]
        lowest = max(card["y"] + card["h"] for card in cards)
        first = columns.first
        last = max(self.cast["most"], 1)

        return Ruler(
            left=columns(first) - BETWEEN / 2,
            right=columns(last) - BETWEEN / 2,
            first=first,
            last=last,
            step=1,
            edge=0,
            reach=lowest,
            says=_offset,
            above=True,
        )

    def _lanes(self, scene: Scene) -> list[Lane]:
        space = scene["space"]
        now = scene["at"]
        leaders = set(self.cast["leaders"].values())

        lanes = []
        for copy in space["copies"]:
            broker = copy["broker"]
            if broker in leaders:
                name = f"broker {broker} leads"
                lanes.append(lane(name, copy["led"], colour(broker), now))

        waited = {}
        for each in space["producers"]:
            producer = Waiting(*each)
            waited[producer.name] = producer.waited

        for name in self.cast["producers"][:MOST_LANES]:
            spans = waited.get(name, ())
            lanes.append(lane(f"{name} waits", spans, "quiet", now))
        return lanes


def _columns(d: Drawing, scene: Scene, cast: Mapping[str, Any]) -> Columns:
    left = (CARD_NARROW if d.narrow else CARD) + GUTTER
    return Columns(
        Box(left, 0, d.width - width_of_hands(d) - left, 0),
        most=cast["most"],
        end=scene["space"]["end"],
        least=34,
        widest=124,
    )


class _Stage:
    """The brokers with their logs, the producers, and what was cut off."""

    def __init__(self, d: Drawing, scene: Scene, cast: Mapping[str, Any]) -> None:
        self.d = d
        self.space = scene["space"]
        self.now = scene["number"]
        self.cast = cast
        self.copies = {copy["broker"]: copy for copy in self.space["copies"]}
        self.columns = _columns(d, scene, cast)
        self.names = Names(self.columns, cast)
        self.hands = Hands(d, self.names, scene, self.columns)

    def draw(self) -> float:
        """Draw the stage. Returns the y at which it ends."""
        self.names.legend(self.d, self.space)
        top = HEAD + self.names.height(self.d)
        *others, alone = self.cast["order"] or [0]

        rows, foot = rows_of(self.d, others, top, CELL, live=False)
        if not alone:
            return foot

        last, foot = rows_of(self.d, [alone], foot + WALL, CELL, live=False)
        rows |= last

        is_cut_off = self.copies[alone]["life"] == "cut off"
        if is_cut_off:
            self._wall(rows[alone].y - WALL)
        self._fork(top - HEAD, foot - 14)

        for row in rows.values():
            self._row(row, rows)

        for broker, row in rows.items():
            end = self.copies[broker]["end"]
            self.hands.beside(row, end)

        if self.cast["dropped"]:
            self._dropped(foot)
            foot += TRAY
        return foot

    def _row(self, row: Row, rows: Mapping[int, Row]) -> None:
        copy = self.copies[row.broker]
        words = _words(copy, self.d.narrow)
        # which of two leaders is the newer one; on a wide page the words say it
        chip = ("", "", "")
        if self.d.narrow and copy["leads"]:
            chip = (f"epoch {copy['epoch']}", "chip", "ink")
        row.card(copy["life"], words, chip, copy["leads"])

        flies: Look = {}
        leader = rows.get(copy["follows"])
        if copy["leads"]:
            flies = {"from_x": self.hands.left, "from_y": row.cells_y}
        elif leader is not None:
            flies = {"from_y": leader.cells_y}

        log = self.names.of_log(copy)
        draw_log(
            self.d,
            self.columns,
            log,
            self.cast["leaders"],
            y=row.cells_y,
            cell=CELL,
            now=self.now,
            **flies,
        )

        offset = copy["asked_to"]
        if offset is not None:
            self._cut_here(row, offset)

    def _wall(self, y: float) -> None:
        """Draw the wall between brokers that can't reach each other."""
        words = "nothing passes"
        left = widest(words, 12, bold=True) + 10
        y += WALL / 2 - 4

        self.d.text(
            "wall/words",
            0,
            y + 4,
            words,
            "trouble",
            size=12,
            bold=True,
        )
        look: Look = {
            "line": "trouble",
            "width": 2,
            "dash": "6 5",
        }
        self.d.level(
            "wall",
            left=left,
            right=self.d.width,
            y=y,
            **look,
        )

    def _fork(self, top: float, bottom: float) -> None:
        """Draw the line at the offset where the logs diverge."""
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
        beside = -4 if is_wide else 4
        self.d.text("fork/words", x + beside, top + 14, words, **look)

        look = {
            "line": "ink",
            "width": 1.5,
            "dash": "3 4",
        }
        self.d.upright(
            "fork",
            x=x,
            top=top + 4,
            bottom=bottom,
            **look,
        )

    def _cut_here(self, row: Row, offset: int) -> None:
        """Where the leader says that it must end."""
        if offset < self.columns.first:
            return

        x = self.columns(offset) - BETWEEN / 2
        top = row.cells_y - 8
        bottom = row.cells_y + CELL + 8

        look: Look = {
            "line": "trouble",
            "width": 3,
            "dash": "5 3",
        }
        self.d.upright(
            f"{row.key}/end-here",
            x=x,
            top=top,
            bottom=bottom,
            **look,
        )

    def _dropped(self, y: float) -> None:
        """Draw the records that were cut off: no broker has them any more."""
        told = None
        for copy in self.space["copies"]:
            broker = copy["broker"]
            for *record, told in copy["dropped"]:
                self._one_dropped(broker, Copied(*record), told, y)

        if told is None:
            return

        title, fate = FATES[told]
        is_lost = told == "acknowledged"
        ink = "trouble" if is_lost else "quiet"
        look: Look = {"size": 12.5, "bold": True}
        self.d.text("dropped", 10, y + 12, title, "trouble", **look)
        look |= {"bold": is_lost}
        self.d.text("dropped/fate", 10, y + 28, fate, ink, **look)

    def _one_dropped(self, broker: int, record: Copied, told: str, y: float) -> None:
        if record.offset < self.columns.first:
            return

        d = self.d
        width = self.columns.pitch - BETWEEN
        x = self.columns(record.offset)

        text, more = self.names.words(record.text, record.more)
        is_lost = told == "acknowledged"
        if is_lost and has_room(f"✓ {text or more}", width - 8, 13.5):
            text = f"✓{text}"

        look: Look = {
            "text": text,
            "more": more,
            "fill": "good" if is_lost else "none",
            "line": "trouble",
            "ink": "trouble",
            "dash": "3 3",
            "width": 2,
            "same": record.same,
        }
        tip = f"offset {record.offset}, epoch {record.epoch}, cut off: {record.tip}"
        key = f"record/{broker}/{record.offset}/{record.epoch}"
        d.cell(
            key,
            x=x,
            y=y,
            w=width,
            h=CELL,
            tip=tip,
            **look,
        )
        begin = x + 4, y + CELL - 4
        end = x + width - 4, y + 4
        d.line(f"cut/{broker}/{record.offset}", *begin, *end, "trouble")


def _offset(offset: float) -> str:
    return f"offset {offset:.0f}"


def _words(copy: Mapping[str, Any], narrow: bool) -> str:
    """A broker's belief in words; on a narrow page a leader's epoch is a chip."""
    epoch = "" if narrow else f", epoch {copy['epoch']}"
    if copy["asked_to"] is not None:
        return f"must end at {copy['asked_to']}"

    if copy["leads"]:
        return f"leads{epoch}"

    if copy["follows"] < 0:
        return "follows nobody"

    return f"follows broker {copy['follows']}{epoch}"
