"""The log and its cleaner: one compacted partition, and passes over it.

From top to bottom: the log with its segments and who reads it; the map, which has of
each key the last offset, and how much of the closed segments is dirty; the copy, in
which each record stands below its place in the log, since offsets stay. Dashed records
are not copied, faint ones are gone. Options: topic, partitions (one number). Without
them: the first partition that the cleaner came to.
"""

from collections.abc import Sequence

from minikafka.theatre.drawing import (
    LAYOUTS,
    Drawing,
    Look,
    has_room,
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
TITLES = {
    "map": ("1  the map: the last offset of each key", "1  the map"),
    "copy": ("2  the copy: {file}.cleaned", "2  the copy"),
}


class CleanerPlay(Play):
    """A log, and beside it what its cleaner knows and writes."""

    story = CleanerStory
    foot = (
        "The cleaner keeps of each key the last record below the active segment. Each"
        " record that is copied has the offset that it had."
    )
    # lines of reader labels that the log needs, in each layout: as many as the step
    # with the most of them
    call_outs: dict[int, int] = dict.fromkeys(LAYOUTS, 0)
    # left of the gauge's bar: it stays where it is, whatever the numbers are
    gauge_words = 0.0

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        log = space["partitions"][:1]
        segments = len(log[0]["segments"]) if log else 0
        parts = [f"{counted(segments, 'segment')} on disk"]
        parts += [f"{node} {state}" for node, state in space["down"].items()]
        return dotted(*parts, self.cast["legend"])

    def summary(self, space: Space) -> str:
        if not space["partitions"]:
            return "nothing yet"
        log = space["partitions"][0]
        gone = set(space["gone"])
        there = [record for record in log["records"] if record[0] not in gone]
        parts = [
            f"{counted(len(there), 'record')} below offset {log['log_end_offset']},"
            f" {len(gone)} gone",
            f"{space['dirty_bytes']} bytes dirty, {space['clean_bytes']} clean",
        ]
        if space["half"]:
            parts.append(f"the map has {counted(space['keys'], 'key')}")
        if space["half"] == 2:
            parts.append(f"{counted(len(space['copied']), 'record')} copied")
        for reader in space["readers"]:
            offset = next(iter(reader["next"].values()))
            parts.append(f"{reader['name']} reads {offset} next")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """Measures the lines of the readers' labels, and the words of the gauge."""
        said = [widest(self._dirty(scene["space"]), 12.5) for scene in scenes]
        self.gauge_words = max(said, default=0)
        if self.cast["readers"]:
            self.call_outs = lines_needed(self._rows, scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        style = self._style(d)
        y: float = 2 + style.height(self.call_outs[d.width])
        for row in self._rows(d, scene):
            row.draw()
            self._map(d, space, y)
            self._copy(d, space, row, y + MAP_HEIGHT)
        below = y + MAP_HEIGHT + COPY_HEIGHT
        self._gauge(d, space, below if d.narrow else y)

    def _style(self, d: Drawing) -> Style:
        """A record shows its value where there is room."""
        return TALL if self._pitch(d) >= 78 else LARGE

    def _pitch(self, d: Drawing) -> float:
        """From one record to the next: the widest that leaves room for all."""
        room = d.width - 2 * LEFT
        wide = room / (self.cast["most"] + 1.2)
        least = 40 if d.narrow else 44
        return min(max(wide, least), 94)

    def _rows(self, d: Drawing, scene: Scene) -> "list[CleanedRow]":
        """The log, once there is one."""
        room = d.width - 2 * LEFT
        place = LEFT, 2, room
        style = self._style(d)
        rows = []
        for log in scene["space"]["partitions"]:
            number = str(log["partition"])
            readers = [
                _reader(each, number, self.cast)
                for each in scene["space"]["readers"]
                if number in each["next"]
            ]
            row = CleanedRow(
                d, log, place, self._pitch(d), scene["number"], readers, style
            )
            row.space = scene["space"]
            rows.append(row)
        return rows

    def _map(self, d: Drawing, space: Space, y: float) -> None:
        """An entry for each key, as far as there is room."""
        is_on = space["half"] > 0
        _title(d, "map", y, is_on)
        entries = space["noted"] if is_on else []
        x: float = LEFT
        for number, (letter, offset) in enumerate(entries):
            words = f"→ {offset}"
            wide = widest(letter + words, 13.5, mono=True) + 16
            more = f"+ {len(entries) - number}"
            if x + wide + widest(more) > d.width - LEFT:
                d.note("map/more", x, y + 42, more)
                break
            look: Look = {
                "text": letter,
                "more": words,
                "tip": f"the last offset of key {letter} is {offset}",
                "same": f"{self.cast['chosen'][0]}/{offset}",
            }
            d.cell(f"map/{letter}", x, y + 25, wide, CHIP, fill="chip", **look)
            x += wide + CHIP_GAP

    def _copy(self, d: Drawing, space: Space, row: "CleanedRow", y: float) -> None:
        """What is copied so far, each record below its place in the log."""
        is_on = space["half"] == 2 and space["into"] is not None
        file = f"{space['into'] or 0:020d}.log"
        _title(d, "copy", y, is_on, file)
        if is_on:
            row.draw_copy(y + 24)

    def _dirty(self, space: Space) -> str:
        """How much is dirty, and how much is enough for a pass."""
        dirty = space["dirty_bytes"]
        words = f"dirty: {dirty} of {dirty + space['clean_bytes']} bytes"
        ratio = self.cast["min_ratio"]
        if ratio is None:
            return words
        return f"{words}, enough: over {percent_of(ratio)}%"

    def _gauge(self, d: Drawing, space: Space, y: float) -> None:
        """How much of the closed segments is dirty."""
        clean = space["clean_bytes"]
        dirty = space["dirty_bytes"]
        share = dirty / max(clean + dirty, 1)
        left = LEFT if d.narrow else d.width * 0.36
        gauge = d.part("gauge", left, y)
        gauge.text("words", 0, 16, self._dirty(space), size=12.5)
        bar = self.gauge_words + 8
        wide = d.width - LEFT - left - bar
        tip = f"{clean} bytes clean, {dirty} bytes dirty in closed segments"
        gauge.rect("all", bar, 5, wide, 13, "good", "rule", r=3, tip=tip)
        gauge.rect("dirty", bar, 5, wide * share, 13, "quiet", r=3, tip=tip)
        ratio = self.cast["min_ratio"]
        if ratio is not None:
            x = bar + wide * ratio
            tip = f"min.cleanable.dirty.ratio {ratio}"
            gauge.upright("enough", x=x, top=0, bottom=23, line="ink", width=2, tip=tip)


def _title(d: Drawing, key: str, y: float, is_on: bool, file: str = "") -> None:
    """Of the map or the copy: faint where the cleaner isn't at it."""
    long, short = TITLES[key]
    long = long.format(file=file)
    words = long if is_on and has_room(long, d.width, 12.5, bold=True) else short
    ink = "ink" if is_on else "gone"
    d.text(f"{key}/title", LEFT, y + 16, words, ink, size=12.5, bold=is_on)


def _reader(reader: Space, partition: str, cast: Cast) -> Reader:
    """A reader as the row of records draws it."""
    offset = reader["next"][partition]
    lag = f"lag {reader['lag'][partition]}"
    return Reader(
        name=reader["name"],
        next=offset,
        words=dotted(f"next {offset}", lag, reader["state"]),
        colour=cast["readers"][reader["name"]],
        away=bool(reader["state"]),
    )


class CleanedRow(Row):
    """A partition that is compacted. space: the scene's."""

    space: Space

    def boundaries(self) -> list[Boundary]:
        """Where the log starts and ends: the cleaner stops before the active segment,
        wherever the high watermark is.
        """
        log = self.partition
        start = Boundary("log start offset", log["log_start_offset"])
        return [start, Boundary("log end offset", log["log_end_offset"])]

    def look(self, record: Record) -> Look:
        """What goes and what is gone, tombstones and markers."""
        look: Look = {}
        tips = [f"offset {record.offset}"]
        outcome = dict(self.space["markers"]).get(record.offset)
        if outcome is not None:
            look["text"] = "✓" if outcome == "committed" else "✗"
            tips.append(f"marker: the transaction is {outcome}")
        elif record.value is None:
            look["more"] = "" if self.cell < 40 else "null"
            tips.append(f"key {record.key}, no value: a tombstone")
        else:
            tips.append(f"key {record.key} · value {record.value}")
        horizon = dict(self.space["horizons"]).get(record.offset)
        if horizon:
            tips.append(f"may go from {horizon} on")
        if record.offset in self.space["gone"]:
            look |= {"fill": "none", "ink": "gone", "dash": "3 3", "fade": 0.6}
            tips.append("gone")
        elif record.offset in self.space["leaving"]:
            look |= {"fill": "none", "ink": "gone", "dash": "3 3", "line": "ink"}
            tips.append("not copied")
        return look | {"tip": " · ".join(tips)}

    def draw_copy(self, y: float) -> None:
        """The copied records, in the columns that they have in the log."""
        known = {record[0]: Record(*record) for record in self.partition["records"]}
        copied = set(self.space["copied"])
        for number, column in enumerate(self.columns):
            record = known.get(column.first)
            is_alone = column.up_to - column.first == 1
            if record is None or record.offset not in copied or not is_alone:
                continue
            look = self.look(record)
            look["text"] = look.get("text") or record.letter
            x = self.x_of(number)
            self.d.cell(
                f"copy/{record.offset}",
                *(x, y, self.cell, 30),
                below=str(record.offset),
                line="actor1",
                width=2,
                from_x=x,
                from_y=self.cells_y,
                same=f"{self.key}/{record.offset}",
                **look,
            )
