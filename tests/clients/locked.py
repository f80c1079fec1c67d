"""A broker whose listeners have locks, minikafka or Apache Kafka with the same
configuration, and how clients try to come in.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from minikafka.server import keys
from minikafka.server.embedded import Served
from tests.clients.brokers import overrides
from tests.kafka import ApacheKafka, free_ports

LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "ONLY_SCRAM": "SASL_PLAINTEXT",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
MODULE = "org.apache.kafka.common.security.{} required{};"
USERS = {"PLAIN": ("bob", "bob-secret"), "SCRAM-SHA-256": ("alice", "alice-secret")}
USERS["SCRAM-SHA-512"] = USERS["SCRAM-SHA-256"]
PATIENCE_S = 60
NO_MORE: Mapping[str, str] = MappingProxyType({})


def stores(folder: Path, listener: str = "") -> dict[str, str]:
    """The configs of keys in a folder, of one listener or of all."""
    prefix = f"listener.name.{listener.lower()}." if listener else ""
    return {
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.location": str(folder / "broker.pem"),
        f"{prefix}ssl.truststore.type": "PEM",
        f"{prefix}ssl.truststore.location": str(folder / "ca.pem"),
    }


def properties(folder: Path, ports: list[int]) -> dict[str, str]:
    """Of the broker under test and of Apache Kafka alike."""
    listeners = ",".join(
        f"{name}://localhost:{port}"
        for name, port in zip(LISTENERS, ports, strict=True)
    )
    found = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in LISTENERS.items()
        ),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.only_scram.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.mutual.ssl.client.auth": "required",
    }
    found |= stores(folder / "good") | stores(folder / "expired", "EXPIRED")
    found |= stores(folder / "elsewhere", "ELSEWHERE")
    for listener in ("sasl_plaintext", "sasl_ssl", "only_scram"):
        prefix = f"listener.name.{listener}."
        name, password = USERS["PLAIN"]
        found |= {
            f"{prefix}plain.sasl.jaas.config": MODULE.format(
                "plain.PlainLoginModule", f' user_{name}="{password}"'
            ),
            f"{prefix}oauthbearer.sasl.jaas.config": MODULE.format(
                "oauthbearer.OAuthBearerLoginModule", ""
            ),
        }
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            found[f"{prefix}{mechanism}.sasl.jaas.config"] = MODULE.format(
                "scram.ScramLoginModule", ""
            )
    return found


def make_keys(folder: Path) -> None:
    keys.make(folder / "good", ("localhost",))
    keys.make(folder / "expired", ("localhost",), expired=True)
    keys.make(folder / "elsewhere", wrong_name=True)
    keys.make(folder / "other", ("localhost",))


class Locked:
    """A broker with these listeners. port: of each, by name. said(): what it has
    reported.
    """

    def __init__(self, folder: Path, ports: list[int], said: Callable[[], str]) -> None:
        self.folder, self.said = folder, said
        self.port = dict(zip(LISTENERS, ports, strict=True))

    def at(self, listener: str) -> str:
        return f"localhost:{self.port[listener]}"


@contextmanager
def locked_minikafka(
    folder: Path, more: Mapping[str, str] = NO_MORE, data: Path | None = None
) -> Iterator[Locked]:
    """more: configs beside those of the listeners. data: a folder to keep."""
    ports = free_ports(len(LISTENERS))
    options = overrides({**properties(folder, ports), **more})
    with Served(data, options=options) as kafka:
        made = Locked(folder, ports, kafka.said)
        add_users(made)
        yield made
        said = kafka.said()
        assert "Traceback" not in said, said
        assert "secret" not in said, said


@contextmanager
def locked_apache_kafka(
    folder: Path, more: Mapping[str, str] = NO_MORE, data: Path | None = None
) -> Iterator[Locked]:
    *ports, controller = free_ports(len(LISTENERS) + 1)
    given = properties(folder, ports)
    given["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
    given["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
    given["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
    given["inter.broker.listener.name"] = "PLAINTEXT"
    kafka = ApacheKafka({**given, **more}, data=data)
    kafka.port = ports[0]
    with kafka:
        made = Locked(folder, ports, kafka.log)
        add_users(made)
        yield made


def add_users(broker: Locked) -> None:
    """The first users of SCRAM, over the listener without a lock."""
    name, password = USERS["SCRAM-SHA-256"]
    admin = AdminClient({"bootstrap.servers": broker.at("PLAINTEXT")})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        added = UserScramCredentialUpsertion(name, info, password.encode())
        for future in admin.alter_user_scram_credentials([added]).values():
            future.result(PATIENCE_S)


class Try:
    """How a client is to connect. protocol: what it takes the listener for. trusts,
    shows: folders of the authority that it trusts and of its own certificate.
    """

    def __init__(
        self,
        listener: str,
        protocol: str = "",
        mechanism: str = "",
        password: str = "",
        trusts: str = "good",
        shows: str = "",
    ) -> None:
        self.listener = listener
        self.protocol = protocol or LISTENERS[listener]
        self.mechanism = mechanism
        self.user, self.password = USERS.get(mechanism, ("carol", ""))
        self.password = password or self.password
        self.trusts, self.shows = trusts, shows
        self.patience_ms = 30_000

    def ca(self, broker: Locked) -> str:
        return str(broker.folder / self.trusts / "ca.pem")

    def own(self, broker: Locked) -> str | None:
        return str(broker.folder / self.shows / "client.pem") if self.shows else None


def token() -> str:
    """One that nobody has signed, of carol."""
    claims = {"sub": "carol", "exp": time.time() + 3600, "iat": time.time() - 1}
    parts = [json.dumps(each).encode() for each in ({"alg": "none"}, claims)]
    return (
        ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)
        + "."
    )


CONNECTING = {
    "plain": Try("PLAINTEXT"),
    "TLS": Try("SSL"),
    "mutual TLS": Try("MUTUAL", shows="good"),
} | {
    f"{mechanism} at {listener}": Try(listener, mechanism=mechanism)
    for listener in ("SASL_PLAINTEXT", "SASL_SSL")
    for mechanism in MECHANISMS
}
FAILING = {
    "wrong password of PLAIN": Try("SASL_SSL", mechanism="PLAIN", password="no"),
    "wrong password of SCRAM": Try(
        "SASL_SSL", mechanism="SCRAM-SHA-256", password="no"
    ),
    "a mechanism that is not enabled": Try("ONLY_SCRAM", mechanism="PLAIN"),
    "wrong authority": Try("SSL", trusts="other"),
    "expired certificate": Try("EXPIRED", trusts="expired"),
    "wrong name": Try("ELSEWHERE", trusts="elsewhere"),
    "no certificate": Try("MUTUAL"),
    "unknown certificate": Try("MUTUAL", shows="other"),
    "a plain client at TLS": Try("SSL", "PLAINTEXT"),
    "a TLS client without TLS": Try("PLAINTEXT", "SSL"),
    "no login where one is asked for": Try("SASL_PLAINTEXT", "PLAINTEXT"),
    "a login where none is asked for": Try(
        "PLAINTEXT", "SASL_PLAINTEXT", mechanism="PLAIN"
    ),
}
for _how in FAILING.values():
    _how.patience_ms = 3_000
