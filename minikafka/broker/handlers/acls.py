"""Access rules: made, found, removed (KIP-140, KIP-290). What they mean for a request
is decided in cluster/acls.py, and which API asks for what in broker/guards/.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, Disconnect, error_fields
from minikafka.clock import Now
from minikafka.cluster import features
from minikafka.cluster.acls import (
    CLUSTER_NAME,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    acl_record,
    by_resource,
    network_of,
    removal,
)
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

CIDR_LEVEL = 32  # of metadata.version: 4.4-IV1
MOST_CHANGES = 10_000  # rules that one request adds or removes
NOTHING: Answer = {"error_code": Error.NONE, "error_message": None}
UNKNOWN = 0  # in all of these enumerations
CODES = (
    "resource_type",
    "resource_type_filter",
    "pattern_type_filter",
    "resource_pattern_type",
    "operation",
    "permission_type",
)


@dataclass(eq=False, repr=False)
class AclHandlers:
    """Handles requests about access rules. has_authorizer: whether anybody asks what
    the rules say; without one there are none.
    """

    image: Image
    has_authorizer: bool
    random_uuid: Callable[[], bytes]
    active_controller: ActiveController

    def describe_acls(self, request: Call, now: Now) -> Answer | Disconnect:
        """DescribeAcls (KIP-140): the rules that a filter means, by resource.

        Versions: 1 to 3, the same fields.

        - 2 is flexible.
        """
        self.check_enabled("No Authorizer is configured on the broker")
        body = request.body
        if names_unknown(body):
            return Disconnect("sent DescribeAcls with codes that are unknown")
        wanted = filter_of(body)
        found = [acl for acl in self.image.acls.by_id.values() if wanted.matches(acl)]
        resources = []
        for (kind, name, pattern), acls in by_resource(found).items():
            resource = {
                "resource_type": kind,
                "resource_name": name,
                "pattern_type": pattern,
                "acls": [entry_of(acl) for acl in acls],
            }
            resources.append(resource)
        return NOTHING | {"resources": resources}

    def create_acls(self, request: Call, now: Now) -> Answer | Wait | Disconnect:
        """CreateAcls (KIP-140): each rule has its verdict; one that is there already is
        fine.

        - With CIDR notation a rule's host is a range of addresses (KIP-1276).

        Versions: 1 to 3, the same fields.

        - 2 is flexible.
        """
        self.check_enabled("No Authorizer is configured.")
        creations = request.body.creations
        if any(names_unknown(one) for one in creations):
            return Disconnect("sent CreateAcls with codes that are unknown")
        new: dict[Acl, None] = {}
        results = []
        for creation in creations:
            acl = acl_of(creation)
            try:
                self.check_new(acl)
            except KafkaError as error:
                results.append(error_fields(error))
                continue
            results.append(NOTHING)
            if acl not in self.image.acls:
                new[acl] = None
        records = []
        for acl in new:
            name, fields = acl_record(self.random_uuid(), acl)
            records.append(MetadataRecord(name, 0, fields))
        return self.commit(records, {"results": results}, now)

    def delete_acls(self, request: Call, now: Now) -> Answer | Wait | Disconnect:
        """DeleteAcls (KIP-140): the rules go that a filter means; each filter answers
        with them.

        Versions: 1 to 3, the same fields.

        - 2 is flexible.
        """
        self.check_enabled("No Authorizer is configured.")
        if any(names_unknown(one) for one in request.body.filters):
            return Disconnect("sent DeleteAcls with codes that are unknown")
        gone: dict[bytes, None] = {}
        results = []
        for one in request.body.filters:
            wanted = filter_of(one)
            if wanted.is_unknown:
                error = KafkaError(Error.INVALID_REQUEST, what_is_unknown(wanted))
                results.append(error_fields(error) | {"matching_acls": []})
                continue
            matching = []
            for acl_id, acl in self.image.acls.by_id.items():
                if wanted.matches(acl):
                    gone[acl_id] = None
                    matching.append(NOTHING | resource_of(acl) | entry_of(acl))
            results.append(NOTHING | {"matching_acls": matching})
        records = []
        for acl_id in gone:
            name, fields = removal(acl_id)
            records.append(MetadataRecord(name, 0, fields))
        return self.commit(records, {"filter_results": results}, now)

    def commit(
        self, records: list[MetadataRecord], answer: Answer, now: Now
    ) -> Answer | Wait:
        if len(records) > MOST_CHANGES:
            why = "Unable to perform excessively large batch operation."
            raise KafkaError(Error.POLICY_VIOLATION, why)
        return self.active_controller.commit(records, now, lambda: answer)

    def check_enabled(self, why: str) -> None:
        """Errors: SECURITY_DISABLED, without an authorizer."""
        if not self.has_authorizer:
            raise KafkaError(Error.SECURITY_DISABLED, why)

    def check_new(self, acl: Acl) -> None:
        """Whether there may be such a rule. Errors: INVALID_REQUEST,
        UNSUPPORTED_VERSION.
        """
        why = what_is_wrong(acl)
        if why is not None:
            raise KafkaError(Error.INVALID_REQUEST, why)
        if "/" in acl.host:
            self.check_cidr(acl.host)

    def check_cidr(self, host: str) -> None:
        """Whether a range of addresses may be a rule's host (KIP-1276)."""
        if features.level(self.image, features.METADATA_FEATURE) < CIDR_LEVEL:
            why = (
                "CIDR-based ACL host patterns require metadata version 4.4-IV1 or"
                " higher."
            )
            raise KafkaError(Error.UNSUPPORTED_VERSION, why)
        if network_of(host) is None:
            why = f"Invalid CIDR notation '{host}': Could not parse [{host}]"
            raise KafkaError(Error.INVALID_REQUEST, printable(why))

    def refuse_create(self, request: Call, error: KafkaError) -> Answer:
        """CreateAcls has no error for the whole: each rule says it."""
        return {"results": [error_fields(error) for _ in request.body.creations]}

    def refuse_delete(self, request: Call, error: KafkaError) -> Answer:
        """DeleteAcls has no error for the whole: each filter says it."""
        refused = error_fields(error) | {"matching_acls": []}
        return {"filter_results": [refused for _ in request.body.filters]}


