"""A queue like RabbitMQ's, on a virtual clock: lesson 15 compares it with Kafka's log.

It behaves like a classic queue (AMQP 0-9-1): messages are pushed to a queue's consumers
in turn, to each at most prefetch_count unacknowledged ones. An acknowledged message is
gone. One that is requeued, or was held by a channel that closed, goes back to its old
place and is marked redelivered. One that is rejected, or older than its queue's time to
live, goes to the dead letter exchange if the queue has one, and is dropped otherwise.
Names, arguments and errors are AMQP's, and calls are pika's: a callback written for
this runs on pika unchanged. `tests/conformance/test_model_queue.py` tells the same
stories to RabbitMQ.

Left out: disks and nodes, publisher confirms, connections (each channel has one of its
own), topic and headers exchanges, priorities, length limits. RabbitMQ drops a message
that keeps expiring around a cycle of queues; this doesn't.

    broker = QueueBroker()
    shop, w1 = broker.channel("shop"), broker.channel("w1")
    shop.queue_declare("jobs")
    w1.basic_qos(prefetch_count=1)
    w1.basic_consume("jobs", work)      # work(channel, method, properties, body)
    shop.basic_publish(exchange="", routing_key="jobs", body="thumbnail 1")
    broker.run(seconds=1)
    print(broker.told())
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from minikafka.simulation.clock import Clock
from minikafka.simulation.model_queue_parts import (
    ARGUMENTS,
    BY_CLOSE,
    BY_NACK,
    DEAD_LETTER_EXCHANGE,
    DEAD_LETTER_ROUTING_KEY,
    EXCHANGE_TYPES,
    EXPIRED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    REJECTED,
    BasicProperties,
    Callback,
    ChannelClosedByBroker,
    ChannelWrongStateError,
    Consumer,
    Deliver,
    Entry,
    Exchange,
    Message,
    Queue,
    Unacked,
    deaths_of,
    queues_of,
    text_of,
)
from minikafka.trace import Event, Reason, Trace


class Channel:
    """One client's side of the broker, by pika's names. `unacked` has the messages that
    it holds, by delivery tag.
    """

    def __init__(self, broker: "QueueBroker", name: str) -> None:
        self.broker = broker
        self.name = name
        self.is_open = True
        self.unacked: dict[int, Unacked] = {}
        self._prefetch_count = 0
        self._delivered = 0
        self._consumers = 0

    # declaring

    def exchange_declare(self, exchange: str, exchange_type: str = "direct") -> None:
        self._check_open()
        if exchange_type not in EXCHANGE_TYPES:
            known = " or ".join(map(repr, EXCHANGE_TYPES))
            raise ValueError(f"exchange_type={exchange_type!r}: give {known}")
        self.broker._exchange(exchange, exchange_type)

    def queue_declare(
        self,
        queue: str,
        exclusive: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """exclusive: the queue is deleted when this channel closes."""
        self._check_open()
        arguments = arguments or {}
        for name in arguments:
            if name not in ARGUMENTS:
                raise ValueError(f"{name!r} is not among {', '.join(ARGUMENTS)}")
        there = self.broker.queues.get(queue)
        if there is None:
            owner = self if exclusive else None
            self.broker._add_queue(Queue(queue, arguments, owner))
        elif there.arguments != arguments:
            self._refuse(
                PRECONDITION_FAILED,
                f"PRECONDITION_FAILED - inequivalent arguments for queue '{queue}'",
            )

    def queue_bind(self, queue: str, exchange: str, routing_key: str = "") -> None:
        """Route messages published to the exchange to the queue as well: all of them if
        it is a fanout exchange, otherwise those with the routing key.
        """
        self._check_open()
        self._queue(queue)
        bindings = self._exchange(exchange).bindings
        if (routing_key, queue) not in bindings:
            bindings.append((routing_key, queue))

    # publishing and consuming

    def basic_publish(
        self,
        exchange: str,
        routing_key: str,
        body: str | bytes,
        properties: BasicProperties | None = None,
    ) -> None:
        """The exchange "" routes a message to the queue named by its routing key. A
        message that reaches no queue is dropped, and nobody is told.
        """
        self._check_open()
        self._exchange(exchange)
        content = body.encode() if isinstance(body, str) else body
        self.broker._publish(
            exchange, routing_key, content, properties or BasicProperties()
        )

    def basic_qos(self, prefetch_count: int = 0) -> None:
        """The most unacknowledged messages that each consumer added to this channel
        from now on may have; 0: any number.
        """
        self._check_open()
        self._prefetch_count = prefetch_count

    def basic_consume(
        self, queue: str, on_message_callback: Callback, auto_ack: bool = False
    ) -> str:
        """Push messages to the callback from now on. auto_ack: each is removed when it
        is sent.
        """
        self._check_open()
        found = self._queue(queue)
        self._consumers += 1
        number = "" if self._consumers == 1 else f".{self._consumers}"
        consumer = Consumer(
            tag=f"{self.name}{number}",
            channel=self,
            deliver=self._deliver,
            queue=found,
            callback=on_message_callback,
            auto_ack=auto_ack,
            prefetch_count=self._prefetch_count,
        )
        found.consumers.append(consumer)
        self.broker._tell(
            "ConsumerAdded",
            queue=queue,
            consumer=consumer.tag,
            prefetch_count=consumer.prefetch_count,
        )
        self.broker._push(found)
        return consumer.tag

    def basic_ack(self, delivery_tag: int = 0, multiple: bool = False) -> None:
        """Done: the broker forgets the message. multiple: and all before it."""
        self.broker._acknowledge(self._settle(delivery_tag, multiple))

    def basic_nack(
        self, delivery_tag: int = 0, multiple: bool = False, requeue: bool = True
    ) -> None:
        """Not done: back to its place, or to the dead letters."""
        given_up = self._settle(delivery_tag, multiple)
        self.broker._give_up(given_up, BY_NACK if requeue else None)

    def basic_reject(self, delivery_tag: int = 0, requeue: bool = True) -> None:
        """The same as basic_nack, for one message."""
        self.basic_nack(delivery_tag, requeue=requeue)

    def close(self) -> None:
        """Close the channel. To the broker it makes no difference whether the client
        says goodbye or dies.
        """
        if not self.is_open:
            return
        self.is_open = False
        given_up = list(self.unacked.values())
        self.unacked.clear()
        self.broker._closed(self, given_up)

    # internals

    def _settle(self, delivery_tag: int, multiple: bool) -> list[Unacked]:
        """Remove messages from those that this channel holds; their consumers may then
        get others.
        """
        self._check_open()
        if multiple:
            everything = delivery_tag == 0
            tags = [tag for tag in self.unacked if everything or tag <= delivery_tag]
        else:
            tags = [tag for tag in self.unacked if tag == delivery_tag]
        if not tags:
            self._refuse(
                PRECONDITION_FAILED,
                f"PRECONDITION_FAILED - unknown delivery tag {delivery_tag}",
            )
        settled = [self.unacked.pop(tag) for tag in tags]
        for consumer, _ in settled:
            consumer.unacked -= 1
        for queue in queues_of(settled):
            queue.unblock()
        return settled

    def _deliver(self, consumer: Consumer, entry: Entry) -> int:
        """Deliver a message. The callback runs when time goes on."""
        self._delivered += 1
        message = entry.message
        method = Deliver(
            consumer_tag=consumer.tag,
            delivery_tag=self._delivered,
            redelivered=entry.redelivered,
            exchange=message.exchange,
            routing_key=message.routing_key,
        )
        if not consumer.auto_ack:
            self.unacked[self._delivered] = Unacked(consumer, entry)
            consumer.unacked += 1

        def arrives() -> None:
            if self.is_open:
                consumer.callback(self, method, message.properties, message.body)

        self.broker.clock.schedule(self.broker.now_ms, arrives)
        return self._delivered

    def _check_open(self) -> None:
        if not self.is_open:
            raise ChannelWrongStateError(f"channel {self.name} is closed")

    def _refuse(self, reply_code: int, reply_text: str) -> None:
        self.close()
        raise ChannelClosedByBroker(reply_code, reply_text)

    def _queue(self, name: str) -> Queue:
        if name not in self.broker.queues:
            self._refuse(NOT_FOUND, f"NOT_FOUND - no queue '{name}' in vhost '/'")
        return self.broker.queues[name]

    def _exchange(self, name: str) -> "Exchange":
        if name not in self.broker.exchanges:
            self._refuse(NOT_FOUND, f"NOT_FOUND - no exchange '{name}' in vhost '/'")
        return self.broker.exchanges[name]


class QueueBroker:
    """Queues, and the channels to them. Time passes only in run()."""

    def __init__(self) -> None:
        self.trace: list[Event] = []
        self.clock = Clock()
        self.queues: dict[str, Queue] = {}
        self.exchanges = {"": Exchange("direct")}
        self._teller = Trace("queue broker", [self.trace.append])
        self._published = 0

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms

    def channel(self, name: str) -> Channel:
        """A client's channel. Its consumers get the same name."""
        return Channel(self, name)

    def run(self, seconds: float = 0) -> None:
        """Let this many virtual seconds pass; with 0, everything that is under way
        arrives.
        """
        until_ms = self.now_ms + round(seconds * 1000)
        while (due_at := self.clock.next_at()) is not None and due_at <= until_ms:
            self.clock.run_next()
        self.clock.now_ms = until_ms

    def ready(self, queue: str) -> list[str]:
        """The messages in a queue that no consumer has, in order."""
        return [text_of(entry.message) for entry in self.queues[queue].ready]

    def told(self, *kinds: str) -> str:
        """What happened, one line per event; only events of these kinds, if any are
        given.
        """
        events = [each for each in self.trace if not kinds or each.kind in kinds]
        return "\n".join(map(str, events))

    # internals

    def _exchange(self, name: str, exchange_type: str) -> None:
        self.exchanges.setdefault(name, Exchange(exchange_type))

    def _add_queue(self, queue: Queue) -> None:
        self.queues[queue.name] = queue
        # each queue is bound to the exchange "" by its name
        self.exchanges[""].bindings.append((queue.name, queue.name))
        self._tell("QueueDeclared", queue=queue.name)

    def _publish(
        self, exchange: str, routing_key: str, body: bytes, properties: BasicProperties
    ) -> None:
        self._published += 1
        message = Message(self._published, exchange, routing_key, properties, body)
        targets = self._targets(exchange, routing_key)
        self._tell(
            "MessagePublished",
            message=text_of(message),
            id=message.id,
            exchange=exchange or "the default exchange",
            queues=[queue.name for queue in targets],
        )
        self._put(message, targets)

    def _targets(self, exchange: str, routing_key: str) -> list[Queue]:
        if exchange not in self.exchanges:
            return []
        names = self.exchanges[exchange].queues_for(routing_key)
        return [self.queues[name] for name in names if name in self.queues]

    def _put(self, message: Message, targets: Iterable[Queue]) -> None:
        for queue in targets:
            entry = queue.put(message, self.now_ms)
            if entry.expires_at is not None:
                self.clock.schedule(entry.expires_at, partial(self._push, queue))
            self._push(queue)

    def _push(self, queue: Queue) -> None:
        """Push ready messages, as far as consumers may have more."""
        self._expire(queue)
        while queue.ready:
            consumer = queue.whose_turn()
            if consumer is None:
                return
            entry = queue.ready.pop(0)
            delivery_tag = consumer.deliver(consumer, entry)
            self._tell_of(
                "MessageDelivered",
                queue,
                entry,
                consumer=consumer.tag,
                delivery_tag=delivery_tag,
                redelivered=entry.redelivered,
            )

    def _expire(self, queue: Queue) -> None:
        while queue.ready:
            expires_at = queue.ready[0].expires_at
            if expires_at is None or expires_at > self.now_ms:
                return
            self._dead_letter(queue, queue.ready.pop(0), EXPIRED)

    def _acknowledge(self, settled: list[Unacked]) -> None:
        for consumer, entry in settled:
            self._tell_of(
                "MessageAcknowledged", consumer.queue, entry, consumer=consumer.tag
            )
        for queue in queues_of(settled):
            self._push(queue)

    def _give_up(self, given_up: list[Unacked], requeue: Reason | None) -> None:
        """Put messages back in their places, all of them before any is pushed again;
        or, without a reason to requeue, send them to the dead letters.
        """
        for consumer, entry in given_up:
            if requeue is None:
                self._dead_letter(consumer.queue, entry, REJECTED)
            else:
                consumer.queue.put_back(entry)
                self._tell_of("MessageRequeued", consumer.queue, entry, why=requeue)
        for queue in queues_of(given_up):
            self._push(queue)

    def _dead_letter(self, queue: Queue, entry: Entry, why: Reason) -> None:
        """Remove a message, to the queue's dead letter exchange if it has one."""
        message = entry.message
        exchange = queue.arguments.get(DEAD_LETTER_EXCHANGE)
        if exchange is None:
            self._tell_of("MessageDiscarded", queue, entry, why=why)
            return
        key = queue.arguments.get(DEAD_LETTER_ROUTING_KEY, message.routing_key)
        targets = self._targets(exchange, key)
        properties = BasicProperties(
            {**message.properties.headers, "x-death": deaths_of(message, queue, why)},
            message.properties.reply_to,
            message.properties.correlation_id,
        )
        letter = Message(message.id, exchange, key, properties, message.body)
        self._tell_of(
            "MessageDeadLettered",
            queue,
            entry,
            queues=[target.name for target in targets],
            why=why,
        )
        self._put(letter, targets)

    def _closed(self, channel: Channel, given_up: list[Unacked]) -> None:
        self._tell("ChannelClosed", channel=channel.name, unacked=len(given_up))
        for queue in list(self.queues.values()):
            queue.forget(channel)
            if queue.owner is channel:
                del self.queues[queue.name]
                self._tell("QueueDeleted", queue=queue.name)
        self._give_up(given_up, BY_CLOSE)

    def _tell_of(self, kind: str, queue: Queue, entry: Entry, **detail: Any) -> None:
        message = entry.message
        self._tell(
            kind, queue=queue.name, message=text_of(message), id=message.id, **detail
        )

    def _tell(self, kind: str, **detail: Any) -> None:
        self._teller.now = self.now_ms
        self._teller.emit(kind, **detail)
