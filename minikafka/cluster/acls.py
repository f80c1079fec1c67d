"""Access rules, ACLs for short (KIP-11, KIP-290, KIP-801): what the metadata log
stores, and what follows from it for one request.

A rule allows or denies a principal an operation on resources, from one host. Resources
are named by a type and a pattern: one name, all names with a prefix, or `*`, which is
all of them. The decision is that of Apache Kafka's StandardAuthorizer: a rule that
denies counts more than any that allows, and without a rule that allows the answer is
no.
"""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from minikafka.cluster.principals import Principal
from minikafka.cluster.users import Named

WILDCARD = "*"
EVERYBODY = "User:*"
CLUSTER_NAME = "kafka-cluster"  # the only resource of its type


class ResourceType(IntEnum):
    """What a rule is about (org.apache.kafka.common.resource.ResourceType)."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a rule names its resources. ANY and MATCH are of filters only: MATCH finds
    all rules that are about a name.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What somebody does (org.apache.kafka.common.acl.AclOperation)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """Whether a rule allows or denies."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


# Whoever may do one of these may do the other one, too.
IMPLIED_BY = {
    Operation.DESCRIBE: {
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.ALTER,
    },
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
# What the resources of a type know (AclEntry.supportedOperations).
SUPPORTED = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}


class Acl(NamedTuple):
    """One rule, by the fields of its record."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class AclFilter(NamedTuple):
    """Which rules are meant. None, and ANY, mean all."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    @property
    def is_unknown(self) -> bool:
        """Whether a part of it is none that exists."""
        return not (
            self.resource_type in _KNOWN[ResourceType]
            and self.pattern_type in _KNOWN[PatternType]
            and self.operation in _KNOWN[Operation]
            and self.permission_type in _KNOWN[Permission]
        )

    def matches(self, acl: Acl) -> bool:
        """Whether it means this rule."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission_type in (Permission.ANY, acl.permission_type)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        name = self.resource_name
        kinds = PatternType.ANY, PatternType.MATCH, acl.pattern_type
        if self.pattern_type not in kinds:
            return False
        if name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.resource_name in (name, WILDCARD)


_KNOWN = {
    kind: frozenset(one for one in kind if one.name != "UNKNOWN")
    for kind in (ResourceType, PatternType, Operation, Permission)
}


class Who(NamedTuple):
    """Whom rules are asked about. host: the client's address."""

    principal: Principal
    host: str


