"""The producer's pipeline: records wait in batches, batches travel in requests, the log
grows, answers come back.

Three lamps compare what the program sent with what the log holds: each record once, in
the order of sending, none lost. A fourth stands beside what the program was told.
Options: topic, producer (its name). Without them: the topic and the producer that sent
most.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    NARROW,
    PHONE,
    WIDE,
    Box,
    Drawing,
    fitting,
    lamp_width,
    text_width,
)
from minikafka.theatre.lanes import Lane, Scene
from minikafka.theatre.pictures.pipeline_records import Outcome
from minikafka.theatre.pictures.pipeline_says import ANSWERS, LOG, REQUESTS, SEND
from minikafka.theatre.pictures.pipeline_story import PipelineStory
from minikafka.theatre.pictures.pipeline_wire import draw_wire
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted, dotted

ROWS = 5  # batches that wait, and requests in flight: Kafka's default of five
# pitch of the rows, width of a record, and of one of which the program was told
ROW, CELL, TOLD = 30, 28, 44
HEAD = 24
MOST_LINES = 3  # of a log
OFFSET = 14  # height of an offset below a record
OVER = 8  # so much the lamps may begin before the log, and not at the broker's door
LAMP = 22  # pitch of the lamps' lines
LABEL = 30  # width of a partition's name
# where what the program was told begins, and how much lower that is on narrow pages
TOLD_LEFT, LINE_OF_TOLD = 178, 28
MOST_UNTRUE = 2  # of it that are always shown


class Column(NamedTuple):
    """A name, and below it rows."""

    x: float
    w: float
    y: float = 0

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def top(self) -> float:
        """Of the first row."""
        return self.y + HEAD

    def row(self, number: int) -> Box:
        return Box(x=self.x, y=self.top + number * ROW, w=self.w, h=ROW - 6)


class Lines(NamedTuple):
    """Of logs. high: of their records."""

    pitch: float
    high: float


LINES, MANY_LINES = Lines(46, 28), Lines(40, 25)


class Columns(NamedTuple):
    """The wire ends at the broker's door."""

    buffer: Column
    flight: Column
    wire: Column


COLUMNS = {
    WIDE: Columns(
        buffer=Column(0, 248),
        flight=Column(258, 256),
        wire=Column(514, 110),
    ),
    NARROW: Columns(
        buffer=Column(0, 226),
        flight=Column(232, 234),
        wire=Column(466, 92),
    ),
    PHONE: Columns(
        buffer=Column(0, 180),
        flight=Column(186, 186),
        wire=Column(372, 74),
    ),
}
SETTINGS = {
    "acks": "acks",
    "linger_ms": "linger_ms",
    "batch_size": "batch_size",
    "max_in_flight_requests_per_connection": "in flight at most",
}
LOST = ("lost", "answer lost", "refused")
# states of a request that are said otherwise than they are called
SAID = {"answer lost": "no answer", "on its way": ""}
WRONG = {
    "": "",
    "again": " · it is there twice",
    "late": " · overtaken by a later one",
}


