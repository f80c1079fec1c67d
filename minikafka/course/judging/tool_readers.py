"""Two more things that are done with three tools (lesson 15): teams that each want all
that has happened, and callers that wait for an answer.
"""

from typing import Any, NamedTuple

from minikafka.course.judging.tool_runs import (
    CONFIGS,
    QUEUE,
    SHARE,
    TOPIC,
    accept,
    consumer_of,
)
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.model_queue import QueueBroker
from minikafka.simulation.model_queue_parts import BasicProperties

Records = dict[Any, list[Any]]  # what a poll brings: those of each partition

# --- teams ---

EARLY, LATE = ("billing", "shipping"), "risk"
ALL_EVENTS = [f"event {number}" for number in range(1, 13)]
BEFORE, AFTER = ALL_EVENTS[:8], ALL_EVENTS[8:]  # the late team comes


def seen_by_teams(tool: str) -> dict[str, list[str]]:
    """The records that each team has seen in the end. One of them comes after eight
    events.
    """
    if tool == QUEUE:
        return teams_on_queue()
    return teams_on_kafka(tool)


def teams_on_kafka(tool: str) -> dict[str, list[str]]:
    """Each team is a group of its own, with one member."""
    seen: dict[str, list[str]] = {}
    for team in (*EARLY, LATE):
        seen[team] = []
    with Cluster(seed=7, configs=CONFIGS) as cluster:
        cluster.create_topic(TOPIC, partitions=1)

        def reads(consumer: Any, team: str) -> None:
            while True:
                records = consumer.poll(timeout_ms=1000, max_records=100)
                for found in records.values():
                    for record in found:
                        event = record.value.decode()
                        seen[team].append(event)
                accept(consumer, tool, records)

        def joins(team: str) -> None:
            consumer = consumer_of(cluster, tool, TOPIC, team)
            cluster.start(reads, consumer, team)

        producer = cluster.producer()
        for team in EARLY:
            joins(team)
        for event in BEFORE:
            producer.send(TOPIC, value=event)
        cluster.run(seconds=10)
        joins(LATE)
        for event in AFTER:
            producer.send(TOPIC, value=event)
        cluster.run(seconds=10)
    return seen


def teams_on_queue() -> dict[str, list[str]]:
    """A fanout exchange copies each event into the queue of each team."""
    broker = QueueBroker()
    company = broker.channel("company")
    company.exchange_declare("events", exchange_type="fanout")
    seen: dict[str, list[str]] = {}

    def joins(team: str) -> None:
        seen[team] = []
        channel = broker.channel(team)
        channel.queue_declare(team)
        channel.queue_bind(team, "events")

        def see(channel: Any, method: Any, properties: Any, body: bytes) -> None:
            event = body.decode()
            seen[team].append(event)
            channel.basic_ack(method.delivery_tag)

        channel.basic_consume(team, see)

    def happens(event: str) -> None:
        company.basic_publish(
            exchange="events",
            routing_key="",
            body=event,
        )

    for team in EARLY:
        joins(team)
    for event in BEFORE:
        happens(event)
    broker.run(seconds=10)
    joins(LATE)
    for event in AFTER:
        happens(event)
    broker.run(seconds=10)
    return seen


# --- callers ---

CALLERS = tuple(f"caller {number}" for number in range(1, 6))
ASKED = "asked"
ANSWERS = "answers"
QUESTION = "what is tea?"
ANSWER = "7 EUR"
SERVICE_MS = 50
PATIENCE_MS = 15_000


class Calls(NamedTuple):
    """waited_ms: from the start of a caller to its answer; None if none came. left:
    what the broker still keeps for callers that have gone.
    """

    waited_ms: dict[str, int | None]
    left: list[str]


def calls(tool: str) -> Calls:
    """Callers start one after another, ask for a price, and are gone."""
    if tool == QUEUE:
        return calls_on_queue()
    return calls_on_kafka(tool)


