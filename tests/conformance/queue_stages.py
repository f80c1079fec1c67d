"""One stage for a story about queues, with the model queue or RabbitMQ behind it: what
clients do and what they get, as told lines.
"""

from collections import defaultdict
from contextlib import suppress
from functools import partial
from socket import SHUT_RDWR
from typing import Any

from minikafka.simulation.model_queue import QueueBroker
from minikafka.simulation.model_queue_parts import ChannelClosedByBroker

CLOSED_TEXT = "{}'s channel is closed: {} {}"


class Stage:
    """told: the story so far. What several consumers get at the same time is told by
    their names: who of two sockets was first, nobody can say.
    """

    def __init__(self) -> None:
        self.told: list[str] = []
        self.channels: dict[str, Any] = {}
        self.queues: list[str] = []
        self.got: dict[str, list[str]] = defaultdict(list)

    def declare(self, queue: str, **arguments: Any) -> None:
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        self.channel("admin").queue_declare(queue, arguments=named)
        self.queues.append(queue)

    def publish(self, *bodies: str, to: str = "jobs", exchange: str = "") -> None:
        for body in bodies:
            self.channel("admin").basic_publish(
                exchange=exchange, routing_key=to, body=body
            )
        self.told.append(f"published to {exchange or to}: {' '.join(bodies)}")
        self.settle()

    def consume(
        self, name: str, queue: str = "jobs", prefetch: int = 1, **options: Any
    ) -> None:
        channel = self.channel(name)
        channel.basic_qos(prefetch_count=prefetch)
        self.told.append(f"{name} consumes from {queue}")
        channel.basic_consume(queue, partial(self.receive, name), **options)
        self.settle()

    def receive(self, name, channel, method, properties, body) -> None:
        line = f"{name} gets {body.decode()}, delivery tag {method.delivery_tag}"
        line += " redelivered" * method.redelivered
        line += f" by {method.exchange or 'default'} as {method.routing_key!r}"
        for death in (properties.headers or {}).get("x-death", []):
            line += " died" + "".join(
                f" {key}={death[key]}" for key in ("queue", "reason", "count")
            )
        self.got[name].append(line)

    def say(self, name: str, what: str, tag: int, **options: Any) -> None:
        """what: "ack", "nack" or "reject"."""
        self.told.append(f"{name}: {what} {tag} {options or ''}".rstrip())
        say = getattr(self.channels[name], f"basic_{what}")
        try:
            say(tag, **options)
        except ChannelClosedByBroker as error:
            self.closed(name, error)
        self.settle()

    def count(self, *queues: str) -> None:
        for queue in queues or self.queues:
            self.told.append(f"{queue}: {self.waiting(queue)} ready")

    def tell(self) -> None:
        """What has come since the last time."""
        for name in sorted(self.got):
            self.told += self.got[name]
        self.got.clear()

    def closed(self, name: str, error: Any) -> None:
        del self.channels[name]
        text = error.reply_text.partition(" in vhost")[0]
        self.told.append(CLOSED_TEXT.format(name, error.reply_code, text))

    def channel(self, name: str) -> Any:
        if name not in self.channels:
            self.channels[name] = self.open(name)
        return self.channels[name]

    def open(self, name: str) -> Any:
        raise NotImplementedError

    def settle(self) -> None:
        """Until all that is under way has come."""
        raise NotImplementedError

    def waiting(self, queue: str) -> int:
        raise NotImplementedError

    def wait_until_waiting(self, queue: str, count: int) -> None:
        """Time passes until so many messages are in the queue and nobody has them."""
        raise NotImplementedError

    def wait_until_got(self, name: str) -> None:
        """Time passes until the consumer gets something."""
        raise NotImplementedError

    def die(self, name: str) -> None:
        raise NotImplementedError

    def has_queue(self, queue: str) -> bool:
        raise NotImplementedError


class OnModel(Stage):
    def __init__(self) -> None:
        super().__init__()
        self.broker = QueueBroker()

    def open(self, name: str) -> Any:
        return self.broker.channel(name)

    def settle(self) -> None:
        self.broker.run()
        self.tell()

    def waiting(self, queue: str) -> int:
        return len(self.broker.ready(queue))

    def wait_until_waiting(self, queue: str, count: int) -> None:
        while self.waiting(queue) != count:
            self.broker.run(seconds=0.01)
        self.tell()

    def wait_until_got(self, name: str) -> None:
        while not self.got[name]:
            self.broker.run(seconds=0.01)
        self.tell()

    def die(self, name: str) -> None:
        self.told.append(f"{name} dies")
        self.channels.pop(name).close()
        self.settle()

    def has_queue(self, queue: str) -> bool:
        return queue in self.broker.queues


class OnRabbitMQ(Stage):
    """Each channel has a connection of its own, which breaks when its client dies."""

    def __init__(self, server: Any) -> None:
        super().__init__()
        self.server = server
        self.connections: dict[str, Any] = {}

    def open(self, name: str) -> Any:
        self.connections[name] = self.server.connection()
        return self.connections[name].channel()

    def settle(self) -> None:
        """A channel asks each queue something: when the answers are there, so is what
        was sent before them. Dead letters go from queue to queue, hence once more.
        """
        quiet = 0
        while quiet < 2:
            before = sum(map(len, self.got.values())), len(self.channels)
            for name in list(self.channels):
                self.ask(name)
            after = sum(map(len, self.got.values())), len(self.channels)
            quiet = quiet + 1 if after == before else 0
        self.tell()

    def ask(self, name: str) -> None:
        from pika.exceptions import ChannelClosedByBroker

        try:
            for queue in self.queues:
                self.channels[name].queue_declare(queue, passive=True)
        except ChannelClosedByBroker as error:
            self.closed(name, error)
        self.connections[name].process_data_events(time_limit=0)

    def state(self, queue: str) -> Any:
        return self.channel("admin").queue_declare(queue, passive=True).method

    def waiting(self, queue: str) -> int:
        return self.state(queue).message_count

    def wait_until_waiting(self, queue: str, count: int) -> None:
        while self.waiting(queue) != count:
            pass
        self.tell()

    def wait_until_got(self, name: str) -> None:
        while not self.got[name]:
            self.connections[name].process_data_events(time_limit=0.1)
        self.settle()

    def die(self, name: str) -> None:
        """As when a process is killed: its socket is gone, and nobody says goodbye."""
        from pika.exceptions import AMQPConnectionError

        self.told.append(f"{name} dies")
        consumers = self.consumers()
        del self.channels[name]
        connection = self.connections.pop(name)
        connection._impl._transport._sock.shutdown(SHUT_RDWR)
        with suppress(AMQPConnectionError):
            connection.process_data_events()  # it notices, and frees what it has
        while self.consumers() == consumers:
            pass
        self.settle()

    def consumers(self) -> int:
        return sum(self.state(queue).consumer_count for queue in self.queues)

    def has_queue(self, queue: str) -> bool:
        from pika.exceptions import ChannelClosedByBroker

        with self.server.connection() as connection:
            try:
                connection.channel().queue_declare(queue, passive=True)
            except ChannelClosedByBroker as error:
                return error.reply_code != 404
        return True

    def close(self) -> None:
        """The next story finds none of this one's queues and exchanges."""
        with self.server.connection() as connection:
            for queue in self.queues:
                connection.channel().queue_delete(queue)
            connection.channel().exchange_delete("news")
        for connection in self.connections.values():
            if connection.is_open:
                connection.close()
