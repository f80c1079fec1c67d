"""The whole life of a node, without I/O.

Bytes come in (`receive`), time comes in (`tick`), and what to do with the outside world
is left in `outbox`, in order. No socket, clock, thread or random source of its own: the
simulation and the TCP server drive the very same class.

One request, from frame to answer: decode it (wire/), find the handler of its API
(handlers/), which returns the answer's fields, or None where the protocol knows no
answer (acks=0), or a Wait, which is parked (waiting.py) until what it waits for moves.
Handlers reach the logs through `replicas` (replica_manager.py), and change the cluster
through `decide`: the records go through the metadata log, and only what comes back,
committed, changes the image.
"""

from collections import deque
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from typing import Any

from minikafka.broker.active_controller import METADATA, ActiveController
from minikafka.broker.calls import (
    CONTROLLER_LISTENER,
    Call,
    Client,
    HangUp,
    Itself,
    refusal,
)
from minikafka.broker.config import BrokerConfig, Random, quorum_config
from minikafka.broker.control_plane import ControlPlane
from minikafka.broker.coordinator import GroupCoordinator, TransactionCoordinator
from minikafka.broker.damage import DamagedReplicas
from minikafka.broker.effects import Close, Connection, Done, Effect, Notice, Reply
from minikafka.broker.fetch_sessions import FetchSessions
from minikafka.broker.handlers import HANDLERS
from minikafka.broker.isr import IsrChanges
from minikafka.broker.peers import Peers, Then
from minikafka.broker.replica_fetcher import ReplicaFetcher
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.transaction_requests import Joins
from minikafka.clock import Now, soonest
from minikafka.cluster import election, quorum
from minikafka.cluster.metadata import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Image,
    MetadataRecord,
)
from minikafka.cluster.quorum import Listener, Quorum
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Parked, Wait, Waiting
from minikafka.storage import checkpoints
from minikafka.storage.data_folder import identify
from minikafka.storage.disk import Disk, Space, as_storage_errors
from minikafka.trace import Trace
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import DecodeError, Encoded

