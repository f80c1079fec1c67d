"""The file interface: all that a node may ask of a disk. The node is handed one: a
folder of the file system (server/folder_disk.py), or a disk in memory that fails as
real ones do (simulation/memory_disk.py).

Paths are relative, with forward slashes. Files only grow at the end, are cut, or are
replaced whole: a log needs no more. Nothing is mapped into memory: a mapped file that
cannot be read kills the process instead of raising an error, and Windows refuses to
delete it.

What is written survives the death of the process at once, and a power loss only after
`flush`. A failing disk, a damaged file and another's folder are all KAFKA_STORAGE_ERROR
to the rest of the node.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import Buffer


class File(Protocol):
    """A file that grows at its end. Errors: OSError."""

    @property
    def size(self) -> int: ...
    def pread(self, size: int, at: int) -> bytes:
        """Bytes at a position; fewer where the file ends first."""

    def append(self, buffers: Sequence[Buffer]) -> None:
        """Write at the end, all or nothing: after an OSError what was written is cut
        off again.
        """

    def truncate(self, size: int) -> None:
        """Cut off what is after `size`."""

    def flush(self) -> None:
        """Make the content survive a power loss."""

    def close(self) -> None:
        """Give back the handle. A closed file opens itself again when used."""


class Space(NamedTuple):
    """Of a volume. usable_bytes: those that may still be written."""

    total_bytes: int
    usable_bytes: int


class Disk(Protocol):
    """A folder of files. Errors: OSError, FileNotFoundError among them."""

    def open(self, path: str, create: bool = True) -> File: ...
    def exists(self, path: str) -> bool: ...
    def listdir(self, path: str) -> list[str]:
        """Names in order."""

    def mkdir(self, path: str) -> None:
        """With its parents; it may be there already."""

    def rename(self, old: str, new: str) -> None: ...
    def remove(self, path: str) -> None: ...
    def rmtree(self, path: str) -> None: ...
    def read(self, path: str) -> bytes: ...
    def write_atomic(self, path: str, data: bytes, sync: bool = True) -> None:
        """Replace a file whole: a crash leaves the old content or the new. sync: the
        new one survives a power loss.
        """

    def space(self) -> Space | None:
        """Of the volume that the folder is on; None: there is no end to it."""

    def lock(self, path: str) -> bool:
        """Take a lock for the life of the process (Kafka's `.lock`); False if somebody
        else holds it.
        """


def unusable(path: str, why: str) -> KafkaError:
    """The error for a file or folder that a person has to look at. why: the rest of the
    sentence behind the path.
    """
    return KafkaError(Error.KAFKA_STORAGE_ERROR, f"{path} {why}")


class as_storage_errors:
    """Turn an OSError into KAFKA_STORAGE_ERROR: the log directory has failed. path:
    where, if the error doesn't say.
    """

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: object
    ) -> None:
        if isinstance(error, OSError):
            where = error.filename or self.path
            raise KafkaError(
                Error.KAFKA_STORAGE_ERROR, f"{where}: {error.strerror or error}"
            ) from error
