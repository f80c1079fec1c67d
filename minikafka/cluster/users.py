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


def entity(parts: Iterable[Any]) -> Entity:
    """Of what a message says; what it says twice of a type, the last time."""
    named = {part.entity_type: part.entity_name for part in parts}
    return tuple(sorted(named.items()))


def parts_of(one: Entity) -> list[dict[str, Any]]:
    """As messages say it."""
    return [{"entity_type": kind, "entity_name": name} for kind, name in one]


@dataclass(slots=True)
class Users:
    """All quotas, by entity and key, and all credentials."""

    quotas: dict[Entity, dict[str, float]] = field(default_factory=dict)
    credentials: dict[UserMechanism, Credential] = field(default_factory=dict)

    def set_quota(self, fields: dict[str, Any]) -> None:
        """One ClientQuotaRecord."""
        parts = [
            (each["entity_type"], each["entity_name"]) for each in fields["entity"]
        ]
        one = tuple(sorted(parts))
        quotas = self.quotas.setdefault(one, {})
        if fields["remove"]:
            quotas.pop(fields["key"], None)
        else:
            quotas[fields["key"]] = fields["value"]
        if not quotas:
            del self.quotas[one]

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
        for one, quotas in self.quotas.items():
            for key, value in quotas.items():
                found.append(quota_record(one, key, value))
        for user, credential in self.credentials.items():
            found.append(credential_record(user, credential))
        return found

    def gone(self, later: "Users") -> list[Named]:
        """What later ones no longer have."""
        found = []
        for one, quotas in self.quotas.items():
            for key in quotas.keys() - later.quotas.get(one, {}).keys():
                found.append(quota_record(one, key, None))
        for user in self.credentials:
            if user not in later.credentials:
                found.append(credential_record(user, None))
        return found


def quota_record(one: Entity, key: str, value: float | None) -> Named:
    """Set a quota, or take it back (None)."""
    change = {"key": key, "value": value or 0.0, "remove": value is None}
    return "ClientQuotaRecord", {"entity": parts_of(one), **change}


def credential_record(user: UserMechanism, credential: Credential | None) -> Named:
    """Give a user credentials, or take them (None)."""
    fields: dict[str, Any] = {"name": user.user, "mechanism": user.mechanism}
    if credential is None:
        return "RemoveUserScramCredentialRecord", fields
    return "UserScramCredentialRecord", fields | credential._asdict()
