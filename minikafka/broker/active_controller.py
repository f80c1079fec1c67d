"""The active controller's part of a node: it hears from brokers, decides, and answers
once a decision is committed.

What follows from what is in cluster/controller.py; here is when. It decides on
committed state only, one decision after the other, and nothing here reads the image
right after an append: what depends on a record goes on when the record has come back
from the log. A controller that is replaced doesn't know what became of its last
decision: NOT_CONTROLLER.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minikafka.broker.ports import CONTROLLER_LISTENER, RegisteredNode
from minikafka.clock import Now, soonest
from minikafka.cluster import controller, registration
from minikafka.cluster.metadata import (
    TOPIC_RESOURCE,
    BrokerChange,
    BrokerRegistration,
    MetadataRecord,
)
from minikafka.cluster.waiting import METADATA, Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

TIMEOUT_MS = 30_000


class ActiveController:
    """What this node does while it leads the metadata quorum."""

    def __init__(self, node: RegisteredNode) -> None:
        self._node = node
        self._heard_ms: dict[int, int] = {}  # when each broker was heard of last
        # the offset up to which each broker has read the metadata
        self._knows: dict[int, int] = {}
        # the offset that all must know before a broker may stop
        self._left_at: dict[int, int] = {}
        self._balance_at: int | None = None  # monotonic ms

    @property
    def _session_ms(self) -> int:
        return int(self._node.config["broker.session.timeout.ms"])

    @property
    def _may_decide(self) -> bool:
        quorum = self._node.quorum
        return (
            len(self._node.image.brokers) > 1 and quorum.is_leader and quorum.is_settled
        )

    def leader_changed(self, now: Now) -> None:
        """This node leads now, or another."""
        self._balance_at = None
        if self._node.quorum.is_leader:
            self._heard_ms = dict.fromkeys(self._node.image.brokers, now.monotonic_ms)
            self._knows, self._left_at = {}, {}
            self._rest(now)

    def broker_changed(self, change: BrokerChange, now: Now) -> None:
        """A broker that has just registered lives."""
        if change.is_registration and self._node.quorum.is_leader:
            self._heard_ms[change.broker_id] = now.monotonic_ms

    def tick(self, now: Now) -> None:
        """Look who is silent, and who should lead again."""
        if self._may_decide:
            self._fence_silent(now)
        if (
            self._may_decide
            and self._balance_at is not None
            and self._balance_at <= now.monotonic_ms
        ):
            self._rest(now)
            records = controller.rebalanced(self._node.image, self.topic_value)
            if records:
                self._node.quorum.append(records, now)

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        if not self._may_decide:
            return None
        return soonest(
            self._balance_at,
            *(at_ms + self._session_ms for at_ms in self._listened_to().values()),
        )

    def _rest(self, now: Now) -> None:
        config = self._node.config
        if config["auto.leader.rebalance.enable"]:
            self._balance_at = (
                now.monotonic_ms
                + 1000 * config["leader.imbalance.check.interval.seconds"]
            )

    # -- brokers

    def _listened_to(self) -> dict[int, int]:
        """Unfenced brokers, and when each was heard of last: not this run of this node,
        and none if it is alone.
        """
        brokers, own = self._node.image.brokers, self._node.registration.own
        live = [
            one.broker_id
            for one in brokers.values()
            if not one.fenced and one is not own
        ]
        return {node: self._heard_ms.get(node, 0) for node in live if len(brokers) > 1}

    def _fence_silent(self, now: Now) -> None:
        """All together: one by one, a dead broker would lead in between, and be the
        last leader (KIP-966).
        """
        silent = {
            node: at_ms
            for node, at_ms in self._listened_to().items()
            if self._session_is_over(at_ms, now)
        }
        if not silent:
            return
        records = controller.fence(self._node.image, [*silent], self.topic_value)
        # else this was a part of it
        if records[-1].name == "BrokerRegistrationChangeRecord":
            for node, heard_ms in silent.items():
                self._tell_fenced(node, heard_ms, now)
        self._node.quorum.append(records, now)

    def _session_is_over(self, heard_ms: int, now: Now) -> bool:
        return heard_ms + self._session_ms <= now.monotonic_ms

    def _tell_fenced(self, node: int, heard_ms: int, now: Now) -> None:
        if self._node.trace:
            self._node.trace.emit(
                "BrokerFenced", broker=node, silent_ms=now.monotonic_ms - heard_ms
            )

    def register(self, asked: Mapping[str, Any], now: Now) -> Answer | Wait:
        """BrokerRegistration: the answer. Errors: DUPLICATE_BROKER_REGISTRATION while
        another run of it lives, those of registration.check. A run that says it again
        stays as it is, where Apache Kafka takes what is new in it; one that somebody
        took for leaving comes anew.
        """
        node, broker_id = self._node, asked["broker_id"]
        if asked["cluster_id"] != node.cluster_id:
            raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
        known = node.image.brokers.get(broker_id)
        said = registration.as_recorded(asked)
        same = known is not None and said.items() <= known.fields.items()
        heard_ms = None if same else self._listened_to().get(broker_id)
        is_this = broker_id == node.node_id and node.registration.own is not None
        lives = heard_ms is not None and not self._session_is_over(heard_ms, now)
        if not same and (is_this or lives):
            raise KafkaError(Error.DUPLICATE_BROKER_REGISTRATION)
        self._check_registration(asked)
        if known is not None and same and not known.in_controlled_shutdown:
            return {"error_code": Error.NONE, "broker_epoch": known.broker_epoch}
        records = [] if node.image.features else registration.feature_levels()
        if heard_ms is not None:
            # it is back before the clock was looked at
            self._tell_fenced(broker_id, heard_ms, now)
        if known is not None and not same and not self._was_clean(asked, known):
            records += controller.without(
                node.image, [broker_id], self.topic_value, unclean=True
            )
        epoch = node.quorum.end_offset + len(records)
        records += registration.records(asked, epoch)
        answer = {"error_code": Error.NONE, "broker_epoch": epoch}
        return self.decide(records, now, lambda: answer)

    def _check_registration(self, asked: Mapping[str, Any]) -> None:
        """Nodes that were started as one cluster know each other from the start. Where
        each says where it listens to nodes, others may come, and say so too.
        """
        config = self._node.config
        others_may_come = CONTROLLER_LISTENER in config.advertised
        needed = config.advertised.keys() - (
            {CONTROLLER_LISTENER} if asked["broker_id"] in config.peers else set()
        )
        peers = {self._node.node_id, *config.peers}
        registration.check(
            self._node.image, asked, None if others_may_come else peers, needed
        )

    def _was_clean(self, asked: Mapping[str, Any], known: BrokerRegistration) -> bool:
        """Whether the broker's last run, the one that is known, ended with all on disk
        (KIP-966).
        """
        return bool(asked["previous_broker_epoch"] == known.broker_epoch)

    def heartbeat(self, asked: Message, now: Now) -> Answer | Wait:
        """BrokerHeartbeat: the answer; who is fenced, ready and knows of its own
        registration is unfenced, and who wants to go is let go when others lead, and
        all know that.
        """
        node, broker_id = self._node, asked.broker_id
        known = node.image.brokers.get(broker_id)
        if known is None or known.broker_epoch != asked.broker_epoch:
            raise KafkaError(Error.STALE_BROKER_EPOCH)
        if not -1 <= asked.current_metadata_offset < node.quorum.end_offset:
            # nobody has read what this controller hasn't
            raise KafkaError(Error.INVALID_REQUEST)
        self._heard_ms[broker_id] = now.monotonic_ms
        self._knows[broker_id] = asked.current_metadata_offset
        caught_up = asked.current_metadata_offset >= known.broker_epoch
        answer = {
            "error_code": Error.NONE,
            "is_caught_up": caught_up,
            "is_fenced": known.fenced,
        }
        wants_in = known.fenced and caught_up and not asked.want_fence
        if not node.quorum.is_settled:
            return self.settled(now) if wants_in or asked.want_shut_down else answer
        records: list[MetadataRecord] = []
        if asked.want_shut_down:
            records, may_go = self._let_go(known)
            if may_go:
                answer |= {"should_shut_down": True, "is_fenced": True}
        elif wants_in:
            answer["is_fenced"] = False
            records = controller.unfence(node.image, broker_id, self.topic_value)
        return self.decide(records, now, lambda: answer)

    def _let_go(self, known: BrokerRegistration) -> tuple[list[MetadataRecord], bool]:
        """What is decided of a broker that wants to stop, and whether it may: first
        others lead, then all hear of that, then it is fenced.
        """
        if known.fenced:
            return [], True
        image, broker_id = self._node.image, known.broker_id
        records = controller.begin_shutdown(image, broker_id, self.topic_value)
        if records:
            self._left_at[broker_id] = self._node.quorum.end_offset + len(records) - 1
            return records, False
        if self._all_know_of(broker_id):
            return controller.fence(image, [broker_id], self.topic_value), True
        return [], False

    def _all_know_of(self, node: int) -> bool:
        """Whether all who stay have heard that this broker leads nothing any more."""
        image, own = self._node.image, self._node.node_id
        if not image.brokers[node].in_controlled_shutdown:
            return False
        offset = self._left_at.setdefault(node, self._node.quorum.applied_offset - 1)
        knows = self._knows | {own: self._node.quorum.applied_offset - 1}
        return all(knows.get(other, -1) >= offset for other in image.may_lead())

    # -- decisions

    def topic_value(self, topic: str, name: str) -> Any:
        """A config of a topic as it is in force."""
        node = self._node
        found = node.config.value(node.image, node.node_id, TOPIC_RESOURCE, topic, name)
        return found.value

    def decide(
        self, records: Sequence[MetadataRecord], now: Now, answer: Callable[[], Answer]
    ) -> Answer | Wait:
        """Append the controller's decision to the metadata log; the answer is made once
        the decision is committed.
        """
        if not records:
            return answer()
        quorum = self._node.quorum
        if not quorum.is_leader:
            raise KafkaError(Error.NOT_CONTROLLER)
        assert quorum.is_settled, "the controller decides on committed state only"
        offset, epoch = quorum.append(records, now), quorum.epoch

        def committed(*_: object) -> Answer | None:
            if quorum.applied_offset >= offset and quorum.epoch == epoch:
                return answer()
            if quorum.epoch != epoch or not quorum.is_leader:
                raise KafkaError(Error.NOT_CONTROLLER)
            return None

        return Wait([METADATA], now.monotonic_ms + TIMEOUT_MS, committed)

    def change(
        self,
        records: Sequence[MetadataRecord],
        now: Now,
        answer: Answer,
        kind: str,
        changes: Iterable[dict[str, Any]],
    ) -> Answer | Wait:
        """Decide as a client asked. kind, changes: the trace events of what changed,
        told once it is committed.
        """

        def committed() -> Answer:
            if self._node.trace:
                for detail in changes:
                    self._node.trace.emit(kind, **detail)
            return answer

        return self.decide(records, now, committed)

    def settled(self, now: Now) -> Wait:
        """Decisions are made on committed state only: a request that comes between them
        waits, and then begins.
        """
        quorum, until_ms = self._node.quorum, now.monotonic_ms + TIMEOUT_MS

        def attempt(*_: object) -> Answer | None:
            return {} if quorum.is_settled or not quorum.is_leader else None

        return Wait([METADATA], until_ms, attempt, again=True)
