"""Those who use the cluster, as the metadata log keeps them: quotas (KIP-13, KIP-546)
and SCRAM credentials (KIP-554).

A quota belongs to an entity: a user, a client id, a user's client id, or an address,
each of which may be the default of its type. What holds of quotas is in quotas.py.
Nobody is asked for a password here, as clients come over plaintext: credentials are
kept and described.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# type and name of each part, by type; None: the default of the type
Entity = tuple[tuple[str, str | None], ...]
Named = tuple[str, dict[str, Any]]  # a record's name, and its fields


class UserMechanism(NamedTuple):
    """What credentials are of: a user may have some of each mechanism."""

    user: str
    mechanism: int


class Credential(NamedTuple):
    """What a broker must know to check a password (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def entity_of(parts: Iterable[Any]) -> Entity:
    """What a message names; of a part that it names twice, the last name holds."""
    named = {part.entity_type: part.entity_name for part in parts}
    return tuple(sorted(named.items()))


def parts_of(entity: Entity) -> list[dict[str, Any]]:
    """An entity as messages name it."""
    return [{"entity_type": kind, "entity_name": name} for kind, name in entity]


@dataclass(slots=True)
class Users:
    """All quotas, by entity and key, and all credentials."""

    quotas: dict[Entity, dict[str, float]] = field(default_factory=dict)
    credentials: dict[UserMechanism, Credential] = field(default_factory=dict)

    def set_quota(self, fields: dict[str, Any]) -> None:
        """One ClientQuotaRecord."""
        parts = []
        for part in fields["entity"]:
            parts.append((part["entity_type"], part["entity_name"]))
        entity = tuple(sorted(parts))
        quotas = self.quotas.setdefault(entity, {})
        if fields["remove"]:
            quotas.pop(fields["key"], None)
        else:
            quotas[fields["key"]] = fields["value"]
        if not quotas:
            del self.quotas[entity]

    def set_credential(self, fields: dict[str, Any]) -> None:
        """One UserScramCredentialRecord."""
        key = UserMechanism(fields["name"], fields["mechanism"])
        self.credentials[key] = Credential(
            salt=bytes(fields["salt"]),
            stored_key=bytes(fields["stored_key"]),
            server_key=bytes(fields["server_key"]),
            iterations=fields["iterations"],
        )

    def remove_credential(self, fields: dict[str, Any]) -> None:
        """One RemoveUserScramCredentialRecord."""
        self.credentials.pop(UserMechanism(fields["name"], fields["mechanism"]), None)

    def records(self) -> list[Named]:
        """What makes the same of nothing."""
        found = []
        for entity, quotas in self.quotas.items():
            for key, value in quotas.items():
                found.append(quota_record(entity, key, value))
        for user, credential in self.credentials.items():
            found.append(credential_record(user, credential))
        return found

    def gone(self, later: "Users") -> list[Named]:
        """What later ones no longer have."""
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


def quota_record(entity: Entity, key: str, value: float | None) -> Named:
    """Set a quota, or take it back (None)."""
    change = {"key": key, "value": value or 0.0, "remove": value is None}
    return "ClientQuotaRecord", {"entity": parts_of(entity), **change}


def credential_record(user: UserMechanism, credential: Credential | None) -> Named:
    """Give a user credentials, or take them (None)."""
    fields: dict[str, Any] = {"name": user.user, "mechanism": user.mechanism}
    if credential is None:
        return "RemoveUserScramCredentialRecord", fields
    return "UserScramCredentialRecord", fields | credential._asdict()