def what_is_wrong(acl: Acl) -> str | None:
    """With a new rule; None: nothing."""
    name = acl.resource_name
    if acl.resource_type == ResourceType.CLUSTER and name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not name:
        return "Invalid empty resource name"
    if word(ResourceType, acl.resource_type) in ("UNKNOWN", "ANY"):
        return f"Invalid resourceType {word(ResourceType, acl.resource_type)}"
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"Invalid patternType {word(PatternType, acl.pattern_type)}"
    if word(Operation, acl.operation) in ("UNKNOWN", "ANY"):
        return f"Invalid operation {word(Operation, acl.operation)}"
    if acl.permission_type not in (Permission.DENY, Permission.ALLOW):
        return f"Invalid permissionType {word(Permission, acl.permission_type)}"
    if ":" not in acl.principal:
        return (
            f"Could not parse principal from `{printable(acl.principal)}` (no colon is"
            " present separating the principal type from the principal name)"
        )
    if not acl.host:
        return "Host pattern cannot be null or empty"
    return None


def word(codes: type[IntEnum], code: int) -> str:
    """A code's name; one that nobody knows is UNKNOWN."""
    return codes(code).name if code in list(codes) else "UNKNOWN"


def names_unknown(fields: Any) -> bool:
    """Whether a request has the code UNKNOWN somewhere, which no client may send."""
    present = fields.to_dict()
    return any(present.get(name) == UNKNOWN for name in CODES)


def what_is_unknown(wanted: AclFilter) -> str:
    """The part of a filter that isn't known."""
    kinds = (
        word(ResourceType, wanted.resource_type),
        word(PatternType, wanted.pattern_type),
    )
    part = "patternFilter" if "UNKNOWN" in kinds else "entryFilter"
    return f"Unknown {part}."


def acl_of(creation: Any) -> Acl:
    """The rule that a CreateAcls asks for."""
    return Acl(
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )


def filter_of(asked: Any) -> AclFilter:
    """The filter of a DescribeAcls, or one of a DeleteAcls."""
    return AclFilter(
        resource_type=asked.resource_type_filter,
        resource_name=asked.resource_name_filter,
        pattern_type=asked.pattern_type_filter,
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=asked.operation,
        permission_type=asked.permission_type,
    )


def resource_of(acl: Acl) -> Answer:
    return {
        "resource_type": acl.resource_type,
        "resource_name": acl.resource_name,
        "pattern_type": acl.pattern_type,
    }


def entry_of(acl: Acl) -> Answer:
    return {
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission_type,
    }
