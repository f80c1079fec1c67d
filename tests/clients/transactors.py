"""Transactional producers and readers of four real clients, behind the same few words,
so that a test is written once.

A producer is ready when it is made: its transactional id is its own. What it sends is
at the broker when `send` returns. A reader reads a topic from the beginning, its first
partition or more; one with a group subscribes, and its `progress` is what a producer
sends as offsets: where it is, and who it is in the group (KIP-447).
"""

import asyncio
import time
from contextlib import suppress

import aiokafka
import confluent_kafka
import kafka
from aiokafka.errors import KafkaError as AiokafkaError
from kafka.errors import KafkaError as KafkaPythonError

from tests.clients.member import LONG_POLL_MS

PATIENCE_S = 60
POLL_S = 0.2
SESSION_MS = 30_000  # a member that a test doesn't poll for a while stays in its group


def take(reader, count):
    """So many values, as they come."""
    values, until = [], time.monotonic() + PATIENCE_S
    while len(values) < count:
        values += reader.poll()
        assert time.monotonic() < until, f"only {values} came"
    return values


class Librdkafka:
    """Transactions with librdkafka, through confluent-kafka."""

    refusal = confluent_kafka.KafkaException

    class Producer:
        def __init__(self, bootstrap, name, timeout_ms=60_000):
            options = {
                "transactional.id": name,
                "transaction.timeout.ms": timeout_ms,
                "log_level": 0,
            }
            self.producer = confluent_kafka.Producer(
                {"bootstrap.servers": bootstrap, **options}
            )
            self.producer.init_transactions(PATIENCE_S)

        def begin(self):
            self.producer.begin_transaction()

        def send(self, topic, *values, partition=0):
            for value in values:
                self.producer.produce(topic, value, partition=partition)
            assert self.producer.flush(PATIENCE_S) == 0

        def send_offsets(self, progress):
            self.producer.send_offsets_to_transaction(*progress, PATIENCE_S)

        def commit(self):
            self.producer.commit_transaction(PATIENCE_S)

        def abort(self):
            self.producer.abort_transaction(PATIENCE_S)

        def close(self):
            del self.producer

    class Reader:
        def __init__(
            self, bootstrap, topic, isolation="read_committed", group=None, partitions=1
        ):
            options = {
                "bootstrap.servers": bootstrap,
                "group.id": group or "unused",
                "isolation.level": isolation,
            }
            options |= {
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": SESSION_MS,
            }
            self.consumer = confluent_kafka.Consumer(options | {"log_level": 0})
            if group:
                self.consumer.subscribe([topic])
                return
            self.places = [
                confluent_kafka.TopicPartition(topic, number, 0)
                for number in range(partitions)
            ]
            self.consumer.assign(self.places)

        def poll(self):
            messages = self.consumer.consume(100, POLL_S)
            assert not [message.error() for message in messages if message.error()]
            return [message.value() for message in messages]

        def progress(self):
            return (
                self.consumer.position(self.consumer.assignment()),
                self.consumer.consumer_group_metadata(),
            )

        def end(self):
            return self.consumer.get_watermark_offsets(self.places[0], PATIENCE_S)[1]

        def close(self):
            self.consumer.close()


