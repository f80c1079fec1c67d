"""Offsets and the commit point: one partition, its readers, the committed offset, and
what was done with each record.

A record is a square: it comes from who writes it into the log, goes from there into a
reader's memory at each reading, and lies there until its effect is written and its
offset is committed. The reader is at the record it will read next; the
committed offset is a flag before the record that comes next after a restart, and the
reader has sent it there. What lies between the two is shaded, and named by what a crash
would make of it. Under each record: done, done again, or lost. Options: topic,
partition, group, table. Without them: those that most commits are about, and the first
table that is written to.
"""

from collections.abc import Sequence

from minikafka.theatre.columns import Log
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
from minikafka.theatre.row import Reader, Record, Style, lines_needed
from minikafka.theatre.text import dotted

# where records begin: the rows' names are in front of them, like the lanes'
LEFT = {WIDE: 124, NARROW: 96, PHONE: 96}
LAMPS = 23  # their height, above the records
PITCHES = (94, 78, 62, 47)  # from one record to the next: the widest that fits
LEAST_PITCH, LEAST_NARROW = 47, 40
LEAST_FOR_ALL = 28


class CommitPlay(Play):
    """One partition as its group sees it."""

    story = CommitStory
    rule = (
        "Committed is the offset to read next. What is done and not committed comes"
        " again; what is committed and not done is lost if it stops there."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        group = space["group"]
        committed = space["committed"]
        parts = []
        if group:
            parts.append(f"group {group}")
        if committed is None:
            parts.append("nothing committed")
        else:
            parts.append(f"committed offset {committed}")
        for node, state in space["down"].items():
            parts.append(f"{node} {state}")
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        committed = space["committed"]
        end = space["log"]["log_end_offset"]
        parts = [f"log end offset {end}"]
        if committed is None:
            parts.append("nothing committed")
        else:
            parts.append(f"committed {committed}")
        for reader in _placed(space):
            name = reader["name"]
            offset = reader["next"]
            state = f" ({reader['state']})" if reader["state"] else ""
            parts.append(f"{name} reads {offset} next{state}")

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
        self.again = False
        self.longest_key = 0
        for scene in scenes:
            space = scene["space"]
            if twice(space):
                self.again = True
            for told in space["log"]["records"]:
                key = Record(*told).key or ""
                self.longest_key = max(self.longest_key, len(key))
        self.call_outs = lines_needed(self._rows, scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """Lamps, the row with its spans and effects, the readers, and lanes below."""
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        [row] = self._rows(d, scene)
        lines = self.call_outs[d.width]
        below = LAMPS + row.style.height(lines)
        cards = Cards(d, self.cast, space, below)

        for name, ends in space["spans"].items():
            if ends:
                words = _named(name, space, d.asks)
                row.span(name, ends, words)
        row.draw()
        _draw_effects(row, space, cards)
        self._captions(d, row, space)
        draw_producers(
            d,
            space,
            width=row.x - 14,
            now=scene["number"],
        )
        self._lamps(d, space)
        cards.draw(row)
        self.lanes.draw(
            d,
            y=below + cards.height,
            rows=self._lanes(space, d.phone),
            step=scene["step"],
        )

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
        """The height of the records, and the parts below them."""
        words = 74 if self.again else 60
        if d.narrow:  # where a reader's name may well be below an effect
            words += 6
        return Style(header=True, cell=30, words=words)

    def _rows(self, d: Drawing, scene: Scene) -> list[CommitRow]:
        """The partition at its place, with the names that records have here."""
        space = scene["space"]
        pitch = self._pitch(d)
        left = LEFT[d.width]
        colours = self.cast["readers"]
        readers = []
        for reader in _placed(space):
            colour = colours[reader["name"]]
            readers.append(_reader(reader, colour))
        log = space["log"]
        named = log | {"records": self._named_records(log, pitch)}
        row = CommitRow(
            d,
            space=space | {"log": named},
            place=(left, LAMPS, d.width - left - 2),
            pitch=pitch,
            now=scene["number"],
            readers=readers,
            style=self._style(d),
            home=home_of_records(),
        )
        return [row]

    def _named_records(self, log: Log, pitch: float) -> list[Record]:
        """By their keys, where these have room."""
        longest = text_width("k" * self.longest_key, 13.5, mono=True)
        whole = 1.25 * longest <= pitch - 5
        named = []
        for told in log["records"]:
            record = Record(*told)
            name = _name(record, whole)
            named.append(record._replace(letter=name))
        return named

    def _captions(self, d: Drawing, row: CommitRow, space: Space) -> None:
        """Draw the names of the rows."""
        left = row.x - 8
        look: Look = {
            "bold": True,
            "anchor": "end",
            "size": 12 if d.phone else 13,
        }
        middle = row.cells_y + row.style.cell / 2
        d.text(
            "row/log",
            left,
            middle + 5,
            "the log",
            **look,
        )
        if space["log"]["log_end_offset"]:
            d.note(
                "row/offset",
                left,
                row.effects_y - 8,
                "offset",
                "end",
            )
        d.text(
            "row/table",
            left,
            row.effects_y + 16,
            space["table"] or "read",
            **look,
            room=left - 2,
        )

    def _lamps(self, d: Drawing, space: Space) -> None:
        """Above all, whether anything went wrong so far."""
        lost = len(space["skipped"])
        doubled = len(twice(space))
        right = float(d.width)
        for key, count, word in (
            ("skipped", lost, "lost"),
            ("twice", doubled, "twice"),
        ):
            width = d.lamp(
                f"lamp/{key}",
                right,
                2,
                f"{count or 'none'} {word}",
                broken=count > 0,
                anchor="end",
            )
            right -= width + 8

    def _lanes(self, space: Space, is_short: bool) -> list[Lane]:
        """The lanes of the readers, the commits, the effects, and the log."""
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
    """The faults, as the lamps name them."""
    doubled = len(twice(space))
    lost = len(space["skipped"])
    if doubled and lost:
        return f"{doubled + lost} wrong"
    if doubled:
        return f"{doubled} twice"
    return f"{lost} lost" if lost else ""


def _draw_effects(row: CommitRow, space: Space, cards: Cards) -> None:
    """Draw the fate of each record below it."""
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
    """The name of a shaded span: its present meaning while a prediction still asks
    about its future.
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
    return "would be repeated if it stopped", "would be repeated", "would repeat"


def _name(record: Record, whole: bool) -> str:
    """A record by its key, where the key says more than the offset."""
    name = record.letter
    if whole and record.key:
        name = record.key
    if name == str(record.offset):
        return ""
    return name


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
    """The readers that have a position."""
    return [reader for reader in space["readers"] if reader["next"] is not None]
