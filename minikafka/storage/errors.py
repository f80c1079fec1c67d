"""A failing disk, a damaged file and another's folder are all KAFKA_STORAGE_ERROR to the rest of the node."""

from __future__ import annotations

from minikafka.wire.errors import Error, KafkaError


def unusable(path: str, why: str) -> KafkaError:
    """The error for a file or folder that a person has to look at. why: the rest of the sentence behind the path."""
    return KafkaError(Error.KAFKA_STORAGE_ERROR, f"{path} {why}")


class as_storage_errors:
    """Turn an OSError into KAFKA_STORAGE_ERROR: the log directory has failed. path: where, if the error doesn't say."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            where = error.filename or self.path
            raise KafkaError(Error.KAFKA_STORAGE_ERROR, f"{where}: {error.strerror or error}") from error
