"""The log: one partition with its segments, or several small ones, and who reads where.

A reader stands before the record that it will read next. Reading removes nothing; retention removes whole segments,
oldest first. Options: topic, partitions (numbers). Without them: the topic that was used most, and up to six
partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from minikafka.theatre.drawing import NARROW, WIDE, Drawing
from minikafka.theatre.journey import BRACKET, MOST, PRODUCERS, STRIP, JourneyRow, Trays, draw_producers
from minikafka.theatre.journey_story import JourneyStory
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.log_story import lane_of
from minikafka.theatre.play import Play
from minikafka.theatre.row import LARGE, MIDDLE, SMALL, TALL, Reader, Style, lines_needed
from minikafka.theatre.text import counted, dotted

MOST_WITH_LANES = 4  # partitions; more of them leave no room below


class LogPlay(Play):
    story = JourneyStory
    foot = (
        "A reader stands before the record it will read next. "
        "Reading removes nothing; retention removes whole segments, oldest first."
    )

    def scenario(self, scene: Scene) -> str:
        space, shown = scene["space"], len(self.cast["chosen"])
        several = shown > 1 or space["partition_count"] > 1
        return dotted(
            f"{counted(_on_disk(space), 'segment')} on disk" if self.cast["rolls"] else "",
            f"{space['partition_count'] or shown} partitions" if several else "",
            f"{shown} of them shown" if several and shown < space["partition_count"] else "",
            counted(len(space["readers"]), "reader") if space["readers"] else "",
            *(f"{node} {state}" for node, state in space["down"].items()),
            "" if self.cast["one_key"] else self.cast["legend"],
        )

    def summary(self, space: dict[str, Any]) -> str:
        parts = []
        for log in space["partitions"]:
            start, end = log["log_start_offset"], log["log_end_offset"]
            held = f"offset {start}" if end - start == 1 else f"offsets {start} to {end - 1}"
            parts.append(f"partition {log['partition']}: {'empty' if start == end else held}")
        for reader in space["readers"]:
            places = [str(offset) for offset in reader["next"].values()]
            if len(self.cast["chosen"]) > 1:
                places = [f"{offset} in partition {p}" for p, offset in reader["next"].items()]
            state = f" ({reader['state']})" if reader["state"] else ""
            parts.append(f"{reader['name']} reads {', '.join(places)} next{state}")
            spans = [span for log in space["partitions"] for span in log["lost"] if span[2] == reader["name"]]
            parts += [f"{sum(up_to - first for first, up_to, _ in spans)} lost to it"] if spans else []
        return "; ".join(parts) or "nothing yet"

    # -- draw

    call_outs: dict[int, int] = {WIDE: 0, NARROW: 0}  # lines of reader labels that a partition needs

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.trays = Trays(self.cast, scenes)
        if self.cast["readers"]:
            self.call_outs = lines_needed(self._partitions, scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene, several = scenes[-1], len(self.cast["chosen"]) > 1
        space, top = scene["space"], self._top(drawing)
        rows = self._partitions(drawing, scene)
        self._producers(drawing, scene, rows)
        for row in rows:
            row.draw()
            if not several and not drawing.narrow:
                _captions(drawing, row, "days old" if self.cast["in_days"] else "")
            if several:
                _margin(drawing, row.partition, row.x - 42, row.right, row.cells_y)
        room = self._height(drawing) * len(self.cast["chosen"])
        below: float = top + room
        self.trays.draw(drawing, space["readers"], rows, below + 6 if drawing.narrow else top, room)
        trays = self.trays.height(drawing, room)
        below = below + 6 + trays if drawing.narrow else max(below, top + trays)
        if len(self.cast["chosen"]) <= MOST_WITH_LANES:
            dense = several or self.call_outs[drawing.width] > 1
            self.lanes.draw(drawing, below - 8 * dense, self._rows(space), scene["step"])

    def _producers(self, d: Drawing, scene: Scene, rows: Sequence[JourneyRow]) -> None:
        names, now = scene["space"]["producers"], scene["number"]
        writing = [(names[r[5]], row) for row in rows for r in row.partition["records"] if r[4] == now]
        if not rows:
            return
        name, into = writing[0] if writing else (None, rows[0])
        draw_producers(d, names, into.home_y, name)
        if name in names[:MOST] and len(rows) > 1 and not d.narrow:
            y = into.home_y + 22 + 50 * names.index(name)
            d.arrow("way/written", PRODUCERS + 5, y, into.x - 50, into.cells_y + 15, width=2)

    def _top(self, d: Drawing) -> int:
        return 2 + (STRIP if d.narrow else 0)

    def _height(self, d: Drawing) -> int:
        return self._style(d).height(self.call_outs[d.width])

    def _pitch(self, d: Drawing) -> float:
        """Units from one record to the next: the widest that leaves room for all."""
        wide, several = self._room(d)[1] / (self.cast["most"] + 1.2), len(self.cast["chosen"]) > 1
        return min(wide, 120 if several else 94) if wide >= 31 else 40 if d.narrow else 47

    def _style(self, d: Drawing) -> Style:
        if len(self.cast["chosen"]) > 1:
            style = MIDDLE if len(self.cast["chosen"]) <= 3 else SMALL
        else:
            style = TALL if self._pitch(d) >= 78 and not self.cast["one_key"] else LARGE
        bracket = BRACKET + (6 if d.narrow or self.call_outs[d.width] <= 1 else 0)
        return replace(style, words=style.words + bracket) if self.cast["loses"] else style

    def _room(self, d: Drawing) -> tuple[int, int]:
        """The left end of the records, and their width."""
        several = len(self.cast["chosen"]) > 1
        left, right = (4, d.width - 6) if d.narrow else (PRODUCERS + 12, d.width - self.trays.width(d) - 14)
        if several:
            left, right = (46, right - 74) if d.narrow else (left + 72, right - 104)
        return left, right - left

    def _partitions(self, d: Drawing, scene: Scene) -> list[JourneyRow]:
        (left, room), pitch, style = self._room(d), self._pitch(d), self._style(d)
        rows, several = [], len(self.cast["chosen"]) > 1
        for log in scene["space"]["partitions"]:
            readers = [
                _reader(reader, log, self.cast["readers"][reader["name"]], short=several)
                for reader in scene["space"]["readers"]
                if str(log["partition"]) in reader["next"]
            ]
            y = self.cast["chosen"].index(log["partition"]) * self._height(d) + self._top(d)
            row = JourneyRow(d, log, (left, y, room), pitch, scene["number"], readers, style)
            row.cast, row.home_y = self.cast, row.y
            if several:
                row.right = left + min(room, (self.cast["most"] + 1.2) * pitch) + 66
                row.home_y = self._top(d) + self._height(d) * len(self.cast["chosen"]) / 2 - 30
            rows.append(row)
        return rows

    def _rows(self, space: dict[str, Any]) -> list[Lane]:
        written = sum(log["log_end_offset"] for log in space["partitions"])
        rows = [Lane("written", "written", "quiet", counted(written, "record"))]
        seen = {reader["name"]: reader for reader in space["readers"]}
        for name, colour in self.cast["readers"].items():
            reader = seen.get(name, {"refused": {}, "lag": {}})
            number = "out of range" if reader["refused"] else f"lag {sum(reader['lag'].values())}"
            lane = Lane(lane_of(name), name, colour, number, bool(reader["refused"]))
            rows.append(lane if name in seen else Lane(lane_of(name), ""))
        if "log" in self.lanes.marks:
            on_disk = _on_disk(space)
            rows.append(Lane("log", "log", "ink", counted(on_disk, "segment") if self.cast["rolls"] else ""))
        return rows


def _reader(reader: dict[str, Any], log: dict[str, Any], colour: str, short: bool) -> Reader:
    partition = str(log["partition"])
    offset, refused = reader["next"][partition], reader["refused"].get(partition)
    lag = refused or f"lag {reader['lag'][partition]}"
    words = dotted("" if short else f"next {offset}", lag, reader["state"])
    return Reader(reader["name"], offset, words, colour, bool(refused), bool(reader["state"]))


def _on_disk(space: dict[str, Any]) -> int:
    """How many segments are there."""
    return sum(1 for log in space["partitions"] for segment in log["segments"] if segment[2] != "deleted")


def _captions(d: Drawing, row: JourneyRow, inside: str) -> None:
    """What the numbers in and under the records are."""
    foot = row.cells_y + row.style.cell
    for key, y, words in (("inside", foot - row.style.cell / 2 + 5, inside), ("below", foot + 16, "offset")):
        d.text(f"caption/{key}", row.x - 8, y, words, "quiet", size=12, anchor="end")


def _margin(d: Drawing, log: dict[str, Any], left: float, right: float, y: float) -> None:
    partition = log["partition"]
    start = f"start {log['log_start_offset']}" if log["log_start_offset"] else ""
    d.text(f"name/{partition}", left, y + 20, f"P{partition}", mono=True, bold=True)
    for key, at, words in (("end", 12, f"end {log['log_end_offset']}"), ("start", 28, start)):
        d.note(f"{key}/{partition}", right, y + at, words, "end", mono=True)
