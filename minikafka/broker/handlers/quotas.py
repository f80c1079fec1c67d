"""Client quotas (KIP-546): set, taken back, described. They are obeyed in
broker/throttling.py.
"""

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import MetadataRecord
from minikafka.cluster.quotas import (
    CLIENT_ID,
    IP,
    USER,
    check_entity,
    check_quota,
)
from minikafka.cluster.users import Entity, entity, parts_of, quota_record
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

EXACT, DEFAULT, SPECIFIED = range(3)  # match types
NO_NAME = {DEFAULT: "MATCH_TYPE_DEFAULT", SPECIFIED: "MATCH_TYPE_SPECIFIED"}


def alter(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """AlterClientQuotas (KIP-546): each entity has its own verdict, and all or none of
    its quotas are set.

    Versions: 0 and 1, the same fields.
    """
    verdicts: dict[Entity, Answer] = {}
    records = []
    for entry in request.body.entries:
        one = entity(entry.entity)
        said: Answer = {"error_code": Error.NONE, "error_message": None}
        try:
            if one in verdicts:
                what = f"Ignoring duplicate entity {told(one)}"
                raise KafkaError(Error.INVALID_REQUEST, what)
            records += changes(broker, one, entry.ops)
        except KafkaError as error:
            said = {"error_code": error.error, "error_message": error.message}
        verdicts[one] = said | {"entity": parts_of(one)}
    answer = {"entries": list(verdicts.values())}
    if request.body.validate_only:
        return answer
    return broker.active_controller.decide(records, now, lambda: answer)


def changes(broker: Broker, one: Entity, ops: list[Any]) -> list[MetadataRecord]:
    """What one entry changes. Errors: INVALID_REQUEST."""
    wanted = {}
    for op in ops:
        if op.key in wanted:
            what = f"Ignoring duplicate entity {told(one)}"
            raise KafkaError(Error.INVALID_REQUEST, what)
        wanted[op.key] = None if op.remove else op.value
    types = check_entity(one)
    current = broker.image.users.quotas.get(one, {})
    records = []
    for key, value in wanted.items():
        if value is not None:
            check_quota(types, key, value)
        if value != current.get(key):
            name, fields = quota_record(one, key, value)
            records.append(MetadataRecord(name, 0, fields))
    return records


def told(one: Entity) -> str:
    """As Apache Kafka prints an entity."""
    parts = [f"{kind}={'null' if name is None else name}" for kind, name in one]
    return printable(f"ClientQuotaEntity(entries={{{', '.join(parts)}}})")


def refuse(call: Call, error: KafkaError) -> Answer:
    """AlterClientQuotas has no error for the whole: each entity says it."""
    said = {"error_code": error.error, "error_message": error.message}
    entities = [parts_of(entity(entry.entity)) for entry in call.body.entries]
    return {"entries": [said | {"entity": parts} for parts in entities]}


def describe(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeClientQuotas (KIP-546): the entities that a filter lets through; a strict
    one, those that have nothing else.

    Versions: 0 and 1, the same fields.
    """
    try:
        wanted = wanted_of(request.body.components)
    except KafkaError as error:
        said = {"error_code": error.error, "error_message": error.message}
        return said | {"entries": None}
    entries = []
    for one, quotas in broker.image.users.quotas.items():
        parts = dict(one)
        if request.body.strict and len(parts) != len(wanted):
            continue
        if all(is_wanted(parts, *component) for component in wanted.items()):
            values = [{"key": key, "value": quotas[key]} for key in quotas]
            entries.append({"entity": parts_of(one), "values": values})
    return {"error_code": Error.NONE, "error_message": None, "entries": entries}


Component = tuple[int, str | None]  # how a name must match, and which name


def is_wanted(parts: dict[str, str | None], kind: str, wanted: Component) -> bool:
    match_type, name = wanted
    if kind not in parts:
        return False
    return match_type == SPECIFIED or parts[kind] == name


def wanted_of(components: list[Any]) -> dict[str, Component]:
    """A filter, by the type of what it looks at. Errors: INVALID_REQUEST,
    UNSUPPORTED_VERSION.
    """
    wanted: dict[str, Component] = {}
    for each in components:
        kind = each.entity_type
        if not kind:
            raise KafkaError(Error.INVALID_REQUEST, "Invalid empty entity type.")
        if kind in wanted:
            what = f"Entity type {kind} cannot appear more than once in the filter."
            raise KafkaError(Error.INVALID_REQUEST, what)
        if kind not in (USER, CLIENT_ID, IP):
            what = f"Unsupported entity type {printable(kind)}"
            raise KafkaError(Error.UNSUPPORTED_VERSION, what)
        wanted[kind] = component_of(each)
    if IP in wanted and len(wanted) > 1:
        what = (
            "Invalid entity filter component combination. IP filter component should"
            " not be used with user or clientId filter component."
        )
        raise KafkaError(Error.INVALID_REQUEST, what)
    return wanted


def component_of(each: Any) -> Component:
    if each.match_type not in (EXACT, DEFAULT, SPECIFIED):
        what = f"Unknown match type {each.match_type}"
        raise KafkaError(Error.INVALID_REQUEST, what)
    if each.match_type == EXACT and each.match is None:
        what = "Request specified MATCH_TYPE_EXACT, but set match string to null."
        raise KafkaError(Error.INVALID_REQUEST, what)
    if each.match_type != EXACT and each.match is not None:
        what = (
            f"Request specified {NO_NAME[each.match_type]}, but also specified a match"
            " string."
        )
        raise KafkaError(Error.INVALID_REQUEST, what)
    return each.match_type, each.match
