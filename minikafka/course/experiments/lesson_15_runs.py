"""Lesson 15's experiments: jobs in one partition, and workers of a consumer group or of
a share group that do them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.clients.structs import ConsumerRecord, text
from minikafka.cluster.share_batches import RecordState
from minikafka.trace import Event
from minikafka.wire.errors import Error

CONSUMER_GROUP, SHARE_GROUP = "consumer group", "share group"
TOPIC, GROUP = "jobs", "workers"
DEAD_LETTERS = "dead-letters"
# of a member of a share group: it gets one record at a time
ONE_AT_A_TIME = {"max_poll_records": 1, "share_acquire_mode": "record_limit"}

_CONFIGS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 1,
}
_JOINING_S = 10  # until all members are in the group

Work = Callable[[Cluster, Any, Callable[[Any, ConsumerRecord], None]], None]
Happens = Callable[[Cluster, Any], None]


class Poison(Exception):
    """Nobody can do this job: it ends the program that tries."""


class Done(NamedTuple):
    """Somebody has done a job. at_ms: since the jobs were sent."""

    at_ms: int
    worker: str
    job: int
    value: str
    delivery: int


@dataclass
class Ran:
    """One experiment. sent_ms: when the jobs were sent. members: name -> the last
    consumer that had it. done: what was done, in that order, as often as it was.
    """

    cluster: Cluster
    names: str
    members: dict[str, Any] = field(default_factory=dict)
    sent_ms: int = 0
    done: list[Done] = field(default_factory=list)

    def note(self, worker: Any, job: ConsumerRecord) -> None:
        """A worker has done a job."""
        at_ms = self.cluster.now_ms - self.sent_ms
        value = text(job.value) or ""
        delivery = job.delivery_count or 1
        done = Done(at_ms, worker.name[0], job.offset, value, delivery)
        self.done.append(done)

    def by_worker(self) -> dict[str, int]:
        """worker -> how many jobs it has done."""
        counts = dict.fromkeys(self.names, 0)
        for each in self.done:
            counts[each.worker] += 1
        return counts

    def deliveries(self, job: int) -> int:
        """How often members got this job."""
        count = 0
        for event in self.cluster.trace:
            if event.kind == "ShareRecordsPolled":
                offsets = [offset for offset, *_ in event.detail["records"]]
                count += offsets.count(job)
        return count

    def lines(self) -> str:
        """The jobs that were done, one line each."""
        lines = []
        for each in self.done:
            line = f"{_seconds(each.at_ms)}  {each.worker} has done {each.value}"
            if each.delivery > 1:
                line += f" (delivery {each.delivery})"
            lines.append(line)
        return "\n".join(lines)


def seconds(job: ConsumerRecord) -> float:
    """How long a job takes. Raises Poison for one that nobody can do."""
    value = text(job.value) or ""
    if value == "?":
        raise Poison(value)
    if value.endswith(" s"):
        return float(value.removesuffix(" s"))
    return 1


def do_jobs(
    work: Work,
    jobs: Iterable[float | str],
    members: str = SHARE_GROUP,
    names: str = "ABC",
    for_s: float = 15,
    then: Happens | None = None,
    **config: Any,
) -> Ran:
    """Workers with these names do jobs that come in one batch, in one partition.

    jobs: how long each takes, or its value. members: what the workers are members of.
    for_s: how long it is watched. then: what happens half a second after the jobs have
    come, to the worker that has the first one. A worker that dies of a job
    is started again.
    """
    cluster = Cluster(seed=15, configs=_CONFIGS)
    cluster.create_topic(TOPIC, partitions=1)
    cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
    ran = Ran(cluster, names)
    for name in names:
        cluster.start(_kept_alive, ran, work, members, name, config)
    cluster.run(seconds=_JOINING_S)
    ran.sent_ms = cluster.now_ms
    send(cluster, jobs)
    if then is not None:
        cluster.run_ms(500)
        then(cluster, _who_has_the_first(ran))
    cluster.run(seconds=for_s)
    return ran


def send(cluster: Cluster, jobs: Iterable[float | str]) -> None:
    """The jobs, in one batch, all with one key."""
    shop = cluster.producer(client_id="shop")
    for job in jobs:
        value = job if isinstance(job, str) else f"{job:g} s"
        shop.send(TOPIC, key="alice", value=value)
    shop.flush()
    shop.close()


def _kept_alive(
    ran: Ran, work: Work, members: str, name: str, config: dict[str, Any]
) -> None:
    """One worker: when it dies of a job, another one begins under its name."""
    cluster = ran.cluster
    while True:
        who = {"group_id": GROUP, "client_id": name, **config}
        if members == SHARE_GROUP:
            worker: Any = cluster.share_consumer(TOPIC, **who)
        else:
            who["auto_offset_reset"] = "earliest"
            worker = cluster.consumer(TOPIC, **who)
        ran.members[name] = worker
        with suppress(Poison):
            work(cluster, worker, ran.note)
        worker.close()


def _who_has_the_first(ran: Ran) -> Any:
    for event in ran.cluster.trace:
        if event.kind == "ShareRecordsPolled":
            return ran.members[event.node]
    raise LookupError("nobody got a job")


def who_can_read(cluster: Cluster) -> dict[str, int]:
    """How many of the records that a share group has processed each worker got."""
    # new ones each time, that have read nothing
    number = len(cluster.groups())
    audit, report = f"audit-{number}", f"report-{number}"
    cluster.alter_group_configs(audit, {"share.auto.offset.reset": "earliest"})
    readers = {
        "one more worker of the group": cluster.share_consumer(TOPIC, group_id=GROUP),
        "another share group": cluster.share_consumer(TOPIC, group_id=audit),
        "a consumer group": cluster.consumer(
            TOPIC, group_id=report, auto_offset_reset="earliest"
        ),
    }
    found = dict.fromkeys(readers, 0)
    for name, reader in readers.items():
        cluster.start(_count, reader, found, name)
    cluster.run(seconds=_JOINING_S)
    return found


def _count(reader: Any, found: dict[str, int], name: str) -> None:
    while True:
        for records in reader.poll(timeout_ms=1000).values():
            found[name] += len(records)


# -- the story of a share partition


def share_partition(ran: Ran) -> str:
    """What happened to the records of the share partition, one line each: which worker
    got it, as which delivery, its outcome, and where the partition begins.
    """
    names: dict[str, str] = {}
    lines = []
    for event in ran.cluster.trace:
        if event.kind == "MemberStateChanged" and event.detail.get("member"):
            names[event.detail["member"]] = event.node[0]
        if event.at < ran.sent_ms or event.kind not in SAYS:
            continue
        when = _seconds(event.at - ran.sent_ms)
        for line in SAYS[event.kind](event, names):
            lines.append(f"{when}  {line}")
    return "\n".join(lines)


def _acquired(event: Event, names: dict[str, str]) -> Iterator[str]:
    for first, last, count in event.detail["batches"]:
        who = names[event.detail["member"]]
        yield f"{who} acquires {_offsets(first, last)}, delivery {count}"


def _acknowledged(event: Event, names: dict[str, str]) -> Iterator[str]:
    """Whole batches, also where each record has its own state."""
    for first, last, state in _joined(event.detail["batches"]):
        words = BECOMES[RecordState(state)]
        yield f"{_offsets(first, last)}: {words}"


def _ended(event: Event, names: dict[str, str]) -> Iterator[str]:
    for first, last, state in _joined(event.detail["batches"]):
        words = BECOMES[RecordState(state)]
        yield f"the lock of {_offsets(first, last)} expires: {words}"


def _refused(event: Event, names: dict[str, str]) -> Iterator[str]:
    if event.detail["error"] == Error.NONE.name:
        return
    for first, last, said in event.detail["batches"]:
        what = f"{event.node[0]} {said}s {_offsets(first, last)}"
        yield f"{what}: too late ({event.detail['error']})"


def _moved(event: Event, names: dict[str, str]) -> Iterator[str]:
    yield f"the start offset (SPSO) moves to {event.detail['offset']}"


SAYS: dict[str, Callable[[Event, dict[str, str]], Iterator[str]]] = {
    "ShareRecordsAcquired": _acquired,
    "ShareRecordsAcknowledged": _acknowledged,
    "ShareLocksEnded": _ended,
    "ShareRecordsSaid": _refused,
    "ShareStartOffsetMoved": _moved,
}
BECOMES = {
    RecordState.AVAILABLE: "available again",
    RecordState.ACKNOWLEDGED: "accepted",
    RecordState.ARCHIVED: "archived",
}


def _joined(batches: Sequence[Sequence[int]]) -> list[list[int]]:
    """(first, last, state) of neighbours that have become the same."""
    joined: list[list[int]] = []
    for first, last, state, _ in batches:
        if joined and joined[-1][1:] == [first - 1, state]:
            joined[-1][1] = last
        else:
            joined.append([first, last, state])
    return joined


def _offsets(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {last}"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:5.1f} s"
