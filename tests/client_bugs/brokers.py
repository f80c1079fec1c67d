"""The brokers that the programs talk to, of both kinds, and what stands between: a
connection that stands still, an answer that never came from a broker.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from minikafka.course.client_bugs import Bug
from minikafka.course.experiments.lesson_12_real import nodes_in, stay_behind
from minikafka.server.embedded import Served
from minikafka.server.proxy import Proxy, hang_up, read_frame, send_frame
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    api_name,
    decode_request,
    decode_response,
    encode_response,
)
from tests.clients.brokers import overrides, until
from tests.course import processes
from tests.kafka import MINIKAFKA, ApacheKafka, free_ports

LARGE = 100_000  # bytes of a request
STANDS_STILL_S = 5.0


class TimesOut(Proxy):
    """Answers the second Produce request itself, with REQUEST_TIMED_OUT, as soon as the
    next is on its way; the broker never sees it.
    """

    def __init__(self, target: str) -> None:
        super().__init__(target, stay_behind(lambda: self.port))

    def _carry_requests(
        self,
        number: int,
        client: socket.socket,
        broker: socket.socket,
        asked: dict[bytes, bytes],
    ) -> None:
        seen, held = 0, b""
        with contextlib.suppress(OSError):
            while (frame := read_frame(client)) is not None:
                if api_name(frame) == "Produce":
                    seen += 1
                    if seen == 2:
                        held = frame
                        continue
                    if held:
                        send_frame(client, timed_out(held))
                        held = b""
                asked[frame[4:8]] = frame
                send_frame(broker, frame)
        hang_up(broker)


def timed_out(frame: bytes) -> bytes:
    """The answer to a Produce request of one partition."""
    request = decode_request(frame)
    [topic] = request.body.topic_data
    [partition] = topic.partition_data
    part = {"index": partition.index, "error_code": Error.REQUEST_TIMED_OUT}
    part |= {"base_offset": -1}
    answer = {"responses": [{"name": topic.name, "partition_responses": [part]}]}
    parts = encode_response("Produce", request.version, request.correlation_id, answer)
    return b"".join(parts)


class Ways:
    """The ways to two brokers, which clients stay on. The first stands still in the
    middle of a large request for some seconds, and in the middle of the next one until
    the other way has carried as many as `awaited` Produce requests.
    """

    def __init__(self, targets: dict[int, str], awaited: int) -> None:
        self.awaited = awaited
        self.carried = 0  # on the second way
        self.stops = [self.stand_still, self.wait_for_the_other]
        self.ways: dict[int, Proxy] = {}
        self.ways[1] = StandsStill(targets[1], self)
        self.ways[2] = Proxy(targets[2], self.change)

    def stand_still(self) -> None:
        threading.Event().wait(STANDS_STILL_S)

    def wait_for_the_other(self) -> None:
        until(lambda: self.carried >= self.awaited, "the other has carried them")

    def change(self, request: bytes, answer: bytes) -> bytes:
        """Each broker's address becomes its way's."""
        api = api_name(request)
        if api == "Produce":
            self.carried += 1
        if api not in ("Metadata", "FindCoordinator"):
            return answer
        version = decode_request(request).version
        correlation_id, body = decode_response(api, version, answer)
        for node in nodes_in(body):
            if node.node_id in self.ways:
                node.host, node.port = "127.0.0.1", self.ways[node.node_id].port
        return b"".join(encode_response(api, version, correlation_id, body))


class StandsStill(Proxy):
    """The first of these ways. It takes in little ahead, so that a client's socket is
    full while it stands still.
    """

    def __init__(self, target: str, ways: Ways) -> None:
        self.ways = ways
        super().__init__(target, self._change)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def _change(self, request: bytes, answer: bytes) -> bytes:
        return (
            answer
            if api_name(request) == "Produce"
            else self.ways.change(request, answer)
        )

    def _carry_requests(
        self,
        number: int,
        client: socket.socket,
        broker: socket.socket,
        asked: dict[bytes, bytes],
    ) -> None:
        with contextlib.suppress(OSError):
            while size := client.recv(4, socket.MSG_WAITALL):
                length = int.from_bytes(size, "big")
                if length > LARGE and self.ways.stops:
                    self.ways.stops.pop(0)()
                frame = client.recv(length, socket.MSG_WAITALL)
                asked[frame[4:8]] = frame
                send_frame(broker, frame)
        hang_up(broker)


@contextmanager
def broker_for(bug: Bug, kind: str) -> Iterator[str]:
    """The bootstrap address for this bug's program: minikafka or Apache Kafka."""
    with SPECIAL.get(bug.id, plain)(bug, kind) as bootstrap:
        yield bootstrap


@contextmanager
def plain(bug: Bug, kind: str) -> Iterator[str]:
    given = dict(line.split("=", 1) for line in bug.properties)
    if kind == MINIKAFKA:
        with Served(options=overrides(given)) as kafka:
            yield kafka.bootstrap
            assert "Traceback" not in kafka.said(), kafka.said()
    else:
        with ApacheKafka(given) as kafka:
            yield kafka.bootstrap


@contextmanager
def with_a_password(bug: Bug, kind: str) -> Iterator[str]:
    """A second listener asks for SCRAM; alice is told over the first."""
    one, two, controller = free_ports(3)
    listeners = f"PLAINTEXT://127.0.0.1:{one},SASL_PLAINTEXT://127.0.0.1:{two}"
    given = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
    }
    with ExitStack() as ends:
        if kind == MINIKAFKA:
            ends.enter_context(Served(options=overrides(given)))
        else:
            given["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
            given["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
            given["listener.security.protocol.map"] = (
                "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
            )
            given["inter.broker.listener.name"] = "PLAINTEXT"
            kafka = ApacheKafka(given)
            kafka.port = one
            ends.enter_context(kafka)
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{one}"})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        added = UserScramCredentialUpsertion("alice", info, b"secret")
        for future in admin.alter_user_scram_credentials([added]).values():
            future.result(60)
        yield f"127.0.0.1:{two}"


@contextmanager
def behind_a_timeout(bug: Bug, kind: str) -> Iterator[str]:
    with plain(bug, kind) as bootstrap, TimesOut(bootstrap) as proxy:
        yield proxy.address


@contextmanager
def on_two_brokers(bug: Bug, kind: str) -> Iterator[str]:
    """Topic a is on the broker whose way stands still, topic b on the other."""
    roles = {1: "broker,controller", 2: "broker"}
    with processes.running(kind, roles, offsets_topic_replication_factor=1) as nodes:
        admin = AdminClient({"bootstrap.servers": nodes.bootstrap})
        a = NewTopic("a", 31, replica_assignment=[[1]] * 31)
        b = NewTopic("b", 1, replica_assignment=[[2]])
        for future in admin.create_topics([a, b]).values():
            future.result(60)
        targets = {number: node.bootstrap for number, node in nodes.items()}
        ways = Ways(targets, awaited=31)
        with ways.ways[1] as first, ways.ways[2]:
            yield first.address


SPECIAL = {
    "right-password": with_a_password,
    "one-timeout": behind_a_timeout,
    "misrouted": on_two_brokers,
}
