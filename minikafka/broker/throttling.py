"""Clients that write or read more than their quota (KIP-13, KIP-219), or take more of
the broker's time (KIP-124): they are told so with throttle_time_ms, and this broker
reads nothing from their connection meanwhile.

Each broker measures for itself. A Produce that is too much is carried out, and the next
request has to wait. A Fetch that is too much is answered at once, with nothing.

`request_percentage` is a share of one thread, of which a broker has one here: 100 is all
of its time. What counts is the time in which it works at a request, not that in which
the request waits. The core reads no clock: the server gives it a stopwatch. In the
simulation a request takes no time, so none is ever too much.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from minikafka.broker.calls import Call, Client
from minikafka.broker.config import BrokerConfig, InForce
from minikafka.broker.listeners import names_for
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.clock import NodeClock, Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.quotas import (
    CONNECTIONS,
    FETCH,
    MUTATIONS,
    REQUESTS,
    WINDOW_MS,
    WINDOWS,
    Limit,
    Rate,
    TokenBucket,
    connection_limit,
    limit,
)
from minikafka.cluster.users import Entity

MOST_RATES = 10_000  # those not used for longest are forgotten
PERCENT_NS = 10_000_000  # of a second
CREATION_RATE = "max.connection.creation.rate"
NEXT_TO_NOTHING = 1e-3  # connections a second; nobody divides by a rate of 0


class Throttling:
    """What the clients of this broker did recently, if they have a quota. stopwatch: ns
    since any moment.
    """

    def __init__(
        self,
        image: Image,
        clock: NodeClock,
        config: BrokerConfig,
        in_force: InForce,
        stopwatch: Callable[[], int],
    ) -> None:
        self._image = image
        self._clock = clock
        self._in_force = in_force
        self._stopwatch = stopwatch
        windows = config["controller.quota.window.num"]
        window_ms = 1000 * config["controller.quota.window.size.seconds"]
        self._windows = windows, window_ms
        self._rates: OrderedDict[tuple[str, Entity], Rate] = OrderedDict()
        # by the name of the config that limits them
        self._creation_rates: dict[str, Rate] = {}
        self._buckets: OrderedDict[Entity, TokenBucket] = OrderedDict()

    # -- bytes

    def throttle(self, call: Call, key: str, size_bytes: int) -> int:
        """The client of a request wrote or read these bytes: for how many ms it is
        throttled for that, or for the time of the request, which its answer says. key:
        PRODUCE or FETCH. Bytes that it must not read now don't count. Nodes have no
        quota.
        """
        client = call.client
        if client.listener == CONTROLLER_LISTENER:
            return 0
        now_ms = self._clock.now.monotonic_ms
        throttle_ms = self.throttle_time(call)
        found = self._limit(client, key)
        if found is not None:
            rate = self._rate(key, found)
            rate.record(size_bytes, now_ms)
            throttle_ms = max(throttle_ms, rate.throttle_ms(found.per_second, now_ms))
            if throttle_ms and key == FETCH:
                rate.record(-size_bytes, now_ms)
        self._mute(client, throttle_ms)
        return throttle_ms

    def most_bytes(self, client: Client) -> int | None:
        """How much a client may read at once; None: its quota doesn't say."""
        found = self._limit(client, FETCH)
        if found is None:
            return None
        return int(found.per_second * (WINDOWS - 1) * WINDOW_MS / 1000)

    # -- time

    def works_at(self, call: Call) -> None:
        """The broker begins to work at a request, or goes on with it. Nodes have no
        quota, and nobody has who isn't logged in yet.
        """
        client = call.client
        if client.listener != CONTROLLER_LISTENER and not client.is_logging_in:
            call.began_ns = self._stopwatch()

    def rests(self, call: Call) -> None:
        """It works at it no more, for now or for good."""
        if call.began_ns is not None:
            self._took(call)
            call.began_ns = None

    def throttle_time(self, call: Call) -> int:
        """A request is about to be answered: for how many ms its client is throttled
        because of the time that it took; one window at most.
        """
        call.is_timed = True
        if call.began_ns is None:
            return 0
        throttle_ms = self._took(call)
        self._mute(call.client, throttle_ms)
        return throttle_ms

    def _took(self, call: Call) -> int:
        """Count the time since the broker began; for how many ms that is too much."""
        began_ns, call.began_ns = call.began_ns, self._stopwatch()
        found = self._limit(call.client, REQUESTS)
        if found is None or began_ns is None:
            return 0
        now_ms = self._clock.now.monotonic_ms
        rate = self._rate(REQUESTS, found)
        rate.record(call.began_ns - began_ns, now_ms)
        throttle_ms = rate.throttle_ms(found.per_second * PERCENT_NS, now_ms)
        return min(WINDOW_MS, throttle_ms)

    def _mute(self, client: Client, throttle_ms: int) -> None:
        if throttle_ms:
            until_ms = self._clock.now.monotonic_ms + throttle_ms
            client.muted_until_ms = max(client.muted_until_ms, until_ms)

    # -- changes of topics

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

    # -- connections

    def connection_wait_ms(self, listener: str, now: Now) -> int:
        """A client opens a connection: for how many ms it waits, and those behind it,
        because more come to this listener, or to the broker, than
        max.connection.creation.rate allows (KIP-612). One that waits counts as well.
        """
        own, general = names_for(listener, CREATION_RATE)
        throttle_ms = 0
        for name in (own, general):
            rate = self._creation_rates.setdefault(name, Rate())
            rate.record(1, now.monotonic_ms)
            most = self._in_force[name] or NEXT_TO_NOTHING
            throttle_ms = max(throttle_ms, rate.throttle_ms(most, now.monotonic_ms))
        return min(WINDOW_MS, throttle_ms)

    def connected(self, host: str, now: Now) -> int:
        """An address has opened a connection: 0, or for how many ms it is held, and then
        closed without an answer (KIP-612), as one too many, which doesn't count.
        """
        found = connection_limit(self._image.users.of_addresses, host)
        if found is None:
            return 0
        rate = self._rate(CONNECTIONS, found)
        rate.record(1, now.monotonic_ms)
        throttle_ms = rate.throttle_ms(found.per_second, now.monotonic_ms)
        if throttle_ms:
            rate.record(-1, now.monotonic_ms)
        return min(WINDOW_MS, throttle_ms)

    # -- whose quota it is

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
