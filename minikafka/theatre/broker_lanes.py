"""The lanes of brokers on the axis of time: how long each was away, and who led, or for
how long nobody did.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.actors import ink_on_actor
from minikafka.theatre.axis import Scene, Span, spans
from minikafka.theatre.nodes import colour, name_of
from minikafka.theatre.time_lanes import Bar, TimeLane, gone


class Leads(NamedTuple):
    """The leader: broker -1 means that there is none. life: what is wrong with the
    broker, if anything.
    """

    broker: int
    life: str = ""
    epoch: int | None = None


NOBODY = Leads(-1)


def lasted(span: Span) -> str:
    """How long it was so, in words."""
    ms = span.end_ms - span.begin_ms
    return f"{ms} ms" if ms < 100 else f"{ms / 1000:.1f} s"


def broker_lane(
    scenes: Sequence[Scene],
    among: str,
    number: int,
    leads: Callable[[dict[str, Any]], str] = lambda _: "",
) -> TimeLane:
    """How long a broker led, as it believed (leads: in words, or ""), and was away.
    among, number: the list in a scene's space that it is in, and its place there.
    """

    def of(scene: Scene) -> dict[str, Any]:
        shown: dict[str, Any] = scene["space"][among][number]
        return shown

    def state(scene: Scene) -> tuple[str, str]:
        life = of(scene)["life"]
        return life, "" if life else leads(of(scene))

    broker = of(scenes[-1])["broker"]
    bars = []
    for span in spans(scenes, state):
        life, words = span.what
        if life:
            bars.append(gone(span, [f"{life}, {lasted(span)}", lasted(span)]))
        elif words:
            bars.append(_leads(span, broker, [words]))
    name = name_of(broker)
    return TimeLane(name, name, bars, colour(broker))


def leader_lane(
    name: str,
    scenes: Sequence[Scene],
    leads: Callable[[Scene], Leads],
    key: str = "leader",
) -> TimeLane:
    """The lane of the leader, in the leader's colour; hatched while there is none
    because the leader is away.
    """
    bars = []
    for span in spans(scenes, leads):
        leader: Leads = span.what
        broker = f"broker {leader.broker}"
        if leader.life:
            lasts = f"nobody leads, {lasted(span)}"
            why = f"{broker} {leader.life}"
            ways = [lasts, f"no leader, {lasted(span)}", lasted(span)]
            bars.append(gone(span, [f"{lasts}: {why}", *ways]))
        elif leader.broker >= 0:
            words = [broker, str(leader.broker)]
            if leader.epoch is not None:
                words.insert(0, f"{broker}, epoch {leader.epoch}")
            bars.append(_leads(span, leader.broker, words))
    return TimeLane(key, name, bars)


def _leads(span: Span, broker: int, words: Sequence[str]) -> Bar:
    """A bar in the broker's colour."""
    ink = ink_on_actor(broker - 1)
    return Bar(span, words, words[0], fill=colour(broker), ink=ink)
