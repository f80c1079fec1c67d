"""ShareFetch (KIP-932): records of share partitions, acquired for one member."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.calls import Call
from minikafka.broker.config import BrokerConfig
from minikafka.broker.counters import Counters
from minikafka.broker.damage import DamagedReplicas
from minikafka.broker.handlers.fetch import aborted_among
from minikafka.broker.handlers.leaders import leaders_named
from minikafka.broker.handlers.share_acknowledge import (
    Acknowledging,
    GroupConfigs,
    ShareAcknowledgeHandlers,
    by_topic_id,
    check_access,
)
from minikafka.broker.share_partitions import Held
from minikafka.broker.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MemberKey,
    ShareSession,
    TopicIdPartition,
)
from minikafka.broker.sharing import Sharing
from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.replica import DamagedRecords, Replica
from minikafka.cluster.share_acquiring import Acquired, Asked, Read
from minikafka.cluster.share_window import Range
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.share_limits import configured_text
from minikafka.coordinators.share_states import ShareKey
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import BatchHeader, batches

STRICT = 1  # ShareAcquireMode
COMMITTED = "read_committed"
WholeBatch = tuple[BatchHeader, Any]  # a batch that was read, and its bytes


@dataclass(eq=False, repr=False)
class ShareFetchHandlers:
    """Reads of members of share groups."""

    config: BrokerConfig
    image: Image
    damage: DamagedReplicas
    sharing: Sharing
    acknowledging: ShareAcknowledgeHandlers
    counters: Counters | None

    def share_fetch(self, request: Call, now: Now) -> Answer | Wait:
        """ShareFetch (KIP-932, KIP-1206, KIP-1222): records for one member of a share
        group, with a lock that ends.

        - It may carry acknowledgements for earlier records, which are stored first.
        - A member has one session with a broker: its partitions are named once. Epoch 0
          begins one, -1 ends it, and then nothing is fetched.
        - With nothing to acquire the request is parked, until records arrive or come
          back, or MaxWaitMs is over.
        - The answer has whole batches, from the first to the last that some record was
          acquired of; AcquiredRecords says which.

        Versions: 1 to 2.

        - 2 brings a strict limit in records (ShareAcquireMode 1), and renews locks.
        """
        member = self.acknowledging.member_of(request)
        fetching = ShareFetching(self, request, member)
        written = all_of(fetching.open(now), dict)
        if isinstance(written, Wait):
            return written.go_on_with(fetching.begin)
        return fetching.begin(now)


def has_acknowledgements(body: Any) -> bool:
    return any(
        partition.acknowledgement_batches
        for topic in body.topics
        for partition in topic.partitions
    )


def check_renewing(body: Any) -> None:
    """A request that renews locks must not fetch. Errors: INVALID_REQUEST."""
    numbers = (body.max_bytes, body.min_bytes, body.max_records, body.max_wait_ms)
    if body.is_renew_ack and any(numbers):
        raise KafkaError(Error.INVALID_REQUEST)


class ReadPart(NamedTuple):
    """The records read from one share partition."""

    held: Held
    batches: list[WholeBatch]
    read: Read

    @property
    def size_bytes(self) -> int:
        return sum(len(content) for _, content in self.batches)


class FailedPart(NamedTuple):
    """A share partition whose log could not be read."""

    held: Held
    error: KafkaError


@dataclass(slots=True)
class Look:
    """One look at the logs: what was read, and what could not be."""

    read: dict[TopicIdPartition, ReadPart] = field(default_factory=dict)
    failed: dict[TopicIdPartition, FailedPart] = field(default_factory=dict)
    size_bytes: int = 0


@dataclass(eq=False, repr=False)
class ShareFetching:
    """One ShareFetch on its way to an answer."""

    handlers: "ShareFetchHandlers"
    request: Call
    member: MemberKey
    session: ShareSession | None = None
    said: Acknowledging | None = None
    # what this fetch has met is not tried again by it: two that wait for one state
    # which can't be read would wake each other without end
    errors: dict[TopicIdPartition, KafkaError] = field(default_factory=dict)

    # -- its session

    def open(self, now: Now) -> list[Wait]:
        """Accept the request; its acknowledgements are being written. Errors: those of
        the session; INVALID_REQUEST.
        """
        body = self.request.body
        check_renewing(body)
        sessions = self.handlers.sharing.sessions
        epoch = body.share_session_epoch
        acknowledges = has_acknowledgements(body)
        if epoch == FINAL_EPOCH:
            sessions.find(self.member)
        elif epoch == INITIAL_EPOCH:
            if acknowledges:
                raise KafkaError(Error.INVALID_REQUEST)
            asked = self._asked()
            connection = self.request.connection
            self.session = sessions.begin(self.member, asked, connection)
        else:
            asked = self._asked()
            forgotten = self._forgotten()
            self.session = sessions.go_on(self.member, epoch, asked, forgotten)
        if not acknowledges:
            return []
        self.said = Acknowledging(
            self.handlers.acknowledging, self.request, self.member
        )
        return self.said.begin(now)

    def _asked(self) -> list[TopicIdPartition]:
        asked = []
        for topic in self.request.body.topics:
            for partition in topic.partitions:
                asked.append((topic.topic_id, partition.partition_index))
        return asked

    def _forgotten(self) -> list[TopicIdPartition]:
        forgotten = []
        for topic in self.request.body.forgotten_topics_data:
            for number in topic.partitions:
                forgotten.append((topic.topic_id, number))
        return forgotten

    # -- its answer

    def begin(self, now: Now) -> Answer | Wait:
        """Look for records once; without enough of them, wait."""
        body = self.request.body
        session = self.session
        if body.is_renew_ack or session is None or not session.partitions:
            return self.whole({})
        if body.max_wait_ms <= 0:
            answer = self.look(now, expired=True)
            assert answer is not None, "an expired fetch has an answer"
            return answer
        keys: list[tuple[Any, ...]] = []
        for topic_id, number in session.partitions:
            topic = self.handlers.image.topic_names.get(topic_id, "")
            share_key = ShareKey(self.group_id, topic_id, number)
            keys.append(("high_watermark", topic, number))
            keys.append(("share", str(share_key)))
        deadline_ms = now.monotonic_ms + body.max_wait_ms
        return Wait(keys, deadline_ms, lambda _, now, over: self.look(now, over))

    @property
    def group_id(self) -> str:
        return self.member.group_id

    def look(self, now: Now, expired: bool) -> Answer | None:
        """The answer, or None while there is too little for one."""
        assert self.session is not None, "who fetches has a session"
        body = self.request.body
        fetchable = self._fetchable()
        wants_nothing = body.max_records == 0 or body.max_bytes == 0
        if wants_nothing:
            return self.whole(self._refused(self.errors))
        if not fetchable:
            all_failed = len(self.errors) == len(self.session.partitions)
            if all_failed or expired:
                return self.whole(self._refused(self.errors))
            return None
        look = self._read(fetchable)
        has_enough = look.size_bytes >= min(body.min_bytes, self.most_bytes)
        if not (has_enough or look.failed or expired):
            return None
        return self.whole(self._acquire(look, now))

    def _fetchable(self) -> dict[TopicIdPartition, Held]:
        """The share partitions in which something may be acquired."""
        fetchable = {}
        for at in self._rotated():
            if at in self.errors:
                continue
            try:
                found = self._share_partition(at)
            except KafkaError as error:
                self.errors[at] = error.with_traceback(None)
                continue
            if found.partition is not None and found.partition.can_acquire:
                fetchable[at] = found
        return fetchable

    def _rotated(self) -> list[TopicIdPartition]:
        """Each partition has its turn to be the first."""
        assert self.session is not None, "who fetches has a session"
        partitions = list(self.session.partitions)
        turn = max(self.request.body.share_session_epoch, 0) % len(partitions)
        return partitions[turn:] + partitions[:turn]

    def _share_partition(self, at: TopicIdPartition) -> Held:
        topic_id, number = at
        image = self.handlers.image
        topic = image.topic_names.get(topic_id)
        if topic is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_ID)
        check_access(self.request, topic)
        if number not in image.topics[topic].partitions:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        key = ShareKey(self.group_id, topic_id, number)
        return self.handlers.sharing.partitions.of(key, topic)

    @property
    def most_bytes(self) -> int:
        most: int = self.handlers.config["fetch.max.bytes"]
        return min(self.request.body.max_bytes, most)

    @property
    def is_committed(self) -> bool:
        """Whether the group reads what is committed only."""
        configs = GroupConfigs(self.group_id, self.handlers.config, self.handlers.image)
        return configured_text(configs, "share.isolation.level") == COMMITTED

    def _read(self, fetchable: dict[TopicIdPartition, Held]) -> Look:
        """The records that may be acquired; each partition returns equally many bytes
        at most.
        """
        look = Look()
        committed = self.is_committed
        most_bytes = self.most_bytes // len(fetchable)
        for at, held in fetchable.items():
            assert held.partition is not None, "its state is there"
            offset = held.partition.window.next_fetch_offset()
            replica = held.replica
            end = replica.last_stable_offset if committed else replica.high_watermark
            try:
                replica.check_leader()
                records = self._records(replica, offset, most_bytes, end, look)
            except KafkaError as error:
                look.failed[at] = FailedPart(held, error.with_traceback(None))
                continue
            aborted: list[dict[str, int]] = []
            if committed and records:
                aborted = aborted_among(replica, offset, records)
            part = read_part(held, offset, whole_batches(records), aborted)
            look.read[at] = part
            look.size_bytes += part.size_bytes
        return look

    def _records(
        self, replica: Replica, offset: int, most_bytes: int, end: int, look: Look
    ) -> list[memoryview]:
        try:
            return replica.read(offset, most_bytes, end, min_one=look.size_bytes == 0)
        except DamagedRecords as damaged:
            return self.handlers.damage.read(replica, damaged)

    def _acquire(self, look: Look, now: Now) -> dict[TopicIdPartition, Answer]:
        """The member has what it can get of what was read."""
        body = self.request.body
        answers = self._refused(self.errors)
        left = body.max_records
        partitions = self.handlers.sharing.partitions
        for at, part in look.read.items():
            asked = Asked(
                member_id=self.member.member_id,
                most_records=left,
                batch_size=body.batch_size,
                strict=body.share_acquire_mode == STRICT,
            )
            acquired = partitions.acquire(part.held, asked, part.read, now)
            for each in acquired:
                left -= each.last_offset - each.first_offset + 1
            answers[at] = self._given(at, part.batches, acquired)
        for at, failed in look.failed.items():
            if failed.error.error is Error.OFFSET_OUT_OF_RANGE:
                partitions.log_starts_later(failed.held)
                answers[at] = self._given(at, [], [])
            else:
                answers[at] = self._refusal(at, failed.error)
        return answers

    def _given(
        self,
        at: TopicIdPartition,
        whole: Sequence[WholeBatch],
        acquired: Sequence[Acquired],
    ) -> Answer:
        records = sliced(whole, acquired)
        given = self.handlers.acknowledging.of_partition(at, None)
        given["records"] = records
        if self.handlers.counters is not None and records:
            topic = self.handlers.image.topic_names[at[0]]
            size_bytes = sum(map(len, records))
            self.handlers.counters.read(topic, size_bytes, by_follower=False)
        given["acquired_records"] = [each._asdict() for each in acquired]
        return given

    def _refused(
        self, errors: dict[TopicIdPartition, KafkaError]
    ) -> dict[TopicIdPartition, Answer]:
        return {at: self._refusal(at, error) for at, error in errors.items()}

    def _refusal(self, at: TopicIdPartition, error: KafkaError) -> Answer:
        refused = self.handlers.acknowledging.of_partition(at, error) | {"records": b""}
        del refused["error_message"]
        return refused

    def whole(self, answers: dict[TopicIdPartition, Answer]) -> Answer:
        """The whole answer, with the outcome of acknowledgements."""
        epoch = self.request.body.share_session_epoch
        endpoints = leaders_named(self.handlers.image, self.request, answers.values())
        sent = answers
        if epoch > INITIAL_EPOCH and self.session is not None:
            sent = news(self.session, answers)
        if self.said is not None:
            self._add_verdicts(self.said.verdicts(), sent)
        if epoch == FINAL_EPOCH:
            self.handlers.acknowledging.end_session(self.member)
        return {
            "acquisition_lock_timeout_ms": self.handlers.acknowledging.lock_ms(
                self.group_id
            ),
            "responses": by_topic_id(sent),
            "node_endpoints": endpoints,
        }

    def _add_verdicts(
        self,
        verdicts: Mapping[TopicIdPartition, KafkaError | None],
        sent: dict[TopicIdPartition, Answer],
    ) -> None:
        """Add the outcome of acknowledgements to the partitions that are sent."""
        for at, error in verdicts.items():
            nothing = self.handlers.acknowledging.of_partition(at, None) | {
                "records": b""
            }
            answer = sent.setdefault(at, nothing)
            if error is not None:
                answer["acknowledge_error_code"] = error.error
                answer["acknowledge_error_message"] = error.message


def news(
    session: ShareSession, answers: dict[TopicIdPartition, Answer]
) -> dict[TopicIdPartition, Answer]:
    """Which answers must be sent: those with records, or an error, or about partitions
    that are new to the session, or had an error last time.
    """
    sent = {}
    for at, answer in answers.items():
        has_error = bool(answer["error_code"])
        is_wanted = session.partitions.get(at, False)
        if answer["records"] or has_error or is_wanted:
            sent[at] = answer
        if at in session.partitions:
            session.partitions[at] = has_error
    return sent


# -- record batches that were read


def whole_batches(records: Sequence[Any]) -> list[WholeBatch]:
    """The batches that were read as a whole; the last one may have been cut."""
    whole: list[WholeBatch] = []
    for chunk in records:
        whole += batches(chunk)
    return whole


def read_part(
    held: Held,
    offset: int,
    whole: list[WholeBatch],
    aborted: Sequence[dict[str, int]],
) -> ReadPart:
    """offset: from where the log was read. aborted: transactions."""
    ranges = [Range(head.base_offset, head.last_offset) for head, _ in whole]
    gone = aborted_batches(whole, aborted)
    return ReadPart(held, whole, Read(offset, ranges, gone))


def sliced(whole: Sequence[WholeBatch], acquired: Sequence[Acquired]) -> list[Any]:
    """From the first to the last batch that some record was acquired of."""
    if not acquired:
        return []
    first = acquired[0].first_offset
    last = acquired[-1].last_offset
    given = []
    for head, batch in whole:
        if head.last_offset >= first and head.base_offset <= last:
            given.append(batch)
    return given


def aborted_batches(
    whole: Sequence[WholeBatch], aborted: Sequence[dict[str, int]]
) -> list[Range]:
    """The batches of transactions that were aborted."""
    waiting = sorted(aborted, key=lambda each: each["first_offset"])
    open_ids: set[int] = set()
    gone = []
    for head, _ in whole:
        while waiting and waiting[0]["first_offset"] <= head.last_offset:
            open_ids.add(waiting.pop(0)["producer_id"])
        if head.control:
            open_ids.discard(head.producer_id)
        elif head.transactional and head.producer_id in open_ids:
            gone.append(Range(head.base_offset, head.last_offset))
    return gone
