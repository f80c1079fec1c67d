"""The transaction timeline: the requests to the coordinator, its state, the partitions
with their markers and gates, and the records that two readers are given or wait for.

From top to bottom: the coordinator decides, producers ask it and write below
themselves, and their records go on to the readers. Option: transactional_id; without
it, the one with the most events.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.theatre.drawing import LEAST_STRETCH, Box, Drawing, Look, fit, widest
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.transaction.cast import READ_COMMITTED
from minikafka.theatre.pictures.transaction.log import MARKERS, Record
from minikafka.theatre.pictures.transaction.rows import (
    ABOVE,
    Columns,
    Sizes,
    draw_gate,
    draw_ground,
    draw_record,
)
from minikafka.theatre.pictures.transaction.story import (
    Asked,
    GroupOffset,
    TransactionStory,
)
from minikafka.theatre.pictures.transaction.time import burst, lanes
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted, key_part
from minikafka.theatre.time_lanes import TimeLanes

STATES = (
    ("Empty",),
    ("Ongoing",),
    ("PrepareCommit", "PrepareAbort"),
    ("CompleteCommit", "CompleteAbort"),
)
# on a phone: where the coordinator's name ends, and where the states begin
COORDINATOR, STATES_PHONE = 118, 2
# and where its first state is, above the others; this much lower than elsewhere
EMPTY_PHONE, MORE_PHONE = 18, 39
# of a producer; whatever else it may be is trouble
CHIPS = {"open": ("said", "ink"), "idle": ("chip", "ink"), "closed": ("chip", "ink")}
# ink of a group's offset by its state; else ink
OFFSET_INKS = {"pending": "quiet", "dropped": "trouble"}
# where they begin: producers, and the logs. Heights: of a partition, of its records, of
# a reader, of what it was handed
PRODUCERS, LOGS, LOG, CELL, READER, READ = 62, 104, 68, 30, 36, 26
LEFT, LEFT_NARROW = 132, 124  # where records begin
# from one record to the next, however short what they say: in a log, of what is read
PITCH, READ_PITCH = 84, 54
LAMP = "read_committed reads no aborted record"
WRITES = "Produce"  # the only request that the coordinator doesn't get


class TransactionPlay(Play):
    story = TransactionStory
    ms_a_second = 1000
    legend = "Outline: open. Filled: committed. Crossed out: aborted."
    rule = (
        "The gate stands at the last stable offset: readers of committed records get"
        " what is before it, but no aborted ones."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        if not space["state"]:
            return "the coordinator hasn't heard of it"
        offsets = _offset_words(space["offsets"]) if space["offsets"] else ""
        return dotted(space["state"], f"newest epoch {space['epoch']}", offsets)

    def summary(self, space: Space) -> str:
        said = [f"coordinator: {space['state'] or 'nothing yet'}"]
        for name, epoch, life in space["producers"]:
            if life:
                said.append(f"{name}: epoch {epoch}, {life}")
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            end = log["end"]
            last_stable = log["last_stable_offset"]
            said.append(
                f"{part}: log end offset {end}, last stable offset {last_stable}"
            )
        for (name, found), waits in zip(space["readers"], space["waits"], strict=True):
            values = [value for _, _, value, *_ in found]
            what = " ".join(values) or "nothing"
            waiting = f", {_waits_words(waits)}" if waits else ""
            said.append(f"{name} has read {what}{waiting}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        sizes = Sizes.of(scenes)
        self.most_read = sizes.most_read
        self.widest = sizes.widest_value + 20
        close = burst(scenes, self.time)
        self.time_lanes = TimeLanes(scenes, self.time, close)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        left = LEFT_NARROW if d.narrow else LEFT
        room = float(d.width)
        _coordinator(d, space, left)
        if not d.narrow:
            room -= self._lamp(d, space["readers"])
        least = 1 if d.phone else 2
        pitch = room / max(len(space["producers"]), least)
        self._producers(d, space, pitch, scene["number"])

        top = LOGS + _more(d)
        places = []
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            columns = Columns.of(
                d,
                left=left,
                most=self.cast["most"],
                end=log["end"],
                wanted=max(PITCH, self.widest),
                y=top + ABOVE,
                height=CELL,
            )
            places.append(columns)
            self._log(d, part, log, columns, pitch)
            top += LOG

        top += 6
        for side in range(len(space["readers"])):
            self._reader(d, space, side, Box(left, top, d.width - left, READ), places)
            top += READER
        rows = lanes(self.cast, scenes)
        self.time_lanes.draw(
            d,
            top - 4,
            rows,
            scene,
        )

    def _lamp(self, d: Drawing, readers: Sequence[Any]) -> float:
        """Draw the condition that must hold. Returns its width."""
        read = []
        for name, found in readers:
            if self.cast["levels"][name] == READ_COMMITTED:
                read += [state for _, _, _, _, state, _ in found]
        is_wrong = "aborted" in read
        return d.lamp("lamp", d.width, PRODUCERS + 3, LAMP, is_wrong, anchor="end")

    def _producers(self, d: Drawing, space: Space, pitch: float, now: int) -> None:
        """Beside each other, with what one of them asks just now."""
        asks = Asked(*space["asks"]) if space["asks"] else None
        for number, (name, epoch, life) in enumerate(space["producers"]):
            if not life:
                continue
            part = d.part(f"producer/{number}", number * pitch, PRODUCERS + _more(d))
            words = f"epoch {epoch}" if epoch >= 0 else "no epoch yet"
            _producer(part, number, name, life, words, pitch)
            if asks and asks.who == name and asks.number == now:
                _asks(part, asks)

    # -- the logs

    def _log(
        self,
        d: Drawing,
        part: str,
        log: Mapping[str, Any],
        columns: Columns,
        pitch: float,
    ) -> None:
        """pitch: from one producer to the next; their records come from them."""
        end = log["end"]
        stable = log["last_stable_offset"]
        is_shut = log["is_held"]
        joined = log["joined"]
        name = key_part(part)
        key = f"log/{name}"
        _label(d, key, part, columns.left, columns.y + (10 if joined else 19))
        if joined:
            right = columns.left - 10
            fill = "said" if joined == "joined" else "good"
            x = right - _chip_width(joined)
            d.chip(f"{key}/joined", x, columns.y + 16, joined, fill=fill)
        if is_shut:
            draw_ground(d, key, columns, stable, end)
        for each in log["records"]:
            record = Record(*each)
            if record.offset < columns.first:
                continue
            self._record(
                d,
                f"record/{name}",
                part,
                columns,
                record,
                pitch,
            )
        d.slot(f"{key}/next", *columns.box(end), end)
        draw_gate(d, key, columns, stable, is_shut=is_shut)

    def _record(
        self,
        d: Drawing,
        key: str,
        part: str,
        columns: Columns,
        record: Record,
        pitch: float,
    ) -> None:
        """A marker comes from the coordinator, a record from its producer."""
        actor = self._actor(record)
        box = columns.box(record.offset)
        from_x = float(columns.left)
        from_y = 0.0
        if record.state not in MARKERS:
            from_x = (actor or 0) * pitch
            from_y = float(PRODUCERS + _more(d))
        draw_record(
            d,
            f"{key}/{record.offset}",
            box,
            record,
            actor,
            part=part,
            below=str(record.offset),
            from_x=from_x,
            from_y=from_y,
        )

    def _actor(self, record: Record) -> int | None:
        producers = self.cast["producers_shown"]
        if record.producer not in producers:
            return None
        return int(producers.index(record.producer))

    # -- the readers

    def _reader(
        self,
        d: Drawing,
        space: Space,
        side: int,
        row: Box,
        places: Sequence[Columns],
    ) -> None:
        """Draw the records that it was given, in order, and the places of those it
        waits for.
        """
        name, found = space["readers"][side]
        waits = space["waits"][side]
        key = f"reader/{side}"
        level = self.cast["levels"][name]
        d.rect(key, x=row.x - 6, y=row.y - 3, w=row.w + 6, h=READ + 6, fill="wash", r=6)
        if d.narrow:
            level = level.removeprefix("read_")
        if name == level:  # who has its name says it
            _label(d, key, name, row.x, row.y + 17)
        else:
            _label(d, key, name, row.x, row.y + 9)
            _label(d, f"{key}/level", level, row.x, row.y + 24, is_plain=True)

        room = row.w - 64
        pitch = min(max(room / self.most_read, READ_PITCH), self.widest)
        count = max(int(room // pitch), 1)
        first = max(len(found) + len(waits) - count, 0)
        box = Box(row.x, row.y, pitch - 6, READ)
        for number, (place, *each) in enumerate(found[first:], first):
            record = Record(*each)
            part = self.cast["parts"][place]
            comes = places[place].box(record.offset)
            actor = self._actor(record)
            draw_record(
                d,
                f"{key}/{number}",
                box,
                record,
                actor,
                part=part,
                from_x=max(comes.x, row.x),
                from_y=comes.y,
            )
            box = box._replace(x=box.x + pitch)
        for place, offset in waits[-count:]:
            part = self.cast["parts"][place]
            _wait(d, f"{key}/waits/{place}/{offset}", box, part, offset)
            box = box._replace(x=box.x + pitch)
        if waits:
            words = _waits_words(waits)
            d.text(f"{key}/wait", box.x + 2, row.y + 18, words, size=12, bold=True)


def _wait(d: Drawing, key: str, box: Box, part: str, offset: int) -> None:
    """The place of a record that is there, and that a reader has not been handed."""
    tip = f"offset {offset} of {part}: not handed over yet"
    look: Look = {"dash": "3 3", "same": f"{part}/{offset}", "tip": tip}
    d.rect(key, *box, fill="hatch", line="quiet", r=5, fade=0.55, **look)


def _waits_words(waits: Sequence[Any]) -> str:
    count = len(waits)
    return "1 waits" if count == 1 else f"{count} wait"


def _label(
    d: Drawing, key: str, words: str, left: float, y: float, is_plain: bool = False
) -> None:
    """The name of a row, left of its records."""
    right = left - 10
    look: Look = {"anchor": "end", "room": right}
    if is_plain:
        d.note(f"{key}/name", right, y, words, size=12, **look)
    else:
        size = 12 if d.phone else 13
        d.text(f"{key}/name", right, y, words, bold=True, size=size, **look)


# -- the coordinator


def _coordinator(d: Drawing, space: Space, left: float) -> None:
    """The way of a transaction: one of two states in a column at the end, and where it
    is now.
    """
    base = 27
    x = left
    if d.phone:  # over the states, which take the whole width
        left, base, x = COORDINATOR, 12, STATES_PHONE
    top = _more(d)
    _label(d, "coordinator", "coordinator", left, base)
    now = space["state"]
    # on a narrow page there is no room beside the others for the one that is soon over
    shown = STATES[1:] if d.narrow else STATES
    if d.phone:
        _first_state(d, x, now)
    for column, states in enumerate(shown):
        wide = max(_state_width(d, state) for state in states)
        y = top + (13 if len(states) == 1 else 0)
        for state in states:
            box = Box(x=x, y=y, w=wide, h=20)
            _state(d, box, state, is_now=state == now)
            y += 26
        if column:
            key = f"state/arrow/{column}"
            y = top + 23
            d.arrow(key, x=x - 13, y=y, x2=x - 3, y2=y, line="rule", width=1.5)
        x += wide + 16
    if space["offsets"] and not d.narrow:
        words = _offset_words(space["offsets"])
        ink = OFFSET_INKS.get(GroupOffset(*space["offsets"]).state, "ink")
        room = d.width - x
        d.text("offsets", d.width, 40, words, ink, size=12, anchor="end", room=room)


def _first_state(d: Drawing, x: float, now: str) -> None:
    """On a phone: above the one that comes next."""
    [[first], [after], *_] = STATES
    wide = _state_width(d, after)
    box = Box(x=x, y=EMPTY_PHONE, w=wide, h=20)
    _state(d, box, first, is_now=first == now)
    middle = x + wide / 2
    ends: Look = {"y": box.bottom + 2, "y2": box.bottom + 12}
    d.arrow("state/arrow/0", x=middle, x2=middle, **ends, line="rule", width=1.5)


def _state(d: Drawing, box: Box, state: str, *, is_now: bool) -> None:
    fill = "wash"
    ink = "quiet"
    line = "rule"
    if is_now:
        fill = "said"
        ink = "ink"
        line = "ink"
        if "Abort" in state:
            fill = "trouble"
            ink = "paper"
        elif "Commit" in state:
            fill = "good"
    d.boxed(f"state/{state}", *box, state, fill=fill, ink=ink, line=line, bold=is_now)


def _offset_words(told: Sequence[Any]) -> str:
    """The offsets that a transaction commits for a group, and whether they count."""
    each = GroupOffset(*told)
    return f"group {each.group}: {each.part} at {each.offset}, {each.state}"


# -- producers


def _producer(
    part: Drawing, number: int, name: str, life: str, words: str, pitch: float
) -> None:
    """Its name, its epoch, and what has become of it."""
    letter = name[:1].upper()
    part.disc("disc", x=12, y=13, r=11, letter=letter, number=number, size=13)
    wide = _chip_width(life)
    epoch = widest(words, 12)
    room = max(pitch - 54 - wide - epoch, 20)
    shown = fit(name, room * LEAST_STRETCH, 13, bold=True)
    part.text("name", 30, 18, shown, bold=True)
    begin = 42 if part.phone else 38
    x = begin + min(widest(shown, 13, bold=True), room)
    part.note("words", x, 18, words, size=12)
    fill, ink = CHIPS.get(life, ("trouble", "paper"))
    part.chip("chip", x + epoch + 6, 4, life, fill=fill, ink=ink)


def _asks(part: Drawing, asks: Asked) -> None:
    """An arrow up to the coordinator, or down to where it writes."""
    begin, end, words = 0, -14, -4
    if asks.api == WRITES:
        begin, end, words = 27, 43, 40
    look: Look = {"of": asks.number, "width": 2}
    tip = f"{asks.api}, to {asks.of_whom}"
    part.arrow("asks", x=12, y=begin, x2=12, y2=end, line="ink", tip=tip, **look)
    part.text("asks/words", 24, words, asks.api, size=12, mono=True, of=asks.number)


def _state_width(d: Drawing, state: str) -> float:
    """Bold words are wide, and on a phone pages are narrow."""
    return _chip_width(state) + (22 if d.phone else 0)


def _more(d: Drawing) -> float:
    """How much lower all is that is below the coordinator's states."""
    return MORE_PHONE if d.phone else 0


def _chip_width(word: str) -> float:
    return widest(word, 12, bold=True) + 10
