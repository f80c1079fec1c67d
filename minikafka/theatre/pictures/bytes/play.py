"""Bytes beside their fields: a frame in hexadecimal, and the tree of fields that a
reader makes of it, with names, types and values by the schema.

Where each byte is flipped once, those that were keep a tint that says who noticed: at the
end that is a map, in which a line is around the bytes that the batch's CRC covers.

Hovering either marks the other, and so does the focus: arrow keys go from byte to byte
and from field to field. In a live picture two digits typed on a byte change it; in one
whose steps are flips (live="flips"), one for each byte, a click flips it. Where the
frame makes no sense any more the reading stops, and the bytes behind are left unread.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, column, part, row
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fit,
    fitting,
    has_room,
    text_width,
    widest,
)
from minikafka.theatre.pictures.bytes.story import (
    NOBODY,
    BytesStory,
    Part,
    part_at,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

MOST_BYTES, MOST_LINES = 320, 60
LABEL = 32  # left of a row's first byte
BYTE, LINE, CHIP = 18, 16, 22  # heights of a row of bytes, of a field, of a chip
# bytes in a row, the widest first, and how wide each of them is at least
IN_A_ROW, LEAST = (16, 12, 8), 26
LEAST_OF_TREE, TWO_COLUMNS = 420, 480  # width
INDENT = 9
GAP, WIDEST = 14, 420  # between columns of fields; width of one
END = 0  # the number of the line that says what is not read
CRC = "CRC"  # the field; it covers all bytes behind it
# who noticed that a byte was changed: its tint, and its name in the legend
TINTS = {
    "the broker": ("good", "ink", "the broker"),
    "the client": ("saidline", "ink", "only the client"),
    NOBODY: ("trouble", "paper", NOBODY),
}
FEW = 16  # lines that fit into one column
READ_ONLY = "read-only here: you can change bytes in the lesson's notebook"
HOW_TO = {
    True: "click a byte, or go there with the arrow keys, and type two hex digits",
    "flips": "click one: its last bit flips",
}


class Line(NamedTuple):
    """One line of the tree: a section's name, or a field. number: of the field."""

    section: str
    number: int = -1
    part: Part | None = None


