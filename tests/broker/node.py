"""A broker on a memory disk that is spoken to in real frames, for tests that read as
statements.
"""

from random import Random

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.counters import Counters
from minikafka.broker.effects import Close, Done, Reconfigured, Reply
from minikafka.clock import Now
from minikafka.cluster.metadata import MetadataRecord
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire import messages
from minikafka.wire.records import batches, decode_batch, encode_batch

WALL_MS = 1_767_225_600_000  # 2026-01-01


class Node:
    """One node and one client. Time stands still until `pass_time`."""

    peers = {}

    def __init__(self, disk=None, listeners=None, node_id=1, **properties):
        self.disk = disk or MemoryDisk()
        self.properties = {
            name.replace("_", "."): str(value) for name, value in properties.items()
        }
        self.listeners = [] if listeners is None else listeners
        self.node_id = node_id
        self.now = Now(0, WALL_MS)
        self.start()

    def new_broker(self):
        trace = Trace(f"broker {self.node_id}", self.listeners)
        config = BrokerConfig(
            {"PLAINTEXT": ("localhost", 9092)}, self.properties, self.peers
        )
        return Broker(self.node_id, config, self.disk, Random(7), trace)

    def start(self):
        self.broker = self.new_broker()
        self.broker.start(self.now)
        while not self.broker.ready and not self.broker.why_failed:
            self.broker.tick(self.now)
        self.connect("client")

    def connect(self, connection):
        self.broker.connected(connection, "PLAINTEXT", "127.0.0.1")

    def restart(self, clean=True):
        if clean:
            self.broker.stop(self.now)
        else:
            self.disk.crash()
        self.start()

    def elect(self, topic):
        """The controller elects this node again as leader of partition 0: a new leader
        epoch.
        """
        fields = {
            "partition_id": 0,
            "topic_id": self.broker.image.topics[topic].topic_id,
            "leader": self.node_id,
        }
        self.broker.quorum.append(
            [MetadataRecord("PartitionChangeRecord", 2, fields)], self.now
        )
        self.broker.tick(self.now)

    def pass_time(self, ms):
        """Let the clock run, ticking whenever the broker wants to be ticked."""
        end = self.now.monotonic_ms + ms
        while (next_ms := self.broker.next_deadline()) <= end:
            assert next_ms > self.now.monotonic_ms
            self._go_to(next_ms)
        self._go_to(end)

    def _go_to(self, monotonic_ms):
        self.now = Now(
            monotonic_ms, self.now.wall_ms + monotonic_ms - self.now.monotonic_ms
        )
        self.broker.tick(self.now)

    def send(self, api, version, connection="client", **body):
        """Put a request in; the answer, if there is one yet, can be taken with
        `answer`.
        """
        frame = b"".join(messages.encode_request(api, version, 5, "test", body))
        self.asked = api, version
        self.broker.receive(connection, bytearray(frame), self.now)

    def out(self):
        """What the broker put into its outbox since the last look."""
        items, self.broker.outbox[:] = list(self.broker.outbox), []
        return items

    def answer(self, api=None, version=None):
        """The one answer that is out, decoded; None where a request is still parked or
        was done without one.
        """
        items = [each for each in self.out() if not isinstance(each, Reconfigured)]
        assert len(items) <= 1, items
        if not items or isinstance(items[0], Done):
            return None
        assert isinstance(items[0], Reply), items[0]
        correlation_id, body = messages.decode_response(
            *(self.asked if api is None else (api, version)), b"".join(items[0].frame)
        )
        assert correlation_id == 5
        return body

    def closed(self):
        """Whether the client's connection was closed, and nothing else happened."""
        items = self.out()
        return len(items) == 1 and isinstance(items[0], Close)

    def call(self, api, version, **body):
        self.send(api, version, **body)
        # a decision of many records takes some turns
        while self.broker.quorum.is_publishing:
            self.broker.tick(self.now)
        return self.answer()

    # -- shorthands

    def create_topic(self, name, partitions=1, **configs):
        listed = [
            {"name": key.replace("_", "."), "value": str(value)}
            for key, value in configs.items()
        ]
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": [],
            "configs": listed,
        }
        return self.call("CreateTopics", 7, topics=[topic], timeout_ms=1000).topics[0]

    def produce(
        self, topic, *values, partition=0, acks=-1, version=9, batch=None, **of_batch
    ):
        """Values as one batch; a (timestamp, value) pair sets the time. The partition's
        answer, or None for acks=0.
        """
        if batch is None:
            records = [(self.now.wall_ms, None, value.encode(), []) for value in values]
            batch = encode_batch(records, **of_batch)
        data = {"index": partition, "records": batch}
        body = {
            "acks": acks,
            "timeout_ms": 1000,
            "topic_data": [{"name": topic, "partition_data": [data]}],
        }
        answer = self.call("Produce", version, **body)
        return answer and answer.responses[0].partition_responses[0]

    def fetch(self, topic, offset=0, partition=0, **how):
        """The partition's answer (None while parked)."""
        self.send_fetch(topic, offset, partition, **how)
        answer = self.answer()
        return answer and answer.responses[0].partitions[0]

    def send_fetch(
        self,
        topic,
        offset=0,
        partition=0,
        version=12,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        **more,
    ):
        asked = {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 20,
            "current_leader_epoch": -1,
        }
        asked |= {"last_fetched_epoch": -1, "log_start_offset": -1}
        body = {
            "max_wait_ms": max_wait_ms,
            "min_bytes": min_bytes,
            "max_bytes": max_bytes,
            "session_epoch": -1,
        }
        self.send(
            "Fetch",
            version,
            **(body | {"topics": [{"topic": topic, "partitions": [asked]}]} | more),
        )

    def values(self, topic, offset=0, **how):
        return values(self.fetch(topic, offset, **how))


class CountingNode(Node):
    """A node that counts what `serve --metrics` tells."""

    def new_broker(self):
        plain = super().new_broker()
        said = plain.config, self.disk, Random(7), plain.trace
        return Broker(self.node_id, *said, Counters())


def values(partition):
    """The values in a partition's answer, as text."""
    return [
        record.value.decode()
        for _, batch in batches(partition.records)
        for record in decode_batch(batch)
    ]
