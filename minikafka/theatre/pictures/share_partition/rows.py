"""The log, and below each of its records what either group knows of it: three rows, one
record in one column.
"""

from collections.abc import Sequence
from typing import NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number, ink_on_actor
from minikafka.theatre.columns import Column
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, has_room
from minikafka.theatre.pictures.share_partition.records import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    DONE,
    IN_HAND,
    letter_of,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted

WIDEST, LEAST = 66, 44  # from one record to the next
LEAST_FOR_ALL = 26  # as long as it allows for all records
GAP = 5  # between two cells
# y: of the log's cells, of the locks, of the share group's cells, of the other's
LOG, LOCK, SHARE, READ = 2, 45, 53, 117
LOG_CELL, CELL, BAR = 22, 26, 5  # heights
# under a group's cells: deliveries; the share group's position, and the other group's
COUNT, BELOW, BELOW_OTHER = 14, 28, 15
HIGH, HIGH_ALONE = 160, 112  # of all; without a consumer group
MARGIN = 24  # words from the ends of the page
BEFORE = 2  # records that are drawn before the start offset, in a long log
SMALL: Look = {"size": 12, "mono": True, "anchor": "middle"}


class Known(NamedTuple):
    """A record as the share group has it. times: how often it was delivered."""

    offset: int
    state: str
    who: str
    times: int
    until: int
    lock_ms: int
    number: int


class Handed(NamedTuple):
    """A record as the consumer group has it. times: how often it was handed over."""

    offset: int
    state: str
    who: str
    times: int
    number: int


class Written(NamedTuple):
    """A record of the log. short: of its value."""

    offset: int
    value: str
    short: str
    number: int


class Face(NamedTuple):
    """How a record looks to a group."""

    text: str
    fill: str
    line: str
    ink: str = "ink"
    dash: str | None = None


