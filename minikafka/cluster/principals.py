"""Who a client is, as far as it has shown: a type and a name (KIP-11's KafkaPrincipal).

A client that has shown nothing is ANONYMOUS. Quotas of a user and access rules name
principals, so the room that knows both knows these.
"""

from typing import NamedTuple

USER = "User"


class Principal(NamedTuple):
    """type: `User`, unless somebody builds others. str() is the form of access rules:
    `User:alice`.
    """

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
