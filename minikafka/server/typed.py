"""The values of options on the command line: each function takes the text that was
typed, and returns its meaning. Errors: argparse.ArgumentTypeError, in one sentence that
says what it should be.
"""

import argparse
import re
from typing import TYPE_CHECKING

from minikafka.trace import printable

if TYPE_CHECKING:
    from minikafka.broker.kafka_versions import KafkaVersion
    from minikafka.cluster.users import Credential, UserMechanism
    from minikafka.server.addresses import NodeAt

SALT_BYTES = 24
TYPED = 60  # characters of the typed text that an error repeats
NAME = r"[0-9a-zA-Z\-%._]{1,253}"
ADDRESS = rf"(?P<host>{NAME}|\[[0-9a-zA-Z\-%._:]{{1,253}}\])"
MOST_NODE = 2**31 - 1  # an int32, as in every request that names a node


def wrong(text: str, what: str) -> argparse.ArgumentTypeError:
    """The error for a text that is not what it should be."""
    return argparse.ArgumentTypeError(f"'{printable(text, TYPED)}' is not {what}")


def brokers(text: str) -> int:
    """A number of brokers; `serve` says how many there may be."""
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise wrong(text, "a number of brokers, for example 3")
    return int(text)


def host(text: str) -> str:
    """A host name or an address, as Kafka reads it in listeners; names are never longer
    (RFC 1035).
    """
    try:
        # what a connection will ask for: no part may be empty, or longer than 63
        text.encode("idna")
    except UnicodeError:
        raise wrong(text, "a host name or an address") from None
    if not re.fullmatch(r"[0-9a-zA-Z\-%._:]{1,253}", text):
        raise wrong(text, "a host name or an address")
    return text


def port(text: str) -> int:
    """A TCP port from the command line."""
    number = int(text) if re.fullmatch("[0-9]{1,5}", text) else -1
    if not 0 <= number <= 65535:
        raise wrong(text, "a port: a number from 0 to 65535")
    return number


def node_id(text: str, whole: str) -> int:
    """A node's number."""
    number = int(text)
    if number > MOST_NODE:
        raise wrong(whole, f"a node: they are numbered from 0 to {MOST_NODE}")
    return number


def node(text: str) -> "NodeAt":
    """The node this is, and where it listens to the others."""
    from minikafka.server.addresses import NodeAt

    match = re.fullmatch(
        rf"(?P<id>[0-9]{{1,10}})(@{ADDRESS}(:(?P<port>[0-9]{{1,5}}))?)?", text
    )
    if match is None:
        raise wrong(
            text,
            "a node: for example 1, or 1@192.0.2.7:9093 to say where it listens to the"
            " others",
        )
    at = match["host"] and host(match["host"].strip("[]"))
    return NodeAt(node_id(match["id"], text), at, port(match["port"] or "0"))


def voters(text: str) -> dict[int, tuple[str, int]]:
    """controller.quorum.voters, as Kafka writes it."""
    found: dict[int, tuple[str, int]] = {}
    for each in text.split(","):
        match = re.fullmatch(
            rf"(?P<id>[0-9]{{1,10}})@{ADDRESS}:(?P<port>[0-9]{{1,5}})", each
        )
        if match is None:
            raise wrong(each, "a voter: for example 1@localhost:9093")
        address = (host(match["host"].strip("[]")), port(match["port"]))
        if not address[1]:
            raise wrong(each, "a voter: the others must know its port")
        number = node_id(match["id"], each)
        if number in found:
            raise argparse.ArgumentTypeError(f"voter {number} is named twice")
        if address in found.values():
            raise argparse.ArgumentTypeError(
                f"two voters are to listen on {match['host']}:{address[1]}"
            )
        found[number] = address
    return found


def racks(text: str) -> list[str]:
    """One rack per broker, in turn."""
    found = text.split(",")
    if not all(rack and rack.isprintable() for rack in found):
        raise wrong(text, "a list of racks: for example a,b,c")
    return found


def cluster_id(text: str) -> str:
    """16 bytes in base64, as kafka-storage random-uuid prints them."""
    if not re.fullmatch("[0-9a-zA-Z_-]{22}", text):
        raise wrong(
            text,
            "a cluster id: 22 letters, digits, - or _, for example"
            " MkU3OEVBNTcwNTJENDM2Qg",
        )
    return text


def kafka_version(text: str) -> "KafkaVersion":
    """What brokers of an older Kafka tell clients."""
    # loads what only those need who name one
    from minikafka.server.kafka_versions import kafka_versions

    known = kafka_versions()
    if text not in known:
        raise wrong(text, f"a version whose answers are known here: {', '.join(known)}")
    return known[text]


def path(text: str) -> str:
    """The name of a file or a folder."""
    if not text:
        raise wrong(text, "the name of anything")
    return text


def orders(text: str) -> int:
    """How many orders the pipeline sends: at least enough for both halves of
    its day.
    """
    number = int(text) if re.fullmatch("[0-9]{1,8}", text) else 0
    if number < 20:
        raise wrong(text, "a number of orders: 20 or more")
    return number


def scram_user(text: str) -> "tuple[UserMechanism, Credential]":
    """SCRAM-SHA-256=[name=alice,password=...] from the command line, as kafka-storage
    format --add-scram takes it. No error repeats the password.
    """
    # loads what only those need who name a user
    from base64 import b64decode
    from secrets import token_bytes

    from minikafka.broker.handlers.users import MOST_ITERATIONS
    from minikafka.broker.mechanisms import (
        FEWEST_ITERATIONS,
        SCRAM,
        credential_from,
        credential_of,
    )
    from minikafka.cluster.users import UserMechanism

    mechanism, _, parts = text.partition("=")
    example = "SCRAM-SHA-256=[name=alice,password=alice-secret]"
    if mechanism not in SCRAM or not (parts.startswith("[") and parts.endswith("]")):
        shown = re.split(r"[^\w-]", text, maxsplit=1)[0]
        raise wrong(shown, f"MECHANISM=[name=NAME,password=...], such as {example}")
    given = {}
    for part in parts[1:-1].split(","):
        name, _, value = part.partition("=")
        is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
        given[name.strip()] = value[1:-1] if is_quoted else value
    unknown = set(given) - {"name", "password", "salt", "iterations", "saltedpassword"}
    is_whole = given.get("name") and ("password" in given) != (
        "saltedpassword" in given and "salt" in given
    )
    if unknown or not is_whole:
        raise wrong(mechanism, f"followed by a name and a password, such as {example}")
    try:
        iterations = int(given.get("iterations", FEWEST_ITERATIONS))
        salt = b64decode(given["salt"]) if "salt" in given else token_bytes(SALT_BYTES)
        salted = b64decode(given.get("saltedpassword", ""))
    except ValueError:
        what = "followed by iterations as a number and a salt in Base64"
        raise wrong(mechanism, what) from None
    if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
        what = f"followed by {FEWEST_ITERATIONS} to {MOST_ITERATIONS} iterations"
        raise wrong(mechanism, what)
    if "password" in given:
        credential = credential_of(mechanism, given["password"], salt, iterations)
    else:
        credential = credential_from(mechanism, salted, salt, iterations)
    return UserMechanism(given["name"], SCRAM[mechanism]), credential


def server_property(text: str) -> tuple[str, str]:
    """NAME=VALUE from the command line. The value may be a secret, which no error
    repeats.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        shown = re.split(r"[^\w.-]", text, maxsplit=1)[0]
        raise wrong(shown, "NAME=VALUE, for example num.partitions=3")
    return name, value
