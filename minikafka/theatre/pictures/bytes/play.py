"""Bytes beside their fields: a frame in hexadecimal, and the tree of fields that a
reader makes of it, with names, types and values by the schema.

Hovering either marks the other, and so does the focus: arrow keys go from byte to byte
and from field to field. In a live picture two digits typed on a byte change it. Where
the frame makes no sense any more the reading stops, and the bytes behind are left
unread. On a narrow page the fields stand under the bytes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fit,
    has_room,
    text_width,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.bytes.story import (
    NOBODY,
    BytesStory,
    Part,
    part_at,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

MOST_BYTES, MOST_LINES = 320, 60
LABEL = 34  # left of a row's first byte
BYTE = 18  # height of a row of bytes
LINE = 16  # height of a field
INDENT = 9
COLUMN_GAP, WIDEST_COLUMN = 14, 420
END = 0  # the number of the line that says what is not read
FEW = 16  # lines that fit into one column
READ_ONLY = "read-only here: you can change bytes in the lesson's notebook"
HOW_TO = "click a byte, or go there with the arrow keys, and type two hex digits"


class Hex(NamedTuple):
    """The arrangement of the bytes. pitch: from one to the next."""

    a_row: int
    pitch: float

    @property
    def width(self) -> float:
        return LABEL + self.a_row * self.pitch

    def box_of(self, at: int) -> Box:
        """The box of a byte, by its position in the frame."""
        row, column = divmod(at, self.a_row)
        return Box(
            x=LABEL + column * self.pitch,
            y=row * BYTE,
            w=self.pitch - 2,
            h=BYTE - 2,
        )


WIDE_ROWS = Hex(a_row=8, pitch=26)
NARROW_ROWS = Hex(a_row=16, pitch=31.5)
PHONE_ROWS = Hex(a_row=12, pitch=34)


class Columns(NamedTuple):
    """The place of the tree. most: lines per column."""

    left: float
    top: float
    width: float
    most: int

    def box_of(self, number: int) -> Box:
        """The box of a line, by its number."""
        column, row = divmod(number, self.most)
        return Box(
            x=self.left + column * (self.width + COLUMN_GAP),
            y=self.top + row * LINE,
            w=self.width,
            h=LINE - 1,
        )


class Line(NamedTuple):
    """One line of the tree: a section's name, or a field. number: of the field."""

    section: str
    number: int = -1
    part: Part | None = None


