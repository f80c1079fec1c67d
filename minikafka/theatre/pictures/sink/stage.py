"""The sinks' picture above its lanes, as boxes: the log and what is committed, the
readers' processes and, under these, their sinks (play.py has the story's idea).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import (
    Item,
    Places,
    column,
    framed,
    lamp,
    part,
    row,
    space,
    words,
)
from minikafka.theatre.clock import SECOND_MS, in_short
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    Part,
    fitting,
    has_room,
    widest,
)
from minikafka.theatre.pictures.sink.cast import (
    DONE,
    KILLED,
    LOST,
    NEAR,
    Held,
    Member,
    Record,
    Row,
    orders,
)
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.text import counted

PITCH, LEAST_PITCH = 64, 40  # from record to record
SQUARE, STEP = 30, 34  # of a record outside of the log, and to the next one
LEAST_STEP, STEP_SHARED = 28, 68  # in a sink; where several write to it
# heights: of records, processes, the notes that they have read, and groups' flags
CELL, PROCESS, NOTE, FLAG = 30, 50, 24, 18
APART = 12  # from a caption to its records, with flags between them
CARD = 200  # least width
MOST_IN_HAND = 3
REACH = 17  # half the size of the cross through a dead process
MOST_OF_A_NAME = 170  # of a sink, in width


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

    def share(self, sink: str) -> bool:
        """Whether several of them write to a sink: then each row names its writer."""
        return [member.table for member in self.members].count(sink) > 1


class Columns(NamedTuple):
    """The places of the log's records: those from the first one on."""

    place: Box
    first: int
    pitch: float

    def box(self, offset: int) -> Box:
        x = self.place.x + (offset - self.first) * self.pitch
        return Box(x, self.place.y + 4, self.pitch - 5, CELL)


