"""ShareAcknowledge (KIP-932), and what comes along with ShareFetch: what a member of a
share group says of records that it has.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.calls import Call
from minikafka.broker.config import BrokerConfig
from minikafka.broker.handlers.fetch import WRONG_LEADER
from minikafka.broker.handlers.leaders import current_leader, leaders_named
from minikafka.broker.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MemberKey,
    TopicIdPartition,
)
from minikafka.broker.sharing import Sharing
from minikafka.clock import Now
from minikafka.cluster.acls import Operation, ResourceType
from minikafka.cluster.metadata import Image
from minikafka.cluster.share_partition import Acknowledge, AcknowledgementBatch
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.share_limits import configured
from minikafka.coordinators.share_states import ShareKey
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested

SHARE_FEATURE = "share.version"
RENEWING = 2  # the first version that knows longer locks
LONGEST_MEMBER_ID = 36
Verdicts = dict[TopicIdPartition, KafkaError | None]


@dataclass(eq=False, repr=False)
class ShareAcknowledgeHandlers:
    """Handles share group members' acknowledgements."""

    config: BrokerConfig
    image: Image
    sharing: Sharing

    def member_of(self, request: Call) -> MemberKey:
        """The member that sent the request. Errors: UNSUPPORTED_VERSION,
        INVALID_REQUEST.
        """
        check_feature(self.image)
        body = request.body
        if body.group_id is None:
            raise KafkaError(Error.INVALID_REQUEST)
        if not 1 <= len(body.member_id or "") <= LONGEST_MEMBER_ID:
            raise KafkaError(Error.INVALID_REQUEST)
        return MemberKey(body.group_id, body.member_id)

    def refuse(self, request: Call, error: KafkaError) -> Answer:
        """The answer to a request that failed as a whole has only the error."""
        return {"error_code": error.error}

    def lock_ms(self, group_id: str) -> int:
        """How long a member has what it acquired."""
        configs = GroupConfigs(group_id, self.config, self.image)
        return configured(configs, "share.record.lock.duration.ms")

    def share_acknowledge(self, request: Call, now: Now) -> Answer | Wait:
        """ShareAcknowledge (KIP-932, KIP-1222): a member says what became of records,
        without fetching more.

        - Each record is accepted, released or rejected; or its lock is renewed.
        - It is answered when that is written down.
        - A session that ends (epoch -1) gives back what its member has.

        Versions: 1 to 2.

        - 2 renews locks.
        """
        member = self.member_of(request)
        epoch = request.body.share_session_epoch
        if epoch == INITIAL_EPOCH:
            raise KafkaError(Error.INVALID_SHARE_SESSION_EPOCH)
        if epoch == FINAL_EPOCH:
            self.sharing.sessions.find(member)
        else:
            self.sharing.sessions.go_on(member, epoch)
        said = Acknowledging(self, request, member)

        def answer() -> Answer:
            if epoch == FINAL_EPOCH:
                self.end_session(member)
            verdicts = said.verdicts()
            answers = {}
            for at, error in verdicts.items():
                answers[at] = self.of_partition(at, error)
            return {
                "acquisition_lock_timeout_ms": self.lock_ms(member.group_id),
                "responses": by_topic_id(answers),
                "node_endpoints": leaders_named(self.image, request, answers.values()),
            }

        return all_of(said.begin(now), answer)

    def end_session(self, member: MemberKey) -> None:
        """The member is gone from this broker."""
        session = self.sharing.sessions.end(member)
        if session is not None:
            self.sharing.partitions.session_ended(session)

    def of_partition(self, at: TopicIdPartition, error: KafkaError | None) -> Answer:
        """A partition's part of an answer; it names the leader if the client
        was wrong.
        """
        topic_id, number = at
        answer: Answer = {"partition_index": number, "error_code": Error.NONE}
        if error is None:
            return answer
        answer |= {"error_code": error.error, "error_message": error.message}
        topic = self.image.topic_names.get(topic_id, "")
        if error.error in WRONG_LEADER and topic:
            answer["current_leader"] = current_leader(self.image, topic, number)
        return answer


class GroupConfigs(NamedTuple):
    """Where to look for what a group is configured to."""

    group_id: str
    config: Any
    image: Any


def check_feature(image: Image) -> None:
    """Whether this cluster has share groups. Errors: UNSUPPORTED_VERSION."""
    if not image.features.get(SHARE_FEATURE, 1):
        raise KafkaError(Error.UNSUPPORTED_VERSION)


def check_access(request: Call, topic: str) -> None:
    """Whether a client may read a topic. Errors: TOPIC_AUTHORIZATION_FAILED."""
    if request.access is not None:
        request.access.check(Operation.READ, ResourceType.TOPIC, topic)


def by_topic_id(answers: dict[TopicIdPartition, Answer]) -> list[Answer]:
    parts = [(topic_id, answer) for (topic_id, _), answer in answers.items()]
    return nested(parts, "topic_id")


@dataclass(eq=False, repr=False)
class Acknowledging:
    """The acknowledgements in one request, while they are being written."""

    handlers: "ShareAcknowledgeHandlers"
    request: Call
    member: MemberKey
    _waits: dict[TopicIdPartition, Wait] = field(default_factory=dict)

    def begin(self, now: Now) -> list[Wait]:
        """They end when what was said is written down, or can't be."""
        for topic in self.request.body.topics:
            for partition in topic.partitions:
                at = topic.topic_id, partition.partition_index
                wait = Wait()
                try:
                    wait = self._say(at, partition.acknowledgement_batches, now)
                except KafkaError as error:
                    wait.fail(error.with_traceback(None))
                self._waits[at] = wait
        return list(self._waits.values())

    def verdicts(self) -> Verdicts:
        """The outcome for each partition's acknowledgements."""
        return {at: wait.error for at, wait in self._waits.items()}

    def _say(self, at: TopicIdPartition, said: Sequence[Any], now: Now) -> Wait:
        topic_id, number = at
        topic = self.handlers.image.topic_names.get(topic_id)
        if topic is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_ID)
        check_access(self.request, topic)
        self._check(said)
        if number not in self.handlers.image.topics[topic].partitions:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        if not said:
            wait = Wait()
            wait.finish({})
            return wait
        key = ShareKey(self.member.group_id, topic_id, number)
        held = self.handlers.sharing.partitions.get(key)
        if held is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        batches = []
        for each in said:
            batch = AcknowledgementBatch(
                each.first_offset, each.last_offset, each.acknowledge_types
            )
            batches.append(batch)
        member_id = self.member.member_id
        return self.handlers.sharing.partitions.acknowledge(
            held, member_id, batches, now
        )

    def _check(self, said: Iterable[Any]) -> None:
        """Whether batches make sense by themselves. Errors: INVALID_REQUEST."""
        last_offset = -1
        is_new = self.request.version >= RENEWING
        highest = Acknowledge.RENEW if is_new else Acknowledge.REJECT
        renews = is_new and self.request.body.is_renew_ack
        for batch in said:
            types = batch.acknowledge_types
            size = batch.last_offset - batch.first_offset + 1
            is_wrong = (
                size < 1
                or batch.first_offset < last_offset
                or not types
                or (len(types) > 1 and len(types) != size)
                or any(not 0 <= one <= highest for one in types)
                or (Acknowledge.RENEW in types and not renews)
            )
            if is_wrong:
                raise KafkaError(Error.INVALID_REQUEST)
            last_offset = batch.last_offset
