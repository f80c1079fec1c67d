"""Lesson 21's experiments on Kafka Streams: the word count of lesson_21_streams.py on a
simulated cluster, killed and started again; events that are replayed; logs from several
machines.
"""

import json
from collections.abc import Callable
from typing import Any

from minikafka import Cluster
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.course.experiments.lesson_21_schemas import SMALL
from minikafka.course.experiments.lesson_21_streams import (
    CHANGELOG,
    LINES,
    WORDS,
    WordCount,
)

PARTITIONS = 2
CONFIGS = SMALL | {"transaction.state.log.num.partitions": 1}
COMMITTED = {
    "auto_offset_reset": "earliest",
    "isolation_level": "read_committed",
    "enable_auto_commit": False,
}


class Killed(Exception):
    """Raised where an instance is to end, as if by kill -9."""


class Clients:
    """Makes the clients of one instance. exactly_once: what it writes and its offsets
    are one transaction.
    """

    def __init__(self, cluster: Cluster, name: str, exactly_once: bool) -> None:
        self._cluster, self._name, self._exactly_once = cluster, name, exactly_once
        self.made: list[Any] = []

    def producer(self) -> Any:
        named = {"transactional_id": self._name} if self._exactly_once else {}
        made = self._cluster.producer(client_id=f"{self._name}-producer", **named)
        self.made.append(made)
        if self._exactly_once:
            made.init_transactions()
        return made

    def consumer(self) -> Any:
        member = {"group_id": "word-count", "client_id": self._name}
        made = self._cluster.consumer(**member, **COMMITTED)
        self.made.append(made)
        return made

    def all_records(self, topic: str, partition: int) -> list[Any]:
        """A partition, read to its end."""
        place = TopicPartition(topic, partition)
        reader = self._cluster.consumer(**COMMITTED)
        reader.assign([place])
        end = reader.end_offsets([place])[place]
        found: list[Any] = []
        while reader.position(place) < end:
            polled = reader.poll(timeout_ms=100)
            found += polled.get(place, [])
        reader.close()
        return found

    def begin(self, producer: Any) -> None:
        if self._exactly_once:
            producer.begin_transaction()

    def commit(self, producer: Any, consumer: Any, polled: Any) -> None:
        """Commits the offsets behind what was polled, with what was sent or after
        it.
        """
        offsets = {
            place: OffsetAndMetadata(records[-1].offset + 1, "")
            for place, records in polled.items()
        }
        if self._exactly_once:
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            producer.commit_transaction()
        else:
            consumer.commit(offsets)


class Counting:
    """The topics of the word count on a simulated cluster, and its instances."""

    def __init__(self, exactly_once: bool = True) -> None:
        self.cluster = Cluster(seed=21, configs=CONFIGS)
        self._exactly_once = exactly_once
        for topic in (LINES, WORDS):
            self.cluster.create_topic(topic, partitions=PARTITIONS)
        compacted = {"cleanup.policy": "compact"}
        self.cluster.create_topic(CHANGELOG, partitions=PARTITIONS, configs=compacted)

    def write(self, *lines: str) -> None:
        """Send lines of text to the input topic."""
        author = self.cluster.producer(client_id="author")
        for line in lines:
            author.send(LINES, value=line)
        author.flush()

    def instance(self, name: str = "A") -> WordCount:
        """One more instance of the program."""
        return WordCount(Clients(self.cluster, name, self._exactly_once))

    def works(self, *instances: WordCount) -> None:
        """They take turns until all is counted."""
        quiet = 0
        while quiet < 6:  # polls that bring nothing; a rebalance takes some
            brought = sum(each.run_once() for each in instances)
            quiet = 0 if brought else quiet + 1

    def dies_before_its_commit(self, instance: WordCount) -> None:
        """It works until counts are written, and is killed before it commits them."""

        def before_commit() -> None:
            if self.cluster.records(CHANGELOG):
                raise Killed

        try:
            while True:
                instance.run_once(before_commit)
        except Killed:
            self.kill(instance)

    def kill(self, instance: WordCount) -> None:
        """Kill an instance as by kill -9: its clients are gone, and so is its
        memory.
        """
        for client in instance.kafka.made:
            self.cluster.crash(client)
        self.cluster.run(seconds=75)  # the group and its transaction have ended

    def counts(self, *instances: WordCount) -> dict[str, int]:
        """The counts in their memory: word -> count."""
        found: dict[str, int] = {}
        for each in instances:
            for table in each.tables.values():
                found |= table
        return dict(sorted(found.items()))


class Account:
    """The events of one account, in a topic of one partition; its balance is stored
    nowhere.
    """

    def __init__(self, *events: tuple[str, int]) -> None:
        self.cluster = Cluster(seed=21, configs=SMALL)
        self.cluster.create_topic("account", partitions=1)
        bank = self.cluster.producer(client_id="bank")
        for what, cents in events:
            bank.send("account", value=[what, cents])
        bank.flush()

    def balance(self, apply: Callable[[int, str, int], int]) -> int:
        """The balance that the events add up to, from the oldest existing one:
        apply(balance, what, cents) returns the balance after one more.
        """
        balance = 0
        for record in self.cluster.records("account", 0):
            what, cents = json.loads(record.value)
            balance = apply(balance, what, cents)
        return balance

    def forget(self, before: int) -> None:
        """Delete the events before this offset, as retention does in the end."""
        self.cluster.delete_records("account", 0, before)


def logs() -> list[str]:
    """Three servers each write a line three times, to a partition each. Returns what
    one reader gets, in its order.
    """
    with Cluster(seed=21, configs=SMALL) as cluster:
        cluster.create_topic("logs", partitions=3)
        servers = [cluster.producer(client_id=f"web-{number}") for number in range(3)]
        for at in range(3):
            for number, server in enumerate(servers):
                line = f"10:00:0{3 * at + number}  web-{number}  request {at}"
                server.send("logs", key=f"web-{number}", value=line, partition=number)
            cluster.run(seconds=1)
        reader = cluster.consumer("logs", auto_offset_reset="earliest")
        found: list[str] = []
        while len(found) < 9:
            for records in reader.poll(timeout_ms=1000).values():
                found += [record.value.decode() for record in records]
        return found
