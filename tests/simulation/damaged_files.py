"""How a disk loses what it held while its broker is down."""

from random import Random

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.data_folder import METADATA_LOG

FILES = (
    ".log",
    ".log",
    ".log",
    ".log",
    ".index",
    ".timeindex",
    ".snapshot",
    "checkpoint",
    "metadata-0",
    ".metadata",
)


def damage(disk: MemoryDisk, random: Random) -> dict[str, bytes]:
    """Damage a file: a flipped bit mostly, or its end is lost, or all of it. Returns
    what it held. Of the metadata only bits flip: the promises of the quorum are made by
    voters that remember what they said (the Raft paper, section 5).
    """
    kind = random.choice(FILES)
    of_metadata = kind == "metadata-0"
    paths = [
        path
        for path, file in disk.files().items()
        if file.size and not path.endswith("quorum-state")
    ]
    if of_metadata:
        paths = [
            path for path in paths if METADATA_LOG in path and path.endswith(".log")
        ]
    else:
        paths = [
            path for path in paths if METADATA_LOG not in path and path.endswith(kind)
        ]
    if not paths:
        return {}
    path = random.choice(paths)
    before = disk.read(path)
    how = (
        "flip"
        if of_metadata
        else random.choice(("flip", "flip", "flip", "cut", "empty", "delete"))
    )
    if how == "delete":
        disk.remove(path)
    else:
        data = bytearray(before)
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        disk.write_atomic(
            path, {"flip": bytes(data), "cut": before[:at], "empty": b""}[how]
        )
    return {path: before}
