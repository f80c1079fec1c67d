"""Micro-batches from top to bottom, each with three lamps: its plan (offsets/N), its
rows in the sink, its commit (commits/N). What is lit is on a disk and survives the
query; below, whether the sink has more rows than there are records.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from minikafka.theatre.drawing import Drawing, fit
from minikafka.theatre.lanes import LEAST_STRETCH, Scene
from minikafka.theatre.pictures.micro_batch_story import MicroBatchStory
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted

# height of the head and of a micro-batch; so many are shown
HEAD, ROW, MOST = 40, 42, 8
LAMPS = (("plan", "offsets/"), ("sink", "the sink"), ("commit", "commits/"))
# where the columns of the lamps begin; the sink's words may be many
PLACES = (0.0, 0.27, 0.66, 1.0)
WORDS = 28  # units from a lamp's left to its words


class MicroBatchPlay(Play):
    story = MicroBatchStory
    foot = (
        "A plan without a commit is done again. What is lit stands on a disk, and no"
        " kill takes it away."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        state = "runs" if space["alive"] else "is dead"
        plans, done = (
            len(space["batches"]),
            sum(batch["committed"] for batch in space["batches"]),
        )
        return (
            f"life {space['life']}: the query {state} · {counted(plans, 'plan')},"
            f" {counted(done, 'commit')}"
        )

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
        d, space = drawing, scenes[-1]["space"]
        left = 112.0 if d.narrow else 190.0
        columns = [left + place * (d.width - left) for place in PLACES]
        for x, (key, name) in zip(columns, LAMPS, strict=False):
            d.text(f"name/{key}", x, 24, name, bold=True, mono=name.endswith("/"))
        word, fill, ink = (
            ("alive", "good", "ink") if space["alive"] else ("dead", "trouble", "paper")
        )
        d.chip("query", 0, 10, f"life {space['life']}: {word}", fill, ink)
        for row, batch in enumerate(space["batches"][-MOST:]):
            self._batch(d, batch, HEAD + row * ROW, columns)
        below = HEAD + min(len(self.cast["batches"]), MOST) * ROW + 10
        many = space["too_many"]
        d.lamp(
            "lamp",
            0,
            below,
            f"{counted(many, 'row')} too many" if many else "no row too many",
            bool(many),
        )

    def _batch(
        self, d: Drawing, batch: dict[str, Any], y: float, columns: Sequence[float]
    ) -> None:
        number, rows = batch["number"], batch["rows"]
        d.line(f"row/{number}", 0, y, d.width, y, "rule", width=1)
        d.text(
            f"row/{number}/name",
            0,
            y + 27,
            f"batch {number}" if d.narrow else f"micro-batch {number}",
        )
        wrong, wide = bool(batch["too_many"]), not d.narrow
        attempts = " + ".join(map(str, rows)) + " rows" * wide if rows else ""
        shown = (
            (True, f"{batch['records']}{' records' * wide}", False),
            (sum(rows) > 0, attempts, wrong),
            (batch["committed"], "done" if batch["committed"] else "", False),
        )
        for (key, name), (lit, words, trouble), (x, end) in zip(
            LAMPS, shown, pairwise(columns), strict=True
        ):
            colour = "trouble" if trouble else "actor1"
            tip = f"{name}{number if key != 'sink' else ''}: {words or 'not there'}"
            d.circle(
                f"{key}/{number}",
                x + 10,
                y + 22,
                9,
                colour if lit else "paper",
                colour,
                width=2,
                tip=tip,
            )
            room = (end - x - WORDS) * LEAST_STRETCH
            d.text(
                f"{key}/{number}/words",
                x + WORDS,
                y + 27,
                fit(words, room, bold=trouble),
                "trouble" if trouble else "ink",
                bold=trouble,
            )
