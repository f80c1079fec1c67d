"""Share sessions (KIP-932): a member of a share group names its partitions to a broker
once, then only what changed, and is known there as long as its connection lasts.

They differ from fetch sessions (fetch_sessions.py): a session belongs to a member, so
each has one with a broker, and it ends with its connection. Then what the member had
acquired comes back at once, without waiting for its locks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.broker.effects import Connection
from minikafka.wire.errors import Error, KafkaError

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
LAST_EPOCH = 2**31 - 1

TopicIdPartition = tuple[bytes, int]


class MemberKey(NamedTuple):
    """A member of a share group."""

    group_id: str
    member_id: str


@dataclass(slots=True, eq=False)
class ShareSession:
    """A member's session with this broker. epoch: of the next request. partitions:
    those to fetch, in order; True: the answer has to say something of it, even if there
    is nothing new.
    """

    key: MemberKey
    epoch: int
    connection: Connection
    partitions: dict[TopicIdPartition, bool] = field(default_factory=dict)


class ShareSessions:
    """The share sessions of a broker. most: how many it keeps."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: dict[MemberKey, ShareSession] = {}
        # the one that came last on a connection, also when it has ended since
        self._by_connection: dict[Connection, ShareSession] = {}

    def begin(
        self,
        key: MemberKey,
        asked: Sequence[TopicIdPartition],
        connection: Connection,
    ) -> ShareSession:
        """A new one takes the place of the last. Errors:
        SHARE_SESSION_LIMIT_REACHED.
        """
        self._drop(key)
        if len(self._sessions) >= self._most:
            raise KafkaError(Error.SHARE_SESSION_LIMIT_REACHED)
        partitions = dict.fromkeys(asked, True)
        session = ShareSession(key, INITIAL_EPOCH + 1, connection, partitions)
        self._sessions[key] = session
        self._by_connection[connection] = session
        return session

    def go_on(
        self,
        key: MemberKey,
        epoch: int,
        asked: Iterable[TopicIdPartition] = (),
        forgotten: Iterable[TopicIdPartition] = (),
    ) -> ShareSession:
        """One more request of it. Errors: SHARE_SESSION_NOT_FOUND,
        INVALID_SHARE_SESSION_EPOCH.
        """
        session = self.find(key)
        if session.epoch != epoch:
            raise KafkaError(Error.INVALID_SHARE_SESSION_EPOCH)
        for each in asked:
            session.partitions.setdefault(each, True)
        for each in forgotten:
            session.partitions.pop(each, None)
        session.epoch = epoch + 1 if epoch < LAST_EPOCH else 1
        return session

    def find(self, key: MemberKey) -> ShareSession:
        """The member's session. Errors: SHARE_SESSION_NOT_FOUND."""
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(Error.SHARE_SESSION_NOT_FOUND)
        return session

    def end(self, key: MemberKey) -> ShareSession | None:
        """End the session, and return it."""
        session = self._sessions.get(key)
        self._drop(key)
        return session

    def disconnected(self, connection: Connection) -> ShareSession | None:
        """The connection is gone: the session that came last on it, also one that has
        ended since.
        """
        return self._by_connection.pop(connection, None)

    def is_open(self, session: ShareSession) -> bool:
        """Whether it has neither ended nor been replaced."""
        return self._sessions.get(session.key) is session

    def has_member_of(self, group_id: str) -> bool:
        """Whether anybody of a group has a session here."""
        return any(key.group_id == group_id for key in self._sessions)

    def _drop(self, key: MemberKey) -> None:
        self._sessions.pop(key, None)
