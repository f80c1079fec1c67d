"""A member of a consumer group as a process of its own, so that a test can kill it:
kafka-python, librdkafka, aiokafka.

`python -m tests.clients.member CLIENT SETTINGS` subscribes, reads and commits what it
has read. It says what happens on standard output, one JSON object a line: {"assigned":
[partition, ...]} when its share has changed, {"read": [[partition, first offset, last
offset], ...]}, {"committed": [[partition, offset], ...]}. It leaves the group when its
standard input ends. settings: bootstrap, group, topic, session_ms, assignor (or null),
protocol: classic or consumer.
"""

import asyncio
import json
import sys
import threading
from contextlib import closing

HEARTBEAT_MS = 300
POLL_MS = 100
# kafka-python 3.0 forgets its new share when a poll ends between JoinGroup and
# SyncGroup: so its polls are long.
LONG_POLL_MS = 6000


def say(what, values):
    print(json.dumps({what: values}), flush=True)


class Teller:
    """Says what is new; only partition numbers, for there is one topic. owed: partition
    -> offset to be committed.
    """

    def __init__(self):
        self.assigned, self.owed = None, {}

    def share(self, assignment):
        partitions = sorted(each.partition for each in assignment)
        if partitions != self.assigned:
            self.assigned = partitions
            say("assigned", partitions)

    def read(self, offsets):
        """offsets: partition -> offsets, in order."""
        say(
            "read",
            [[partition, found[0], found[-1]] for partition, found in offsets.items()],
        )
        self.owed |= {
            number: found[-1] + 1
            for number, found in offsets.items()
            if number in self.assigned
        }

    def revoked(self, consumer, places):
        """Whoever has them now reads again what is not committed."""
        for place in places:
            self.owed.pop(place.partition, None)

    def committed(self):
        say("committed", list(self.owed.items()))
        self.owed = {}


def offsets_of(polled):
    """Partition -> the offsets of its records. polled: records by partition."""
    return {
        place.partition: [record.offset for record in found]
        for place, found in polled.items()
    }


def kafka_python(settings, leaving):
    from kafka import KafkaConsumer
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.errors import KafkaConnectionError, KafkaError

    consumer = KafkaConsumer(
        settings["topic"],
        bootstrap_servers=settings["bootstrap"],
        group_id=settings["group"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=settings["session_ms"],
        heartbeat_interval_ms=HEARTBEAT_MS,
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    teller = Teller()
    with closing(consumer):
        while not leaving.is_set():
            try:
                polled = consumer.poll(timeout_ms=LONG_POLL_MS)
            except KafkaConnectionError:
                # it looked for the coordinator while no broker was there: kafka-python
                # leaves that to us, and would fail thousands of times a second
                leaving.wait(POLL_MS / 1000)
                continue
            teller.share(consumer.assignment())
            if polled:
                teller.read(offsets_of(polled))
            if teller.owed:
                try:
                    consumer.commit()
                    teller.committed()
                except KafkaError:
                    pass  # a rebalance was quicker


def librdkafka(settings, leaving):
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    options = {
        "bootstrap.servers": settings["bootstrap"],
        "group.id": settings["group"],
        "log_level": 0,
    }
    options |= {
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "group.protocol": settings["protocol"],
    }
    # Up to 2.13.1 the position that librdkafka stores for a batch may be past it: so
    # commits name their offsets.
    options |= {"enable.auto.offset.store": False}
    if settings["protocol"] == "classic":
        options |= {
            "session.timeout.ms": settings["session_ms"],
            "heartbeat.interval.ms": HEARTBEAT_MS,
        }
        options |= {
            "partition.assignment.strategy": settings["assignor"] or "range,roundrobin"
        }
    consumer, teller = Consumer(options), Teller()
    consumer.subscribe(
        [settings["topic"]], on_revoke=teller.revoked, on_lost=teller.revoked
    )
    with closing(consumer):
        while not leaving.is_set():
            messages = [
                message
                for message in consumer.consume(500, POLL_MS / 1000)
                if not message.error()
            ]
            teller.share(consumer.assignment())
            if messages:
                offsets = {}
                for message in messages:
                    offsets.setdefault(message.partition(), []).append(message.offset())
                teller.read(offsets)
            if teller.owed:
                places = [
                    TopicPartition(settings["topic"], *each)
                    for each in teller.owed.items()
                ]
                try:
                    told = consumer.commit(offsets=places, asynchronous=False)
                    if not any(place.error for place in told):
                        teller.committed()
                except KafkaException:
                    pass


async def aiokafka(settings, leaving):
    from aiokafka import AIOKafkaConsumer
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.errors import KafkaError

    assignors = {
        each.name: [each]
        for each in (RangePartitionAssignor, RoundRobinPartitionAssignor)
    }
    consumer = AIOKafkaConsumer(
        settings["topic"],
        bootstrap_servers=settings["bootstrap"],
        group_id=settings["group"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=settings["session_ms"],
        heartbeat_interval_ms=HEARTBEAT_MS,
        partition_assignment_strategy=assignors[settings["assignor"] or "roundrobin"],
    )
    await consumer.start()
    teller = Teller()
    try:
        while not leaving.is_set():
            polled = await consumer.getmany(timeout_ms=POLL_MS)
            teller.share(consumer.assignment())
            if polled:
                teller.read(offsets_of(polled))
            if teller.owed:
                try:
                    await consumer.commit()
                    teller.committed()
                except KafkaError:
                    pass
    finally:
        await consumer.stop()


CLIENTS = {
    "kafka-python": kafka_python,
    "librdkafka": librdkafka,
    "aiokafka": lambda settings, leaving: asyncio.run(aiokafka(settings, leaving)),
}


def main(client, settings):
    leaving = threading.Event()

    def watch():
        sys.stdin.read()
        leaving.set()

    threading.Thread(target=watch, daemon=True).start()
    CLIENTS[client](json.loads(settings), leaving)


if __name__ == "__main__":
    main(*sys.argv[1:])
