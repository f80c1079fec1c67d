"""A limit for one kind of memory over all connections, and a rule for which connection
gives way when it is used up.

One connection is bounded by the size of a request and of an answer; thousands of them
are bounded only together. The connection that gives way must not simply be the one that
holds the most: an honest producer may send 50 MB in one request, while a thousand
connections that stopped in the middle of theirs hold a little each. The difference is
that the honest producer's bytes keep moving.
"""

from collections import Counter
from typing import Generic, Protocol, TypeVar


class HasHost(Protocol):
    """A connection, as far as a budget looks at it. host: of the client."""

    host: str


Holder = TypeVar("Holder", bound=HasHost)


class Budget(Generic[Holder]):
    """How many bytes each connection holds, in the order in which they last moved: the
    first one has been still for longest.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.total_bytes = 0
        self._held: dict[Holder, int] = {}

    @property
    def full(self) -> bool:
        return self.total_bytes > self.most_bytes

    def hold(self, connection: Holder, nbytes: int) -> None:
        """A connection now holds this many bytes, and they have just moved."""
        before = self._held.pop(connection, 0)
        self.total_bytes += nbytes - before
        if nbytes:
            self._held[connection] = nbytes

    def holders(self) -> list[Holder]:
        return list(self._held)

    def held(self, connection: Holder) -> int:
        return self._held.get(connection, 0)

    def who_gives_way(self) -> Holder:
        """The connection that gives way. Among the quarter of all bytes that has been
        still for longest, it is taken from the host that holds most of them, and is
        that host's connection with the most.
        """
        by_host: Counter[str] = Counter()
        largest: dict[str, Holder] = {}
        seen_bytes = 0
        for connection, nbytes in self._held.items():
            by_host[connection.host] += nbytes
            if nbytes > self.held(largest.setdefault(connection.host, connection)):
                largest[connection.host] = connection
            seen_bytes += nbytes
            if 4 * seen_bytes >= self.total_bytes:
                break
        return largest[max(by_host, key=by_host.__getitem__)]