class PipelinePlay(Play):
    story = PipelineStory
    foot = (
        "A producer that hears nothing can't tell a lost request from a lost answer. "
        "Sequence numbers let the broker recognise what it has."
    )

    def scenario(self, scene: Scene) -> str:
        config = scene["space"]["config"]
        down = scene["space"]["down"]
        said = []
        for name, words in SETTINGS.items():
            if name in config:
                said.append(f"{words} {config[name]}")
        if config.get("enable_idempotence"):
            said.append("idempotent")
        elif "enable_idempotence" in config:
            said.append("not idempotent")
        said += [f"{node} {state}" for node, state in down.items()]
        return dotted(*said, self.cast["legend"])

    def summary(self, space: dict[str, Any]) -> str:
        held = []
        for log in space["logs"]:
            letters = [str(letter or "–") for _, _, letter, *_ in log["records"]]
            words = " ".join(letters) or "empty"
            held.append(f"partition {log['partition']}: {words}")
        parts = [f"{space['sent']} sent in {counted(space['requests'], 'request')}"]
        parts.append(f"{space['acknowledged']} done")
        if space["failed"]:
            parts.append(f"{space['failed']} failed")
        lamps = [lamp.words for lamp in _lamps(space)]
        if space["untrue"]:
            lamps.append(f"{space['untrue']} told wrong")
        in_logs = "; ".join(held) or "nothing yet"
        in_short = ", ".join(parts)
        all_lamps = ", ".join(lamps)
        return f"{in_logs} ({in_short}; {all_lamps})"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        spaces = [scene["space"] for scene in scenes]
        most = 2
        for space in spaces:
            most = max(most, len(space["buffer"]), len(space["in_flight"]))
        self.rows = min(most, ROWS)
        logs = spaces[-1]["logs"] if spaces else ()
        self.longest = max((log["end"] for log in logs), default=0)
        self.are_many = len(self.cast["chosen"]) > 1
        self.lamps_wide = max((_width(_lamps(space)) for space in spaces), default=0)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        columns = COLUMNS[d.width]
        foot: float = HEAD + self.rows * ROW
        self._buffer(d, space, columns.buffer)
        self._wire(d, space, columns.wire)
        self._flight(d, space, columns.flight)
        logs = Column(0, d.width, y=foot + 10)
        if not d.narrow:
            left = columns.wire.right + 10
            logs = Column(left, d.width - left)
        foot = max(self._logs(d, space, logs), foot)
        foot = self._told(d, space, foot + 4)
        self.lanes.draw(d, foot, self._lanes(space), scene["step"])

    # -- batches

    def _buffer(self, d: Drawing, space: dict[str, Any], column: Column) -> None:
        batches = space["buffer"]
        waiting = sum(batch["count"] for batch in batches)
        words = f"{waiting} waiting" if waiting else "empty"
        name = "buffer" if d.phone else f"{self.cast['producer']}'s buffer"
        _head(d, key="buffer", column=column, name=name, words=words)
        hidden = len(batches) - self.rows
        for row, batch in enumerate(batches[: self.rows]):
            state = batch["state"]
            is_last = row == self.rows - 1
            if is_last and hidden > 0:
                state += f", +{hidden} more"
            self._batch(d, batch, column.row(row), state)

    def _flight(self, d: Drawing, space: dict[str, Any], column: Column) -> None:
        limit = space["config"].get("max_in_flight_requests_per_connection", ROWS)
        waits = sum(request["acks"] != 0 for request in space["in_flight"])
        words = f"{waits} of {limit}" if d.phone else f"{waits} of {limit} unanswered"
        _head(d, key="flight", column=column, name="in flight", words=words)
        shown = self._in_flight(space)
        for row in range(self.rows):
            box = column.row(row)
            if row < len(shown):
                request, batch = shown[row]
                words = _state(request)
                is_lost = request["state"] in LOST
                self._batch(d, batch, box, words, is_lost)
            else:
                d.rect(f"slot/{row}", *box, fill="none", line="rule", r=6, dash="2 4")

    def _in_flight(self, space: dict[str, Any]) -> list[tuple[Any, Any]]:
        """Requests and their batches, one a row."""
        every = []
        for request in space["in_flight"]:
            for batch in request["batches"]:
                every.append((request, batch))
        return every[: self.rows]

    def _batch(
        self,
        d: Drawing,
        batch: Mapping[str, Any],
        box: Box,
        state: str,
        trouble: bool = False,
    ) -> None:
        """A batch with its records, wherever it is: the player moves it from the buffer
        to its flight and back.
        """
        key = f"batch/{batch['batch']}"
        line, dash = ("trouble", "4 3") if trouble else ("actor1", None)
        d.rect(key, *box, fill="wash", line=line, r=6, width=1.5, dash=dash)
        name = f"batch P{batch['partition']}" if self.are_many else "batch"
        y = box.y + 17
        d.text(key + "/name", box.x + 8, y, name, size=12.5, bold=True)
        wide = text_width(name, 12.5, bold=True) / LEAST_STRETCH
        left = box.x + 12 + wide
        room = box.right - 8 - (left + CELL + 6)  # one record has its place, always
        said = [state, state.split(", ")[-1], ""]
        if batch["sequence"] >= 0:
            numbered = f"seq {batch['sequence']}"
            shorter = state.split(": ")[-1]
            said[:1] = [f"{numbered}, {state}", f"{numbered}, {shorter}"]
            if not state:
                said = [numbered, ""]
        state = fitting(said, room, 12.5)
        wide = text_width(state, 12.5) / LEAST_STRETCH
        right = box.right - 12 - wide
        _records(d, key, batch, left, right, y)
        ink = "trouble" if trouble else "quiet"
        right = box.right - 8
        if state:
            d.text(key + "/state", right, y, state, fill=ink, size=12.5, anchor="end")

    def _wire(self, d: Drawing, space: dict[str, Any], column: Column) -> None:
        """What travels in each row; what waited too long is shown as stuck."""
        in_flight = self._in_flight(space)
        messages = []
        for row, (request, batch) in enumerate(in_flight):
            messages.append((row, batch["batch"], request["state"]))
        if len(in_flight) < self.rows:
            for row, batch, state in space["stuck"]:
                row = min(max(row, len(messages)), self.rows - 1)
                messages.append((row, batch["batch"], state))
        box = Box(x=column.x, y=column.top, w=column.w, h=self.rows * ROW)
        lever = self.cast["producer"] if "live" in self.cast else ""
        draw_wire(d, space=space, box=box, messages=messages, pitch=ROW, lever=lever)

    # -- what the program was told

    def _told(self, d: Drawing, space: dict[str, Any], y: float) -> float:
        """Beside each other: what the program was told of its records, and whether that
        is true; on narrow pages the records have a line of their own. Returns the
        lowest point.
        """
        d.text("caption/told", 0, y + 17, "the program is told", bold=True)
        words = "told the truth"
        if space["untrue"]:
            words = f"{space['untrue']} told wrong"
        is_red = space["untrue"] > 0
        lamp = d.lamp("lamp/truth", d.width, y + 3, words, is_red, anchor="end")
        pitch = TOLD + 4
        x = TOLD_LEFT
        room = d.width - x - lamp - 8
        if d.narrow:
            x = 0
            y += LINE_OF_TOLD
            room = float(d.width)
        most = int(room // pitch)
        told = [Outcome(*each) for each in space["told"]]
        untrue = [each for each in told if each.untrue][-MOST_UNTRUE:]
        latest = [each for each in told if each not in untrue]
        latest = latest[len(untrue) - most :]

        for outcome in sorted([*untrue, *latest]):
            _outcome(d, Box(x=x, y=y, w=TOLD, h=25), outcome)
            x += pitch
        return y + 29

    # -- logs

    def _logs(self, d: Drawing, space: dict[str, Any], column: Column) -> float:
        """The partitions' logs and the lamps under them; returns the lowest point."""
        chosen = self.cast["chosen"]
        name = "the log"
        if not self.are_many:
            name = f"the log of partition {chosen[0] if chosen else 0}"
        ends = [log["end"] for log in space["logs"]]
        _head(
            d, key="caption/log", column=column, name=name, words=f"{sum(ends)} written"
        )
        x = column.x
        indent = LABEL if self.are_many else 0
        per_line = int((column.w - indent) // (CELL + 5))
        lines = 1
        if not self.are_many:
            needed = -(-self.longest // per_line)
            lines = min(max(needed, 1), MOST_LINES)

        rows = len(space["logs"]) if self.are_many else lines
        pitch, high = LINES if rows < 3 else MANY_LINES
        top = column.top
        for log in space["logs"]:
            if self.are_many:
                label = f"P{log['partition']}"
                key = f"log/{log['partition']}/name"
                d.text(key, x, top + 19, label, mono=True, bold=True)
            grid = Grid(
                x=x + indent,
                y=top,
                pitch=pitch,
                high=high,
                per_line=per_line,
                lines=lines,
                end=log["end"],
            )
            _log(d, log, grid)
            top += pitch

        top += pitch * lines - high - OFFSET
        in_lines = [_lamps(space)]
        if self.lamps_wide > column.w + OVER:
            *first, last = _lamps(space)
            in_lines = [first, [last]]
        for lamps in in_lines:
            left = min(x, column.right - _width(lamps))
            _draw_lamps(d, lamps, left, top)
            top += LAMP

        return top - 2

    def _lanes(self, space: dict[str, Any]) -> list[Lane]:
        written = sum(log["end"] for log in space["logs"])
        failed = space["failed"]
        answers = f"{space['acknowledged']} done"
        if failed:
            answers = f"{failed} failed"
        lanes = [
            Lane(
                key=SEND, name="send()", colour="quiet", number=f"{space['sent']} sent"
            ),
            Lane(
                key=REQUESTS,
                name="requests",
                colour="actor1",
                number=f"{space['requests']} sent",
            ),
            Lane(key=LOG, name="log", colour="ink", number=f"{written} written"),
            Lane(
                key=ANSWERS,
                name="answers",
                colour="actor1",
                number=answers,
                trouble=bool(failed),
            ),
        ]
        return [lane for lane in lanes if lane.key in self.lanes.marks]


def _width(lamps: Sequence["Lamp"]) -> float:
    """Of lamps beside each other."""
    return sum(lamp_width(lamp.words) + 4 for lamp in lamps) - 4


def _draw_lamps(d: Drawing, lamps: Sequence["Lamp"], x: float, y: float) -> None:
    """Beside each other."""
    for lamp in lamps:
        x += d.lamp(f"lamp/{lamp.name}", x, y, lamp.words, lamp.is_broken) + 4


def _head(d: Drawing, key: str, column: Column, name: str, words: str) -> None:
    """What stands above a column."""
    y = column.y + 14
    room = column.w - 100
    d.text(key + "/name", column.x, y, name, bold=True, room=room)
    d.note(key + "/count", column.right, y, words, anchor="end", mono=True)


def _state(request: Mapping[str, Any]) -> str:
    """How often it was tried, and what has become of it."""
    state = request["state"]
    parts = [SAID.get(state, state)]
    if request["attempt"] > 1:
        parts.insert(0, f"try {request['attempt']}")
    return ": ".join(filter(None, parts))


def _records(
    d: Drawing,
    key: str,
    batch: Mapping[str, Any],
    left: float,
    right: float,
    y: float,
) -> None:
    """A batch's records, as many as have room between left and right; y: of the
    words beside them.
    """
    count = batch["count"]
    shown = batch["records"]
    pitch = CELL + 2
    fits = max(int((right - left) // pitch), 1)
    if count > min(fits, len(shown)):  # one place says how many more there are
        shown = shown[: max(fits - 1, 0)]
    x = left
    for number, letter, sent_key, value in shown:
        box = Box(x=x, y=y - 14, w=CELL, h=ROW - 12)
        tip = f"key {sent_key} · value {value}"
        d.cell(f"{key}/{number}", *box, str(letter), tip=tip)
        x += pitch
    more = count - len(shown)
    if more > 0:
        d.note(key + "/more", x, y, f"+{more}", mono=True)


def _outcome(d: Drawing, box: Box, outcome: Outcome) -> None:
    """What the program was told of one record; a dashed place where nothing yet."""
    letter = str(outcome.letter)
    if not outcome.word:
        key = f"future/{outcome.number}"
        d.cell(key, *box, letter, fill="none", ink="quiet", dash="2 3")
        return
    is_done = outcome.word == "done"
    d.cell(
        f"told/{outcome.number}",
        *box,
        letter,
        "✓" if is_done else "✗",
        fill="good" if is_done else "wash",
        line="trouble" if outcome.untrue else "rule",
        ink="ink" if is_done else "trouble",
        width=2 if outcome.untrue else None,
        from_x=COLUMNS[d.width].flight.x,
        from_y=HEAD,
        tip=f"the program is told: {outcome.word}",
    )


class Grid(NamedTuple):
    """A log in lines of so many records. pitch: of its lines. end: its end offset."""

    x: float
    y: float
    pitch: float
    high: float
    per_line: int
    lines: int
    end: int

    @property
    def first(self) -> int:
        """The first offset that has a place: the slot at the end has one, too."""
        return max(self.end - self.lines * self.per_line + 1, 0)

    def box(self, offset: int) -> Box:
        line, column = divmod(offset - self.first, self.per_line)
        x = self.x + column * (CELL + 5)
        y = self.y + line * self.pitch
        return Box(x=x, y=y, w=CELL, h=self.high)


def _log(d: Drawing, log: Mapping[str, Any], grid: Grid) -> None:
    key = f"log/{log['partition']}"
    for offset, number, letter, value, state in log["records"]:
        if offset < grid.first:
            continue
        what = "somebody else wrote it" if number is None else f"value {value}"
        d.cell(
            f"{key}/{offset}",
            *grid.box(offset),
            str(letter or "–"),
            below=str(offset),
            line="trouble" if state else "rule",
            width=2 if state else None,
            from_x=COLUMNS[d.width].wire.right,
            from_y=grid.y,
            tip=f"offset {offset} · {what}{WRONG[state]}",
        )

    d.slot(f"{key}/next", *grid.box(grid.end), grid.end)


class Lamp(NamedTuple):
    name: str
    words: str
    is_broken: bool


def _lamps(space: dict[str, Any]) -> list[Lamp]:
    """What must hold."""
    twice = space["twice"]
    late = space["late"]
    lost = space["lost"]
    once = f"{twice} twice" if twice else "each once"
    order = f"{late} overtaken" if late else "in order"
    whole = f"{lost} lost" if lost else "none lost"
    return [
        Lamp("once", once, bool(twice)),
        Lamp("order", order, bool(late)),
        Lamp("lost", whole, bool(lost)),
    ]
