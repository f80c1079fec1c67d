"""The groups that lesson 06 watches, and what it reads out of their traces.

In each run the group billing reads the topic orders. Times are those of the virtual
clock; settings are a consumer's.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from minikafka.coordinators.assignors import ASSIGNORS, Member, Partition
from minikafka.prediction import Dragged, Stretch
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event

NEWCOMER_MS = 22_000  # when D joins
RESTARTS_MS = 25_000  # when the first member of a rolling restart is closed


# --- programs ---


def sell(cluster: Any, shop: Any, partitions: int, every_s: float) -> None:
    """The shop: an order again and again, to each partition in turn."""
    number = 0
    while True:
        shop.send(
            "orders", partition=number % partitions, key=f"o-{number}", value="20 euros"
        )
        number += 1
        cluster.sleep(every_s)


def serve(consumer: Any) -> None:
    """A member that reads forever."""
    for _ in consumer:
        pass


def serve_until(closing: set[str], consumer: Any) -> None:
    """A member that reads until its name is in closing; then it is closed politely."""
    while consumer.name not in closing:
        consumer.poll(timeout_ms=1000)
    consumer.close()


# --- runs ---


def a_shop(seed: int, partitions: int, every_s: float) -> Cluster:
    """A cluster whose topic orders gets an order every `every_s` seconds."""
    cluster = Cluster(seed=seed)
    cluster.create_topic("orders", partitions=partitions)
    shop = cluster.producer(client_id="shop")
    cluster.start(sell, cluster, shop, partitions, every_s)
    return cluster


def join(cluster: Cluster, name: str, **settings: Any) -> None:
    """One more member of the group billing; it begins to read."""
    member = cluster.consumer("orders", group_id="billing", client_id=name, **settings)
    cluster.start(serve, member)


def running_group(
    names: Iterable[str], seed: int, partitions: int = 6, **settings: Any
) -> Cluster:
    """A group that has been reading for 20 seconds."""
    cluster = a_shop(seed, partitions, every_s=0.25)
    for name in names:
        join(cluster, name, **settings)
    cluster.run(seconds=20)
    return cluster


def newcomer(busy: str = "B", busy_s: float = 12, **settings: Any) -> Cluster:
    """A, B and C read. From 20 s to 22 s one of them gets orders that take it busy_s.
    At 22 s D joins.
    """
    cluster = running_group("ABC", seed=1, **settings)
    cluster.slow(busy, processing_ms=round(busy_s * 1000))  # its database gets slow,
    cluster.run(seconds=2)
    cluster.slow(busy, processing_ms=0)  # and well again, but it has an order in hand
    join(cluster, "D", **settings)
    cluster.run(seconds=busy_s + 8)
    return cluster


def busy_group(assignor: Any) -> Cluster:
    """A, B and C always have work: up to two orders a poll, a second each. At 22 s D
    joins.
    """
    settings = {
        "partition_assignment_strategy": assignor,
        "processing_ms": 1000,
        "max_poll_records": 2,
    }
    cluster = running_group("ABC", seed=3, **settings)
    cluster.run(seconds=2)
    join(cluster, "D", **settings)
    cluster.run(seconds=24)
    return cluster


def silent(at_s: float, session_s: float) -> Cluster:
    """A, B and C read. A freezes, and says nothing any more."""
    cluster = running_group("ABC", seed=2, session_timeout_ms=round(session_s * 1000))
    cluster.run(seconds=at_s - 20)
    cluster.freeze("A")
    cluster.run(seconds=session_s + 10)
    return cluster


def restarted(away_s: float, static: bool) -> Cluster:
    """A, B and C read, with the sticky assignor. C is closed after 20 s, and started
    again away_s later.
    """
    cluster = a_shop(4, partitions=6, every_s=0.5)
    programs, closing = closable(
        cluster, "ABC", static, partition_assignment_strategy="sticky"
    )
    cluster.run(seconds=20)
    restart(cluster, "C", programs["C"], closing, away_s)
    cluster.run(seconds=10)
    return cluster


def rolling_restart(
    order_s: float, away_s: float = 5, static: bool = False, **settings: Any
) -> Sequence[Event]:
    """Six members, twelve partitions; from 25 s on each member in turn is closed, and
    started again away_s later.

    order_s: how long an order takes. The trace of it all.
    """
    cluster = a_shop(6, partitions=12, every_s=1)
    settings |= {"processing_ms": order_s * 1000, "fetch_max_wait_ms": 5000}
    programs, closing = closable(cluster, "ABCDEF", static, **settings)
    cluster.run_ms(RESTARTS_MS)
    for name, program in programs.items():
        restart(cluster, name, program, closing, away_s)
        cluster.run(seconds=14)
    cluster.close()
    return cluster.trace


def closable(
    cluster: Cluster, names: str, static: bool, **settings: Any
) -> tuple[dict[str, Any], set[str]]:
    """Members that read until they are closed: their programs, and the set that closes
    whom it names.
    """
    programs, closing = {}, set[str]()
    for name in names:
        member = cluster.consumer(
            "orders",
            group_id="billing",
            client_id=name,
            group_instance_id=f"billing-{name}" if static else None,
            **settings,
        )
        programs[name] = cluster.start(serve_until, closing, member)
    return programs, closing


def restart(
    cluster: Cluster, name: str, program: Any, closing: set[str], away_s: float
) -> None:
    closing.add(name)
    cluster.run_until(lambda: not program.alive)
    cluster.run(seconds=away_s)
    closing.remove(name)
    cluster.restart(program)


# --- what a trace says ---


def changes(trace: Iterable[Event]) -> Iterator[tuple[int, int, str, bool]]:
    """Each time a member takes a partition or is rid of it: (when in ms, partition,
    member, does it take it?).
    """
    for event in trace:
        if event.kind in ("PartitionsAssigned", "PartitionsRevoked", "PartitionsLost"):
            for _, number in event.detail["partitions"]:
                yield event.at, number, event.node, event.kind == "PartitionsAssigned"


def not_read(trace: Sequence[Event], since_s: float = 20) -> dict[int, float]:
    """partition -> the seconds in which no member had it, from since_s to the end. A
    busy member has it, too.
    """
    since_ms = round(since_s * 1000)
    owners: defaultdict[int, set[str]] = defaultdict(set)
    free_at: dict[int, int] = {}
    total: Counter[int] = Counter()
    for at, number, member, takes in changes(trace):
        total[number] += 0
        if takes:
            owners[number].add(member)
            if number in free_at:
                begun = max(free_at.pop(number), since_ms)
                total[number] += max(0, at - begun)
        else:
            owners[number].discard(member)
            if not owners[number]:
                free_at[number] = at
    for number, at in free_at.items():  # to the end
        total[number] += trace[-1].at - max(at, since_ms)
    return {number: ms / 1000 for number, ms in sorted(total.items())}


def unread(partition: int, since_s: float = 20) -> Callable[..., Stretch | None]:
    """From when to when no member had one partition, as a function of a trace: the
    latest such time since then, in ms. None as long as nobody has it again.
    """
    since_ms = round(since_s * 1000)

    def latest(trace: Sequence[Event]) -> Stretch | None:
        found: Stretch | None = Stretch(since_ms, since_ms)
        free_at: int | None = None
        for at, number, _, takes in changes(trace):
            if number != partition or at < since_ms:
                continue
            if not takes:
                free_at, found = at, None
            elif free_at is not None:
                found = Stretch(free_at, at)
                free_at = None
        return found

    return latest


def moves(trace: Iterable[Event], since_s: float = 20) -> int:
    """How often a partition went to another member than the one who had it last."""
    last: dict[int, str] = {}
    count = 0
    for at, number, member, takes in changes(trace):
        if not takes:
            continue
        is_another = last.get(number, member) != member
        if is_another and at >= since_s * 1000:
            count += 1
        last[number] = member
    return count


def waited(trace: Iterable[Event], name: str) -> float:
    """The seconds from the moment a member joins until it has a partition."""
    joined = None
    for event in trace:
        if event.kind == "MemberJoined" and joined is None:
            is_hers = event.detail["client"] == name
            joined = event.at if is_hers else None
        if event.kind == "PartitionsAssigned" and event.node == name:
            if not event.detail["partitions"]:
                continue
            assert joined is not None
            return (event.at - joined) / 1000
    raise ValueError(f"{name} has no partition yet")


def sooner_or_later(than: Sequence[Event]) -> Callable[[Sequence[Event]], int]:
    """How long D waits for a partition, as a function of a trace: 1 less than in that
    other run, 2 as long, 3 longer.
    """

    def compared(trace: Sequence[Event]) -> int:
        more_s = waited(trace, "D") - waited(than, "D")
        if abs(more_s) < 1:
            return 2
        return 1 if more_s < 0 else 3

    return compared


def when_D_reads(trace: Sequence[Event]) -> int:
    """D has its partition 1 at once, 2 before B polls, 3 after that."""
    took_s = waited(trace, "D")
    if took_s > 8:
        return 3
    return 2 if took_s > 1 else 1


def after_D_asks(event: Event) -> bool:
    """The rebalance that begins when D joins, of a classic group."""
    return event.kind == "RebalanceStarted" and event.at > NEWCOMER_MS


def after_the_target(event: Event) -> bool:
    """The assignment that includes D, of a group of the newer protocol."""
    return event.kind == "AssignmentMade" and event.at > NEWCOMER_MS


def all_have_joined(event: Event) -> bool:
    """The leader shares out the partitions of the second generation."""
    return event.kind == "AssignorRan" and event.detail["generation"] == 2


def time_unread(partition: int, options_s: Sequence[float]) -> Dragged:
    """For how long nobody reads a partition; learners may drag that along its row."""
    options_ms = [1000 * option for option in options_s]
    return Dragged(unread(partition), options_ms, on=f"P{partition}")


def nearest(found: float, options: Sequence[float]) -> int:
    """The number of the option that comes nearest to what was found."""
    far = [abs(option - found) for option in options]
    return 1 + far.index(min(far))


def moved(
    assignor: str, before: Iterable[str], after: Iterable[str], partitions: int = 8
) -> int:
    """How many partitions change hands when the members change: those of members who
    left, and those of others.
    """
    assign = ASSIGNORS[assignor].assign
    topics = {"orders": partitions}
    old = assign({member: Member(("orders",)) for member in before}, topics)
    members = {}
    for name in after:
        owned = tuple(old.get(name, ()))
        members[name] = Member(("orders",), owned, generation=1)
    had, has = _owners(old), _owners(assign(members, topics))
    return sum(had[partition] != has[partition] for partition in had)


def _owners(assignment: Mapping[str, Sequence[Partition]]) -> dict[Partition, str]:
    owners = {}
    for member, partitions in assignment.items():
        owners.update(dict.fromkeys(partitions, member))
    return owners
