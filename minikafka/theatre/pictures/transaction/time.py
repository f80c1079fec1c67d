"""The transaction's lanes, on one axis to scale: for how long it was open, which records
nobody could count on meanwhile, and how long each reader waited.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from minikafka.theatre.actors import actor_colour, ink_on_actor
from minikafka.theatre.axis import Scene, Span, Time, spans
from minikafka.theatre.broker_lanes import lasted
from minikafka.theatre.pictures.transaction.cast import READ_COMMITTED
from minikafka.theatre.pictures.transaction.log import Record
from minikafka.theatre.play import Cast
from minikafka.theatre.time_lanes import Bar, TimeLane, gone

Rows = list[TimeLane]
LaneOf = Callable[[Sequence[Scene]], TimeLane]  # the lane of the scenes so far


class Look(NamedTuple):
    """The look of a bar for a state."""

    fill: str
    line: str = "none"
    ink: str = "ink"


LOOKS = {
    "Empty": Look("paper", "rule"),
    "Ongoing": Look("said", "saidline"),
    "PrepareCommit": Look("good", "ink"),
    "PrepareAbort": Look("trouble", ink="paper"),
    "CompleteCommit": Look("good"),
    "CompleteAbort": Look("chip"),
}
WAITS, LATER = Look("hatch", "quiet"), Look("ink", "ink", "paper")
SHORT = 1 / 40  # of the axis: what is longer is seen there
# what is shown of a producer, and is no trouble
AT_WORK = ("", "idle", "open", "closed")


def burst(scenes: Sequence[Scene], time: Time) -> Time | None:
    """The end of the story, from the decision until every marker is there, where that
    is too short to be seen.
    """
    states = [scene["space"]["state"] for scene in scenes]
    decided = [n for n, state in enumerate(states) if state.startswith("Prepare")]
    if not decided:
        return None
    first_ms = scenes[decided[0]]["at"]
    lasts_ms = time.last_ms - first_ms
    whole_ms = time.last_ms - time.first_ms
    if not lasts_ms or lasts_ms > whole_ms * SHORT:
        return None
    chapters = [each for each in time.chapters if each.at_ms >= first_ms]
    return Time(first_ms, time.last_ms, chapters)


def lanes(cast: Cast, story: Sequence[Scene]) -> Callable[[Sequence[Scene]], Rows]:
    """The lanes of the scenes so far: producers, the coordinator, partitions, and the
    reader of committed records. If it waits for exactly one record of each partition,
    these have a lane each instead, under their partition's. A single producer that is
    never in trouble has none, as the state tells the same.
    """
    found: list[LaneOf] = []
    producers = cast["producers_shown"]
    for number, name in enumerate(producers):
        lives = {_life(number, scene) for scene in story}
        if len(producers) > 1 or not lives <= {*AT_WORK}:
            found.append(partial(_producer, number, name))
    found.append(_coordinator)
    readers = []
    of_record: dict[int, list[LaneOf]] = {}
    for side, (name, level) in enumerate(cast["levels"].items()):
        if level != READ_COMMITTED:
            continue
        waits = [each for scene in story for each in scene["space"]["waits"][side]]
        records = {log: [log, offset] for log, offset in waits}
        if len(records) > 1 and all(each in records.values() for each in waits):
            for log, each in records.items():
                lane = partial(_record, side, each, list(records.values()))
                of_record.setdefault(log, []).append(lane)
        else:
            readers.append(partial(_reader, side, name))
    for place, part in enumerate(cast["parts"]):
        found += [partial(_part, place, part), *of_record.get(place, [])]
    found += readers
    return lambda up_to: [lane(up_to) for lane in found]


def _life(number: int, scene: Scene) -> str:
    """A producer's state, as its card says it."""
    *_, now = scene["space"]["producers"][number]
    return str(now)