class KafkaPython:
    """Transactions with kafka-python."""

    refusal = KafkaPythonError

    class Producer:
        def __init__(self, bootstrap, name, timeout_ms=60_000):
            options = {"transactional_id": name, "transaction_timeout_ms": timeout_ms}
            self.producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, **options)
            self.producer.init_transactions()

        def begin(self):
            self.producer.begin_transaction()

        def send(self, topic, *values, partition=0):
            sent = [
                self.producer.send(topic, value, partition=partition)
                for value in values
            ]
            self.producer.flush(PATIENCE_S)
            for one in sent:
                one.get(PATIENCE_S)

        def send_offsets(self, progress):
            self.producer.send_offsets_to_transaction(*progress)

        def commit(self):
            self.producer.commit_transaction()

        def abort(self):
            self.producer.abort_transaction()

        def close(self):
            self.producer.close(timeout=0)

    class Reader:
        def __init__(
            self, bootstrap, topic, isolation="read_committed", group=None, partitions=1
        ):
            options = {
                "bootstrap_servers": bootstrap,
                "group_id": group,
                "isolation_level": isolation,
            }
            options |= {
                "auto_offset_reset": "earliest",
                "enable_auto_commit": False,
                "session_timeout_ms": SESSION_MS,
            }
            self.consumer = kafka.KafkaConsumer(**options)
            self.poll_ms = LONG_POLL_MS if group else int(POLL_S * 1000)
            if group:
                self.consumer.subscribe([topic])
                return
            self.places = [
                kafka.TopicPartition(topic, number) for number in range(partitions)
            ]
            self.consumer.assign(self.places)

        def poll(self):
            polled = self.consumer.poll(timeout_ms=self.poll_ms)
            return [record.value for records in polled.values() for record in records]

        def progress(self):
            positions = {
                place: self.consumer.position(place)
                for place in self.consumer.assignment()
            }
            places = {
                place: kafka.structs.OffsetAndMetadata(offset, "", -1)
                for place, offset in positions.items()
            }
            return places, self.consumer.group_metadata()

        def end(self):
            return self.consumer.end_offsets(self.places)[self.places[0]]

        def close(self):
            self.consumer.close()


class Aiokafka:
    """aiokafka. Its tasks run while somebody asks for something."""

    refusal = AiokafkaError

    class Producer:
        def __init__(self, bootstrap, name, timeout_ms=60_000):
            self.loop = asyncio.Runner()
            options = {"transactional_id": name, "transaction_timeout_ms": timeout_ms}

            async def start():
                self.producer = aiokafka.AIOKafkaProducer(
                    bootstrap_servers=bootstrap, **options
                )
                await self.producer.start()

            try:
                self.loop.run(start())
            except AiokafkaError:
                self.close()
                raise

        def begin(self):
            self.loop.run(self.producer.begin_transaction())

        def send(self, topic, *values, partition=0):
            async def send():
                await asyncio.gather(
                    *[
                        await self.producer.send(topic, each, partition=partition)
                        for each in values
                    ]
                )

            self.loop.run(send())

        def send_offsets(self, progress):
            self.loop.run(self.producer.send_offsets_to_transaction(*progress))

        def commit(self):
            self.loop.run(self.producer.commit_transaction())

        def abort(self):
            self.loop.run(self.producer.abort_transaction())

        def close(self):
            with suppress(AiokafkaError):
                self.loop.run(self.producer.stop())
            self.loop.close()

    class Reader:
        def __init__(
            self, bootstrap, topic, isolation="read_committed", group=None, partitions=1
        ):
            self.loop, self.group = asyncio.Runner(), group
            options = {
                "bootstrap_servers": bootstrap,
                "group_id": group,
                "isolation_level": isolation,
            }
            options |= {
                "auto_offset_reset": "earliest",
                "enable_auto_commit": False,
                "session_timeout_ms": SESSION_MS,
            }

            async def start():
                self.consumer = aiokafka.AIOKafkaConsumer(**options)
                await self.consumer.start()
                if group:
                    self.consumer.subscribe([topic])
                    return
                self.assigned = [
                    aiokafka.TopicPartition(topic, number)
                    for number in range(partitions)
                ]
                self.consumer.assign(self.assigned)

            self.loop.run(start())

        def poll(self):
            polled = self.loop.run(self.consumer.getmany(timeout_ms=int(POLL_S * 1000)))
            return [record.value for records in polled.values() for record in records]

        def progress(self):
            async def positions():
                return {
                    place: await self.consumer.position(place)
                    for place in self.consumer.assignment()
                }

            return self.loop.run(positions()), self.group

        def end(self):
            return self.loop.run(self.consumer.end_offsets(self.assigned))[
                self.assigned[0]
            ]

        def close(self):
            # aiokafka cancels a fetch that waits before another try, and raises that
            with suppress(asyncio.CancelledError):
                self.loop.run(self.consumer.stop())
            self.loop.close()


