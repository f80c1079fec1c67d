"""Lesson 21's experiments on Kafka Connect: a source that copies a file into a topic,
with its offsets as records of another topic, killed and started again; and a table of
customers built from its changes.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from minikafka import Cluster
from minikafka.clients.structs import TopicPartition
from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_21_registry import Log
from minikafka.course.experiments.lesson_21_schemas import SMALL

OFFSETS = "connect-offsets"
LINES, KILLED_AT_S = 150, 100
COMMITTED = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
KEY = ["file-source", {"filename": "orders.txt"}]  # as FileStreamSource's


class File:
    """A file that grows by a line a second, up to 150. It outlives its readers."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def lines_from(self, position: int) -> Iterator[str]:
        """The lines after the first `position` ones, each as soon as it is there."""
        for number in range(position, LINES):
            while self._cluster.now_ms < 1000 * number:
                self._cluster.sleep(0.1)
            yield f"line {number}"


class Worker:
    """What a source task gets from its worker: a producer, the position that was stored
    last, and when to store the next one. exactly_once: lines and positions are in one
    transaction.
    """

    def __init__(self, cluster: Cluster, every_s: float, exactly_once: bool) -> None:
        self._cluster = cluster
        self._every_ms = 1000 * every_s
        self._exactly_once = exactly_once
        name = {"transactional_id": "connect-cluster-file-source-0"}
        self.producer = cluster.producer(**(name if exactly_once else {}))
        if exactly_once:
            self.producer.init_transactions()
        self._stored_ms = cluster.now_ms

    def position(self) -> int:
        """The last record of connect-offsets says it: that topic, read to its end."""
        reader = self._cluster.consumer(**COMMITTED)
        reader.assign([TopicPartition(OFFSETS, 0)])
        position = 0
        for key, value in Log(OFFSETS, None, reader).rest():
            if key == KEY:
                position = value["position"]
        if self._exactly_once:
            self.producer.begin_transaction()
        return position

    def time_to_store(self) -> bool:
        return self._cluster.now_ms - self._stored_ms >= self._every_ms

    def store(self, position: int) -> None:
        """Waits for the lines, then writes the position."""
        self.producer.flush()
        key = json.dumps(KEY)
        self.producer.send(OFFSETS, key=key, value={"position": position})
        if self._exactly_once:
            self.producer.commit_transaction()
            self.producer.begin_transaction()
        self.producer.flush()
        self._stored_ms = self._cluster.now_ms


def copies(
    source: Callable[[File, Worker], None],
    *,
    every_s: float = 60,
    exactly_once: bool = False,
) -> list[str]:
    """The lines of the topic, as a reader of committed records gets them, when the
    source has copied the file; it was killed after 100 s, and started again.
    """
    with Cluster(seed=21, configs=SMALL) as cluster:
        cluster.create_topic("lines", partitions=1)
        compacted = {"cleanup.policy": "compact"}
        cluster.create_topic(OFFSETS, partitions=1, configs=compacted)

        def task() -> None:
            worker = Worker(cluster, every_s, exactly_once)
            source(File(cluster), worker)

        first = cluster.start(task)
        cluster.run(seconds=KILLED_AT_S)
        cluster.crash(first)
        cluster.start(task)
        cluster.run(seconds=2 * LINES)
        reader = cluster.consumer("lines", client_id="reader", **COMMITTED)
        found: list[str] = []
        while records := reader.poll(timeout_ms=1000):
            found += [each.value.decode() for many in records.values() for each in many]
        return found


def twice(lines: list[str]) -> int:
    """How many lines are there more than once."""
    return sum(times > 1 for times in Counter(lines).values())


Change = dict[str, Any]


def changes() -> list[Change]:
    """The changes of the table of customers, as the topic has them: op, key, before,
    after. In the middle five come a second time.
    """
    made = dataset("customers_cdc").generate(count=200, seed=7)
    return [
        json.loads(each.value) | {"key": each.key.decode()}
        for each in made
        if each.value
    ]


def cities_of_the_database() -> Counter[str]:
    """How many customers each city has, in the shop's own table."""
    made = dataset("customers_cdc").generate(count=200, seed=7)
    rows = dataset("customers_cdc").current(made).values()
    return Counter(row["city"] for row in rows)


def not_as_in_the_database(cities: Counter[str]) -> list[str]:
    """Those for which this count is not the database's."""
    right = cities_of_the_database()
    return sorted(city for city in {*cities, *right} if cities[city] != right[city])