def _producer(number: int, name: str, scenes: Sequence[Scene]) -> TimeLane:
    """How long it had a transaction open, or was not what it should be."""
    colour = actor_colour(number)
    ink = ink_on_actor(number)
    bars = []
    for span in spans(scenes, partial(_life, number)):
        words = _words(span, span.what)
        if span.what == "open":
            words.insert(0, f"transaction open, {lasted(span)}")
            bars.append(Bar(span, words, words[0], fill=colour, ink=ink))
        elif span.what not in AT_WORK:
            bars.append(gone(span, words))
    _, epoch, now = scenes[-1]["space"]["producers"][number]
    return TimeLane(
        key=f"producer {name}",
        name=name if now else "",
        bars=bars,
        colour=colour,
        number=f"epoch {epoch}" if epoch >= 0 else "",
        trouble=now in ("zombie", "fenced"),
    )


def _coordinator(scenes: Sequence[Scene]) -> TimeLane:
    """How long the transaction was in each of its states."""
    bars = []
    for span in spans(scenes, lambda scene: scene["space"]["state"]):
        if span.what in LOOKS:
            words = _words(span, span.what)
            look = LOOKS[span.what]._asdict()
            bars.append(Bar(span, words, words[0], **look))
    space = scenes[-1]["space"]
    is_told = len(space["producers"]) > 1 and space["state"]  # else beside its name
    epoch = f"epoch {space['epoch']}" if is_told else ""
    return TimeLane(
        key="coordinator", name="state", bars=bars, colour="ink", number=epoch
    )


def _part(place: int, part: str, scenes: Sequence[Scene]) -> TimeLane:
    """How long it held records of an open transaction."""

    def holds(scene: Scene) -> bool:
        log = scene["space"]["logs"][place]
        return any(Record(*each).state == "open" for each in log["records"])

    bars = _while(scenes, holds, "said", "open records")
    return TimeLane(key=f"log {part}", name=part, bars=bars)


def _reader(side: int, name: str, scenes: Sequence[Scene]) -> TimeLane:
    """How long there was something that it had not been handed."""

    def waits(scene: Scene) -> bool:
        return bool(scene["space"]["waits"][side])

    bars = _while(scenes, waits, "hatch", "waits")
    _, found = scenes[-1]["space"]["readers"][side]
    return TimeLane(
        key=f"reader {name}",
        name=name,
        bars=bars,
        colour="ink",
        number=f"{len(found)} read",
    )


def _record(
    side: int,
    place: Sequence[int],
    others: Sequence[Sequence[int]],
    scenes: Sequence[Scene],
) -> TimeLane:
    """How long a reader had not been handed it; and since when it had another one.
    place: its log and offset. others: the places of all that have such a lane.
    """

    def waits(scene: Scene) -> str:
        if place not in scene["space"]["waits"][side]:
            return ""
        _, found = scene["space"]["readers"][side]
        return "later" if any(read[:2] in others for read in found) else "waits"

    bars = []
    for span in spans(scenes, waits):
        if span.what:
            look = LATER if span.what == "later" else WAITS
            words = [f"{lasted(span)} later", lasted(span)]
            if look is WAITS:
                words = _words(span, span.what)
            bars.append(Bar(span, words, words[0], **look._asdict()))
    log, offset = place
    space = scenes[-1]["space"]
    records = [Record(*each) for each in space["logs"][log]["records"]]
    texts = [each.text for each in records if each.offset == offset]
    return TimeLane(
        key=f"read {log}/{offset}",
        name="".join(texts),
        bars=bars,
        colour="ink",
    )


def _while(
    scenes: Sequence[Scene], holds: Callable[[Scene], bool], fill: str, words: str
) -> list[Bar]:
    """A bar for each time in which it was so."""
    bars = []
    for span in spans(scenes, holds):
        if span.what:
            said = _words(span, words)
            line = "quiet" if fill == "hatch" else "saidline"
            bars.append(Bar(span, said, said[0], fill=fill, line=line))
    return bars


def _words(span: Span, what: Any) -> list[str]:
    """The first that have room stand in the bar."""
    return [f"{what}, {lasted(span)}", str(what), lasted(span)]