@dataclass
class SinkBoxes:
    """left: where records begin, behind the caption."""

    cast: Cast
    scenes: Sequence[Scene]
    actors: Actors
    left: float

    def whole(self) -> Item:
        members, sinks = self.actors.members, self._every("sinks")
        groups = range(len(self.actors.groups))
        return column(
            row(
                part("caption", self._caption, high=18, least=self.left),
                part("log", self._log, high=CELL + 8, least=5 * LEAST_PITCH, grow=1),
                breaks=False,
            ),
            *[part(f"flag {n}", self._flag(n), high=FLAG) for n in groups],
            row(*[self._process(n) for n in range(len(members))], gap=10),
            row(*[self._sink(n) for n in range(len(sinks))], gap=10),
            gap=4,
        )

    def _every(self, what: str) -> list[tuple[Space, ...]]:
        """What every scene has of each reader, or of each sink."""
        every = [scene["space"][what] for scene in self.scenes]
        return list(zip(*every, strict=True))

    # -- Kafka

    def _columns(self, places: Places, space: Space) -> Columns:
        """As many records as fit, up to the log's end and the place after it."""
        place = places["log"]
        records = [Record(*each) for each in space["records"]]
        pitch = min(max(place.w / (self.cast["most"] + 1.5), LEAST_PITCH), PITCH)
        begins = records[0].offset if records else 0
        count = int(place.w / pitch + 0.1) - 1
        return Columns(place, max(self._end(space) - count, begins), pitch)

    def _end(self, space: Space) -> int:
        records = space["records"]
        return Record(*records[-1]).offset + 1 if records else 0

    def _caption(self, d: Drawing, places: Places, scene: Scene) -> None:
        right = self.left - APART
        look: Look = {"bold": True, "anchor": "end", "room": right}
        d.text("log/name", right, places["caption"].y + 14, self.cast["part"], **look)

    def _log(self, d: Drawing, places: Places, scene: Scene) -> None:
        columns = self._columns(places, scene["space"])
        for record in (Record(*each) for each in scene["space"]["records"]):
            offset = record.offset
            if offset < columns.first:
                continue
            look: Look = {
                "of": record.number,
                "same": f"order/{offset}",
                "tip": f"order {offset}: {record.value}",
                "from_y": -CELL,
            }
            d.cell(f"record/{offset}", *columns.box(offset), str(offset), **look)
        end = columns.box(self._end(scene["space"]))
        d.cell("log/next", *end, fill="none", line="ink", dash="2 3")

    def _flag(self, number: int) -> Callable[[Drawing, Places, Scene], None]:
        """A group's position in Kafka: a line before the record to read next."""
        group = self.actors.groups[number]

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            offset = scene["space"]["committed"].get(group)
            columns = self._columns(places, scene["space"])
            if offset is None or offset < columns.first:
                return
            x = columns.box(offset).x - 2.5 + number * 3
            top, y = places["log"].y, places[f"flag {number}"].y
            line = self.actors.colour_of_group(group)
            key = f"flag/{number}"
            d.upright(key, x=x, top=top, bottom=y + 16, line=line, width=3)
            words = f"{group} has committed {offset}"
            right = has_room(words, d.width - x - 8, bold=True)
            look: Look = {"size": 12, "bold": True, "halo": "paper"}
            look["anchor"] = "start" if right else "end"
            d.text(f"{key}/words", x + 7 if right else x - 6, y + 14, words, **look)

        return draw

    # -- processes

    def _process(self, number: int) -> Item:
        """Its name and what it is about, what is in its memory, and the note that it has
        read.
        """
        member = self.actors.members[number]
        box, key = f"process {number}", f"reader/{member.name}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            reader = scene["space"]["readers"][number]
            place, inside = places[key], places[box]
            look: Look = {"fill": "wash", "line": "rule"}
            if reader["life"]:
                look = {"fill": "paper", "line": "trouble", "width": 3, "dash": "7 4"}
            d.rect(key, *place, r=8, **look)
            hand = [Held(*each) for each in reader["hand"]][:MOST_IN_HAND]
            card = d.part(key, inside.x, inside.y)
            room = inside.w - 50 - len(hand) * STEP
            is_killed = reader["life"] == KILLED
            colour = self.actors.number(member.name)
            letter = member.name[:1].upper()
            fade = 0.4 if is_killed else None
            card.disc("disc", 22, PROCESS / 2, 12, letter, colour, 13, fade=fade)
            if is_killed:
                _cross_out(card)
            card.text("name", 42, 21, member.name, bold=True, room=room)
            _tell_state(card, reader, room)
            columns = self._columns(places, scene["space"])
            for place_in_hand, held in enumerate(hand):
                _held(d, f"{key}/hand", held, _in_hand(inside, place_in_hand), columns)

        def note(d: Drawing, places: Places, scene: Scene) -> None:
            reader = scene["space"]["readers"][number]
            read, age_ms = reader["read"], scene["at"] - reader["read_ms"]
            if not read:
                return
            x, y, room, _ = places[f"{key}/note"]
            words = [f"has read: offset done: {read}", f"read: done: {read}"]
            if age_ms >= SECOND_MS:
                age = in_short(age_ms)
                words = [f"has read, {age} ago: offset done: {read}"]
                words += [f"{age} old: done: {read}", f"{age} old: {read}"]
            said = fitting(words, room - 58, bold=True) or words[-1]
            d.chip(f"{key}/note", x + 42, y, said)

        inside = [part(box, high=PROCESS)]
        if self.actors.share(member.table):  # who is alone has no old note
            inside.append(part(f"{key}/note", note, high=NOTE))
        return _card(framed(key, column(*inside), draw, pad=0))

    # -- sinks

    def _sink(self, number: int) -> Item:
        """Its name and its sum, the rows that count, and whether they are right."""
        every = self._every("sinks")[number]
        name = every[0]["name"]
        key = f"sink/{name}"
        sums = max(widest(total(sink), 15, bold=True) for sink in every)
        notes = [widest(words, 12, bold=True) + 10 for words in _noted(every[-1])]
        has_notes = name in self.cast["notes"]
        most = min(max(sink["count"] for sink in every), NEAR)

        def frame(d: Drawing, places: Places, scene: Scene) -> None:
            d.rect(key, *places[key], fill="paper", line="ink", r=4, width=1.5)

        def fault(told: Space) -> str:
            """Whether an order is there more than once."""
            doubled = twice(told)
            return f"{orders(doubled)} twice" if doubled else "each once"

        def twice(told: Space) -> list[int]:
            offsets: list[int] = told["sinks"][number]["twice"]
            return offsets

        def summed(d: Drawing, places: Places, scene: Scene) -> None:
            sink = scene["space"]["sinks"][number]
            place = places[f"{key}/sum"]
            ink = "trouble" if sink["twice"] else "ink"
            look: Look = {"size": 15, "bold": True, "anchor": "end"}
            d.text(f"{key}/sum", place.right, place.y + 15, total(sink), ink, **look)

        def noted(d: Drawing, places: Places, scene: Scene) -> None:
            x, y, room, _ = places[f"{key}/noted"]
            words = _noted(scene["space"]["sinks"][number])
            said = fitting(words, room - 6, bold=True) or words[-1]
            d.chip(f"{key}/noted/offset", x, y, said)
            for reader in scene["space"]["readers"]:
                note = places.get(f"reader/{reader['name']}/note")
                if note and reader["read"] and words[-1] != f"done: {reader['read']}":
                    begin, end = (max(note.x + 62, x + 20), note.y + 19), (x + 20, y)
                    old = f"reader/{reader['name']}/note/old"
                    d.line(old, *begin, *end, line="trouble", width=3)

        def rows(d: Drawing, places: Places, scene: Scene) -> None:
            sink = scene["space"]["sinks"][number]
            self._rows(d, places, sink, places[f"{key}/rows"], most)

        head = [words(f"{key}/name", name, most=MOST_OF_A_NAME, bold=True)]
        foot = [space(), lamp(f"{key}/lamp", self.scenes, fault, twice)]
        if has_notes:
            least, wanted = min(notes), max(notes)
            offset = part(f"{key}/noted", noted, high=19, least=least, wanted=wanted)
            if self.actors.share(name):  # right below a note that may be older
                head.append(offset)
            else:
                foot.insert(0, offset)
        inside = column(
            row(
                *head,
                space(),
                part(f"{key}/sum", summed, high=19, least=sums),
                gap=4,
            ),
            part(f"{key}/rows", rows, high=SQUARE + 2, least=4 * LEAST_STEP),
            row(*foot, gap=4),
            gap=4,
        )
        return _card(framed(key, inside, frame, pad=7))

    def _rows(
        self, d: Drawing, places: Places, sink: Space, place: Box, most: int
    ) -> None:
        """The rows that count, in the order of writing."""
        shared = self.actors.share(sink["name"])
        step = STEP_SHARED if shared else min(STEP, place.w / max(most, 1))
        step = max(step, LEAST_STEP)
        rows = [Row(*each) for each in sink["rows"]]
        count, room = sink["count"], int(place.w / step + 0.1)
        key = f"sink/{sink['name']}"
        x = place.x
        if count > room:
            # two places say how many there are before
            rows = rows[-(room - 2) :]
            left_out = count - len(rows)
            y = place.y + SQUARE / 2 - 2
            d.left_out(f"{key}/more", x + step, y, left_out, tip="rows before")
            x += 2 * step
        for number, each in enumerate(rows, count - len(rows)):
            box = Box(x, place.y + 1, step - (STEP - SQUARE), SQUARE)
            by = f"by {each.writer[:1].upper()}" if shared else ""
            hand = _in_hand(
                places[f"process {self.actors.names.index(each.writer)}"], 0
            )
            look = self._look_of_row(each)
            look |= {"from_x": hand.x, "from_y": hand.y}
            d.cell(f"{key}/row/{number}", *box, str(each.offset), by, **look)
            x += step

    def _look_of_row(self, row: Row) -> Look:
        colour = actor_colour(self.actors.number(row.writer))
        look: Look = {"fill": "cell", "line": colour, "width": 2}
        if row.times > 1:
            look |= {"fill": "paper", "line": "trouble", "ink": "trouble", "width": 3}
        return look | {
            "of": row.number,
            "same": f"order/{row.offset}",
            "tip": f"order {row.offset}, written by {row.writer}",
        }


