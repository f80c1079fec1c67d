"""Clients that write or read more than their quota (KIP-13, KIP-219): they are told so
with throttle_time_ms, and this broker reads nothing from their connection meanwhile.

Each broker measures for itself. A Produce that is too much is carried out, and the next
request has to wait. A Fetch that is too much is answered at once, with nothing.
"""

from collections import OrderedDict

from minikafka.broker.ports import Node
from minikafka.clock import Now
from minikafka.cluster.quotas import FETCH, WINDOW_MS, WINDOWS, Limit, Rate, limit
from minikafka.cluster.users import Entity

ANYBODY = "ANONYMOUS"  # the user of all connections over plaintext
MOST_RATES = 10_000  # those that were not asked for longest begin anew


class Throttling:
    """What the clients of this broker wrote and read of late, if they have a quota."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._rates: OrderedDict[tuple[str, Entity], Rate] = OrderedDict()

    def count(self, client_id: str | None, key: str, size_bytes: int, now: Now) -> int:
        """For how many ms a client must be silent that has written or read these
        bytes. key: PRODUCE or FETCH. What it must not read now doesn't count.
        """
        found = self._limit(client_id, key)
        if found is None:
            return 0
        rate = self._rate(key, found)
        rate.record(size_bytes, now.monotonic_ms)
        throttle_ms = rate.throttle_ms(found.bytes_per_second, now.monotonic_ms)
        if throttle_ms and key == FETCH:
            rate.record(-size_bytes, now.monotonic_ms)
        return throttle_ms

    def most_bytes(self, client_id: str | None) -> int | None:
        """How much a client may read at once; None: its quota doesn't say."""
        found = self._limit(client_id, FETCH)
        if found is None:
            return None
        return int(found.bytes_per_second * (WINDOWS - 1) * WINDOW_MS / 1000)

    def _limit(self, client_id: str | None, key: str) -> Limit | None:
        quotas = self._node.image.users.quotas
        return limit(quotas, ANYBODY, client_id or "", key) if quotas else None

    def _rate(self, key: str, found: Limit) -> Rate:
        place = key, found.shared_by
        rate = self._rates.setdefault(place, Rate())
        self._rates.move_to_end(place)
        if len(self._rates) > MOST_RATES:
            self._rates.popitem(last=False)
        return rate
