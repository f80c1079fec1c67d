"""Offsets and the commit point: one partition, its reader, the committed offset, and
what was done with each record.

The reader stands before the record it will read next; the committed offset is a flag
before the record that comes next after a restart. What lies between the two is shaded,
and named by what a crash would make of it. Under each record: in hand, done, done
again, or lost. Options: topic, partition, group, table. Without them: those that most
commits are about, and the first table that is written to.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    NARROW,
    WIDE,
    Drawing,
    Place,
    fitting,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.commit_story import CommitStory
from minikafka.theatre.pictures.log_story import lane_of
from minikafka.theatre.play import Play, Space
from minikafka.theatre.row import Reader, Row, Style, columns, lines_needed
from minikafka.theatre.text import dotted

BOX = 24  # height of a record's effect
# where records begin: the rows' names stand before them, as the lanes' do
LEFT = {WIDE: 124, NARROW: 96}
# heights above the records: of the lamps; of the committed offset and of what a crash
# would do
LAMPS, HEAD = 22, 51
# records that went wrong and are drawn in a log that is longer than the page
MOST_WRONG = 4


class CommitPlay(Play):
    story = CommitStory
    foot = (
        "Committed is the offset to read next. What is done and not committed comes"
        " again; what is committed and not done is lost if it stops there."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        committed = (
            "nothing committed"
            if space["committed"] is None
            else f"committed offset {space['committed']}"
        )
        down = [f"{node} {state}" for node, state in space["down"].items()]
        return dotted(
            f"group {space['group']}" if space["group"] else "", committed, *down
        )

    def summary(self, space: dict[str, Any]) -> str:
        log = space["log"]
        parts = [f"log end offset {log['log_end_offset']}"]
        parts.append(
            "nothing committed"
            if space["committed"] is None
            else f"committed {space['committed']}"
        )
        for reader in (each for each in space["readers"] if each["next"] is not None):
            state = f" ({reader['state']})" if reader["state"] else ""
            parts.append(f"{reader['name']} reads {reader['next']} next{state}")
        done = "written" if space["table"] else "handed over"
        parts.append(
            f"{len(space['effects'])} {done}, {len(_twice(space))} twice,"
            f" {len(space['skipped'])} skipped"
        )
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        # when the shop wrote is no story of this picture
        self.lanes.marks.pop("written", None)
        self.again = any(_twice(scene["space"]) for scene in scenes)
        records = [
            record for scene in scenes for record in scene["space"]["log"]["records"]
        ]
        self.longest_key = max((len(record[2] or "") for record in records), default=0)
        self.call_outs = lines_needed(lambda d, scene: [self._row(d, scene)], scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d, scene, space = drawing, scenes[-1], scenes[-1]["space"]
        row = self._row(d, scene)
        for name, ends in space["spans"].items():
            if ends:
                row.span(name, ends, _named(name, space, d.asks))
        row.draw()
        colours = self.cast["readers"]
        holder = {
            o: colours[reader["name"]]
            for reader in space["readers"]
            for o in reader["in_hand"]
        }
        for number, (offset, up_to) in enumerate(row.columns):
            if up_to - offset == 1:
                _effect(
                    d,
                    row,
                    row.x + number * row.pitch,
                    offset,
                    space,
                    holder.get(offset),
                )
        self._captions(d, row, space)
        below = LAMPS + self._style(d).height(self.call_outs[d.width])
        self.lanes.draw(d, below, self._lanes(space), scene["step"])

    def _pitch(self, d: Drawing) -> int:
        room = d.width - LEFT[d.width] - 2
        return next(
            (p for p in (94, 78, 62, 47) if (self.cast["most"] + 1.2) * p <= room),
            40 if d.narrow else 47,
        )

    def _style(self, d: Drawing) -> Style:
        return Style(True, 44 if self._pitch(d) >= 94 else 30, 92 if self.again else 66)

    def _row(self, d: Drawing, scene: Scene) -> "CommitRow":
        space, pitch, left = scene["space"], self._pitch(d), LEFT[d.width]
        placed = [reader for reader in space["readers"] if reader["next"] is not None]
        readers = [
            _reader(reader, self.cast["readers"][reader["name"]]) for reader in placed
        ]
        whole = 1.25 * text_width("k" * self.longest_key, 13.5, mono=True) <= pitch - 5
        records = [
            [record[0], _name(record, whole), *record[2:]]
            for record in space["log"]["records"]
        ]
        space = space | {"log": space["log"] | {"records": records}}
        place = (left, LAMPS, d.width - left - 2)
        return CommitRow(
            d, space, place, pitch, scene["number"], readers, self._style(d)
        )

    def _captions(self, d: Drawing, row: "CommitRow", space: dict[str, Any]) -> None:
        """What the rows are; and above them, whether anything went wrong so far."""
        left, table = row.x - 8, space["table"] or "read"
        d.text(
            "row/log",
            left,
            row.cells_y + row.style.cell / 2 + 5,
            "the log",
            bold=True,
            anchor="end",
        )
        if space["log"]["log_end_offset"]:
            d.note("row/offset", left, row.effects_y - 8, "offset", "end")
        d.text(
            "row/table",
            left,
            row.effects_y + 16,
            table,
            bold=True,
            anchor="end",
            room=left - 2,
        )
        x = float(d.width)
        for key, count, words in (
            ("skipped", len(space["skipped"]), "lost"),
            ("twice", len(_twice(space)), "twice"),
        ):
            text = f"{count} {words}" if count else f"none {words}"
            x -= d.lamp(f"lamp/{key}", x, 2, text, bool(count), "end") + 8

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        seen = {reader["name"]: reader for reader in space["readers"]}
        rows = [
            Lane(
                lane_of(name),
                name if name in seen else "",
                colour,
                seen[name]["state"] if name in seen else "",
            )
            for name, colour in self.cast["readers"].items()
        ]
        committed, wrong = (
            space["committed"],
            len(_twice(space)) + len(space["skipped"]),
        )
        others = [
            Lane(
                "commits",
                "committed",
                "ink",
                "" if committed is None else str(committed),
            ),
            Lane(
                "effects",
                space["table"] or "lost",
                "quiet",
                f"{wrong} wrong" if wrong else "",
                wrong > 0,
            ),
            Lane("log", "log", "ink"),
        ]
        return rows + [lane for lane in others if lane.key in self.lanes.marks]


class CommitRow(Row):
    """A partition with the group's committed offset, and a row of effects right under
    the records.
    """

    def __init__(
        self,
        d: Drawing,
        space: Space,
        place: Place,
        pitch: float,
        now: int,
        readers: Sequence[Reader],
        style: Style,
    ) -> None:
        self.committed: int | None = space["committed"]
        super().__init__(d, space["log"], place, pitch, now, readers, style)
        self.cells_y, self.values = self.y + HEAD, style.cell > 30
        self.effects_y = self.cells_y + style.cell + 24
        wrong = sorted(int(offset) for offset in [*space["skipped"], *_twice(space)])[
            -MOST_WRONG:
        ]
        places = [reader.next for reader in readers]
        self.columns = columns(
            space["log"], [*places, *wrong], int(self.width // pitch) - 1
        )

    def _segments(self) -> None:
        """Files are no story of this picture."""

    def boundaries(self) -> list[tuple[str, int]]:
        """The end stands under the empty place; the committed offset is what this is
        about.
        """
        marks = [
            mark
            for mark in super().boundaries()
            if mark[0] != "log end offset" and mark[1] > 0
        ]
        return (
            marks if self.committed is None else [("committed", self.committed), *marks]
        )

    def _boundaries(self) -> None:
        super()._boundaries()
        flag = self.d.shapes.get(f"boundary/{self.key}/committed")
        if flag:
            flag |= {"y2": self.effects_y + BOX + 3, "width": 3}

    def span(self, name: str, ends: Sequence[int], words: Sequence[str]) -> None:
        """Shade records and effects between two offsets. words: its name, and a shorter
        one where room is scarce.
        """
        x, x2 = self.left_of(ends[0]) - 4, self.left_of(ends[1]) - 2
        y, right = self.cells_y - 20, name == "again"
        room = self.d.width - x if right else x2
        text = fitting(words, room - 8 / LEAST_STRETCH, 12.5, bold=True) or words[-1]
        tab = max((text_width(text, 12.5, bold=True) + 8) / LEAST_STRETCH, x2 - x)
        tab_x = min(x, self.d.width - tab) if right else max(x2 - tab, 0)
        self.d.rect(f"span/{name}/tab", tab_x, y, tab, 18, "said", "saidline", r=4)
        self.d.rect(
            f"span/{name}",
            x,
            y + 17,
            x2 - x,
            self.effects_y + BOX + 4 - y - 17,
            "said",
            "saidline",
        )
        at, anchor = (tab_x + 7, "start") if right else (x2 - 7, "end")
        self.d.text(
            f"span/{name}/name", at, y + 13, text, size=12.5, bold=True, anchor=anchor
        )


def _named(name: str, space: dict[str, Any], asks: bool) -> tuple[str, ...]:
    """What a shaded span is called: what holds of it now, where a prediction still asks
    what comes of it.
    """
    if name == "lost":
        fact = f"committed, not in {space['table']}"
        return (
            (fact, "not done")
            if asks or space["comes_again"]
            else ("would be lost if it stopped", "would be lost")
        )
    if asks:
        return "read, not committed", "not committed"
    would = "would be repeated if it stopped", "would be repeated", "repeated"
    return ("comes again", "again") if space["comes_again"] else would


def _name(record: list[Any], whole: bool) -> str:
    """A record by its key, where the key says more than the offset."""
    name = record[2] if whole and record[2] else record[1]
    return "" if name == str(record[0]) else str(name)


def _effect(
    d: Drawing,
    row: CommitRow,
    x: float,
    offset: int,
    space: dict[str, Any],
    holder: str | None,
) -> None:
    """Under a record what became of it."""
    key, numbers, skipped = (
        f"effect/{offset}",
        space["effects"].get(str(offset), []),
        space["skipped"],
    )
    y, w, above, wide = row.effects_y, row.pitch - 5, row.cells_y, row.pitch > 65
    if str(offset) in skipped:
        d.boxed(
            key,
            x,
            y,
            w,
            BOX,
            "lost",
            "paper",
            "trouble",
            line="trouble",
            r=5,
            width=2,
            dash="3 3",
            of=skipped[str(offset)],
            tip=f"record {offset} is lost",
        )
    elif numbers:  # it falls out of the record into its place
        d.cell(
            key + "/1",
            x,
            y,
            w,
            BOX,
            "✓",
            fill="good",
            of=numbers[0],
            tip=f"record {offset}: done",
            from_y=above,
        )
    elif holder:
        d.boxed(
            key,
            x,
            y,
            w,
            BOX,
            "in hand" if wide else "…",
            "paper",
            "quiet",
            line=holder,
            r=5,
            width=2,
            tip=f"record {offset} is in hand: in memory only",
        )
    else:
        d.rect(
            key,
            x,
            y,
            w,
            BOX,
            "none",
            "rule",
            r=5,
            dash="3 3",
            tip=f"record {offset}: nothing yet",
        )
    if len(numbers) > 1:
        words = "again" if len(numbers) == 2 and wide else f"{len(numbers)}×"
        d.cell(
            key + "/2",
            x,
            y + BOX + 2,
            w,
            BOX,
            words,
            fill="paper",
            line="trouble",
            ink="trouble",
            width=2,
            of=numbers[-1],
            tip=f"record {offset}: {len(numbers)} times",
            from_y=above,
        )


def _reader(reader: dict[str, Any], colour: str) -> Reader:
    commits = "" if reader["commits"] is None else f"commits {reader['commits']}"
    words = dotted(f"next {reader['next']}", commits, reader["state"])
    return Reader(
        reader["name"],
        reader["next"],
        words,
        colour,
        reader["state"] == "crashed",
        bool(reader["state"]),
    )


def _twice(space: dict[str, Any]) -> list[str]:
    return [offset for offset, numbers in space["effects"].items() if len(numbers) > 1]
