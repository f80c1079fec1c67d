"""Lesson 24's logins: SCRAM with a real broker, by whatever code the learner hands in;
and what somebody can do who has stolen the broker's entry of a user, or recorded a
login.
"""

import base64
import hashlib
import hmac
import socket
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from minikafka.course.experiments import lesson_24_wire as wire
from minikafka.course.experiments.lesson_24_wire import (
    MECHANISM,
    PATIENCE_S,
    Wiretap,
    free_port,
)
from minikafka.server.proxy import LOOPBACK, read_frame, send_frame
from minikafka.wire.internal_records import decode_record
from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.records import batches, decode_batch

USER, PASSWORD = "alice", "correct horse"
NONCE = "till-7-monday"
SHOWN = 16  # letters of a value
ENTRY = "UserScramCredentialRecord"
BINDING = "c=biws"  # "n,,", in base64


class Client(Protocol):
    """One side of one login, as exercise 1 has it."""

    def first(self) -> str: ...

    def final(self, challenge: str) -> str: ...

    def trusts(self, verdict: str) -> bool: ...


class Recorded(NamedTuple):
    """The four messages of a login."""

    first: str
    challenge: str
    final: str
    verdict: str

    @property
    def said(self) -> str:
        """What both sides sign: RFC 5802's AuthMessage."""
        without_proof = self.final.rpartition(",p=")[0]
        return f"{self.first.removeprefix('n,,')},{self.challenge},{without_proof}"


class Entry(NamedTuple):
    """What a broker keeps of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class NotIn(Exception):
    """The broker has refused a login; str(): in its own words."""


class KafkaPythons:
    """kafka-python's own client, with exercise 1's methods."""

    def __init__(self, user: str, password: str, nonce: str) -> None:
        from kafka.net.sasl.scram import ScramClient

        self._client: Any = ScramClient(user, password, MECHANISM)
        self._client.nonce = nonce.encode()

    def first(self) -> str:
        return bytes(self._client.first_message()).decode()

    def final(self, challenge: str) -> str:
        self._client.process_server_first_message(challenge.encode())
        return bytes(self._client.final_message()).decode()

    def trusts(self, verdict: str) -> bool:
        try:
            self._client.process_server_final_message(verdict.encode())
        except ValueError:
            return False
        return True


def knows_alice(port: int, folder: Path) -> AbstractContextManager[None]:
    """A broker that has alice's entry, and keeps its files in this folder."""
    users = {USER: PASSWORD}
    return wire.broker("SASL_PLAINTEXT", port, users=users, data=folder)


class Line:
    """A connection that asks one thing after the other."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S)

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """Errors: NotIn if the broker hangs up."""
        frame = b"".join(encode_request(api, version, 1, "lesson 24", fields))
        send_frame(self._socket, frame)
        answer = read_frame(self._socket)
        if answer is None:
            raise NotIn("the broker hangs up")
        return decode_response(api, version, answer)[1]

    def begin(self) -> None:
        """Choose the mechanism."""
        self.ask("SaslHandshake", 1, mechanism=MECHANISM)

    def say(self, message: str) -> str:
        """A message of the mechanism, and the broker's next one. Errors: NotIn."""
        answer = self.ask("SaslAuthenticate", 1, auth_bytes=message.encode())
        if answer.error_code:
            raise NotIn(answer.error_message)
        return bytes(answer.auth_bytes).decode()


def logged_in(line: Line, client: Client) -> Recorded:
    """What both sides have said. Errors: NotIn."""
    line.begin()
    first = client.first()
    challenge = line.say(first)
    final = client.final(challenge)
    return Recorded(first, challenge, final, line.say(final))


def log_in(scram: Any) -> None:
    """A login with a client of this class, over a wire that somebody listens on. Prints
    who said what, and what the listener has.
    """
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, knows_alice(port, Path(folder)):
        with Wiretap(port) as tap, Line(tap.port) as line:
            client = scram(USER, PASSWORD, NONCE)
            try:
                login = logged_in(line, client)
            except NotIn as error:
                print("refused:", error)
                return
            for who, said in zip(2 * ("client", "broker"), login, strict=True):
                print(f"{who}  {in_short(said)}")
            print("the client trusts the broker:", client.trusts(login.verdict))
            line.ask("Metadata", 5, topics=None)
            print("the broker answers Metadata")
        heard = bytes(tap.heard)
    for word in (USER, PASSWORD):
        print(f"{word!r} on the wire:", word.encode() in heard)


