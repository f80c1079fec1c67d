"""The metadata log's records in words: two short ones, and in full."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from minikafka.theatre.nodes import listed
from minikafka.theatre.pictures.log_copies import Described

UNCHANGED = -2  # PartitionChangeRecord: the leader stays
FENCING = {1: "fenced", -1: "unfenced"}
Fields = Mapping[str, Any]


class MetadataRecord(NamedTuple):
    name: str
    fields: Fields


def describe(
    record: MetadataRecord, epoch: int, topics: Mapping[str, str]
) -> Described:
    """epoch: in which it was written; topics: id -> name."""
    name, fields = record
    first, second = _in_short(name, fields, epoch, topics)
    in_full = f"{first} {second}"
    isr = fields.get("isr")
    if isr and not first.startswith("ISR"):
        in_full += f", ISR {listed(isr)}"
    return Described(first, second, f"{name} ({in_full})")


def _in_short(
    name: str, fields: Fields, epoch: int, topics: Mapping[str, str]
) -> tuple[str, str]:
    broker = f"broker {fields.get('broker_id', '')}"
    named = str(fields.get("name", ""))
    match name:
        case "LeaderChangeMessage":
            return f"epoch {epoch}", "begins"
        case "FeatureLevelRecord":
            return "level", named
        case "RegisterBrokerRecord":
            return broker, "registers"
        case "BrokerRegistrationChangeRecord":
            change = fields.get("fenced", 0)
            return broker, FENCING.get(change, "changed")
        case "TopicRecord":
            return "topic", named
        case "PartitionRecord":
            return f"leader {fields.get('leader', '')}", _part(fields, topics)
        case "PartitionChangeRecord":
            return _change(fields), _part(fields, topics)
        case "RemoveTopicRecord":
            return "topic", "removed"
        case "ConfigRecord":
            return "config", named
        case "ProducerIdsRecord":
            return "producer", "ids"
    return name.removesuffix("Record"), ""


def _part(fields: Fields, topics: Mapping[str, str]) -> str:
    topic = topics.get(fields.get("topic_id", ""), "?")
    return f"{topic}-{fields.get('partition_id', '')}"


def _change(fields: Fields) -> str:
    """The most important change in a PartitionChangeRecord."""
    leader = fields.get("leader", UNCHANGED)
    if leader != UNCHANGED:
        return f"leader {leader}" if leader >= 0 else "leader –"
    if fields.get("isr"):
        return f"ISR {listed(fields['isr'])}"
    elr = fields.get("eligible_leader_replicas")
    return f"ELR {listed(elr)}" if elr is not None else "replicas"
