"""Micro-batches from top to bottom, each with three lamps: its plan (offsets/N), its
rows in the sink, its commit (commits/N). What is lit is on a disk and survives the
query; below, whether the sink has more rows than there are records.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import LEAST_STRETCH, Drawing, fit
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.micro_batch_story import MicroBatchStory
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted

# height of the head and of a micro-batch; so many are shown
HEAD, ROW, MOST = 40, 42, 8
NAMES = {"plan": "offsets/", "sink": "the sink", "commit": "commits/"}
# where the columns of the lamps begin; the sink's words may be many
PLACES = {"plan": 0.0, "sink": 0.27, "commit": 0.66}
# of the query: its word, fill and ink
ALIVE = ("alive", "good", "ink")
DEAD = ("dead", "trouble", "paper")
WORDS = 28  # units from a lamp's left to its words


class Column(NamedTuple):
    """Of one kind of lamps, from x up to end."""

    key: str
    x: float
    end: float


class Lamp(NamedTuple):
    lit: bool
    words: str
    trouble: bool = False


class MicroBatchPlay(Play):
    story = MicroBatchStory
    foot = (
        "A plan without a commit is done again. What is lit stands on a disk, and no"
        " kill takes it away."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        state = "runs" if space["alive"] else "is dead"
        plans = counted(len(space["batches"]), "plan")
        done = sum(batch["committed"] for batch in space["batches"])
        commits = counted(done, "commit")
        return f"life {space['life']}: the query {state} · {plans}, {commits}"

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for batch in space["batches"]:
            rows = " + ".join(map(str, batch["rows"])) or "no"
            state = "committed" if batch["committed"] else "no commit"
            said.append(
                f"micro-batch {batch['number']}: {batch['records']} planned, {rows}"
                f" rows, {state}"
            )
        return "; ".join(said) or "nothing yet"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        columns = _columns(d)

        for column in columns:
            name = NAMES[column.key]
            is_path = name.endswith("/")
            key = f"name/{column.key}"
            d.text(key, column.x, 24, name, bold=True, mono=is_path)

        word, fill, ink = ALIVE if space["alive"] else DEAD
        d.chip("query", 0, 10, f"life {space['life']}: {word}", fill=fill, ink=ink)

        y = HEAD
        for batch in space["batches"][-MOST:]:
            _batch(d, batch, y, columns)
            y += ROW

        rows = min(len(self.cast["batches"]), MOST)
        foot = HEAD + rows * ROW
        many = space["too_many"]
        words = f"{counted(many, 'row')} too many" if many else "no row too many"
        d.lamp("lamp", 0, foot + 10, words, bool(many))


def _columns(d: Drawing) -> list[Column]:
    left = 112.0 if d.narrow else 190.0
    begins = [left + place * (d.width - left) for place in PLACES.values()]
    ends = [*begins[1:], d.width]
    return [Column(*each) for each in zip(PLACES, begins, ends, strict=True)]


def _batch(
    d: Drawing, batch: Mapping[str, Any], y: float, columns: Sequence[Column]
) -> None:
    number = batch["number"]
    name = f"batch {number}" if d.narrow else f"micro-batch {number}"
    d.line(f"row/{number}", x=0, y=y, x2=d.width, y2=y, line="rule", width=1)
    d.text(f"row/{number}/name", 0, y + 27, name)
    lamps = _lamps(batch, short=d.narrow)
    for column in columns:
        _lamp(d, column, number, lamps[column.key], y)


def _lamps(batch: Mapping[str, Any], *, short: bool) -> dict[str, Lamp]:
    """What is there of a micro-batch. short: only the numbers."""
    records = str(batch["records"])
    rows = " + ".join(map(str, batch["rows"]))
    if not short:
        records += " records"
        rows += " rows" if rows else ""
    is_done = batch["committed"]
    return {
        "plan": Lamp(True, records),
        "sink": Lamp(sum(batch["rows"]) > 0, rows, trouble=bool(batch["too_many"])),
        "commit": Lamp(is_done, "done" if is_done else ""),
    }


def _lamp(d: Drawing, column: Column, number: int, lamp: Lamp, y: float) -> None:
    key = f"{column.key}/{number}"
    name = NAMES[column.key]
    if column.key != "sink":
        name += str(number)
    colour = "trouble" if lamp.trouble else "actor1"
    d.circle(
        key,
        x=column.x + 10,
        y=y + 22,
        r=9,
        fill=colour if lamp.lit else "paper",
        line=colour,
        width=2,
        tip=f"{name}: {lamp.words or 'not there'}",
    )
    room = (column.end - column.x - WORDS) * LEAST_STRETCH
    words = fit(lamp.words, room, bold=lamp.trouble)
    ink = "trouble" if lamp.trouble else "ink"
    d.text(f"{key}/words", column.x + WORDS, y + 27, words, fill=ink, bold=lamp.trouble)
