"""A blocking client of a few APIs, with which tests look at a cluster, and `minikafka
watch` too. It asks in versions that Apache Kafka has had for years, and the requests
of tests meet no faults.
"""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.schema import Message

CLIENT_ID = "minikafka.testing"
SIZE_BYTES = 4
ANSWER_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 0.005
MOST_ANSWER_BYTES = 100 << 20  # more is no Kafka's

VERSIONS = {
    "AlterPartitionReassignments": 0,
    "ConsumerGroupDescribe": 0,
    "CreateTopics": 6,
    "DeleteTopics": 5,
    "DescribeGroups": 5,
    "DescribeQuorum": 0,
    "ElectLeaders": 2,
    "Fetch": 12,
    "FindCoordinator": 3,
    "InitProducerId": 4,
    "ListGroups": 5,
    "ListOffsets": 5,
    "Metadata": 9,
    "OffsetFetch": 7,
    "ShareGroupDescribe": 1,
}

Found = TypeVar("Found")


class Client:
    """bootstrap() returns host:port of the brokers that can be asked now. Any thread
    may use it. patience_s: for an answer that doesn't come.
    """

    def __init__(
        self,
        bootstrap: Callable[[], list[str]],
        client_id: str = CLIENT_ID,
        patience_s: float = ANSWER_SECONDS,
    ) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._patience_s = patience_s
        self._connections: dict[str, socket.socket] = {}
        self._lock = threading.Lock()
        self._asked = 0

    def ask(
        self, api: str, body: dict[str, Any], address: str | None = None
    ) -> Message:
        """The answer of the broker at an address; None: of the first that answers.
        Errors: ConnectionError, TimeoutError.
        """
        if address is not None:
            return self._ask(api, body, address)
        failed: OSError | None = None
        for each in self._bootstrap():
            try:
                return self._ask(api, body, each)
            except OSError as error:
                failed = error
        raise ConnectionError(f"no broker answers {api}: {failed}") from failed

    def _ask(self, api: str, body: dict[str, Any], address: str) -> Message:
        version = VERSIONS[api]
        with self._lock:
            self._asked += 1
            number, client_id = self._asked, self._client_id
            frame = b"".join(encode_request(api, version, number, client_id, body))
            try:
                connection = self._connected(address)
                connection.sendall(len(frame).to_bytes(SIZE_BYTES, "big") + frame)
                size = int.from_bytes(self._read(connection, SIZE_BYTES), "big")
                if size > MOST_ANSWER_BYTES:
                    raise ConnectionError("no Kafka answers there")
                answer = self._read(connection, size)
            except OSError:
                self._hang_up(address)
                raise
        return decode_response(api, version, answer)[1]

    def _connected(self, address: str) -> socket.socket:
        known = self._connections.get(address)
        if known is not None and not has_hung_up(known):
            return known
        self._hang_up(address)
        host, port = address.rsplit(":", 1)
        new = socket.create_connection((host, int(port)), timeout=self._patience_s)
        self._connections[address] = new
        return new

    def _read(self, connection: socket.socket, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                raise ConnectionError("the broker has closed the connection")
            data += more
        return bytes(data)

    def _hang_up(self, address: str) -> None:
        known = self._connections.pop(address, None)
        if known is not None:
            known.close()

    def close(self) -> None:
        with self._lock:
            for address in list(self._connections):
                self._hang_up(address)

    # -- where things are

    def brokers(self) -> list[str]:
        """The addresses of all brokers that the cluster knows."""
        answer = self.ask("Metadata", {"topics": []})
        return [f"{each.host}:{each.port}" for each in answer.brokers]

    def metadata(self, topic: str) -> Message:
        """What Metadata says of one topic. Errors: KafkaError."""
        answer = self._metadata(topic)
        [found] = answer.topics
        if found.error_code:
            raise KafkaError(Error(found.error_code), f"topic {topic}")
        return found

    def leader(self, topic: str, partition: int) -> str:
        """The address of a partition's leader. Errors: KafkaError."""
        answer = self._metadata(topic)
        addresses = {
            each.node_id: f"{each.host}:{each.port}" for each in answer.brokers
        }
        for known in answer.topics[0].partitions:
            if known.partition_index == partition and known.leader_id in addresses:
                return addresses[known.leader_id]
        raise KafkaError(Error.LEADER_NOT_AVAILABLE, f"{topic}-{partition}")

    def _metadata(self, topic: str) -> Message:
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        return self.ask("Metadata", body)

    def coordinator(self, group: str) -> str:
        """The address of a group's coordinator. Errors: KafkaError."""
        found = self.ask("FindCoordinator", {"key": group, "key_type": 0})
        if found.error_code:
            raise KafkaError(Error(found.error_code), f"the coordinator of {group}")
        return f"{found.host}:{found.port}"


def has_hung_up(connection: socket.socket) -> bool:
    """Whether the broker has closed an idle connection."""
    patience_s = connection.gettimeout()
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(patience_s)


def until(look: Callable[[], Found | None], seconds: float, what: str) -> Found:
    """What `look` finds, as soon as it does; meanwhile errors that pass are passed
    over. what: for the message. Errors: AssertionError, after `seconds`.
    """
    end = time.monotonic() + seconds
    never = threading.Event()
    while True:
        why = ""
        try:
            found = look()
            if found is not None:
                return found
        except OSError as error:
            why = f": {error}"
        except KafkaError as error:
            if not error.error.retriable:
                raise
            why = f": {error.error.name}"
        if time.monotonic() >= end:
            raise AssertionError(f"{what}, after {seconds:g} s{why}")
        never.wait(LOOK_AGAIN_SECONDS)
