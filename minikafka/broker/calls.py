"""A request on its way through the node, who sent it, and how it is refused where its
handler knows no better.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.config import InForce, Random
from minikafka.broker.damage import DamagedReplicas
from minikafka.broker.effects import Connection, Effect
from minikafka.broker.fetch_sessions import FetchSessions
from minikafka.broker.forwarding import Forwarding
from minikafka.broker.internal_topics import InternalTopics
from minikafka.broker.isr import IsrChanges
from minikafka.broker.lifecycle import Lifecycle
from minikafka.broker.loggers import Loggers
from minikafka.broker.peers import Peers
from minikafka.broker.ports import CONTROLLER_LISTENER as CONTROLLER_LISTENER
from minikafka.broker.ports import HearsOfReplicas, Node
from minikafka.broker.ports import Split as Split
from minikafka.broker.registration import Registration
from minikafka.broker.replica_fetcher import ReplicaFetcher
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.sharing import Sharing
from minikafka.broker.throttling import Throttling
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer, Waiting
from minikafka.coordinators.coordinator import GroupCoordinator, TransactionCoordinator
from minikafka.coordinators.transaction_requests import Joins
from minikafka.coordinators.transaction_states import TopicPartition
from minikafka.storage.disk import Space
from minikafka.storage.producer_state import Guard
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import Encoded
from minikafka.wire.schema import Message

Named = TypeVar("Named")

MOST_TIMES = 20  # that one request has one thing described
OF_MEMBERS = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetDelete",
    "ConsumerGroupHeartbeat",
    "ShareGroupHeartbeat",
    "StreamsGroupHeartbeat",
)


@dataclass(slots=True)
class Client:
    """One connection as the broker sees it. lets_in: its next request may come before
    the last one is answered. asked, answered: how many requests. early: what became of
    one whose turn to be answered hasn't come, by its number. muted_until_ms: monotonic,
    before which none of its requests is served.
    """

    listener: str
    host: str
    client_id: str | None = None
    lets_in: bool = False
    asked: int = 0
    answered: int = 0
    muted_until_ms: int = 0
    early: dict[int, Effect] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Itself:
    """In the place of a connection: a node asks itself, and hears the answer here."""

    then: Callable[[Message | None, Now], None]


class Parks(Protocol):
    """Where requests wait."""

    waiting: Waiting

    @property
    def is_busy(self) -> bool:
        """Whether something is left to do at once."""

    def moved(self, key: tuple[Any, ...], size_bytes: int) -> None:
        """Tell those that wait for a key that something arrived under it."""


class Broker(Node, Protocol):
    """What handlers may touch of the node: all of its parts. outbox: what shells carry
    out. descriptions: of topics in this image, as Metadata tells them.
    """

    random: Random
    outbox: list[Effect]
    life: Lifecycle
    loggers: Loggers
    in_force: InForce
    descriptions: dict[Hashable, Encoded]
    fetch_sessions: FetchSessions
    active_controller: ActiveController
    registration: Registration
    forwarding: Forwarding
    internal_topics: InternalTopics
    peers: Peers
    replicas: ReplicaManager
    fetcher: ReplicaFetcher
    isr: IsrChanges
    damage: DamagedReplicas
    throttling: Throttling
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    joins: Joins
    sharing: Sharing

    @property
    def requests(self) -> Parks:
        """Those that are inside."""

    @property
    def news(self) -> HearsOfReplicas:
        """Who hears of what happens."""

    @property
    def log_dir(self) -> str:
        """Where this node's logs are, in words of its disk."""

    @property
    def log_dir_space(self) -> Space | None:
        """Of the volume that it is on."""


@dataclass(slots=True, eq=False)
class Call:
    """A request on its way through a handler. number: 1 for the first one of its
    connection. size_bytes: of its frame.

    What a request that begins anew has found out before: joined says of each partition
    of a transaction whether a batch may be appended
    (coordinators/transaction_requests.py); unknown has the results of partitions that
    don't exist (handlers/group_offsets.py); passed_on is what the active controller is
    asked (forwarding.py); share_fetch is a ShareFetch whose acknowledgements are being
    written (handlers/share_fetch.py).
    """

    connection: Connection
    client: Client
    api: str
    version: int
    correlation_id: int
    body: Message
    handler: "Handler"
    number: int = 0
    size_bytes: int = 0
    joined: Mapping[TopicPartition, Guard | KafkaError] | None = None
    unknown: dict[Hashable, Answer] | None = None
    passed_on: Split | None = None
    share_fetch: Any = None


def throttle(broker: Broker, call: Call, quota: str, size_bytes: int) -> int:
    """A client wrote or read these bytes: for how many ms it is throttled, which its
    answer says. Nodes have no quota.
    """
    client = call.client
    if client.listener == CONTROLLER_LISTENER:
        return 0
    now = broker.now
    throttle_ms = broker.throttling.count(client.client_id, quota, size_bytes, now)
    if throttle_ms:
        until_ms = now.monotonic_ms + throttle_ms
        client.muted_until_ms = max(client.muted_until_ms, until_ms)
    return throttle_ms


