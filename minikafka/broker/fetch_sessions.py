"""Incremental fetch sessions (KIP-227): a client names its partitions once, then only
what changed.

A session keeps, for each partition, what the client asked for and what it was told
last. An incremental answer leaves out every partition that has nothing new. The epoch
grows with each request: one that is lost or doubled is noticed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.cluster.metadata import Partition, TopicPartition
from minikafka.cluster.replica import Follower, Replica
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error, KafkaError

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
EVICTION_MS = 120_000  # min.incremental.fetch.session.eviction.ms
LAST_EPOCH = 2**31 - 1
# of all sessions: each takes some hundred bytes, known to the broker or not
MOST_PARTITIONS = 100_000


class FetchKey(NamedTuple):
    """A partition, as its client names it. topic: its name, or its id from version 13
    on.
    """

    topic: str | bytes
    partition: int


class Asked(NamedTuple):
    """One partition of a fetch, in FetchRequest's words."""

    key: FetchKey
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int  # of a follower


class Row(NamedTuple):
    """One partition of a fetch, looked up for one look at the logs. topic: its name,
    empty for an unknown id. found: the replica to read, or why there is none.
    """

    asked: Asked
    topic: str
    found: Replica | KafkaError


class Told(NamedTuple):
    """What the client knows about a partition that has no new records."""

    high_watermark: int
    log_start_offset: int


class Settled(NamedTuple):
    """A partition of which a follower has all that its leader has, all of it committed.
    There is nothing to say of it while its replica is this one, in this state of the
    metadata, begins where the follower was told, and ends where it asked for more.
    """

    place: TopicPartition
    replica: Replica
    partition: Partition
    follower: Follower


AskedByKey = Mapping[FetchKey, Asked]


class Naming(NamedTuple):
    """The session in a request, and the partitions in it. forgotten: those it no longer
    wants.
    """

    session_id: int
    epoch: int
    by_id: bool
    asked: AskedByKey
    forgotten: Sequence[FetchKey]


@dataclass(slots=True)
class Session:
    """by_id: its requests name topics by id (KIP-516). asked: in the order in which
    partitions are served. names: those that topics had when they were asked for by id.
    """

    session_id: int
    epoch: int
    used_ms: int
    by_id: bool
    asked: dict[FetchKey, Asked] = field(default_factory=dict)
    told: dict[FetchKey, Told] = field(default_factory=dict)
    settled: dict[FetchKey, Settled] = field(default_factory=dict)
    names: dict[bytes, str] = field(default_factory=dict)

    def take_in(self, naming: Naming) -> None:
        """Apply the changes in an incremental request."""
        self.asked.update(naming.asked)
        for key in naming.asked:
            self.settled.pop(key, None)
        for key in naming.forgotten:
            self.asked.pop(key, None)
            self.told.pop(key, None)
            self.settled.pop(key, None)


class Opened(NamedTuple):
    """A request that was taken in. asked: the partitions to read. incremental: whether
    the answer may leave out what has nothing new.
    """

    asked: list[Asked]
    session: Session | None
    incremental: bool


class FetchSessions:
    """All sessions of a broker. slots: how many are kept at most; a client without a
    free one goes on sending full requests. So does a client whose session is dropped
    because all together hold too many partitions, and it holds the most.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: dict[int, Session] = {}
        self._last_id = 0
        self._partitions = 0

    def open(self, naming: Naming, now_ms: int) -> Opened:
        """Take in a request. Raises FETCH_SESSION_ID_NOT_FOUND,
        INVALID_FETCH_SESSION_EPOCH, or FETCH_SESSION_TOPIC_ID_ERROR for a client that
        went over from names to ids, or back, within a session.
        """
        if naming.epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._drop(naming.session_id)
            session = None
            if naming.epoch == INITIAL_EPOCH:
                session = self._create(naming, now_ms)
            return Opened(list(naming.asked.values()), session, incremental=False)
        session = self._continued(naming)
        is_last = naming.epoch == LAST_EPOCH
        session.epoch = 1 if is_last else naming.epoch + 1
        session.used_ms = now_ms
        before = len(session.asked)
        session.take_in(naming)
        self._count(len(session.asked) - before)
        return Opened(list(session.asked.values()), session, incremental=True)

    def _continued(self, naming: Naming) -> Session:
        session = self._sessions.get(naming.session_id)
        if session is None:
            raise KafkaError(Error.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != naming.epoch:
            raise KafkaError(Error.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != naming.by_id:
            raise KafkaError(Error.FETCH_SESSION_TOPIC_ID_ERROR)
        return session

    def _create(self, naming: Naming, now_ms: int) -> Session | None:
        if len(self._sessions) >= self._slots and not self._evict(now_ms):
            return None
        self._last_id += 1
        session = Session(
            session_id=self._last_id,
            epoch=INITIAL_EPOCH + 1,
            used_ms=now_ms,
            by_id=naming.by_id,
            asked=dict(naming.asked),
        )
        self._sessions[session.session_id] = session
        self._count(len(session.asked))
        return session

    def _count(self, partitions: int) -> None:
        self._partitions += partitions
        while self._partitions > MOST_PARTITIONS:
            sessions = self._sessions.values()
            largest = max(sessions, key=lambda session: len(session.asked))
            self._drop(largest.session_id)

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.asked)

    def _evict(self, now_ms: int) -> bool:
        oldest = min(
            self._sessions.values(), key=lambda session: session.used_ms, default=None
        )
        if oldest is None or now_ms - oldest.used_ms < EVICTION_MS:
            return False
        self._drop(oldest.session_id)
        return True


# Fields of an answer that says something else than what there is to read: nobody waits
# for more, nothing is left out
AT_ONCE = ("diverging_epoch", "snapshot_id", "preferred_read_replica")


def is_at_once(answer: Answer) -> bool:
    """Whether a partition's answer is an error, or sends the client elsewhere."""
    return bool(answer["error_code"]) or not answer.keys().isdisjoint(AT_ONCE)


def news(
    session: Session, answers: Mapping[FetchKey, Answer], incremental: bool
) -> dict[FetchKey, Answer]:
    """The answers that must be sent; they are remembered as told. Partitions that had
    records come last next time, so that all get a turn.
    """
    sent = {}
    for key, answer in answers.items():
        marks = Told(answer["high_watermark"], answer["log_start_offset"])
        has_records = bool(answer["records"])
        at_once = is_at_once(answer)
        is_known = session.told.get(key) == marks
        if not incremental or has_records or at_once or not is_known:
            sent[key] = answer
        if at_once:
            # The other side takes in no marks: it is told again with the next answer,
            # whatever that is.
            session.told.pop(key, None)
        else:
            session.told[key] = marks
        if has_records and key in session.asked:
            session.asked[key] = session.asked.pop(key)
    return sent
