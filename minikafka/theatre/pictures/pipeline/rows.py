"""The batches of a producer below each other: in its buffer, and in flight."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Box, Drawing, Look, fitting, widest
from minikafka.theatre.play import Cast, Space

MOST_ROWS, FEWEST_ROWS = 5, 2  # Kafka's default of requests in flight is five
HEAD, ROW, BATCH = 24, 28, 24  # heights: of a heading, from row to row, of a batch
CELL = 28  # width of a record
PITCH = CELL + 2
SIZE = 12.5  # of words
LEAST, WANTED = 122, 300  # widths
LOST = ("lost", "answer lost", "refused")
# states of a request that are said otherwise than they are called
SAID = {"answer lost": "no answer", "on its way": ""}


class InRow(NamedTuple):
    """A batch, and what is said of it."""

    batch: Mapping[str, Any]
    words: str
    state: str = ""  # of the request that carries it

    @property
    def is_lost(self) -> bool:
        return self.state in LOST


Heading = tuple[Sequence[str], Sequence[str]]  # a name and a count, in ways to say them


def rows_of(spaces: Sequence[Space]) -> int:
    """As many as are needed at any step."""
    counts = [len(space["buffer"]) for space in spaces]
    counts += [len(in_flight(space)) for space in spaces]
    return min(max([FEWEST_ROWS, *counts]), MOST_ROWS)


def buffer_box(cast: Cast, rows: int) -> Item:
    def heading(space: Space) -> Heading:
        waiting = sum(batch["count"] for batch in space["buffer"])
        names = [f"{cast['producer']}'s buffer", "buffer"]
        return names, [f"{waiting} waiting" if waiting else "empty"]

    def waiting(space: Space) -> list[InRow]:
        shown = [InRow(batch, batch["state"]) for batch in space["buffer"]]
        hidden = len(shown) - rows
        if hidden > 0:
            last = shown[rows - 1]
            shown[rows - 1] = last._replace(words=f"{last.words}, +{hidden} more")
        return shown[:rows]

    return _box("buffer", cast, rows, heading, waiting)


def flight_box(cast: Cast, rows: int) -> Item:
    def heading(space: Space) -> Heading:
        limit = "max_in_flight_requests_per_connection"
        # with acks=0 there is nothing to wait for
        waits = sum(request["acks"] != 0 for request in space["in_flight"])
        count = f"{waits} of {space['config'].get(limit, MOST_ROWS)}"
        return ["in flight"], [f"{count} unanswered", count]

    return _box("flight", cast, rows, heading, lambda space: in_flight(space)[:rows])


def in_flight(space: Space) -> list[InRow]:
    """With how often each was tried, and what has become of it."""
    found = []
    for request in space["in_flight"]:
        state = request["state"]
        words = SAID.get(state, state)
        if request["attempt"] > 1:
            again = f"try {request['attempt']}"
            words = f"{again}: {words}" if words else again
        found += [InRow(batch, words, state) for batch in request["batches"]]
    return found


def _box(
    name: str,
    cast: Cast,
    rows: int,
    heading: Callable[[Space], Heading],
    shown: Callable[[Space], Sequence[InRow]],
) -> Item:
    has_many_logs = len(cast["chosen"]) > 1

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        place = places[name]
        there = shown(scene["space"])
        _heading(d, name, place, *heading(scene["space"]))
        y = place.y + HEAD
        for number in range(rows):
            box = Box(place.x, y + ROW * number, place.w, BATCH)
            if number < len(there):
                batch = there[number].batch
                called = f"batch P{batch['partition']}" if has_many_logs else "batch"
                _batch(d, box, there[number], called)
            elif name == "flight":
                look: Look = {"line": "rule", "r": 6, "dash": "2 4"}
                d.rect(f"slot/{number}", *box, **look)

    high = HEAD + ROW * rows
    return part(name, draw, high=high, least=LEAST, wanted=WANTED, grow=1)


def _heading(
    d: Drawing, key: str, place: Box, names: Sequence[str], counts: Sequence[str]
) -> None:
    """A name and a count over a box, in the longest words that have room."""
    for count in (*counts, ""):
        room = place.w - widest(count, SIZE, mono=True) - 8
        name = fitting(names, room, 13, bold=True)
        if name:
            break
    y = place.y + 14
    d.text(f"{key}/name", place.x, y, name or names[-1], bold=True, room=place.w)
    d.note(f"{key}/count", place.right, y, count, "end", mono=True)


def _batch(d: Drawing, box: Box, row: InRow, name: str) -> None:
    """A batch with its records, wherever it is: the player moves it from the buffer to
    its flight and back.
    """
    key = f"batch/{row.batch['batch']}"
    line, ink, dash = "actor1", "quiet", None
    if row.is_lost:
        line, ink, dash = "trouble", "trouble", "4 3"
    d.rect(key, *box, "wash", line, r=6, width=1.5, dash=dash)
    y = box.y + 17
    d.text(f"{key}/name", box.x + 8, y, name, size=SIZE, bold=True)
    left = box.x + 12 + widest(name, SIZE, bold=True)
    end = box.right - 8
    room = end - left - CELL - 6  # one record has its place, always
    said = fitting(_ways_to_say(row), room, SIZE)
    _records(d, key, row.batch, left, end - 4 - widest(said, SIZE), y)
    if said:
        d.text(f"{key}/state", end, y, said, ink, size=SIZE, anchor="end")


def _ways_to_say(row: InRow) -> list[str]:
    """What is said of a batch, the most informative first."""
    latest = row.words.split(", ")[-1]
    sequence = row.batch["sequence"]  # -1: none
    if sequence < 0:
        return [row.words, latest]
    numbered = f"seq {sequence}"
    if not row.words:
        return [numbered]
    shorter = row.words.split(": ")[-1]
    return [f"{numbered}, {row.words}", f"{numbered}, {shorter}", latest]


def _records(
    d: Drawing, key: str, batch: Mapping[str, Any], left: float, right: float, y: float
) -> None:
    """As many as have room between left and right; where not all are among them, one
    place is left to say how many more there are. y: of the words beside them.
    """
    records: Sequence[Any] = batch["records"]
    places = max(int((right - left) // PITCH), 1)
    if batch["count"] > min(places, len(records)):
        records = records[: places - 1]
    x = left
    for number, letter, sent_key, value in records:
        tip = f"key {sent_key} · value {value}"
        d.cell(f"{key}/{number}", x, y - 14, CELL, BATCH - 6, str(letter), tip=tip)
        x += PITCH
    more = batch["count"] - len(records)
    if more > 0:
        d.note(f"{key}/more", x, y, f"+{more}", mono=True)
