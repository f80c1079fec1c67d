"""Incremental fetch sessions (KIP-227): a client names its partitions once, then only
what changed.

A session keeps, for each partition, what the client asked for and what it was told
last. An incremental answer leaves out every partition that has nothing new. The epoch
grows with each request: one that is lost or doubled is noticed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error, KafkaError

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
EVICTION_MS = 120_000  # min.incremental.fetch.session.eviction.ms
LAST_EPOCH = 2**31 - 1
# of all sessions: each takes some hundred bytes, known to the broker or not
MOST_PARTITIONS = 100_000

FetchKey = tuple[str | bytes, int]


class Asked(NamedTuple):
    """One partition of a fetch, in FetchRequest's words. topic: its name, or its id
    from version 13 on.
    """

    topic: str | bytes
    partition: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int  # of a follower


Rows = Mapping[FetchKey, Asked]  # of one request


@dataclass(slots=True)
class Session:
    """by_id: its requests name topics by id (KIP-516). asked: in the order in which
    partitions are served. settled: of a follower that has what its leader has, and
    knows that it counts: nothing is to be said while that is as it was.
    """

    session_id: int
    epoch: int
    used_ms: int
    by_id: bool
    asked: dict[FetchKey, Asked] = field(default_factory=dict)
    # high watermark, log start offset
    told: dict[FetchKey, tuple[int, int]] = field(default_factory=dict)
    # see handlers/fetch.py
    settled: dict[FetchKey, tuple[Any, ...]] = field(default_factory=dict)


class FetchSessions:
    """All sessions of a broker. slots: how many are kept at most; without a free one a
    client goes on sending full requests. So does one whose session is dropped because
    all together hold too many partitions, and it most of them.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: dict[int, Session] = {}
        self._last_id = 0
        self._partitions = 0

    def open(
        self,
        session_id: int,
        epoch: int,
        by_id: bool,
        asked: Rows,
        forgotten: Iterable[FetchKey],
        now_ms: int,
    ) -> tuple[list[Asked], Session | None, bool]:
        """Take in a request. Returns the partitions to read, the session if there is
        one, and whether the answer is incremental. Raises FETCH_SESSION_ID_NOT_FOUND,
        INVALID_FETCH_SESSION_EPOCH, or FETCH_SESSION_TOPIC_ID_ERROR for a client that
        went over from names to ids, or back, within a session.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._drop(session_id)
            session = (
                self._create(by_id, asked, now_ms) if epoch == INITIAL_EPOCH else None
            )
            return list(asked.values()), session, False
        found = self._sessions.get(session_id)
        if found is None:
            raise KafkaError(Error.FETCH_SESSION_ID_NOT_FOUND)
        if found.epoch != epoch:
            raise KafkaError(Error.INVALID_FETCH_SESSION_EPOCH)
        if found.by_id != by_id:
            raise KafkaError(Error.FETCH_SESSION_TOPIC_ID_ERROR)
        found.epoch = epoch + 1 if epoch < LAST_EPOCH else 1
        found.used_ms = now_ms
        before = len(found.asked)
        found.asked.update(asked)
        for key in asked:
            found.settled.pop(key, None)
        for key in forgotten:
            for what in (found.asked, found.told, found.settled):
                what.pop(key, None)
        self._count(len(found.asked) - before)
        return list(found.asked.values()), found, True

    def _create(self, by_id: bool, asked: Rows, now_ms: int) -> Session | None:
        if len(self._sessions) >= self._slots and not self._evict(now_ms):
            return None
        self._last_id += 1
        session = Session(self._last_id, INITIAL_EPOCH + 1, now_ms, by_id, dict(asked))
        self._sessions[session.session_id] = session
        self._count(len(session.asked))
        return session

    def _count(self, partitions: int) -> None:
        self._partitions += partitions
        while self._partitions > MOST_PARTITIONS:
            self._drop(
                max(
                    self._sessions.values(), key=lambda session: len(session.asked)
                ).session_id
            )

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


def news(
    session: Session, answers: Mapping[FetchKey, Answer], incremental: bool
) -> dict[FetchKey, Answer]:
    """Which answers must be sent, remembered as told. What had records is served last
    next time: all get a turn.
    """
    sent = {}
    for key, answer in answers.items():
        marks = (answer["high_watermark"], answer["log_start_offset"])
        # the other side takes in no marks
        unread = answer["error_code"] or not answer.keys().isdisjoint(AT_ONCE)
        if (
            not incremental
            or answer["records"]
            or unread
            or session.told.get(key) != marks
        ):
            sent[key] = answer
        session.told[key] = marks
        if unread:
            del session.told[key]  # told again with the next answer, whatever it is
        if answer["records"] and key in session.asked:
            session.asked[key] = session.asked.pop(key)
    return sent
