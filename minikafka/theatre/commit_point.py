"""Offsets and the commit point: one partition, its reader, the committed offset, and what was done with each record.

The reader stands before the record it will read next; the committed offset stands above the record that comes next
after a restart. Under each record: in hand, done, done twice, or skipped. Options: topic, partition, group, table.
Without them: those that most commits are about, and the first table that is written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.commit_story import CommitStory
from minikafka.theatre.drawing import NARROW, WIDE, Drawing, fit, text_width
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.log_story import lane_of
from minikafka.theatre.play import Play
from minikafka.theatre.row import LARGE, TALL, Reader, Row, Style, columns

BOX = 24  # height of a record's effect
EFFECTS = 50  # height of that row with its caption
MOST_WRONG = 4  # records that went wrong and are drawn in a log that is longer than the page


class CommitPlay(Play):
    story = CommitStory
    foot = (
        "Committed is the offset to read next. What is done and not committed comes again; what is committed and not "
        "done is skipped after a crash."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        parts = [f"group {space['group']}"] if space["group"] else []
        parts.append("nothing committed" if space["committed"] is None else f"committed offset {space['committed']}")
        parts += [f"{node} {state}" for node, state in space["down"].items()]
        return " · ".join(parts)

    def summary(self, space: dict[str, Any]) -> str:
        log = space["log"]
        parts = [f"log end offset {log['log_end_offset']}"]
        parts.append("nothing committed" if space["committed"] is None else f"committed {space['committed']}")
        for reader in space["readers"]:
            if reader["next"] is not None:
                words = f"{reader['name']} reads {reader['next']} next"
                parts.append(words + (f" ({reader['state']})" if reader["state"] else ""))
        done = "written" if space["table"] else "handed over"
        parts.append(f"{len(space['effects'])} {done}, {len(_twice(space))} twice, {len(space['skipped'])} skipped")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.call_outs = {WIDE: 1, NARROW: 1}  # lines of reader labels
        for scene in scenes:
            for width in self.call_outs:
                levels = [level for _, level in self._row(Drawing(width), scene).places()]
                self.call_outs[width] = max(self.call_outs[width], *(level + 1 for level in levels), 1)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        row = self._row(drawing, scene)
        row.draw()
        top = self._style(drawing).height(self.call_outs[drawing.width]) + 4
        self._effects(drawing, row, scene["space"], top)
        self.lanes.draw(drawing, top + EFFECTS, self._lanes(scene["space"]), scene["step"])

    def _pitch(self, d: Drawing) -> int:
        room = d.width - 6
        return next((p for p in (94, 78, 62, 47) if (self.cast["most"] + 1.2) * p <= room), 40 if d.narrow else 47)

    def _style(self, d: Drawing) -> Style:
        return TALL if self._pitch(d) >= 78 else LARGE

    def _row(self, d: Drawing, scene: Scene) -> CommitRow:
        space = scene["space"]
        readers = [
            _reader(reader, self.cast["readers"][reader["name"]])
            for reader in space["readers"]
            if reader["next"] is not None
        ]
        place = (4, 4, d.width - 6)
        return CommitRow(d, space, place, self._pitch(d), scene["number"], readers, self._style(d))

    def _effects(self, d: Drawing, row: CommitRow, space: dict[str, Any], top: float) -> None:
        """Under each record what became of it; at the right, whether anything went wrong so far."""
        caption = f"written to {space['table']}" if space["table"] else "handed over"
        twice, skipped = len(_twice(space)), len(space["skipped"])
        x = float(d.width)
        for key, count, words in (("twice", twice, "twice"), ("skipped", skipped, "skipped")):
            text = f"{count} {words}" if count else f"nothing {words}"
            x -= text_width(text, 12, bold=True) + 18
            d.chip(f"lamp/{key}", x, top - 2, text, "trouble" if count else "good", "paper" if count else "ink")
            x -= 8
        d.text("effects/caption", 4, top + 13, fit(caption, x - 8, 12.5, bold=True), "quiet", size=12.5, bold=True)
        colours = self.cast["readers"]
        holder = {o: colours[reader["name"]] for reader in space["readers"] for o in reader["in_hand"]}
        for number, (offset, up_to) in enumerate(row.columns):
            if up_to - offset == 1:
                x, w = row.x + number * row.pitch, row.pitch - 5
                _effect(d, (x, top + 22, w), offset, space, holder.get(offset))

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        written = space["log"]["log_end_offset"]
        rows = [Lane("written", "written", "quiet", f"end {written}")]
        seen = {reader["name"]: reader for reader in space["readers"]}
        for name, colour in self.cast["readers"].items():
            reader = seen.get(name)
            words = f"next {reader['next']}" if reader and reader["next"] is not None else ""
            rows.append(Lane(lane_of(name), name if reader else "", colour, words))
        if "commits" in self.lanes.marks:
            committed = space["committed"]
            rows.append(Lane("commits", "committed", "ink", "" if committed is None else str(committed)))
        if "effects" in self.lanes.marks:
            wrong = len(_twice(space)) + len(space["skipped"])
            rows.append(
                Lane("effects", space["table"] or "skipped", "quiet", f"{wrong} wrong" if wrong else "", wrong > 0)
            )
        if "log" in self.lanes.marks:
            rows.append(Lane("log", "log", "ink"))
        return rows


class CommitRow(Row):
    """A partition with the group's committed offset above it."""

    def __init__(self, d: Drawing, space: dict[str, Any], place: tuple[float, float, float], pitch: float, now: int,
                 readers: Sequence[Reader], style: Style) -> None:  # fmt: skip
        self.committed: int | None = space["committed"]
        super().__init__(d, space["log"], place, pitch, now, readers, style)
        wrong = sorted(int(offset) for offset in [*space["skipped"], *_twice(space)])[-MOST_WRONG:]
        places = [reader.next for reader in readers]
        self.columns = columns(space["log"], [*places, *wrong], int(self.width // pitch) - 1)

    def boundaries(self) -> list[tuple[str, int]]:
        marks = [mark for mark in super().boundaries() if mark[0] != "log start offset" or mark[1] > 0]
        if self.committed is None:
            return marks
        same = [name for name, offset in marks if offset == self.committed]  # one line, one label
        name = f"committed and {same[0]}" if same else "committed offset"
        return [(name, self.committed), *(mark for mark in marks if mark[0] not in same)]


def _effect(
    d: Drawing, place: tuple[float, float, float], offset: int, space: dict[str, Any], holder: str | None
) -> None:
    x, y, w = place
    key, numbers = f"effect/{offset}", space["effects"].get(str(offset), [])
    if str(offset) in space["skipped"]:
        of = space["skipped"][str(offset)]
        d.rect(key, x, y, w, BOX, "none", "trouble", r=5, width=2, dash="3 3", of=of, tip=f"record {offset} is skipped")
        _word(d, key, x, y, w, "skipped" if w > 60 else "skip", "trouble", of)
    elif numbers:
        twice = len(numbers) > 1
        words = f"{len(numbers)}×" if twice else "✓"
        tip = f"record {offset}: {len(numbers)} time{'s' * twice}"
        d.rect(key, x, y, w, BOX, "wash" if twice else "good", "trouble" if twice else "rule", r=5,
               width=2 if twice else None, of=numbers[-1], tip=tip)  # fmt: skip
        _word(d, key, x, y, w, words, "trouble" if twice else "ink", numbers[-1])
    elif holder:
        d.rect(key, x, y, w, BOX, "none", holder, r=5, width=2, tip=f"record {offset} is in hand: in memory only")
        _word(d, key, x, y, w, "in hand" if w > 60 else "…", "quiet", None)
    else:
        d.rect(key, x, y, w, BOX, "none", "rule", r=5, dash="3 3", tip=f"record {offset}: nothing yet")


def _word(d: Drawing, key: str, x: float, y: float, w: float, text: str, ink: str, of: int | None) -> None:
    d.text(key + "/word", x + w / 2, y + 16, text, ink, size=12, bold=True, anchor="middle", of=of)


def _reader(reader: dict[str, Any], colour: str) -> Reader:
    words = f"next {reader['next']}"
    if reader["commits"] is not None:
        words += f" · commits {reader['commits']}"
    if reader["state"]:
        words += f" · {reader['state']}"
    return Reader(reader["name"], reader["next"], words, colour, reader["state"] == "crashed", bool(reader["state"]))


def _twice(space: dict[str, Any]) -> list[str]:
    return [offset for offset, numbers in space["effects"].items() if len(numbers) > 1]
