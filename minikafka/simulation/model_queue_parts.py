"""The parts of the model queue: messages, queues that keep them in order, consumers
that take turns, exchanges. model_queue.py uses them.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.trace import Reason

DEAD_LETTER_EXCHANGE = "x-dead-letter-exchange"
DEAD_LETTER_ROUTING_KEY = "x-dead-letter-routing-key"
MESSAGE_TTL = "x-message-ttl"  # ms
ARGUMENTS = (DEAD_LETTER_EXCHANGE, DEAD_LETTER_ROUTING_KEY, MESSAGE_TTL)
EXCHANGE_TYPES = ("direct", "fanout")
PRECONDITION_FAILED, NOT_FOUND = 406, 404

BY_NACK = Reason("requeued", "its consumer wants it to be tried again")
BY_CLOSE = Reason("channel_closed", "the channel that had it is closed")
REJECTED = Reason("rejected", "its consumer rejected it")
EXPIRED = Reason("expired", "it has waited for longer than its queue keeps messages")


class ChannelClosedByBroker(Exception):
    """A request on a channel was wrong, so the broker has closed the channel."""

    def __init__(self, reply_code: int, reply_text: str) -> None:
        super().__init__(f"({reply_code}, {reply_text!r})")
        self.reply_code = reply_code
        self.reply_text = reply_text


class ChannelWrongStateError(Exception):
    """The channel is closed already."""


class Deliver(NamedTuple):
    """basic.deliver: the `method` that a callback gets. delivery_tag: counted per
    channel, from 1.
    """

    consumer_tag: str
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str


@dataclass
class BasicProperties:
    """Properties that travel with a body. headers["x-death"] says where the message was
    dead-lettered, latest first.
    """

    headers: dict[str, Any] = field(default_factory=dict)
    reply_to: str | None = None
    correlation_id: str | None = None


# on_message_callback(channel, method, properties, body), as pika has it
Callback = Callable[[Any, Deliver, BasicProperties, bytes], object]


@dataclass(frozen=True)
class Message:
    """id: one per publish, the same in each queue that the message reaches, and also as
    a dead letter.
    """

    id: int
    exchange: str
    routing_key: str
    properties: BasicProperties
    body: bytes


@dataclass(order=True)
class Entry:
    """A message in one queue. place: its position there, for as long as it is there."""

    place: int
    message: Message = field(compare=False)
    expires_at: int | None = field(compare=False)
    redelivered: bool = field(default=False, compare=False)


@dataclass(eq=False)
class Consumer:
    """deliver(consumer, entry): hands a message to it; returns the delivery tag."""

    tag: str
    channel: object  # the one that it is on
    deliver: Callable[["Consumer", Entry], int]
    queue: "Queue"
    callback: Callback
    auto_ack: bool
    prefetch_count: int  # 0: no limit
    unacked: int = 0

    @property
    def is_full(self) -> bool:
        has_limit = self.prefetch_count > 0 and not self.auto_ack
        return has_limit and self.unacked >= self.prefetch_count


class Queue:
    """ready: messages that nobody has yet, in order. consumers: the next one first.
    Consumers that were found full are blocked until they acknowledge something.
    """

    def __init__(
        self, name: str, arguments: Mapping[str, Any], owner: object | None
    ) -> None:
        self.name = name
        self.arguments = dict(arguments)
        self.owner = owner  # the channel of an exclusive queue
        self.ready: list[Entry] = []
        self.consumers: deque[Consumer] = deque()
        self.blocked: list[Consumer] = []
        self._places = 0

    def put(self, message: Message, now_ms: int) -> Entry:
        ttl_ms = self.arguments.get(MESSAGE_TTL)
        expires_at = None if ttl_ms is None else now_ms + ttl_ms
        self._places += 1
        entry = Entry(self._places, message, expires_at)
        self.ready.append(entry)
        return entry

    def put_back(self, entry: Entry) -> None:
        """Put a message back in its old place, before all that came later."""
        entry.redelivered = True
        insort(self.ready, entry)

    def whose_turn(self) -> Consumer | None:
        """The next consumer that may have one more; it moves to the end of the line."""
        while self.consumers:
            consumer = self.consumers.popleft()
            if not consumer.is_full:
                self.consumers.append(consumer)
                return consumer
            self.blocked.append(consumer)
        return None

    def unblock(self) -> None:
        free = [each for each in self.blocked if not each.is_full]
        self.consumers.extend(free)
        self.blocked = [each for each in self.blocked if each.is_full]

    def forget(self, channel: object) -> None:
        """Remove the consumers of a channel that is closed."""
        self.consumers = deque(
            each for each in self.consumers if each.channel is not channel
        )
        self.blocked = [each for each in self.blocked if each.channel is not channel]


class Unacked(NamedTuple):
    consumer: Consumer
    entry: Entry


@dataclass
class Exchange:
    """Messages are published to an exchange. bindings: (routing key, queue)."""

    type: str
    bindings: list[tuple[str, str]] = field(default_factory=list)

    def queues_for(self, routing_key: str) -> list[str]:
        fits = [
            queue
            for key, queue in self.bindings
            if self.type == "fanout" or key == routing_key
        ]
        return list(dict.fromkeys(fits))


def queues_of(unacked: Iterable[Unacked]) -> list[Queue]:
    return list(dict.fromkeys(each.consumer.queue for each in unacked))


def text_of(message: Message) -> str:
    return message.body.decode(errors="replace")


def deaths_of(message: Message, queue: Queue, why: Reason) -> list[dict[str, Any]]:
    """The x-death header after one more death: a count for each queue and reason,
    latest first.
    """
    earlier = list(message.properties.headers.get("x-death", []))
    death = {
        "count": 1,
        "reason": why.code,
        "queue": queue.name,
        "exchange": message.exchange,
        "routing-keys": [message.routing_key],
    }
    for known in earlier:
        if (known["queue"], known["reason"]) == (queue.name, why.code):
            death = {**known, "count": known["count"] + 1}
            earlier.remove(known)
            break
    return [death, *earlier]
