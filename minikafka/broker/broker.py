"""The whole life of a node, without I/O.

Bytes come in (`receive`), time comes in (`tick`), and what to do with the outside world is left in `outbox`, in
order. No socket, clock, thread or random source of its own: the simulation and the TCP server drive the very same
class.

One request, from frame to answer: decode it (wire/), find the handler of its API (handlers/), which returns the
answer's fields, or None where the protocol knows no answer (acks=0), or a Wait, which is parked (waiting.py) until
what it waits for moves. Handlers reach the logs through `replicas` (replica_manager.py), and change the cluster
through `decide`: the records go through the metadata log, and only what comes back from there, committed, changes the
image.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import Close, Connection, Done, Effect, Notice, Reply
from minikafka.broker.fetch_sessions import FetchSessions
from minikafka.broker.group_coordinator import GroupCoordinator
from minikafka.broker.handlers import HANDLERS
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.waiting import Parked, Wait, Waiting
from minikafka.cluster import controller
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.quorum import Quorum
from minikafka.storage.data_folder import identify
from minikafka.storage.disk import Disk, Random
from minikafka.storage.errors import as_storage_errors
from minikafka.trace import Trace
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Encoded, Message

BACKGROUND_BUDGET_BYTES = 4 << 20  # of recovery and deletion in one tick
API_VERSIONS = 18

class Now(NamedTuple):
    """monotonic_ms for deadlines; wall_ms, since 1970, for timestamps, retention and expiry."""

    monotonic_ms: int
    wall_ms: int


@dataclass(slots=True)
class Client:
    """One connection as the broker sees it. software: name and version if the client told them (KIP-511)."""

    listener: str
    host: str
    client_id: str | None = None
    software: str = ""


class Call(NamedTuple):
    """A request on its way through a handler."""

    connection: Connection
    client: Client
    api: str
    version: int
    correlation_id: int
    body: Message


class Broker:
    """A node: broker and controller in one.

    ready: recovery is over, clients may come. stopped: None, or why the node stopped by itself, in one plain sentence.
    """

    def __init__(self, node_id: int, config: BrokerConfig, disk: Disk, random: Random, trace: Trace) -> None:
        self.node_id = node_id
        self.config = config
        self.trace = trace
        self.random = random
        self.image = Image()
        self.descriptions: dict[Hashable, Encoded] = {}  # of topics in this image, as Metadata tells them
        self.outbox: list[Effect] = []
        self.clients: dict[Connection, Client] = {}
        self.waiting = Waiting()
        self.fetch_sessions = FetchSessions(config["max.incremental.fetch.session.cache.slots"])
        self.replicas = ReplicaManager(node_id, config, disk, self.image, trace, self.notice)
        self.groups = GroupCoordinator(self)
        self.quorum = Quorum(disk, node_id, self._committed, trace)
        self.cluster_id = ""
        self.broker_epoch = -1
        self.ready = False
        self.stopped: str | None = None
        self._disk = disk
        self._producer_ids = range(0)
        self._told: deque[str] = deque(maxlen=100)
        self._moved: list[tuple[Hashable, int]] = []
        self._now = Now(0, 0)
        self._recovery: Generator[int, None, None] | None = None

    # -- life

    def start(self, now: Now) -> None:
        """Format an empty disk or replay what is there, register, and begin to recover the logs (goes on in tick)."""
        self._enter(now)
        try:
            with as_storage_errors(str(self._disk)):
                identity = identify(self._disk, self.node_id, self.random_uuid)
                self.cluster_id = identity.cluster_id
                for line in self.quorum.start(now):
                    self.notice(line)
                if not self.image.features:
                    self.quorum.append(controller.feature_levels(), now)
                self._register(identity.directory_id, now)
            self._recovery = self.replicas.load(now)
        except KafkaError as error:
            self.storage_failed(error)

    def stop(self, now: Now) -> None:
        """A clean stop: parked requests get their last answer, logs are synced, a restart needs no recovery. While
        logs are still being recovered nothing is written: the next start begins where this one did.
        """
        self._enter(now)
        self.groups.close()
        for parked in self.waiting.everything():
            self._attempt(parked, now, expired=True)
        try:
            with as_storage_errors(str(self._disk)):
                if self.ready:
                    self.replicas.close(self.broker_epoch)
                self.quorum.close()
        except KafkaError as error:
            self.storage_failed(error)

    def connected(self, connection: Connection, listener: str, host: str) -> None:
        """A client came. listener: the name of the listener it used, which decides the addresses it is told."""
        self.clients[connection] = Client(listener, host)

    def disconnected(self, connection: Connection) -> None:
        """A client went; what it waits for is dropped."""
        self.clients.pop(connection, None)
        self.waiting.drop(connection)

    def receive(self, connection: Connection, frame: bytearray, now: Now) -> None:
        """One request, without its size. The frame belongs to the broker from here on (offsets are stamped into its
        batches).
        """
        self._enter(now)
        client = self.clients[connection]
        try:
            request = messages.decode_request(frame)
        except messages.UnsupportedVersion as error:
            self._refuse_version(connection, error)
            return
        except DecodeError as error:
            self._close(connection, f"sent a frame that is no Kafka request: {error}")
            return
        client.client_id = request.client_id
        self.trace.cause = (str(connection), request.correlation_id)
        call = Call(connection, client, request.api.name, request.version, request.correlation_id, request.body)
        handler = HANDLERS.get(request.api.key)
        if handler is None:
            self._close(connection, f"sent {request.api.name}, which this broker does not serve")
        elif not handler.VERSIONS[0] <= request.version <= handler.VERSIONS[1]:
            version = messages.UnsupportedVersion(
                request.api.key, request.version, request.correlation_id, request.client_id
            )
            self._refuse_version(connection, version)
        else:
            self._serve(handler.handle, call, now)
        self._wake(now)
        self.trace.cause = None

    def tick(self, now: Now) -> None:
        """Answer requests whose deadline has come, and do a slice of background work."""
        self._enter(now)
        for parked in self.waiting.expired(now.monotonic_ms):
            self._attempt(parked, now, expired=True)
        try:
            if self._recovery is not None:
                self._recover()
            else:
                self.replicas.tick(now, BACKGROUND_BUDGET_BYTES)
                self.groups.tick(now, BACKGROUND_BUDGET_BYTES)
        except KafkaError as error:
            self.storage_failed(error)
        self._wake(now)

    def next_deadline(self) -> int:
        """Monotonic ms at which tick should come next; after a tick it is later than that tick's now."""
        soonest = self._now.monotonic_ms + 1
        if self._recovery is not None:
            return soonest
        deadlines = (self.waiting.next_deadline(), self.groups.next_deadline(), self.replicas.next_deadline())
        return max(soonest, min(at for at in deadlines if at is not None))

    # -- for handlers

    def decide(
        self, records: Sequence[MetadataRecord], now: Now, answer: Callable[[], dict[str, Any]]
    ) -> dict[str, Any] | Wait:
        """Append the controller's decision to the metadata log; the answer is made once the decision is committed."""
        if not records:
            return answer()
        offset = self.quorum.append(records, now)

        def committed(_: Now, expired: bool) -> dict[str, Any] | None:
            if self.quorum.high_watermark >= offset:
                return answer()
            return {"error_code": Error.REQUEST_TIMED_OUT} if expired else None

        return Wait([("metadata",)], now.monotonic_ms + 30_000, committed)

    def next_producer_id(self, now: Now) -> int:
        """A producer id that was never given before (KIP-730: out of a block that the controller hands out)."""
        if not self._producer_ids:
            block, records = controller.allocate_producer_ids(self.image, self.node_id, self.broker_epoch)
            self.quorum.append(records, now)
            self._producer_ids = block
        producer_id, self._producer_ids = self._producer_ids[0], self._producer_ids[1:]
        return producer_id

    def moved(self, key: Hashable, size_bytes: int) -> None:
        """Tell parked requests that something arrived under a key."""
        self._moved.append((key, size_bytes))

    def notice(self, line: str, error: Exception | None = None) -> None:
        """Something went wrong that ends one thing and not the node: told by the shell, and once."""
        if line not in self._told:
            self._told.append(line)
            self.outbox.append(Notice(line, error))

    def random_uuid(self) -> bytes:
        """16 bytes, version 4, from the node's random source; never one of those that Kafka reserves."""
        value = bytearray(int(self.random.random() * 256) for _ in range(16))
        value[6], value[8] = value[6] & 0x0F | 0x40, value[8] & 0x3F | 0x80
        return bytes(value)

    def storage_failed(self, error: KafkaError) -> None:
        """The only log directory failed: the request still gets its KAFKA_STORAGE_ERROR, then the node stops."""
        if self.stopped is None:
            self.stopped = f"node {self.node_id} stops: {error.message}"
            if self.trace:
                self.trace.emit("NodeStopped", why=error.message)

    # -- inside

    def _enter(self, now: Now) -> None:
        self._now = now
        self.trace.now = now.monotonic_ms

    def _serve(self, handle: Callable[[Broker, Call, Now], dict[str, Any] | Wait | None], call: Call, now: Now) -> None:
        wait = None
        with self._guarded(call):
            try:
                answer = handle(self, call, now)
            except KafkaError as error:
                if error.error is Error.KAFKA_STORAGE_ERROR:
                    self.storage_failed(error)
                answer = refusal(call.api, error)
            if isinstance(answer, Wait):
                wait, answer = answer, answer.attempt(now, not self.waiting.has_room(answer))
            if wait is None or answer is not None:
                self._answer(call, answer)
                return
            self.waiting.park(wait, call.connection, call)

    @contextmanager
    def _guarded(self, call: Call) -> Iterator[None]:
        """An error that nobody foresaw ends this request and its connection, not the node. An assertion that fails
        does stop it: the node no longer trusts itself.
        """
        try:
            yield
        except AssertionError:
            raise
        except Exception as error:
            self.waiting.drop(call.connection)
            self.notice(f"{call.api} {call.version} of {call.connection} met a bug of minikafka's: {error!r}", error)
            self._close(call.connection, f"sent {call.api} {call.version}, which met a bug of minikafka's")

    def _answer(self, call: Call, answer: dict[str, Any] | None) -> None:
        if answer is None:
            self.outbox.append(Done(call.connection))
        elif "close" in answer:
            self._close(call.connection, answer["close"])
        else:
            frame = messages.encode_response(call.api, call.version, call.correlation_id, answer)
            self.outbox.append(Reply(call.connection, frame))

    def _attempt(self, parked: Parked, now: Now, expired: bool) -> None:
        call: Call = parked.request
        self.trace.cause = (str(call.connection), call.correlation_id)
        with self._guarded(call):
            answer = parked.wait.attempt(now, expired)
            if answer is not None:
                self.waiting.remove(parked)
                self._answer(call, answer)
        self.trace.cause = None

    def _wake(self, now: Now) -> None:
        self.groups.settle(now)
        moved, self._moved = self._moved, []
        for key, size_bytes in moved:
            for parked in self.waiting.moved(key, size_bytes):
                self._attempt(parked, now, expired=False)

    def _refuse_version(self, connection: Connection, refused: messages.UnsupportedVersion) -> None:
        """ApiVersions answers in version 0, with what it does speak (KIP-511). For all else Kafka closes the
        connection.
        """
        if refused.api_key == API_VERSIONS:
            body = {"error_code": Error.UNSUPPORTED_VERSION, "api_keys": HANDLERS[API_VERSIONS].own_versions()}
            self.outbox.append(
                Reply(connection, messages.encode_response("ApiVersions", 0, refused.correlation_id, body))
            )
        else:
            self._close(
                connection, f"asked for API {refused.api_key} in version {refused.version}, which is not served"
            )

    def _close(self, connection: Connection, why: str) -> None:
        self.outbox.append(Close(connection, why))

    def _register(self, directory_id: bytes, now: Now) -> None:
        self.broker_epoch = self.quorum.high_watermark
        records = controller.register_broker(
            self.node_id, self.random_uuid(), directory_id, self.config.advertised, self.broker_epoch
        )
        self.quorum.append(records, now)
        live = {broker.broker_id for broker in self.image.live_brokers()}
        elections = controller.elect_leaders(self.image, live)
        if elections:
            self.quorum.append(elections, now)

    def _committed(self, offset: int, record: MetadataRecord) -> None:
        self.image.apply(offset, record)
        self.descriptions.clear()
        if self.ready:
            for key in self.replicas.follow(record):
                self.moved(key, 1 << 62)
            self.groups.follow(record, self._now)

    def _recover(self) -> None:
        assert self._recovery is not None
        budget = BACKGROUND_BUDGET_BYTES
        with as_storage_errors(str(self._disk)):
            for spent in self._recovery:
                budget -= spent
                if budget <= 0:
                    return
        self._recovery = None
        self.ready = True
        self.groups.start()


def refusal(api: str, error: KafkaError) -> dict[str, Any]:
    """The answer to a request that failed as a whole. Where an API has no field for that, the connection is closed."""
    fields = messages.API[api].response.struct.by_attribute
    if "error_code" not in fields:
        return {"close": f"sent {api}, which failed: {error.message}"}
    return {"error_code": error.error} | ({"error_message": error.message} if "error_message" in fields else {})