class Java:
    """Apache Kafka's own, called through py4j. tools: a started JavaTools."""

    def __init__(self, tools):
        from py4j.protocol import Py4JJavaError

        self.refusal = Py4JJavaError
        self.gateway = tools.gateway
        self.kafka = tools.gateway.jvm.org.apache.kafka
        self.duration = tools.gateway.jvm.java.time.Duration

    def properties(self, bootstrap, **options):
        told = self.gateway.jvm.java.util.Properties()
        for name, value in options.items():
            told.setProperty(name.replace("_", "."), str(value))
        told.setProperty("bootstrap.servers", bootstrap)
        return told

    def list(self, *items):
        made = self.gateway.jvm.java.util.ArrayList()
        for item in items:
            made.add(item)
        return made

    def Producer(self, bootstrap, name, timeout_ms=60_000):
        return JavaProducer(self, bootstrap, name, timeout_ms)

    def Reader(
        self, bootstrap, topic, isolation="read_committed", group=None, partitions=1
    ):
        return JavaReader(self, bootstrap, topic, isolation, group, partitions)


class JavaProducer:
    def __init__(self, java, bootstrap, name, timeout_ms):
        self.java = java
        bytes_as_they_are = java.kafka.common.serialization.ByteArraySerializer
        properties = java.properties(
            bootstrap, transactional_id=name, transaction_timeout_ms=timeout_ms
        )
        self.producer = java.kafka.clients.producer.KafkaProducer(
            properties, bytes_as_they_are(), bytes_as_they_are()
        )
        self.producer.initTransactions()

    def begin(self):
        self.producer.beginTransaction()

    def send(self, topic, *values, partition=0):
        record = self.java.kafka.clients.producer.ProducerRecord
        for sent in [
            self.producer.send(record(topic, partition, None, value))
            for value in values
        ]:
            sent.get()

    def send_offsets(self, progress):
        self.producer.sendOffsetsToTransaction(*progress)

    def commit(self):
        self.producer.commitTransaction()

    def abort(self):
        self.producer.abortTransaction()

    def close(self):
        self.producer.close(self.java.duration.ZERO)


class JavaReader:
    def __init__(self, java, bootstrap, topic, isolation, group, partitions):
        self.java = java
        options = {
            "isolation_level": isolation,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": "false",
        }
        options |= {"group_id": group or "unused", "session_timeout_ms": SESSION_MS}
        bytes_as_they_are = java.kafka.common.serialization.ByteArrayDeserializer
        self.consumer = java.kafka.clients.consumer.KafkaConsumer(
            java.properties(bootstrap, **options),
            bytes_as_they_are(),
            bytes_as_they_are(),
        )
        if group:
            self.consumer.subscribe(java.list(topic))
            return
        self.places = java.list(
            *(
                java.kafka.common.TopicPartition(topic, number)
                for number in range(partitions)
            )
        )
        self.consumer.assign(self.places)

    def poll(self):
        polled = self.consumer.poll(
            self.java.duration.ofMillis(int(POLL_S * 1000))
        ).iterator()
        values = []
        while polled.hasNext():
            values.append(polled.next().value())
        return values

    def progress(self):
        places = self.java.gateway.jvm.java.util.HashMap()
        for place in self.consumer.assignment():
            places.put(
                place,
                self.java.kafka.clients.consumer.OffsetAndMetadata(
                    self.consumer.position(place)
                ),
            )
        return places, self.consumer.groupMetadata()

    def end(self):
        return self.consumer.endOffsets(self.places).get(self.places[0])

    def close(self):
        self.consumer.close()


CLIENTS = {"librdkafka": Librdkafka, "kafka-python": KafkaPython, "aiokafka": Aiokafka}
