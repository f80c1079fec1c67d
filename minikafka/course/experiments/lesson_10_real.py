"""Lesson 10's real failover: brokers that are processes, a kafka-python producer, and
kill -9 of the leader.
"""

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from minikafka.server.embedded import Served

TOPIC = "orders"
PATIENCE_SECONDS = 60
NOBODY = -1
# Windows has no other, and ends a process as hard with it
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def kill_the_leader(orders: int = 10) -> None:
    """Send this many orders, kill the leader's process, send as many again, and read
    all. Prints what each step found.
    """
    from kafka import KafkaAdminClient, KafkaProducer

    processes = ("--brokers", "3", "--processes")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Served(folder, options=processes) as served,
    ):
        brokers = served.bootstrap.split(",")
        admin = KafkaAdminClient(bootstrap_servers=brokers)
        create(admin)
        producer = KafkaProducer(bootstrap_servers=brokers)
        before = acknowledged(producer, range(orders))
        print(
            f"before the kill: {len(before)} orders acknowledged, offsets {before[0]}"
            f" to {before[-1]}"
        )
        old = leader(admin)
        os.kill(int((Path(folder) / f"broker-{old}.pid").read_text()), KILL)
        new = leader(admin, not_of=old)
        after = acknowledged(producer, range(orders, 2 * orders))
        print(
            f"after the kill:  {len(after)} orders acknowledged, offsets {after[0]} to"
            f" {after[-1]}"
        )
        print(f"another broker leads: {new not in (old, NOBODY)}")
        producer.close()
        admin.close()
        values = read(brokers, 2 * orders)
        print(
            "each order once and in order:"
            f" {values == [b'order %d' % number for number in range(2 * orders)]}"
        )


def create(admin: Any) -> None:
    """The topic with three copies. A broker that was silent for two seconds counts
    again when it is heard.
    """
    from kafka.admin import NewTopic
    from kafka.errors import KafkaError, TopicAlreadyExistsError

    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            admin.create_topics(
                [NewTopic(TOPIC, 1, 3, topic_configs={"min.insync.replicas": "2"})]
            )
            return
        except TopicAlreadyExistsError:
            return
        except KafkaError:
            if time.monotonic() > until:
                raise


def leader(admin: Any, not_of: int = NOBODY) -> int:
    """The id of the broker that leads the topic. not_of: the former leader; a broker
    that doesn't know of another one yet is asked again for a while.
    """
    from kafka.errors import KafkaError

    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            [partition] = admin.describe_topics([TOPIC])[0]["partitions"]
            leader_id = int(partition["leader_id"])
        except (
            KafkaError,
            ValueError,
        ):
            # it asked the broker that is down, or one that does not know the topic yet
            leader_id = NOBODY
        if leader_id not in (NOBODY, not_of) or time.monotonic() > until:
            return leader_id


def acknowledged(producer: Any, numbers: range) -> list[int]:
    """The offsets of these orders, one after another."""
    return [
        producer.send(TOPIC, value=b"order %d" % number).get(PATIENCE_SECONDS).offset
        for number in numbers
    ]


def read(brokers: list[str], count: int) -> list[bytes]:
    """The first `count` values of the topic, and one more if there is one."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=brokers, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(TOPIC, 0)])
    values: list[bytes] = []
    while len(values) < count or consumer.position(TopicPartition(TOPIC, 0)) < end(
        consumer
    ):
        values += [
            record.value
            for records in consumer.poll(timeout_ms=500).values()
            for record in records
        ]
    consumer.close()
    return values


def end(consumer: Any) -> int:
    """The offset behind the topic's last record."""
    found: int = consumer.end_offsets(consumer.assignment()).popitem()[1]
    return found