class BytesPlay(Play):
    """A frame twice: as bytes and as fields."""

    story = BytesStory
    legend = "Hover over a byte or a field to see which ones belong together."
    # lines of the longest tree
    lines_most = 0

    def scenario(self, scene: Scene) -> str:
        size = len(scene["space"]["data"]) // 2
        how = HOW_TO if "live" in self.cast else READ_ONLY
        return dotted(counted(size, "byte"), how)

    def summary(self, space: Space) -> str:
        told = []
        for part in _parts(space)[:MOST_LINES]:
            told.append(f"{part.name} {part.value}")
        unread = _unread(space)
        if unread:
            told.append(unread)
        return ", ".join(told) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """The longest tree decides how the columns are cut."""
        trees = [_lines(scene["space"]) for scene in scenes]
        self.lines_most = max(map(len, trees), default=0)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        rows = _rows(d)
        bottom = self._bytes(d, space, rows)
        if space["changed"]:
            is_seen = space["by"] != NOBODY
            words = f"{space['by']} notices"
            d.lamp("lamp", 0, bottom + 6, words, is_seen)
        left = rows.width + 18
        top = 0.0
        if d.narrow:
            left = 0.0
            top = bottom + 34
        self._tree(d, space, left, top)

    def _hex_height(self, rows: Hex) -> float:
        size = len(self.cast["sent"]) // 2
        shown = min(size, MOST_BYTES)
        return -(-shown // rows.a_row) * BYTE

    def _bytes(self, d: Drawing, space: Space, rows: Hex) -> float:
        """The frame, row by row. Returns where it ends."""
        data = bytes.fromhex(space["data"])
        shown = data[:MOST_BYTES]
        parts = _parts(space)
        for at in range(0, len(shown), rows.a_row):
            y = rows.box_of(at).y
            d.note(
                f"at/{at}",
                0,
                y + 12,
                f"{at:03}",
                size=12,
                mono=True,
            )
        for at, byte in enumerate(shown):
            number = _number_at(parts, at)
            part = None if number is None else parts[number]
            look = self._look(space, at, number, part)
            is_read = at < space["end"]
            look["tip"] = _tip(at, byte, part, is_read)
            _draw_byte(
                d,
                at,
                byte,
                box=rows.box_of(at),
                look=look,
                ink="gone" if part is None else "ink",
                is_changed=at in space["changed"],
            )
        bottom = self._hex_height(rows)
        more = len(data) - len(shown)
        if more:
            d.note("more", LABEL, bottom + 12, f"and {more} more bytes")
        return bottom

    def _look(
        self,
        space: Space,
        at: int,
        number: int | None,
        part: Part | None,
    ) -> Look:
        """The bytes of a field have one shade, and neighbours another. number: of the
        field.
        """
        look: Look = {
            "fill": "none",
            "line": "rule",
            "dash": "3 3",
            "r": 3,
            "grid": "bytes",
        }
        if number is not None and part is not None:
            look["fill"] = "cell" if number % 2 else "wash"
            look["dash"] = None
            look["same"] = _same(part)
        if at in space["changed"]:
            look["fill"] = "said"
            look["line"] = "ink"
        if at == space["at"]:
            look["width"] = 2
        if "live" in self.cast:
            look["act"] = f"byte {at}"
            look["digits"] = 2
        return look

    def _tree(self, d: Drawing, space: Space, left: float, top: float) -> None:
        """The fields, in one column or two."""
        lines = _lines(space)
        columns = self._columns(d, left, top)
        for number, line in enumerate(lines[:MOST_LINES]):
            box = columns.box_of(number)
            if line.part is None:
                _draw_section(d, f"section/{number}", line, box)
            else:
                is_other = line.number in space["other"]
                _draw_field(d, line.part, line.number, box, is_other)
        more = len(lines) - MOST_LINES
        if more > 0:
            y = top + columns.most * LINE
            d.note("tree/more", left, y + 12, f"and {more} more lines")

    def _columns(self, d: Drawing, left: float, top: float) -> Columns:
        count = 1 if self.lines_most <= FEW else 2
        lines = min(self.lines_most, MOST_LINES)
        gaps = COLUMN_GAP * (count - 1)
        width = (d.width - left - gaps) / count
        return Columns(
            left=left,
            top=top,
            width=min(width, WIDEST_COLUMN),
            most=-(-lines // count),
        )


def _rows(d: Drawing) -> Hex:
    """The arrangement of the bytes on a page."""
    if d.phone:
        return PHONE_ROWS
    return NARROW_ROWS if d.narrow else WIDE_ROWS


def _parts(space: Space) -> list[Part]:
    return [Part(*given) for given in space["parts"]]


def _unread(space: Space) -> str:
    """How many bytes make no sense, in words; nothing, where all do."""
    count = len(space["data"]) // 2 - space["end"]
    if not count:
        return ""
    return f"{counted(count, 'byte')} not read"


def _number_at(parts: Sequence[Part], at: int) -> int | None:
    """The number of the field that a byte belongs to."""
    part = part_at(parts, at)
    if part is None:
        return None
    return list(parts).index(part)


def _draw_byte(
    d: Drawing,
    at: int,
    byte: int,
    box: Box,
    look: Look,
    ink: str,
    is_changed: bool,
) -> None:
    """A box, and the byte in it."""
    d.rect(f"byte/{at}", *box, **look)
    words: Look = {
        "size": 12.5,
        "mono": True,
        "anchor": "middle",
        "bold": is_changed,
    }
    middle = box.x + box.w / 2
    d.text(f"byte/{at}/hex", middle, box.y + 12, f"{byte:02x}", ink, **words)


def _lines(space: Space) -> list[Line]:
    """The tree, line by line."""
    lines = []
    section = ""
    for number, part in enumerate(_parts(space)):
        if part.section != section:
            section = part.section
            lines.append(Line(section))
        lines.append(Line(section, number, part))
    unread = _unread(space)
    if unread:
        lines.append(Line(unread, END))
    return lines


def _tip(at: int, byte: int, part: Part | None, is_read: bool) -> str:
    """A byte as a number, as a letter, and of which field it is."""
    said = f"byte {at}: {byte:02x} = {byte}"
    if 32 < byte < 127:
        said += f", “{chr(byte)}”"
    if part is not None:
        return f"{said} · {part.name}, {part.type}: {part.value}"
    return said if is_read else f"{said} · not read"


def _same(part: Part) -> str:
    """The name that the bytes of a field and its line share."""
    return f"field/{part.first}/{part.name}"


def _draw_section(d: Drawing, key: str, line: Line, box: Box) -> None:
    """Its name, or what is not read."""
    words = fit(line.section, box.w * LEAST_STRETCH, 12.5, bold=True)
    d.text(
        key,
        box.x,
        box.y + 12,
        words,
        "trouble" if line.number == END else "ink",
        size=12.5,
        bold=True,
    )


def _draw_field(d: Drawing, part: Part, number: int, box: Box, is_other: bool) -> None:
    """Its name, its type where there is room, and at the right its value."""
    key = f"field/{number}"
    look: Look = {
        "fill": "said" if is_other else "none",
        "r": 3,
        "tip": f"{part.bytes}: {part.name}, {part.type}: {part.value}",
        "same": _same(part),
        "grid": "fields",
    }
    d.rect(key, *box, **look)
    left = box.x + 6 + INDENT * (part.depth + 1)
    room = box.right - left - 6
    y = box.y + 12

    value = fit(part.value, room * 0.5 - 4, 12.5, mono=True)
    taken = text_width(value, 12.5, mono=True) / LEAST_STRETCH + 8
    for_name = room - taken
    whole = f"{part.name}  {part.type}"
    words: Look = {"ink": "quiet", "size": 12.5}
    if has_room(whole, for_name, 13):
        words["more"] = part.type
        name = part.name
    else:
        name = fit(part.name, for_name * LEAST_STRETCH, 12.5)
    d.text(f"{key}/name", left, y, name, "ink", **words)
    ink = "ink" if is_other else "quiet"
    d.number(f"{key}/value", box.right - 4, y, value, ink, bold=is_other)