class Rows:
    """place: of the records; their captions are before it. now: ms."""

    def __init__(
        self,
        d: Drawing,
        cast: Cast,
        space: Space,
        now: int,
        place: Box,
    ) -> None:
        self.d = d
        top = place.y
        self.log = top + LOG
        self.lock = top + LOCK
        self.share = top + SHARE
        self.read = top + READ
        self.group: str = cast["group"]
        self.other: str = cast["other"]
        self.everybody = [*cast["sharing"], *cast["reading"]]
        self.space = space
        self.start: int = space["start"] or 0
        self.end: int = space["log_end"]
        self.now = now
        self.left = place.x
        # one is empty: the log's end
        for_all = min(place.w / (cast["most"] + 1), WIDEST)
        self.pitch = for_all if for_all >= LEAST_FOR_ALL else LEAST
        fits = int(place.w / self.pitch + 0.1)
        self.columns = self._columns(fits - 1)

    def _columns(self, count: int) -> list[Column]:
        """The records that have a place: all, or those from a little before the start
        offset on; the others are counted.
        """
        end = self.end
        if end <= count:
            return [Column(offset, offset + 1) for offset in range(end)]
        shown = count - 2
        first = max(self.start - BEFORE, 0)
        first = min(first, end - shown)
        up_to = first + shown
        found = [Column(offset, offset + 1) for offset in range(first, up_to)]
        if first > 0:
            found.insert(0, Column(0, first))
        if up_to < end:
            found.append(Column(up_to, end))
        return found

    def draw(self) -> None:
        """Draw the names of the rows, each record, and the groups' positions."""
        self._names()
        for place, column in enumerate(self.columns):
            if column.up_to - column.first > 1:
                self._left_out(place, column)

        shared = {known[0]: Known(*known) for known in self.space["shared"]}
        read = {handed[0]: Handed(*handed) for handed in self.space["read"]}
        for each in self.space["log"]:
            written = Written(*each)
            offset = written.offset
            if not self._has_place(offset):
                continue
            self._written(written)
            self._shared(shared.get(offset) or _new(offset))
            if self.other:
                self._read(read.get(offset) or _waiting(offset))

        end = self._box(self.end, self.log, LOG_CELL)
        self.d.slot("log/next", *end, self.end)
        if self.space["start"] is not None:
            self._share_group_stands()
        if self.other:
            self._consumer_group_stands()

    def _has_place(self, offset: int) -> bool:
        """Whether a record has a column to itself."""
        return Column(offset, offset + 1) in self.columns

    # -- places

    def _x(self, offset: int) -> float:
        """The x of a record, or of the place after the last one."""
        for place, column in enumerate(self.columns):
            if offset < column.up_to:
                return self.left + place * self.pitch
        return self.left + len(self.columns) * self.pitch

    def _box(self, offset: int, y: float, h: float) -> Box:
        """The place of a record in a row."""
        width = self.pitch - GAP
        return Box(x=self._x(offset), y=y, w=width, h=h)

    def _actor(self, name: str) -> int:
        """The number of a member's colour."""
        if name not in self.everybody:
            return len(self.everybody)
        return actor_number(name, self.everybody)

    # -- the log

    def _names(self) -> None:
        """Draw the names of the rows."""
        self._name("log", self.log + 16, "the log")
        if self.end:
            self._kind("log/offset", self.log + LOG_CELL + 14, "offset")
        self._name("share", self.share + 12, self.group)
        self._kind("share/kind", self.share + 26, "share group", "share")
        if self.space["shared"]:
            self._kind("share/counts", self.share + CELL + COUNT, "deliveries")
        if self.other:
            self._name("read", self.read + 12, self.other)
            self._kind("read/kind", self.read + 26, "consumer group", "consumer")

    def _name(self, key: str, y: float, words: str) -> None:
        right = self.left - 8
        look: Look = {"bold": True, "anchor": "end", "room": right}
        self.d.text(f"{key}/name", right, y, words, **look)

    def _kind(self, key: str, y: float, *words: str) -> None:
        right = self.left - 8
        fits = fitting(words, right, 12.5) or words[-1]
        self.d.note(key, right, y, fits, "end")

    def _left_out(self, place: int, column: Column) -> None:
        """Records between others that have no place."""
        count = column.up_to - column.first
        tip = f"{counted(count, 'record')} not drawn"
        box = self._box(column.first, self.share, CELL)
        middle = box.x + box.w / 2
        self.d.left_out(f"left-out/{place}", middle, self.share + 12, count, tip=tip)

    def _written(self, written: Written) -> None:
        """A record of the log, with its value where that has room."""
        offset = written.offset
        key = f"log/{offset}"
        box = self._box(offset, self.log, LOG_CELL)
        tip = f"offset {offset}"
        if written.value:
            tip += f": {written.value}"
        look: Look = {"tip": tip, "same": f"record/{offset}", "of": written.number}
        self.d.cell(key, *box, below=str(offset), **look)
        words = fitting([written.value, written.short], box.w - 2, 12.5)
        if words:
            middle = box.x + box.w / 2
            y = self.log + 15.5
            self.d.text(f"{key}/value", middle, y, words, size=12.5, anchor="middle")

    # -- the share group

    def _shared(self, known: Known) -> None:
        """A record by its state, with its lock and its deliveries."""
        offset = known.offset
        key = f"share/{offset}"
        box = self._box(offset, self.share, CELL)
        actor = self._actor(known.who)
        is_past = offset < self.start
        face = _face(known, actor, is_past)
        self._cell(key, box, face, offset, known.number, self._told(known))
        if known.state == ACQUIRED and known.lock_ms:
            self._lock(key, known, actor)
        if known.times:
            self._count(key, box, known.times)

    def _cell(
        self, key: str, box: Box, face: Face, offset: int, number: int, tip: str
    ) -> None:
        """number: of the event that told of it last, or 0."""
        self.d.cell(
            key,
            *box,
            face.text,
            fill=face.fill,
            line=face.line,
            ink=face.ink,
            dash=face.dash,
            width=2,
            of=number or None,
            same=f"record/{offset}",
            tip=f"record {offset}: {tip}",
        )

    def _left_ms(self, known: Known) -> int:
        """How long its lock lasts from now on."""
        return max(known.until - self.now, 0)

    def _told(self, known: Known) -> str:
        """The state of a record in words, for its tooltip."""
        words = known.state
        if known.state == ACQUIRED:
            left_s = self._left_ms(known) / 1000
            words += f" by {known.who}, its lock lasts {left_s:.1f} s more"
        elif known.who:
            words += f", {known.who} had it last"
        if known.times:
            words += f", delivered {counted(known.times, 'time')}"
        return words

    def _lock(self, key: str, known: Known, actor: int) -> None:
        """Draw the rest of the time for which nobody else gets the record."""
        whole = self._box(known.offset, self.lock, BAR)
        part = self._left_ms(known) / known.lock_ms
        left = whole._replace(w=max(whole.w * part, 1))
        colour = actor_colour(actor)
        self.d.rect(f"{key}/lock", *whole, fill="wash", line="rule", r=2)
        self.d.rect(f"{key}/lock/left", *left, fill=colour, r=2)

    def _count(self, key: str, box: Box, times: int) -> None:
        """How often it was delivered, and how often it may be."""
        most = self.space["most_deliveries"]
        words = str(times)
        whole = f"{times}/{most}"
        if most and has_room(whole, self.pitch, 12, mono=True):
            words = whole
        is_last = most and times >= most
        ink = "trouble" if is_last else "quiet"
        middle = box.x + box.w / 2
        y = box.bottom + COUNT
        is_again = times > 1
        self.d.text(f"{key}/count", middle, y, words, ink, bold=is_again, **SMALL)

    def _share_group_stands(self) -> None:
        """Draw the mark at the share group's start offset."""
        words = [f"start offset {self.start}", f"start {self.start}"]
        x = self._x(self.start)
        line = Line(x, self.lock - 2, self.share + CELL + BELOW)
        self._stand("share/start", line, words)

    # -- the consumer group

    def _read(self, handed: Handed) -> None:
        """A record by whether it is done, and how often it was handed over."""
        offset = handed.offset
        key = f"read/{offset}"
        box = self._box(offset, self.read, CELL)
        face = _face_of(handed, self._actor(handed.who))
        tip = _told_of(handed)
        if handed.times > 1:
            tip += f", handed over {handed.times} times"
        self._cell(key, box, face, offset, handed.number, tip)

    def _consumer_group_stands(self) -> None:
        """Draw where the consumer group goes on, and how many records wait behind the
        current one.
        """
        committed = self.space["committed"]
        place = "nothing committed"
        if committed is not None:
            place = f"committed {committed}"
        words = [place]

        last = None
        for handed in map(Handed._make, self.space["read"]):
            if handed.state == IN_HAND:
                last = handed
        if last is not None and last.offset + 1 < self.end:
            behind = self.end - last.offset - 1
            wait = "1 waits" if behind == 1 else f"{behind} wait"
            longer = f"{place}: {wait} behind record {last.offset}"
            words = [longer, f"{place}: {wait}", place]
            if last.times > 1:
                words.insert(0, f"{longer}, handed over {last.times} times")
            self._waiting(last.offset + 1)
        x = self._x(committed or 0)
        line = Line(x, self.read - 4, self.read + CELL + BELOW_OTHER)
        self._stand("read/committed", line, words)

    def _waiting(self, first: int) -> None:
        """A line under all that waits."""
        left = self._x(first)
        right = self._x(self.end) - GAP
        y = self.read + CELL + 3
        self.d.level("read/waiting", left, right, y, "quiet", width=2)

    # -- both

    def _stand(self, key: str, line: "Line", words: Sequence[str]) -> None:
        """A heavy line before the first record that a group is not done with. words:
        from the one that says most on; to its left where there is no room for that.
        """
        d = self.d
        x = line.x - 2.5
        d.upright(key, x=x, top=line.top, bottom=line.words - 12, line="ink", width=3)
        key += "/words"
        look: Look = {"size": 12.5, "bold": True}
        right = fitting(words, d.width - x - 8 - MARGIN, 12.5, bold=True)
        left = fitting(words, x - MARGIN, 12.5, bold=True)
        says_more = words.index(left or words[-1]) < words.index(right or words[-1])
        if left and (says_more or not right):
            d.text(key, x + 1.5, line.words, left, anchor="end", **look)
        else:
            d.text(key, x - 1.5, line.words, right or words[-1], **look)


