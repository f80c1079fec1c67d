"""The programs of the shop's deployments: one that sends orders, groups that handle
them, one with transactions, and one that only fills disks.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from minikafka.clients import consumer_config, producer_config
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.course.on_call.apps import GRACE_S, App, Failed, Platform, Pod
from minikafka.course.on_call.orders import Handling, Place
from minikafka.wire.errors import KafkaError

# longer polls of those that are idle: less is computed, and nothing comes later
LIGHT = {
    "enable.auto.commit": "false",
    "fetch.max.wait.ms": "5000",
}
NAMES = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan")


class Shop(App):
    """Sends an order every so often. large: how many orders of a hundred are one
    customer's.
    """

    kind = "producer"
    own: ClassVar = {
        "every.ms": "3000",
        "key": "customer",
    }
    known = producer_config.DEFAULTS
    large = 0

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It returns once the pod should stop."""
        pause_s = int(self.env["every.ms"]) / 1000
        while not pod.stopping:
            self._order(pod, client)
            self.cluster.sleep(pause_s)
        client.close(timeout=GRACE_S)

    def _order(self, pod: Pod, client: Any) -> None:
        """Send one more order, and note when."""
        asked = self.orders.asked
        number = len(asked)
        asked[number] = self.cluster.now_ms
        pod.sent.add(number)
        customer = self._customer(number)
        by_customer = self.env["key"] == "customer"
        sent = client.send(
            self.topic,
            key=customer if by_customer else f"order {number}",
            value=f"order {number} {customer}",
        )
        sent.add_callback(self._accepted(number))
        sent.add_errback(self._refused(number, pod))

    def _customer(self, number: int) -> str:
        """The customer of an order. A number always has the same one."""
        if number * 37 % 100 < self.large:
            return "megamart"
        return NAMES[number * 7 % len(NAMES)]

    def _accepted(self, number: int) -> Callable[[Any], None]:
        """The callback for an order that is acknowledged."""

        def note(told: Any) -> None:
            place = Place(
                at_ms=self.cluster.now_ms,
                partition=told.partition,
                offset=told.offset,
            )
            self.orders.accepted[number] = place

        return note

    def left(self, pod: Pod) -> None:
        """Customers who still wait for this pod never get an answer, and give up."""
        orders = self.orders
        for number in pod.sent - orders.accepted.keys():
            orders.refused.setdefault(number, "NoAnswer")

    def _refused(self, number: int, pod: Pod) -> Callable[[Any], None]:
        """The callback for an order that has failed for good."""

        def note(error: Any) -> None:
            self.orders.refused[number] = type(error).__name__
            self.say(pod, f"order {number} failed: {error}")

        return note


class Reader(App):
    """A consumer group that handles each order, which takes work.ms.

    commit: before or after the work. on.error: what to do with a record that it can't
    read. once: whether it knows the orders that it has handled, and does none twice.
    """

    kind = "consumer"
    own: ClassVar = {
        "work.ms": "200",
        "commit": "after",
        "on.error": "exit",
        "once": "false",
    }
    known = consumer_config.DEFAULTS

    def __init__(self, platform: Platform, name: str, topic: str, **env: str) -> None:
        known = {"auto.offset.reset": "earliest", **env}
        super().__init__(platform, name, topic, **known)

    @property
    def commits_first(self) -> bool:
        """Whether it commits before the work."""
        return self.env["commit"] == "before"

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        config = self._config({**LIGHT, "group.id": self.name, **self.env})
        return self.cluster.consumer(client_id=name, **config)

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It returns once the pod should stop."""
        done = _Done(self, pod, client)
        client.subscribe([self.topic], listener=done)
        while not pod.stopping:
            polled = client.poll(timeout_ms=1000)
            if pod.is_turned_away:
                raise SslAuthenticationException("SSL handshake failed")
            pod.hand = set(_numbers(polled))
            if polled and self.commits_first:
                self.commit(pod, client.commit)
            for record in _records(polled):
                if pod.stopping:
                    break
                done.add(record, self._handle(pod, record))
            done.commit()
        client.close(autocommit=False)

    def _handle(self, pod: Pod, record: Any) -> Handling | None:
        """Do the work for one record. Returns its handling if it is an order."""
        what, rest = _told(record)
        number = _number(record)
        handled = self.orders.handled[self.name]
        if self.env["once"] == "true" and number in handled:
            pod.hand.discard(number)
            return None
        self.cluster.sleep(int(self.env["work.ms"]) / 1000)
        if what == "order":
            handling = self._handling(pod, record)
            handled.setdefault(number, []).append(handling)
            pod.hand.discard(number)
            return handling
        if what == "payout":
            self.orders.false[self.name].add(rest)
        else:
            self._fail(pod, record)
        return None

    def _handling(self, pod: Pod, record: Any) -> Handling:
        """What is noted about an order that is being handled."""
        return Handling(
            at_ms=self.cluster.now_ms,
            pod=pod.name,
            partition=TopicPartition(record.topic, record.partition),
            offset=record.offset,
            commit="" if self.commits_first else None,
        )

    def _fail(self, pod: Pod, record: Any) -> None:
        """Deal with a record that can't be read, by on.error."""
        where = f"{record.topic}-{record.partition} offset {record.offset}"
        if self.env["on.error"] == "exit":
            raise DeserializationError(f"{where}: can't be read as an order")
        self.say(pod, f"put {where} into dead_letters, a table of its database")

    def commit(self, pod: Pod, ask: Callable[[], None]) -> str:
        """Commit. If that fails, log it and return why; otherwise ""."""
        try:
            ask()
        except KafkaError as error:
            self.say(pod, f"commit failed: {error}")
            return f"the first commit failed, {error.error.name}"
        return ""


