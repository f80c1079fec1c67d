"""The log: one partition with its segments, or several small ones, and its readers.

A reader's position is the offset that it will read next. Reading removes nothing;
retention removes whole segments, oldest first. The way of a record: its producer on the
left, its place in the log, and the trays of its readers; on a narrow page the producers
stand above the log and the trays below it. Options: topic, partitions (numbers).
Without them: the topic that was used most, and up to six partitions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from minikafka.theatre.columns import Log
from minikafka.theatre.drawing import (
    LAYOUTS,
    NARROW,
    PHONE,
    Drawing,
    Look,
    Point,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.journey_story import Chosen, JourneyStory, Lost
from minikafka.theatre.pictures.log_row import MOST, JourneyRow, producer_at, room_in
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
PRODUCER = 44  # height of a card there
PRODUCERS_NARROW, PRODUCER_NARROW = 124, 26  # on a narrow page
STRIP = 36  # what they take there
BRACKET = 11  # height of the brackets under lost records
# units from one record to the next: at most; so that every record is there; else
WIDEST, WIDEST_OF_SEVERAL = 94, 120
LEAST_FOR_ALL = 31
LEAST_WIDE, LEAST_NARROW = 47, 40


class Room(NamedTuple):
    """The area for the records of a log."""

    left: int
    width: int


class LogPlay(Play):
    """One log at large, or several below each other."""

    story = JourneyStory
    rule = (
        "A reader's position is the offset it will read next. "
        "Reading removes nothing; retention removes whole segments, oldest first."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        shown = len(self.cast["chosen"])
        there = space["partition_count"]
        parts = []
        if self.cast["rolls"]:
            many = counted(_on_disk(space), "segment")
            parts.append(f"{many} on disk")
        if shown > 1 or there > 1:
            parts.append(f"{there or shown} partitions")
            if shown < there:
                parts.append(f"{shown} of them shown")
        if space["readers"]:
            many = counted(len(space["readers"]), "reader")
            parts.append(many)
        for node, state in space["down"].items():
            parts.append(f"{node} {state}")
        if not self.cast["one_key"]:
            parts.append(self.cast["legend"])
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        parts = []
        lost = []
        for log in space["partitions"]:
            number = log["partition"]
            offsets = _held(log)
            parts.append(f"partition {number}: {offsets}")
            for span in log["lost"]:
                lost.append(Lost(*span))

        for reader in space["readers"]:
            name = reader["name"]
            state = f" ({reader['state']})" if reader["state"] else ""
            places = ", ".join(self._places(reader))
            parts.append(f"{name} reads {places} next{state}")
            of_it = 0
            for span in lost:
                if span.reader == name:
                    of_it += span.records
            if of_it:
                parts.append(f"{of_it} lost to it")
        return "; ".join(parts) or "nothing yet"

    def _places(self, reader: Space) -> list[str]:
        """A reader's position in words."""
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
        self.trays = Trays(
            self.cast,
            scenes,
            by_offset=self._without_values(scenes),
        )
        if self.cast["readers"]:
            self.call_outs = lines_needed(self._partitions, scenes)

    def _without_values(self, scenes: Sequence[Scene]) -> list[int]:
        """Narrow layouts in which no record of the log has room for its value."""
        if not self.cast["one_key"]:
            return []
        longest = 0
        for scene in scenes:
            for log in scene["space"]["partitions"]:
                for told in log["records"]:
                    value = Record(*told).value or ""
                    needed = text_width(value, 12.5)
                    longest = max(longest, needed)
        without = []
        for layout in (NARROW, PHONE):
            pitch = self._pitch(Drawing(layout))
            if longest > room_in(pitch - 5):
                without.append(layout)
        return without

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """The way of the records, and the lanes below it."""
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        rows = self._partitions(d, scene)
        self._producers(d, scene, rows)
        for row in rows:
            row.draw()
            if self.several:
                _margin(d, row)
            elif not d.narrow:
                self._captions(d, row)

        top, height = self._rows_at(d)
        chosen = len(self.cast["chosen"])
        room = height * chosen
        foot = top + room
        trays_top = foot + 6 if d.narrow else top
        self.trays.draw(
            d,
            space["readers"],
            rows,
            top=trays_top,
            room=room,
        )
        below: float = trays_top + self.trays.height(d, room)
        below = max(below, foot)

        if chosen <= MOST_WITH_LANES:
            is_dense = self.several or self.call_outs[d.width] > 1
            self.lanes.draw(
                d,
                y=below - 8 if is_dense else below,
                rows=self._rows(space),
                step=scene["step"],
            )

    def _captions(self, d: Drawing, row: Row) -> None:
        """Draw captions for the numbers in and under the records."""
        x = row.x - 8
        middle = row.cells_y + row.style.cell / 2 + 5
        inside = "days old" if self.cast["in_days"] else ""
        look: Look = {"anchor": "end", "size": 12}
        d.note(
            "caption/inside",
            x,
            middle,
            inside,
            **look,
        )
        d.note(
            "caption/below",
            x,
            row.cells_foot + 16,
            "offset",
            **look,
        )

    def _producers(self, d: Drawing, scene: Scene, rows: Sequence[JourneyRow]) -> None:
        """Cards of those who write, and an arrow into one of several logs."""
        if not rows:
            return
        names = scene["space"]["producers"]
        writer = ""
        into = rows[0]
        for row in reversed(rows):
            for record in reversed(row.written_now()):
                writer = names[record.producer]
                into = row

        shown = names[:MOST]
        for number, name in enumerate(shown):
            self._producer(
                d,
                name,
                place=producer_at(d, number, into.home_y),
                writes=name == writer,
            )
        is_one_of_several = len(rows) > 1
        if is_one_of_several and len(names) == 1:
            self._arithmetic(d, scene["space"]["by_hash"], into)
        if writer in shown and is_one_of_several and not d.narrow:
            begin = producer_at(d, names.index(writer), into.home_y)
            d.arrow(
                "way/written",
                x=PRODUCERS + 5,
                y=begin.y + PRODUCER / 2,
                x2=into.x - 50,
                y2=into.cells_y + 15,
                width=2,
            )

    def _arithmetic(self, d: Drawing, by_hash: Sequence[Any], into: JourneyRow) -> None:
        """Above the producer, or beside it: how a key's number becomes its partition,
        before the topic grew and since. Until it has grown, nothing.
        """
        place = producer_at(d, 0, into.home_y)
        if len(by_hash) < 2:
            return  # it would give away where the key's next record goes
        latest = by_hash[-2:]
        for number, told in enumerate(latest):
            chosen = Chosen(*told)
            x = place.x
            y = place.y - 28 + 18 * number
            if d.narrow:
                x = place.x + PRODUCERS_NARROW + 10 + 140 * number
                y = place.y + 18
            is_latest = chosen == Chosen(*by_hash[-1])
            d.text(
                f"hash/{number}",
                x,
                y,
                f"number % {chosen.partitions} = {chosen.partition}",
                "ink" if is_latest else "quiet",
                mono=True,
                bold=is_latest,
                size=12,
            )

    def _producer(self, d: Drawing, name: str, place: Point, writes: bool) -> None:
        """Draw a producer's card, with its activity beside its name, or below it on a
        wide page.
        """
        key = f"producer/{key_part(name)}"
        card = d.part(key, *place)
        width, height = PRODUCERS, PRODUCER
        if d.narrow:
            width, height = PRODUCERS_NARROW, PRODUCER_NARROW
        look: Look = {
            "fill": "wash",
            "line": "ink" if writes else "rule",
            "r": 8,
            "width": 2 if writes else None,
            "tip": name,
        }
        d.rect(key, *place, width, height, **look)
        taken = 60 if d.narrow else 16
        card.text(
            "name",
            8,
            18,
            name,
            bold=True,
            room=width - taken,
            tip=name,
        )
        if d.narrow:
            card.note("does", width - 8, 18, "writes", "end", size=12)
        else:
            card.note("does", 8, 36, "writes", size=12)

    def _rows_at(self, d: Drawing) -> tuple[int, int]:
        """Where the first partition begins, and how high each is."""
        top = 2 + STRIP if d.narrow else 2
        height = self._style(d).height(self.call_outs[d.width])
        return top, height

    def _pitch(self, d: Drawing) -> float:
        """Units from one record to the next: the widest that leaves room for all."""
        most: int = self.cast["most"]
        wide = self._room(d).width / (most + 1.2)
        widest = WIDEST_OF_SEVERAL if self.several else WIDEST
        if wide >= LEAST_FOR_ALL:
            return min(wide, widest)
        return LEAST_NARROW if d.narrow else LEAST_WIDE

    def _style(self, d: Drawing) -> Style:
        """The style of a row, with room for brackets or the result of a search under
        the records.
        """
        style = self._plain_style(d)
        speaks = ("loses", "keeps", "looks_up")
        if not any(self.cast[name] for name in speaks):
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
        left = PRODUCERS + 12
        right = d.width - 6
        before, after = 72, 104
        if d.narrow:
            left = 4
            before, after = 42, 74
        else:
            right = d.width - self.trays.width(d) - 14
        if self.several:
            left += before
            right -= after
        return Room(left, right - left)

    def _partitions(self, d: Drawing, scene: Scene) -> list[JourneyRow]:
        """The rows, each with its readers."""
        room = self._room(d)
        pitch = self._pitch(d)
        style = self._style(d)
        top, height = self._rows_at(d)
        chosen = self.cast["chosen"]
        space = scene["space"]

        rows = []
        for log in space["partitions"]:
            y = chosen.index(log["partition"]) * height + top
            row = JourneyRow(
                d,
                log,
                place=(room.left, y, room.width),
                pitch=pitch,
                now=scene["number"],
                readers=self._readers(log, space["readers"]),
                style=style,
            )
            row.cast = self.cast
            row.passed = _passed(space)
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
        short = self.several
        return [_reader(reader, number, self.cast, short) for reader in here]

    def _rows(self, space: Space) -> list[Lane]:
        """The lanes: producers, readers, and the log's fate."""
        written = 0
        for log in space["partitions"]:
            written += log["log_end_offset"]
        lane = Lane(
            key="written",
            name="written",
            number=counted(written, "record"),
        )
        rows = [lane]
        seen = {}
        for reader in space["readers"]:
            seen[reader["name"]] = reader
        for name, colour in self.cast["readers"].items():
            lane = _lane(name, seen.get(name), colour)
            rows.append(lane)

        if "log" in self.lanes.marks:
            there = counted(_on_disk(space), "segment")
            lane = Lane(
                key="log",
                name="log",
                colour="ink",
                number=there if self.cast["rolls"] else "",
            )
            rows.append(lane)
        return rows