def _card(item: Item) -> Item:
    """All of them are equally wide, processes and sinks."""
    return replace(item, least=CARD, wanted=CARD, grow=1)


def _in_hand(process: Box, number: int) -> Box:
    """The place of an order in a process's memory."""
    x = process.right - 4 - (number + 1) * STEP
    return Box(x, process.y + (PROCESS - SQUARE) / 2, SQUARE, SQUARE)


def _held(d: Drawing, key: str, held: Held, box: Box, columns: Columns) -> None:
    """An order in memory: to do, or done and not committed."""
    offset = held.offset
    look: Look = {
        "of": held.number,
        "same": f"order/{offset}",
        "tip": f"order {offset}, in memory: {held.state}",
        "fill": "good" if held.state == DONE else "paper",
        "line": "ink",
    }
    if held.state == LOST:
        look |= {"line": "trouble", "ink": "trouble", "dash": "3 3", "width": 2}
        begin, end = (box.x + 3, box.bottom - 3), (box.right - 3, box.y + 3)
        d.line(f"{key}/{offset}/gone", *begin, *end, line="trouble", width=2)
    if offset >= columns.first:
        place = columns.box(offset)
        look |= {"from_x": place.x, "from_y": place.y}
    d.cell(f"{key}/{offset}", *box, str(offset), **look)


def _cross_out(card: Part) -> None:
    """Cross out a dead process."""
    left, right = 22 - REACH, 22 + REACH
    top, bottom = PROCESS / 2 - REACH, PROCESS / 2 + REACH
    look: Look = {"line": "trouble", "width": 4}
    card.line("cross/0", left, top, right, bottom, **look)
    card.line("cross/1", left, bottom, right, top, **look)


def _tell_state(card: Part, reader: Space, room: float) -> None:
    """Under a process's name what it is about."""
    is_away = bool(reader["life"])
    words = fitting(_states(reader), room - 10, bold=is_away)
    if is_away:
        card.chip("life", 42, PROCESS / 2 + 1, words, fill="trouble", ink="paper")
    else:
        card.note("state", 42, PROCESS / 2 + 13, words, size=12)


def _noted(sink: Space) -> list[str]:
    """The offset that is stored there, the longer words first."""
    noted = "none" if sink["noted"] is None else sink["noted"]
    return [f"offset done: {noted}", f"done: {noted}"]


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
