"""Micro-batches on one axis, that of the topic's records: from where to where each
plan goes (the file offsets/N), the rows that each attempt has left in the sink, and the
file commits/N. Equal numbers of records are equally long.

What is done again lies under the same records once more. A kill is a stroke through
all that is there, down to what the query was about: before it wrote rows, among them,
or before the commit. The query is what dies; files and rows stay.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.drawing import Box, Drawing, Look, Point, fitting, widest
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.micro_batch.story import (
    PLANNED,
    WRITING,
    Attempt,
    Killed,
    MicroBatchStory,
)
from minikafka.theatre.play import Play
from minikafka.theatre.text import counted

MOST, MOST_ATTEMPTS = 8, 4  # micro-batches, and attempts of each, that are shown
LEFT, LEFT_NARROW = 124, 96  # where the axis begins
QUERY = 40  # height of the query's card
# where files are and how high; where the sink begins; an attempt's lane
PLAN_Y, FILE, SINK_Y, LANE, BAR = 58, 24, 108, 24, 20
PAD = 7  # of the sink's box, above and below the lanes
BETWEEN = 26  # from the sink to the commits, and from the plans to the sink
APART, LEAST = 4, 3  # between micro-batches; width of the narrowest
REACH = 9  # of a kill's cross


class Batch(NamedTuple):
    """A micro-batch, and its place on the axis."""

    number: int
    told: Mapping[str, Any]
    x: float
    w: float

    @property
    def attempts(self) -> list[Attempt]:
        return [Attempt(*each) for each in self.told["attempts"]]

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def last(self) -> int:
        """The number of its last record."""
        return int(self.told["begin"] + self.told["records"] - 1)

    def box(self, y: float, high: float) -> Box:
        """A box over the batch's whole length on the axis."""
        return Box(
            x=self.x,
            y=y,
            w=self.w,
            h=high,
        )

    def length(self, rows: int) -> float:
        """The length on the axis of this many rows."""
        share = rows / max(self.told["records"], 1)
        return max(self.w * min(share, 1), LEAST)