def in_short(said: str) -> str:
    """A message, with values that differ between runs cut short."""
    parts = []
    for part in said.split(","):
        name, equals, value = part.partition("=")
        if name == "r" and value != NONCE:
            value = f"{NONCE}... ({len(value)} letters)"
        elif name in ("s", "p", "v"):
            value = f"({len(value)} letters)"
        parts.append(f"{name}{equals}{value}")
    return ",".join(parts)


# --- a thief ---


def entry_in(folder: Path) -> Entry:
    """A user's entry in the metadata log of a broker's folder."""
    logs = folder / "__cluster_metadata-0"
    for path in sorted([*logs.glob("*.log"), *logs.glob("*.checkpoint")]):
        for header, batch in batches(path.read_bytes()):
            if header.control:
                continue
            for record in decode_batch(batch):
                name, _, message = decode_record(record.value or b"")
                if name == ENTRY:
                    return Entry(
                        bytes(message.salt),
                        bytes(message.stored_key),
                        bytes(message.server_key),
                        message.iterations,
                    )
    raise LookupError("no user has an entry")


def xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def signature(key: bytes, said: str) -> bytes:
    return hmac.digest(key, said.encode(), hashlib.sha256)


class WithKey:
    """Logs in with a client key instead of a password."""

    def __init__(self, client_key: bytes) -> None:
        self._client_key = client_key
        self._first = f"n={USER},r=thief"

    def first(self) -> str:
        return f"n,,{self._first}"

    def final(self, challenge: str) -> str:
        nonce = challenge.split(",")[0]
        without_proof = f"{BINDING},{nonce}"
        said = f"{self._first},{challenge},{without_proof}"
        stored_key = hashlib.sha256(self._client_key).digest()
        proof = xor(self._client_key, signature(stored_key, said))
        return f"{without_proof},p={base64.b64encode(proof).decode()}"

    def trusts(self, verdict: str) -> bool:
        return True


class Again:
    """Says what somebody else has said."""

    def __init__(self, login: Recorded) -> None:
        self._login = login

    def first(self) -> str:
        return self._login.first

    def final(self, challenge: str) -> str:
        return self._login.final

    def trusts(self, verdict: str) -> bool:
        return True


def client_key(entry: Entry, login: Recorded) -> bytes:
    """The proof is the client key with a signature laid over it, and the stored key is
    all one needs to make that signature.
    """
    proof = base64.b64decode(login.final.rpartition(",p=")[2])
    return xor(proof, signature(entry.stored_key, login.said))


def thefts(port: int, folder: Path, nonce: str = NONCE) -> dict[str, str]:
    """alice logs in, and somebody steals the broker's entry, records the login, or does
    both. What the broker says to a login with each.
    """
    with Line(port) as line:
        login = logged_in(line, KafkaPythons(USER, PASSWORD, nonce))
    entry = entry_in(folder)
    thieves: dict[str, Client] = {
        "the entry": WithKey(entry.stored_key),
        "the login": Again(login),
        "both": WithKey(client_key(entry, login)),
    }
    found = {}
    for stolen, thief in thieves.items():
        with Line(port) as line:
            try:
                logged_in(line, thief)
                found[stolen] = "logged in as alice"
            except NotIn as error:
                found[stolen] = str(error)
    return found


def thief_tries() -> list[str]:
    """Prints what the broker says to each thief, and returns what lets one in."""
    port = free_port()
    with tempfile.TemporaryDirectory() as name, knows_alice(port, Path(name)):
        found = thefts(port, Path(name))
    for stolen, said in found.items():
        print(wire.in_lines(f"{stolen}: {said}"))
    return [stolen for stolen, said in found.items() if said.startswith("logged in")]
