"""A batch in the pipeline's picture, in a row of the buffer or of what is in flight."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    fitting,
    text_width,
)
from minikafka.theatre.pictures.pipeline.columns import CELL, ROW
from minikafka.theatre.play import Space

SIZE = 12.5  # of words
PITCH = CELL + 2  # of records
LOST = ("lost", "answer lost", "refused")
# states of a request that are said otherwise than they are called
SAID = {"answer lost": "no answer", "on its way": ""}


class InFlight(NamedTuple):
    """A row: a batch, and the request that carries it."""

    request: Mapping[str, Any]
    batch: Mapping[str, Any]

    @property
    def is_lost(self) -> bool:
        return self.request["state"] in LOST

    @property
    def words(self) -> str:
        """How often it was tried, and what has become of it."""
        state = self.request["state"]
        attempt = self.request["attempt"]
        said: str = SAID.get(state, state)
        if attempt == 1:
            return said
        if not said:
            return f"try {attempt}"
        return f"try {attempt}: {said}"


def in_flight(space: Space) -> list[InFlight]:
    rows = []
    for request in space["in_flight"]:
        for batch in request["batches"]:
            rows.append(InFlight(request, batch))
    return rows


def draw_batch(
    d: Drawing,
    batch: Mapping[str, Any],
    box: Box,
    *,
    name: str,
    state: str,
    is_lost: bool = False,
) -> None:
    """A batch with its records, wherever it is: the player moves it from the buffer to
    its flight and back.
    """
    key = f"batch/{batch['batch']}"
    d.rect(
        key,
        *box,
        fill="wash",
        line="trouble" if is_lost else "actor1",
        r=6,
        width=1.5,
        dash="4 3" if is_lost else None,
    )
    y = box.y + 17
    d.text(f"{key}/name", box.x + 8, y, name, size=SIZE, bold=True)
    left = box.x + 12 + text_width(name, SIZE, bold=True) / LEAST_STRETCH

    end = box.right - 8
    room = end - (left + CELL + 6)  # one record has its place, always
    said = fitting(_ways_to_say(state, batch["sequence"]), room, SIZE)
    right = box.right - 12 - text_width(said, SIZE) / LEAST_STRETCH
    _records(d, key, batch, left, right, y)
    if said:
        d.text(
            f"{key}/state",
            end,
            y,
            said,
            fill="trouble" if is_lost else "quiet",
            size=SIZE,
            anchor="end",
        )


def _ways_to_say(state: str, sequence: int) -> list[str]:
    """The possible words, the most informative first. sequence: -1 if there is none."""
    latest = state.split(", ")[-1]
    if sequence < 0:
        return [state, latest, ""]
    numbered = f"seq {sequence}"
    if not state:
        return [numbered, ""]
    shorter = state.split(": ")[-1]
    return [
        f"{numbered}, {state}",
        f"{numbered}, {shorter}",
        latest,
        "",
    ]


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
    shown = _that_fit(batch, room=right - left)
    x = left
    for number, letter, sent_key, value in shown:
        box = Box(x=x, y=y - 14, w=CELL, h=ROW - 12)
        tip = f"key {sent_key} · value {value}"
        d.cell(f"{key}/{number}", *box, str(letter), tip=tip)
        x += PITCH
    more = batch["count"] - len(shown)
    if more > 0:
        d.note(f"{key}/more", x, y, f"+{more}", mono=True)


def _that_fit(batch: Mapping[str, Any], room: float) -> Sequence[Any]:
    """The first of its records; where not all are among them, one place is left to say
    how many more there are.
    """
    records: Sequence[Any] = batch["records"]
    places = max(int(room // PITCH), 1)
    if batch["count"] <= min(places, len(records)):
        return records
    return records[: places - 1]
