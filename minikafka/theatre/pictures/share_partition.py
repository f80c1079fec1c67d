"""The share partition: one log, and what two groups make of it. Above, a share group
(KIP-932): each record has a state, and while a member has it, a lock that runs out.
Below, a consumer group: it has one offset, and what stands behind it waits.

Under both, on one axis of time, who worked on which record. Options: topic, partition,
group (the share group), beside (the consumer group). Without them: those that most is
told of.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.columns import Column
from minikafka.theatre.drawing import (
    NARROW,
    WIDE,
    Box,
    Drawing,
    Look,
    actor_colour,
    actor_number,
    fitting,
    has_room,
    ink_on_actor,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.share_partition_records import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    DONE,
    IN_HAND,
    seconds,
)
from minikafka.theatre.pictures.share_partition_story import SharePartitionStory
from minikafka.theatre.pictures.share_partition_time import Time, draw_time
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

LEFT = {WIDE: 124, NARROW: 96}  # where records and time begin
WIDEST, LEAST = 66, {WIDE: 44, NARROW: 34}  # from one record to the next
# y: of the log's cells, of what is above the share group's and of these, of the
# consumer group's
LOG, LOCK, SHARE, READ = 26, 76, 85, 158
LOG_CELL, CELL, BAR = 24, 28, 6  # heights
BEFORE = 2  # records that are drawn before the start offset, in a long log
COUNT, BELOW = 14, 30  # under a group's cells: deliveries, and where the group stands
TIME, TIME_ALONE = 206, 136


class Known(NamedTuple):
    """A record as the share group has it."""

    offset: int
    state: str
    who: str
    times: int
    until: int
    lock_ms: int
    number: int


class Handed(NamedTuple):
    """A record as the consumer group has it."""

    offset: int
    state: str
    who: str
    times: int
    number: int


class SharePartitionPlay(Play):
    story = SharePartitionStory
    foot = (
        "Colour: who has the record. The bar above is its lock, which runs out."
        " ✓ accepted, × archived, dashed: came back. Below: deliveries, and how many"
        " there may be."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        parts = [f"share group {self.cast['group']}"]
        if space["most_deliveries"]:
            parts.append(f"locks last {seconds(space['lock_ms'])}")
            parts.append(f"at most {space['most_deliveries']} deliveries")
        if self.cast["other"]:
            parts.append(f"consumer group {self.cast['other']}")
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        end = space["log_end"]
        shared, read = space["done"]
        start = space["start"]
        said = [f"log end offset {end}"]
        words = "not begun" if start is None else f"start offset {start}"
        said.append(f"share group {self.cast['group']}: {words}, {shared} done")
        for known in map(Known._make, space["shared"]):
            if known.state == ACQUIRED:
                said.append(f"{known.who} has {known.offset}, delivery {known.times}")
        if space["archived"]:
            said.append(f"{space['archived']} archived")
        if self.cast["other"]:
            committed = space["committed"]
            words = "nothing" if committed is None else str(committed)
            said.append(
                f"consumer group {self.cast['other']}: committed {words}, {read} done"
            )
        for member in space["members"]:
            if member["life"]:
                said.append(f"{member['name']} {member['life']}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.time = Time.of(scenes)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        self._lamps(d, space)
        rows = Rows(d, self.cast, space, scene["at"])
        rows.draw()
        top = TIME if self.cast["other"] else TIME_ALONE
        draw_time(d, top + BELOW, LEFT[d.width], self.cast, self.time, scene)

    def _lamps(self, d: Drawing, space: Space) -> None:
        """Whether anything went wrong so far."""
        archived = space["archived"]
        twice = space["twice"]
        x = float(d.width)
        words = f"{archived} archived" if archived else "none archived"
        x -= d.lamp("lamp/archived", x, 0, words, bool(archived), "end") + 8
        words = "accepted once each" if not twice else f"{twice} accepted twice"
        d.lamp("lamp/twice", x, 0, words, bool(twice), "end")


class Rows:
    """The log, and below each record what either group knows of it."""

    def __init__(self, d: Drawing, cast: Any, space: Space, now: int) -> None:
        self.d = d
        self.cast = cast
        self.space = space
        self.now = now
        self.left = LEFT[d.width]
        room = d.width - self.left - 2
        wanted = room / (cast["most"] + 1)
        self.pitch = min(max(wanted, LEAST[d.width]), WIDEST)
        self.columns = self._columns(round(room / self.pitch - 0.4) - 1)
        self.everybody = [*cast["sharing"], *cast["reading"]]

    def _columns(self, count: int) -> list[Column]:
        """The records that have a place: all, or those from a little before the start
        offset on; the others are counted.
        """
        end = self.space["log_end"]
        if end <= count:
            return [Column(offset, offset + 1) for offset in range(end)]
        shown = count - 2
        start = self.space["start"] or 0
        first = min(max(start - BEFORE, 0), end - shown)
        up_to = first + shown
        found = [Column(offset, offset + 1) for offset in range(first, up_to)]
        if first > 0:
            found.insert(0, Column(0, first))
        if up_to < end:
            found.append(Column(up_to, end))
        return found

    def draw(self) -> None:
        """From above to below."""
        self._names()
        shared = {known[0]: Known._make(known) for known in self.space["shared"]}
        read = {handed[0]: Handed._make(handed) for handed in self.space["read"]}
        values = {offset: each for offset, *each in self.space["log"]}
        for place, column in enumerate(self.columns):
            x = self.left + place * self.pitch
            offset = column.first
            if column.up_to - offset > 1 or offset not in values:
                self._left_out(place, x, column)
                continue
            self._written(x, offset, *values[offset])
            self._shared(x, shared.get(offset) or _new(offset))
            if self.cast["other"]:
                nobody = Handed(offset, "", "", 0, 0)
                self._read(x, read.get(offset) or nobody)
        end = self.space["log_end"]
        slot = self._box(self._x(end), LOG, LOG_CELL)
        self.d.slot("log/next", *slot, end)
        if self.space["start"] is not None:
            self._share_stands(self.space["start"])
        if self.cast["other"]:
            self._group_stands(self.space["committed"])

    def _names(self) -> None:
        """What the rows are."""
        d = self.d
        right = self.left - 8
        look: Look = {"anchor": "end", "room": right}
        d.text("name/log", right, LOG + 17, "the log", bold=True, **look)
        if self.space["log_end"]:
            d.note("name/offset", right, LOG + LOG_CELL + 14, "offset", **look)
        d.text("share/name", right, SHARE + 12, self.cast["group"], bold=True, **look)
        kind = fitting(["share group", "share"], right, 12.5)
        d.note("share/kind", right, SHARE + 26, kind, **look)
        if self.space["shared"]:
            d.note("share/counts", right, SHARE + CELL + COUNT, "deliveries", **look)
        if self.cast["other"]:
            name = self.cast["other"]
            d.text("read/name", right, READ + 12, name, bold=True, **look)
            kind = fitting(["consumer group", "consumer"], right, 12.5)
            d.note("read/kind", right, READ + 26, kind, **look)

    def _box(self, x: float, y: float, h: float) -> Box:
        return Box(x=x, y=y, w=self.pitch - 5, h=h)

    def _left_out(self, place: int, x: float, column: Column) -> None:
        """Records between others that have no place."""
        count = column.up_to - column.first
        tip = f"{counted(count, 'record')} not drawn"
        middle = x + (self.pitch - 5) / 2
        self.d.left_out(f"left-out/{place}", middle, SHARE + 12, count, tip=tip)

    def _written(
        self, x: float, offset: int, value: str, letter: str, number: int
    ) -> None:
        box = self._box(x, LOG, LOG_CELL)
        words = fitting([value, letter], box.w - 2, 12.5) if value else ""
        tip = f"offset {offset}: {value}" if value else f"offset {offset}"
        look: Look = {"tip": tip, "same": f"record/{offset}", "of": number}
        self.d.cell(f"log/{offset}", *box, more="", below=str(offset), **look)
        if words:
            middle = x + box.w / 2
            key = f"log/{offset}/value"
            self.d.text(key, middle, LOG + 16.5, words, size=12.5, anchor="middle")

    # -- the share group

    def _shared(self, x: float, known: Known) -> None:
        d = self.d
        key = f"share/{known.offset}"
        box = self._box(x, SHARE, CELL)
        actor = self._actor(known.who)
        is_past = known.offset < (self.space["start"] or 0)
        face = _face(known, actor, is_past)
        look: Look = {
            "fill": face.fill,
            "line": face.line,
            "ink": face.ink,
            "dash": face.dash,
            "width": 2,
            "of": known.number or None,
            "same": f"record/{known.offset}",
            "tip": self._told(known),
        }
        d.cell(key, *box, face.text, **look)
        if known.state == ACQUIRED and known.lock_ms:
            self._lock(key, x, known, actor)
        if known.times:
            self._count(key, box, known)

    def _told(self, known: Known) -> str:
        """A record in words."""
        words = known.state
        if known.state == ACQUIRED:
            left = max(known.until - self.now, 0) / 1000
            words = f"acquired by {known.who}, its lock lasts {left:.1f} s more"
        elif known.who:
            words = f"{known.state}, {known.who} had it last"
        if known.times:
            words += f", delivered {counted(known.times, 'time')}"
        return f"record {known.offset}: {words}"

    def _lock(self, key: str, x: float, known: Known, actor: int) -> None:
        """What is left of the time for which nobody else gets it."""
        whole = Box(x=x, y=LOCK, w=self.pitch - 5, h=BAR)
        part = max(known.until - self.now, 0) / known.lock_ms
        left = whole._replace(w=max(whole.w * part, 1))
        d = self.d
        d.rect(f"{key}/lock", *whole, fill="wash", line="rule", r=2)
        d.rect(f"{key}/lock/left", *left, fill=actor_colour(actor), r=2)

    def _count(self, key: str, box: Box, known: Known) -> None:
        """How often it was delivered."""
        most = self.space["most_deliveries"]
        words = str(known.times)
        whole = f"{known.times}/{most}"
        if most and has_room(whole, self.pitch, 12, mono=True):
            words = whole
        is_last = most and known.times >= most
        middle = box.x + box.w / 2
        look: Look = {"size": 12, "mono": True, "anchor": "middle"}
        ink = "trouble" if is_last else "quiet"
        bold = known.times > 1
        y = box.bottom + COUNT
        self.d.text(f"{key}/count", middle, y, words, ink, bold=bold, **look)

    def _share_stands(self, start: int) -> None:
        x = self._x(start)
        words = (f"start offset {start}", f"start {start}")
        self._stand("share/start", x, LOCK, SHARE + CELL, words)

    # -- the consumer group

    def _read(self, x: float, handed: Handed) -> None:
        d = self.d
        key = f"read/{handed.offset}"
        box = self._box(x, READ, CELL)
        actor = self._actor(handed.who)
        look: Look = {"fill": "cell", "line": "rule", "ink": "ink"}
        text = ""
        words = "waits"
        if handed.state == IN_HAND:
            colour = actor_colour(actor)
            look = {"fill": colour, "line": colour, "ink": ink_on_actor(actor)}
            text = _letter(handed.who)
            words = f"{handed.who} has it in hand"
        elif handed.state == DONE:
            look = {"fill": "good", "line": actor_colour(actor), "ink": "ink"}
            text = "✓"
            words = f"done by {handed.who}"
        elif handed.times:
            look = {"fill": "paper", "line": "quiet", "dash": "4 3"}
            words = f"{handed.who} had it, and it is not done"
        if handed.times > 1:
            words += f", handed over {handed.times} times"
        look |= {"width": 2, "of": handed.number or None}
        tip = f"record {handed.offset}: {words}"
        d.cell(key, *box, text, **look, same=f"record/{handed.offset}", tip=tip)
        if handed.times > 1:
            middle = box.x + box.w / 2
            look = {"size": 12, "mono": True, "anchor": "middle", "bold": True}
            y = box.bottom + COUNT
            d.text(f"{key}/count", middle, y, f"{handed.times}×", **look)

    def _group_stands(self, committed: int | None) -> None:
        """Where it goes on, and how many wait behind what is in hand."""
        offset = committed or 0
        in_hand = [
            handed.offset
            for handed in map(Handed._make, self.space["read"])
            if handed.state == IN_HAND
        ]
        place = "nothing committed" if committed is None else f"committed {committed}"
        words = [place]
        if in_hand:
            behind = self.space["log_end"] - in_hand[-1] - 1
            if behind > 0:
                verb = "waits" if behind == 1 else "wait"
                longer = f"{place}: {behind} {verb} behind record {in_hand[-1]}"
                words = [longer, f"{place}: {behind} {verb}", place]
                begin = self._x(in_hand[-1] + 1)
                end = self._x(self.space["log_end"]) - 5
                y = READ + CELL + 5
                self.d.level("read/waiting", begin, end, y, "quiet", width=2)
        x = self._x(offset)
        self._stand("read/committed", x, READ - 5, READ + CELL, words)

    # -- both

    def _stand(
        self, key: str, x: float, top: float, bottom: float, words: Sequence[str]
    ) -> None:
        """A heavy line before the first record that a group is not done with."""
        d = self.d
        line = x - 2.5
        d.upright(key, x=line, top=top, bottom=bottom + 19, line="ink", width=3)
        right = d.width - line - 8
        y = bottom + BELOW
        text = fitting(words[:1], right, 12.5, bold=True)
        look: Look = {"size": 12.5, "bold": True}
        if text:
            d.text(f"{key}/words", line - 1.5, y, text, **look)
            return
        text = fitting(words, line, 12.5, bold=True)
        d.text(f"{key}/words", line + 1.5, y, text, anchor="end", **look)

    def _x(self, offset: int) -> float:
        """Of a record, or of the place behind the last one."""
        for place, column in enumerate(self.columns):
            if offset < column.up_to:
                return self.left + place * self.pitch
        return self.left + len(self.columns) * self.pitch

    def _actor(self, name: str) -> int:
        if name not in self.everybody:
            return len(self.everybody)
        return actor_number(name, self.everybody)


class Face(NamedTuple):
    """How a record of the share group looks."""

    text: str
    fill: str
    line: str
    ink: str = "ink"
    dash: str | None = None


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
        return Face(_letter(known.who), colour, colour, ink_on_actor(actor))
    if known.times:
        return Face("", "paper", "ink", dash="4 3")
    return Face("", "cell", "rule")


def _new(offset: int) -> Known:
    """A record that nobody was ever given."""
    return Known(offset, "available", "", 0, 0, 0, 0)


def _letter(name: str) -> str:
    """One letter for a member: of its last word."""
    *_, last = name.replace("-", " ").split(" ")
    return last[:1].upper()