BACKGROUND_BUDGET_BYTES = 4 << 20  # of recovery and deletion in one tick
API_VERSIONS = 18
# by state machines of this node
FOLLOWED = (METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
ALL_BYTES = 1 << 62  # as many as any request may wait for
MOST_ANSWERED_BYTES = 64 << 20
IDLE_MS = 1000  # without any deadline, as long as the node is not in the cluster yet


class Broker:
    """A node: broker and controller in one.

    recovered: its logs are open. ready: it is part of the cluster, clients may come.
    stopped: None, or why the node stopped by itself, in one plain sentence.
    """

    def __init__(
        self,
        node_id: int,
        config: BrokerConfig,
        disk: Disk,
        random: Random,
        trace: Trace,
    ) -> None:
        self.node_id = node_id
        self.config = config
        self.trace = trace
        self.random = random
        self.image = Image()
        # of topics in this image, as Metadata tells them
        self.descriptions: dict[Hashable, Encoded] = {}
        self.outbox: list[Effect] = []
        self.clients: dict[Connection, Client] = {}
        self.waiting = Waiting()
        self.fetch_sessions = FetchSessions(
            config["max.incremental.fetch.session.cache.slots"]
        )
        self.replicas = ReplicaManager(
            node_id, config, disk, self.image, trace, self.notice, self
        )
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionCoordinator(self)
        self.joins = Joins(self)
        self.fetcher = ReplicaFetcher(self)
        self.isr = IsrChanges(self)
        self.damage = DamagedReplicas(self)
        of_quorum_ms = dict.fromkeys(
            (election.LANE, quorum.LANE), config["controller.quorum.request.timeout.ms"]
        )
        self.peers = Peers(node_id, config.peers, self.outbox.append, of_quorum_ms)
        self.control = ControlPlane(self)
        self.controller = ActiveController(self)
        self.quorum = Quorum(
            node_id=node_id,
            config=quorum_config(node_id, config),
            listener=Listener(
                committed=self._committed,
                replaced=self._replaced,
                leader_changed=self.control.leader_changed,
                image=self.image.records,
            ),
            hears=self,
            ask=self.ask,
            disk=disk,
            random=random.random,
            trace=trace,
        )
        others = (
            self.peers,
            self.quorum,
            self.fetcher,
            self.isr,
            self.damage,
            self.controller,
        )
        among_nodes = others if config.peers else ()
        own = (
            self.waiting,
            self.groups,
            self.transactions,
            self.joins.requests,
            self.replicas,
            self.control,
        )
        self._parts = (*own, *among_nodes)  # with deadlines
        self.recovered = False
        self.ready = False
        self.stopped: str | None = None
        self._disk = disk
        self._told: deque[str] = deque(maxlen=100)
        self._moved: deque[tuple[tuple[Any, ...], int]] = deque()
        self._ready: deque[Parked] = deque()  # worth an attempt
        self._to_self: deque[Call] = deque()  # requests that this node asks itself
        self._answered_bytes = 0  # of answers in the outbox
        self.now = Now(0, 0)  # of the last time that somebody entered
        self._recovery: Generator[int, None, None] | None = None

    # -- life

    def start(self, now: Now) -> None:
        """Format an empty disk or replay what is there, register, and begin to recover
        the logs (goes on in tick).
        """
        self._enter(now)
        try:
            with as_storage_errors(str(self._disk)):
                clean_epoch = checkpoints.clean_shutdown_epoch(self._disk)
                identity = identify(
                    self._disk, self.node_id, self.config.cluster_id, self.random_uuid
                )
                self.quorum.cluster_id = identity.cluster_id
                self.quorum.start(self.notice, now)
                self.quorum.replay()
            self.control.start(
                identity.directory_id, -1 if clean_epoch is None else clean_epoch, now
            )
            self.peers.start(now)
        except KafkaError as error:
            self.storage_failed(error)
        self._wake(now)

    def leave(self, now: Now) -> None:
        """Begin a clean stop: what this broker leads goes to others first, if there are
        any. `control` says when.
        """
        self._enter(now)
        self.control.leave(now)
        self._wake(now)

    def stop(self, now: Now) -> None:
        """A clean stop: parked requests get their last answer, logs are synced, a
        restart needs no recovery. While logs are still being recovered nothing is
        written: the next start begins where this one did.
        """
        self._enter(now)
        self.groups.close()
        self.transactions.close()
        for parked in self.waiting.everything():
            parked.wait.attempt(now, expired=True)
        self._wake(now)
        self.quorum.election.resign(now)
        try:
            with as_storage_errors(str(self._disk)):
                if self.recovered:
                    self.replicas.close(self.control.broker_epoch)
                self.quorum.replica.log.close()
        except KafkaError as error:
            self.storage_failed(error)

    def connected(self, connection: Connection, listener: str, host: str) -> None:
        """A client came. listener: the name of the listener it used, which decides the
        addresses it is told.
        """
        self.clients[connection] = Client(listener, host)

    def disconnected(self, connection: Connection) -> None:
        """A client went; what it waits for is dropped."""
        self.clients.pop(connection, None)
        self.waiting.drop(connection)

    def receive(self, connection: Connection, frame: bytearray, now: Now) -> None:
        """A request, without its size. From here on the frame is the broker's: offsets
        are stamped into its batches.
        """
        self._enter(now)
        client = self.clients[connection]
        client.asked += 1
        client.lets_in = False
        try:
            request = messages.decode_request(frame)
        except messages.UnsupportedVersion as error:
            self._refuse_version(connection, client, error)
            return
        except DecodeError as error:
            why = f"sent a frame that is no Kafka request: {error}"
            self._finish(client, client.asked, Close(connection, why))
            return
        client.client_id = request.client_id
        handler = HANDLERS.get(request.api.key)
        if handler is None or (
            handler.of_nodes and client.listener != CONTROLLER_LISTENER
        ):
            why = f"sent {request.api.name}, which this broker does not serve"
            self._finish(client, client.asked, Close(connection, why))
        elif not handler.versions[0] <= request.version <= handler.versions[1]:
            refused = messages.UnsupportedVersion(
                request.api.key, request.version, request.correlation_id
            )
            self._refuse_version(connection, client, refused)
        else:
            call = Call(
                connection,
                client,
                request.api.name,
                request.version,
                request.correlation_id,
                request.body,
                handler,
                client.asked,
            )
            self._on_behalf(call, self._serve, call, now)
        self._wake(now)

    def receive_reply(self, node: int, lane: str, frame: bytearray, now: Now) -> None:
        """What another node answered. Errors: DecodeError if it is no answer to what it
        was asked. One that meets a bug ends what asked for it, as a request does.
        """
        self._enter(now)
        try:
            self.peers.receive_reply(node, lane, frame, now)
        except (AssertionError, DecodeError):
            raise
        except Exception as error:
            if (
                isinstance(error, KafkaError)
                and error.error is Error.KAFKA_STORAGE_ERROR
            ):
                self.storage_failed(error)
            else:
                self.notice(
                    f"what node {node} answered ({lane}) met a bug of minikafka's:"
                    f" {error!r}",
                    error,
                )
        self._ask_others(now)
        self._wake(now)

    def request_failed(
        self, node: int, lane: str, correlation_id: int, now: Now
    ) -> None:
        """A request to another node will have no answer."""
        self._enter(now)
        self.peers.request_failed(node, lane, correlation_id, now)
        self._wake(now)

    def tick(self, now: Now) -> None:
        """Answer requests whose deadline has come, and do a slice of background
        work.
        """
        self._enter(now)
        for parked in self.waiting.expired(now.monotonic_ms):
            self._on_behalf(parked.request, parked.wait.attempt, now, True)
            if not self._has_room:
                break
        self.peers.tick(now)
        if self.quorum.is_handing_on:
            self.moved(("high_watermark", METADATA_TOPIC, 0), 0)
        try:
            if self._recovery is not None:
                self._recover()
            else:
                self.replicas.tick(now, BACKGROUND_BUDGET_BYTES)
                self.groups.tick(now, BACKGROUND_BUDGET_BYTES)
                self.transactions.tick(now, BACKGROUND_BUDGET_BYTES)
                self.joins.requests.tick(now)
            self.controller.tick(now)
        except KafkaError as error:
            self.storage_failed(error)
        self._ask_others(now)
        self._wake(now)

    def next_deadline(self) -> int:
        """Monotonic ms at which tick should come next; after a tick it is later than
        that tick's now.
        """
        next_ms = self.now.monotonic_ms + 1
        if (
            self._recovery is not None
            or self._ready
            or self._to_self
            or self.quorum.is_handing_on
        ):
            return next_ms
        due_ms = soonest(*[part.next_deadline() for part in self._parts])
        return next_ms + IDLE_MS if due_ms is None else max(next_ms, due_ms)

    # -- for handlers

    @property
    def cluster_id(self) -> str:
        """Of the cluster that this node belongs to, as in meta.properties."""
        return self.quorum.cluster_id

    @property
    def log_dir(self) -> str:
        """Where this node's logs are, in words of its disk: for a real one, the
        folder's path.
        """
        return str(self._disk)

    @property
    def log_dir_space(self) -> Space | None:
        """Of the volume that it is on. Errors: KAFKA_STORAGE_ERROR."""
        with as_storage_errors(str(self._disk)):
            return self._disk.space()

    def ask(
        self,
        node: int,
        lane: str,
        api: str,
        version: int,
        body: Mapping[str, object],
        then: Then,
    ) -> None:
        """Ask a node for something; then(reply or None, now), once. This node may be
        meant: same bytes, same way.
        """
        if node != self.node_id:
            self.peers.ask(node, lane, api, version, body, then, self.now)
            return
        frame = bytearray().join(messages.encode_request(api, version, 0, None, body))
        asked = messages.decode_request(frame)
        client = Client(CONTROLLER_LISTENER, "localhost")
        handler = HANDLERS[messages.API[api].key]
        self._to_self.append(
            Call(
                Itself(then),
                client,
                api,
                version,
                asked.correlation_id,
                asked.body,
                handler,
            )
        )

    def moved(self, key: tuple[Any, ...], size_bytes: int) -> None:
        """Tell parked requests that something arrived under a key."""
        self._moved.append((key, size_bytes))

    def notice(self, line: str, error: Exception | None = None) -> None:
        """Something went wrong that ends one thing and not the node: told by the shell,
        and once.
        """
        if line not in self._told:
            self._told.append(line)
            self.outbox.append(Notice(line, error))

    def appended(self, replica: Replica, size_bytes: int, now: Now) -> None:
        """The end of a log moved."""
        # which is synced, and has no place in the checkpoints
        if replica.log.topic != METADATA_TOPIC:
            self.replicas.changed(now)
        followers = [("fetched_by", node) for node in replica.followers]
        for key in (("log_end", replica.log.topic, replica.log.partition), *followers):
            if key in self.waiting:
                self.moved(key, size_bytes)

    def high_watermark_advanced(self, replica: Replica, size_bytes: int) -> None:
        """Records count now that did not."""
        topic = replica.log.topic
        key = ("high_watermark", topic, replica.log.partition)
        if topic in FOLLOWED or key in self.waiting:
            self.moved(key, size_bytes)

    def image_followed(self, replica: Replica) -> None:
        """A replica leads or follows, perhaps another node than before."""
        if replica.log.topic == METADATA_TOPIC or len(replica.partition.replicas) == 1:
            return
        if replica.log.damaged_from is not None:
            self.damage.follow_image(replica)
        self.fetcher.follow_image(replica, replica.log.partition, self.now.monotonic_ms)
        if replica.is_leader:
            self.isr.led(self.now.monotonic_ms)

    def random_uuid(self) -> bytes:
        """16 bytes, version 4, from the node's random source; never one of those that
        Kafka reserves.
        """
        value = bytearray(int(self.random.random() * 256) for _ in range(16))
        value[6], value[8] = value[6] & 0x0F | 0x40, value[8] & 0x3F | 0x80
        return bytes(value)

    def storage_failed(self, error: KafkaError) -> None:
        """The only log directory failed: the request still gets its
        KAFKA_STORAGE_ERROR, then the node stops.
        """
        if self.stopped is None:
            self.stopped = f"node {self.node_id} stops: {error.message}"
            if self.trace:
                self.trace.emit(
                    "NodeStopped", error=error.error.name, message=error.message
                )

    # -- inside

    def _ask_others(self, now: Now) -> None:
        """What is due to be asked of other nodes; who has just been answered may have
        its next question at once.
        """
        try:
            self.quorum.tick(now)
            if self._recovery is None:
                self.fetcher.tick(now)
                self.isr.tick(now)
            self.damage.tick(now)
            self.control.tick(now)
        except KafkaError as error:
            self.storage_failed(error)

    def _enter(self, now: Now) -> None:
        self.now = now
        if not self.outbox:
            self._answered_bytes = 0
        self.trace.now = now.monotonic_ms

    def _serve(self, call: Call, now: Now) -> None:
        answer = self._handle(call, now)
        if not isinstance(answer, Wait):
            self._answer(call, answer)
            return
        full = not self.waiting.has_room(answer)
        if full or not answer.missing_bytes:
            answer.attempt(now, expired=full)
        if answer.is_done:
            self._end(call, answer, now)
        else:
            self.waiting.park(answer, call.connection, call)
            call.client.lets_in = answer.lets_in

    def _handle(self, call: Call, now: Now) -> Answer | Wait | HangUp | None:
        try:
            if call.handler.decides and not self.quorum.is_leader:
                if call.client.listener == CONTROLLER_LISTENER:
                    raise KafkaError(Error.NOT_CONTROLLER)
                return self.control.forward(call, now)
            if call.handler.decides and not self.quorum.is_settled:
                return self.controller.settled(now)
            return call.handler.handle(self, call, now)
        except KafkaError as error:
            return self._refusal(call, error)

    def _end(self, call: Call, wait: Wait, now: Now) -> None:
        """A wait has ended: its request is answered, or begins anew."""
        if wait.error is not None:
            self._answer(call, self._refusal(call, wait.error))
        elif wait.again:
            self._serve(call, now)
        else:
            assert wait.answer is not None
            shape = call.handler.shape
            self._answer(call, shape(call, wait.answer) if shape else wait.answer)

    def _refusal(self, call: Call, error: KafkaError) -> Answer | HangUp:
        """How the API says an error: its handler knows better (refuse), or it has a
        field for it.
        """
        if error.error is Error.KAFKA_STORAGE_ERROR:
            self.storage_failed(error)
        refuse = call.handler.refuse
        return refuse(call, error) if refuse else refusal(call, error)

    def _on_behalf(self, call: Call, do: Callable[..., None], *args: object) -> None:
        """What happens meanwhile has this request as its cause. An error that nobody
        foresaw ends the request and its connection, not the node. An assertion that
        fails does stop it: the node no longer trusts itself.
        """
        if self.trace and not isinstance(call.connection, Itself):
            self.trace.cause = (str(call.connection), call.correlation_id)
        try:
            do(*args)
        except AssertionError:
            raise
        except Exception as error:
            self.waiting.drop(call.connection)
            self.notice(
                f"{call.api} {call.version} of {call.connection} met a bug of"
                f" minikafka's: {error!r}",
                error,
            )
            # and those before it, which were dropped, never are
            call.client.answered = call.number - 1
            why = f"sent {call.api} {call.version}, which met a bug of minikafka's"
            self._answer(call, HangUp(why))
        self.trace.cause = None

    def _answer(self, call: Call, answer: Answer | HangUp | None) -> None:
        frame = None
        if isinstance(answer, dict):
            if self.trace:
                self.groups.tell_refusal(call, answer)
            frame = messages.encode_response(
                call.api, call.version, call.correlation_id, answer
            )
        if isinstance(call.connection, Itself):
            reply = None
            if frame is not None:
                whole = bytearray().join(frame)
                _, reply = messages.decode_response(call.api, call.version, whole)
            call.connection.then(reply, self.now)
        elif frame is not None:
            self._answered_bytes += sum(map(len, frame))
            self._finish(call.client, call.number, Reply(call.connection, frame))
        elif isinstance(answer, HangUp):
            effect = Close(call.connection, answer.why)
            self._finish(call.client, call.number, effect)
        else:
            self._finish(call.client, call.number, Done(call.connection))

    def _finish(self, client: Client, number: int, effect: Effect) -> None:
        """What becomes of a client's request, in the order in which they came."""
        client.early[number] = effect
        while (due := client.early.pop(client.answered + 1, None)) is not None:
            client.answered += 1
            self.outbox.append(due)

    def _wake(self, now: Now) -> None:
        """Who waits for what has moved looks again, until nothing moves; who has ended
        is answered.
        """
        self.groups.settle(now)
        try:
            while True:
                if self.waiting.has_ended:
                    for parked in self.waiting.ended():
                        self._on_behalf(
                            parked.request, self._end, parked.request, parked.wait, now
                        )
                if self._to_self:
                    call = self._to_self.popleft()
                    self._on_behalf(call, self._serve, call, now)
                elif self._moved:
                    key, size_bytes = self._moved.popleft()
                    self._followers(key, now)
                    self._ready += self.waiting.moved(key, size_bytes)
                elif self._ready and self._has_room:
                    parked = self._ready.popleft()
                    self._on_behalf(parked.request, parked.wait.attempt, now)
                else:
                    return
        except KafkaError as error:
            self.storage_failed(error)

    @property
    def _has_room(self) -> bool:
        """Whether more answers may wait for the shell; those of many fetches, woken by
        one append, come later.
        """
        return not self.outbox or self._answered_bytes < MOST_ANSWERED_BYTES

    def _followers(self, key: tuple[Any, ...], now: Now) -> None:
        """The state machines of this node that read what is committed: the image, and
        the coordinators.
        """
        if key == METADATA:
            self.control.go_on(now)
        elif key[0] == "high_watermark" and key[1] in FOLLOWED:
            _, topic, number = key
            if topic == METADATA_TOPIC:
                if self.quorum.hand_on():
                    self.moved(METADATA, ALL_BYTES)
            elif topic == OFFSETS_TOPIC:
                self.groups.high_watermark_advanced(number, now)
            else:
                self.transactions.high_watermark_advanced(number, now)

    def _refuse_version(
        self,
        connection: Connection,
        client: Client,
        refused: messages.UnsupportedVersion,
    ) -> None:
        """ApiVersions answers in version 0, with what it does speak (KIP-511). Else
        Kafka closes the connection.
        """
        if refused.api_key == API_VERSIONS:
            lowest, highest = HANDLERS[API_VERSIONS].versions
            own = {
                "api_key": API_VERSIONS,
                "min_version": lowest,
                "max_version": highest,
            }
            body = {"error_code": Error.UNSUPPORTED_VERSION, "api_keys": [own]}
            frame = messages.encode_response(
                "ApiVersions", 0, refused.correlation_id, body
            )
            self._finish(client, client.asked, Reply(connection, frame))
        else:
            what = (
                f"asked for API {refused.api_key} in version {refused.version}, which"
                " is not served"
            )
            self._finish(client, client.asked, Close(connection, what))

    @property
    def is_recovering(self) -> bool:
        """Whether the logs are being opened."""
        return self._recovery is not None

    def recover(self, now: Now) -> None:
        """The node is registered: its logs are opened, and metadata is followed as it
        comes.
        """
        self._recovery = self.replicas.load(now)

    def begin(self) -> None:
        """The node is part of the cluster."""
        self.ready = True
        self.groups.start()
        self.transactions.start()

    def _committed(self, first_offset: int, records: Sequence[MetadataRecord]) -> None:
        for offset, record in enumerate(records, first_offset):
            self.image.apply(offset, record)
            self.controller.follow(record)
            self._meet(record)
            # else it is history, and `load` looks at the outcome
            if self.is_recovering or self.recovered:
                for key in self.replicas.follow(record):
                    self.moved(key, ALL_BYTES)
                self.fetcher.follow(record)
            if self.ready:
                self.groups.follow(record)
                self.transactions.follow(record)
        self.descriptions.clear()

    def _replaced(
        self, end_offset: int, later: Image, records: Sequence[MetadataRecord]
    ) -> None:
        """Too far behind to replay the log: the image becomes another node's, and what
        is gone there goes here.
        """
        self._committed(end_offset, [*self.image.gone(later), *records])

    def _meet(self, record: MetadataRecord) -> None:
        """A node that is no voter says where it is when it registers; of voters this
        node knows it from its start.
        """
        node = (
            record.fields["broker_id"]
            if record.name == "RegisterBrokerRecord"
            else self.node_id
        )
        known = node in (self.node_id, *self.config.peers)
        if not known and (
            address := self.image.brokers[node].endpoints.get(CONTROLLER_LISTENER)
        ):
            self.peers.learn(node, address, self.now)

    def _recover(self) -> None:
        assert self._recovery is not None
        budget = BACKGROUND_BUDGET_BYTES
        with as_storage_errors(str(self._disk)):
            for spent in self._recovery:
                budget -= spent
                if budget <= 0:
                    return
        self._recovery = None
        self.recovered = True
        self.damage.recovered(self.now)
        self.control.recovered(self.now)
