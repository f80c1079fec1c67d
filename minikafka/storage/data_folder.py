"""Which folders and logs belong to this node. It never touches anything that it didn't
make.

`meta.properties` names the node that a data folder belongs to. A node formats an empty
folder by writing that file. If a folder holds other things but not that file, the node
leaves it as it is, and does not start.

    orders-0                  a log of ours, if `partition.metadata` is in it; everything else is left alone
    orders-0.<id>-delete      such a log, of a deleted topic: its removal goes on at the next start
    orders-0.<id>-stray       such a log that the metadata doesn't know: set aside, for a person to decide

The names are Apache Kafka's, with the topic's id in hexadecimal.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import NamedTuple

from minikafka.storage.checkpoints import (
    PARTITION_METADATA,
    read_partition_metadata,
    uuid_bytes,
    uuid_text,
)
from minikafka.storage.disk import Disk, unusable

META_PROPERTIES = "meta.properties"
# of that file: KRaft's first; with another version, everything else in the folder may
# differ too
VERSION = "1"
METADATA_LOG = "__cluster_metadata-0"
DELETE, STRAY = "-delete", "-stray"

_LOG = re.compile(r".+-\d+")
_DELETED = re.compile(rf".+-\d+\.[0-9a-f]{{32}}{DELETE}")

# Names that a folder without data may hold: our lock, leftovers of a first start that
# crashed, files that operating systems create.
_NOTHING = {
    ".lock",
    f"{META_PROPERTIES}.tmp",
    "lost+found",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
}
_MAX_NAME = 255  # of a folder's name, on every file system


class Identity(NamedTuple):
    """The contents of meta.properties. directory_id: 16 bytes."""

    cluster_id: str
    directory_id: bytes


def identify(
    disk: Disk, node_id: int, cluster_id: str | None, new_id: Callable[[], bytes]
) -> Identity:
    """Check that the folder belongs to this node, and format it if it is empty.
    cluster_id: the cluster that the node is to join; None for the one that the folder
    names, or for a new one. Errors: KAFKA_STORAGE_ERROR if the folder belongs to
    another node.
    """
    refuse_others(disk)
    properties = read_meta_properties(disk)
    if properties is None:
        cluster_id = cluster_id or uuid_text(new_id())
        properties = {
            "version": VERSION,
            "cluster.id": cluster_id,
            "node.id": str(node_id),
            "directory.id": uuid_text(new_id()),
        }
        write_meta_properties(disk, properties)
    return check_identity(properties, node_id, cluster_id)


def check_identity(
    properties: Mapping[str, str], node_id: int, cluster_id: str | None
) -> Identity:
    """Check that meta.properties describes this node. cluster_id: None if any cluster
    will do.
    """
    version = properties.get("version", VERSION)
    # in another version the folder's contents may mean other things
    if version != VERSION:
        why = f"has version {version}, and only {VERSION} is known here"
        raise unusable(
            META_PROPERTIES, f"{why}: serve it with the version that wrote it"
        )
    for name in ("cluster.id", "node.id", "directory.id"):
        if not properties.get(name):
            why = f"has no {name}. Put the right file back"
            raise unusable(META_PROPERTIES, why)
    owner = properties["node.id"]
    if owner != str(node_id):
        whose = f"belongs to node {owner}, but this is node {node_id}"
        raise unusable(META_PROPERTIES, f"{whose}: give each node its own folder back")
    found = properties["cluster.id"]
    if cluster_id not in (None, found):
        whose = f"belongs to cluster {found}, but this node is to join {cluster_id}"
        how = "name the cluster that it belongs to, or another folder"
        raise unusable(META_PROPERTIES, f"{whose}: {how}")
    try:
        return Identity(found, uuid_bytes(properties["directory.id"]))
    except ValueError:
        why = "has a directory.id that is no id. Put the right file back"
        raise unusable(META_PROPERTIES, why) from None


def write_meta_properties(disk: Disk, properties: Mapping[str, str]) -> None:
    """Write Java properties, one per line: version, cluster.id, node.id,
    directory.id.
    """
    text = "#\n"
    for name, value in sorted(properties.items()):
        escaped = re.sub(r"[\\:=#!]", r"\\\g<0>", value)
        text += f"{name}={escaped}\n"
    disk.write_atomic(META_PROPERTIES, text.encode())


def read_meta_properties(disk: Disk) -> dict[str, str] | None:
    """The properties by name; None on a disk that was never formatted. If the bytes
    aren't text, they can't match any node's properties.
    """
    if not disk.exists(META_PROPERTIES):
        return None
    properties = {}
    for line in disk.read(META_PROPERTIES).decode(errors="replace").splitlines():
        name, equals, value = line.partition("=")
        is_comment = line.startswith(("#", "!"))
        if equals and not is_comment:
            properties[name.strip()] = value.strip().replace("\\", "")
    return properties


def refuse_others(disk: Disk) -> None:
    """Raise if the folder isn't empty and nothing says that it is a node's data
    folder.
    """
    held = contents(disk)
    if held and not disk.exists(META_PROPERTIES):
        names = ", ".join(held[:3])
        if len(held) > 3:
            names += f" and {len(held) - 3} more"
        why = (
            f"holds {names}, and no {META_PROPERTIES}: it is no data folder, or a"
            " damaged one. Name a new or empty folder with --data, or put that file"
            " back"
        )
        raise unusable(str(disk), why)


def contents(disk: Disk) -> list[str]:
    """Names in the folder, without those that a folder without data may hold."""
    return [name for name in disk.listdir("") if name not in _NOTHING]


def logs(disk: Disk) -> list[str]:
    """The folders of partitions, made by minikafka or by Apache Kafka."""
    return [
        name for name in _ours(disk) if _LOG.fullmatch(name) and name != METADATA_LOG
    ]


def deleted_logs(disk: Disk) -> list[str]:
    """Folders whose deletion has begun."""
    return [name for name in _ours(disk) if _DELETED.fullmatch(name)]


def _ours(disk: Disk) -> Iterator[str]:
    return (
        name for name in disk.listdir("") if disk.exists(f"{name}/{PARTITION_METADATA}")
    )


def rename(disk: Disk, directory: str, mark: str) -> str:
    """Mark a log as -delete or -stray. Returns its new name; a long topic name is cut,
    because file names have a limit.
    """
    topic, _, number = directory.rpartition("-")
    topic_id = read_partition_metadata(disk, directory) or bytes(16)
    ending = f"-{number}.{topic_id.hex()}{mark}"
    renamed = topic[: _MAX_NAME - len(ending)] + ending
    disk.rename(directory, renamed)
    return renamed


def remove(disk: Disk, directory: str) -> Generator[int, None, None]:
    """Remove a log file by file, with `partition.metadata` last, because it says that
    the log is ours. Yields the bytes freed.
    """
    for name in disk.listdir(directory):
        if name != PARTITION_METADATA:
            size_bytes = disk.open(f"{directory}/{name}").size
            disk.remove(f"{directory}/{name}")
            yield size_bytes
    disk.rmtree(directory)
