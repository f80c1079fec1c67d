"""What every client has underneath its own work: connections, versions, replies in
order, timeouts, metadata.

Contract with the shell, like the broker's:

    client.outbox    # in order: Connect(connection, address) | Send(connection, frame) | Disconnect(connection)
    client.receive_reply(connection, frame, now)
    client.connection_lost(connection, now)  # refused, reset or closed by the other side
    client.tick(now)                         # timers
    client.next_deadline()                   # after tick(now) it is later than now, or None

A frame is a list of bytes-like objects without the 4-byte size. The client names its
connections; a name is never used again. The first request on a connection asks for the
broker's versions (KIP-35), and each later one uses the highest version both sides know.
A request that is not answered within request_timeout_ms costs the connection, as in the
Java client: TCP keeps order, so no later answer could arrive either.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from minikafka.clients.metadata import Address, Metadata
from minikafka.clients.request_state import OnResponse, Questions, Timed
from minikafka.clients.structs import TopicPartition
from minikafka.clock import Now, soonest
from minikafka.trace import Trace
from minikafka.wire.errors import Error
from minikafka.wire.messages import API, decode_response, encode_request
from minikafka.wire.schema import Message

# Up to these versions our clients implement the meaning; the schema text may know later
# ones (topic ids instead of names, from Fetch 13 and Produce 13 on). An API that isn't
# listed is used at the highest version in the schema text.
HIGHEST = {
    "Produce": 9,
    "Fetch": 12,
    "ListOffsets": 7,
    "Metadata": 12,
    "InitProducerId": 4,
    "DeleteTopics": 5,
    "OffsetCommit": 9,
    "OffsetFetch": 9,
    "AddPartitionsToTxn": 3,
    "EndTxn": 4,
    "TxnOffsetCommit": 4,
}

# Settings of every client; producers and consumers have more.
DEFAULTS: dict[str, Any] = {
    "client_id": None,
    "request_timeout_ms": 30000,
    "retry_backoff_ms": 100,
    "reconnect_backoff_ms": 50,
    "metadata_max_age_ms": 300000,
}


class Connect(NamedTuple):
    connection: str
    address: Address


class Send(NamedTuple):
    connection: str
    frame: list[Any]


class Disconnect(NamedTuple):
    connection: str


class InFlight(NamedTuple):
    api: str
    version: int
    correlation_id: int
    deadline: int
    on_response: OnResponse


@dataclass(eq=False)
class Node:
    """A broker as this client sees it.

    ready: connected, versions known. Bootstrap addresses have ids below 0, as in the
    Java client.
    """

    id: int
    address: Address
    connection: str | None = None
    versions: dict[int, tuple[int, int]] | None = None
    in_flight: deque[InFlight] = field(default_factory=deque)
    retry_at: int = 0

    @property
    def ready(self) -> bool:
        return self.versions is not None

    def deadline(self) -> int:
        """The first time at which a request in flight will have waited too long."""
        return min(waiting.deadline for waiting in self.in_flight)

    @property
    def name(self) -> str:
        return f"broker {self.id}" if self.id >= 0 else "{}:{}".format(*self.address)


class Client(Timed):
    """The base of producer, consumer and admin. A subclass does its own work in
    work().
    """

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[Address],
        trace: Trace,
        config: Mapping[str, Any],
    ) -> None:
        super().__init__(config["retry_backoff_ms"])
        self.name = name
        self.config = config
        self.client_id: str = config["client_id"] or name
        self.trace = trace
        self.outbox: list[Connect | Send | Disconnect] = []
        self.closed = False
        self.request_timeout_ms: int = config["request_timeout_ms"]
        self.reconnect_backoff_ms: int = config["reconnect_backoff_ms"]
        self.bootstrap = [Node(-1 - i, address) for i, address in enumerate(bootstrap)]
        self.nodes: dict[int, Node] = {}
        self._by_connection: dict[str, Node] = {}
        self.connections = 0  # made so far; used in their names
        self._correlation_id = 0
        self.questions = Questions(self)
        self.metadata = Metadata(
            self,
            config["metadata_max_age_ms"],
            config.get("allow_auto_create_topics", True),
            self.metadata_read,
        )

    # called by the shell

    def receive_reply(self, connection: str, frame: Any, now: Now) -> None:
        """Process an answer. Answers come in the order of the requests; one on a
        connection that was given up is ignored.
        """
        node = self._by_connection.get(connection)
        if node is None or self.closed:
            return
        self._enter(now)
        waiting = node.in_flight.popleft()
        version = waiting.version
        if (
            waiting.api == "ApiVersions"
            and int.from_bytes(bytes(frame[4:6]), "big") == Error.UNSUPPORTED_VERSION
        ):
            # a broker that doesn't know our version says so in the form of version 0
            # (KIP-511)
            version = 0
        correlation_id, response = decode_response(waiting.api, version, frame)
        assert correlation_id == waiting.correlation_id, (
            "answers come in the order of the requests"
        )
        if self.trace:
            self.trace.emit(
                "ResponseReceived",
                from_node=node.name,
                api=waiting.api,
                connection=connection,
                correlation_id=correlation_id,
            )
        self.trace.cause = (connection, correlation_id)
        waiting.on_response(response)
        self.trace.cause = None
        self._do_what_is_due()

    def connection_lost(self, connection: str, now: Now) -> None:
        node = self._by_connection.get(connection)
        if node is None or self.closed:
            return
        self._enter(now)
        self._give_up(node)
        self._do_what_is_due()

    def tick(self, now: Now) -> None:
        if self.closed:
            return
        self._enter(now)
        for node in list(self._by_connection.values()):
            if node.in_flight and node.deadline() <= self.now_ms:
                self.hang_up(node)
        self._do_what_is_due()

    def next_deadline(self) -> int | None:
        if self.closed:
            return None
        due_at, asks_ms = self.metadata.due_at() if self.busy() else None, None
        known = self._known_nodes()
        if due_at is not None and (
            any(node.ready for node in known)
            or not any(node.connection for node in known)
        ):
            asks_ms = max(due_at, min(node.retry_at for node in known))
        deadlines = (
            node.deadline() for node in self._by_connection.values() if node.in_flight
        )
        due_ms = soonest(*deadlines, self._wake_ms, asks_ms)
        return None if due_ms is None else max(due_ms, self.now_ms + 1)

    def close(self, now: Now) -> None:
        """Close all connections for good."""
        self._enter(now)
        self.outbox += [Disconnect(connection) for connection in self._by_connection]
        self._by_connection.clear()
        self.closed = True
        if self.trace:
            self.trace.emit("ClientClosed")

    # for subclasses

    def work(self) -> None:
        """Send everything that can be sent now, and wake() for what has to wait for its
        time.
        """
        self.questions.work()

    def busy(self) -> bool:
        """Whether the client keeps its metadata fresh. A consumer that isn't polled
        doesn't.
        """
        return True

    def ready(self, node_id: int) -> Node | None:
        """The node, if requests can be sent to it; otherwise start to connect and
        return None.
        """
        node = self.nodes.get(node_id)
        if node is None:
            self.metadata.lacks_broker()
            return None
        return self.ready_node(node)

    def request(
        self,
        node: Node,
        api: str,
        body: dict[str, Any],
        on_response: OnResponse | None,
        timeout_ms: int | None = None,
        version: int | None = None,
    ) -> None:
        """Send a request to a ready node. on_response=None: there will be no answer
        (acks=0).

        timeout_ms: how long to wait for the answer; by default request_timeout_ms.
        version: by default the highest that both sides know.
        """
        assert node.connection is not None, "asked ready() first"
        if version is None:
            version = common_version(node, api)
        self._correlation_id += 1
        frame = encode_request(api, version, self._correlation_id, self.client_id, body)
        self.outbox.append(Send(node.connection, frame))
        if on_response is not None:
            deadline = self.now_ms + (
                self.request_timeout_ms if timeout_ms is None else timeout_ms
            )
            node.in_flight.append(
                InFlight(api, version, self._correlation_id, deadline, on_response)
            )
        if self.trace:
            self.trace.emit(
                "RequestSent",
                to=node.name,
                api=api,
                version=version,
                connection=node.connection,
                correlation_id=self._correlation_id,
            )

    def ready_node(self, node: Node) -> Node | None:
        """The same as ready(), for a node object that the caller keeps and that has its
        own connection.
        """
        if node.ready:
            return node
        if node.connection is None and self.now_ms < node.retry_at:
            self.wake(node.retry_at)
        elif node.connection is None and not self.closed:
            self.connections += 1
            node.connection = f"{self.name}#{self.connections}"
            self._by_connection[node.connection] = node
            self.outbox.append(Connect(node.connection, node.address))
            self._ask_versions(node, API["ApiVersions"].max_version)
        return None

    def leaders(
        self, partitions: Iterable[TopicPartition]
    ) -> Iterator[tuple[Node, list[TopicPartition]]]:
        """The leaders of these partitions that are ready, each with its partitions; for
        the others metadata is requested.
        """
        by_leader: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            leader = self.metadata.partition(*partition).leader
            if leader is None:
                self.metadata.refresh()
            else:
                by_leader.setdefault(leader, []).append(partition)
        for leader, theirs in sorted(by_leader.items()):
            node = self.ready(leader)
            if node is not None:
                yield node, theirs

    def hang_up(self, node: Node) -> None:
        """Close the connection to a node; everything in flight on it has failed."""
        if node.connection is not None:
            self.outbox.append(Disconnect(node.connection))
            self._give_up(node)

    # connections

    def _enter(self, now: Now) -> None:
        self.now_ms = self.trace.now = now.monotonic_ms

    def _do_what_is_due(self) -> None:
        self._wake_ms = None
        due_at = self.metadata.due_at() if self.busy() else None
        if (
            due_at is not None
            and due_at <= self.now_ms
            and (node := self.any_node()) is not None
        ):
            self.metadata.ask(partial(self.request, node))
        self.work()

    def _ask_versions(self, node: Node, version: int) -> None:
        body = (
            {"client_software_name": "minikafka", "client_software_version": "1"}
            if version >= 3
            else {}
        )

        def answer(response: Message | None) -> None:
            if response is None:
                return
            if response.error_code == Error.UNSUPPORTED_VERSION:
                assert version > 0, "every broker answers ApiVersions 0"
                self._ask_versions(node, 0)
            else:
                node.versions = {
                    each.api_key: (each.min_version, each.max_version)
                    for each in response.api_keys
                }

        self.request(node, "ApiVersions", body, answer, version=version)

    def _give_up(self, node: Node) -> None:
        """Forget a connection; everything in flight on it has failed."""
        assert node.connection is not None
        del self._by_connection[node.connection]
        node.connection, node.versions = None, None
        node.retry_at = self.now_ms + self.reconnect_backoff_ms
        failed, node.in_flight = node.in_flight, deque()
        self.metadata.refresh()
        for waiting in failed:
            waiting.on_response(None)

    # metadata

    def any_node(self) -> Node | None:
        """The ready node with the fewest requests in flight; if none is ready, begins
        to connect to one.
        """
        known = self._known_nodes()
        ready = [node for node in known if node.ready]
        if ready:
            return min(ready, key=lambda node: len(node.in_flight))
        if not any(node.connection for node in known):
            self.ready_node(min(known, key=lambda node: node.retry_at))
        return None

    def _known_nodes(self) -> list[Node]:
        return list(self.nodes.values()) or self.bootstrap

    def metadata_read(self) -> None:
        """The client has read new metadata. Nodes whose address hasn't changed
        are kept.
        """
        for node_id, address in self.metadata.brokers.items():
            known = self.nodes.get(node_id)
            if known is None or known.address != address:
                if known is not None:
                    self.hang_up(known)
                self.nodes[node_id] = self._bootstrapped(node_id, address)

    def _bootstrapped(self, node_id: int, address: Address) -> Node:
        """A node for this address. It takes over an open bootstrap connection to the
        same address.
        """
        node = Node(node_id, address)
        for first in self.bootstrap:
            if first.address == address and first.ready and not first.in_flight:
                node.connection, node.versions = first.connection, first.versions
                assert node.connection is not None
                self._by_connection[node.connection] = node
                first.connection, first.versions = None, None
        return node


def common_version(node: Node, api: str) -> int:
    """The highest version of an API that the node and this client know."""
    assert node.versions is not None, "asked ready() first"
    schema = API[api]
    lowest, highest = node.versions.get(schema.key, (0, -1))
    version = min(highest, schema.max_version, HIGHEST.get(api, schema.max_version))
    if version < max(lowest, schema.min_version):
        raise ValueError(
            f"{node.name} offers {api} in versions {lowest}-{highest}, and this client"
            " knows none of them"
        )
    return version
