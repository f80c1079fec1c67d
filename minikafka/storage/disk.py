"""The file interface: all that a node may ask of a disk. The node is given one: a
folder of the file system (server/folder_disk.py), or a disk in memory that fails as
real ones do (simulation/memory_disk.py).

Paths are relative, with forward slashes. A file can grow at its end, be cut, or be
replaced whole: a log needs nothing else. Nothing is mapped into memory: a mapped file
that cannot be read kills the process instead of raising an error, and Windows refuses
to delete it.

A call takes no virtual time. If a disk is to be slow, its broker waits (BrokerProcess in
simulation/processes.py).

Written bytes survive the death of the process at once, but a power loss only after
`flush`. To the rest of the node, a failing disk, a damaged file and a folder of another
node are all KAFKA_STORAGE_ERROR.
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
        """Bytes from a position; fewer if the file ends first."""

    def append(self, buffers: Sequence[Buffer]) -> None:
        """Write at the end, all or nothing: after an OSError everything that was
        written is cut off again.
        """

    def truncate(self, size: int) -> None:
        """Cut off what is after `size`."""

    def flush(self) -> None:
        """Make the content survive a power loss."""

    def close(self) -> None:
        """Release the file handle. A closed file opens itself again when it is used."""


class Space(NamedTuple):
    """The size of a volume, in bytes. usable_bytes: how many may still be written."""

    total_bytes: int
    usable_bytes: int


class Disk(Protocol):
    """A folder of files. Errors: OSError, FileNotFoundError among them."""

    def open(self, path: str, create: bool = True) -> File: ...
    def exists(self, path: str) -> bool: ...
    def listdir(self, path: str) -> list[str]:
        """The names in a folder, sorted."""

    def mkdir(self, path: str) -> None:
        """Make a folder, with its parents; it may exist already."""

    def rename(self, old: str, new: str) -> None: ...
    def remove(self, path: str) -> None: ...
    def rmtree(self, path: str) -> None: ...
    def read(self, path: str) -> bytes: ...
    def write_atomic(self, path: str, data: bytes, sync: bool = True) -> None:
        """Replace a file whole: after a crash it has either the old content or the new.
        sync: the new content survives a power loss.
        """

    def space(self) -> Space | None:
        """The space on the folder's volume; None if it is unlimited."""

    def lock(self, path: str) -> bool:
        """Take a lock for the life of the process (Kafka's `.lock`). Returns False if
        another process holds it.
        """


def unusable(path: str, why: str) -> KafkaError:
    """The error for a file or folder that a person has to look at. why: the rest of the
    sentence after the path.
    """
    return KafkaError(Error.KAFKA_STORAGE_ERROR, f"{path} {why}")


class as_storage_errors:
    """Turn an OSError into KAFKA_STORAGE_ERROR: the log directory has failed. path:
    named in the message if the error doesn't name a path.
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
