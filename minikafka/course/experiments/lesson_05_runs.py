"""Lesson 05's groups: members that only read, and a careful pair that pays orders; and
what a trace says about them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any

from minikafka.course.experiments.from_trace import of_kind
from minikafka.faults import Fault, Freeze
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

GONE_AFTER_S = 15
_KILLED_MS = 15_019  # the members have connected before
SIGNS_OF_LIFE = {"Heartbeat": "heartbeat", "OffsetCommit": "commit"}


def read(consumer: Any) -> None:
    """The program of a member that only reads. It ends when its consumer is closed."""
    for _ in consumer:
        pass


def start_members(
    cluster: Cluster, names: Iterable[object], group: str = "billing", **settings: Any
) -> dict[str, Any]:
    """One consumer of orders for each name, all in this group, each with its own
    running program: {name: consumer}.
    """
    members = {}
    for name in map(str, names):
        members[name] = cluster.consumer(
            "orders",
            group_id=group,
            client_id=f"consumer {name}",
            auto_offset_reset="earliest",
            **settings,
        )
        cluster.start(read, members[name])
    return members


def sell(cluster: Cluster, shop: Any, seconds: int) -> None:
    """One order a second, with a key of its own."""
    for number in range(seconds):
        shop.send("orders", key=f"o-{number}", value="20 euros")
        cluster.run(seconds=1)


def shares(cluster: Cluster, group: str = "billing") -> str:
    """The partitions assigned to each member, according to the coordinator: "0 1 | 2 |
    nothing".
    """
    given = []
    for member in cluster.group(group).members:
        given.append([partition.partition for partition in member.partitions])
    given.sort(key=lambda numbers: (not numbers, numbers))
    words = [" ".join(map(str, numbers)) for numbers in given]
    return " | ".join(each or "nothing" for each in words)


def gone(
    what_happens: Callable[[Cluster, Any], None],
    seconds: int = 80,
    later_s: float = 0,
    **settings: Any,
) -> Cluster:
    """A and B read a partition each, an order comes in every second. After 15 s, or
    later, this happens to A.
    """
    cluster = Cluster(seed=6)
    cluster.create_topic("orders", partitions=2)
    shop = cluster.producer(client_id="shop")
    members = start_members(cluster, "AB", **settings)
    sell(cluster, shop, GONE_AFTER_S)
    cluster.run(seconds=later_s)
    what_happens(cluster, members["A"])
    sell(cluster, shop, seconds)
    return cluster


def says_goodbye() -> Cluster:
    """A is closed; B has just sent a heartbeat."""
    return gone(lambda cluster, a: a.close(), later_s=0.1)


def killed(session_s: float = 45) -> Cluster:
    """A is killed."""
    return gone(lambda cluster, a: cluster.crash(a), **_session(session_s))


def frozen(seconds: float, session_s: float = 45) -> Cluster:
    """A stands still, and then goes on."""
    return gone(
        lambda cluster, a: cluster.freeze(a, seconds=seconds), **_session(session_s)
    )


def stuck(seconds: float) -> Cluster:
    """A's next order takes so long. Its heartbeats go on."""
    return gone(
        lambda cluster, a: cluster.slow(a, processing_ms=round(seconds * 1000)),
        seconds=round(seconds) - 10,
    )


def _session(seconds: float) -> dict[str, int]:
    return {"session_timeout_ms": round(seconds * 1000)}


def rebalances(cluster: Cluster) -> int:
    """How many there were after the group's first assignment."""
    generation: int = cluster.group("billing").generation
    return generation - 1


def after_the_kill(event: Event) -> bool:
    """The moments after `killed` has killed A."""
    return event.at > _KILLED_MS


def when_it_was_evicted(trace: Iterable[Event]) -> int | None:
    """When the coordinator evicts A: 1 as soon as it is killed, 2 about 42 s later, 3
    about 45 s later.
    """
    for event in trace:
        if event.kind == "MemberLeft" and after_the_kill(event):
            after_s = (event.at - _KILLED_MS) / 1000
            return 1 if after_s < 20 else 2 if after_s < 44 else 3
    return None


def when_B_took_over(cluster: Cluster) -> int:
    """When B has A's partition: 1 after about 45 s, 2 after about 300 s, 3 later."""
    waited_ms = worst_wait_ms(cluster.trace)
    return 1 if waited_ms < 100_000 else 2 if waited_ms < 320_000 else 3


def what_the_fourth_got(trace: Iterable[Event]) -> int | None:
    """The share of D: 2 nothing, 3 a partition that somebody else has as well, 1 a
    partition of its own.
    """
    for event in trace:
        if event.kind == "AssignmentMade":
            shares = event.detail["assignment"]
            every = [tuple(each) for share in shares.values() for each in share]
            [own] = [share for name, share in shares.items() if "consumer D" in name]
            if not own:
                return 2
            return 3 if any(every.count(tuple(each)) > 1 for each in own) else 1
    return None


