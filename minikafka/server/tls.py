"""What TLS needs on a listener: keys, certificates, whom it trusts; by Kafka's configs
(`ssl.keystore.location` and its like), and by Python's ssl.

Python's ssl reads PEM. PKCS12 is read with the library cryptography, and JKS, which is
Java's own, is refused with the command that makes PKCS12 of it. Nothing secret reaches a
disk here that wasn't on it before: what Python's ssl wants as a file is one in memory
where the system has those, and locked with a password that nobody knows otherwise.
"""

import os
import re
import secrets
import ssl
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from minikafka.broker.certificate_names import Certificate
from minikafka.broker.config import BrokerConfig
from minikafka.server.addresses import CannotServe
from minikafka.trace import printable

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"
BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----(.*?)-----END \1-----", re.DOTALL)
JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # JKS, JCEKS
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
FLIGHTS = 3  # of each side, in a handshake
MOST_BYTES = 1024 * 1024  # of a store
NEEDS_CRYPTOGRAPHY = 'pip install "minikafka[keys]"'


class Keys(NamedTuple):
    """A private key and its certificates, as PEM in one text, and what the key is locked
    with.
    """

    pem: bytes
    password: str


class ListenerTls:
    """The TLS of one listener. config: its configs. listener: its name."""

    def __init__(self, config: BrokerConfig, listener: str) -> None:
        self._config = config
        self._listener = listener

    def context(self, reads_trusted: bool = False) -> ssl.SSLContext:
        """What every connection of the listener begins with. reads_trusted: the truststore
        must be right, even if no client is asked for a certificate. Errors: CannotServe.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # a client that asks for a handshake in the middle makes work for nothing
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.minimum_version, context.maximum_version = self._versions()
        self._load_keys(context)
        context.verify_mode = CLIENT_AUTH[self._text("ssl.client.auth").lower()]
        if reads_trusted or context.verify_mode != ssl.CERT_NONE:
            self._load_trusted(context)
        return context

    def _versions(self) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
        names = self._text("ssl.enabled.protocols").split(",")
        known = [VERSIONS[name] for name in names if name in VERSIONS]
        if len(known) < len(names) or not known:
            what = printable(",".join(names))
            raise self._refused(
                f"ssl.enabled.protocols={what}: there are TLSv1.2 and TLSv1.3 here"
            )
        return min(known), max(known)

    def _load_keys(self, context: ssl.SSLContext) -> None:
        keys = self._keys()
        try:
            with as_file(keys.pem) as path:
                # a function, because without a password ssl asks on the terminal
                context.load_cert_chain(path, password=lambda: keys.password)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise self._refused(
                "the private key and the certificate of ssl.keystore can't be used:"
                f" {reason(error)}"
            ) from None

    def _keys(self) -> Keys:
        chain = self._text("ssl.keystore.certificate.chain")
        key = self._text("ssl.keystore.key")
        password = self._text("ssl.key.password")
        if chain or key:
            if not (chain and key) or self._type("ssl.keystore") != PEM:
                raise self._refused(
                    "ssl.keystore.key and ssl.keystore.certificate.chain go together,"
                    " with ssl.keystore.type=PEM"
                )
            if self._text("ssl.keystore.location"):
                raise self._refused(
                    "there are both ssl.keystore.location and ssl.keystore.key"
                )
            return Keys(lines_of(f"{key}\n{chain}"), password)
        store = self._store("ssl.keystore")
        if store is None:
            raise self._refused(
                "TLS needs a key and a certificate: ssl.keystore.location, with"
                " ssl.keystore.type=PEM or PKCS12 (minikafka keys DIR makes some)"
            )
        if self._type("ssl.keystore") == PEM:
            self._check_no_password("ssl.keystore")
            return Keys(store, password)
        return self._keys_in_pkcs12(store)

    def _load_trusted(self, context: ssl.SSLContext) -> None:
        inline = self._text("ssl.truststore.certificates")
        store = lines_of(inline) if inline else self._store("ssl.truststore")
        if store is None:
            raise self._refused(
                "ssl.client.auth wants certificates of clients: ssl.truststore.location"
                " says whose are trusted"
            )
        if self._type("ssl.truststore") == PEM:
            self._check_no_password("ssl.truststore")
        elif not inline:
            store = self._trusted_in_pkcs12(store)
        try:
            context.load_verify_locations(cadata=store.decode())
        except (ssl.SSLError, ValueError) as error:
            raise self._refused(
                f"the certificates of ssl.truststore can't be used: {reason(error)}"
            ) from None

    # -- stores

    def _text(self, name: str) -> str:
        return str(self._config.of_listener(self._listener, name) or "")

    def _type(self, store: str) -> str:
        """PEM, or PKCS12, which Java reads under the name of JKS, too."""
        kind = self._text(f"{store}.type").upper()
        if kind not in (PEM, PKCS12, JKS):
            raise self._refused(
                f"{store}.type={printable(kind)} is not read here: PEM and PKCS12 are"
            )
        return kind

    def _store(self, store: str) -> bytes | None:
        """The bytes of a keystore or a truststore; None if no file is named."""
        path = self._text(f"{store}.location")
        if not path:
            return None
        shown = printable(path)
        try:
            found = content_of(path)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise self._refused(f"can't read {store}.location={shown}: {why}") from None
        if found.startswith(JKS_MAGIC):
            raise self._refused(
                f"{shown} is a JKS store, which only Java reads. Make PKCS12 of it:"
                f" keytool -importkeystore -srckeystore {shown} -destkeystore"
                f" {shown}.p12 -deststoretype PKCS12"
            )
        if self._type(store) != PEM and b"-----BEGIN " in found:
            raise self._refused(f"{shown} is PEM: say so with {store}.type=PEM")
        return found

    def _check_no_password(self, store: str) -> None:
        if self._text(f"{store}.password"):
            raise self._refused(
                f"{store}.password doesn't go with PEM: only the key has a password,"
                " ssl.key.password"
            )

    def _keys_in_pkcs12(self, store: bytes) -> Keys:
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            PrivateFormat,
        )

        key, certificate, others = self._opened("ssl.keystore", store)
        if key is None or certificate is None:
            raise self._refused("ssl.keystore.location has no private key in it")
        password = secrets.token_hex(32)
        lock = BestAvailableEncryption(password.encode())
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)
        for each in (certificate, *others):
            pem += each.public_bytes(Encoding.PEM)
        return Keys(pem, password)

    def _trusted_in_pkcs12(self, store: bytes) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding

        _, certificate, others = self._opened("ssl.truststore", store)
        found = others if certificate is None else [certificate, *others]
        if not found:
            raise self._refused("ssl.truststore.location has no certificates in it")
        return b"".join(each.public_bytes(Encoding.PEM) for each in found)

    def _opened(self, name: str, store: bytes) -> tuple:  # type: ignore[type-arg]
        """Key, certificate and further certificates of a PKCS12 store."""
        try:
            from cryptography.exceptions import UnsupportedAlgorithm
            from cryptography.hazmat.primitives.serialization.pkcs12 import (
                load_key_and_certificates,
            )
        except ModuleNotFoundError:
            raise self._refused(
                f"{name} is PKCS12, which needs the package cryptography:"
                f" {NEEDS_CRYPTOGRAPHY}. PEM needs nothing"
            ) from None
        password = self._text(f"{name}.password").encode()
        try:
            return load_key_and_certificates(store, password or None)
        except (ValueError, UnsupportedAlgorithm):
            raise self._refused(
                f"{name}.location is no PKCS12 store, or {name}.password is not its own"
            ) from None

    def _refused(self, why: str) -> CannotServe:
        return CannotServe(f"listener {self._listener}: {why}.")


def own_certificate(context: ssl.SSLContext) -> Certificate:
    """The certificate that a server with this context shows, whatever is wrong with it.
    Python's ssl tells a peer's only, so this is a peer. Errors: CannotServe.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    wants, context.verify_mode = context.verify_mode, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(back, there),
        context.wrap_bio(there, back, server_side=True),
    )
    try:
        for _ in range(FLIGHTS):
            for end in ends:
                with suppress(ssl.SSLWantReadError):
                    end.do_handshake()
    except ssl.SSLError as error:
        why = f"no client can use the certificate of ssl.keystore: {reason(error)}."
        raise CannotServe(why) from None
    finally:
        context.verify_mode = wants
    # it is told of a peer that was to be verified
    client.verify_mode = ssl.CERT_REQUIRED
    shown = ends[0].getpeercert()
    assert shown, "a server has a certificate"
    return shown


def lines_of(text: str) -> bytes:
    r"""PEM as a property's value has it: all in one line, perhaps, with \n or spaces where
    lines end.
    """
    lines = []
    for label, body in BLOCK.findall(text.replace("\\n", "\n")):
        content = "".join(body.split())
        lines.append(f"-----BEGIN {label}-----")
        lines += [content[at : at + 64] for at in range(0, len(content), 64)]
        lines.append(f"-----END {label}-----")
    return "\n".join([*lines, ""]).encode()


def content_of(path: str) -> bytes:
    """What is in a file that a client may have named: what isn't one could go on for
    ever. Errors: OSError, ValueError.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is no file")
    with open(path, "rb") as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return found


def reason(error: Exception) -> str:
    """What OpenSSL says, in few words."""
    if isinstance(error, ssl.SSLError):
        if error.reason:
            return error.reason.lower().replace("_", " ")
        return "they are not PEM, or the password is another one"
    return getattr(error, "strerror", None) or "they are not PEM"


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """A path under which these bytes can be read, while that lasts."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("keys", os.MFD_CLOEXEC)
        try:
            os.write(handle, content)
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
        return
    handle, path = tempfile.mkstemp()  # for this user's eyes only
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield path
    finally:
        os.remove(path)
