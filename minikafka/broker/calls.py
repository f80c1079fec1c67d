"""A request on its way through the node, who sent it, and how it is refused where its
handler knows no better.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from minikafka.broker.access import Access
from minikafka.broker.effects import Connection, Effect
from minikafka.broker.forwarding import Split
from minikafka.broker.kafka_versions import KafkaVersion
from minikafka.clock import Now
from minikafka.cluster.principals import ANONYMOUS, Principal
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.broker.login import Login

Named = TypeVar("Named")
Handlers = TypeVar("Handlers")

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
    """One connection as the broker sees it. allows_pipelining: its next request may
    come before the last one is answered. asked, answered: how many requests. early: the
    outcome of a request whose turn to be answered hasn't come, by its number.
    muted_until_ms: monotonic, before which none of its requests is served. principal: who
    it has shown to be. login: how far it has come with showing it; None: its listener
    doesn't ask.
    """

    listener: str
    host: str
    client_id: str | None = None
    allows_pipelining: bool = False
    asked: int = 0
    answered: int = 0
    muted_until_ms: int = 0
    principal: Principal = ANONYMOUS
    login: "Login | None" = None
    early: dict[int, Effect] = field(default_factory=dict)

    @property
    def is_logging_in(self) -> bool:
        """Whether it has to show who it is before anything else."""
        return self.login is not None and not self.login.is_over


@dataclass(slots=True, eq=False)
class Itself:
    """Used in place of a connection: a node sends a request to itself, and gets the
    answer here.
    """

    then: Callable[[Message | None, Now], None]


@dataclass(slots=True, eq=False)
class Call:
    """A request on its way through a handler. number: 1 for the first one of its
    connection. size_bytes: of its frame. access: what its client may do; None: all.
    began_ns: since when the broker works at it, by its stopwatch, where that counts for a
    quota. is_timed: its answer says for how long the time that it took is punished.
    whole(answer): the answer with what was refused before the request came to its
    handler (guards/, mutations.py). is_limited: its client's quota of mutations has
    been asked.
    """

    connection: Connection
    client: Client
    api: str
    version: int
    correlation_id: int
    body: Message
    handler: "Handler[Any]"
    number: int = 0
    size_bytes: int = 0
    access: Access | None = None
    began_ns: int | None = None
    is_timed: bool = False
    whole: "Callable[[Answered], Answered] | None" = None
    is_limited: bool = False

    def amend(self, change: "Callable[[Answered], Answered]") -> None:
        """Change the answer, when there is one, after what changes it already."""
        earlier = self.whole
        if earlier is None:
            self.whole = change
        else:
            self.whole = lambda answer: change(earlier(answer))


def error_fields(error: KafkaError) -> Answer:
    """The fields that name an error, in an answer or in an item of it."""
    return {"error_code": error.error, "error_message": error.message}


class Disconnect(NamedTuple):
    """In the place of an answer: the connection is closed. why: what it did."""

    why: str


class Raw(NamedTuple):
    """In the place of an answer: bytes that are none of Kafka's protocol."""

    content: bytes


class Parting(NamedTuple):
    """The last answer, behind which the connection is closed. why: what it did."""

    answer: Answer
    why: str


class Welcome(NamedTuple):
    """The answer to a client that has just logged in."""

    answer: Answer | Raw


# None: the protocol knows no answer
Answered = Answer | Disconnect | Raw | Parting | Welcome | None
Served = Answered | Wait


class Handler(NamedTuple, Generic[Handlers]):
    """How one API is served. versions: the lowest and the highest.

    Its functions are given by the handlers of a node (handlers/__init__.py).
    handle(call, now): the answer, what to wait for, or that the connection is closed.
    refuse(call, error): the answer to a request that failed as a whole, where the API
    has its own form for that.

    controller_only: the active controller answers it, once what it decided before is
    committed. split(call): what of that the broker that was asked answers itself.
    inter_broker: it is served to other nodes only.
    """

    api: str
    versions: tuple[int, int]
    handle: Callable[[Handlers], Callable[["Call", Now], Served]]
    refuse: Callable[[Handlers], Callable[["Call", KafkaError], Answer]] | None = None
    controller_only: bool = False
    split: Callable[[Handlers], Callable[["Call"], Split]] | None = None
    inter_broker: bool = False


def narrowed(
    handlers: Mapping[int, Handler[Handlers]], older: KafkaVersion
) -> dict[int, Handler[Handlers]]:
    """The versions for clients, which may be told of an older Kafka; nodes get all."""
    found = {}
    for key, handler in handlers.items():
        versions = older.narrowed(handler.api, handler.versions)
        if versions is not None:
            found[key] = handler._replace(versions=versions)
    return found


def result_of(
    named: Answer, verdict: Callable[[], Answer], say_why: bool = False
) -> Answer:
    """The result for one topic, partition or group of a request: the fields that name
    it, with its verdict or its error.
    """
    try:
        return named | {"error_code": Error.NONE} | verdict()
    except KafkaError as error:
        return (
            named
            | {"error_code": error.error}
            | ({"error_message": error.message} if say_why else {})
        )


def results_of(
    asked: Iterable[Any],
    named: Callable[[Any], Answer],
    verdict: Callable[[Any], Answer],
    say_why: bool = False,
) -> list[Answer]:
    """The results for all of them. named(one): the fields that name it; verdict(one):
    its other fields.
    """
    return [result_of(named(one), partial(verdict, one), say_why) for one in asked]


def limit_repeats(
    asked: Iterable[Named], name: Callable[[Named], Hashable] = lambda one: one
) -> list[Named]:
    """A repeated name is described again, as in Apache Kafka, but not more than
    MOST_TIMES: so no short request has a very long answer.
    """
    times: Counter[Hashable] = Counter()
    taken = []
    for one in asked:
        times[name(one)] += 1
        if times[name(one)] <= MOST_TIMES:
            taken.append(one)
    return taken


def as_listed(names: Iterable[str], buckets: int = 16) -> list[str]:
    """Names in the order in which Apache Kafka lists them and tools show them: that of
    a Java HashMap, which begins with this many buckets and gets more as it fills.
    Within a bucket they keep their order.
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


def results_by_topic(
    topics: Iterable[Any],
    field: str,
    named: Callable[[Any], Answer],
    verdict: Callable[[Any, Any], Answer],
    say_why: bool = False,
    partitions: str = "partitions",
) -> list[Answer]:
    """Answer a request partition by partition, grouped by topic. field: the field that
    names the topic. named(partition): the answer's fields that identify a partition.
    verdict(topic, partition): its other fields. partitions: the field of the request
    that lists them.
    """

    def answered(topic: Any) -> list[Answer]:
        return results_of(
            getattr(topic, partitions), named, partial(verdict, topic), say_why
        )

    return [
        {field: getattr(topic, field), "partitions": answered(topic)}
        for topic in topics
    ]


def refusal(call: Call, error: KafkaError) -> Answer | Disconnect:
    """The answer to a request that failed as a whole. If its version has no field for
    it, the connection is closed.
    """
    fields = {
        each.attribute
        for each in messages.API[call.api].response.struct.fields
        if call.version in each.versions
    }
    if "error_code" not in fields:
        return Disconnect(
            f"sent {call.api} {call.version}, which failed: {error.message}"
        )
    return {"error_code": error.error} | (
        {"error_message": error.message} if "error_message" in fields else {}
    )


def member_refusal(call: Call, answer: Answer) -> dict[str, Any] | None:
    """The trace's details of a refused request of a group member, by the API's names;
    None if it is no such request, or was not refused.
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
