"""The rules of client quotas (KIP-13, KIP-55, KIP-546): which ones may exist, which one
applies to a client, and for how long a client that wrote or read too much must be
silent. And how bytes per second are measured, those of replication (KIP-73) too.

Each broker measures what it serves (broker/throttling.py): Produce and Fetch in bytes
per second, all requests by the time that they take (KIP-124), new connections of an
address and of a listener per second (KIP-612); and changes of topics in partitions per
second (KIP-599, broker/mutations.py).
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from minikafka.cluster.users import IP, Entity, one_spelling
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

USER, CLIENT_ID = "user", "client-id"
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
REQUESTS = "request_percentage"
MUTATIONS = "controller_mutation_rate"
CONNECTIONS = "connection_creation_rate"
DOUBLE, INT, LONG = "DOUBLE", "INT", "LONG"
OF_CLIENTS = {
    PRODUCE: LONG,
    FETCH: LONG,
    REQUESTS: DOUBLE,
    MUTATIONS: DOUBLE,
}
OF_ADDRESSES = {CONNECTIONS: INT}
LARGEST = {INT: 2.0**31 - 1, LONG: float(2**63 - 1)}
ARTICLES = {INT: "an INT", LONG: "a LONG"}
# quota.window.size.seconds and quota.window.num
WINDOW_MS, WINDOWS = 1000, 11
LONGEST_MS = 2**31 - 1


# -- which quotas may exist


def check_entity(one: Entity) -> dict[str, str]:
    """The quotas that an entity may have, with their types. Errors: INVALID_REQUEST."""
    if not one:
        raise KafkaError(Error.INVALID_REQUEST, "Invalid empty client quota entity")
    named = dict(one)
    for kind in named:
        if kind not in (USER, CLIENT_ID, IP):
            what = f"Unhandled client quota entity type: {kind}"
            raise KafkaError(Error.INVALID_REQUEST, what)
        if named[kind] == "":
            raise KafkaError(Error.INVALID_REQUEST, f"Empty {kind} not supported")
    if IP not in named:
        return OF_CLIENTS
    if len(named) > 1:
        what = (
            "Invalid quota entity combination, IP entity shouldnot be combined with User"
            " or ClientId"
        )
        raise KafkaError(Error.INVALID_REQUEST, what)
    if not is_address(named[IP]):
        what = f"{named[IP]} is not a valid IP or resolvable host."
        raise KafkaError(Error.INVALID_REQUEST, what)
    return OF_ADDRESSES


def is_address(name: str | None) -> bool:
    """Whether this is an address, or the default of all."""
    if name is None:
        return True
    try:
        one_spelling(name)
    except ValueError:
        return False
    return True


def check_quota(types: Mapping[str, str], key: str, value: float) -> None:
    """Raises INVALID_REQUEST if a quota isn't legal."""
    why = what_is_wrong(types, key, value)
    if why is not None:
        raise KafkaError(Error.INVALID_REQUEST, why)


def what_is_wrong(types: Mapping[str, str], key: str, value: float) -> str | None:
    """Why a quota isn't legal; None if it is."""
    if key not in types:
        return f"Invalid configuration key {key}"
    if not value > 0:  # false for NaN
        return f"Quota {key} must be greater than 0"
    if value == math.inf:
        return f"Quota {key} must be a finite number"
    kind = types[key]
    if kind == DOUBLE:
        return None
    if value > LARGEST[kind]:
        return f"Proposed value for {key} is too large for {ARTICLES[kind]}."
    if value % 1 > 1e-6:
        return f"{key} cannot be a fractional value."
    if value < 1:
        return f"Quota {key} must be greater than 0"
    return None


def unusable_quotas(
    quotas: Mapping[Entity, Mapping[str, float]],
) -> Iterator[str]:
    """One sentence for each stored quota that is no longer legal."""
    for entity, values in quotas.items():
        types = OF_ADDRESSES if IP in dict(entity) else OF_CLIENTS
        named = ", ".join(f"{kind} {name or '(default)'}" for kind, name in entity)
        for key, value in values.items():
            if what_is_wrong(types, key, value) is not None:
                quota = printable(f"quota of {named}: {key}={value}")
                yield f"{quota} is not legal, and nothing obeys it"


# -- which quota applies to a client


class Limit(NamedTuple):
    """The quota that applies to a client. per_second: bytes, or partitions, or percent
    of a second. shared_by: the entity whose clients share this limit.
    """

    per_second: float
    shared_by: Entity


def limit(
    quotas: Mapping[Entity, Mapping[str, float]], user: str, client_id: str, key: str
) -> Limit | None:
    """The most specific quota for this client; None if there is none. A default that
    names a part (user or client id) is counted separately for each client that it
    applies to.
    """
    users: tuple[str | None, ...] = user, None
    clients: tuple[str | None, ...] = client_id, None
    for each in users:
        of_user = ((USER, each),)
        for of_client in (*(((CLIENT_ID, name),) for name in clients), ()):
            found = _usable(quotas.get(of_client + of_user), key)
            if found is not None:
                shared = ((CLIENT_ID, client_id),) if of_client else ()
                return Limit(found, (*shared, (USER, user)))
    for name in clients:
        found = _usable(quotas.get(((CLIENT_ID, name),)), key)
        if found is not None:
            return Limit(found, ((CLIENT_ID, client_id),))
    return None