class Line(NamedTuple):
    """The position of a group. words: the line in which it is named."""

    x: float
    top: float
    words: float


def _face(known: Known, actor: int, is_past: bool) -> Face:
    """By its state. is_past: the group has forgotten it."""
    colour = actor_colour(actor)
    if known.state == ARCHIVED:
        return Face("×", "paper", "trouble", "trouble", "4 3")
    if is_past:
        return Face("✓", "good", "rule", "quiet")
    if known.state == ACKNOWLEDGED:
        return Face("✓", "good", colour)
    if known.state == ACQUIRED:
        letter = letter_of(known.who)
        return Face(letter, colour, colour, ink_on_actor(actor))
    if known.times:
        return Face("", "paper", "ink", dash="4 3")
    return Face("", "cell", "rule")


def _face_of(handed: Handed, actor: int) -> Face:
    """By whether somebody has it, and whether it is done."""
    colour = actor_colour(actor)
    if handed.state == IN_HAND:
        letter = letter_of(handed.who)
        return Face(letter, colour, colour, ink_on_actor(actor))
    if handed.state == DONE:
        return Face("✓", "good", colour)
    if handed.times:
        return Face("", "paper", "quiet", dash="4 3")
    return Face("", "cell", "rule")


def _told_of(handed: Handed) -> str:
    """A record of the consumer group in words."""
    if handed.state == IN_HAND:
        return f"{handed.who} has it in hand"
    if handed.state == DONE:
        return f"done by {handed.who}"
    if handed.times:
        return f"{handed.who} had it, and it is not done"
    return "waits"


def _new(offset: int) -> Known:
    """A record that nobody was ever given."""
    return Known(
        offset=offset,
        state=AVAILABLE,
        who="",
        times=0,
        until=0,
        lock_ms=0,
        number=0,
    )


def _waiting(offset: int) -> Handed:
    """A record that nobody was handed yet."""
    return Handed(offset=offset, state="", who="", times=0, number=0)
