"""`minikafka keys DIR`: a certificate authority for practice, a key and certificate for
the broker and one for a client, in PEM and in PKCS12 (which Java reads), and the
configuration that each client wants.

The authority's own key is thrown away: nobody can make a further certificate that these
files trust. All of it is for practice and tests.
"""

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.server.log import log

if TYPE_CHECKING:
    import argparse

PASSWORD = "practice"  # of the PKCS12 stores; Java reads none without one
DAYS = 365
HOSTS = ("localhost", "127.0.0.1", "::1")
WRONG_HOST = "broker.example"
PRIVATE = 0o600
EPOCH_SLACK = timedelta(hours=1)  # clocks differ


class Signer(NamedTuple):
    """A certificate authority: its key, and its certificate."""

    key: Any
    certificate: Any


class Pair(NamedTuple):
    """A key, and its certificate."""

    key: Any
    certificate: Any


def main(args: "argparse.Namespace") -> int:
    """Make the files, and print what to do with them; returns the exit code."""
    folder = Path(args.folder)
    try:
        make(folder, args.host or HOSTS, args.client, args.expired, args.wrong_name)
    except FileExistsError as error:
        log(f"{error.filename} is there already: name a new folder, or an empty one.")
        return 1
    except OSError as error:
        log(f"can't write to {folder}: {error.strerror}.")
        return 1
    print(instructions(folder.resolve(), args.client))
    return 0


def make(
    folder: Path,
    hosts: Sequence[str] = HOSTS,
    client: str = "alice",
    expired: bool = False,
    wrong_name: bool = False,
) -> None:
    """Write ca, broker and client to a folder. hosts: the names and addresses that the
    broker's certificate is for. client: the name in the client's. expired: both ended
    yesterday. wrong_name: the broker's is for another host. Errors: OSError;
    FileExistsError, if any of it is there.
    """
    days = -1 if expired else DAYS
    if wrong_name:
        hosts = (WRONG_HOST,)
    authority = new_authority("minikafka practice CA")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "ca.pem", pem(authority.certificate))
    write(folder / "truststore.p12", trust_store(authority.certificate))
    for name, common_name, names in (
        ("broker", hosts[0], hosts),
        ("client", client, ()),
    ):
        pair = signed(authority, common_name, names, days)
        both = key_pem(pair.key) + pem(pair.certificate)
        write(folder / f"{name}.pem", both)
        write(folder / f"{name}.p12", key_store(name, pair, authority))


# --- certificates ---


