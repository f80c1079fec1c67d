"""How a client proves who it is, a mechanism each: PLAIN (RFC 4616) sends the password,
SCRAM (RFC 5802, RFC 7677) only shows that it knows it. OAUTHBEARER is in tokens.py.

An exchange begins with the client's first message. `answer` returns the next one to the
client, and `user` says who it is once that is shown. Whoever doesn't pass hears no more
than in Apache Kafka: not whether the user is unknown or the password wrong, where SCRAM
is concerned.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from minikafka.clock import Now
from minikafka.cluster.users import Credential, UserMechanism

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
# as metadata records and AlterUserScramCredentials number them
SCRAM = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
HASHES: dict[str, Callable[..., Any]] = {
    "SCRAM-SHA-256": hashlib.sha256,
    "SCRAM-SHA-512": hashlib.sha512,
}
FEWEST_ITERATIONS = 4096
# of a message of SCRAM; to read half a MB of it takes a third of a second, in which the
# node does nothing else
MOST_BYTES = 16 * 1024
PLAIN_PARTS = 3

_SAFE = r"[\x01-\x2b\x2d-\x7f]"  # all but the comma
_SASLNAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS = rf"(?:,[A-Za-z]+={_SAFE}+)*"
CLIENT_FIRST = re.compile(
    rf"(n,(?:a=({_SASLNAME}))?,)"
    rf"((?:m={_SAFE}+,)?n=({_SASLNAME}),r=({_PRINTABLE})({_EXTENSIONS}))"
)
CLIENT_FINAL = re.compile(
    rf"(c=({_BASE64}),r=({_PRINTABLE}){_EXTENSIONS}),p=({_BASE64})"
)
BY_TOKEN = ",tokenauth=true"


class NotAuthenticated(Exception):
    """The client has not shown who it is. str(): what it is told; "": no more than that
    its credentials are invalid.
    """


class Exchange(Protocol):
    """One login. user: who the client is, once that is shown. ends_ms: the wall-clock
    time at which what it has shown ends; None: it doesn't.
    """

    user: str | None
    ends_ms: int | None

    def answer(self, message: bytes, now: Now) -> bytes:
        """Take the client's next message. Errors: NotAuthenticated."""


class Plain:
    """PLAIN: a name and a password. passwords: of the listener's users."""

    ends_ms: int | None = None

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self.user: str | None = None
        self._passwords = passwords

    def answer(self, message: bytes, now: Now) -> bytes:
        """[who it acts for] NUL who it is NUL password."""
        parts = message.decode(errors="replace").split("\0", PLAIN_PARTS)
        if len(parts) != PLAIN_PARTS:
            raise NotAuthenticated(
                "Invalid SASL/PLAIN response: expected 3 tokens, got"
                f" {min(len(parts), PLAIN_PARTS + 1)}"
            )
        acts_for, name, password = parts
        for what, text in (("username", name), ("password", password)):
            if not text:
                raise NotAuthenticated(f"Authentication failed: {what} not specified")
        known = self._passwords.get(name)
        # as long for a user who isn't there as for a wrong password
        is_right = hmac.compare_digest((known or "").encode(), password.encode())
        if known is None or not is_right:
            raise NotAuthenticated(
                "Authentication failed: Invalid username or password"
            )
        check_acts_for(acts_for, name)
        self.user = name
        return b""


class Scram:
    """SCRAM: salted challenge response. credentials: of all users. nonce: a new one,
    which nobody can guess.
    """

    ends_ms: int | None = None

    def __init__(
        self,
        mechanism: str,
        credentials: Mapping[UserMechanism, Credential],
        nonce: str,
    ) -> None:
        self.user: str | None = None
        self._hash = HASHES[mechanism]
        self._number = SCRAM[mechanism]
        self._credentials = credentials
        self._own_nonce = nonce
        self._name = ""
        self._credential: Credential | None = None
        # of what both sides have said: RFC 5802's AuthMessage begins so
        self._header = self._nonce = self._said = ""

    def answer(self, message: bytes, now: Now) -> bytes:
        """The first message says who the client is, the second one proves it."""
        if len(message) > MOST_BYTES:
            raise NotAuthenticated("")
        text = message.decode(errors="replace")
        if self._credential is None:
            return self._challenge(text).encode()
        return self._verdict(text, self._credential).encode()

    def _challenge(self, text: str) -> str:
        match = CLIENT_FIRST.fullmatch(text)
        if match is None:
            raise NotAuthenticated("")
        self._header, acts_for, bare, saslname, nonce, extensions = match.groups()
        if BY_TOKEN in extensions.lower():  # delegation tokens: there are none
            raise NotAuthenticated("")
        name = saslname.replace("=2C", ",").replace("=3D", "=")
        found = self._credentials.get(UserMechanism(name, self._number))
        if found is None:
            raise NotAuthenticated("")
        check_acts_for(acts_for or "", name)
        if found.iterations < FEWEST_ITERATIONS:
            raise NotAuthenticated("")
        self._name, self._credential = name, found
        self._nonce = nonce + self._own_nonce
        salt = base64.b64encode(found.salt).decode()
        first = f"r={self._nonce},s={salt},i={found.iterations}"
        self._said = f"{bare},{first}"
        return first

    def _verdict(self, text: str, credential: Credential) -> str:
        match = CLIENT_FINAL.fullmatch(text)
        if match is None:
            raise NotAuthenticated("")
        without_proof, binding, nonce, proof = match.groups()
        is_its_header = base64.b64decode(binding) == self._header.encode()
        if nonce != self._nonce or not is_its_header:
            raise NotAuthenticated("")
        said = f"{self._said},{without_proof}".encode()
        signature = hmac.digest(credential.stored_key, said, self._hash)
        sent = base64.b64decode(proof)
        if len(sent) != len(signature):
            raise NotAuthenticated("")
        key = bytes(one ^ other for one, other in zip(sent, signature, strict=True))
        if not hmac.compare_digest(self._hash(key).digest(), credential.stored_key):
            raise NotAuthenticated("")
        self.user = self._name
        own = hmac.digest(credential.server_key, said, self._hash)
        return f"v={base64.b64encode(own).decode()}"


def check_acts_for(acts_for: str, name: str) -> None:
    """Nobody acts for somebody else. Errors: NotAuthenticated."""
    if acts_for and acts_for != name:
        raise NotAuthenticated(
            "Authentication failed: Client requested an authorization id that is"
            " different from username"
        )


def credential_of(
    mechanism: str, password: str, salt: bytes, iterations: int
) -> Credential:
    """What a broker keeps of a password (RFC 5802, section 3). mechanism: of SCRAM.

    The password is taken as it is, as in Apache Kafka, and not prepared by SASLprep.
    """
    digest = HASHES[mechanism]
    name = digest().name
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    return credential_from(mechanism, salted, salt, iterations)


def credential_from(
    mechanism: str, salted_password: bytes, salt: bytes, iterations: int
) -> Credential:
    """The same, from a password that is salted already."""
    digest = HASHES[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", digest)
    return Credential(
        salt=salt,
        stored_key=digest(client_key).digest(),
        server_key=hmac.digest(salted_password, b"Server Key", digest),
        iterations=iterations,
    )