class BytesPlay(Play):
    """A frame twice: as bytes and as fields."""

    story = BytesStory
    legend = "Hover over a byte or a field to see which ones belong together."

    def scenario(self, scene: Scene) -> str:
        size = len(scene["space"]["data"]) // 2
        return dotted(
            counted(size, "byte"), HOW_TO.get(self.cast.get("live"), READ_ONLY)
        )

    def summary(self, space: Space) -> str:
        told = []
        for each in _parts(space)[:MOST_LINES]:
            told.append(f"{each.name} {each.value}")
        unread = _unread(space)
        if unread:
            told.append(unread)
        return ", ".join(told) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """The longest tree decides how its columns are cut."""
        size = len(self.cast["sent"]) // 2
        self.shown = min(size, MOST_BYTES)
        trees = [len(_lines(scene["space"])) for scene in scenes]
        most = max(trees, default=0)
        self.lines = min(most, MOST_LINES)
        self.has_more = most > MOST_LINES
        self.columns = 1 if most <= FEW else 2
        least = LABEL + IN_A_ROW[-1] * LEAST
        frame = part("bytes", self._bytes, high=self._high, least=least, grow=1)
        changes = any(scene["space"]["changed"] for scene in scenes)
        lamp = part("lamp", self._lamp, high=25 if changes else 0)
        if self.cast["flips"]:
            found = map(self._found, range(len(TINTS)), TINTS)
            covered = part("covered", self._says_covered, high=CHIP)
            whose = row(*found, gap=10, line_gap=0)
            lamp = column(replace(whose, wanted=0), covered)  # better in two lines
        tree = part(
            "tree",
            self._tree,
            high=self._high_tree,
            least=LEAST_OF_TREE,
            grow=4,
        )
        self.boxes = Stage(row(column(frame, lamp), tree, gap=18, line_gap=8, lower=0))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _columns(self, width: float) -> int:
        """As many as have room for a name and its value."""
        return self.columns if width >= TWO_COLUMNS else 1

    def _high_tree(self, width: float) -> float:
        lines = -(-self.lines // self._columns(width))
        return (lines + self.has_more) * LINE

    def _high(self, width: float) -> float:
        more = BYTE if 2 * self.shown < len(self.cast["sent"]) else 0
        return -(-self.shown // _in_a_row(width)) * BYTE + more

    def _bytes(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The frame, row by row."""
        space, place = scene["space"], places["bytes"]
        data = bytes.fromhex(space["data"])
        parts = _parts(space)
        a_row = _in_a_row(place.w)
        pitch = (place.w - LABEL) / a_row
        for at, byte in enumerate(data[: self.shown]):
            line, across = divmod(at, a_row)
            x, y = place.x + LABEL + across * pitch, place.y + line * BYTE
            if not across:
                d.note(f"at/{at}", place.x, y + 12, f"{at:03}", size=12, mono=True)
            number = _number_at(parts, at)
            found = None if number is None else parts[number]
            look = self._look(space, at, number, found)
            look["tip"] = _tip(at, byte, found, at < space["end"])
            d.rect(f"byte/{at}", x, y, pitch - 2, BYTE - 2, **look)
            ink = "gone" if found is None else "ink"
            if look["fill"] == "trouble":
                ink = "paper"
            look = {"size": 12.5, "mono": True, "anchor": "middle"}
            look["bold"] = at in self._changed(space)
            middle = x + pitch / 2 - 1
            d.text(f"byte/{at}/hex", middle, y + 12, f"{byte:02x}", ink, **look)
        more = len(data) - self.shown
        if more:
            words = f"and {more} more bytes"
            d.note("more", place.x + LABEL, place.bottom - 6, words)
        if self.cast["flips"]:
            self._covered(d, place, a_row, _covered_from(parts))

    def _covered(self, d: Drawing, place: Box, a_row: int, first: int | None) -> None:
        """A line above the bytes that the CRC covers, and beside them."""
        if first is None:
            return
        line, across = divmod(first, a_row)
        left = place.x + LABEL + across * (place.w - LABEL) / a_row - 1
        top = place.y + line * BYTE - 1
        foot = place.y + -(-self.shown // a_row) * BYTE - 1
        right = place.right + 2
        look: Look = {"line": "ink", "width": 2}
        d.upright("covered/begin", left, top, top + BYTE, **look)
        d.level("covered/above", left, right, top, **look)
        d.upright("covered/beside", right, top, foot, **look)

    def _lamp(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Says what notices the change, or that nobody does."""
        space, place = scene["space"], places["lamp"]
        if space["changed"]:
            by = space["by"]
            fill, ink, _ = TINTS[by]
            d.chip("lamp", place.x, place.y + 6, f"{by} notices", fill, ink)

    def _found(self, line: int, by: str) -> Item:
        """Where each byte is changed once: of how many bytes that is noticed."""
        fill, ink, name = TINTS[by]
        key = f"found/{line}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            space, place = scene["space"], places[key]
            count = str(sum(each == by for _, each in space["tried"]))
            wide = d.chip(key, place.x, place.y + 3, count.rjust(3), fill, ink)
            is_it = bool(space["changed"]) and by == space["by"]
            if self._is_whole(space):
                is_it = by == NOBODY
            look: Look = {"size": 12.5, "bold": is_it}
            d.text(f"{key}/by", place.x + wide + 8, place.y + 17, name, **look)

        wide = widest("123", 12, bold=True) + 18 + widest(name, 12.5, bold=True)
        return part(key, draw, high=CHIP, least=wide)

    def _says_covered(self, d: Drawing, places: Places, scene: Scene) -> None:
        """What the line around bytes means; at the end, how many of those that nobody
        noticed are in it.
        """
        space, place = scene["space"], places["covered"]
        first = _covered_from(_parts(space))
        if first is None:
            return
        ways = [f"in the line: the {self.shown - first} bytes that the CRC covers"]
        ways.append("in the line: what the CRC covers")
        if self._is_whole(space):
            missed = _missed(space)
            inside = sum(at >= first for at in missed)
            those = f"{inside or 'none'} of the {len(missed)}"
            ways = [f"in the line, which the CRC covers: {those}"]
            ways.append(f"in the line (CRC): {those}")
        said = fitting(ways, place.w, 12)
        d.note("covered/words", place.x, place.y + 15, said, size=12)

    def _changed(self, space: Space) -> Sequence[int]:
        """The bytes that stand out: at the end of a map none does."""
        is_map = self.cast["flips"] and self._is_whole(space)
        return () if is_map else space["changed"]

    def _is_whole(self, space: Space) -> bool:
        """Whether each byte was changed once."""
        return len(space["tried"]) == len(self.cast["sent"]) // 2

    def _look(
        self, space: Space, at: int, number: int | None, part: Part | None
    ) -> Look:
        """The bytes of a field have one shade, and neighbours another. number: of the
        field.
        """
        look: Look = {"fill": "paper", "line": "rule", "dash": "3 3", "r": 3}
        look["grid"] = "bytes"
        if number is not None and part is not None:
            look["fill"] = "cell" if number % 2 else "wash"
            look["dash"] = None
            look["same"] = _same(part)
        tried = dict(space["tried"]) if self.cast["flips"] else {}
        if at in tried:
            look["fill"], *_ = TINTS[tried[at]]
        elif at in space["changed"]:
            look["fill"] = "said"
        if at in self._changed(space):
            look["line"] = "ink"
            look["width"] = 2 if at == space["at"] else None
        live = self.cast.get("live")
        if live == "flips":  # a second click takes it back
            look["act"] = f"step {0 if at == space['at'] else at + 1}"
        elif live:
            look |= {"act": f"byte {at}", "digits": 2}
        return look

    def _tree(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The fields, in one column or two."""
        space, place = scene["space"], places["tree"]
        lines = _lines(space)
        columns = self._columns(place.w)
        in_a_column = -(-self.lines // columns)
        wide = (place.w - GAP * (columns - 1)) / columns
        wide = min(wide, WIDEST)
        is_whole = self._is_whole(space)
        for number, line in enumerate(lines[:MOST_LINES]):
            across, down = divmod(number, in_a_column)
            x, y = place.x + across * (wide + GAP), place.y + down * LINE
            box = Box(x, y, wide, LINE - 1)
            if line.part is None:
                _draw_section(d, f"section/{number}", line, box)
            else:
                mark: tuple[str, ...] = ()
                if is_whole:
                    missed = line.part.among(_missed(space))
                    mark = ("trouble", "paper") if missed else ()
                elif line.number in space["other"]:
                    mark = ("said", "ink")
                _draw_field(d, line.part, line.number, box, *mark)
        more = len(lines) - MOST_LINES
        if more > 0:
            y = place.y + in_a_column * LINE
            d.note("tree/more", place.x, y + 12, f"and {more} more lines")


def _covered_from(parts: Sequence[Part]) -> int | None:
    """The first byte that the batch's CRC covers, if there is one."""
    return next((part.end for part in parts if part.name == CRC), None)


def _in_a_row(width: float) -> int:
    """As many bytes as have room beside each other."""
    possible = [count for count in IN_A_ROW if LABEL + count * LEAST <= width]
    return max(possible, default=IN_A_ROW[-1])


def _parts(space: Space) -> list[Part]:
    return [Part(*given) for given in space["parts"]]


def _missed(space: Space) -> list[int]:
    """The bytes that were changed, and nobody noticed."""
    return [at for at, by in space["tried"] if by == NOBODY]


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


def _lines(space: Space) -> list[Line]:
    """The tree, line by line."""
    lines = []
    section = ""
    for number, each in enumerate(_parts(space)):
        if each.section != section:
            section = each.section
            lines.append(Line(section))
        lines.append(Line(section, number, each))
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


def _draw_field(
    d: Drawing, part: Part, number: int, box: Box, fill: str = "none", ink: str = ""
) -> None:
    """Its name, its type where there is room, and at the right its value. ink: of a
    field that is marked.
    """
    key = f"field/{number}"
    look: Look = {
        "fill": fill,
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
    words: Look = {"ink": ink or "quiet", "size": 12.5}
    if has_room(f"{whole}  ", for_name, 13):
        words["more"] = part.type
        name = part.name
    else:
        name = fit(part.name, for_name * LEAST_STRETCH, 12.5)
    d.text(f"{key}/name", left, y, name, ink or "ink", **words)
    d.number(f"{key}/value", box.right - 4, y, value, ink or "quiet", bold=bool(ink))
