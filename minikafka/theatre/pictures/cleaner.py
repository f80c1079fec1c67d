"""The log and its cleaner: one compacted partition, and passes over it.

From top to bottom: the log with its segments and readers; the map, which has the last
offset of each key, and how much of the closed segments is dirty; the copy, in which
each record is below its place in the log, because offsets stay. Dashed records are not
copied, faint ones are gone. Options: topic, partitions (one number). Without them: the
first partition that the cleaner came to.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.columns import Log
from minikafka.theatre.drawing import (
    LAYOUTS,
    Box,
    Drawing,
    Look,
    fitting,
    widest,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.cleaner_story import CleanerStory, percent_of
from minikafka.theatre.play import Cast, Play, Space
from minikafka.theatre.row import (
    LARGE,
    TALL,
    Boundary,
    Reader,
    Record,
    Row,
    Style,
    lines_needed,
)
from minikafka.theatre.text import counted, dotted

LEFT = 4
MAP_HEIGHT = 56
COPY_HEIGHT = 72
CHIP, CHIP_GAP = 24, 8  # of an entry of the map
MAPPING, COPYING = 1, 2  # the halves of a pass
# from one record to the next: at most, with its value, so that every record is there,
# at least
WIDEST, WITH_VALUE, LEAST_FOR_ALL, LEAST, LEAST_NARROW = 94, 78, 31, 44, 40
COPIED = 30  # height of a record in the copy
NULL = 40  # width of a record that has room for the word
# what is not copied, and what is gone
OUTLINE: Look = {"fill": "none", "ink": "gone", "dash": "3 3"}
TITLES = {
    "map": ("1  the map: the last offset of each key", "1  the map"),
    "copy": ("2  the copy: {file}.cleaned", "2  the copy"),
}


class Entry(NamedTuple):
    """An entry of the map: the last offset of a key."""

    letter: str
    offset: int

    @property
    def words(self) -> str:
        return f"→ {self.offset}"


class CleanedRow(Row):
    """A partition that is compacted. space: the scene's."""

    space: Space

    def boundaries(self) -> list[Boundary]:
        """Where the log starts and ends: the cleaner stops before the active segment,
        wherever the high watermark is.
        """
        log = self.partition
        start = log["log_start_offset"]
        end = log["log_end_offset"]
        return [
            Boundary("log start offset", start),
            Boundary("log end offset", end),
        ]

    def look(self, record: Record) -> Look:
        """The look of records that are being dropped or are gone, and of tombstones and
        markers.
        """
        offset = record.offset
        look: Look = {}
        tips = [f"offset {offset}"]
        outcome = _told(self.space["markers"], offset)
        if outcome is not None:
            look["text"] = "✓" if outcome == "committed" else "✗"
            tips.append(f"marker: the transaction is {outcome}")
        elif record.value is None:
            look["more"] = "" if self.cell < NULL else "null"
            tips.append(f"key {record.key}, no value: a tombstone")
        else:
            tips.append(f"key {record.key} · value {record.value}")
        horizon = _told(self.space["horizons"], offset)
        if horizon:
            tips.append(f"may go from {horizon} on")

        if offset in self.space["gone"]:
            look |= OUTLINE
            look["fade"] = 0.6
            tips.append("gone")
        elif offset in self.space["leaving"]:
            look |= OUTLINE
            look["line"] = "ink"
            tips.append("not copied")
        look["tip"] = " · ".join(tips)
        return look

    def draw_copy(self, y: float) -> None:
        """The copied records, in the columns that they have in the log."""
        known = {}
        for told in self.partition["records"]:
            record = Record(*told)
            known[record.offset] = record
        copied = set(self.space["copied"])
        for number, column in enumerate(self.columns):
            below = known.get(column.first)
            is_alone = column.up_to - column.first == 1
            is_copied = column.first in copied
            if below and is_alone and is_copied:
                x = self.x_of(number)
                self._copied(below, x, y)

    def _copied(self, record: Record, x: float, y: float) -> None:
        """It comes from above, and its offset is what it was."""
        offset = record.offset
        look = self.look(record)
        look["text"] = look.get("text") or record.letter
        place = Box(
            x=x,
            y=y,
            w=self.cell,
            h=COPIED,
        )
        self.d.cell(
            f"copy/{offset}",
            *place,
            below=str(offset),
            line="actor1",
            width=2,
            from_x=x,
            from_y=self.cells_y,
            same=f"{self.key}/{offset}",
            **look,
        )