class MicroBatchPlay(Play):
    story = MicroBatchStory
    legend = "Lengths are numbers of records."
    rule = (
        "A plan without a commit is done again. Files and rows stand on a disk, and no"
        " kill takes them away."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        state = "runs" if space["alive"] else "is dead"
        plans = counted(len(space["batches"]), "plan")
        done = [batch for batch in space["batches"] if batch["committed"]]
        commits = counted(len(done), "commit")
        return f"life {space['life']}: the query {state} · {plans}, {commits}"

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for batch in space["batches"]:
            attempts = [str(Attempt(*each).rows) for each in batch["attempts"]]
            rows = " + ".join(attempts) or "no"
            state = "committed" if batch["committed"] else "no commit"
            said.append(
                f"micro-batch {batch['number']}: {batch['records']} planned, {rows}"
                f" rows, {state}"
            )
        return "; ".join(said) or "nothing yet"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        stage = _Stage(
            drawing,
            self.cast,
            scene["space"],
            scene["number"],
        )
        stage.draw()


class _Stage:
    """Draws one moment of the query."""

    def __init__(
        self, d: Drawing, cast: Mapping[str, Any], space: Mapping[str, Any], now: int
    ) -> None:
        self.d = d
        self.space = space
        self.now = now
        self.left = LEFT_NARROW if d.narrow else LEFT
        # a whole plan is as long as it will be: the axis never moves
        lengths = dict(cast["plans"][-MOST:])
        room = d.width - self.left - APART * len(lengths)
        self.scale = room / max(sum(lengths.values()), 1)
        self.batches = self._placed(lengths)
        self.lanes = min(max(cast["attempts"], 1), MOST_ATTEMPTS)
        self.sink_foot = SINK_Y + self.lanes * LANE - (LANE - BAR) + PAD
        self.commits_y = self.sink_foot + BETWEEN

    def _placed(self, lengths: Mapping[int, int]) -> dict[int, Batch]:
        """Those that are there, by number."""
        told = {batch["number"]: batch for batch in self.space["batches"]}
        placed = {}
        x = float(self.left)
        for number, records in lengths.items():
            width = max(records * self.scale, LEAST)
            if number in told:
                placed[number] = Batch(
                    number,
                    told[number],
                    x,
                    width,
                )
            x += width + APART
        return placed

    def draw(self) -> None:
        kills = [Killed(*each) for each in self.space["kills"]]
        self._query()
        self._names()
        self._sink()
        if kills and kills[-1].number == self.now:
            self._strikes(kills[-1])
        for batch in self.batches.values():
            self._plan(batch)
            self._rows(batch)
            self._commit(batch)
        for number, kill in enumerate(kills):
            self._kill(kill, kills[:number])
        self._lamp()

    # -- who works

    def _query(self) -> None:
        """Draw the query, crossed out while it is dead."""
        d = self.d
        is_dead = not self.space["alive"]
        life = self.space["life"]
        look: Look = {"fill": "wash", "line": "rule"}
        if is_dead:
            look = {
                "fill": "paper",
                "line": "trouble",
                "width": 3,
                "dash": "7 4",
            }
        d.rect(
            "query",
            x=0,
            y=2,
            w=d.width,
            h=QUERY,
            r=8,
            **look,
        )
        card = d.part("query", 0, 2)
        card.text("name", 14, 25, "the query", bold=True)
        x = 108.0
        for number in range(max(life - MOST, 0) + 1, life + 1):
            is_this = number == life
            runs = is_this and not is_dead
            words = f"life {number}" if runs else f"life {number} ✗"
            colour = actor_colour(number - 1)
            ink = ink_on_actor(number - 1)
            if not runs:
                colour, ink = "wash", "trouble"
            x += 6 + card.chip(
                f"life/{number}",
                x,
                10,
                words,
                fill=colour,
                ink=ink,
            )
        if is_dead and life:
            card.text(
                "state",
                d.width - 14,
                25,
                "killed" if d.narrow else "killed: what it had in memory is gone",
                "trouble",
                bold=True,
                anchor="end",
            )

    def _names(self) -> None:
        """Draw the names of the picture's rows."""
        look: Look = {"bold": True, "anchor": "end"}
        d = self.d
        right = self.left - 12
        d.text(
            "name/plan",
            right,
            PLAN_Y + 17,
            "offsets/",
            mono=True,
            **look,
        )
        d.text("name/sink", right, SINK_Y + 15, "the sink", **look)
        d.text(
            "name/commit",
            right,
            self.commits_y + 17,
            "commits/",
            mono=True,
            **look,
        )

    # -- on the disk

    def _length(
        self,
        key: str,
        box: Box,
        words: Sequence[str],
        *,
        room: float,
        ink: str = "ink",
        mono: bool = False,
        **look: Any,
    ) -> None:
        """Draw a bar as long as its records, with the longest of these words
        that fits.
        """
        self.d.rect(key, *box, **look)
        shown = fitting(
            words,
            room - 12,
            12,
            mono=mono,
            bold=True,
        )
        if shown:
            self.d.text(
                f"{key}/words",
                box.x + 8,
                box.y + box.h / 2 + 4.5,
                shown,
                ink,
                size=12,
                mono=mono,
                bold=True,
                of=look.get("of"),
            )

    def _file(self, key: str, batch: Batch, y: float, words: Sequence[str]) -> None:
        """It comes from the query."""
        told = batch.told
        is_plan = key == "plan"
        name = f"{'offsets' if is_plan else 'commits'}/{batch.number}"
        self._length(
            f"{key}/{batch.number}",
            batch.box(y, FILE),
            words,
            room=batch.w,
            mono=True,
            fill="said" if is_plan else "good",
            line="ink",
            r=5,
            of=told["planned"] if is_plan else told["committed"],
            tip=f"{name}: {counted(told['records'], 'record')}",
            from_y=float(QUERY) - FILE,
        )

    def _plan(self, batch: Batch) -> None:
        """offsets/N, and lines that say to which records its rows belong."""
        number = str(batch.number)
        begin = batch.told["begin"]
        words = [f"{number}: {begin} to {batch.last}", f"{begin}-{batch.last}", number]
        self._file("plan", batch, PLAN_Y, words)
        for side, x in (("from", batch.x), ("to", batch.right)):
            self.d.upright(
                f"plan/{number}/{side}",
                x=x,
                top=PLAN_Y + FILE,
                bottom=self.commits_y,
                line="rule",
                dash="2 3",
            )

    def _commit(self, batch: Batch) -> None:
        """commits/N; where it is missing is its place."""
        number = str(batch.number)
        if batch.told["committed"]:
            self._file("commit", batch, self.commits_y, [f"{number}: done", number])
            return
        is_dead = not self.space["alive"]
        words = "missing" if is_dead else ""
        self.d.cell(
            f"commit/{number}/place",
            *batch.box(self.commits_y, FILE),
            text=fitting([words], batch.w - 8, 12),
            fill="none",
            line="trouble" if is_dead else "rule",
            ink="trouble",
            dash="3 3",
            tip=f"commits/{number}: not there",
        )

    # -- in the sink

    def _sink(self) -> None:
        self.d.rect(
            "sink",
            x=self.left - 6,
            y=SINK_Y - PAD,
            w=self.d.width - self.left + 6,
            h=self.sink_foot - SINK_Y + PAD,
            fill="none",
            line="ink",
            r=4,
            width=1.5,
        )

    def _rows(self, batch: Batch) -> None:
        """Each attempt's, below each other, from the same record on."""
        attempts = batch.attempts
        first = max(len(attempts) - MOST_ATTEMPTS, 0)
        for place, attempt in enumerate(attempts[first:]):
            y = SINK_Y + place * LANE
            self._attempt(batch, first + place, attempt, y)

    def _attempt(self, batch: Batch, number: int, attempt: Attempt, y: float) -> None:
        key = f"sink/{batch.number}/{number}"
        whole = batch.box(y, BAR)
        if attempt.rows < batch.told["records"]:
            # what an attempt has not written, or need not
            self.d.rect(
                f"{key}/whole",
                *whole,
                fill="none",
                line="rule",
                r=4,
                dash="3 3",
            )
        bar = whole._replace(w=batch.length(attempt.rows) if attempt.rows else LEAST)
        rows = counted(attempt.rows, "row")
        self._length(
            key,
            bar,
            _words(attempt),
            room=bar.w if attempt.rows else batch.w,
            ink=_ink(attempt),
            r=4,
            of=attempt.number,
            tip=f"life {attempt.life}: {rows} of micro-batch {batch.number}",
            **_bar(attempt),
        )

    # -- what goes wrong

    def _strikes(self, kill: Killed) -> None:
        """From the query down to what it was about, behind all that stays."""
        at = self._where(kill, [Killed(*each) for each in self.space["kills"][:-1]])
        if at is None:
            return
        self.d.upright(
            f"kill/{kill.life}/stroke",
            x=at.x,
            top=2 + QUERY,
            bottom=at.y,
            line="trouble",
            width=4,
            of=kill.number,
        )

    def _kill(self, kill: Killed, earlier: Sequence[Killed]) -> None:
        """Draw the cross of a kill, which stays."""
        at = self._where(kill, earlier)
        if at is None:
            return
        key = f"kill/{kill.life}"
        left, right = at.x - REACH, at.x + REACH
        top, bottom = at.y - REACH, at.y + REACH
        look: Look = {
            "line": "trouble",
            "width": 4,
            "of": kill.number,
            "tip": f"life {kill.life} ended here",
        }
        self.d.line(f"{key}/1", left, top, right, bottom, **look)
        self.d.line(f"{key}/2", left, bottom, right, top, **look)
        if kill.number == self.now:
            self._named(f"{key}/words", at.x, at.y)

    def _where(self, kill: Killed, earlier: Sequence[Killed]) -> Point | None:
        """The place of a kill: before the rows of a micro-batch, after a part of them,
        or before the commit. earlier: kills at the same place are drawn beside each
        other.
        """
        if kill.batch not in self.batches:
            return None
        batch = self.batches[kill.batch]
        if kill.when == WRITING:
            lane = min(kill.attempts, MOST_ATTEMPTS) - 1
            rows = batch.attempts[kill.attempts - 1].rows
            y = SINK_Y + lane * LANE + BAR / 2
            return Point(batch.x + batch.length(rows), y)
        here = [each for each in earlier if each[1:3] == kill[1:3]]
        x = batch.x + batch.w * 0.7 + len(here) * 3 * REACH
        if kill.when == PLANNED:
            return Point(x, (PLAN_Y + FILE + SINK_Y - PAD) / 2)
        return Point(x, (self.sink_foot + self.commits_y) / 2)

    def _named(self, key: str, x: float, y: float) -> None:
        words = "killed"
        is_late = x + REACH + 6 + widest(words, 13, bold=True) > self.d.width
        self.d.text(
            key,
            x - REACH - 6 if is_late else x + REACH + 6,
            y + 5,
            words,
            "trouble",
            bold=True,
            halo="paper",
            anchor="end" if is_late else "start",
        )

    def _lamp(self) -> None:
        many = self.space["too_many"]
        words = f"{counted(many, 'row')} too many" if many else "no row too many"
        y = self.commits_y + FILE + 12
        self.d.lamp("lamp", self.left, y, words, bool(many))


def _bar(attempt: Attempt) -> Look:
    """In the colour of its life; rows that were there are outlined."""
    if attempt.too_many:
        return {
            "fill": "paper",
            "line": "trouble",
            "width": 3,
        }
    return {"fill": actor_colour(attempt.life - 1), "line": "none"}


def _ink(attempt: Attempt) -> str:
    if attempt.too_many:
        return "trouble"
    return ink_on_actor(attempt.life - 1) if attempt.rows else "ink"


def _words(attempt: Attempt) -> list[str]:
    """The rows that an attempt has left, in words, the longest first."""
    if not attempt.rows:
        return ["known: 0 more", "0"]
    rows = str(attempt.rows)
    if attempt.too_many:
        return [f"{rows} again", rows]
    return [counted(attempt.rows, "row"), rows]
