"""How a broker joins the cluster, says that it lives, and leaves (KIP-631).

It registers, and gets its epoch; it opens its logs, fenced; it says that it is ready,
and the controller unfences it. From then on it tells the active controller every
broker.heartbeat.interval.ms that it lives. Only a broker whose controller is in the
same process says nothing: nobody would miss it.

On a clean stop it says that it wants to go (controlled shutdown): the controller gives
what it leads to others, and lets it go when all brokers know.

What is committed says how far it has come, and lifecycle.py what that means.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from minikafka.broker.config import BrokerConfig
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.lifecycle import (
    ASKED_TO_LEAVE,
    FENCED,
    HANDED_OVER,
    LEAVING,
    READY,
    REGISTERED,
    STARTING,
    UNFENCED,
    Lifecycle,
)
from minikafka.broker.listeners import PROTOCOLS
from minikafka.broker.peers import CONTROL
from minikafka.clock import Now
from minikafka.cluster import registration
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import NO_LEADER, BrokerRegistration
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.timers import NEVER_MS, Timers
from minikafka.wire.schema import Message

RETRY_BACKOFF_MS = 100
REGISTRATION_VERSION, HEARTBEAT_VERSION = 4, 2


@dataclass(eq=False, repr=False)
class Registration:
    """The contact of one run of a node with the active controller. may_join(): whether
    the controller knows which damaged replicas this node must not lead.
    """

    _incarnation: Incarnation
    _config: BrokerConfig
    _life: Lifecycle
    _quorum: Quorum
    _ask_node: AskNode
    _may_join: Callable[[], bool]
    _timers: Timers
    _previous_epoch: int = -1  # of the broker, if its last run ended cleanly
    _contacting: int = -1  # the node that has a registration or a heartbeat of ours

    def __post_init__(self) -> None:
        self._next_contact = self._timers.new()
        # a node that is leaving goes then, handed over or not
        self._end_of_leaving = self._timers.new()

    def start(self, previous_epoch: int, now: Now) -> None:
        """Join the cluster as soon as it has a controller. previous_epoch: of a last
        run that ended cleanly, or -1.
        """
        self._previous_epoch = previous_epoch
        self._next_contact.set(now.monotonic_ms)
        self.tick(now)

    @property
    def _has_to_register(self) -> bool:
        """Whether the cluster doesn't know this run, or somebody took it for
        leaving.
        """
        own = self._incarnation.registration
        return own is None or (own.in_controlled_shutdown and not self._life.is_leaving)

    # -- what happens

    def leader_changed(self, now: Now) -> None:
        """Another node is the active controller, or none, or it is this one."""
        self._contacting = -1
        self._next_contact.set(now.monotonic_ms)

    def committed(self, now: Now) -> None:
        """More metadata is committed: it may be the next step into the cluster."""
        own, state = self._incarnation.registration, self._life.state
        # somebody unregistered or stopped a broker that lives
        is_cast_out = self._has_to_register and self._life.allowed.coordinates
        if is_cast_out and self._next_contact.at_ms == NEVER_MS:
            self._next_contact.set(now.monotonic_ms)
        if own is None:
            return
        if state == STARTING:
            self._life.take(REGISTERED, now)
        elif state == FENCED and not own.fenced:
            self._incarnation.broker_epoch = own.broker_epoch
            self._life.take(UNFENCED, now)

    def logs_opened(self, now: Now) -> None:
        """The logs are open: ask the controller to be unfenced."""
        self._next_contact.set(now.monotonic_ms)
        self.committed(now)

    def leave(self, now: Now) -> None:
        """Begin a clean stop. A node that can't hand over within
        broker.session.timeout.ms goes all the same, and so does one that has nobody to
        hand over to.
        """
        self._next_contact.set(now.monotonic_ms)
        if self._life.state == READY:
            self._life.take(ASKED_TO_LEAVE, now)
            session_ms = self._config["broker.session.timeout.ms"]
            self._end_of_leaving.set(now.monotonic_ms + session_ms)
            if not self._config.peers:
                self._handed_over(now)

    def _handed_over(self, now: Now) -> None:
        self._end_of_leaving.stop()
        if self._life.state == LEAVING:
            self._life.take(HANDED_OVER, now)

    # -- telling the controller

    def tick(self, now: Now) -> None:
        """Tell the controller that this broker is there."""
        if self._end_of_leaving.at_ms <= now.monotonic_ms:
            self._handed_over(now)
        if self._next_contact.at_ms <= now.monotonic_ms:
            self._next_contact.stop()
            self._contact()

    def _contact(self) -> None:
        leader = self._quorum.leader_id
        if leader == NO_LEADER or self._contacting == leader:
            return
        own = self._incarnation.registration
        if own is None or self._has_to_register:
            self._ask(
                leader, "BrokerRegistration", REGISTRATION_VERSION, self._registering()
            )
            return
        assert own.broker_epoch >= self._incarnation.broker_epoch, (
            "a broker's epoch never falls"
        )
        self._incarnation.broker_epoch = own.broker_epoch
        is_missed = own.fenced or leader != self._incarnation.node_id
        if is_missed or self._life.is_leaving:
            self._ask(leader, "BrokerHeartbeat", HEARTBEAT_VERSION, self._living(own))

    def _registering(self) -> dict[str, object]:
        """A BrokerRegistration of this run."""
        fields = registration.fields(
            self._incarnation.node_id,
            self._incarnation.incarnation_id,
            [self._incarnation.directory_id],
            self._config.advertised,
            self._config["broker.rack"],
            {
                name: PROTOCOLS.index(self._config.protocol(name))
                for name in self._config.advertised
            },
        )
        fields["cluster_id"] = self._quorum.cluster_id
        fields["previous_broker_epoch"] = self._previous_epoch
        return fields

    def _living(self, own: BrokerRegistration) -> dict[str, object]:
        """The fields of a BrokerHeartbeat."""
        may_be_let_in = self._life.allowed.has_logs and self._may_join()
        return {
            "broker_id": own.broker_id,
            "broker_epoch": own.broker_epoch,
            "current_metadata_offset": self._quorum.applied_offset - 1,
            "want_fence": not may_be_let_in,
            "want_shut_down": self._life.is_leaving,
        }

    def _ask(
        self, leader: int, api: str, version: int, body: Mapping[str, object]
    ) -> None:
        self._contacting = leader

        def heard(reply: Message | None, now: Now) -> None:
            if self._contacting != leader:
                return
            self._contacting = -1
            answer = None if reply is None or reply.error_code else reply
            if self._life.is_leaving and says_go(api, answer):
                self._handed_over(now)
            elif self._next_contact.at_ms == NEVER_MS:  # else there is news already
                period_ms = self._period_ms(is_heard=answer is not None)
                self._next_contact.set(now.monotonic_ms + period_ms)

        self._ask_node(leader, CONTROL, api, version, body, heard)

    def _period_ms(self, is_heard: bool) -> int:
        """How long until the next contact: a node that is joining or leaving is in a
        hurry.
        """
        own = self._incarnation.registration
        is_in = own is not None and not own.fenced
        if is_in and is_heard and not self._life.is_leaving:
            return int(self._config["broker.heartbeat.interval.ms"])
        return RETRY_BACKOFF_MS


def says_go(api: str, answer: Message | None) -> bool:
    """Whether the controller has let a broker go that wanted to."""
    if answer is None or api != "BrokerHeartbeat":
        return False
    return bool(answer.should_shut_down)
