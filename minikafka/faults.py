"""A fault plan as data: what goes wrong, where, when, how often. Its repr is the line
to paste.

    Cluster(seed=7, faults=[Lose("producer 1", "broker 1", "Produce", answer=True),
    Crash(1, at_ms=2000)])

A node is a name as in the trace ("broker 1", "consumer 1", a program's name), or a
broker's id. Times are virtual ms. TCP loses no message by itself: where one is lost,
its connection is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

Place = str | int


def node_name(place: Place) -> str:
    return f"broker {place}" if isinstance(place, int) else place


@dataclass(frozen=True)
class Crash:
    """A process ends without a word: at a time, or (a program) when it enters its n-th
    blocking call, counted from 1.

    power: with its machine; what a broker had not synced is lost. silent: nobody is
    told, connections to a broker stay half-open.
    """

    node: Place
    at_ms: int | None = None
    call: int | None = None
    restart_after_ms: int | None = None
    power: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Freeze:
    """A process stands still, and goes on as if nothing had happened. Its connections
    stay open.
    """

    node: Place
    at_ms: int
    for_ms: int


@dataclass(frozen=True)
class Cut:
    """Nothing passes between two nodes. What was on its way arrives afterwards, as TCP
    sends it again.
    """

    one: Place
    other: Place
    at_ms: int
    for_ms: int | None = None


@dataclass(frozen=True)
class Reset:
    """All connections between two nodes break, and what is on its way is lost."""

    one: Place
    other: Place
    at_ms: int


@dataclass(frozen=True)
class Lose:
    """The n-th request of an API from a client to a broker is lost with its connection;
    answer=True: the answer is.

    times: how many in a row; chance_percent: lose each with this chance instead of
    counting.
    """

    client: Place
    broker: Place
    api: str
    nth: int = 1
    times: int = 1
    answer: bool = False
    chance_percent: int | None = None


@dataclass(frozen=True)
class Delay:
    """Messages between two nodes, in both directions, take this much longer for
    a while.
    """

    one: Place
    other: Place
    extra_ms: int
    at_ms: int = 0
    for_ms: int | None = None


@dataclass(frozen=True)
class Skew:
    """A node's wall clock is off by this many ms; negative: behind. Deadlines don't
    follow the wall clock.
    """

    node: Place
    by_ms: int


# Those that begin at a time; the others are asked for at each message or clock reading.
Timed = Crash | Freeze | Cut | Reset
Fault = Timed | Lose | Delay | Skew


class Plan:
    """The plan as the shell asks it while it runs. The shell passes the random number,
    0 <= chance < 1.
    """

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.faults = list(faults)
        for fault in self.faults:
            if not isinstance(fault, Fault):
                raise TypeError(
                    f"{fault!r} is no fault: give Crash, Freeze, Cut, Reset, Lose,"
                    " Delay or Skew from minikafka.faults"
                )
        self._seen = [0] * len(self.faults)
        self.needs_chance = any(
            isinstance(fault, Lose) and fault.chance_percent is not None
            for fault in self.faults
        )

    def timed(self) -> list[tuple[int, Timed]]:
        """The faults that begin at a time, in order."""
        found: list[tuple[int, Timed]] = []
        for fault in self.faults:
            if isinstance(fault, Timed) and fault.at_ms is not None:
                found.append((fault.at_ms, fault))
        return sorted(found, key=lambda each: each[0])

    def skew_ms(self, node: str) -> int:
        return sum(
            fault.by_ms
            for fault in self.faults
            if isinstance(fault, Skew) and node_name(fault.node) == node
        )

    def crash_at_call(self, program: str) -> int | None:
        for fault in self.faults:
            if (
                isinstance(fault, Crash)
                and fault.call is not None
                and fault.node == program
            ):
                return fault.call
        return None

    def extra_delay_ms(self, source: str, target: str, now_ms: int) -> int:
        extra = 0
        for fault in self.faults:
            if isinstance(fault, Delay) and {
                node_name(fault.one),
                node_name(fault.other),
            } == {source, target}:
                ends_at = None if fault.for_ms is None else fault.at_ms + fault.for_ms
                if fault.at_ms <= now_ms and (ends_at is None or now_ms < ends_at):
                    extra += fault.extra_ms
        return extra

    def loses(
        self, client: str, broker: str, api: str, answer: bool, chance: float
    ) -> bool:
        """Whether this message is lost. Counts it, so ask once a message."""
        lost = False
        for index, fault in enumerate(self.faults):
            if not isinstance(fault, Lose) or (fault.api, fault.answer) != (
                api,
                answer,
            ):
                continue
            if (node_name(fault.client), node_name(fault.broker)) != (client, broker):
                continue
            self._seen[index] += 1
            number = self._seen[index]
            if fault.chance_percent is not None:
                lost = lost or chance * 100 < fault.chance_percent
            else:
                lost = lost or fault.nth <= number < fault.nth + fault.times
        return lost
