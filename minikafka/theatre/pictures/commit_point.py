"""Offsets and the commit point: one partition, its readers, the committed offset, and
what was done with each record.

A record is a square: it comes from who writes it into the log, goes from there into a
reader's memory at each reading, and lies there until its effect is written and its
offset is committed. The reader stands before the record it will read next; the
committed offset is a flag before the record that comes next after a restart, and the
reader has sent it there. What lies between the two is shaded, and named by what a crash
would make of it. Under each record: done, done again, or lost. Options: topic,
partition, group, table. Without them: those that most commits are about, and the first
table that is written to.
"""

from collections.abc import Sequence

from minikafka.theatre.drawing import (
    NARROW,
    PHONE,
    WIDE,
    Drawing,
    Look,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.commit_cards import (
    Cards,
    draw_producers,
    home_of_records,
)
from minikafka.theatre.pictures.commit_row import CommitRow, Effect, twice
from minikafka.theatre.pictures.commit_story import CommitStory
from minikafka.theatre.pictures.log_story import lane_of
from minikafka.theatre.play import Play, Space
from minikafka.theatre.row import Reader, Style, lines_needed
from minikafka.theatre.text import dotted

# where records begin: the rows' names stand before them, as the lanes' do
LEFT = {WIDE: 124, NARROW: 96, PHONE: 96}
LAMPS = 27  # their height, above the records
PITCHES = (94, 78, 62, 47)  # from one record to the next: the widest that fits
LEAST_PITCH, LEAST_NARROW = 47, 40
LEAST_FOR_ALL = 28


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
        doubled = len(twice(space))
        skipped = len(space["skipped"])
        parts.append(f"{many} {done}, {doubled} twice, {skipped} skipped")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        # when the shop wrote is no story of this picture
        self.lanes.marks.pop("written", None)
        self.again = any(twice(scene["space"]) for scene in scenes)
        keys = set()
        for scene in scenes:
            for _, _, key, *_ in scene["space"]["log"]["records"]:
                keys.add(key or "")
        self.longest_key = max(map(len, keys), default=0)
        self.call_outs = lines_needed(lambda d, scene: [self._row(d, scene)], scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """Lamps, the row with its spans and effects, the readers, and lanes below."""
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        row = self._row(d, scene)
        below = LAMPS + self._style(d).height(self.call_outs[d.width])
        cards = Cards(d, self.cast, space, below)

        for name, ends in space["spans"].items():
            if ends:
                row.span(name, ends, _named(name, space, d.asks))
        row.draw()
        _draw_effects(row, space, cards)
        self._captions(d, row, space)
        draw_producers(d, space, LEFT[d.width] - 14, scene["number"])
        self._lamps(d, space)
        cards.draw(row)
        lanes = self._lanes(space, d.phone)
        self.lanes.draw(d, below + cards.height, lanes, scene["step"])

    def _pitch(self, d: Drawing) -> int:
        """From one record to the next: the widest that leaves room for all."""
        room = d.width - LEFT[d.width] - 2
        most: int = self.cast["most"]
        for pitch in PITCHES:
            if (most + 1.2) * pitch <= room:
                return pitch
        if not d.narrow:
            return LEAST_PITCH
        # every record, as long as it is seen
        for_all = int(room // (most + 1))
        return for_all if for_all >= LEAST_FOR_ALL else LEAST_NARROW

    def _style(self, d: Drawing) -> Style:
        """How high the records are, and what stands under them."""
        cell = 44 if self._pitch(d) >= PITCHES[0] else 30
        words = 92 if self.again else 66
        return Style(header=True, cell=cell, words=words)

    def _row(self, d: Drawing, scene: Scene) -> CommitRow:
        """The partition at its place, with the names that records have here."""
        space = scene["space"]
        pitch = self._pitch(d)
        left = LEFT[d.width]
        colours = self.cast["readers"]
        readers = []
        for reader in _placed(space):
            readers.append(_reader(reader, colours[reader["name"]]))
        longest = text_width("k" * self.longest_key, 13.5, mono=True)
        whole = 1.25 * longest <= pitch - 5
        records = []
        for offset, letter, key, *rest in space["log"]["records"]:
            records.append([offset, _name(offset, letter, key, whole), key, *rest])
        named = space["log"] | {"records": records}
        return CommitRow(
            d,
            space=space | {"log": named},
            place=(left, LAMPS, d.width - left - 2),
            pitch=pitch,
            now=scene["number"],
            readers=readers,
            style=self._style(d),
            home=home_of_records(),
        )

    def _captions(self, d: Drawing, row: CommitRow, space: Space) -> None:
        """What the rows are."""
        left = row.x - 8
        table = space["table"] or "read"
        look: Look = {
            "bold": True,
            "anchor": "end",
            "size": 12 if d.phone else 13,
        }
        middle = row.cells_y + row.style.cell / 2 + 5
        d.text("row/log", left, middle, "the log", **look)
        if space["log"]["log_end_offset"]:
            d.note("row/offset", left, row.effects_y - 8, "offset", "end")
        y = row.effects_y + 16
        d.text("row/table", left, y, table, **look, room=left - 2)

    def _lamps(self, d: Drawing, space: Space) -> None:
        """Above all, whether anything went wrong so far."""
        wrong = {"skipped": len(space["skipped"]), "twice": len(twice(space))}
        words = {"skipped": "lost", "twice": "twice"}
        x = float(d.width)
        for key, count in wrong.items():
            text = f"{count or 'none'} {words[key]}"
            x -= d.lamp(f"lamp/{key}", x, 2, text, bool(count), "end") + 8

    def _lanes(self, space: Space, is_short: bool) -> list[Lane]:
        """The readers, the commits, the effects, and what became of the log."""
        states = {reader["name"]: reader["state"] for reader in space["readers"]}
        rows = []
        for name, colour in self.cast["readers"].items():
            rows.append(
                Lane(
                    key=lane_of(name),
                    name=name if name in states else "",
                    colour=colour,
                    number=states.get(name, ""),
                )
            )

        committed = space["committed"]
        wrong = _wrong(space)
        lost = "lost" if space["skipped"] else ""
        others = [
            Lane(
                key="commits",
                name="commits" if is_short else "committed",
                colour="ink",
                number="" if committed is None else str(committed),
            ),
            Lane(
                key="effects",
                name=space["table"] or lost,
                colour="quiet",
                number=wrong,
                trouble=bool(wrong),
            ),
            Lane("log", "log", "ink"),
        ]
        return rows + [lane for lane in others if lane.key in self.lanes.marks]


def _wrong(space: Space) -> str:
    """What went wrong, as the lamps say it."""
    doubled = len(twice(space))
    lost = len(space["skipped"])
    if doubled and lost:
        return f"{doubled + lost} wrong"
    if doubled:
        return f"{doubled} twice"
    return f"{lost} lost" if lost else ""


def _draw_effects(row: CommitRow, space: Space, cards: Cards) -> None:
    """Under each record what became of it."""
    home = cards.home_of(space["wrote"])
    for number, column in enumerate(row.columns):
        is_a_gap = column.up_to - column.first > 1
        if not is_a_gap:
            effect = Effect(
                row.d,
                row=row,
                box=row.effect_at(number),
                offset=column.first,
                space=space,
                home=home,
            )
            effect.draw()


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
    state = reader["state"]
    return Reader(
        name=reader["name"],
        next=reader["next"],
        words=dotted(f"next {reader['next']}", state),
        colour=colour,
        trouble=state == "crashed",
        away=bool(state),
    )


def _placed(space: Space) -> list[Space]:
    """The readers that stand somewhere."""
    return [reader for reader in space["readers"] if reader["next"] is not None]