def calls_on_kafka(tool: str) -> Calls:
    """Each caller has a group of its own, otherwise it might miss its answer."""
    waited_ms: dict[str, int | None] = {}
    with Cluster(seed=7, configs=CONFIGS) as cluster:
        cluster.create_topic(ASKED, partitions=1)
        cluster.create_topic(ANSWERS, partitions=1)
        service = consumer_of(cluster, tool, ASKED, "price service")
        producer = cluster.producer(linger_ms=0)

        def answers(consumer: Any) -> None:
            while True:
                records = consumer.poll(timeout_ms=1000)
                for found in records.values():
                    for record in found:
                        cluster.sleep(SERVICE_MS / 1000)
                        producer.send(ANSWERS, key=record.key, value=ANSWER)
                accept(consumer, tool, records)

        cluster.start(answers, service)
        cluster.run(seconds=8)
        for name in CALLERS:
            waited_ms[name] = one_call(cluster, tool, name)
        left = []
        for group in cluster.groups():
            if group in CALLERS:
                left.append(group)
    return Calls(waited_ms, left)


def one_call(cluster: Cluster, tool: str, name: str) -> int | None:
    """It asks when it reads: what is answered before might pass it by."""
    began_ms = cluster.now_ms
    gives_up_ms = began_ms + PATIENCE_MS
    consumer = consumer_of(cluster, tool, ANSWERS, name)
    waited_ms: int | None = None

    def waits() -> None:
        nonlocal waited_ms
        has_asked = False
        while waited_ms is None and cluster.now_ms < gives_up_ms:
            records = consumer.poll(timeout_ms=100)
            reads = tool == SHARE or consumer.assignment()
            if reads and not has_asked:
                has_asked = True
                ask(cluster, name)
            if is_answered(name, records):
                waited_ms = cluster.now_ms - began_ms
            accept(consumer, tool, records)
        consumer.close()

    program = cluster.start(waits)

    def is_over() -> bool:
        return not program.alive

    cluster.run_until(is_over, seconds=60)
    return waited_ms


def ask(cluster: Cluster, name: str) -> None:
    """Returns when the question is written."""
    producer = cluster.producer(linger_ms=0)
    sent = producer.send(ASKED, key=name, value=QUESTION)
    sent.get()
    producer.close()


def is_answered(name: str, records: Records) -> bool:
    """Whether one of them is for this caller: an answer has the question's key."""
    key = name.encode()
    for found in records.values():
        for record in found:
            if record.key == key:
                return True
    return False


def calls_on_queue() -> Calls:
    """Each caller has an exclusive queue for answers, and names it as reply_to."""
    broker = QueueBroker()
    service = broker.channel("price service")
    service.queue_declare(ASKED)

    def answers(channel: Any, method: Any, properties: Any, body: bytes) -> None:
        def answer() -> None:
            channel.basic_publish(
                exchange="",
                routing_key=properties.reply_to,
                body=ANSWER,
                properties=properties,
            )
            channel.basic_ack(method.delivery_tag)

        at_ms = broker.now_ms + SERVICE_MS
        broker.clock.schedule(at_ms, answer)

    service.basic_consume(ASKED, answers)
    waited_ms = {}
    for name in CALLERS:
        waited_ms[name] = one_call_on_queue(broker, name)
    left = []
    for name in CALLERS:
        if name in broker.queues:
            left.append(name)
    return Calls(waited_ms, left)


def one_call_on_queue(broker: QueueBroker, name: str) -> int | None:
    """It waits a second. Its queue is deleted with it."""
    began_ms = broker.now_ms
    waited_ms: int | None = None
    caller = broker.channel(name)
    caller.queue_declare(name, exclusive=True)

    def receive(channel: Any, method: Any, properties: Any, body: bytes) -> None:
        nonlocal waited_ms
        waited_ms = broker.now_ms - began_ms
        channel.basic_ack(method.delivery_tag)

    caller.basic_consume(name, receive)
    caller.basic_publish(
        exchange="",
        routing_key=ASKED,
        body=QUESTION,
        properties=BasicProperties(reply_to=name, correlation_id=name),
    )
    broker.run(seconds=1)
    caller.close()
    return waited_ms
