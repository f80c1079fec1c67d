"""A total over all connections of one kind of memory, and who gives way when it is
full.

One connection is bounded by the size of a request and of an answer; thousands of them
are bounded only together. Who gives way must not be who holds the most: an honest
producer may send 50 MB in one request, while a thousand connections that stopped in the
middle of theirs hold a little each. What tells them apart is that its bytes move.
"""

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minikafka.server.connection import Connection


class Budget:
    """Who holds how many bytes, in the order in which they last moved: the first has
    been still for longest.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.total_bytes = 0
        self._held: dict[Connection, int] = {}

    @property
    def full(self) -> bool:
        return self.total_bytes > self.most_bytes

    def hold(self, connection: "Connection", nbytes: int) -> None:
        """So many bytes it holds now, and they have just moved."""
        before = self._held.pop(connection, 0)
        self.total_bytes += nbytes - before
        if nbytes:
            self._held[connection] = nbytes

    def holders(self) -> "list[Connection]":
        return list(self._held)

    def held(self, connection: "Connection") -> int:
        return self._held.get(connection, 0)

    def who_gives_way(self) -> "Connection":
        """Of the quarter of all bytes that has been still for longest: the host that
        holds most of it, and of its connections the one that does.
        """
        by_host: Counter[str] = Counter()
        largest: dict[str, Connection] = {}
        seen_bytes = 0
        for connection, nbytes in self._held.items():
            by_host[connection.host] += nbytes
            if nbytes > self.held(largest.setdefault(connection.host, connection)):
                largest[connection.host] = connection
            seen_bytes += nbytes
            if 4 * seen_bytes >= self.total_bytes:
                break
        return largest[max(by_host, key=by_host.__getitem__)]
