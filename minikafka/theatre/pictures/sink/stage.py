"""One moment of the sinks' picture: the log, the flags of what is committed, the
readers' processes and, under these, their sinks (play.py has the story's idea).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.drawing import Box, Drawing, Look, Part, Point, fitting, widest
from minikafka.theatre.pictures.sink.cast import (
    DONE,
    KILLED,
    LOST,
    Held,
    Member,
    Record,
    Row,
    orders,
)
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

LEFT, LEFT_NARROW = 124, 96  # where records begin, as the lanes do
PITCH, LEAST_PITCH = 64, 40  # from record to record
SQUARE, STEP = 30, 34  # of a record outside of the log, and to the next one
# in a sink, instead: on a phone, if it is one of two; and if several write to it
STEP_PHONE, STEP_SHARED = 28, 68
GAP = 10  # between things that are beside each other
ROW_Y, CELL, FLAG = 8, 30, 20  # of the log; of its records; of each group's flag
PROCESS, SINK, APART = 54, 92, 12  # heights, and what lies between
SUM = 22  # on a phone: the height of the sum below a sink's name
MOST_IN_HAND = 3
REACH = 17  # half the size of the cross through a dead process


class Actors(NamedTuple):
    """The readers, in the order of their colours."""

    members: Sequence[Member]

    @classmethod
    def of(cls, told: Sequence[Sequence[str]]) -> "Actors":
        return cls([Member(*each) for each in told])

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.members]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(member.group for member in self.members))

    def number(self, name: str) -> int:
        return actor_number(name, self.names)

    def colour_of_group(self, group: str) -> str:
        """The colour of a group with one member; larger groups have none."""
        names = [member.name for member in self.members if member.group == group]
        if len(names) == 1:
            return actor_colour(self.number(names[0]))
        return "ink"


class Stage:
    def __init__(
        self, d: Drawing, cast: Mapping[str, Any], space: Space, actors: Actors
    ) -> None:
        self.d = d
        self.part = cast["part"]
        self.notes = cast["notes"]
        self.space = space
        self.actors = actors
        self.records = [Record(*each) for each in space["records"]]
        self.left = LEFT_NARROW if d.narrow else LEFT
        # where name and sum have no room beside each other
        self.sum_line = SUM if d.phone and len(space["sinks"]) > 1 else 0
        room = d.width - self.left
        self.pitch = min(max(room / (cast["most"] + 1.5), LEAST_PITCH), PITCH)
        count = int(room // self.pitch) - 1
        begins = self.records[0].offset if self.records else 0
        self.end = self.records[-1].offset + 1 if self.records else 0
        self.first = max(self.end - count, begins)

    def draw(self) -> float:
        """Draw the stage. Returns the y at which it ends."""
        self._log()
        y = ROW_Y + CELL + 10
        for number, group in enumerate(self.actors.groups):
            self._flag(group, number, y)
            y += FLAG
        self.processes_y = y + 6
        for number, reader in enumerate(self.space["readers"]):
            self._process(reader, self._process_box(number))
        y = self.processes_y + PROCESS + APART
        sinks = self.space["sinks"]
        width = self._width(len(sinks))
        for number, sink in enumerate(sinks):
            box = Box(
                x=number * (width + GAP),
                y=y,
                w=width,
                h=SINK + self.sum_line,
            )
            self._sink(sink, box)
        return y + SINK + self.sum_line + 6

    def _width(self, count: int) -> float:
        """The width of this many beside each other."""
        gaps = GAP * max(count - 1, 0)
        return (self.d.width - gaps) / max(count, 1)

    def _process_box(self, number: int) -> Box:
        width = self._width(len(self.actors.members))
        return Box(
            x=number * (width + GAP),
            y=self.processes_y,
            w=width,
            h=PROCESS,
        )

    # -- Kafka

    def _place(self, offset: int) -> Box:
        """The box of a record in the log."""
        return Box(
            x=self.left + (offset - self.first) * self.pitch,
            y=ROW_Y,
            w=self.pitch - 5,
            h=CELL,
        )

    def _log(self) -> None:
        d = self.d
        look: Look = {
            "bold": True,
            "anchor": "end",
            "room": self.left - 14,
        }
        d.text(
            "log/name",
            self.left - 12,
            ROW_Y + 20,
            self.part,
            **look,
        )
        for record in self.records:
            if record.offset >= self.first:
                self._record(record)
        look = {
            "fill": "none",
            "line": "ink",
            "dash": "2 3",
        }
        end = self._place(self.end)
        d.cell("log/next", *end, **look)

    def _record(self, record: Record) -> None:
        offset = record.offset
        place = self._place(offset)
        look: Look = {
            "of": record.number,
            "same": f"order/{offset}",
            "tip": f"order {offset}: {record.value}",
            "from_y": -CELL,
        }
        self.d.cell(
            f"record/{offset}",
            *place,
            text=str(offset),
            **look,
        )

    def _flag(self, group: str, number: int, y: float) -> None:
        """Draw a group's position in Kafka: a line before the record to read next."""
        d = self.d
        offset = self.space["committed"].get(group)
        if offset is None or offset < self.first:
            return
        x = self._place(offset).x - 2.5 + number * 3
        d.upright(
            f"flag/{number}",
            x=x,
            top=ROW_Y - 4,
            bottom=y + 14,
            line=self.actors.colour_of_group(group),
            width=3,
        )
        words = f"{group} has committed {offset}"
        is_late = x + widest(words, 12, bold=True) + 8 > d.width
        look: Look = {
            "size": 12,
            "bold": True,
            "halo": "paper",
            "anchor": "end" if is_late else "start",
        }
        d.text(
            f"flag/{number}/words",
            x - 6 if is_late else x + 7,
            y + 12,
            words,
            **look,
        )

    # -- processes

    def _process(self, reader: Space, box: Box) -> None:
        name = reader["name"]
        is_away = bool(reader["life"])
        is_killed = reader["life"] == KILLED
        look: Look = {"fill": "wash", "line": "rule"}
        if is_away:
            look = {
                "fill": "paper",
                "line": "trouble",
                "width": 3,
                "dash": "7 4",
            }
        self.d.rect(f"reader/{name}", *box, r=8, **look)
        card = self.d.part(f"reader/{name}", box.x, box.y)
        middle = PROCESS / 2
        card.disc(
            "disc",
            x=22,
            y=middle,
            r=12,
            letter=name[:1].upper(),
            number=self.actors.number(name),
            size=13,
            fade=0.4 if is_killed else None,
        )
        if is_killed:
            _cross_out(card, Point(22, middle))
        hand = [Held(*each) for each in reader["hand"]][:MOST_IN_HAND]
        room = box.w - 50 - len(hand) * STEP
        card.text(
            "name",
            42,
            middle - 6,
            name,
            bold=True,
            room=room,
        )
        _tell_state(card, reader, room)
        for number, held in enumerate(hand):
            self._held(f"reader/{name}/hand", held, _in_hand(box, number))

    def _held(self, key: str, held: Held, box: Box) -> None:
        """An order in memory: to do, or done and not committed."""
        offset = held.offset
        look: Look = {
            "of": held.number,
            "same": f"order/{offset}",
            "tip": f"order {offset}, in memory: {held.state}",
            "fill": "good" if held.state == DONE else "paper",
            "line": "ink",
        }
        is_lost = held.state == LOST
        if is_lost:
            look |= {
                "line": "trouble",
                "ink": "trouble",
                "dash": "3 3",
                "width": 2,
            }
        if offset >= self.first:
            place = self._place(offset)
            look |= {"from_x": place.x, "from_y": place.y}
        self.d.cell(
            f"{key}/{offset}",
            *box,
            text=str(offset),
            **look,
        )
        if is_lost:
            begin = box.x + 3, box.bottom - 3
            end = box.right - 3, box.y + 3
            self.d.line(
                f"{key}/{offset}/gone",
                *begin,
                *end,
                line="trouble",
                width=2,
            )

    # -- sinks

    def _sink(self, sink: Space, box: Box) -> None:
        name = sink["name"]
        twice = sink["twice"]
        self.d.rect(
            f"sink/{name}",
            *box,
            fill="paper",
            line="ink",
            r=4,
            width=1.5,
        )
        card = self.d.part(f"sink/{name}", box.x, box.y)
        words = total(sink)
        look: Look = {
            "size": 15,
            "bold": True,
            "anchor": "end",
        }
        card.text(
            "sum",
            box.w - 10,
            21 + self.sum_line,
            words,
            "trouble" if twice else "ink",
            **look,
        )
        room = box.w - widest(words, 15, bold=True) - 26
        if self.sum_line:
            room = box.w - 20
        card.text(
            "name",
            10,
            20,
            name,
            bold=True,
            room=room,
        )
        if name in self.notes:
            noted = "none" if sink["noted"] is None else sink["noted"]
            words = f"done: {noted}" if card.phone else f"offset done: {noted}"
            card.chip("noted", 8, 67 + self.sum_line, words)
        card.lamp(
            "lamp",
            box.w - 8,
            67 + self.sum_line,
            f"{orders(twice)} twice" if twice else "each once",
            broken=bool(twice),
            anchor="end",
        )
        self._rows(sink, box)

    def _rows(self, sink: Space, box: Box) -> None:
        """Draw the rows that count, in the order of writing."""
        rows = [Row(*each) for each in sink["rows"]]
        count = sink["count"]
        step = self._step(sink["name"])
        has_room_for = int((box.w - 12) // step)
        key = f"sink/{sink['name']}"
        x = box.x + 8
        y = box.y + 31 + self.sum_line
        if count > has_room_for:
            # two places say how many there are before
            rows = rows[-(has_room_for - 2) :]
            self.d.left_out(
                f"{key}/more",
                x + step,
                y + 13,
                count - len(rows),
                tip="rows before",
            )
            x += 2 * step
        for number, row in enumerate(rows, count - len(rows)):
            place = Box(
                x,
                y,
                step - (STEP - SQUARE),
                SQUARE,
            )
            is_twice = row.offset in sink["twice"]
            by = f"by {row.writer[:1].upper()}" if self._is_shared(sink["name"]) else ""
            self._row(f"{key}/row/{number}", row, place, by, is_twice=is_twice)
            x += step

    def _step(self, sink: str) -> float:
        """From one row to the next."""
        if self._is_shared(sink):
            return STEP_SHARED
        return STEP_PHONE if self.sum_line else STEP

    def _is_shared(self, sink: str) -> bool:
        """Whether several readers write to it: then each row names its writer."""
        return [member.table for member in self.actors.members].count(sink) > 1

    def _row(self, key: str, row: Row, box: Box, by: str, *, is_twice: bool) -> None:
        """It comes out of its writer's hand. is_twice: its order is there again, or
        was there before.
        """
        column = self.actors.names.index(row.writer)
        hand = _in_hand(self._process_box(column), 0)
        look: Look = {
            "fill": "cell",
            "line": actor_colour(self.actors.number(row.writer)),
            "width": 2,
        }
        if is_twice:
            look |= {"line": "trouble", "width": 3}
        if row.times > 1:
            look = {
                "fill": "paper",
                "line": "trouble",
                "ink": "trouble",
                "width": 3,
            }
        look |= {
            "of": row.number,
            "same": f"order/{row.offset}",
            "tip": f"order {row.offset}, written by {row.writer}",
            "from_x": hand.x,
            "from_y": hand.y,
        }
        self.d.cell(
            key,
            *box,
            text=str(row.offset),
            more=by,
            **look,
        )


def _in_hand(box: Box, number: int) -> Box:
    """The place of an order in a process's memory."""
    return Box(
        x=box.right - 4 - (number + 1) * STEP,
        y=box.y + (PROCESS - SQUARE) / 2,
        w=SQUARE,
        h=SQUARE,
    )


def _cross_out(card: Part, at: Point) -> None:
    """Cross out a dead process."""
    left, right = at.x - REACH, at.x + REACH
    top, bottom = at.y - REACH, at.y + REACH
    look: Look = {"line": "trouble", "width": 4}
    card.line("cross/0", left, top, right, bottom, **look)
    card.line("cross/1", left, bottom, right, top, **look)


def _tell_state(card: Part, reader: Space, room: float) -> None:
    """Under a process's name what it is about."""
    is_away = bool(reader["life"])
    words = fitting(
        _states(reader),
        room - 10,
        12,
        bold=is_away,
    )
    y = PROCESS / 2
    if is_away:
        card.chip(
            "life",
            42,
            y + 1,
            words,
            fill="trouble",
            ink="paper",
        )
    else:
        card.note(
            "state",
            42,
            y + 13,
            words,
            size=12,
        )


def _states(reader: Space) -> list[str]:
    """A process's activity in words, the longest first."""
    if reader["life"] == KILLED:
        return ["killed: its memory is gone", KILLED]
    if reader["life"]:
        return [reader["life"]]
    hand = [Held(*each) for each in reader["hand"]]
    done = [held.offset for held in hand if held.state == DONE]
    if done and reader["refused"]:
        return [f"{orders(done)}: written, its commit refused", "commit refused"]
    if done:
        return [f"{orders(done)}: done, not committed", "not committed"]
    if hand:
        held = [held.offset for held in hand]
        return [f"has {orders(held)} in hand", "has it in hand"]
    return ["waits for an order", "waits"]


def total(sink: Space) -> str:
    """The sum of amounts, if rows have any."""
    return sink["sum"] or counted(sink["count"], "row")
