"""What a node has to do with the metadata log: it joins the cluster, decides where it is the active controller, asks
the active controller where it isn't, and waits for decisions to be committed before it acts on them.

A broker's way into the cluster (KIP-631): it registers, and gets its epoch; it opens its logs, fenced; it says that it
is ready, and the controller unfences it. From then on it tells the controller every broker.heartbeat.interval.ms that
it lives. Only a broker whose controller is in the same process says nothing: nobody would miss it.

Nothing here reads the image right after an append. What depends on a record goes on when the record has come back from
the log, committed.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.peers import CONTROL
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import NO_LEADER, BrokerRegistration, MetadataRecord
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

TIMEOUT_MS = 30_000
RETRY_BACKOFF_MS = 100
REGISTRATION_VERSION, HEARTBEAT_VERSION, PRODUCER_IDS_VERSION, CREATE_TOPICS_VERSION = 4, 2, 0, 7
METADATA = ("metadata",)
NEVER_MS = -(1 << 62)


class ControlPlane:
    """broker_epoch: the offset of this node's registration, -1 before. incarnation_id: of this run of the node."""

    def __init__(self, broker: Broker) -> None:
        self.broker_epoch = -1
        self._broker = broker
        self._incarnation_id = bytes(16)
        self._directory_id = bytes(16)
        self._contact_at: int | None = None  # monotonic ms: the next registration or heartbeat
        self._contacting = -1  # the node that has one of ours
        self._producer_ids = range(0)
        self._waiting_for_ids: list[Wait] = []
        self._again: deque[tuple[int, Wait]] = deque()  # what the controller could not be asked, and when to try again
        self._heard_ms: dict[int, int] = {}  # as controller: when each broker was heard of last

    # -- joining the cluster

    def start(self, directory_id: bytes, now: Now) -> None:
        """Ask to be a member of the cluster as soon as it has a controller."""
        self._incarnation_id = self._broker.random_uuid()
        self._directory_id = directory_id
        self._contact_at = now.monotonic_ms
        self.tick(now)

    @property
    def registration(self) -> BrokerRegistration | None:
        """This run's, once it is committed."""
        found = self._broker.image.brokers.get(self._broker.node_id)
        return found if found is not None and found.incarnation_id == self._incarnation_id else None

    def leader_changed(self, now: Now) -> None:
        """Another node is the active controller, or none, or it is this one."""
        self._contacting = -1
        self._contact_at = now.monotonic_ms
        if self._broker.quorum.is_leader:
            self._heard_ms = dict.fromkeys(self._broker.image.brokers, now.monotonic_ms)
        self._broker.moved(METADATA, 1)

    def tick(self, now: Now) -> None:
        """Tell the controller that this broker is there; as controller, look who is silent."""
        if self._contact_at is not None and self._contact_at <= now.monotonic_ms:
            self._contact_at = None
            self._contact(now)
        while self._again and self._again[0][0] <= now.monotonic_ms:
            self._again.popleft()[1].finish({})
        if self._broker.quorum.is_leader and self._broker.quorum.is_settled:
            self._fence_silent(now)

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        deadlines = [] if self._contact_at is None else [self._contact_at]
        deadlines += [at_ms for at_ms, _ in itertools.islice(self._again, 1)]
        if self._broker.quorum.is_leader and len(self._broker.image.brokers) > 1 and self._broker.quorum.is_settled:
            deadlines += [at_ms + self._session_ms for at_ms in self._listened_to().values()]
        return min(deadlines, default=None)

    def _contact(self, now: Now) -> None:
        leader = self._broker.quorum.leader_id
        if leader == NO_LEADER or self._contacting == leader:
            return
        own = self.registration
        if own is None:
            self._register(leader)
        elif not own.fenced and leader == self._broker.node_id:
            self.broker_epoch = own.broker_epoch
        else:
            self._heartbeat(leader, own)

    def _register(self, leader: int) -> None:
        broker = self._broker
        endpoints, rack = broker.config.advertised, broker.config["broker.rack"]
        fields = controller.registration(
            broker.node_id, self._incarnation_id, [self._directory_id], endpoints, rack
        )
        self._ask(leader, "BrokerRegistration", REGISTRATION_VERSION, {**fields, "cluster_id": broker.cluster_id})

    def _heartbeat(self, leader: int, own: BrokerRegistration) -> None:
        self.broker_epoch = own.broker_epoch
        body = {
            "broker_id": own.broker_id,
            "broker_epoch": own.broker_epoch,
            "current_metadata_offset": self._broker.quorum.applied_offset - 1,
            "want_fence": not self._broker.recovered,
            "want_shut_down": False,
        }
        self._ask(leader, "BrokerHeartbeat", HEARTBEAT_VERSION, body)

    def _ask(self, leader: int, api: str, version: int, body: Mapping[str, object]) -> None:
        self._contacting = leader

        def answered(reply: Message | None, now: Now) -> None:
            if self._contacting == leader:
                self._contacting = -1
                own = self.registration
                failed = reply is None or reply.error_code
                steady = own is not None and not own.fenced and not failed
                period_ms = self._broker.config["broker.heartbeat.interval.ms"] if steady else RETRY_BACKOFF_MS
                if self._contact_at is None:  # else there is news already
                    self._contact_at = now.monotonic_ms + period_ms

        self._broker.ask(leader, CONTROL, api, version, body, answered)

    def go_on(self, now: Now) -> None:
        """More is committed: take the next step into the cluster."""
        own, broker = self.registration, self._broker
        if own is None or broker.ready:
            return
        if not broker.is_recovering and not broker.recovered:
            broker.recover(now)
        elif broker.recovered and not own.fenced:
            self.broker_epoch = own.broker_epoch
            broker.begin()

    def recovered(self, now: Now) -> None:
        """The logs are open: ask to be unfenced."""
        self._contact_at = now.monotonic_ms
        self.go_on(now)

    def follow(self, record: MetadataRecord) -> None:
        """A record was committed."""
        if record.name == "RegisterBrokerRecord" and self._broker.quorum.is_leader:
            self._heard_ms[record.fields["broker_id"]] = self._broker.now.monotonic_ms

    # -- as active controller

    @property
    def _session_ms(self) -> int:
        return int(self._broker.config["broker.session.timeout.ms"])

    def _listened_to(self) -> dict[int, int]:
        """The unfenced brokers elsewhere, and when each was heard of last."""
        own = self._broker.node_id
        live = (one.broker_id for one in self._broker.image.brokers.values() if not one.fenced)
        return {node: self._heard_ms.get(node, 0) for node in live if node != own}

    def _fence_silent(self, now: Now) -> None:
        for node, heard_ms in self._listened_to().items():
            if heard_ms + self._session_ms <= now.monotonic_ms:
                if self._broker.trace:
                    self._broker.trace.emit("BrokerFenced", broker=node, silent_ms=now.monotonic_ms - heard_ms)
                self._broker.quorum.append(controller.fence(self._broker.image, node, True), now)
                return  # the next one when this is committed

    def register(self, asked: Mapping[str, Any], now: Now) -> Answer | Wait:
        """BrokerRegistration: the answer. Errors: DUPLICATE_BROKER_REGISTRATION while another run of it lives."""
        broker, node = self._broker, asked["broker_id"]
        if asked["cluster_id"] != broker.cluster_id:
            raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
        known = broker.image.brokers.get(node)
        another = known is not None and known.incarnation_id != asked["incarnation_id"]
        if another and self._listened_to().get(node, NEVER_MS) + self._session_ms > now.monotonic_ms:
            raise KafkaError(Error.DUPLICATE_BROKER_REGISTRATION)
        records = [] if broker.image.features else controller.feature_levels()
        epoch = broker.quorum.end_offset + len(records)
        records += controller.register_broker(asked, epoch)
        return self.decide(records, now, lambda: {"error_code": Error.NONE, "broker_epoch": epoch})

    def heartbeat(self, asked: Message, now: Now) -> Answer | Wait:
        """BrokerHeartbeat: the answer; who is fenced, ready and knows of its own registration is unfenced."""
        broker = self._broker
        known = broker.image.brokers.get(asked.broker_id)
        if known is None or known.broker_epoch != asked.broker_epoch:
            raise KafkaError(Error.STALE_BROKER_EPOCH)
        self._heard_ms[asked.broker_id] = now.monotonic_ms
        caught_up = asked.current_metadata_offset >= known.broker_epoch
        if known.fenced and caught_up and not asked.want_fence and broker.quorum.is_settled:
            records = controller.fence(broker.image, asked.broker_id, False)
            return self.decide(records, now, lambda: {"is_caught_up": True, "is_fenced": False})
        return {"error_code": Error.NONE, "is_caught_up": caught_up, "is_fenced": known.fenced}

    # -- for handlers

    def decide(self, records: Sequence[MetadataRecord], now: Now, answer: Callable[[], Answer]) -> Answer | Wait:
        """Append the controller's decision to the metadata log; the answer is made once the decision is committed. A
        controller that is replaced before doesn't know what became of it.
        """
        if not records:
            return answer()
        quorum = self._broker.quorum
        if not quorum.is_leader:
            raise KafkaError(Error.NOT_CONTROLLER)
        offset, epoch = quorum.append(records, now), quorum.epoch

        def committed() -> Answer | None:
            if quorum.applied_offset >= offset and quorum.epoch == epoch:
                return answer()
            if quorum.epoch != epoch or not quorum.is_leader:
                raise KafkaError(Error.NOT_CONTROLLER)
            return None

        return self._wait(committed, now)

    def change(
        self, records: Sequence[MetadataRecord], now: Now, answer: Answer, kind: str, changes: Iterable[dict[str, Any]]
    ) -> Answer | Wait:
        """Decide as a client asked. kind, changes: the trace events of what changed, told once it is committed."""

        def committed() -> Answer:
            if self._broker.trace:
                for detail in changes:
                    self._broker.trace.emit(kind, **detail)
            return answer

        return self.decide(records, now, committed)

    def forward(self, call: Call, now: Now) -> Wait:
        """A request that the active controller must answer, from a client of a broker that is not it: asked there in
        this broker's name, and answered as it is answered. (Apache Kafka wraps it in an Envelope, KIP-590, for the
        sake of the client's principal. There are no principals here.)
        """
        quorum = self._broker.quorum
        wait = Wait((), now.monotonic_ms + TIMEOUT_MS)
        if quorum.leader_id == NO_LEADER:
            return self._wait(lambda: {} if quorum.leader_id != NO_LEADER else None, now, again=True)

        def answered(reply: Message | None, now: Now) -> None:
            if reply is None or reply.to_dict().get("error_code") == Error.NOT_CONTROLLER:
                wait.again = True
                self._again.append((now.monotonic_ms + RETRY_BACKOFF_MS, wait))
            else:
                wait.finish(reply.to_dict())

        self._broker.ask(quorum.leader_id, CONTROL, call.api, call.version, call.body.to_dict(), answered)
        return wait

    def place(self, partitions: int, replication_factor: int) -> controller.Placement:
        """Where the partitions of a new topic go, if it is for the controller to choose."""
        first = int(self._broker.random.random() * 2**16)
        return controller.place(self._broker.image, partitions, replication_factor, first)

    def settled(self, now: Now) -> Wait:
        """The controller decides on committed state only: a request that comes while a decision is not committed yet
        waits, and then begins.
        """
        quorum = self._broker.quorum
        return self._wait(lambda: {} if quorum.is_settled or not quorum.is_leader else None, now, again=True)

    def _wait(self, attempt: Callable[[], Answer | None], now: Now, again: bool = False) -> Wait:
        return Wait([METADATA], now.monotonic_ms + TIMEOUT_MS, lambda *_: attempt(), again=again)

    def next_producer_id(self, now: Now) -> int | Wait:
        """A producer id that was never given before (KIP-730: out of a block that the controller hands out). Without
        one left: what the request must wait for before it asks again.
        """
        if self._producer_ids:
            producer_id, self._producer_ids = self._producer_ids[0], self._producer_ids[1:]
            return producer_id
        wait = Wait((), now.monotonic_ms + TIMEOUT_MS, again=True)
        self._waiting_for_ids.append(wait)
        if len(self._waiting_for_ids) == 1:
            self._ask_for_ids()
        return wait

    def _ask_for_ids(self) -> None:
        def answered(reply: Message | None, now: Now) -> None:
            waiting, self._waiting_for_ids = self._waiting_for_ids, []
            if reply is not None and not reply.error_code:
                self._producer_ids = range(reply.producer_id_start, reply.producer_id_start + reply.producer_id_len)
            for wait in waiting:
                if self._producer_ids:
                    wait.finish({})
                else:
                    wait.fail(KafkaError(Error(reply.error_code) if reply else Error.COORDINATOR_LOAD_IN_PROGRESS))

        leader = self._broker.quorum.leader_id
        if leader == NO_LEADER:
            answered(None, self._broker.now)
            return
        body = {"broker_id": self._broker.node_id, "broker_epoch": self.broker_epoch}
        self._broker.ask(leader, CONTROL, "AllocateProducerIds", PRODUCER_IDS_VERSION, body, answered)

    def create(self, topics: Sequence[dict[str, Any]], now: Now, answer: Callable[[], Answer]) -> Answer | Wait:
        """Have the active controller create topics that somebody asked for; answer(): once it has."""
        wait = Wait((), now.monotonic_ms + TIMEOUT_MS)
        body = {"topics": topics, "timeout_ms": TIMEOUT_MS}
        leader = self._broker.quorum.leader_id
        if leader == NO_LEADER:
            return answer()
        self._broker.ask(
            leader, CONTROL, "CreateTopics", CREATE_TOPICS_VERSION, body, lambda *_: wait.finish(answer())
        )
        return wait
