"""Client quotas (KIP-546): set, taken back, described. They are obeyed in
broker/throttling.py.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, as_listed
from minikafka.clock import Now
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.quotas import CLIENT_ID, USER, check_entity, check_quota
from minikafka.cluster.users import (
    IP,
    Entity,
    entity_of,
    parts_of,
    quota_record,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

EXACT, DEFAULT, SPECIFIED = range(3)  # match types
NO_NAME = {DEFAULT: "MATCH_TYPE_DEFAULT", SPECIFIED: "MATCH_TYPE_SPECIFIED"}


@dataclass(eq=False, repr=False)
class QuotaHandlers:
    """Handles requests that describe and alter client quotas."""

    image: Image
    active_controller: ActiveController

    def alter_client_quotas(self, request: Call, now: Now) -> Answer | Wait:
        """AlterClientQuotas (KIP-546): each entity has its own verdict, and all or none
        of its quotas are set.

        Versions: 0 and 1, the same fields.
        """
        verdicts: dict[Entity, Answer] = {}
        records = []
        for entry in request.body.entries:
            entity = entity_of(entry.entity)
            verdict: Answer = {"error_code": Error.NONE, "error_message": None}
            try:
                if entity in verdicts:
                    what = f"Ignoring duplicate entity {told(entity)}"
                    raise KafkaError(Error.INVALID_REQUEST, what)
                records += self.changes(entity, entry.ops)
            except KafkaError as error:
                verdict = {"error_code": error.error, "error_message": error.message}
            verdicts[entity] = verdict | {"entity": parts_of(entity)}
        answer = {"entries": list(verdicts.values())}
        if request.body.validate_only:
            return answer
        return self.active_controller.commit(records, now, lambda: answer)

    def changes(self, entity: Entity, ops: list[Any]) -> list[MetadataRecord]:
        """The changes of one entry. Errors: INVALID_REQUEST."""
        wanted = {}
        for op in ops:
            if op.key in wanted:
                what = f"Ignoring duplicate entity {told(entity)}"
                raise KafkaError(Error.INVALID_REQUEST, what)
            wanted[op.key] = None if op.remove else op.value
        types = check_entity(entity)
        current = self.image.users.quotas.get(entity, {})
        records = []
        for key, value in wanted.items():
            if value is not None:
                check_quota(types, key, value)
            if value != current.get(key):
                name, fields = quota_record(entity, key, value)
                records.append(MetadataRecord(name, 0, fields))
        return records

    def refuse(self, call: Call, error: KafkaError) -> Answer:
        """AlterClientQuotas has no error for the whole: each entity says it."""
        entries = []
        for entry in call.body.entries:
            entity = entity_of(entry.entity)
            refused = {
                "error_code": error.error,
                "error_message": error.message,
                "entity": parts_of(entity),
            }
            entries.append(refused)
        return {"entries": entries}

    def describe_client_quotas(self, request: Call, now: Now) -> Answer:
        """DescribeClientQuotas (KIP-546): the entities that a filter lets through; a
        strict one, those that have nothing else.

        Versions: 0 and 1, the same fields.
        """
        try:
            components = checked_filter(request.body.components)
        except KafkaError as error:
            return {
                "error_code": error.error,
                "error_message": error.message,
                "entries": None,
            }
        entries = []
        for entity, quotas in self.image.users.quotas.items():
            has_other_parts = len(entity) != len(components)
            if request.body.strict and has_other_parts:
                continue
            if matches(entity, components):
                keys = as_listed(sorted(quotas, reverse=True), buckets=1)
                values = [{"key": key, "value": quotas[key]} for key in keys]
                entries.append({"entity": parts_of(entity), "values": values})
        return {"error_code": Error.NONE, "error_message": None, "entries": entries}


def told(entity: Entity) -> str:
    """An entity as Apache Kafka prints it."""
    parts = []
    for kind, name in entity:
        shown = "null" if name is None else name
        parts.append(f"{kind}={shown}")
    entries = ", ".join(parts)
    return printable(f"ClientQuotaEntity(entries={{{entries}}})")


class Component(NamedTuple):
    """A filter on one part of an entity: how its name must match, and which name."""

    match_type: int
    name: str | None


Filter = dict[str, Component]  # by the type of the part


def matches(entity: Entity, components: Filter) -> bool:
    """Whether an entity has every part that the filter asks for."""
    names = dict(entity)
    for kind, component in components.items():
        if kind not in names:
            return False
        takes_any = component.match_type == SPECIFIED
        if not takes_any and names[kind] != component.name:
            return False
    return True


def checked_filter(components: list[Any]) -> Filter:
    """The filter of a request. Errors: INVALID_REQUEST, UNSUPPORTED_VERSION."""
    wanted: Filter = {}
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
    return Component(each.match_type, each.match)
