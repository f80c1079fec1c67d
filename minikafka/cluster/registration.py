"""What a broker says about itself when it joins the cluster, and whether that can be
true (KIP-631).

A registration is stored, announced to clients, and receives partitions. So it is
checked first. Apache Kafka checks log directories and features; we also check
listeners, because one that nobody can reach would be announced to every client.
"""

import re
from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any

from minikafka.cluster.metadata import Endpoint, Image, MetadataRecord
from minikafka.wire.errors import Error, KafkaError

LEGAL_LISTENER_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
MAX_HOST_LENGTH = 255
LEGAL_HOST = re.compile(r"[\w.:%\[\]-]{1,255}")  # a name, or an address with its zone
SECURITY_PROTOCOLS = range(4)
MAX_REGISTERED = 100  # our own limit, of each kind
# reserved ids: DirectoryId.UNASSIGNED, LOST, MIGRATING and the like
RESERVED_DIRECTORIES = 100

METADATA_VERSION = 33  # 4.4-IV2
OLDEST_METADATA_VERSION = 7  # 3.3-IV3, the first that KRaft clusters of 4.x may run

Asked = Mapping[str, Any]  # fields of a request


# that a new cluster starts with (KIP-584, KIP-778)
FIRST_LEVELS = {
    "metadata.version": METADATA_VERSION,
    "group.version": 1,
    "eligible.leader.replicas.version": 1,
}


def fields(
    broker_id: int,
    incarnation_id: bytes,
    log_dirs: Sequence[bytes],
    endpoints: Mapping[str, Endpoint],
    rack: str | None = None,
    protocols: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What a broker says about itself: the fields that the request and the record have
    in common. protocols: the number of a listener's security protocol, where that is
    not PLAINTEXT.
    """
    numbers = protocols or {}
    metadata_version = {
        "name": "metadata.version",
        "min_supported_version": OLDEST_METADATA_VERSION,
        "max_supported_version": METADATA_VERSION,
    }
    listeners = [
        {
            "name": name,
            "host": host,
            "port": port,
            "security_protocol": numbers.get(name, 0),
        }
        for name, (host, port) in endpoints.items()
    ]
    return {
        "broker_id": broker_id,
        "incarnation_id": incarnation_id,
        "rack": rack,
        "log_dirs": list(log_dirs),
        "features": [metadata_version],
        "listeners": listeners,
    }


def as_recorded(asked: Asked) -> dict[str, Any]:
    """What a run of a broker says about itself, by the names of the record's fields."""
    return {
        "broker_id": asked["broker_id"],
        "incarnation_id": asked["incarnation_id"],
        "features": asked["features"],
        "rack": asked["rack"],
        "log_dirs": asked["log_dirs"],
        "end_points": asked["listeners"],
    }


def records(asked: Asked, broker_epoch: int) -> list[MetadataRecord]:
    """Register a broker, fenced at first. asked: the request's fields. broker_epoch:
    the offset that the record will get.
    """
    state = {"broker_epoch": broker_epoch, "fenced": True}
    return [MetadataRecord("RegisterBrokerRecord", 3, as_recorded(asked) | state)]


# -- whether it can be true


def check(
    image: Image,
    asked: Asked,
    peers: Container[int] | None,
    needed: Collection[str],
) -> None:
    """Check that a broker's registration can be true. peers: the ids that exist in this
    cluster; None if others may join. needed: the listeners that every broker has.
    Errors: INVALID_REGISTRATION, UNSUPPORTED_VERSION.
    """
    node = asked["broker_id"]
    if node < 0 or (peers is not None and node not in peers):
        raise _refused(f"Broker ID {node} is not in this cluster")
    for name in ("listeners", "features", "log_dirs"):
        if len(asked[name]) > MAX_REGISTERED:
            what = "listeners, features or directories"
            raise _refused(f"More than {MAX_REGISTERED} {what} in request")
    _check_listeners(asked["listeners"], needed)
    _check_log_dirs(image, node, asked["log_dirs"])
    names = [feature["name"] for feature in asked["features"]]
    for name in (asked["rack"] or "", *names):
        if len(name) > MAX_HOST_LENGTH:
            what = f"A name of more than {MAX_HOST_LENGTH} characters"
            raise _refused(f"{what} in request")
    for feature in asked["features"]:
        _check_feature(image, feature)


def _check_listeners(listeners: Sequence[Asked], needed: Collection[str]) -> None:
    names = [listener["name"] for listener in listeners]
    are_distinct = len(set(names)) == len(names)
    if not are_distinct or not set(needed) <= set(names):
        wanted = ", ".join(sorted(needed))
        raise _refused(f"Not the listeners that brokers have here: {wanted}")
    for listener in listeners:
        if not _is_reachable(listener):
            raise _refused("A listener that nobody can reach in request")


def _is_reachable(listener: Asked) -> bool:
    has_name = LEGAL_LISTENER_NAME.fullmatch(listener["name"]) is not None
    has_host = LEGAL_HOST.fullmatch(listener["host"]) is not None
    has_port = listener["port"] > 0
    has_protocol = listener["security_protocol"] in SECURITY_PROTOCOLS
    return has_name and has_host and has_port and has_protocol


def _check_log_dirs(image: Image, node: int, directories: Sequence[bytes]) -> None:
    """Check that each directory has an id that is unique in the cluster (KIP-858)."""
    if not directories:
        raise _refused("No directories specified in request")
    for directory in directories:
        if int.from_bytes(directory, "big") < RESERVED_DIRECTORIES:
            raise _refused("Reserved directory ID in request")
    distinct = set(directories)
    if len(distinct) != len(directories):
        raise _refused("Duplicate directory ID in request")
    for broker in image.brokers.values():
        theirs = broker.fields.get("log_dirs", ())
        if broker.broker_id != node and not distinct.isdisjoint(theirs):
            raise _refused(
                f"Broker {broker.broker_id} is already registered with a directory in"
                " request"
            )


def _check_feature(image: Image, feature: Asked) -> None:
    """Refuse a broker that doesn't support the cluster's feature level (KIP-584)."""
    name = feature["name"]
    lowest = feature["min_supported_version"]
    highest = feature["max_supported_version"]
    if not 0 <= lowest <= highest:
        raise _refused(f"Feature {name} from {lowest} to {highest} in request")
    level = image.features.get(name)
    if level is not None and not lowest <= level <= highest:
        why = (
            "Unable to register because the broker does not support finalized version"
            f" {level} of {name}."
        )
        raise KafkaError(Error.UNSUPPORTED_VERSION, why)


def _refused(why: str) -> KafkaError:
    return KafkaError(Error.INVALID_REGISTRATION, why)