def new_authority(name: str) -> Signer:
    """A certificate authority that trusts nobody but itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = named(name)
    own = x509.BasicConstraints(ca=True, path_length=0)
    usage = key_usage(signs_certificates=True)
    certificate = (
        begun(subject, subject, key.public_key(), DAYS)
        .add_extension(own, critical=True)
        .add_extension(usage, critical=True)
    )
    return Signer(key, sealed(certificate, key))


def signed(signer: Signer, name: str, hosts: Sequence[str], days: int) -> Pair:
    """A new key, with a certificate for these hosts; none: a client's. days: how long it
    is good, from now on; less than none: it ended so many days ago.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

    key = ec.generate_private_key(ec.SECP256R1())
    issuer = signer.certificate.subject
    uses = [Usage.CLIENT_AUTH]
    if hosts:  # a broker is a client of the other brokers, too
        uses.append(Usage.SERVER_AUTH)
    certificate = (
        begun(issuer, named(name), key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    )
    if hosts:
        names = x509.SubjectAlternativeName([alternative(host) for host in hosts])
        certificate = certificate.add_extension(names, critical=False)
    return Pair(key, sealed(certificate, signer.key))


def named(name: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def alternative(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def begun(issuer: Any, subject: Any, public_key: Any, days: int) -> Any:
    """A certificate without extensions yet."""
    from cryptography import x509

    now = datetime.now(UTC)
    ends = now + timedelta(days=days)
    begins = min(now, ends - timedelta(days=DAYS)) - EPOCH_SLACK
    return (
        x509.CertificateBuilder()
        .issuer_name(issuer)
        .subject_name(subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False
        )
    )


def key_usage(signs_certificates: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def sealed(certificate: Any, key: Any) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    whole = certificate.add_extension(issuer_key, critical=False)
    return whole.sign(key, hashes.SHA256())


# --- files ---


def pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    found: bytes = certificate.public_bytes(Encoding.PEM)
    return found


def key_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    found: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return found


def key_store(name: str, pair: Pair, signer: Signer) -> bytes:
    """PKCS12 with the key and the certificates up to the authority's."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        pkcs12,
    )

    lock = BestAvailableEncryption(PASSWORD.encode())
    return pkcs12.serialize_key_and_certificates(
        name.encode(), pair.key, pair.certificate, [signer.certificate], lock
    )


def trust_store(certificate: Any) -> bytes:
    """PKCS12 with one certificate that Java takes for trusted."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        pkcs12,
    )

    lock = BestAvailableEncryption(PASSWORD.encode())
    trusted = pkcs12.PKCS12Certificate(certificate, b"ca")
    return pkcs12.serialize_java_truststore([trusted], lock)


def write(path: Path, content: bytes) -> None:
    """A new file, for this user's eyes only."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def instructions(folder: Path, client: str) -> str:
    """What to give the broker, and each client."""
    return INSTRUCTIONS.format(folder=folder, client=client, password=PASSWORD)


INSTRUCTIONS = """\
{folder} has a certificate authority (ca.pem, truststore.p12), a broker and a client ({client}): each in PEM and in
PKCS12 (password: {password}). For practice and tests.

A broker with TLS on port 9093, which knows {client} by the certificate:
  minikafka serve --override listeners=SSL://localhost:9093 --override ssl.client.auth=required \\
    --override ssl.keystore.type=PEM --override ssl.keystore.location={folder}/broker.pem \\
    --override ssl.truststore.type=PEM --override ssl.truststore.location={folder}/ca.pem

kafka-python and aiokafka (which wants ssl_context=ssl_context instead of the three files):
  KafkaProducer(bootstrap_servers="localhost:9093", security_protocol="SSL", ssl_cafile="{folder}/ca.pem",
                ssl_certfile="{folder}/client.pem", ssl_keyfile="{folder}/client.pem")
  from aiokafka.helpers import create_ssl_context
  ssl_context = create_ssl_context(cafile="{folder}/ca.pem", certfile="{folder}/client.pem",
                keyfile="{folder}/client.pem")

confluent-kafka and everything else on librdkafka:
  bootstrap.servers=localhost:9093
  security.protocol=SSL
  ssl.ca.location={folder}/ca.pem
  ssl.certificate.location={folder}/client.pem
  ssl.key.location={folder}/client.pem

Java (and Kafka's tools, with --command-config FILE):
  bootstrap.servers=localhost:9093
  security.protocol=SSL
  ssl.truststore.type=PKCS12
  ssl.truststore.location={folder}/truststore.p12
  ssl.truststore.password={password}
  ssl.keystore.type=PKCS12
  ssl.keystore.location={folder}/client.p12
  ssl.keystore.password={password}
  ssl.key.password={password}

Spark: Java's options, each with kafka. before it:
  .option("kafka.bootstrap.servers", "localhost:9093").option("kafka.security.protocol", "SSL")
  .option("kafka.ssl.truststore.type", "PKCS12").option("kafka.ssl.truststore.location", "{folder}/truststore.p12")
  .option("kafka.ssl.truststore.password", "{password}") and the keystore's in the same way

With a password instead of the client's certificate: for the broker listeners=SASL_SSL://localhost:9093,
sasl.enabled.mechanisms=SCRAM-SHA-256 and --add-scram 'SCRAM-SHA-256=[name={client},password=...]', without
ssl.client.auth; for the clients security.protocol=SASL_SSL and sasl.mechanism=SCRAM-SHA-256, with the password
(kafka-python: sasl_mechanism, sasl_plain_username, sasl_plain_password).
"""