def a_generation_begins(event: Event) -> bool:
    """All have joined, and nobody has a partition yet."""
    return event.kind == "GenerationBegan"


def wakes_up(asleep: Freeze) -> Callable[[Event], bool]:
    """The moments after a freeze."""
    awake_ms = asleep.at_ms + asleep.for_ms
    return lambda event: event.at > awake_ms


def what_happened_to(order: str, asleep: Freeze) -> Callable[[Sequence[Event]], int]:
    """Of a member that pays an order and commits after a freeze, as a function of a
    trace: 1 it is paid once, 2 twice and the commit is refused, 3 twice and the commit
    is acknowledged.
    """
    member, awake_ms = str(asleep.node), asleep.at_ms + asleep.for_ms
    return lambda trace: 1 + afterwards(trace, order, member, awake_ms)


def worst_wait_ms(
    trace: Iterable[Event], since_ms: int = GONE_AFTER_S * 1000 - 1000
) -> int:
    """How long the unluckiest of the orders lay in the log until a consumer had it; of
    those written since then.

    An order that nobody has had counts for nothing: the run must be long enough.
    """
    written: dict[tuple[int, int], int] = {}
    waited = [0]
    for event in trace:
        told = event.detail
        is_late_enough = event.at >= since_ms
        if event.kind == "RecordsAppended" and told["topic"] == "orders":
            if is_late_enough:
                written[told["partition"], told["last_offset"]] = event.at
        elif event.kind == "RecordsPolled":
            for offset, *_ in told["records"]:
                at = written.pop((told["partition"], offset), None)
                if at is not None:
                    waited.append(event.at - at)
    return max(waited)


def pay_with(program: Callable[..., None], faults: Sequence[Fault]) -> Cluster:
    """An order a second for 100 s, in turn to two partitions; two members pay them by
    this program.

    The program gets its consumer, the table payments and a function to wait for some
    seconds. It is called again when Kafka refuses one of its requests.
    """

    @wraps(program)
    def again_and_again(*given: Any) -> None:
        while True:
            with suppress(KafkaError):
                return program(*given)

    cluster = Cluster(seed=5, faults=faults)
    cluster.create_topic("orders", partitions=2)
    shop = cluster.producer(client_id="shop")
    for name in ("consumer A", "consumer B"):
        member = cluster.consumer(
            "orders",
            group_id="billing",
            client_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        cluster.start(again_and_again, member, cluster.table("payments"), cluster.sleep)
    for number in range(100):
        shop.send("orders", key=f"o-{number}", value="20 euros", partition=number % 2)
        cluster.run(seconds=1)
    return cluster


def paid_twice(trace: Iterable[Event]) -> list[str]:
    """The orders that were written to the table more than once."""
    written = Counter(
        event.detail["key"] for event in trace if event.kind == "EffectWritten"
    )
    return [key for key, times in written.items() if times > 1]


def afterwards(trace: Iterable[Event], order: str, member: str, since_ms: int) -> int:
    """What happens to an order that a member pays and commits later than since_ms.

    0: it is paid once. 1: it is paid twice, and the commit fails. 2: it is paid twice,
    and the commit is acknowledged.
    """
    trace = list(trace)
    told = [event for event in trace if event.node == member and event.at > since_ms]
    kinds = [event.kind for event in told]
    outcomes = ("CommitFailed", "CommitAcknowledged")
    first = next(kind for kind in kinds if kind in outcomes)
    if order not in paid_twice(trace):
        return 0
    return 1 if first == "CommitFailed" else 2


def refused_commits(trace: Iterable[Event]) -> list[str]:
    """The errors that commits were answered with."""
    return [event.detail["error"] for event in trace if event.kind == "CommitFailed"]


def signs_of_life(trace: Iterable[Event], member: str) -> list[tuple[int, str]]:
    """The requests of a member that the coordinator counts as signs of life: (when in
    ms, "heartbeat" or "commit").
    """
    signs = []
    for event in trace:
        if event.kind == "RequestSent" and event.node == member:
            api = event.detail["api"]
            if api in SIGNS_OF_LIFE:
                signs.append((event.at, SIGNS_OF_LIFE[api]))
    return signs


def who_decided(trace: Iterable[Event]) -> str:
    """The maker of a group's first assignment, in the words of lesson 05's options."""
    made = next(filter(of_kind("AssignmentMade"), trace))
    if made.detail["by"] == "coordinator":
        return "the coordinator, a broker"
    return "one of the two consumers"
