"""Lesson 21's experiments on schemas: a shop that changes a field, values in Avro, a
registry on a simulated cluster, and the effect of each kind of change.
"""

import inspect
import json
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minikafka import Cluster
from minikafka.clients.structs import TopicPartition
from minikafka.course.experiments.lesson_21_compatibility import read, trouble, write
from minikafka.course.experiments.lesson_21_registry import (
    TOPIC,
    Incompatible,
    Log,
    Registry,
    framed,
    unframed,
)

SMALL = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}
SUBJECT = "orders-value"
ORDERS, CHANGED, UNTIL_S = 10, 3, 30

Bill = Callable[[dict[str, Any]], Any]


def show(*things: Any) -> None:
    """Print their source, as it is in the package."""
    for each in things:
        print(textwrap.dedent(inspect.getsource(each)))


def orders_come(bill: Bill) -> None:
    """Ten orders, one a second, as JSON. The fourth comes from a newer shop that writes
    `amount` for `cents`, and is rolled back at once. bill(order) is started again a
    second after each crash. Prints how far it got in 30 s.
    """
    deaths: list[str] = []
    with orders_billed(bill, deaths, UNTIL_S) as cluster:
        [done] = cluster.committed_offsets("billing").values()
    print(f"after {UNTIL_S} s: {done} of {ORDERS} orders are billed.")
    print(f"billing crashed {len(deaths)} times: {deaths[0]}")


@contextmanager
def orders_billed(bill: Bill, deaths: list[str], seconds: float) -> Iterator[Cluster]:
    """The cluster after this much of the run. deaths: gets each crash."""
    with Cluster(seed=21, configs=SMALL) as cluster:
        cluster.create_topic("orders", partitions=1)
        consumer = cluster.consumer(
            "orders",
            group_id="billing",
            client_id="billing",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        cluster.start(_shop, cluster, cluster.producer(client_id="shop"))
        cluster.start(_always_again, cluster, consumer, bill, deaths)
        cluster.run(seconds=seconds)
        yield cluster


def _shop(cluster: Cluster, producer: Any) -> None:
    for number in range(ORDERS):
        name = "amount" if number == CHANGED else "cents"
        producer.send("orders", value={"customer": "alice", name: 2000})
        cluster.sleep(1)


def _always_again(
    cluster: Cluster, consumer: Any, bill: Bill, deaths: list[str]
) -> None:
    while True:
        try:
            for record in consumer:
                bill(json.loads(record.value))
                consumer.commit()
        except Exception as error:
            deaths.append(repr(error))
            place = TopicPartition("orders", 0)
            consumer.seek(place, (consumer.committed(place) or 0))
            cluster.sleep(1)


def fields(**types: Any) -> dict[str, Any]:
    """Avro's schema of an order with these fields. A type, or a type and a default:
    fields(cents="long", coupon=("string", "")).
    """
    found = []
    for name, about in types.items():
        kind, *default = about if isinstance(about, tuple) else (about,)
        found.append({"name": name, "type": kind, **_default(default)})
    return {"type": "record", "name": "Order", "fields": found}


def _default(given: list[Any]) -> dict[str, Any]:
    return {"default": given[0]} if given else {}


class Topic:
    """The topic orders on a simulated cluster, and a registry beside it. level: what
    the registry holds new versions to.
    """

    def __init__(self, level: str = "BACKWARD") -> None:
        self.cluster = Cluster(seed=21, configs=SMALL)
        compacted = {"cleanup.policy": "compact"}
        self.cluster.create_topic(TOPIC, partitions=1, configs=compacted)
        self.cluster.create_topic("orders", partitions=1)
        self.producer = self.cluster.producer()
        self.registry = Registry(self._log(), level)

    def _log(self) -> Log:
        reader = self.cluster.consumer(auto_offset_reset="earliest")
        reader.assign([TopicPartition(TOPIC, 0)])
        return Log(TOPIC, self.cluster.producer(client_id="registry"), reader)

    def another_registry(self) -> Registry:
        """One that has just started, and knows what the topic holds."""
        return Registry(self._log())

    def send(self, schema: dict[str, Any], **order: Any) -> bytes:
        """Registers the schema, if it is new, and sends an order that is written with
        it; the value as it travels.
        """
        number = self.registry.register(SUBJECT, schema=json.dumps(schema))
        value = framed(number, write(schema, order))
        self.send_bytes(value)
        return value

    def send_bytes(self, value: bytes) -> None:
        """Send bytes as they are, without a schema."""
        self.producer.send("orders", value=value).get()

    def read(self, mine: dict[str, Any]) -> list[Any]:
        """All orders, in the shape of this schema, each read with the one that it was
        written with. It ends where that fails, with the error.
        """
        found: list[Any] = []
        for record in self.cluster.records("orders", 0):
            try:
                number, data = unframed(record.value)
                theirs = json.loads(self.registry.schemas[number]["schema"])
                found.append(read(data, theirs, mine))
            except Exception as error:
                return [*found, error]
        return found


def replayed(*versions: dict[str, Any], level: str) -> list[Any] | str:
    """A producer registers these versions of an order's schema one after the other, and
    sends an order with each. Returns what a program with the last version reads from
    the beginning; if a version is refused, why.
    """
    topic = Topic(level)
    for customer, version in zip(("alice", "bob", "carol"), versions, strict=False):
        order = {"customer": customer, "cents": 2000, "coupon": "MAY"}
        known = {each["name"] for each in version["fields"]}
        try:
            topic.send(
                version, **{name: order[name] for name in order if name in known}
            )
        except Incompatible as refusal:
            return f"refused: {refusal}"
    return topic.read(versions[-1])


OLD = fields(customer="string", cents="long")
CHANGES = {
    "a new field": fields(customer="string", cents="long", coupon="string"),
    "a new field, with a default": fields(
        customer="string", cents="long", coupon=("string", "")
    ),
    "a field removed": fields(customer="string"),
    "a field renamed": fields(customer="string", amount="long"),
    "int for long": fields(customer="string", cents="int"),
    "double for long": fields(customer="string", cents="double"),
    "null allowed": fields(customer="string", cents=["long", "null"]),
}


def changes_tried() -> str:
    """Each change of an order's schema, tried both ways: a table."""
    lines = [f"{'the new schema has':30} new reads old   old reads new"]
    for name, new in CHANGES.items():
        tried = [_reads(new, OLD), _reads(OLD, new)]
        lines.append(f"{name:30} {tried[0]:15} {tried[1]}")
    return "\n".join(lines)


def _reads(reader: Any, writer: Any) -> str:
    one, other = ({"schema": json.dumps(each)} for each in (reader, writer))
    return "fails" if trouble(one, other) else "works"
