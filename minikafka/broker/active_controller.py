"""The active controller's part of a node: it hears from brokers, decides, and answers
once a decision is committed.

A decision is data: metadata records, made by the functions of cluster/controller.py and
cluster/registration.py, which change nothing. This file says when one is made, and what
it waits for: `commit` appends the records, and gives the answer when they have come
back, committed, from the metadata log. Only then are they in the image (node_events.py
tells this part of it, too), and nothing here reads the image right after an append.
Decisions that time triggers (a silent broker, a preferred leader) are appended without
an answer.

The next decision is made only on committed state. A controller that is replaced doesn't
know the fate of its last decision: NOT_CONTROLLER.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.config import BrokerConfig
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.clock import Now
from minikafka.cluster import controller, registration
from minikafka.cluster.metadata import (
    TOPIC_RESOURCE,
    BrokerChange,
    BrokerRegistration,
    Image,
    MetadataRecord,
    feature_records,
)
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.timers import NEVER_MS, Timer
from minikafka.cluster.users import credential_record
from minikafka.cluster.waiting import METADATA, Answer, Wait
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

TIMEOUT_MS = 30_000


@dataclass(eq=False, repr=False)
class ActiveController:
    """This node's work while it leads the metadata quorum. State besides the image is
    soft: a new controller begins without it.
    """

    _incarnation: Incarnation
    _config: BrokerConfig
    _image: Image
    _quorum: Quorum
    _trace: Trace
    _timer: Timer
    # when each broker was heard of last
    _heard_ms: dict[int, int] = field(default_factory=dict)
    # the offset up to which each broker has read the metadata
    _knows: dict[int, int] = field(default_factory=dict)
    # the offset that all must know before a broker may stop
    _left_at: dict[int, int] = field(default_factory=dict)
    _balance_at_ms: int = NEVER_MS  # when to look who should lead again, monotonic

    @property
    def _session_ms(self) -> int:
        return int(self._config["broker.session.timeout.ms"])

    @property
    def _watches_others(self) -> bool:
        """Whether it decides by itself, as time passes: while it leads others, and
        knows all that was decided before.
        """
        has_others = len(self._image.brokers) > 1
        quorum = self._quorum
        return has_others and quorum.is_leader and quorum.is_settled

    def leader_changed(self, now: Now) -> None:
        """This node leads now, or another."""
        self._balance_at_ms = NEVER_MS
        if self._quorum.is_leader:
            self._heard_ms = dict.fromkeys(self._image.brokers, now.monotonic_ms)
            self._knows = {}
            self._left_at = {}
            self._balance_later(now)
        self._set_timer()

    def committed(self, now: Now) -> None:
        """More metadata is committed: there may be others to watch."""
        self._set_timer()

    def broker_changed(self, change: BrokerChange, now: Now) -> None:
        """A broker that has just registered lives."""
        if change.is_registration and self._quorum.is_leader:
            self._heard_ms[change.broker_id] = now.monotonic_ms

    def tick(self, now: Now) -> None:
        """Fence brokers that are silent, and let preferred leaders lead again."""
        if self._watches_others:
            self._fence_silent(now)
        # not while what was just decided is on its way
        if self._watches_others:
            self._balance(now)
        self._set_timer()

    def _set_timer(self) -> None:
        """For the first session that will be over, and the next look at leaders."""
        at_ms = NEVER_MS
        if self._watches_others:
            heard_ms = min(self._listened_to().values(), default=NEVER_MS)
            at_ms = min(self._balance_at_ms, heard_ms + self._session_ms)
        self._timer.set(at_ms)

    # -- leaders

    def _balance(self, now: Now) -> None:
        """Preferred leaders lead again, if it is time to look at that."""
        if self._balance_at_ms > now.monotonic_ms:
            return
        self._balance_later(now)
        records = controller.rebalanced(self._image, self.topic_value)
        if records:
            self._quorum.append(records, now)

    def _balance_later(self, now: Now) -> None:
        config = self._config
        if config["auto.leader.rebalance.enable"]:
            interval_ms = 1000 * config["leader.imbalance.check.interval.seconds"]
            self._balance_at_ms = now.monotonic_ms + interval_ms

    # -- brokers

    def _listened_to(self) -> dict[int, int]:
        """Unfenced brokers, and when each was heard of last: not this run of this node,
        and none if it is alone.
        """
        brokers = self._image.brokers
        own = self._incarnation.registration
        heard_ms: dict[int, int] = {}
        if len(brokers) <= 1:
            return heard_ms
        for broker_id, broker in brokers.items():
            if not broker.fenced and broker is not own:
                heard_ms[broker_id] = self._heard_ms.get(broker_id, 0)
        return heard_ms

    def _fence_silent(self, now: Now) -> None:
        """All together: one by one, a dead broker would lead in between, and be the
        last leader (KIP-966).
        """
        silent: dict[int, int] = {}
        for broker_id, heard_ms in self._listened_to().items():
            if self._session_is_over(heard_ms, now):
                silent[broker_id] = heard_ms
        if not silent:
            return
        fencing = controller.fence(self._image, list(silent), self.topic_value)
        if fencing.is_last:
            for broker_id, heard_ms in silent.items():
                self._tell_fenced(broker_id, heard_ms, now)
        self._quorum.append(fencing.records, now)

    def _session_is_over(self, heard_ms: int, now: Now) -> bool:
        return heard_ms + self._session_ms <= now.monotonic_ms

    def _tell_fenced(self, broker_id: int, heard_ms: int, now: Now) -> None:
        if self._trace:
            silent_ms = now.monotonic_ms - heard_ms
            self._trace.emit("BrokerFenced", broker=broker_id, silent_ms=silent_ms)

    def register(self, asked: Mapping[str, Any], now: Now) -> Answer | Wait:
        """BrokerRegistration: the answer.

        - Another run of the broker must be over: it was fenced, or is silent.
        - A run that sends the same again stays as it is, where Apache Kafka takes over
          what is new in it; a run that was about to leave is registered afresh.
        - If the run before didn't end with everything on disk, the broker no longer
          leads anything.

        Errors: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, those of
        registration.check.
        """
        broker_id = asked["broker_id"]
        if asked["cluster_id"] != self._quorum.cluster_id:
            raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
        known = self._image.brokers.get(broker_id)
        fields = registration.as_recorded(asked)
        is_same_run = known is not None and fields.items() <= known.fields.items()
        heard_ms = None
        if not is_same_run:
            heard_ms = self._listened_to().get(broker_id)
            self._check_run_is_over(broker_id, heard_ms, now)
        self._check_registration(asked)
        if known is not None and is_same_run and not known.in_controlled_shutdown:
            return {"error_code": Error.NONE, "broker_epoch": known.broker_epoch}
        records = [] if self._image.features else self._first_records()
        if heard_ms is not None:
            # it is back before the clock was looked at
            self._tell_fenced(broker_id, heard_ms, now)
        if known is not None and not is_same_run and not self._was_clean(asked, known):
            records += controller.without(
                self._image, [broker_id], self.topic_value, unclean=True
            )
        # the offset of the last record: the registration's own
        epoch = self._quorum.end_offset + len(records)
        records += registration.records(asked, epoch)
        answer = {"error_code": Error.NONE, "broker_epoch": epoch}
        return self.commit(records, now, lambda: answer)

    def _first_records(self) -> list[MetadataRecord]:
        """What a new cluster begins with."""
        older = self._config.kafka_version
        levels = registration.FIRST_LEVELS if older is None else older.first_levels
        records = feature_records(levels)
        for user, credential in self._config.first_users:
            name, fields = credential_record(user, credential)
            records.append(MetadataRecord(name, 0, fields))
        return records

    def _check_run_is_over(
        self, broker_id: int, heard_ms: int | None, now: Now
    ) -> None:
        """Check before another run of the broker may register. This node knows its own
        run. Errors: DUPLICATE_BROKER_REGISTRATION.
        """
        is_own = (
            broker_id == self._incarnation.node_id
            and self._incarnation.registration is not None
        )
        lives = heard_ms is not None and not self._session_is_over(heard_ms, now)
        if is_own or lives:
            raise KafkaError(Error.DUPLICATE_BROKER_REGISTRATION)

    def _check_registration(self, asked: Mapping[str, Any]) -> None:
        """Nodes that were started as one cluster know each other from the start. Where
        each says where it listens to nodes, others may come, and say so too.
        """
        config = self._config
        others_may_come = CONTROLLER_LISTENER in config.advertised
        may_come = None
        if not others_may_come:
            may_come = {self._incarnation.node_id, *config.peers}
        listeners = set(config.advertised)
        if asked["broker_id"] in config.peers:
            listeners.discard(CONTROLLER_LISTENER)
        registration.check(self._image, asked, may_come, listeners)

    def _was_clean(self, asked: Mapping[str, Any], known: BrokerRegistration) -> bool:
        """Whether the broker's last run, the one that is known, ended with all on disk
        (KIP-966).
        """
        return bool(asked["previous_broker_epoch"] == known.broker_epoch)

    def heartbeat(self, asked: Message, now: Now) -> Answer | Wait:
        """BrokerHeartbeat: the answer.

        - Who is fenced, ready and knows of its own registration is unfenced.
        - Who wants to go is let go when others lead, and all know that.

        Errors: STALE_BROKER_EPOCH, INVALID_REQUEST.
        """
        broker_id = asked.broker_id
        known = self._image.brokers.get(broker_id)
        if known is None or known.broker_epoch != asked.broker_epoch:
            raise KafkaError(Error.STALE_BROKER_EPOCH)
        if not -1 <= asked.current_metadata_offset < self._quorum.end_offset:
            # nobody has read what this controller hasn't
            raise KafkaError(Error.INVALID_REQUEST)
        self._heard_ms[broker_id] = now.monotonic_ms
        self._set_timer()
        self._knows[broker_id] = asked.current_metadata_offset
        is_caught_up = asked.current_metadata_offset >= known.broker_epoch
        answer = {
            "error_code": Error.NONE,
            "is_caught_up": is_caught_up,
            "is_fenced": known.fenced,
        }
        may_come_in = known.fenced and is_caught_up and not asked.want_fence
        needs_decision = may_come_in or asked.want_shut_down
        if not needs_decision:
            return answer
        if not self._quorum.is_settled:
            return self.settled(now)
        records: list[MetadataRecord] = []
        if asked.want_shut_down:
            records, may_go = self._let_go(known)
            if may_go:
                answer["should_shut_down"] = True
                answer["is_fenced"] = True
        else:
            answer["is_fenced"] = False
            records = controller.unfence(self._image, broker_id, self.topic_value)
        return self.commit(records, now, lambda: answer)

    def _let_go(self, known: BrokerRegistration) -> tuple[list[MetadataRecord], bool]:
        """The decision about a broker that wants to stop, and whether it may: first
        others lead, then all learn of that, then it is fenced.
        """
        if known.fenced:
            return [], True
        image = self._image
        broker_id = known.broker_id
        records = controller.begin_shutdown(image, broker_id, self.topic_value)
        if records:
            last_offset = self._quorum.end_offset + len(records) - 1
            self._left_at[broker_id] = last_offset
            return records, False
        if not self._all_know_of(broker_id):
            return [], False
        fencing = controller.fence(image, [broker_id], self.topic_value)
        return fencing.records, True

    def _all_know_of(self, broker_id: int) -> bool:
        """Whether all who stay have heard that this broker leads nothing any more."""
        if not self._image.brokers[broker_id].in_controlled_shutdown:
            return False
        own_offset = self._quorum.applied_offset - 1
        offset = self._left_at.setdefault(broker_id, own_offset)
        knows = self._knows | {self._incarnation.node_id: own_offset}
        return all(knows.get(other, -1) >= offset for other in self._image.may_lead())

    # -- decisions

    def topic_value(self, topic: str, name: str) -> Any:
        """A config of a topic as it is in force."""
        found = self._config.value(
            self._image, self._incarnation.node_id, TOPIC_RESOURCE, topic, name
        )
        return found.value

    def commit(
        self, records: Sequence[MetadataRecord], now: Now, answer: Callable[[], Answer]
    ) -> Answer | Wait:
        """Append the controller's decision to the metadata log; the answer is made once
        the decision is committed, in the epoch that it was made in. Errors:
        NOT_CONTROLLER.
        """
        if not records:
            return answer()
        quorum = self._quorum
        if not quorum.is_leader:
            raise KafkaError(Error.NOT_CONTROLLER)
        assert quorum.is_settled, "the controller decides on committed state only"
        offset = quorum.append(records, now)
        self._set_timer()
        epoch = quorum.epoch

        def attempt(*_: object) -> Answer | None:
            is_same_epoch = quorum.epoch == epoch
            if is_same_epoch and quorum.applied_offset >= offset:
                return answer()
            if is_same_epoch and quorum.is_leader:
                return None
            raise KafkaError(Error.NOT_CONTROLLER)

        return Wait([METADATA], now.monotonic_ms + TIMEOUT_MS, attempt)

    def commit_and_tell(
        self,
        records: Sequence[MetadataRecord],
        now: Now,
        answer: Answer,
        kind: str,
        changes: Iterable[dict[str, Any]],
    ) -> Answer | Wait:
        """Commit what a client asked for. kind, changes: the trace events of what
        changed, told then.
        """

        def committed() -> Answer:
            if self._trace:
                for detail in changes:
                    self._trace.emit(kind, **detail)
            return answer

        return self.commit(records, now, committed)

    def settled(self, now: Now) -> Wait:
        """Decisions are made only on committed state: a request that comes in between
        waits, and then starts over.
        """
        quorum = self._quorum

        def attempt(*_: object) -> Answer | None:
            may_begin = quorum.is_settled or not quorum.is_leader
            return {} if may_begin else None

        return Wait([METADATA], now.monotonic_ms + TIMEOUT_MS, attempt, again=True)
