"""A client that says exactly what a test tells it to: frames over a socket, nothing
clever.
"""

import socket
import struct

from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.records import encode_batch


class Connection:
    """One TCP connection to a broker. source: the address that it comes from, one of
    this machine's own.
    """

    def __init__(self, bootstrap, source=None):
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection(
            (host, int(port)), timeout=120, source_address=source and (source, 0)
        )
        self.correlation_id = 0

    def ask(self, api, version, **body):
        """Send a request and read its response."""
        self.send(api, version, **body)
        return self.read(api, version)

    def send(self, api, version, **body):
        """Send a request only; its correlation id."""
        self.correlation_id += 1
        self.send_frame(
            b"".join(encode_request(api, version, self.correlation_id, "raw", body))
        )
        return self.correlation_id

    def read(self, api, version):
        """The response to the latest request."""
        correlation_id, body = decode_response(api, version, self.read_frame())
        assert correlation_id == self.correlation_id
        return body

    def send_frame(self, frame):
        self.send_bytes(struct.pack(">i", len(frame)) + frame)

    def send_bytes(self, data):
        self.socket.sendall(data)

    def read_frame(self):
        """The next response, without its size."""
        return self._read(*struct.unpack(">i", self._read(4)))

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError(
                    f"the broker closed the connection with {size - len(data)} bytes of"
                    " an answer missing"
                )
            data += more
        return data

    def is_closed_by_the_broker(self):
        """True once the broker hangs up; an answer or 20 seconds of silence make it
        false.
        """
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    # --- shorthands ---

    def create_topic(self, name, partitions=1, **configs):
        """Returns when the topic has a leader: a broker may learn it later than the
        controller answers.
        """
        pairs = [
            {"name": key.replace("_", "."), "value": str(value)}
            for key, value in configs.items()
        ]
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": pairs,
        }
        [created] = self.ask("CreateTopics", 5, topics=[topic]).topics
        assert created.error_code == 0, created
        while self.fetch(name).error_code != 0 or self.offset(name, -1).error_code != 0:
            pass
        return name

    def produce(
        self, topic, records, *, version=8, acks=-1, partition=0, transactional_id="t"
    ):
        """The partition's answer; for acks=0 nothing."""
        data = [
            {
                "name": topic,
                "partition_data": [{"index": partition, "records": records}],
            }
        ]
        asked = {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout_ms": 10_000,
            "topic_data": data,
        }
        self.send("Produce", version, **asked)
        if acks == 0:
            return None
        return self.read("Produce", version).responses[0].partition_responses[0]

    def fetch(self, topic, offset=0, *, version=11, partition=0, **limits):
        """The partition's answer."""
        self.send_fetch(topic, offset, version=version, partition=partition, **limits)
        return self.read("Fetch", version).responses[0].partitions[0]

    def send_fetch(self, topic, offset=0, *, version=11, partition=0, **limits):
        asked = {
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 50 << 20,
            "session_epoch": -1,
            **limits,
        }
        place = {
            "partition": partition,
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 20,
        }
        place |= {
            name: asked.pop(name)
            for name in ("current_leader_epoch", "partition_max_bytes")
            if name in asked
        }
        replica = {"replica_id": -1} if version < 15 else {}
        return self.send(
            "Fetch",
            version,
            topics=[{"topic": topic, "partitions": [place]}],
            **replica,
            **asked,
        )

    def offset(self, topic, timestamp, *, partition=0, version=5):
        """ListOffsets' answer for one partition: -1 latest, -2 earliest, -3 max
        timestamp, else by timestamp.
        """
        topics = [
            {
                "name": topic,
                "partitions": [{"partition_index": partition, "timestamp": timestamp}],
            }
        ]
        return (
            self.ask("ListOffsets", version, replica_id=-1, topics=topics)
            .topics[0]
            .partitions[0]
        )


def batch(*values, timestamp=1_700_000_000_000, **options):
    """A record batch with these values."""
    return bytearray(
        encode_batch(
            [(timestamp + i, None, value, []) for i, value in enumerate(values)],
            **options,
        )
    )


def keyed_batch(*values, timestamp=1_700_000_000_000):
    """The same with a key each, as a compacted topic wants it."""
    records = [
        (timestamp + i, b"key %d" % i, value, []) for i, value in enumerate(values)
    ]
    return bytearray(encode_batch(records))
