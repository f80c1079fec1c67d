"""The log: one partition with its segments, or several small ones, and who reads where.

A reader stands before the record that it will read next. Reading removes nothing; retention removes whole segments,
oldest first. Options: topic, partitions (numbers). Without them: the topic that was used most, and up to six
partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import NARROW, WIDE, Drawing
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.log_story import LogStory, lane_of
from minikafka.theatre.play import Play
from minikafka.theatre.row import LARGE, MIDDLE, SMALL, TALL, Reader, Row, Style
from minikafka.theatre.text import counted

MOST_WITH_LANES = 4  # partitions; more of them leave no room below


class LogPlay(Play):
    story = LogStory
    foot = (
        "A reader stands before the record it will read next. "
        "Reading removes nothing; retention removes whole segments, oldest first."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        on_disk = _on_disk(space)
        parts = [f"{counted(on_disk, 'segment')} on disk"] if self.cast["rolls"] else []
        if len(self.cast["chosen"]) > 1 or space["partition_count"] > 1:
            parts.append(f"{space['partition_count'] or len(self.cast['chosen'])} partitions")
            if len(self.cast["chosen"]) < space["partition_count"]:
                parts.append(f"{len(self.cast['chosen'])} of them shown")
        if space["readers"]:
            parts.append(counted(len(space["readers"]), "reader"))
        parts += [f"{node} {state}" for node, state in space["down"].items()]
        parts += [self.cast["legend"]] if self.cast["legend"] else []
        return " · ".join(parts)

    def summary(self, space: dict[str, Any]) -> str:
        parts = []
        for log in space["partitions"]:
            start, end = log["log_start_offset"], log["log_end_offset"]
            held = (
                "empty" if start == end else f"offsets {start} to {end - 1}" if end - start > 1 else f"offset {start}"
            )
            parts.append(f"partition {log['partition']}: {held}")
        for reader in space["readers"]:
            places = [
                f"{offset} in partition {p}" if len(self.cast["chosen"]) > 1 else str(offset)
                for p, offset in reader["next"].items()
            ]
            parts.append(
                f"{reader['name']} reads {', '.join(places)} next"
                + (f" ({reader['state']})" if reader["state"] else "")
            )
        return "; ".join(parts) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.call_outs = {WIDE: 0, NARROW: 0}  # lines of reader labels that a partition needs
        for scene in scenes if self.cast["readers"] else ():
            for width in self.call_outs:
                levels = [level for row in self._partitions(Drawing(width), scene) for _, level in row.places()]
                self.call_outs[width] = max(self.call_outs[width], *(level + 1 for level in levels), 1)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        for row in self._partitions(drawing, scene):
            row.draw()
            if len(self.cast["chosen"]) > 1:
                _margin(drawing, row.partition, row.cells_y)
        if len(self.cast["chosen"]) > MOST_WITH_LANES:
            return
        bottom = self._height(drawing) * len(self.cast["chosen"]) + 6
        self.lanes.draw(drawing, bottom, self._rows(scene["space"]), scene["step"])

    def _height(self, d: Drawing) -> int:
        return self._style(d).height(self.call_outs[d.width])

    def _pitch(self, d: Drawing) -> int:
        """Units from one record to the next: the widest that leaves room for all."""
        room = self._room(d)[1]
        return next((p for p in (94, 78, 62, 47) if (self.cast["most"] + 1.2) * p <= room), 40 if d.narrow else 47)

    def _style(self, d: Drawing) -> Style:
        if len(self.cast["chosen"]) > 1:
            return MIDDLE if len(self.cast["chosen"]) <= 3 else SMALL
        return TALL if self._pitch(d) >= 78 else LARGE

    def _room(self, d: Drawing) -> tuple[int, int]:
        return (4, d.width - 6) if len(self.cast["chosen"]) == 1 else (46, d.width - 46 - 74)

    def _partitions(self, d: Drawing, scene: Scene) -> list[Row]:
        (left, room), pitch, style = self._room(d), self._pitch(d), self._style(d)
        rows = []
        for log in scene["space"]["partitions"]:
            readers = [
                _reader(reader, log, self.cast["readers"][reader["name"]], short=len(self.cast["chosen"]) > 1)
                for reader in scene["space"]["readers"]
                if str(log["partition"]) in reader["next"]
            ]
            y = self.cast["chosen"].index(log["partition"]) * self._height(d) + 4
            rows.append(Row(d, log, (left, y, room), pitch, scene["number"], readers, style))
        return rows

    def _rows(self, space: dict[str, Any]) -> list[Lane]:
        written = sum(log["log_end_offset"] for log in space["partitions"])
        rows = [Lane("written", "written", "quiet", counted(written, "record"))]
        seen = {reader["name"]: reader for reader in space["readers"]}
        for name, colour in self.cast["readers"].items():
            reader = seen.get(name)
            if reader is None:
                rows.append(Lane(lane_of(name), ""))
                continue
            refused = bool(reader["refused"])
            number = "out of range" if refused else f"lag {sum(reader['lag'].values())}"
            rows.append(Lane(lane_of(name), name, colour, number, refused))
        if "log" in self.lanes.marks:
            on_disk = _on_disk(space)
            rows.append(Lane("log", "log", "ink", counted(on_disk, "segment") if self.cast["rolls"] else ""))
        return rows


def _reader(reader: dict[str, Any], log: dict[str, Any], colour: str, short: bool) -> Reader:
    partition = str(log["partition"])
    offset, refused = reader["next"][partition], reader["refused"].get(partition)
    words = refused or f"lag {reader['lag'][partition]}"
    if not short:
        words = f"next {offset} · {words}"
    if reader["state"]:
        words += f" · {reader['state']}"
    return Reader(reader["name"], offset, words, colour, bool(refused), bool(reader["state"]))


def _on_disk(space: dict[str, Any]) -> int:
    """How many segments are there."""
    return sum(1 for log in space["partitions"] for segment in log["segments"] if segment[2] != "deleted")


def _margin(d: Drawing, log: dict[str, Any], y: float) -> None:
    partition = log["partition"]
    d.text(f"name/{partition}", 0, y + 20, f"P{partition}", mono=True, bold=True)
    d.text(
        f"end/{partition}", d.width, y + 12, f"end {log['log_end_offset']}", "quiet", size=12.5, mono=True, anchor="end"
    )
    if log["log_start_offset"]:
        d.text(
            f"start/{partition}",
            d.width,
            y + 28,
            f"start {log['log_start_offset']}",
            "quiet",
            size=12.5,
            mono=True,
            anchor="end",
        )
