"""The requests that nodes send to share coordinators (KIP-932).

The leader of a partition asks for the state of its share partitions, and writes the
outcome of their records; the group coordinator has states created and deleted. They ask
the node that leads the partition of `__share_group_state` to which a share partition's
key hashes, which may be this node, and ask again if that leader has just moved. The
topic is created when it is first needed.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from minikafka.clock import NodeClock, Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import NO_LEADER, SHARE_STATE_TOPIC, Image
from minikafka.cluster.timers import NEVER_MS, Timer
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.runtime import partition_for
from minikafka.coordinators.share_states import ShareKey
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

LANE = "share_state"
VERSIONS = {
    "InitializeShareGroupState": 0,
    "ReadShareGroupState": 0,
    "WriteShareGroupState": 1,
    "DeleteShareGroupState": 0,
    "ReadShareGroupStateSummary": 1,
}
MOST_AT_ONCE = 50  # requests sent at a time
FIRST_BACKOFF_MS, MOST_ATTEMPTS = 100, 8  # each backoff is twice the last one
MOVED = (
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
)
KNOWN_ERRORS = frozenset(Error)

# how a request ended: the result for its partition, or the error it names
Then = Callable[[Message | KafkaError, Now], None]

CreateTopics = Callable[
    [Sequence[dict[str, Any]], Now, Callable[[], Answer]], Answer | Wait
]

Results = dict[ShareKey, Message | KafkaError]


def ask_for_all(
    keys: Sequence[ShareKey],
    ask: Callable[[ShareKey, Then], None],
    then: Callable[[Results, Now], None],
    now: Now,
) -> None:
    """Send the same request for each of several share partitions. then: called when all
    are answered, at once if there are none.
    """
    if not keys:
        then({}, now)
        return
    results: Results = {}

    def answered(key: ShareKey, result: Message | KafkaError, now: Now) -> None:
        results[key] = result
        if len(results) == len(keys):
            then(results, now)

    for key in keys:
        ask(key, partial(answered, key))


class Question(NamedTuple):
    """One request to the coordinator of a share partition. fields: the partition's
    fields in it.
    """

    api: str
    key: ShareKey
    fields: dict[str, Any]
    then: Then
    attempt: int = 1

    def body(self) -> dict[str, Any]:
        partition = {"partition": self.key.partition, **self.fields}
        topic = {"topic_id": self.key.topic_id, "partitions": [partition]}
        return {"group_id": self.key.group_id, "topics": [topic]}


@dataclass(eq=False, repr=False)
class SharePersister:
    """Sends this node's requests to share coordinators. creation(): the topic's fields
    for CreateTopics. create_topics(topics, now, answer): has the active controller create
    topics; answer(): then.
    """

    _image: Image
    _clock: NodeClock
    _ask_node: AskNode
    _create_topics: CreateTopics
    _creation: Callable[[], dict[str, Any]]
    _timer: Timer  # set to the first of the requests to be sent
    # a heap of them: when (monotonic ms), a number, the request
    _later: list[tuple[int, int, Question]] = field(default_factory=list)
    _number: int = 0
    _asked_at_ms: int = 0
    _asked: int = 0  # how many were sent at that time
    _is_creating: bool = False

    def initialize(
        self, key: ShareKey, state_epoch: int, start_offset: int, then: Then
    ) -> None:
        """Create the state of a share partition, or reset it."""
        fields = {"state_epoch": state_epoch, "start_offset": start_offset}
        self._ask(Question("InitializeShareGroupState", key, fields, then))

    def read(self, key: ShareKey, leader_epoch: int, then: Then) -> None:
        """Read the whole state, for the leader of this epoch."""
        fields = {"leader_epoch": leader_epoch}
        self._ask(Question("ReadShareGroupState", key, fields, then))

    def write(self, key: ShareKey, change: dict[str, Any], then: Then) -> None:
        """Write the outcome of records."""
        self._ask(Question("WriteShareGroupState", key, change, then))

    def delete(self, key: ShareKey, then: Then) -> None:
        """Delete the state of a share partition."""
        self._ask(Question("DeleteShareGroupState", key, {}, then))

    def summary(self, key: ShareKey, then: Then) -> None:
        """Ask for the start offset of a share partition."""
        fields = {"leader_epoch": -1}
        self._ask(Question("ReadShareGroupStateSummary", key, fields, then))

    def tick(self, now: Now) -> None:
        """Send the requests that are due, up to the limit for one moment."""
        if self._timer.at_ms <= now.monotonic_ms:
            self._ask_due()

    # -- helpers

    def _ask(self, question: Question) -> None:
        """Send a request now, or behind others if many are being sent: one heartbeat
        may need the states of 10,000 partitions.
        """
        self._ask_at(self._clock.now.monotonic_ms, question)
        self._ask_due()

    def _ask_at(self, at_ms: int, question: Question) -> None:
        self._number += 1
        heapq.heappush(self._later, (at_ms, self._number, question))
        self._timer.set(self._later[0][0])

    def _ask_due(self) -> None:
        now_ms = self._clock.now.monotonic_ms
        if self._asked_at_ms != now_ms:
            self._asked_at_ms, self._asked = now_ms, 0
        while self._asked < MOST_AT_ONCE and self._timer.at_ms <= now_ms:
            self._asked += 1
            _, _, question = heapq.heappop(self._later)
            self._timer.set(self._later[0][0] if self._later else NEVER_MS)
            self._ask_now(question)

    def _ask_now(self, question: Question) -> None:
        leader = self._leader(question.key)
        if leader == NO_LEADER:
            self._again(question, KafkaError(Error.COORDINATOR_NOT_AVAILABLE))
            return

        def answered(reply: Message | None, now: Now) -> None:
            result = _result(question.key, reply)
            if isinstance(result, KafkaError) and result.error in MOVED:
                self._again(question, result)
            else:
                question.then(result, now)

        version = VERSIONS[question.api]
        body = question.body()
        self._ask_node(leader, LANE, question.api, version, body, answered)

    def _leader(self, key: ShareKey) -> int:
        topic = self._image.topics.get(SHARE_STATE_TOPIC)
        if topic is None or not topic.partitions:
            self._create()
            return NO_LEADER
        number = partition_for(str(key), len(topic.partitions))
        return topic.partitions[number].leader

    def _create(self) -> None:
        if self._is_creating:
            return
        self._is_creating = True

        def created() -> dict[str, Any]:
            self._is_creating = False
            return {}

        self._create_topics([self._creation()], self._clock.now, created)

    def _again(self, question: Question, error: KafkaError) -> None:
        now = self._clock.now
        if question.attempt >= MOST_ATTEMPTS:
            question.then(error, now)
            return
        backoff_ms = FIRST_BACKOFF_MS << (question.attempt - 1)
        later = question._replace(attempt=question.attempt + 1)
        self._ask_at(now.monotonic_ms + backoff_ms, later)


def _result(key: ShareKey, reply: Message | None) -> Message | KafkaError:
    """The result that an answer has for the requested share partition."""
    if reply is None:
        return KafkaError(Error.COORDINATOR_NOT_AVAILABLE)
    for topic in reply.results:
        for partition in topic.partitions:
            if (topic.topic_id, partition.partition) == (key.topic_id, key.partition):
                if partition.error_code == Error.NONE:
                    found: Message = partition
                    return found
                if partition.error_code not in KNOWN_ERRORS:
                    return KafkaError(Error.UNKNOWN_SERVER_ERROR)
                error = Error(partition.error_code)
                return KafkaError(error, partition.error_message or error.message)
    return KafkaError(Error.UNKNOWN_SERVER_ERROR)
