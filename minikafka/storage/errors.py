"""A failing disk, a damaged file and another's folder are all KAFKA_STORAGE_ERROR to the rest of the node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minikafka.wire.errors import Error, KafkaError


def unusable(path: str, why: str) -> KafkaError:
    """The error for a file or folder that a person has to look at. why: the rest of the sentence behind the path."""
    return KafkaError(Error.KAFKA_STORAGE_ERROR, f"{path} {why}")


@contextmanager
def as_storage_errors(path: str) -> Iterator[None]:
    """Turn an OSError into KAFKA_STORAGE_ERROR: the log directory has failed. path: where, if the error doesn't say."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise KafkaError(Error.KAFKA_STORAGE_ERROR, f"{where}: {error.strerror or error}") from error
