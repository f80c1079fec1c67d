"""The log: one partition with its segments, or several small ones, and its readers.

A reader's position is the offset that it will read next. Reading removes nothing;
retention removes whole segments, oldest first. The way of a record: its producer, its
place in the log, and the trays of its readers. They are below each other, or beside
several partitions, where these leave room. Options: topic, partitions (numbers).
Without them: the topic that was used most, and up to six partitions.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, column, part, row
from minikafka.theatre.columns import Log
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Lane, names_wide
from minikafka.theatre.pictures.log.journey import JourneyStory, Lost
from minikafka.theatre.pictures.log.partition import Partition
from minikafka.theatre.pictures.log.producers import MOST, producers_box, writer
from minikafka.theatre.pictures.log.story import lane_of
from minikafka.theatre.pictures.log.trays import trays_box
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

MOST_WITH_LANES = 4  # partitions; more of them leave no room below


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
            parts.append(f"partition {log['partition']}: {_held(log)}")
            lost += [Lost(*span) for span in log["lost"]]
        for reader in space["readers"]:
            name = reader["name"]
            state = f" ({reader['state']})" if reader["state"] else ""
            places = ", ".join(self._places(reader))
            parts.append(f"{name} reads {places} next{state}")
            of_it = sum(span.records for span in lost if span.reader == name)
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

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        spaces = [scene["space"] for scene in scenes]
        chosen = self.cast["chosen"]
        if self.several:
            self.rule = (
                "Records are in order only within a partition. Which of several a reader"
                " gets first, nothing promises."
            )
        wide = names_wide(lane for space in spaces for lane in self._rows(space))
        logs = [Partition(each, self.cast, scenes, wide).item() for each in chosen]
        way = [
            producers_box(spaces, self.several),
            column(*logs),
            trays_box(self.cast, scenes),
        ]
        parts = [row(*way, gap=14)] if self.several else way
        if 0 < len(chosen) <= MOST_WITH_LANES:
            under = "lanes" if self.several else f"log {chosen[0]}"
            parts.append(self.lanes.box(spaces, self._rows, under))
        self.boxes = Stage(column(*parts, self._arrow(), gap=8))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _arrow(self) -> Item:
        """From the producer that writes to one of several partitions beside it."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            number = writer(scene)
            if number is None or not self.several or number >= MOST:
                return
            card = places[f"producer {number}"]
            for log in scene["space"]["partitions"]:
                offset = log["log_end_offset"] - 1
                record = d.shapes.get(f"record/{log['partition']}/{offset}")
                captions = places[f"captions {log['partition']}"]
                is_new = any(each[4] == scene["number"] for each in log["records"])
                if record and is_new and card.right < captions.x:
                    begin, end = card.y + card.h / 2, record["y"] + record["h"] / 2
                    chosen = places.get("hash", card)  # by its number
                    left, right = chosen.right + 5, captions.right - 26
                    d.arrow("way/written", left, begin, right, end, width=2)

        return part("arrow", draw, high=0)

    def _rows(self, space: Space) -> list[Lane]:
        """The lanes: producers, readers, and the log's fate."""
        written = sum(log["log_end_offset"] for log in space["partitions"])
        rows = [Lane("written", "written", number=counted(written, "record"))]
        seen = {reader["name"]: reader for reader in space["readers"]}
        for name, colour in self.cast["readers"].items():
            rows.append(_lane(name, seen.get(name), colour))
        if "log" in self.lanes.marks:
            there = counted(_on_disk(space), "segment") if self.cast["rolls"] else ""
            rows.append(Lane("log", "log", "ink", there))
        return rows


def _lane(name: str, reader: Space | None, colour: str) -> Lane:
    """A reader's; it has no name as long as there is no such reader."""
    if reader is None:
        return Lane(lane_of(name), "")
    refused = bool(reader["refused"])
    number = "out of range" if refused else f"lag {sum(reader['lag'].values())}"
    return Lane(lane_of(name), name, colour, number, trouble=refused)


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
    logs = space["partitions"]
    return sum(state != "deleted" for log in logs for *_, state in log["segments"])
