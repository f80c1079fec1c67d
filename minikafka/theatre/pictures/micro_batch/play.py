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
from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import (
    Item,
    Places,
    Stage,
    column,
    framed,
    part,
    row,
    space,
)
from minikafka.theatre.drawing import (
    Box,
    Drawing,
    Look,
    Point,
    fitting,
    lamp_width,
    widest,
)
from minikafka.theatre.pictures.micro_batch.story import (
    PLANNED,
    WRITING,
    Attempt,
    Killed,
    MicroBatchStory,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted

MOST, MOST_ATTEMPTS = 8, 4  # micro-batches and lives, and attempts of each
LINE, FILE = 22, 24  # heights: of words, of a file
LANE, BAR = 24, 20  # of an attempt's lane, and of its bar
PAD = 6  # of the sink's box
STROKE = 22  # between what a kill may come between
APART, LEAST = 4, 3  # between micro-batches; width of the narrowest
REACH = 9  # of a kill's cross
KILLED = ("killed: what it had in memory is gone", "killed")


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
        return Box(self.x, y, self.w, high)

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

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        spaces = [scene["space"] for scene in scenes]
        lanes = min(max(self.cast["attempts"], 1), MOST_ATTEMPTS)
        lamp = max((lamp_width(_too_many(each)) for each in spaces), default=0)
        sink = row(
            _name("the sink", "the rows of every attempt"),
            space(),
            part("lamp", self._lamp, high=LINE, least=lamp),
            breaks=False,
        )
        self.boxes = Stage(
            column(
                self._query(max((each["life"] for each in spaces), default=0)),
                column(
                    _name("offsets/", "the plans", mono=True),
                    part("plans", self._plans, high=FILE),
                ),
                column(sink, part("sink", self._sink, high=lanes * LANE + 2 * PAD)),
                column(
                    _name("commits/", "what is done", mono=True),
                    part("commits", self._commits, high=FILE),
                ),
                part("kills", self._kills, high=0),
                gap=STROKE,
            )
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _batches(self, place: Box, space: Space) -> dict[int, Batch]:
        """Those that are there, by number, in a box as wide as the axis. A whole plan
        is as long as it will be, so that the axis never moves.
        """
        lengths = dict(self.cast["plans"][-MOST:])
        room = place.w - 2 * PAD - APART * (len(lengths) - 1)
        scale = room / max(sum(lengths.values()), 1)
        told = {batch["number"]: batch for batch in space["batches"]}
        placed = {}
        x = place.x + PAD
        for number, records in lengths.items():
            width = max(records * scale, LEAST)
            if number in told:
                placed[number] = Batch(number, told[number], x, width)
            x += width + APART
        return placed

    # -- who works

    def _query(self, lives: int) -> Item:
        """The query with its lives, crossed out while it is dead."""

        def state(d: Drawing, places: Places, scene: Scene) -> None:
            x, y, wide, _ = places["state"]
            if _is_dead(scene["space"]) and scene["space"]["life"]:
                words = fitting(KILLED, wide, 13, bold=True)
                if words:
                    d.text("query/state", x, y + 15, words, "trouble", bold=True)

        inside = row(
            _name("the query"),
            *map(_life, range(min(lives, MOST))),
            part(
                "state",
                state,
                high=LINE,
                wanted=widest(KILLED[0], bold=True),
            ),
            gap=8,
        )
        return framed("query", inside, self._frame, pad=10)

    def _frame(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The query's card. When it is killed, a stroke goes from there down to what it
        was about, behind all that stays.
        """
        look: Look = {"fill": "wash", "line": "rule"}
        if _is_dead(scene["space"]):
            look = {"fill": "paper", "line": "trouble", "width": 3, "dash": "7 4"}
        x, y, wide, high = places["query"]
        d.rect("query", x + 2, y + 2, wide - 4, high - 4, r=8, **look)
        for kill, at in self._struck(places, scene["space"]):
            if kill.number == scene["number"]:
                key = f"kill/{kill.life}/stroke"
                look = {"line": "trouble", "width": 4, "of": kill.number}
                d.upright(key, at.x, top=y + high - 2, bottom=at.y, **look)

    # -- on the disk

    def _plans(self, d: Drawing, places: Places, scene: Scene) -> None:
        """offsets/N, and lines that say to which records its rows belong."""
        place = places["plans"]
        for batch in self._batches(place, scene["space"]).values():
            number = str(batch.number)
            begin = batch.told["begin"]
            span = f"{begin}-{batch.last}"
            words = [f"{number}: {begin} to {batch.last}", span, number]
            look: Look = {"fill": "said", "of": batch.told["planned"]}
            self._file(d, places, "plan", batch, place.y, words, **look)
            for side, x in (("from", batch.x), ("to", batch.right)):
                look = {"line": "rule", "dash": "2 3"}
                inside = places["sink"]
                key = f"plan/{number}/{side}"
                d.upright(key, x, inside.y, inside.bottom, **look)

    def _commits(self, d: Drawing, places: Places, scene: Scene) -> None:
        """commits/N; where it is missing is its place."""
        place = places["commits"]
        for batch in self._batches(place, scene["space"]).values():
            number = str(batch.number)
            committed = batch.told["committed"]
            if committed:
                look: Look = {"fill": "good", "of": committed}
                words = [f"{number}: done", number]
                self._file(d, places, "commit", batch, place.y, words, **look)
                continue
            look = {"line": "rule"}
            if _is_dead(scene["space"]):
                missing = fitting(["missing"], batch.w - 8, 12)
                look = {"line": "trouble", "ink": "trouble", "text": missing}
            look |= {"dash": "3 3", "tip": f"commits/{number}: not there"}
            box = batch.box(place.y, FILE)
            d.cell(f"commit/{number}/place", *box, fill="none", **look)

    def _file(
        self,
        d: Drawing,
        places: Places,
        key: str,
        batch: Batch,
        y: float,
        words: Sequence[str],
        **look: Any,
    ) -> None:
        """It comes from the query."""
        folder = "offsets" if key == "plan" else "commits"
        records = counted(batch.told["records"], "record")
        look |= {"line": "ink", "r": 5, "tip": f"{folder}/{batch.number}: {records}"}
        look["from_y"] = places["query"].bottom - FILE
        box = batch.box(y, FILE)
        _length(d, f"{key}/{batch.number}", box, words, box.w, mono=True, **look)

    # -- in the sink

    def _sink(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Each attempt's rows, below each other, from the same record on."""
        place = places["sink"]
        d.rect("sink", *place, line="ink", r=4, width=1.5)
        for batch in self._batches(place, scene["space"]).values():
            first = max(len(batch.attempts) - MOST_ATTEMPTS, 0)
            for number, attempt in enumerate(batch.attempts[first:]):
                whole = batch.box(_lane_y(place, number), BAR)
                _attempt(d, batch, first + number, attempt, whole)

    def _lamp(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Above the last micro-batch whose rows are there twice, if there is one."""
        space = scene["space"]
        told = _too_many(space)
        if d.phone:
            told = told.replace("rows ", "")
        right = max(
            (
                batch.right
                for batch in self._batches(places["sink"], space).values()
                if any(attempt.too_many for attempt in batch.attempts)
            ),
            default=places["lamp"].right,
        )
        name = places["the sink"]
        begin = name.x + widest("the sink", 13, bold=True) + APART
        if d.shapes["name/the sink/what"]["text"]:
            begin = name.right
        right = max(right, begin + lamp_width(told))
        d.lamp("lamp", right, places["lamp"].y, told, space["too_many"] > 0, "end")

    # -- what goes wrong

    def _struck(self, places: Places, space: Space) -> list[tuple[Killed, Point]]:
        """The kills and their places: before the rows of a micro-batch, after a part of
        them, or before the commit; of several at one place beside each other.
        """
        found: list[tuple[Killed, Point]] = []
        batches = self._batches(places["sink"], space)
        sink = places["sink"]
        for kill in map(Killed._make, space["kills"]):
            batch = batches.get(kill.batch or 0)
            if kill.batch is None or batch is None:
                continue
            if kill.when == WRITING:
                lane = min(kill.attempts, MOST_ATTEMPTS) - 1
                rows = batch.attempts[kill.attempts - 1].rows
                y = _lane_y(sink, lane) + BAR / 2
                found.append((kill, Point(batch.x + batch.length(rows), y)))
                continue
            same = (kill.batch, kill.when)
            here = [each for each, _ in found if (each.batch, each.when) == same]
            x = batch.x + batch.w * 0.7 + len(here) * 3 * REACH
            above = places["plans"] if kill.when == PLANNED else sink
            found.append((kill, Point(x, above.bottom + STROKE / 2)))
        return found

    def _kills(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The crosses of the kills, which stay."""
        for kill, (x, y) in self._struck(places, scene["space"]):
            key = f"kill/{kill.life}"
            look: Look = {"line": "trouble", "width": 4, "of": kill.number}
            look["tip"] = f"life {kill.life} ended here"
            left, right, top, bottom = x - REACH, x + REACH, y - REACH, y + REACH
            d.line(f"{key}/1", left, top, right, bottom, **look)
            d.line(f"{key}/2", left, bottom, right, top, **look)
            is_now = kill.number == scene["number"]
            words = "killed" if is_now else f"life {kill.life} ends"
            size = 13 if is_now else 12
            is_late = right + 6 + widest(words, size, bold=True) > d.width
            at, anchor = (left - 6, "end") if is_late else (right + 6, "start")
            look = {"size": size, "bold": True, "halo": "paper", "anchor": anchor}
            d.text(f"{key}/words", at, y + 5, words, "trouble", **look)


def _is_dead(space: Space) -> bool:
    return not space["alive"]


def _too_many(space: Space) -> str:
    many = space["too_many"]
    return f"{counted(many, 'row')} too many" if many else "no row too many"


def _name(words: str, what: str = "", *, mono: bool = False) -> Item:
    """The name of what is beside or below it, and what that is."""
    wide = widest(words, 13, mono=mono, bold=True)

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        x, y, room, _ = places[words]
        d.text(f"name/{words}", x, y + 15, words, bold=True, mono=mono)
        said = fitting([what], room - wide - 8, 12.5)
        d.note(f"name/{words}/what", x + wide + 8, y + 15, said)

    wanted = wide + 8 + widest(what, 12.5) if what else wide
    return part(words, draw, high=LINE, least=wide, wanted=wanted)


def _life(number: int) -> Item:
    """One of the latest lives, as a chip."""

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        now = scene["space"]["life"]
        life = max(now - MOST, 0) + number + 1
        if life > now:
            return
        x, y, *_ = places[f"life {number}"]
        words, fill, ink = f"life {life} ✗", "wash", "trouble"
        if life == now and scene["space"]["alive"]:
            words = f"life {life}"
            fill, ink = actor_colour(life - 1), ink_on_actor(life - 1)
        d.chip(f"query/life/{life}", x, y, words, fill=fill, ink=ink)

    least = widest("life 9 ✗", 12, bold=True) + 10
    return part(f"life {number}", draw, high=19, least=least)


def _lane_y(sink: Box, lane: int) -> float:
    """Where an attempt's bar begins."""
    return sink.y + PAD + lane * LANE + (LANE - BAR) / 2


def _attempt(
    d: Drawing, batch: Batch, number: int, attempt: Attempt, whole: Box
) -> None:
    key = f"sink/{batch.number}/{number}"
    wide = batch.length(attempt.rows) if attempt.rows else LEAST
    room = wide if attempt.rows else batch.w
    if attempt.rows < batch.told["records"]:
        # what an attempt has not written, or need not
        d.rect(f"{key}/whole", *whole, line="rule", r=4, dash="3 3")
        room -= REACH  # where it was killed
    rows = counted(attempt.rows, "row")
    look = _bar(attempt) | {"r": 4, "of": attempt.number, "ink": _ink(attempt)}
    look["tip"] = f"life {attempt.life}: {rows} of micro-batch {batch.number}"
    _length(d, key, whole._replace(w=wide), _words(attempt), room, **look)


def _length(
    d: Drawing,
    key: str,
    box: Box,
    words: Sequence[str],
    room: float,
    *,
    ink: str = "ink",
    mono: bool = False,
    **look: Any,
) -> None:
    """A bar as long as its records, with the longest of these words that fits."""
    d.rect(key, *box, **look)
    shown = fitting(words, room - 12, 12, mono=mono, bold=True)
    if shown:
        y = box.y + box.h / 2 + 4.5
        small: Look = {"size": 12, "mono": mono, "bold": True, "of": look.get("of")}
        d.text(f"{key}/words", box.x + 8, y, shown, ink, **small)


def _bar(attempt: Attempt) -> Look:
    """In the colour of its life; rows that were there are outlined."""
    if attempt.too_many:
        return {"fill": "paper", "line": "trouble", "width": 3}
    return {"fill": actor_colour(attempt.life - 1), "line": "none"}


def _ink(attempt: Attempt) -> str:
    if attempt.too_many:
        return "trouble"
    return ink_on_actor(attempt.life - 1) if attempt.rows else "ink"


def _words(attempt: Attempt) -> list[str]:
    """The rows that an attempt has left, in words, the longest first."""
    if not attempt.rows:
        return [f"life {attempt.life}: known, 0 more", "known: 0 more", "0"]
    rows = str(attempt.rows)
    if attempt.too_many:
        return [f"life {attempt.life}: {rows} again", f"{rows} again", f"+{rows}"]
    words = counted(attempt.rows, "row")
    return [f"life {attempt.life}: {words}", words, rows]
