"""Offsets and the commit point: one partition, its reader, the committed offset, and
what was done with each record.

The reader stands before the record it will read next; the committed offset is a flag
before the record that comes next after a restart. What lies between the two is shaded,
and named by what a crash would make of it. Under each record: in hand, done, done
again, or lost. Options: topic, partition, group, table. Without them: those that most
commits are about, and the first table that is written to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    NARROW,
    PHONE,
    WIDE,
    Box,
    Drawing,
    Look,
    Place,
    fitting,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.commit_story import CommitStory
from minikafka.theatre.pictures.log_story import lane_of
from minikafka.theatre.play import Play, Space
from minikafka.theatre.row import Boundary, Reader, Row, Style, lines_needed
from minikafka.theatre.text import dotted

BOX = 24  # height of a record's effect
# where records begin: the rows' names stand before them, as the lanes' do
LEFT = {WIDE: 124, NARROW: 96, PHONE: 96}
# heights above the records: of the lamps; of the committed offset and of what a crash
# would do
LAMPS, HEAD = 22, 51
# records that went wrong and are drawn in a log that is longer than the page
MOST_WRONG = 4


class CommitPlay(Play):
    """One partition as its group sees it."""

    story = CommitStory
    foot = (
        "Committed is the offset to read next. What is done and not committed comes"
        " again; what is committed and not done is lost if it stops there."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        group = space["group"]
        committed = space["committed"]
        down = [f"{node} {state}" for node, state in space["down"].items()]
        words = "nothing committed"
        if committed is not None:
            words = f"committed offset {committed}"
        return dotted(f"group {group}" if group else "", words, *down)

    def summary(self, space: Space) -> str:
        committed = space["committed"]
        parts = [
            f"log end offset {space['log']['log_end_offset']}",
            "nothing committed" if committed is None else f"committed {committed}",
        ]
        for reader in _placed(space):
            state = f" ({reader['state']})" if reader["state"] else ""
            parts.append(f"{reader['name']} reads {reader['next']} next{state}")

        done = "written" if space["table"] else "handed over"
        many = len(space["effects"])
        twice = len(_twice(space))
        skipped = len(space["skipped"])
        parts.append(f"{many} {done}, {twice} twice, {skipped} skipped")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        # when the shop wrote is no story of this picture
        self.lanes.marks.pop("written", None)
        self.again = any(_twice(scene["space"]) for scene in scenes)
        records = [
            each for scene in scenes for each in scene["space"]["log"]["records"]
        ]
        keys = [key or "" for _, _, key, *_ in records]
        self.longest_key = max(map(len, keys), default=0)
        self.call_outs = lines_needed(lambda d, scene: [self._row(d, scene)], scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """The row with its spans and effects, lamps above it, lanes below."""
        d = drawing
        scene = scenes[-1]
        space = scenes[-1]["space"]
        row = self._row(d, scene)

        for name, ends in space["spans"].items():
            if ends:
                row.span(name, ends, _named(name, space, d.asks))

        row.draw()
        holders = self._holders(space)
        for number, (offset, up_to) in enumerate(row.columns):
            if up_to - offset == 1:
                place = row.effect_at(number)
                holder = holders.get(offset)
                Effect(
                    d, row=row, box=place, offset=offset, space=space, holder=holder
                ).draw()

        self._captions(d, row, space)
        self._lamps(d, space)
        below = LAMPS + self._style(d).height(self.call_outs[d.width])
        self.lanes.draw(d, below, self._lanes(space), scene["step"])

    def _holders(self, space: Space) -> dict[int, str]:
        """The colours of those who have records in hand."""
        colours = self.cast["readers"]
        return {
            offset: colours[reader["name"]]
            for reader in space["readers"]
            for offset in reader["in_hand"]
        }

    def _pitch(self, d: Drawing) -> int:
        """From one record to the next: the widest that leaves room for all."""
        room = d.width - LEFT[d.width] - 2
        for pitch in (94, 78, 62, 47):
            if (self.cast["most"] + 1.2) * pitch <= room:
                return pitch
        return 40 if d.narrow else 47

    def _style(self, d: Drawing) -> Style:
        """How high the records are, and what stands under them."""
        cell = 44 if self._pitch(d) >= 94 else 30
        return Style(header=True, cell=cell, words=92 if self.again else 66)

    def _row(self, d: Drawing, scene: Scene) -> "CommitRow":
        """The partition at its place, with the names that records have here."""
        space = scene["space"]
        pitch = self._pitch(d)
        left = LEFT[d.width]
        readers = [
            _reader(reader, self.cast["readers"][reader["name"]])
            for reader in _placed(space)
        ]
        longest = text_width("k" * self.longest_key, 13.5, mono=True)
        whole = 1.25 * longest <= pitch - 5
        log = space["log"]
        records = [
            [offset, _name(offset, letter, key, whole), key, *rest]
            for offset, letter, key, *rest in log["records"]
        ]
        named = space | {"log": log | {"records": records}}
        place = left, LAMPS, d.width - left - 2
        style = self._style(d)
        return CommitRow(
            d,
            space=named,
            place=place,
            pitch=pitch,
            now=scene["number"],
            readers=readers,
            style=style,
        )

    def _captions(self, d: Drawing, row: "CommitRow", space: Space) -> None:
        """What the rows are."""
        left = row.x - 8
        table = space["table"] or "read"
        look: Look = {"bold": True, "anchor": "end"}
        middle = row.cells_y + row.style.cell / 2 + 5
        d.text("row/log", left, middle, "the log", **look)
        if space["log"]["log_end_offset"]:
            d.note("row/offset", left, row.effects_y - 8, "offset", "end")
        y = row.effects_y + 16
        d.text("row/table", left, y, table, **look, room=left - 2)

    def _lamps(self, d: Drawing, space: Space) -> None:
        """Above all, whether anything went wrong so far."""
        wrong = {"skipped": len(space["skipped"]), "twice": len(_twice(space))}
        words = {"skipped": "lost", "twice": "twice"}
        x = float(d.width)
        for key, count in wrong.items():
            text = f"{count or 'none'} {words[key]}"
            x -= d.lamp(f"lamp/{key}", x, 2, text, bool(count), "end") + 8

    def _lanes(self, space: Space) -> list[Lane]:
        """The readers, the commits, the effects, and what became of the log."""
        states = {reader["name"]: reader["state"] for reader in space["readers"]}
        rows = []
        for name, colour in self.cast["readers"].items():
            shown = name if name in states else ""
            rows.append(
                Lane(
                    key=lane_of(name),
                    name=shown,
                    colour=colour,
                    number=states.get(name, ""),
                )
            )

        committed = space["committed"]
        table = space["table"] or "lost"
        offset = "" if committed is None else str(committed)
        wrong = len(_twice(space)) + len(space["skipped"])
        words = f"{wrong} wrong" if wrong else ""
        others = [
            Lane(key="commits", name="committed", colour="ink", number=offset),
            Lane(
                key="effects",
                name=table,
                colour="quiet",
                number=words,
                trouble=wrong > 0,
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
        self.cells_y = self.y + HEAD
        self.values = style.cell > 30
        self.effects_y = self.cells_y + style.cell + 24
        wrong = sorted(map(int, [*space["skipped"], *_twice(space)]))
        places = [reader.next for reader in readers]
        self.columns = self.columns_with([*places, *wrong[-MOST_WRONG:]])

    def effect_at(self, column: int) -> Box:
        """The place under a record."""
        return Box(x=self.x_of(column), y=self.effects_y, w=self.pitch - 5, h=BOX)

    def _segments(self) -> None:
        """Files are no story of this picture."""

    def boundaries(self) -> list[Boundary]:
        """The end stands under the empty place; the committed offset is what this is
        about.
        """
        marks = [mark for mark in super().boundaries() if mark.offset > 0]
        marks = [mark for mark in marks if mark.name != "log end offset"]
        if self.committed is None:
            return marks
        return [Boundary("committed", self.committed), *marks]

    def _boundaries(self) -> None:
        """The line of the committed offset goes down through the effects."""
        super()._boundaries()
        flag = self.d.shapes.get(f"boundary/{self.key}/committed")
        if flag:
            flag |= {"y2": self.effects_y + BOX + 3, "width": 3}

    def span(self, name: str, ends: Sequence[int], words: Sequence[str]) -> None:
        """Shade records and effects between two offsets. words: its name, and a shorter
        one where room is scarce.
        """
        left = self.left_of(ends[0]) - 4
        right = self.left_of(ends[1]) - 2
        top = self.cells_y - 20
        bottom = self.effects_y + BOX + 4
        tab_y = top + 17  # where the tab with the name ends
        goes_right = name == "again"
        room = self.d.width - left if goes_right else right
        text = fitting(words, room - 8 / LEAST_STRETCH, 12.5, bold=True) or words[-1]
        width = max(
            (text_width(text, 12.5, bold=True) + 8) / LEAST_STRETCH, right - left
        )

        if goes_right:
            x = min(left, self.d.width - width)
            at = x + 7
            anchor = "start"
        else:
            x = max(right - width, 0)
            at = right - 7
            anchor = "end"

        key = f"span/{name}"
        if width <= right - left:  # a wider one would be the tab of its neighbours, too
            tab = Box(x=x, y=top, w=width, h=18)
            self.d.rect(f"{key}/tab", *tab, "said", "saidline", r=4)
        shade = Box(x=left, y=tab_y, w=right - left, h=bottom - top - 17)
        self.d.rect(key, *shade, "said", "saidline")
        look: Look = {"size": 12.5, "bold": True, "anchor": anchor}
        self.d.text(f"{key}/name", at, top + 13, text, **look)


@dataclass(frozen=True)
class Effect:
    """Under a record what became of it. holder: the colour of who has it in hand."""

    d: Drawing
    row: CommitRow
    box: Box
    offset: int
    space: Space
    holder: str | None

    @property
    def key(self) -> str:
        """Of the shape that tells what became of the record."""
        return f"effect/{self.offset}"

    @property
    def is_wide(self) -> bool:
        """Whether there is room for words."""
        return self.row.pitch > 65

    def draw(self) -> None:
        """What is true now, and a second time below where it was done again."""
        numbers = self.space["effects"].get(str(self.offset), [])
        lost_by = self.space["skipped"].get(str(self.offset))
        if lost_by is not None:
            self._lost(lost_by)
        elif numbers:
            self._done(numbers[0])
        elif self.holder:
            self._in_hand(self.holder)
        else:
            self._nothing_yet()
        if len(numbers) > 1:
            self._again(numbers)

    def _lost(self, number: int) -> None:
        """Nobody will read it any more."""
        look: Look = {"line": "trouble", "r": 5, "width": 2, "dash": "3 3"}
        look |= {"of": number, "tip": f"record {self.offset} is lost"}
        self.d.boxed(self.key, *self.box, "lost", "paper", "trouble", **look)

    def _done(self, number: int) -> None:
        """It falls out of the record into its place."""
        look: Look = {"fill": "good", "of": number}
        tip = f"record {self.offset}: done"
        above = self.row.cells_y
        self.d.cell(f"{self.key}/1", *self.box, "✓", **look, tip=tip, from_y=above)

    def _in_hand(self, colour: str) -> None:
        """It is in the memory of a process that may crash."""
        words = "in hand" if self.is_wide else "…"
        tip = f"record {self.offset} is in hand: in memory only"
        look: Look = {"line": colour, "r": 5, "width": 2, "tip": tip}
        self.d.boxed(self.key, *self.box, words, "paper", "quiet", **look)

    def _nothing_yet(self) -> None:
        """An empty place."""
        tip = f"record {self.offset}: nothing yet"
        self.d.rect(self.key, *self.box, "none", "rule", r=5, dash="3 3", tip=tip)

    def _again(self, numbers: Sequence[int]) -> None:
        """Once more below it."""
        times = len(numbers)
        words = "again" if times == 2 and self.is_wide else f"{times}×"
        box = self.box._replace(y=self.box.bottom + 2)
        look: Look = {"fill": "paper", "line": "trouble", "ink": "trouble"}
        look |= {"width": 2, "of": numbers[-1]}
        tip = f"record {self.offset}: {times} times"
        above = self.row.cells_y
        self.d.cell(f"{self.key}/2", *box, words, **look, tip=tip, from_y=above)


def _named(name: str, space: Space, asks: bool) -> tuple[str, ...]:
    """What a shaded span is called: what holds of it now, where a prediction still asks
    what comes of it.
    """
    comes_again = space["comes_again"]
    if name == "lost":
        if asks or comes_again:
            return f"committed, not in {space['table']}", "not done"
        return "would be lost if it stopped", "would be lost"
    if asks:
        return "read, not committed", "not committed"
    if comes_again:
        return "comes again", "again"
    return "would be repeated if it stopped", "would be repeated", "repeated"


def _name(offset: int, letter: str, key: str | None, whole: bool) -> str:
    """A record by its key, where the key says more than the offset."""
    name = key if whole and key else letter
    return "" if name == str(offset) else str(name)


def _reader(reader: Space, colour: str) -> Reader:
    """A reader as the row of records draws it."""
    commits = reader["commits"]
    state = reader["state"]
    commit = "" if commits is None else f"commits {commits}"
    return Reader(
        name=reader["name"],
        next=reader["next"],
        words=dotted(f"next {reader['next']}", commit, state),
        colour=colour,
        trouble=state == "crashed",
        away=bool(state),
    )


def _placed(space: Space) -> list[Space]:
    """The readers that stand somewhere."""
    return [reader for reader in space["readers"] if reader["next"] is not None]


def _twice(space: Space) -> list[str]:
    """The offsets whose effect is there more than once."""
    return [offset for offset, numbers in space["effects"].items() if len(numbers) > 1]
