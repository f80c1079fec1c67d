"""The lengths and counts in the rebalance's picture: how long a newcomer waits for its
first partition, and how long a member is silent before it is evicted.

The members concerned are found in the whole trace, so each row has its room from the
start. What the rows show is never later than the current step.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from minikafka.theatre.pictures.rebalance.cast import Actor, Cast, Part
from minikafka.theatre.play import Detail, picked
from minikafka.trace import Event

# requests after which the coordinator starts a session again
SIGNS_OF_LIFE = ("Heartbeat", "OffsetCommit", "ConsumerGroupHeartbeat")


@dataclass
class Wait:
    """The wait of a newcomer. until_ms: when it has its first partition, part, which
    giver had. rebalances: how many began meanwhile.
    """

    who: str
    since_ms: int | None = None
    until_ms: int | None = None
    part: str = ""
    giver: str = ""
    rebalances: int = 0

    def told(self) -> dict[str, Any]:
        """The wait as scenes store it."""
        return picked(self, "who", "since_ms", "until_ms", "part")

    def lasts_ms(self, at: int) -> int:
        """How long the wait has lasted so far, in ms."""
        if self.since_ms is None:
            return 0
        until_ms = at if self.until_ms is None else self.until_ms
        return until_ms - self.since_ms


@dataclass
class Silence:
    """The silence of a member. signs: when it sent signs of life. crashed_ms: when it
    died, which nobody knows. out_ms: when it was evicted. heard_ms, by: when another
    member learns of that, with its heartbeat.
    """

    who: str
    signs: list[int] = field(default_factory=list)
    crashed_ms: int | None = None
    out_ms: int | None = None
    heard_ms: int | None = None
    by: str = ""

    @property
    def node(self) -> str:
        """The node on which the silent member runs."""
        return self.who.split(" (")[0]


class Lengths:
    """Kept up to date by every event of the group."""

    def __init__(self, cast: Cast, trace: Sequence[Event], since_ms: int) -> None:
        self.cast = cast
        mine = [each for each in trace if each.detail.get("group") == cast.group]
        newcomer = _newcomer(cast, mine, since_ms)
        silent = _silent(cast, mine, since_ms)
        self.wait = Wait(newcomer.name) if newcomer else None
        self.silence = Silence(silent.name) if silent else None
        self.last: dict[Part, str] = {}  # who had it last

    def cast_json(self) -> dict[str, Any]:
        """The members that have a row in the picture."""
        return {
            "newcomer": self.wait.who if self.wait else "",
            "silent": self.silence.who if self.silence else "",
        }

    def space(self) -> dict[str, Any]:
        return {
            "wait": self.wait.told() if self.wait else None,
            "silence": asdict(self.silence) if self.silence else None,
        }

    def see(self, event: Event) -> None:
        see = getattr(self, f"_see_{event.kind}", None)
        if see is not None:
            see(event, event.detail)

    def _see_MemberJoined(self, event: Event, d: Detail) -> None:
        wait = self.wait
        if wait is None or wait.since_ms is not None:
            return
        if self.cast.members[d["member"]].name == wait.who:
            wait.since_ms = event.at

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> None:
        given = d["partitions"]
        wait = self.wait
        name = self.cast.members[d["member"]].name
        if wait and name == wait.who and given and wait.until_ms is None:
            wait.until_ms = event.at
            part = Part(*given[0])
            wait.part = self.cast.label(part)
            wait.giver = self.last.get(part, "")
        for topic, number in given:
            self.last[Part(topic, number)] = name

    def _see_RebalanceStarted(self, event: Event, d: Detail) -> None:
        wait = self.wait
        if wait and wait.since_ms is not None and wait.until_ms is None:
            wait.rebalances += 1

    def _see_RequestSent(self, event: Event, d: Detail) -> None:
        silence = self.silence
        if silence is None or silence.out_ms is not None:
            return
        if event.node == silence.node and d["api"] in SIGNS_OF_LIFE:
            silence.signs.append(event.at)

    def _see_NodeCrashed(self, event: Event, d: Detail) -> None:
        silence = self.silence
        if silence and event.node == silence.node and silence.out_ms is None:
            silence.crashed_ms = event.at

    def _see_MemberLeft(self, event: Event, d: Detail) -> None:
        silence = self.silence
        if silence is None or silence.out_ms is not None:
            return
        actor = self.cast.members.get(d["member"])
        if actor and actor.name == silence.who and _is_silent(event):
            silence.out_ms = event.at

    def _see_MemberRefused(self, event: Event, d: Detail) -> None:
        silence = self.silence
        actor = self.cast.members.get(d["member"])
        if silence is None or actor is None:
            return
        hears = d["api"] == "Heartbeat" and d["error"] == "REBALANCE_IN_PROGRESS"
        if hears and silence.out_ms is not None and silence.heard_ms is None:
            silence.heard_ms = event.at
            silence.by = actor.letter


def in_tenths(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _newcomer(cast: Cast, mine: Sequence[Event], since_ms: int) -> Actor | None:
    """The first member that joins a group that has an assignment already."""
    assigned = False
    here = set[str]()
    for event in mine:
        if event.kind == "AssignmentMade":
            assigned = True
        elif event.kind == "MemberJoined":
            actor = cast.members[event.detail["member"]]
            is_new = actor.client not in here
            if assigned and is_new and event.at >= since_ms:
                return actor
            here.add(actor.client)
    return None


def _silent(cast: Cast, mine: Sequence[Event], since_ms: int) -> Actor | None:
    """Whose session ends first; nobody, where members don't tell what they send."""
    if not cast.clients_speak:
        return None
    for event in mine:
        if event.at >= since_ms and _is_silent(event):
            return cast.members.get(event.detail["member"])
    return None


def _is_silent(event: Event) -> bool:
    """Whether a member is evicted because its session is over."""
    return event.kind == "MemberLeft" and event.detail["reason"] == "session_timeout"
