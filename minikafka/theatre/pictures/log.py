"""The log: one partition with its segments, or several small ones, and who reads where.

A reader stands before the record that it will read next. Reading removes nothing;
retention removes whole segments, oldest first. The way of a record: its producer on the
left, its place in the log, and the trays of its readers; on a narrow page the producers
stand above the log and the trays below it. Options: topic, partitions (numbers).
Without them: the topic that was used most, and up to six partitions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from minikafka.theatre.columns import Log
from minikafka.theatre.drawing import (
    LAYOUTS,
    Drawing,
    Look,
    Point,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.journey_story import JourneyStory, Lost
from minikafka.theatre.pictures.log_story import lane_of
from minikafka.theatre.pictures.log_trays import Trays
from minikafka.theatre.play import Cast, Play, Space
from minikafka.theatre.row import (
    LARGE,
    MIDDLE,
    SMALL,
    TALL,
    Reader,
    Record,
    Row,
    Style,
    lines_needed,
)
from minikafka.theatre.text import counted, dotted, key_part

MOST_WITH_LANES = 4  # partitions; more of them leave no room below
PRODUCERS = 76  # width of a card on a wide page
STRIP = 36  # height of the producers on a narrow one
MOST = 4  # of them are drawn
BRACKET = 11  # height of what stands under lost records


class Room(NamedTuple):
    """Where the records of a log stand."""

    left: int
    width: int


class LogPlay(Play):
    """One log at large, or several below each other."""

    story = JourneyStory
    foot = (
        "A reader stands before the record it will read next. "
        "Reading removes nothing; retention removes whole segments, oldest first."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        shown = len(self.cast["chosen"])
        there = space["partition_count"]
        parts = []
        if self.cast["rolls"]:
            parts.append(f"{counted(_on_disk(space), 'segment')} on disk")
        if shown > 1 or there > 1:
            parts.append(f"{there or shown} partitions")
            if shown < there:
                parts.append(f"{shown} of them shown")
        if space["readers"]:
            parts.append(counted(len(space["readers"]), "reader"))
        parts += [f"{node} {state}" for node, state in space["down"].items()]
        if not self.cast["one_key"]:
            parts.append(self.cast["legend"])
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        parts = []
        lost = []
        for log in space["partitions"]:
            parts.append(f"partition {log['partition']}: {_held(log)}")
            lost += [Lost(*span) for span in log["lost"]]

        for reader in space["readers"]:
            name = reader["name"]
            state = f" ({reader['state']})" if reader["state"] else ""
            places = ", ".join(self._places(reader))
            parts.append(f"{name} reads {places} next{state}")
            spans = [span for span in lost if span.reader == name]
            if spans:
                count = sum(span.records for span in spans)
                parts.append(f"{count} lost to it")
        return "; ".join(parts) or "nothing yet"

    def _places(self, reader: Space) -> list[str]:
        """Where a reader stands, in words."""
        places = reader["next"].items()
        if self.several:
            return [f"{offset} in partition {number}" for number, offset in places]
        return [str(offset) for _, offset in places]

    @property
    def several(self) -> bool:
        """Whether there are more partitions than one."""
        return len(self.cast["chosen"]) > 1

    # -- draw

    # lines of reader labels that a partition needs
    call_outs: dict[int, int] = dict.fromkeys(LAYOUTS, 0)

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """Measures the trays, and the lines of the readers' labels."""
        self.trays = Trays(self.cast, scenes)
        if self.cast["readers"]:
            self.call_outs = lines_needed(self._partitions, scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """The way of the records, and the lanes below it."""
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        chosen = len(self.cast["chosen"])
        rows = self._partitions(d, scene)
        self._producers(d, scene, rows)

        for row in rows:
            row.draw()
            if self.several:
                _margin(d, row)
            elif not d.narrow:
                self._captions(d, row)

        top, height = self._rows_at(d)
        room = height * chosen
        trays_top = top + room + 6 if d.narrow else top
        self.trays.draw(d, space["readers"], rows, trays_top, room)
        below: float = trays_top + self.trays.height(d, room)
        below = max(below, top + room)

        if chosen <= MOST_WITH_LANES:
            is_dense = self.several or self.call_outs[d.width] > 1
            y = below - 8 if is_dense else below
            self.lanes.draw(d, y, self._rows(space), scene["step"])

    def _captions(self, d: Drawing, row: Row) -> None:
        """What the numbers in and under the records are."""
        x = row.x - 8
        middle = row.cells_y + row.style.cell / 2 + 5
        inside = "days old" if self.cast["in_days"] else ""
        d.note("caption/inside", x, middle, inside, "end", size=12)
        d.note("caption/below", x, row.cells_foot + 16, "offset", "end", size=12)

    def _producers(
        self, d: Drawing, scene: Scene, rows: "Sequence[JourneyRow]"
    ) -> None:
        """Cards of those who write, and an arrow into one of several logs."""
        if not rows:
            return
        names = scene["space"]["producers"]
        writer, into = "", rows[0]
        for row in reversed(rows):
            for record in reversed(row.written_now()):
                writer, into = names[record.producer], row

        for number, name in enumerate(names[:MOST]):
            place = producer_at(d, number, into.home_y)
            self._producer(d, name, place, writes=name == writer)
        if writer in names[:MOST] and len(rows) > 1 and not d.narrow:
            y = into.home_y + 22 + 50 * names.index(writer)
            end = into.x - 50, into.cells_y + 15
            d.arrow("way/written", PRODUCERS + 5, y, *end, width=2)

    def _producer(self, d: Drawing, name: str, place: Point, writes: bool) -> None:
        """A card: what it does stands beside its name, or below it on a wide page."""
        key = f"producer/{key_part(name)}"
        card = d.part(key, *place)
        width, height = (124, 26) if d.narrow else (PRODUCERS, 44)
        line, thick = ("ink", 2) if writes else ("rule", None)
        look: Look = {"r": 8, "width": thick, "tip": name}
        d.rect(key, *place, width, height, "wash", line, **look)
        room = width - (60 if d.narrow else 16)
        card.text("name", 8, 18, name, bold=True, room=room, tip=name)

        if d.narrow:
            card.note("does", width - 8, 18, "writes", "end", size=12)
        else:
            card.note("does", 8, 36, "writes", size=12)

    def _rows_at(self, d: Drawing) -> tuple[int, int]:
        """Where the first partition begins, and how high each is."""
        return 2 + STRIP * d.narrow, self._style(d).height(self.call_outs[d.width])

    def _pitch(self, d: Drawing) -> float:
        """Units from one record to the next: the widest that leaves room for all."""
        most: int = self.cast["most"]
        wide = self._room(d).width / (most + 1.2)
        if wide >= 31:
            return min(wide, 120 if self.several else 94)
        return 40 if d.narrow else 47

    def _style(self, d: Drawing) -> Style:
        """With room for brackets where records get lost."""
        style = self._plain_style(d)
        if not self.cast["loses"]:
            return style
        has_few_readers = d.narrow or self.call_outs[d.width] <= 1
        bracket = BRACKET + 6 if has_few_readers else BRACKET
        return replace(style, words=style.words + bracket)

    def _plain_style(self, d: Drawing) -> Style:
        """By how many partitions there are, and what a record says."""
        if self.several:
            if len(self.cast["chosen"]) <= 3:
                return MIDDLE
            return SMALL
        has_two_words = self._pitch(d) >= 78 and not self.cast["one_key"]
        return TALL if has_two_words else LARGE

    def _room(self, d: Drawing) -> Room:
        """Between the producers and the trays; several partitions have their names
        before, and their offsets after it.
        """
        if d.narrow:
            left, right = 4, d.width - 6
        else:
            left, right = PRODUCERS + 12, d.width - self.trays.width(d) - 14
        if self.several and d.narrow:
            left += 42
            right -= 74
        elif self.several:
            left += 72
            right -= 104
        return Room(left, right - left)

    def _partitions(self, d: Drawing, scene: Scene) -> "list[JourneyRow]":
        """The rows, each with its readers."""
        room = self._room(d)
        pitch = self._pitch(d)
        style = self._style(d)
        top, height = self._rows_at(d)
        chosen = self.cast["chosen"]

        rows = []
        for log in scene["space"]["partitions"]:
            y = chosen.index(log["partition"]) * height + top
            place = room.left, y, room.width
            readers = self._readers(log, scene["space"]["readers"])
            row = JourneyRow(d, log, place, pitch, scene["number"], readers, style)
            row.cast = self.cast
            row.home_y = row.y
            if self.several:
                longest = (self.cast["most"] + 1.2) * pitch
                taken = min(room.width, longest)
                row.right = room.left + taken + 66
                whole_height = height * len(chosen)
                row.home_y = top + whole_height / 2 - 30
            rows.append(row)
        return rows

    def _readers(self, log: Log, readers: Sequence[Space]) -> list[Reader]:
        """Those that read this partition."""
        number = str(log["partition"])
        here = [reader for reader in readers if number in reader["next"]]
        return [_reader(reader, number, self.cast, self.several) for reader in here]

    def _rows(self, space: Space) -> list[Lane]:
        """The lanes: who wrote, who read, what became of the log."""
        written = sum(log["log_end_offset"] for log in space["partitions"])
        rows = [Lane("written", "written", number=counted(written, "record"))]
        seen = {reader["name"]: reader for reader in space["readers"]}

        for name, colour in self.cast["readers"].items():
            if name not in seen:
                rows.append(Lane(lane_of(name), ""))
                continue
            reader = seen[name]
            refused = bool(reader["refused"])
            lag = f"lag {sum(reader['lag'].values())}"
            number = "out of range" if refused else lag
            rows.append(
                Lane(
                    key=lane_of(name),
                    name=name,
                    colour=colour,
                    number=number,
                    trouble=refused,
                )
            )
        if "log" in self.lanes.marks:
            there = counted(_on_disk(space), "segment")
            rows.append(
                Lane(
                    key="log",
                    name="log",
                    colour="ink",
                    number=there if self.cast["rolls"] else "",
                )
            )
        return rows


def _reader(reader: Space, partition: str, cast: Cast, short: bool) -> Reader:
    """A reader as the row of records draws it."""
    name = reader["name"]
    state = reader["state"]
    offset = reader["next"][partition]
    refused = reader["refused"].get(partition)
    lag = refused or f"lag {reader['lag'][partition]}"
    is_away = bool(state)
    can_be_dragged = "live" in cast and not is_away
    return Reader(
        name=name,
        next=offset,
        words=dotted("" if short else f"next {offset}", lag, state),
        colour=cast["readers"][name],
        trouble=bool(refused),
        away=is_away,
        act=f"seek {name}" if can_be_dragged else None,
    )


def _held(log: Log) -> str:
    """The offsets that a log holds."""
    start = log["log_start_offset"]
    end = log["log_end_offset"]
    if start == end:
        return "empty"
    if end - start == 1:
        return f"offset {start}"
    return f"offsets {start} to {end - 1}"


def _on_disk(space: Space) -> int:
    """How many segments are there."""
    count = 0
    for log in space["partitions"]:
        for _, _, state in log["segments"]:
            if state != "deleted":
                count += 1
    return count


def _margin(d: Drawing, row: Row) -> None:
    """Before a row its partition's name, after it where the log ends and starts."""
    log = row.partition
    y = row.cells_y
    partition = log["partition"]
    start = log["log_start_offset"]
    name = f"P{partition}"
    d.text(f"name/{partition}", row.x - 42, y + 20, name, mono=True, bold=True)
    end_words = f"end {log['log_end_offset']}"
    d.note(f"end/{partition}", row.right, y + 12, end_words, "end", mono=True)
    start_words = f"start {start}" if start else ""
    d.note(f"start/{partition}", row.right, y + 28, start_words, "end", mono=True)


class JourneyRow(Row):
    """A partition whose records come from producers. cast: what the whole play holds;
    home_y: of the first producer.
    """

    cast: Cast
    home_y: float

    def written_now(self) -> list[Record]:
        """By the event that is shown."""
        records = [Record(*record) for record in self.partition["records"]]
        return [record for record in records if record.number == self.now]

    def look(self, record: Record) -> Look:
        """It flies in from its producer, and shows its key or its age."""
        producer = min(record.producer, MOST - 1)
        home = producer_at(self.d, producer, self.home_y)
        look: Look = {"from_x": home.x, "from_y": home.y}
        if record.days is not None:
            look |= self._aged(record)
        elif self.cast["one_key"]:
            look |= {"text": "", "more": self._value(record)}
        for span in self._lost():
            if span.first <= record.offset < span.up_to:
                look |= {"line": "trouble", "width": 2}
        return look

    def _value(self, record: Record) -> str:
        """As far as it has room."""
        if record.value is None:
            return ""
        fits = text_width(record.value, 12.5) <= self.cell * 0.82 - 8
        return record.value if fits else ""

    def _aged(self, record: Record) -> dict[str, str]:
        """A record says how old it is, beside its letter or instead of it."""
        age = f"{record.days}d" if self.d.narrow else str(record.days)
        text = "" if self.cast["one_key"] else record.letter
        if text and self.style.cell >= 40:
            return {"text": text, "more": age}
        return {"text": age, "more": ""}

    def _lost(self) -> list[Lost]:
        """The records that somebody never gets."""
        return [Lost(*span) for span in self.partition["lost"]]

    def draw(self) -> None:
        """The row, and brackets under what is lost."""
        super().draw()
        y = self.cells_foot + (26 if self.style.header else 20)
        free = 10**9
        for span in reversed(self._lost()):
            is_under_another = span.up_to > free  # of another reader
            if not is_under_another:
                free = span.first
                self._bracket(span, y)

    def _bracket(self, span: Lost, y: float) -> None:
        """Under records that are lost, with their number."""
        left = self.left_of(span.first)
        right = self.left_of(span.up_to) - 5
        key = f"lost/{self.key}/{span.first}"
        words = f"{span.records} lost"
        bracket = self.d.part(key, 0, y)
        self.d.level(key, left=left, right=right, y=y, line="trouble", width=2)
        bracket.upright("from", x=left, top=-4, bottom=0, line="trouble", width=2)
        bracket.upright("to", x=right, top=-4, bottom=0, line="trouble", width=2)
        half = text_width(words, 13, bold=True) / 2
        middle = max((left + right) / 2, self.x + half)
        middle = min(middle, self.right - half)
        look: Look = {"bold": True, "anchor": "middle", "halo": "paper"}
        bracket.text("count", middle, 14, words, "trouble", **look)


def producer_at(d: Drawing, number: int, y: float) -> Point:
    """Where a producer stands. y: of the first one, on a wide page."""
    if d.narrow:
        return Point(number * 132.0, 1.0)
    return Point(0.0, y + number * 50)
