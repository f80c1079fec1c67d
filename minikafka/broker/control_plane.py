"""What a broker has to do with the active controller, wherever that is: it joins the
cluster, passes on what only the controller may decide, and leaves.

A broker's way into the cluster (KIP-631): it registers, and gets its epoch; it opens
its logs, fenced; it says that it is ready, and the controller unfences it. From then on
it tells the controller every broker.heartbeat.interval.ms that it lives. Only a broker
whose controller is in the same process says nothing: nobody would miss it.

On a clean stop it says that it wants to go (controlled shutdown): the controller gives
what it leads to others, and lets it go when all brokers know.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.broker.active_controller import METADATA, TIMEOUT_MS
from minikafka.broker.calls import Broker, Call, Split
from minikafka.broker.peers import CONTROL
from minikafka.clock import Now, soonest
from minikafka.cluster import registration
from minikafka.cluster.metadata import NO_LEADER, BrokerRegistration
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

RETRY_BACKOFF_MS = 100
REGISTRATION_VERSION, HEARTBEAT_VERSION, PRODUCER_IDS_VERSION, CREATE_TOPICS_VERSION = (
    4,
    2,
    0,
    7,
)


def is_of_no_controller(answer: Answer) -> bool:
    """Whether it says NOT_CONTROLLER: of the whole request, or of an item, which is
    then said of each.
    """
    if answer.get("error_code") == Error.NOT_CONTROLLER:
        return True
    items = [each for each in answer.values() if isinstance(each, list)]
    return any(
        is_of_no_controller(item)
        for each in items
        for item in each
        if isinstance(item, dict)
    )


class ControlPlane:
    """broker_epoch: the offset of this node's registration, -1 before. directory_id: of
    its log directory, 16 bytes.
    """

    def __init__(self, broker: Broker) -> None:
        self.broker_epoch = -1
        self._broker = broker
        self._incarnation_id = bytes(16)
        self.directory_id = bytes(16)
        self._previous_epoch = -1  # of the broker, if its last run ended cleanly
        # monotonic ms: the next registration or heartbeat
        self._contact_at: int | None = None
        self._contacting = -1  # the node that has one of ours
        self._producer_ids = range(0)
        self._waiting_for_ids: list[Wait] = []
        # what the controller could not be asked, and when to try again
        self._again: deque[tuple[int, Wait]] = deque()
        # monotonic ms: this broker wants to stop, and will by then
        self._leave_by: int | None = None
        self.may_stop = False

    # -- joining the cluster

    def start(self, directory_id: bytes, previous_epoch: int, now: Now) -> None:
        """Join the cluster as soon as it has a controller. previous_epoch: of a last
        run that ended cleanly, or -1.
        """
        self._incarnation_id = self._broker.random_uuid()
        self.directory_id = directory_id
        self._previous_epoch = previous_epoch
        self._contact_at = now.monotonic_ms
        self.tick(now)

    @property
    def registration(self) -> BrokerRegistration | None:
        """This run's, once it is committed."""
        found = self._broker.image.brokers.get(self._broker.node_id)
        return (
            found
            if found is not None and found.incarnation_id == self._incarnation_id
            else None
        )

    def leader_changed(self, now: Now) -> None:
        """Another node is the active controller, or none, or it is this one."""
        self._contacting = -1
        self._contact_at = now.monotonic_ms
        self._broker.controller.leader_changed(now)
        self._broker.moved(METADATA, 1)

    def leave(self, now: Now) -> None:
        """A clean stop is wanted: `may_stop` says when. Who can't hand over within
        broker.session.timeout.ms goes all the same, and so does who has nobody to hand
        over to.
        """
        self._leave_by = (
            now.monotonic_ms + self._broker.config["broker.session.timeout.ms"]
        )
        self._contact_at = now.monotonic_ms
        self.may_stop = not self._broker.config.peers or not self._broker.ready

    def tick(self, now: Now) -> None:
        """Tell the controller that this broker is there."""
        if self._leave_by is not None and self._leave_by <= now.monotonic_ms:
            self.may_stop = True
        if self._contact_at is not None and self._contact_at <= now.monotonic_ms:
            self._contact_at = None
            self._contact(now)
        while self._again and self._again[0][0] <= now.monotonic_ms:
            self._again.popleft()[1].finish({})

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        return soonest(
            self._contact_at, self._leave_by, self._again[0][0] if self._again else None
        )

    def _contact(self, now: Now) -> None:
        leader = self._broker.quorum.leader_id
        if leader == NO_LEADER or self._contacting == leader:
            return
        own, broker = self.registration, self._broker
        if own is None or (own.in_controlled_shutdown and self._leave_by is None):
            fields = registration.fields(
                broker.node_id,
                self._incarnation_id,
                [self.directory_id],
                broker.config.advertised,
                broker.config["broker.rack"],
            )
            fields |= {
                "cluster_id": broker.cluster_id,
                "previous_broker_epoch": self._previous_epoch,
            }
            self._ask(leader, "BrokerRegistration", REGISTRATION_VERSION, fields)
            return
        self.broker_epoch = own.broker_epoch
        if own.fenced or leader != broker.node_id or self._leave_by is not None:
            body = {
                "broker_id": own.broker_id,
                "broker_epoch": own.broker_epoch,
                "current_metadata_offset": broker.quorum.applied_offset - 1,
                "want_fence": not (broker.recovered and broker.damage.may_join),
                "want_shut_down": self._leave_by is not None,
            }
            self._ask(leader, "BrokerHeartbeat", HEARTBEAT_VERSION, body)

    def _ask(
        self, leader: int, api: str, version: int, body: Mapping[str, object]
    ) -> None:
        self._contacting = leader

        def heard(reply: Message | None, now: Now) -> None:
            if self._contacting != leader:
                return
            self._contacting = -1
            own = self.registration
            answer = None if reply is None or reply.error_code else reply
            may_stop = (
                answer is not None
                and api == "BrokerHeartbeat"
                and answer.should_shut_down
            )
            if may_stop and self._leave_by is not None:
                self.may_stop = True
            elif self._contact_at is None:  # else there is news already
                steady = (
                    own is not None
                    and not own.fenced
                    and answer is not None
                    and self._leave_by is None
                )
                period_ms = (
                    self._broker.config["broker.heartbeat.interval.ms"]
                    if steady
                    else RETRY_BACKOFF_MS
                )
                self._contact_at = now.monotonic_ms + period_ms

        self._broker.ask(leader, CONTROL, api, version, body, heard)

    def go_on(self, now: Now) -> None:
        """More is committed: take the next step into the cluster."""
        own, broker = self.registration, self._broker
        out = own is None or (own.in_controlled_shutdown and self._leave_by is None)
        # somebody unregistered or stopped a broker that lives
        if out and broker.ready and self._contact_at is None:
            self._contact_at = now.monotonic_ms
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

    # -- for handlers

    def forward(self, call: Call, now: Now) -> Wait:
        """A request that the active controller must answer, from a client of a broker
        that is not it: asked there in this broker's name, and answered as it is
        answered. (Apache Kafka wraps it in an Envelope, KIP-590, for the sake of the
        client's principal. There are no principals here.)
        """
        quorum, until_ms = self._broker.quorum, now.monotonic_ms + TIMEOUT_MS
        split = call.handler.split
        if split is None:
            asked = Split(call.body.to_dict(), whole=dict)
        else:
            asked = split(self._broker, call)
        call.passed_on = asked
        if quorum.leader_id == NO_LEADER:
            return Wait(
                [METADATA],
                until_ms,
                lambda *_: {} if quorum.leader_id != NO_LEADER else None,
                again=True,
            )
        wait = Wait((), until_ms)

        def passed_back(reply: Message | None, now: Now) -> None:
            answer = None if reply is None else reply.to_dict()
            if answer is None or is_of_no_controller(answer):
                wait.again = True
                self._again.append((now.monotonic_ms + RETRY_BACKOFF_MS, wait))
            else:
                wait.finish(asked.whole(answer))

        self._broker.ask(
            quorum.leader_id,
            CONTROL,
            call.api,
            call.version,
            asked.rest,
            passed_back,
        )
        return wait

    def next_producer_id(self, now: Now) -> int | Wait:
        """A producer id that was never given before (KIP-730: out of a block that the
        controller hands out). Without one left: what the request must wait for before
        it asks again.
        """
        if self._producer_ids:
            producer_id, self._producer_ids = (
                self._producer_ids[0],
                self._producer_ids[1:],
            )
            return producer_id
        wait = Wait((), now.monotonic_ms + TIMEOUT_MS, again=True)
        self._waiting_for_ids.append(wait)
        if len(self._waiting_for_ids) == 1:
            self._ask_for_ids()
        return wait

    def _ask_for_ids(self) -> None:
        def allocated(reply: Message | None, now: Now) -> None:
            waiting, self._waiting_for_ids = self._waiting_for_ids, []
            if reply is not None and not reply.error_code:
                self._producer_ids = range(
                    reply.producer_id_start,
                    reply.producer_id_start + reply.producer_id_len,
                )
            for wait in waiting:
                if self._producer_ids:
                    wait.finish({})
                else:
                    # whatever the reason: try again
                    wait.fail(KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS))

        leader = self._broker.quorum.leader_id
        if leader == NO_LEADER:
            allocated(None, self._broker.now)
            return
        body = {"broker_id": self._broker.node_id, "broker_epoch": self.broker_epoch}
        self._broker.ask(
            leader,
            CONTROL,
            "AllocateProducerIds",
            PRODUCER_IDS_VERSION,
            body,
            allocated,
        )

    def create(
        self, topics: Sequence[dict[str, Any]], now: Now, answer: Callable[[], Answer]
    ) -> Answer | Wait:
        """Have the active controller create topics that somebody asked for; answer():
        once it has, or does not say, or is no controller any more.
        """
        quorum = self._broker.quorum
        leader = quorum.leader_id
        if leader == NO_LEADER:
            return answer()

        def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
            return answer() if expired or quorum.leader_id != leader else None

        wait = Wait([METADATA], now.monotonic_ms + TIMEOUT_MS, attempt)
        body = {"topics": topics, "timeout_ms": TIMEOUT_MS}
        self._broker.ask(
            leader,
            CONTROL,
            "CreateTopics",
            CREATE_TOPICS_VERSION,
            body,
            lambda *_: wait.finish(answer()),
        )
        return wait
