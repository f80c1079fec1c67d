"""The transaction timeline: who asks what of the coordinator, in which state that is,
the partitions with their markers and last stable offsets, and what two readers are
handed, side by side.

A record has the colour of its producer: an outline while its transaction is open,
filled when that is committed, crossed out when it is aborted. It keeps its place in the
log whatever happens. Option: transactional_id; without it, the one that most is told
of.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    COLOURS,
    LEAST_STRETCH,
    Box,
    Drawing,
    actor_colour,
    fit,
    has_room,
    text_width,
    widest,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.transaction_log import Record
from minikafka.theatre.pictures.transaction_story import (
    READ_COMMITTED,
    Asked,
    GroupOffset,
    TransactionStory,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted, key_part

STATES = (
    ("Empty",),
    ("Ongoing",),
    ("PrepareCommit", "PrepareAbort"),
    ("CompleteCommit", "CompleteAbort"),
)
# of a producer; whatever else it may be is trouble
CHIPS = {"open": ("said", "ink"), "idle": ("chip", "ink")}
# ink of a group's offset by its state; else ink
OFFSET_INKS = {"pending": "quiet", "dropped": "trouble"}
# heights: of states, a producer, a row, its records, what is read
HEAD, CARD, LOG, CELL, READ = 52, 52, 62, 30, 24
LEFT, LEAST_PITCH, GAP = 128, 44, 10  # LEFT: where records begin
# from one record to the next, however short what they say: in a log, of what is read
PITCH, READ_PITCH = 84, 54


class Columns(NamedTuple):
    """The places of a log's records. first: the first offset that has one."""

    first: int
    pitch: float
    y: float

    @classmethod
    def of(
        cls, d: Drawing, most: int, end: int, y: float, widest_text: float
    ) -> "Columns":
        """most: records of the longest log ever; end: this one's end offset.
        widest_text: what the longest value takes.
        """
        room = d.width - LEFT
        wanted = max(PITCH, widest_text)
        pitch = min(max(room / (most + 1), LEAST_PITCH), wanted)
        count = int(room // pitch) - 1
        return cls(max(end - count, 0), pitch, y)

    def box(self, offset: int) -> Box:
        x = LEFT + (offset - self.first) * self.pitch
        return Box(x=x, y=self.y, w=self.pitch - 5, h=CELL)


class Sizes(NamedTuple):
    """Of a whole play. most_read: records that one reader has in the end, one at
    least. widest_value: of a record, in units.
    """

    most_read: int
    widest_value: float

    @classmethod
    def of(cls, scenes: Sequence[Scene]) -> "Sizes":
        values = [""]
        most_read = 1
        for scene in scenes:
            for log in scene["space"]["logs"]:
                values += [Record(*each).text for each in log["records"]]
            for _, found in scene["space"]["readers"]:
                most_read = max(most_read, len(found))
        longest = max(values, key=len)
        return cls(most_read, widest(longest, 13.5, mono=True, bold=True))


class TransactionPlay(Play):
    story = TransactionStory
    ms_a_second = 1000
    foot = (
        "Outline: open. Filled: committed. Crossed out: aborted. The heavy line is the"
        " last stable offset: readers of committed records get what is before it,"
        " without the aborted."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        if not space["state"]:
            return "the coordinator has not heard of it"
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
        for name, found in space["readers"]:
            values = [value for _, _, value, *_ in found]
            what = " ".join(values) or "nothing"
            said.append(f"{name} has read {what}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        sizes = Sizes.of(scenes)
        self.most_read = sizes.most_read
        self.widest = sizes.widest_value + 20

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scenes[-1]["space"]
        right = _states(d, space["state"])
        if not d.narrow:
            self._lamp(d, space["readers"])
            if space["offsets"]:
                _offsets(d, space["offsets"], right)
        self._producers(d, space, HEAD + GAP, scene["number"])

        top = HEAD + CARD + 2 * GAP + 4
        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            self._log(d, part, log, top)
            top += LOG

        self._readers(d, space["readers"], top)
        if self.cast["levels"]:
            top += READ + 36
        self.lanes.draw(d, top, self._lanes(space), scene["step"])

    def _lamp(self, d: Drawing, readers: Sequence[Any]) -> None:
        read = []
        for name, found in readers:
            if self.cast["levels"][name] == READ_COMMITTED:
                read += [state for _, _, _, _, state, _ in found]
        is_wrong = "aborted" in read
        words = "read_committed reads no aborted record"
        d.lamp("lamp", d.width, 1, words, is_wrong, anchor="end")

    def _producers(self, d: Drawing, space: Space, y: float, now: int) -> None:
        producers = space["producers"]
        asks = Asked(*space["asks"]) if space["asks"] else None
        count = max(len(producers), 2)
        wide = (d.width + GAP) / count - GAP
        pitch = wide + GAP
        for number, (name, epoch, life) in enumerate(producers):
            if not life:
                continue
            words = "no epoch yet"
            if epoch >= 0:
                words = f"epoch {epoch}"
            if asks and asks.who == name and asks.number == now:
                words += f": {asks.api}"
            box = Box(x=number * pitch, y=y, w=wide, h=CARD)
            _producer(d, number, name, life, words, box)

    def _log(self, d: Drawing, part: str, log: Mapping[str, Any], y: float) -> None:
        end = log["end"]
        last_stable = log["last_stable_offset"]
        joined = log["joined"]
        name = key_part(part)
        key = f"log/{name}"
        columns = Columns.of(d, self.cast["most"], end, y, self.widest)
        right = LEFT - 10
        room = LEFT - 12
        d.text(key + "/name", right, y + 14, part, bold=True, anchor="end", room=room)
        if joined:
            left = right - _chip_width(joined)
            fill = "said" if joined == "joined" else "chip"
            d.chip(key + "/joined", left, y + 20, joined, fill=fill)

        for each in log["records"]:
            record = Record(*each)
            offset = record.offset
            if offset >= columns.first:
                key_of_record = f"record/{name}/{offset}"
                box = columns.box(offset)
                self._record(d, key_of_record, box, part, record, below=str(offset))

        d.slot(key + "/next", *columns.box(end), end)
        if last_stable >= columns.first:
            d.upright(
                key + "/last-stable",
                x=columns.box(last_stable).x - 2.5,
                top=y - 6,
                bottom=y + CELL + 6,
                line="ink",
                width=3,
            )

    def _readers(self, d: Drawing, readers: Sequence[Any], y: float) -> None:
        """What each was handed, in its order: side by side."""
        wide = d.width / 2 - GAP / 2
        for side, (name, found) in enumerate(readers):
            key = f"reader/{side}"
            level = self.cast["levels"][name]
            box = Box(x=side * (wide + GAP), y=y, w=wide, h=READ + 30)
            d.rect(key, *box, fill="wash", r=8)
            right = box.right - 8
            d.note(key + "/level", right, y + 17, level, anchor="end", size=12)
            room = (wide - 24) * LEAST_STRETCH - text_width(level, 12)
            shown = fit(name, room, 13, bold=True)
            d.text(key + "/name", box.x + 10, y + 17, shown, bold=True)
            self._what_was_read(d, key, box, found)

    def _what_was_read(
        self, d: Drawing, key: str, box: Box, found: Sequence[Any]
    ) -> None:
        """The latest records of a reader."""
        room = box.w - 16
        pitch = min(max(room / self.most_read, READ_PITCH), self.widest)
        columns = max(int(room // pitch), 1)
        first = max(len(found) - columns, 0)
        cell = Box(x=box.x + 8, y=box.y + 24, w=pitch - 4, h=READ)
        for number, (place, *each) in enumerate(found[first:], first):
            part = self.cast["parts"][place]
            record = Record(*each)
            self._record(d, f"{key}/{number}", cell, part, record)
            cell = cell._replace(x=cell.x + pitch)

    def _record(
        self,
        d: Drawing,
        key: str,
        box: Box,
        part: str,
        record: Record,
        below: str = "",
    ) -> None:
        """A record by what became of its transaction."""
        state = record.state
        offset = record.offset
        producers = self.cast["producers_shown"]
        actor = None
        if record.producer in producers:
            actor = producers.index(record.producer)
        text = record.text
        is_marker = state in ("COMMIT", "ABORT")
        if is_marker and not has_room(text, box.w - 8, 13.5, mono=True):
            text = text[:1]
        room = (box.w - 8) * LEAST_STRETCH
        shown = fit(text, room, 13.5, mono=True, bold=True)
        d.cell(
            key,
            *box,
            shown,
            below=below,
            width=2,
            of=record.number,
            same=f"{part}/{offset}",
            tip=f"offset {offset} of {part}: {state or 'of no transaction'}",
            **look_of(state, actor)._asdict(),
        )
        if state == "aborted":
            begin = (box.x + 3, box.bottom - 3)
            end = (box.right - 3, box.y + 3)
            d.line(key + "/cross", *begin, *end, line="trouble", width=2)

    def _lanes(self, space: Space) -> list[Lane]:
        lanes = []
        for number, (name, epoch, life) in enumerate(space["producers"]):
            words = f"epoch {epoch}" if epoch >= 0 else ""
            shown = name if life else ""
            is_late = life in ("zombie", "fenced")
            colour = actor_colour(number)
            lanes.append(
                Lane(
                    key=f"producer {name}",
                    name=shown,
                    colour=colour,
                    number=words,
                    trouble=is_late,
                )
            )

        epoch = f"epoch {space['epoch']}" if space["state"] else ""
        lanes.append(Lane(key="coordinator", name="state", colour="ink", number=epoch))

        for part, log in zip(self.cast["parts"], space["logs"], strict=True):
            words = f"LSO {log['last_stable_offset']}"
            lanes.append(
                Lane(key=f"log {part}", name=part, colour="quiet", number=words)
            )

        for name, found in space["readers"]:
            lanes.append(
                Lane(
                    key=f"reader {name}",
                    name=name,
                    colour="gone",
                    number=f"{len(found)} read",
                )
            )

        return lanes


# -- the coordinator


def _states(d: Drawing, now: str) -> float:
    """The way of a transaction: one of two columns at the end, and where it is now.
    Returns where they end.
    """
    x = 0.0
    for column, states in enumerate(STATES):
        wide = max(_chip_width(state) for state in states)
        y = 13 if len(states) == 1 else 0
        for state in states:
            box = Box(x=x, y=y, w=wide, h=20)
            _state(d, box, state, is_now=state == now)
            y += 26
        if column:
            key = f"state/arrow/{column}"
            d.arrow(key, x=x - 14, y=23, x2=x - 3, y2=23, line="rule", width=1.5)
        x += wide + 17
    return x


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
    """What a transaction commits for a group, and whether it counts."""
    each = GroupOffset(*told)
    return f"group {each.group}: {each.part} at {each.offset}, {each.state}"


def _offsets(d: Drawing, told: Sequence[Any], left: float) -> None:
    words = fit(_offset_words(told), d.width - left - 8, 12.5)
    ink = OFFSET_INKS.get(GroupOffset(*told).state, "ink")
    d.text("offsets", d.width, 40, words, fill=ink, size=12.5, anchor="end")


# -- producers and records


def _producer(
    d: Drawing, number: int, name: str, life: str, words: str, box: Box
) -> None:
    key = f"producer/{number}"
    line = "rule" if life in CHIPS else "trouble"
    d.rect(key, *box, fill="paper", line=line, r=8, width=1.5)
    letter = name[:1].upper()
    d.disc(
        key + "/disc",
        x=box.x + 18,
        y=box.y + 17,
        r=10,
        letter=letter,
        number=number,
        size=12,
    )
    wide = _chip_width(life)
    fill, ink = CHIPS.get(life, ("trouble", "paper"))
    left = box.right - wide - 6
    d.chip(key + "/chip", left, box.y + 7, life, fill=fill, ink=ink)
    room = (box.w - wide - 50) * LEAST_STRETCH
    shown = fit(name, room, 13, bold=True)
    d.text(key + "/name", box.x + 34, box.y + 22, shown, bold=True)
    room = (box.w - 16) * LEAST_STRETCH
    said = fit(words, room, 12.5)
    d.text(key + "/words", box.x + 10, box.y + 43, said, size=12.5)


def _chip_width(word: str) -> float:
    return text_width(word, 12, bold=True) / LEAST_STRETCH + 10


class Look(NamedTuple):
    """Of a record."""

    fill: str
    line: str
    ink: str = "ink"
    dash: str | None = None


def look_of(state: str, actor: int | None) -> Look:
    """By what became of its transaction; actor: the number of its producer, where that
    is shown.
    """
    colour = "quiet" if actor is None else actor_colour(actor)
    if state == "COMMIT":
        return Look("good", "ink")
    if state == "open":
        return Look("paper", colour, dash="4 3")
    if state not in ("", "committed"):
        return Look("paper", "trouble", "trouble")
    if actor is None:
        return Look("cell", "quiet")
    return Look(colour, colour, f"on{actor % COLOURS + 1}")