@dataclass(slots=True, eq=False)
class Acls:
    """All rules, by id; and by resource, as they are looked up."""

    by_id: dict[bytes, Acl] = field(default_factory=dict)
    _literal: dict[tuple[int, str], dict[Acl, bytes]] = field(default_factory=dict)
    _prefixed: dict[tuple[int, str], dict[Acl, bytes]] = field(default_factory=dict)
    # how many prefixes of a type have this length: type -> length -> count
    _lengths: dict[int, dict[int, int]] = field(default_factory=dict)

    def add(self, fields: dict[str, Any]) -> None:
        """Apply an AccessControlEntryRecord."""
        acl = Acl(**{name: fields[name] for name in Acl._fields})
        acl_id = bytes(fields["id"])
        assert acl_id not in self.by_id, "a rule's id is its own"
        self.by_id[acl_id] = acl
        place = acl.resource_type, acl.resource_name
        if acl.pattern_type != PatternType.PREFIXED:
            self._literal.setdefault(place, {})[acl] = acl_id
            return
        if place not in self._prefixed:
            lengths = self._lengths.setdefault(acl.resource_type, {})
            length = len(acl.resource_name)
            lengths[length] = lengths.get(length, 0) + 1
        self._prefixed.setdefault(place, {})[acl] = acl_id

    def remove(self, fields: dict[str, Any]) -> None:
        """Apply a RemoveAccessControlEntryRecord."""
        acl = self.by_id.pop(bytes(fields["id"]))
        place = acl.resource_type, acl.resource_name
        is_prefix = acl.pattern_type == PatternType.PREFIXED
        table = self._prefixed if is_prefix else self._literal
        del table[place][acl]
        if table[place]:
            return
        del table[place]
        if is_prefix:
            lengths = self._lengths[acl.resource_type]
            length = len(acl.resource_name)
            lengths[length] -= 1
            if not lengths[length]:
                del lengths[length]

    def __contains__(self, acl: Acl) -> bool:
        place = acl.resource_type, acl.resource_name
        is_prefix = acl.pattern_type == PatternType.PREFIXED
        table = self._prefixed if is_prefix else self._literal
        return acl in table.get(place, {})

    def about(self, kind: int, name: str) -> Iterator[Acl]:
        """The rules whose pattern fits one resource."""
        yield from self._literal.get((kind, name), ())
        if name != WILDCARD:
            yield from self._literal.get((kind, WILDCARD), ())
        for length in self._lengths.get(kind, ()):
            if length <= len(name):
                yield from self._prefixed.get((kind, name[:length]), ())

    def decide(self, who: Who, operation: int, kind: int, name: str) -> bool | None:
        """Whether the rules allow an operation on a resource. None: there is no rule
        about the resource.
        """
        is_allowed = None
        for acl in self.about(kind, name):
            if is_allowed is None:
                is_allowed = False
            if not _is_about(acl, who):
                continue
            if acl.permission_type == Permission.ALLOW:
                is_allowed = is_allowed or _allows(acl, operation)
            elif acl.operation in (Operation.ALL, operation):
                return False
        return is_allowed

    def allows_some(self, who: Who, operation: int, kind: int) -> bool:
        """Whether the rules allow an operation on some resource of a type, whichever
        (KIP-679). What other operations imply doesn't count.
        """
        denied: set[str] = set()
        denied_prefixes: set[str] = set()
        allowed = []
        for acl in self.by_id.values():
            is_meant = acl.operation in (Operation.ALL, operation)
            if acl.resource_type != kind or not is_meant or not _is_about(acl, who):
                continue
            is_prefix = acl.pattern_type == PatternType.PREFIXED
            if acl.permission_type == Permission.ALLOW:
                allowed.append(acl)
            elif is_prefix:
                denied_prefixes.add(acl.resource_name)
            elif acl.resource_name == WILDCARD:
                return False
            else:
                denied.add(acl.resource_name)
        for acl in allowed:
            name = acl.resource_name
            is_literal = acl.pattern_type == PatternType.LITERAL
            if is_literal and name == WILDCARD:
                return True
            if is_literal and name in denied:
                continue
            beginnings = {name[:end] for end in range(1, len(name) + 1)}
            if not beginnings & denied_prefixes:
                return True
        return False

    def records(self) -> list[Named]:
        """The records that rebuild these rules from nothing."""
        return [acl_record(acl_id, acl) for acl_id, acl in self.by_id.items()]

    def gone(self, later: "Acls") -> list[Named]:
        """The records that remove every rule that `later` no longer has."""
        return [removal(acl_id) for acl_id in self.by_id if acl_id not in later.by_id]


def _is_about(acl: Acl, who: Who) -> bool:
    """Whether a rule is about this principal, from its host."""
    is_named = acl.principal in (str(who.principal), EVERYBODY)
    return is_named and (acl.host in (WILDCARD, who.host) or _is_in(acl.host, who.host))


def _allows(acl: Acl, operation: int) -> bool:
    """Whether a rule that allows something allows this."""
    if acl.operation in (Operation.ALL, operation):
        return True
    return acl.operation in IMPLIED_BY.get(Operation(operation), ())


@cache
def network_of(
    host: str,
) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The addresses that a rule's host means in CIDR notation; None if it is none."""
    if "/" not in host:
        return None
    try:
        return ipaddress.ip_network(host, strict=False)
    except ValueError:
        return None


def _is_in(host: str, address: str) -> bool:
    network = network_of(host)
    if network is None:
        return False
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False


def acl_record(acl_id: bytes, acl: Acl) -> Named:
    """The record that adds a rule."""
    return "AccessControlEntryRecord", {"id": acl_id} | acl._asdict()


def removal(acl_id: bytes) -> Named:
    """The record that removes a rule."""
    return "RemoveAccessControlEntryRecord", {"id": acl_id}


def by_resource(
    acls: Iterable[Acl],
) -> dict[tuple[int, str, int], list[Acl]]:
    """Rules by what they are about: type, name and pattern type."""
    found: dict[tuple[int, str, int], list[Acl]] = {}
    for acl in acls:
        place = acl.resource_type, acl.resource_name, acl.pattern_type
        found.setdefault(place, []).append(acl)
    return found
