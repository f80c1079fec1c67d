"""The listeners of a broker: their names, where they are, and what each demands of its
clients (KIP-103).

A listener has a security protocol. PLAINTEXT demands nothing, SSL is TLS, SASL_PLAINTEXT
and SASL_SSL want a login, without TLS and with it. A config of one listener is written
`listener.name.NAME.CONFIG`, and of one mechanism of it
`listener.name.NAME.MECHANISM.CONFIG`, both in small letters.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = (
    "PLAINTEXT",
    "SSL",
    "SASL_PLAINTEXT",
    "SASL_SSL",
)
# in the order of their numbers in metadata records
PROTOCOLS = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)
WITH_TLS = (SSL, SASL_SSL)
WITH_SASL = (SASL_PLAINTEXT, SASL_SSL)
PROTOCOL_MAP = "listener.security.protocol.map"

_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_OF_LISTENER = re.compile(
    r"listener\.name\.([^.]+)\."
    r"(?:(plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi)\.)?(.+)"
)


class Listener(NamedTuple):
    """One listener. host: where it listens, or what clients are told; "" where nothing
    is said. port: 0 for any free one.
    """

    name: str
    host: str
    port: int


class OfListener(NamedTuple):
    """A config of one listener. listener: its name, in small letters. mechanism: "" for
    all of them.
    """

    listener: str
    mechanism: str
    name: str


def listeners_in(text: str) -> list[Listener]:
    """The listeners that `listeners` or `advertised.listeners` names. Errors:
    INVALID_CONFIG.
    """
    found = []
    for part in text.split(","):
        match = _ENDPOINT.fullmatch(part.strip())
        if match is None or not match[1]:
            why = (
                f"Unable to parse {printable(part.strip())} to a broker endpoint: it is"
                " NAME://HOST:PORT"
            )
            raise KafkaError(Error.INVALID_CONFIG, why)
        port = int(match[3])
        if not 0 <= port <= 65535:
            raise KafkaError(Error.INVALID_CONFIG, f"There is no port {port}")
        found.append(Listener(match[1].upper(), match[2], port))
    names = {each.name for each in found}
    if len(names) < len(found):
        why = f"Each listener must have a different name: {printable(text)}"
        raise KafkaError(Error.INVALID_CONFIG, why)
    return found


def protocol_map(text: str) -> dict[str, str]:
    """Listener's name -> its security protocol. Errors: INVALID_CONFIG."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, colon, protocol = (each.strip() for each in part.partition(":"))
        if not colon or not name or protocol.upper() not in PROTOCOLS:
            why = (
                f"{PROTOCOL_MAP}: {printable(part.strip())} is not NAME:PROTOCOL, with"
                f" one of {', '.join(PROTOCOLS)}"
            )
            raise KafkaError(Error.INVALID_CONFIG, why)
        if name.upper() in found:
            why = f"{PROTOCOL_MAP} names {printable(name)} twice"
            raise KafkaError(Error.INVALID_CONFIG, why)
        found[name.upper()] = protocol.upper()
    return found


def of_listener(name: str) -> OfListener | None:
    """What a config's name says, if it is one of a single listener."""
    match = _OF_LISTENER.fullmatch(name)
    return None if match is None else OfListener(match[1], match[2] or "", match[3])


def names_for(listener: str, name: str, mechanism: str = "") -> list[str]:
    """The names under which a config of a listener is looked up, the closest first."""
    prefix = f"listener.name.{listener.lower()}."
    names = [prefix + name, name]
    if mechanism:
        names.insert(0, f"{prefix}{mechanism.lower()}.{name}")
    return names


def named_protocol(protocols: Mapping[str, str], name: str) -> str:
    """The security protocol of a listener. Errors: INVALID_CONFIG."""
    protocol = protocols.get(name)
    if protocol is None:
        why = f"No security protocol defined for listener {printable(name)}"
        raise KafkaError(Error.INVALID_CONFIG, f"{why}: {PROTOCOL_MAP} says it")
    return protocol