def connection_limit(
    quotas: Mapping[str | None, Mapping[str, float]], host: str
) -> Limit | None:
    """How many connections an address may open a second; None: any number. Each address
    is counted for itself, by the default, too. quotas: of addresses.
    """
    if not quotas:
        return None
    address = one_spelling(host)
    for name in (address, None):
        found = _usable(quotas.get(name), CONNECTIONS)
        if found is not None:
            return Limit(found, ((IP, address),))
    return None


def _usable(quotas: Mapping[str, float] | None, key: str) -> float | None:
    """A quota of an entity if it is legal: one that was stored earlier may not be."""
    found = None if quotas is None else quotas.get(key)
    types = OF_ADDRESSES if key == CONNECTIONS else OF_CLIENTS
    if found is None or what_is_wrong(types, key, found) is not None:
        return None
    return found


# -- bytes per second


class Window(NamedTuple):
    """The bytes counted since a time, for the length of one window. last_ms: when some
    were counted last.
    """

    start_ms: int
    last_ms: int
    size_bytes: int


class Windows:
    """Bytes counted in windows: in the newest ones, and the one that has begun. A
    window counts as long as something in it is not older than all of them together.
    """

    def __init__(self, windows: int = WINDOWS, window_ms: int = WINDOW_MS) -> None:
        self._most_windows, self._window_ms = windows, window_ms
        self._windows: deque[Window] = deque()

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Count bytes, or subtract some (a negative number)."""
        self._forget(now_ms)
        windows = self._windows
        if not windows or now_ms - windows[-1].start_ms >= self._window_ms:
            windows.append(Window(now_ms, now_ms, 0))
        last = windows.pop()
        windows.append(Window(last.start_ms, now_ms, last.size_bytes + size_bytes))

    def _forget(self, now_ms: int) -> None:
        """Drop windows in which nothing counts any more."""
        windows, age_ms = self._windows, self._most_windows * self._window_ms
        while windows and now_ms - windows[0].last_ms >= age_ms:
            windows.popleft()

    def _counted(self) -> int:
        return sum(each.size_bytes for each in self._windows)


class Rate(Windows):
    """Bytes per second of a client, or whatever else is counted, over the last ten
    windows and the one that has begun: a client that was silent may write or read ten
    windows' worth at once.
    """

    def throttle_ms(self, per_second: float, now_ms: int) -> int:
        """How long it takes until the rate is back at the limit if nothing more is
        counted.
        """
        if not self._windows:
            return 0
        since_ms = now_ms - self._windows[0].start_ms
        missing = max(0, self._most_windows - 1 - since_ms // self._window_ms)
        whole_ms = since_ms + missing * self._window_ms
        rate = self._counted() * 1000 / whole_ms
        if not rate > per_second:
            return 0
        over = (rate - per_second) / per_second
        return min(int(over * whole_ms + 0.5), LONGEST_MS)


class SimpleRate(Windows):
    """Bytes per second since the oldest window began, at least one window ago: who was
    silent may move one window's worth at once.
    """

    def measure(self, now_ms: int) -> float:
        """Bytes per second, now."""
        self._forget(now_ms)
        if not self._windows:
            return 0.0
        since_ms = max(now_ms - self._windows[0].start_ms, self._window_ms)
        return self._counted() * 1000 / since_ms


# -- partitions per second


class TokenBucket:
    """Tokens for changes of partitions (KIP-599): they come at the quota's rate, up to
    what comes in all windows together, and may be overdrawn once, after which nothing
    is to be had until the debt is paid.
    """

    def __init__(self, windows: int, window_ms: int) -> None:
        self._seconds = windows * window_ms / 1000
        self._at_ms: int | None = None
        self._tokens = 0.0

    def tokens(self, rate: float, now_ms: int) -> float:
        """How many there are; less than 0: it is overdrawn. rate: tokens a second."""
        most = self._seconds * rate
        if self._at_ms is None:
            self._tokens = most
        else:
            come = rate * (now_ms - self._at_ms) / 1000
            self._tokens = min(most, self._tokens + come)
        self._at_ms = now_ms
        return self._tokens

    def take(self, tokens: int, rate: float, now_ms: int) -> None:
        """Take some, whether they are there or not."""
        self._tokens = self.tokens(rate, now_ms) - tokens

    def throttle_ms(self, rate: float, now_ms: int) -> int:
        """How long it takes until it is not overdrawn any more."""
        missing = -self.tokens(rate, now_ms)
        return min(int(max(0.0, missing) / rate * 1000 + 0.5), LONGEST_MS)