class HangUp(NamedTuple):
    """In the place of an answer: the connection is closed. why: what it did."""

    why: str


class Handler(NamedTuple):
    """How one API is served. versions: the lowest and the highest.

    Its functions are named, `module.function` of handlers/. handle(broker, call, now):
    the answer, what to wait for, or that the connection is closed. refuse(call, error):
    the answer to a request that failed as a whole, where the API has its own form for
    that. shape(call, answer): an answer that was waited for, completed.

    decides: the request changes metadata, so the active controller answers it, once
    what it decided before is committed. split(broker, call): what of that the broker
    that was asked answers itself. of_nodes: it is served to other nodes only.
    """

    api: str
    versions: tuple[int, int]
    handle: str
    refuse: str | None = None
    shape: str | None = None
    decides: bool = False
    split: str | None = None
    of_nodes: bool = False


def judged(
    named: Answer, verdict: Callable[[], Answer], say_why: bool = False
) -> Answer:
    """What is answered for one topic, partition or group of a request: what names it,
    with its verdict or its error.
    """
    try:
        return named | {"error_code": Error.NONE} | verdict()
    except KafkaError as error:
        return (
            named
            | {"error_code": error.error}
            | ({"error_message": error.message} if say_why else {})
        )


def each_judged(
    asked: Iterable[Any],
    named: Callable[[Any], Answer],
    verdict: Callable[[Any], Answer],
    say_why: bool = False,
) -> list[Answer]:
    """The same for all of them. named(one): what names it; verdict(one): its other
    fields.
    """
    return [judged(named(one), partial(verdict, one), say_why) for one in asked]


def a_few_times(
    asked: Iterable[Named], name: Callable[[Named], Hashable] = lambda one: one
) -> list[Named]:
    """What a request names again is described again, as in Apache Kafka, but not more
    than MOST_TIMES: so no short request has a very long answer.
    """
    times: Counter[Hashable] = Counter()
    taken = []
    for one in asked:
        times[name(one)] += 1
        if times[name(one)] <= MOST_TIMES:
            taken.append(one)
    return taken


def as_listed(names: Iterable[str], buckets: int = 16) -> list[str]:
    """Names in the order in which Apache Kafka lists them, and tools show them: that of
    a Java HashMap, which begins with so many buckets and has more as it fills. In one
    bucket they stand as they came.
    """
    listed = list(names)
    while len(listed) > buckets * 3 // 4:
        buckets *= 2
    return sorted(listed, key=lambda name: _spread_hash(name) % buckets)


def _spread_hash(name: str) -> int:
    """Java's String.hashCode, as its HashMap uses it."""
    found = 0
    for character in name:
        found = (31 * found + ord(character)) % 2**32
    return found ^ found >> 16


def by_topic(
    topics: Iterable[Any],
    field: str,
    named: Callable[[Any], Answer],
    verdict: Callable[[Any, Any], Answer],
    say_why: bool = False,
    partitions: str = "partitions",
) -> list[Answer]:
    """What is answered for the partitions of each topic. field: the one that names the
    topic. named(partition): those that name a partition in the answer. verdict(topic,
    partition): its others. partitions: as the request calls them.
    """

    def answered(topic: Any) -> list[Answer]:
        return each_judged(
            getattr(topic, partitions), named, partial(verdict, topic), say_why
        )

    return [
        {field: getattr(topic, field), "partitions": answered(topic)}
        for topic in topics
    ]


def refusal(call: Call, error: KafkaError) -> Answer | HangUp:
    """The answer to a request that failed as a whole. If its version has no field for
    it, the connection is closed.
    """
    fields = {
        each.attribute
        for each in messages.API[call.api].response.struct.fields
        if call.version in each.versions
    }
    if "error_code" not in fields:
        return HangUp(f"sent {call.api} {call.version}, which failed: {error.message}")
    return {"error_code": error.error} | (
        {"error_message": error.message} if "error_message" in fields else {}
    )


def member_refusal(call: Call, answer: Answer) -> dict[str, Any] | None:
    """What a trace tells of a refused request of a group's member, by whatever the API
    calls it; None if it is no such request, or was not refused.
    """
    if call.api not in OF_MEMBERS:
        return None
    code = answer.get("error_code", Error.NONE)
    if code == Error.NONE and call.api == "OffsetCommit" and answer["topics"]:
        code = answer["topics"][0]["partitions"][0]["error_code"]
    if code == Error.NONE:
        return None
    member_id = call.body.to_dict().get("member_id")
    return {
        "group": call.body.group_id,
        "member": member_id or call.client.client_id or "",
        "api": call.api,
        "error": Error(code).name,
    }
