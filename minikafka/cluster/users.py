"""What the metadata log stores about users: quotas (KIP-13, KIP-546) and SCRAM
credentials (KIP-554).

A quota belongs to an entity: a user, a client id, a user's client id, or an address,
and each of these may be the default of its type. quotas.py has the rules.
"""

import ipaddress
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

IP = "ip"  # the type of an address
LOCALHOST = "127.0.0.1"

# type and name of each part, sorted by type; None is the type's default
Entity = tuple[tuple[str, str | None], ...]
Named = tuple[str, dict[str, Any]]  # a record's name, and its fields


class UserMechanism(NamedTuple):
    """A user and a mechanism: a user may have credentials for each mechanism."""

    user: str
    mechanism: int


class Credential(NamedTuple):
    """What a broker must know to check a password (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def entity_of(parts: Iterable[Any]) -> Entity:
    """The entity that a message names; if it names a part twice, the last name
    counts.
    """
    named = {part.entity_type: part.entity_name for part in parts}
    return tuple(sorted(named.items()))


def parts_of(entity: Entity) -> list[dict[str, Any]]:
    """The entity's parts as messages list them."""
    return [{"entity_type": kind, "entity_name": name} for kind, name in entity]


def one_spelling(address: str) -> str:
    """An address as it is written here, of the ways in which it may be (Java's
    InetAddress): ::1 is 0:0:0:0:0:0:0:1, and ::ffff:127.0.0.1 is 127.0.0.1. Host names
    are not looked up, except this machine's. Errors: ValueError.
    """
    if address.lower() == "localhost":
        return LOCALHOST
    if address.startswith("[") and address.endswith("]"):
        found: Any = ipaddress.IPv6Address(address[1:-1])
    else:
        found = ipaddress.ip_address(address)
    if found.version == 6:  # of which interface it is doesn't count
        found = found.ipv4_mapped or ipaddress.IPv6Address(found.packed)
    return str(found)


@dataclass(slots=True)
class Users:
    """All quotas, by entity and key, and all credentials. of_addresses: the quotas of
    addresses, each in one spelling, by key; the last one that was set counts.
    """

    quotas: dict[Entity, dict[str, float]] = field(default_factory=dict)
    of_addresses: dict[str | None, dict[str, float]] = field(default_factory=dict)
    credentials: dict[UserMechanism, Credential] = field(default_factory=dict)

    def set_quota(self, fields: dict[str, Any]) -> None:
        """Apply a ClientQuotaRecord: set a quota or remove it."""
        parts = []
        for part in fields["entity"]:
            parts.append((part["entity_type"], part["entity_name"]))
        entity = tuple(sorted(parts))
        _set_quota(self.quotas, entity, fields)
        for kind, name in entity:
            if kind == IP:
                if name is not None:
                    with suppress(ValueError):
                        name = one_spelling(name)
                _set_quota(self.of_addresses, name, fields)

    def set_credential(self, fields: dict[str, Any]) -> None:
        """Apply a UserScramCredentialRecord."""
        key = UserMechanism(fields["name"], fields["mechanism"])
        self.credentials[key] = Credential(
            salt=bytes(fields["salt"]),
            stored_key=bytes(fields["stored_key"]),
            server_key=bytes(fields["server_key"]),
            iterations=fields["iterations"],
        )

    def remove_credential(self, fields: dict[str, Any]) -> None:
        """Apply a RemoveUserScramCredentialRecord."""
        self.credentials.pop(UserMechanism(fields["name"], fields["mechanism"]), None)

    def records(self) -> list[Named]:
        """The records that rebuild these users from nothing."""
        found = []
        for entity, quotas in self.quotas.items():
            for key, value in quotas.items():
                found.append(quota_record(entity, key, value))
        for user, credential in self.credentials.items():
            found.append(credential_record(user, credential))
        return found

    def gone(self, later: "Users") -> list[Named]:
        """The records that remove everything that `later` no longer has."""
        found = []
        for entity, quotas in self.quotas.items():
            later_quotas = later.quotas.get(entity, {})
            for key in quotas:
                if key not in later_quotas:
                    found.append(quota_record(entity, key, None))
        for user in self.credentials:
            if user not in later.credentials:
                found.append(credential_record(user, None))
        return found


def _set_quota(
    quotas: dict[Any, dict[str, float]],
    whose: Entity | str | None,
    fields: dict[str, Any],
) -> None:
    of_one = quotas.setdefault(whose, {})
    if fields["remove"]:
        of_one.pop(fields["key"], None)
    else:
        of_one[fields["key"]] = fields["value"]
    if not of_one:
        del quotas[whose]


def quota_record(entity: Entity, key: str, value: float | None) -> Named:
    """The record that sets a quota, or removes it (None)."""
    change = {"key": key, "value": value or 0.0, "remove": value is None}
    return "ClientQuotaRecord", {"entity": parts_of(entity), **change}


def credential_record(user: UserMechanism, credential: Credential | None) -> Named:
    """The record that gives a user credentials, or removes them (None)."""
    fields: dict[str, Any] = {"name": user.user, "mechanism": user.mechanism}
    if credential is None:
        return "RemoveUserScramCredentialRecord", fields
    return "UserScramCredentialRecord", fields | credential._asdict()
