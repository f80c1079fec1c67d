"""What tests with real clients share: a broker to talk to, and names that no other test
uses.
"""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from minikafka.server.embedded import Served

# Of many brokers: on a busy machine nobody is taken for dead, and leads no more, for
# standing still a moment.
STEADY = {
    "broker.session.timeout.ms": "6000",
    "controller.quorum.fetch.timeout.ms": "3000",
    "replica.lag.time.max.ms": "30000",
}
KEPT = {"log.retention.check.interval.ms": "3600000"}  # records of tests have old times
LOOK_AGAIN_S = 0.01
_numbers = itertools.count(1)


def overrides(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Server properties as options of `minikafka serve`."""
    return tuple(
        word
        for name, value in properties.items()
        for word in ("--override", f"{name}={value}")
    )


@contextmanager
def minikafka(properties: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The bootstrap address of a fresh `minikafka serve`, which must not have met a bug
    in the end.
    """
    with Served(options=overrides(properties)) as kafka:
        yield kafka.bootstrap
        assert "Traceback" not in kafka.said(), kafka.said()


@contextmanager
def any_kafka() -> Iterator[str]:
    """The Kafka that MINIKAFKA_BOOTSTRAP names, else a fresh minikafka: these tests
    hold for any.
    """
    given = os.environ.get("MINIKAFKA_BOOTSTRAP")
    if given:
        yield given
    else:
        with minikafka(KEPT) as bootstrap:
            yield bootstrap


def fresh_name(what: str = "topic") -> str:
    """A topic name of this run only, so that tests can share a broker."""
    return f"{what}-{os.getpid()}-{next(_numbers)}"


def until(
    holds: Callable[[], object], what: str = "it is so", seconds: float = 240
) -> float:
    """Looks again and again, and says how many seconds it took; `seconds` only tells a
    failure from a slow machine. Between two looks the cores are left to those it waits
    for.
    """
    began, never = time.monotonic(), threading.Event()
    while not holds():
        assert time.monotonic() < began + seconds, f"still waiting until {what}"
        never.wait(LOOK_AGAIN_S)
    return time.monotonic() - began