class SslAuthenticationException(Failed):
    """poll() of Java's consumer raises it when a TLS handshake has failed."""


class DeserializationError(Failed):
    """A record that the program can't read."""


LOST = "they went to others before the first commit"


class _Done:
    """The orders that a pod has handled and not committed. They are also committed
    before partitions go to another member.
    """

    def __init__(self, app: Reader, pod: Pod, client: Any) -> None:
        self._app = app
        self._pod = pod
        self._client = client
        self._offsets: dict[Any, OffsetAndMetadata] = {}
        self._handlings: list[Handling] = []

    def add(self, record: Any, handling: Handling | None) -> None:
        """Note a handled record. handling: None if it wasn't an order."""
        partition = TopicPartition(record.topic, record.partition)
        self._offsets[partition] = OffsetAndMetadata(record.offset + 1, "", -1)
        if handling is not None:
            self._handlings.append(handling)

    def commit(self) -> None:
        """Commit what is noted, unless the program commits before the work."""
        if self._offsets and not self._app.commits_first:
            offsets = dict(self._offsets)
            failed = self._app.commit(self._pod, lambda: self._client.commit(offsets))
            self._end(failed)

    def on_partitions_revoked(self, partitions: Any) -> None:
        """A rebalance takes these partitions: commit first."""
        self.commit()

    def on_partitions_lost(self, partitions: Any) -> None:
        """Other members have these partitions already, so nothing can be committed."""
        if not self._app.commits_first:
            self._end(LOST)

    def _end(self, failed: str) -> None:
        """Forget what is noted. failed: why it wasn't committed, or ""."""
        for handling in self._handlings:
            handling.commit = failed
        self._handlings.clear()
        self._offsets.clear()

    def on_partitions_assigned(self, partitions: Any) -> None:
        """Does nothing: new partitions need no preparation."""


def _records(polled: Any) -> Iterator[Any]:
    """The records of a poll, partition by partition."""
    for records in polled.values():
        yield from records


def _told(record: Any) -> tuple[str, str]:
    """A record's kind, from its first word, and the rest."""
    what, _, rest = record.value.decode().partition(" ")
    return what, rest


def _number(record: Any) -> int:
    """The number of the order; -1 if it isn't one."""
    what, rest = _told(record)
    return int(rest.split()[0]) if what == "order" else -1


def _numbers(polled: Any) -> Iterator[int]:
    """The numbers of the orders among these records."""
    for record in _records(polled):
        number = _number(record)
        if number >= 0:
            yield number


class Payouts(App):
    """Writes some payouts a minute, in a transaction that is open for open.ms."""

    kind = "producer"
    own: ClassVar = {"open.ms": "20000"}
    known = producer_config.DEFAULTS

    def __init__(self, platform: Platform, name: str, topic: str, **env: str) -> None:
        super().__init__(platform, name, topic, **env)
        self.committed: set[str] = set()
        self.committed_ms = 0  # when the last transaction was
        self._written = 0

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It returns once the pod should stop."""
        open_s = int(self.env["open.ms"]) / 1000
        client.init_transactions()
        while not pod.stopping:
            client.begin_transaction()
            names = self._write(client)
            payouts = f"payouts {names[0]} to {names[-1]}"
            self.say(pod, f"began a transaction: {payouts}")
            self.cluster.sleep(open_s)
            client.commit_transaction()
            self.committed.update(names)
            self.committed_ms = self.cluster.now_ms
            self.say(pod, f"committed it: {payouts}")
            self.cluster.sleep(PAUSE_S)
        client.close()

    def _write(self, client: Any) -> list[str]:
        """One payout into each partition: their names."""
        names = []
        for partition in range(self.cluster.partition_count(self.topic)):
            self._written += 1
            name = str(self._written)
            names.append(name)
            client.send(self.topic, value=f"payout {name}", partition=partition)
        client.flush()
        return names


PAUSE_S = 40  # between two transactions


class Noise(App):
    """Writes some bytes at regular intervals, which nobody reads."""

    kind = "producer"
    own: ClassVar = {
        "every.ms": "2000",
        "bytes": "4000",
    }
    known = producer_config.DEFAULTS

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It returns once the pod should stop."""
        value = "click " + int(self.env["bytes"]) * "x"
        pause_s = int(self.env["every.ms"]) / 1000
        while not pod.stopping:
            client.send(self.topic, value=value)
            self.cluster.sleep(pause_s)
        client.close(timeout=GRACE_S)


KINDS: dict[str, type[App]] = {
    "shop": Shop,
    "reader": Reader,
    "payouts": Payouts,
    "noise": Noise,
}
