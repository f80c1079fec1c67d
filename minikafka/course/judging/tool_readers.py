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

# --- teams ---

EARLY, LATE = ("billing", "shipping"), "risk"
ALL_EVENTS = [f"event {number}" for number in range(1, 13)]
BEFORE, AFTER = ALL_EVENTS[:8], ALL_EVENTS[8:]  # the late team comes


def seen_by_teams(tool: str) -> dict[str, list[str]]:
    """What each team has seen in the end. One of them comes after eight events."""
    return teams_on_queue() if tool == QUEUE else teams_on_kafka(tool)


def teams_on_kafka(tool: str) -> dict[str, list[str]]:
    seen: dict[str, list[str]] = {team: [] for team in (*EARLY, LATE)}
    with Cluster(seed=7, configs=CONFIGS) as cluster:
        cluster.create_topic(TOPIC, partitions=1)

        def reads(consumer: Any, team: str) -> None:
            while True:
                records = consumer.poll(timeout_ms=1000, max_records=100)
                for found in records.values():
                    seen[team] += [record.value.decode() for record in found]
                accept(consumer, tool, records)

        producer = cluster.producer()
        for team in EARLY:
            cluster.start(reads, consumer_of(cluster, tool, TOPIC, team), team)
        for event in BEFORE:
            producer.send(TOPIC, value=event)
        cluster.run(seconds=10)
        cluster.start(reads, consumer_of(cluster, tool, TOPIC, LATE), LATE)
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
            seen[team].append(body.decode())
            channel.basic_ack(method.delivery_tag)

        channel.basic_consume(team, see)

    for team in EARLY:
        joins(team)
    for event in BEFORE:
        company.basic_publish(exchange="events", routing_key="", body=event)
    broker.run(seconds=10)
    joins(LATE)
    for event in AFTER:
        company.basic_publish(exchange="events", routing_key="", body=event)
    broker.run(seconds=10)
    return seen


# --- callers ---

CALLERS = tuple(f"caller {number}" for number in range(1, 6))
ASKED, ANSWERS = "asked", "answers"
SERVICE_MS, PATIENCE_MS = 50, 15_000


class Calls(NamedTuple):
    """waited_ms: from the start of a caller to its answer; None if none came. left:
    what the broker still keeps for callers that have gone.
    """

    waited_ms: dict[str, int | None]
    left: list[str]


def calls(tool: str) -> Calls:
    """Callers start one after another, ask for a price, and are gone."""
    return calls_on_queue() if tool == QUEUE else calls_on_kafka(tool)


def calls_on_kafka(tool: str) -> Calls:
    """Each caller has a group of its own, else another one might get its answer."""
    waited_ms: dict[str, int | None] = {}
    with Cluster(seed=7, configs=CONFIGS) as cluster:
        for topic in (ASKED, ANSWERS):
            cluster.create_topic(topic, partitions=1)
        service = consumer_of(cluster, tool, ASKED, "price service")
        producer = cluster.producer(linger_ms=0)

        def answers(consumer: Any) -> None:
            while True:
                records = consumer.poll(timeout_ms=1000)
                for found in records.values():
                    for record in found:
                        cluster.sleep(SERVICE_MS / 1000)
                        producer.send(ANSWERS, key=record.key, value="7 EUR")
                accept(consumer, tool, records)

        cluster.start(answers, service)
        cluster.run(seconds=8)
        for name in CALLERS:
            waited_ms[name] = one_call(cluster, tool, name)
        left = [group for group in cluster.groups() if group in CALLERS]
    return Calls(waited_ms, left)


def one_call(cluster: Cluster, tool: str, name: str) -> int | None:
    """It asks when it reads: what is answered before might pass it by."""
    began_ms = cluster.now_ms
    consumer = consumer_of(cluster, tool, ANSWERS, name)
    done: list[int] = []

    def waits() -> None:
        asked = False
        while not done and cluster.now_ms < began_ms + PATIENCE_MS:
            records = consumer.poll(timeout_ms=100)
            if not asked and (tool == SHARE or consumer.assignment()):
                asked = True
                asks = cluster.producer(linger_ms=0)
                asks.send(ASKED, key=name, value="what is tea?").get()
                asks.close()
            for found in records.values():
                if any(record.key == name.encode() for record in found):
                    done.append(cluster.now_ms - began_ms)
            accept(consumer, tool, records)
        consumer.close()

    program = cluster.start(waits)
    cluster.run_until(lambda: not program.alive, seconds=60)
    return done[0] if done else None


def calls_on_queue() -> Calls:
    """Each caller has an exclusive queue for answers, and names it as reply_to."""
    broker = QueueBroker()
    service = broker.channel("price service")
    service.queue_declare(ASKED)
    waited_ms: dict[str, int | None] = {}

    def answers(channel: Any, method: Any, properties: Any, body: bytes) -> None:
        def answer() -> None:
            channel.basic_publish("", properties.reply_to, "7 EUR", properties)
            channel.basic_ack(method.delivery_tag)

        broker.clock.schedule(broker.now_ms + SERVICE_MS, answer)

    service.basic_consume(ASKED, answers)
    for name in CALLERS:
        began_ms = broker.now_ms
        waited_ms[name] = None
        caller = broker.channel(name)
        caller.queue_declare(name, exclusive=True)

        def receive(channel: Any, method: Any, properties: Any, body: bytes) -> None:
            name = properties.correlation_id
            waited_ms[name] = broker.now_ms - began_ms  # noqa: B023
            channel.basic_ack(method.delivery_tag)

        caller.basic_consume(name, receive)
        asked = BasicProperties(reply_to=name, correlation_id=name)
        caller.basic_publish("", ASKED, "what is tea?", asked)
        broker.run(seconds=1)
        caller.close()
    return Calls(waited_ms, [name for name in CALLERS if name in broker.queues])