def _told(of: Sequence[tuple[int, str]], offset: int) -> str | None:
    """The words about an offset, if there are any."""
    return dict(of).get(offset)


class CleanerPlay(Play):
    """A log, and beside it what its cleaner knows and writes."""

    story = CleanerStory
    rule = (
        "Below the active segment, the cleaner keeps the last record for each key. A"
        " copied record keeps its offset."
    )
    # lines of reader labels that the log needs, in each layout: as many as the step
    # with the most of them
    call_outs: dict[int, int] = dict.fromkeys(LAYOUTS, 0)
    # left of the gauge's bar: it stays where it is, whatever the numbers are
    gauge_words = 0.0

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        segments = 0
        for log in space["partitions"][:1]:
            segments = len(log["segments"])
        many = counted(segments, "segment")
        parts = [f"{many} on disk"]
        for node, state in space["down"].items():
            parts.append(f"{node} {state}")
        return dotted(*parts, self.cast["legend"])

    def summary(self, space: Space) -> str:
        if not space["partitions"]:
            return "nothing yet"
        log = space["partitions"][0]
        gone = set(space["gone"])
        there = 0
        for told in log["records"]:
            if Record(*told).offset not in gone:
                there += 1
        many = counted(there, "record")
        end = log["log_end_offset"]
        dirty = space["dirty_bytes"]
        clean = space["clean_bytes"]
        parts = [
            f"{many} below offset {end}, {len(gone)} gone",
            f"{dirty} bytes dirty, {clean} clean",
        ]
        if space["half"] >= MAPPING:
            keys = counted(space["keys"], "key")
            parts.append(f"the map has {keys}")
        if space["half"] == COPYING:
            copied = counted(len(space["copied"]), "record")
            parts.append(f"{copied} copied")
        for reader in space["readers"]:
            name = reader["name"]
            [offset, *_] = reader["next"].values()
            parts.append(f"{name} reads {offset} next")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """Measures the lines of the readers' labels, and the words of the gauge."""
        for scene in scenes:
            words = self._dirty(scene["space"])
            needed = widest(words, 12.5)
            self.gauge_words = max(self.gauge_words, needed)
        if self.cast["readers"]:
            self.call_outs = lines_needed(self._rows, scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        style = self._style(d)
        lines = self.call_outs[d.width]
        map_y: float = 2 + style.height(lines)
        copy_y = map_y + MAP_HEIGHT
        foot = copy_y + COPY_HEIGHT
        for row in self._rows(d, scene):
            row.draw()
            self._map(d, space, map_y)
            self._copy(d, space, row, copy_y)
        gauge_y = foot if d.narrow else map_y
        self._gauge(d, space, gauge_y)

    def _style(self, d: Drawing) -> Style:
        """A record shows its value where there is room."""
        has_room_for_values = self._pitch(d) >= WITH_VALUE
        return TALL if has_room_for_values else LARGE

    def _pitch(self, d: Drawing) -> float:
        """From one record to the next: the widest that leaves room for all."""
        room = d.width - 2 * LEFT
        most: int = self.cast["most"]
        wide = room / (most + 1.2)
        if wide >= LEAST_FOR_ALL:
            return min(wide, WIDEST)
        return LEAST_NARROW if d.narrow else LEAST

    def _rows(self, d: Drawing, scene: Scene) -> list[CleanedRow]:
        """The log, once there is one."""
        room = d.width - 2 * LEFT
        space = scene["space"]
        rows = []
        for log in space["partitions"]:
            row = CleanedRow(
                d,
                log,
                place=(LEFT, 2, room),
                pitch=self._pitch(d),
                now=scene["number"],
                readers=self._readers(log, space["readers"]),
                style=self._style(d),
            )
            row.space = space
            rows.append(row)
        return rows

    def _readers(self, log: Log, readers: Sequence[Space]) -> list[Reader]:
        """Those that read this partition."""
        number = str(log["partition"])
        here = [reader for reader in readers if number in reader["next"]]
        return [_reader(reader, number, self.cast) for reader in here]

    def _map(self, d: Drawing, space: Space, y: float) -> None:
        """Draw an entry for each key, as far as there is room."""
        is_on = space["half"] >= MAPPING
        _title(d, "map", y, is_on)
        entries = []
        if is_on:
            entries = [Entry(*each) for each in space["noted"]]
        x: float = LEFT
        right = d.width - LEFT
        for number, entry in enumerate(entries):
            words = entry.letter + entry.words
            wide = widest(words, 13.5, mono=True) + 16
            others = len(entries) - number
            more = f"+ {others}"
            needed = wide + widest(more)
            if x + needed > right:
                d.note(
                    "map/more",
                    x,
                    y + 42,
                    more,
                )
                break
            place = Box(
                x=x,
                y=y + 25,
                w=wide,
                h=CHIP,
            )
            self._entry(d, entry, place)
            x += wide + CHIP_GAP

    def _entry(self, d: Drawing, entry: Entry, place: Box) -> None:
        """The last offset of a key."""
        partition = self.cast["chosen"][0]
        look: Look = {
            "fill": "chip",
            "text": entry.letter,
            "more": entry.words,
            "tip": f"the last offset of key {entry.letter} is {entry.offset}",
            "same": f"{partition}/{entry.offset}",
        }
        d.cell(f"map/{entry.letter}", *place, **look)

    def _copy(self, d: Drawing, space: Space, row: CleanedRow, y: float) -> None:
        """Draw the records copied so far, each below its place in the log."""
        base = space["into"]
        is_on = space["half"] == COPYING and base is not None
        file = f"{base or 0:020d}.log"
        _title(d, "copy", y, is_on, file)
        if is_on:
            row.draw_copy(y + 24)

    def _dirty(self, space: Space) -> str:
        """How much is dirty, and how much is enough for a pass."""
        dirty = space["dirty_bytes"]
        clean = space["clean_bytes"]
        both = dirty + clean
        words = f"dirty: {dirty} of {both} bytes"
        ratio = self.cast["min_ratio"]
        if ratio is None:
            return words
        enough = percent_of(ratio)
        return f"{words}, enough: over {enough}%"

    def _gauge(self, d: Drawing, space: Space, y: float) -> None:
        """How much of the closed segments is dirty."""
        clean = space["clean_bytes"]
        dirty = space["dirty_bytes"]
        both = clean + dirty
        share = dirty / max(both, 1)
        left = LEFT if d.narrow else d.width * 0.36
        gauge = d.part("gauge", left, y)
        gauge.text("words", 0, 16, self._dirty(space), size=12.5)

        begins = self.gauge_words + 8
        bar = Box(
            x=begins,
            y=5,
            w=d.width - LEFT - left - begins,
            h=13,
        )
        look: Look = {
            "r": 3,
            "tip": f"{clean} bytes clean, {dirty} bytes dirty in closed segments",
        }
        gauge.rect("all", *bar, fill="good", line="rule", **look)
        filled = bar._replace(w=bar.w * share)
        gauge.rect("dirty", *filled, fill="quiet", **look)
        ratio = self.cast["min_ratio"]
        if ratio is not None:
            gauge.upright(
                "enough",
                x=bar.x + bar.w * ratio,
                top=0,
                bottom=23,
                line="ink",
                width=2,
                tip=f"min.cleanable.dirty.ratio {ratio}",
            )


def _title(d: Drawing, key: str, y: float, is_on: bool, file: str = "") -> None:
    """Draw the title of the map or the copy, faint while the cleaner isn't working on
    it.
    """
    long, short = TITLES[key]
    words = short
    if is_on:
        whole = long.format(file=file)
        words = fitting([whole], d.width, 12.5, bold=True) or short
    d.text(
        f"{key}/title",
        LEFT,
        y + 16,
        words,
        "ink" if is_on else "gone",
        size=12.5,
        bold=is_on,
    )


def _reader(reader: Space, partition: str, cast: Cast) -> Reader:
    """A reader as the row of records draws it."""
    name = reader["name"]
    state = reader["state"]
    offset = reader["next"][partition]
    lag = reader["lag"][partition]
    return Reader(
        name=name,
        next=offset,
        words=dotted(f"next {offset}", f"lag {lag}", state),
        colour=cast["readers"][name],
        away=bool(state),
    )