def _lane(name: str, reader: Space | None, colour: str) -> Lane:
    """A reader's; it has no name as long as there is no such reader."""
    if reader is None:
        return Lane(lane_of(name), "")
    refused = bool(reader["refused"])
    lag = sum(reader["lag"].values())
    return Lane(
        key=lane_of(name),
        name=name,
        colour=colour,
        number="out of range" if refused else f"lag {lag}",
        trouble=refused,
    )


def _reader(reader: Space, partition: str, cast: Cast, short: bool) -> Reader:
    """A reader as the row of records draws it."""
    name = reader["name"]
    state = reader["state"]
    offset = reader["next"][partition]
    lag = reader["lag"][partition]
    refused = reader["refused"].get(partition)
    is_away = bool(state)
    can_be_dragged = "live" in cast and not is_away
    where = "" if short else f"next {offset}"
    return Reader(
        name=name,
        next=offset,
        words=dotted(where, refused or f"lag {lag}", state),
        colour=cast["readers"][name],
        trouble=bool(refused),
        away=is_away,
        act=f"seek {name}" if can_be_dragged else None,
    )


def _passed(space: Space) -> int | None:
    """The position of the reader that came last, if it had begun at the start."""
    for reader in reversed(space["readers"]):
        if reader["passed"] is not None:
            return int(reader["passed"])
    return None


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
    d.text(
        f"name/{partition}",
        row.x - 42,
        y + 20,
        f"P{partition}",
        mono=True,
        bold=True,
    )
    look: Look = {"anchor": "end", "mono": True}
    end = log["log_end_offset"]
    d.note(
        f"end/{partition}",
        row.right,
        y + 12,
        f"end {end}",
        **look,
    )
    d.note(
        f"start/{partition}",
        row.right,
        y + 28,
        f"start {start}" if start else "",
        **look,
    )
