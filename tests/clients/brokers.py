"""What tests with real clients share: a broker to talk to, and names that no other test uses."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from minikafka.server.embedded import Served

_numbers = itertools.count(1)


@contextmanager
def minikafka() -> Iterator[str]:
    """The bootstrap address of a fresh `minikafka serve`, which must not have met a bug in the end."""
    with Served() as kafka:
        yield kafka.bootstrap
        assert "Traceback" not in kafka.said(), kafka.said()


@contextmanager
def any_kafka() -> Iterator[str]:
    """The Kafka that MINIKAFKA_BOOTSTRAP names, else a fresh minikafka: these tests hold for any."""
    given = os.environ.get("MINIKAFKA_BOOTSTRAP")
    if given:
        yield given
    else:
        with minikafka() as bootstrap:
            yield bootstrap


def fresh_name(what: str = "topic") -> str:
    """A topic name of this run only, so that tests can share a broker."""
    return f"{what}-{os.getpid()}-{next(_numbers)}"
