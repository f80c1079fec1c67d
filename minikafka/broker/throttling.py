"""Clients that write or read more than their quota (KIP-13, KIP-219): they are told so
with throttle_time_ms, and this broker reads nothing from their connection meanwhile.

Each broker measures for itself. A Produce that is too much is carried out, and the next
request has to wait. A Fetch that is too much is answered at once, with nothing.
"""

from collections import OrderedDict
from typing import NamedTuple

from minikafka.broker.calls import Client
from minikafka.broker.config import BrokerConfig
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.clock import NodeClock, Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.quotas import (
    FETCH,
    MUTATIONS,
    WINDOW_MS,
    WINDOWS,
    Limit,
    Rate,
    TokenBucket,
    limit,
)
from minikafka.cluster.users import Entity

MOST_RATES = 10_000  # those not used for longest are forgotten


class Throttling:
    """What the clients of this broker wrote and read recently, if they have a quota."""

    def __init__(self, image: Image, clock: NodeClock, config: BrokerConfig) -> None:
        self._image = image
        self._clock = clock
        windows = config["controller.quota.window.num"]
        window_ms = 1000 * config["controller.quota.window.size.seconds"]
        self._windows = windows, window_ms
        self._rates: OrderedDict[tuple[str, Entity], Rate] = OrderedDict()
        self._buckets: OrderedDict[Entity, TokenBucket] = OrderedDict()

    def throttle(self, client: Client, key: str, size_bytes: int) -> int:
        """A client wrote or read these bytes: for how many ms it is throttled, which
        its answer says. key: PRODUCE or FETCH. Nodes have no quota.
        """
        if client.listener == CONTROLLER_LISTENER:
            return 0
        now = self._clock.now
        throttle_ms = self._count(client, key, size_bytes, now)
        if throttle_ms:
            until_ms = now.monotonic_ms + throttle_ms
            client.muted_until_ms = max(client.muted_until_ms, until_ms)
        return throttle_ms

    def _count(self, client: Client, key: str, size_bytes: int, now: Now) -> int:
        """The same, without telling the client. Bytes that it must not read now don't
        count.
        """
        found = self._limit(client, key)
        if found is None:
            return 0
        rate = self._rate(key, found)
        rate.record(size_bytes, now.monotonic_ms)
        throttle_ms = rate.throttle_ms(found.per_second, now.monotonic_ms)
        if throttle_ms and key == FETCH:
            rate.record(-size_bytes, now.monotonic_ms)
        return throttle_ms

    def most_bytes(self, client: Client) -> int | None:
        """How much a client may read at once; None: its quota doesn't say."""
        found = self._limit(client, FETCH)
        if found is None:
            return None
        return int(found.per_second * (WINDOWS - 1) * WINDOW_MS / 1000)

    def mutations(self, client: Client) -> "Mutations | None":
        """What a client may change through the controller; None: it has no quota."""
        found = self._limit(client, MUTATIONS)
        if found is None or client.listener == CONTROLLER_LISTENER:
            return None
        bucket = self._buckets.get(found.shared_by)
        if bucket is None:
            bucket = TokenBucket(*self._windows)
            self._buckets[found.shared_by] = bucket
        self._buckets.move_to_end(found.shared_by)
        if len(self._buckets) > MOST_RATES:
            self._buckets.popitem(last=False)
        return Mutations(client, bucket, found.per_second, self._clock)

    def _limit(self, client: Client, key: str) -> Limit | None:
        quotas = self._image.users.quotas
        if not quotas:
            return None
        return limit(quotas, client.principal.name, client.client_id or "", key)

    def _rate(self, key: str, found: Limit) -> Rate:
        place = key, found.shared_by
        rate = self._rates.setdefault(place, Rate())
        self._rates.move_to_end(place)
        if len(self._rates) > MOST_RATES:
            self._rates.popitem(last=False)
        return rate


class Mutations(NamedTuple):
    """The changes of topics that a client may ask for. rate: partitions a second."""

    client: Client
    bucket: TokenBucket
    rate: float
    clock: NodeClock

    @property
    def throttle_ms(self) -> int:
        """For how long nothing more may be changed; 0: something may."""
        return self.bucket.throttle_ms(self.rate, self.clock.now.monotonic_ms)

    @property
    def is_overdrawn(self) -> bool:
        """Whether nothing may be changed now."""
        return self.bucket.tokens(self.rate, self.clock.now.monotonic_ms) < 0

    def take(self, partitions: int) -> None:
        """This many partitions come or go."""
        self.bucket.take(partitions, self.rate, self.clock.now.monotonic_ms)

    def mute(self, throttle_ms: int) -> None:
        """The client is not heard for this long."""
        until_ms = self.clock.now.monotonic_ms + throttle_ms
        self.client.muted_until_ms = max(self.client.muted_until_ms, until_ms)
