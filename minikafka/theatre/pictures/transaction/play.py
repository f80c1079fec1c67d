"""The transaction timeline: the requests to the coordinator, its state, the partitions
with their markers and gates, and the records that two readers are given or wait for.

From top to bottom: the coordinator decides, producers ask it and write below
themselves, and their records go on to the readers. Option: transactional_id; without
it, the one with the most events.
"""

from collections.abc import Sequence
from typing import Any

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
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    Part,
    fitting,
    widest,
)
from minikafka.theatre.lanes import captions_wide
from minikafka.theatre.pictures.transaction.rows import (
    APART,
    Rows,
    caption,
    waits_words,
)
from minikafka.theatre.pictures.transaction.story import (
    Asked,
    GroupOffset,
    TransactionStory,
)
from minikafka.theatre.pictures.transaction.time import burst, lanes
from minikafka.theatre.play import Play, Space
from minikafka.theatre.time_lanes import TimeLanes

# the way of a transaction, in columns; from each of them an arrow to the next
STATES = (
    ("Ongoing", "Empty"),
    ("PrepareCommit", "PrepareAbort"),
    ("CompleteCommit", "CompleteAbort"),
)
STATE, LINE, ARROW = 20, 26, 22  # height of a state, of a line of them; between two
# of a producer; whatever else it may be is trouble
CHIPS = {"open": ("said", "ink"), "idle": ("chip", "ink"), "closed": ("chip", "ink")}
# ink of a group's offset by its state; else ink
OFFSET_INKS = {"pending": "quiet", "dropped": "trouble"}
MOST_OF_CAPTIONS = 132  # width
LEAST_OF_A_NAME, MOST_OF_A_NAME = 60, 150  # of a producer
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
        return ""  # the state and the epoch are in the picture

    def summary(self, space: Space) -> str:
        said = [f"coordinator: {space['state'] or 'nothing yet'}"]
        for name, epoch, life in space["producers"]:
            if life:
                said.append(f"{name}: epoch {epoch}, {life}")
        for name, log in zip(self.cast["parts"], space["logs"], strict=True):
            end = log["end"]
            last_stable = log["last_stable_offset"]
            said.append(
                f"{name}: log end offset {end}, last stable offset {last_stable}"
            )
        for (name, found), waits in zip(space["readers"], space["waits"], strict=True):
            values = [value for _, _, value, *_ in found]
            what = " ".join(values) or "nothing"
            waiting = f", {waits_words(waits)}" if waits else ""
            said.append(f"{name} has read {what}{waiting}")
        return "; ".join(said)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        levels = self.cast["levels"]
        shown = self.cast["producers_shown"]
        names = ["coordinator", *shown, *self.cast["parts"], *levels]
        left = captions_wide(names, MOST_OF_CAPTIONS) + APART
        rows = Rows(self.cast, scenes, shown, left, lambda told, n: told["waits"][n])
        time = TimeLanes(scenes, self.time, burst(scenes, self.time))
        up_to = lanes(self.cast, scenes)
        self.boxes = Stage(
            column(
                row(*_coordinator(scenes, left), gap=APART),
                row(*[_producer(n, scenes) for n in range(len(shown))], gap=14),
                *rows.logs(),
                *[self._reader(rows, side) for side in range(len(levels))],
                time.box(scenes, up_to, left),
                gap=2,
            )
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _reader(self, rows: Rows, side: int) -> Item:
        """Its name before what it was handed."""
        name, level = list(self.cast["levels"].items())[side]
        key = f"reader/{side}"

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[f"reader {side}"]
            strip = place._replace(x=place.x + rows.left - 6, w=place.w - rows.left + 6)
            d.rect(key, *strip, fill="wash", r=6)
            short = level.removeprefix("read_")
            said = fitting([level, short], rows.left - APART, 12)
            if name in (level, short):  # who has its name says it
                caption(d, key, name, rows.left, place.y + 20)
            else:
                caption(d, key, name, rows.left, place.y + 12)
                caption(d, f"{key}/level", said, rows.left, place.y + 27, plain=True)

        inside = row(space(rows.left - 3), rows.handed(side), breaks=False)
        return framed(f"reader {side}", inside, draw, pad=3)


def _coordinator(scenes: Sequence[Scene], left: float) -> list[Item]:
    """Its name, the way of a transaction with the state that it is in, and the offsets
    of a group that are part of it.
    """
    wanted = [max(map(_chip_width, states)) + 8 for states in STATES]
    arrows = 2 * ARROW

    def name(d: Drawing, places: Places, scene: Scene) -> None:
        caption(d, "coordinator", "coordinator", left, places["coordinator"].y + 14)

    def states(d: Drawing, places: Places, scene: Scene) -> None:
        x, top, room, _ = places["states"]
        share = (room - arrows) / sum(wanted)
        wide = [each * share for each in wanted]
        for number, each in enumerate(STATES):
            for line, state in enumerate(each):
                box = Box(x, top + LINE * line, wide[number], STATE)
                _state(d, box, state, is_now=state == scene["space"]["state"])
            x += wide[number] + ARROW
        x, middle = places["states"].x + wide[0], top + STATE / 2
        look: Look = {"line": "rule", "width": 1.5}
        begun = x - wide[0] / 2
        d.arrow("state/arrow/0", begun, top + LINE, begun, top + STATE, **look)
        first, last = x + 3, x + ARROW - 3
        d.arrow("state/arrow/1", first, middle, last, middle, **look)
        d.arrow("state/arrow/2", first, middle + 4, last, middle + LINE - 2, **look)
        first, last = (each + ARROW + wide[1] for each in (first, last))
        d.arrow("state/arrow/3", first, middle, last, middle, **look)
        d.arrow("state/arrow/4", first, middle + LINE, last, middle + LINE, **look)

    def offsets(d: Drawing, places: Places, scene: Scene) -> None:
        told = scene["space"]["offsets"]
        if told:
            x, y, room, _ = places["offsets"]
            ink = OFFSET_INKS.get(GroupOffset(*told).state, "ink")
            d.text("offsets", x, y + 13, _offset_words(told), ink, size=12, room=room)

    told = [
        _offset_words(each) for scene in scenes if (each := scene["space"]["offsets"])
    ]
    most = max([widest(words, 12) for words in told], default=0)
    boxes = [
        part("coordinator", name, high=18, least=left - APART),
        part(
            "states",
            states,
            high=LINE + STATE,
            least=sum(wanted) * LEAST_STRETCH + arrows,
            wanted=sum(wanted) + arrows,
        ),
    ]
    if told:
        least = min(most, 200)
        boxes.append(part("offsets", offsets, high=18, least=least, wanted=most))
    return boxes


def _state(d: Drawing, box: Box, state: str, *, is_now: bool) -> None:
    fill, ink, line = "wash", "quiet", "rule"
    if is_now:
        fill, ink, line = "said", "ink", "ink"
        if "Abort" in state:
            fill, ink = "trouble", "paper"
        elif "Commit" in state:
            fill = "good"
    d.boxed(f"state/{state}", *box, state, fill=fill, ink=ink, line=line, bold=False)


def _offset_words(told: Sequence[Any]) -> str:
    """The offsets that a transaction commits for a group, and whether they count."""
    each = GroupOffset(*told)
    return f"group {each.group}: {each.part} at {each.offset}, {each.state}"


def _producer(number: int, scenes: Sequence[Scene]) -> Item:
    """Its name, its epoch, what has become of it, and what it asks just now: an arrow up
    to the coordinator, or down to where it writes.
    """
    every = [scene["space"]["producers"][number] for scene in scenes]
    name = max([widest(name, 13, bold=True) for name, *_ in every], default=0)
    epoch = max([widest(_epoch(epoch), 12) for _, epoch, _ in every], default=0)
    life = max([_chip_width(life) for *_, life in every], default=0)
    asked = [Asked(*asks) for scene in scenes if (asks := scene["space"]["asks"])]
    asks = max([widest(each.api, 12, mono=True) for each in asked], default=0)
    key = f"producer/{number}"

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        who, its_epoch, now = scene["space"]["producers"][number]
        if not now:
            return
        place = places[f"producer {number}"]
        of_it = d.part(key, place.x, place.y)
        of_it.disc("disc", 12, 13, 11, who[:1].upper(), number, 13)
        room = max(place.w - 30 - rest, LEAST_OF_A_NAME)
        of_it.text("name", 30, 18, who, bold=True, room=room)
        x = 38 + min(room, widest(who, 13, bold=True))
        of_it.note("words", x, 18, _epoch(its_epoch), size=12)
        fill, ink = CHIPS.get(now, ("trouble", "paper"))
        x += widest(_epoch(its_epoch), 12) + 6
        x += of_it.chip("chip", x, 4, now, fill=fill, ink=ink) + 10
        told = scene["space"]["asks"]
        if told and told[0] == who and Asked(*told).number == scene["number"]:
            _asks(of_it, x, Asked(*told))

    rest = epoch + life + asks + 40
    shown = min(name + 8, MOST_OF_A_NAME)
    least = rest + 30 + min(shown, LEAST_OF_A_NAME)
    return part(
        f"producer {number}", draw, high=27, least=least, wanted=rest + 30 + shown
    )


def _asks(producer: Part, x: float, asks: Asked) -> None:
    begin, end = (0, 30) if asks.api == WRITES else (24, -6)
    tip = f"{asks.api}, to {asks.of_whom}"
    look: Look = {"line": "ink", "width": 2, "of": asks.number, "tip": tip}
    producer.arrow("asks", x, begin, x, end, **look)
    small: Look = {"size": 12, "mono": True, "of": asks.number}
    room = producer.whole.width - producer.x - x - 9
    words = fitting([asks.api], room, 12, mono=True)
    producer.text("asks/words", x + 9, 18, words, **small)


def _epoch(epoch: int) -> str:
    return f"epoch {epoch}" if epoch >= 0 else "no epoch yet"


def _chip_width(word: str) -> float:
    return widest(word, 12, bold=True) + 10
