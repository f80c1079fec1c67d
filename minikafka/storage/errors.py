"""What a failing disk means to the rest of the node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minikafka.wire.errors import Error, KafkaError


@contextmanager
def as_storage_errors(directory: str) -> Iterator[None]:
    """Turn an OSError into KAFKA_STORAGE_ERROR: the log directory has failed."""
    try:
        yield
    except OSError as error:
        raise KafkaError(Error.KAFKA_STORAGE_ERROR, f"{directory}: {error.strerror or error}") from error
