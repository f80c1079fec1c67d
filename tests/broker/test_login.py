"""Who a client is: PLAIN (RFC 4616), SCRAM (RFC 5802, RFC 7677) and OAUTHBEARER (RFC
7628) by their messages, and the login around them (KIP-43, KIP-152, KIP-368).
"""

import base64
import hashlib
import hmac
import json
from random import Random

import pytest

from minikafka.broker.broker import Broker
from minikafka.broker.certificate_names import distinguished_name, name_by, rules_in
from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import Admitted, Close, Reply
from minikafka.broker.jaas import parse_jaas
from minikafka.broker.login import check_logins
from minikafka.broker.mechanisms import (
    NotAuthenticated,
    Plain,
    Scram,
    credential_of,
)
from minikafka.clock import Now
from minikafka.cluster.users import UserMechanism
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from tests.broker.node import WALL_MS, Node

NOW = Now(0, WALL_MS)
MODULE = "org.apache.kafka.common.security.{}LoginModule required"
PLAIN_USERS = f'{MODULE.format("plain.Plain")} user_alice="a;\\"1" user_bob="b";'
DELAY_MS = 100  # connection.failed.authentication.delay.ms


# -- mechanisms


def test_scram_sha_256_says_what_rfc_7677_says():
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    known = credential_of("SCRAM-SHA-256", "pencil", salt, 4096)
    nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    login = Scram("SCRAM-SHA-256", {UserMechanism("user", 1): known}, nonce)
    first = login.answer(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", NOW)
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = login.answer(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        NOW,
    )
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert login.user == "user"


def scram_client(mechanism, user, password, answer, header="n,,", proof_of=None):
    """Log in as RFC 5802 has it; returns whether the server proved itself, too."""
    name = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism]
    saslname = user.replace("=", "=3D").replace(",", "=2C")
    bare = f"n={saslname},r=clientnonce"
    first = answer(f"{header}{bare}".encode()).decode()
    said = dict(part.split("=", 1) for part in first.split(","))
    salted = hashlib.pbkdf2_hmac(
        name, password.encode(), base64.b64decode(said["s"]), int(said["i"])
    )
    binding = base64.b64encode(header.encode()).decode()
    without_proof = f"c={binding},r={said['r']}"
    message = f"{bare},{first},{without_proof}".encode()
    key = hmac.digest(salted, b"Client Key", name)
    signature = hmac.digest(hashlib.new(name, key).digest(), message, name)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    sent = base64.b64encode(proof_of(proof) if proof_of else proof).decode()
    final = answer(f"{without_proof},p={sent}".encode())
    own = hmac.digest(hmac.digest(salted, b"Server Key", name), message, name)
    return final == b"v=" + base64.b64encode(own)


@pytest.mark.parametrize(
    ("mechanism", "number"), [("SCRAM-SHA-256", 1), ("SCRAM-SHA-512", 2)]
)
@pytest.mark.parametrize("user", ["alice", "a,b=c", "Zoë".encode().decode("latin-1")])
def test_scram_lets_in_who_knows_the_password(mechanism, number, user):
    known = credential_of(mechanism, "sécret", b"salt", 4096)
    login = Scram(mechanism, {UserMechanism(user, number): known}, "servernonce")
    if not user.isascii():  # Apache Kafka's messages hold no others
        with pytest.raises(NotAuthenticated):
            scram_client(mechanism, user, "sécret", lambda m: login.answer(m, NOW))
        return
    assert scram_client(mechanism, user, "sécret", lambda m: login.answer(m, NOW))
    assert login.user == user


def test_scram_says_nothing_of_why_it_lets_nobody_in():
    known = {UserMechanism("alice", 1): credential_of("SCRAM-SHA-256", "a", b"s", 4096)}
    tries = {
        "wrong password": ("alice", "b", "n,,", None),
        "unknown user": ("mallory", "a", "n,,", None),
        "no proof": ("alice", "a", "n,,", lambda proof: b""),
        "another proof": ("alice", "a", "n,,", lambda proof: proof[::-1]),
        "a delegation token": ("alice,tokenauth=true", "a", "n,,", None),
    }
    for what, (user, password, header, proof_of) in tries.items():
        login = Scram("SCRAM-SHA-256", known, "servernonce")
        with pytest.raises(NotAuthenticated) as error:
            scram_client(
                "SCRAM-SHA-256",
                user,
                password,
                lambda m, login=login: login.answer(m, NOW),
                header,
                proof_of,
            )
        assert str(error.value) == "", what
        assert login.user is None, what


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"\0alice\0a", None),
        (b"alice\0alice\0a", None),
        (b"\0alice\0b", "Authentication failed: Invalid username or password"),
        (b"\0bob\0a", "Authentication failed: Invalid username or password"),
        (b"\0\0a", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0alice\0a\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (
            b"root\0alice\0a",
            "Authentication failed: Client requested an authorization id that is"
            " different from username",
        ),
    ],
)
def test_plain_says_what_apache_kafka_says(message, why):
    login = Plain({"alice": "a"})
    if why is None:
        assert login.answer(message, NOW) == b""
        assert login.user == "alice"
        return
    with pytest.raises(NotAuthenticated) as error:
        login.answer(message, NOW)
    assert (str(error.value), login.user) == (why, None)


# -- the login


class Door:
    """A broker whose listener DOOR asks for a login, and one connection to it."""

    def __init__(self, **properties):
        prefix = "listener.name.door."
        self.node = Node()
        given = {
            "listener.security.protocol.map": "DOOR:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
            f"{prefix}plain.sasl.jaas.config": PLAIN_USERS,
            f"{prefix}oauthbearer.sasl.jaas.config": MODULE.format(
                "oauthbearer.OAuthBearer"
            )
            + ";",
        } | {name.replace("_", "."): str(text) for name, text in properties.items()}
        known = credential_of("SCRAM-SHA-256", "a", b"salt", 4096)
        config = BrokerConfig(
            {"PLAINTEXT": ("localhost", 9092), "DOOR": ("localhost", 9093)},
            given,
            first_users=[(UserMechanism("alice", 1), known)],
        )
        self.node.new_broker = lambda: Broker(
            1, config, self.node.disk, Random(7), Trace("broker 1")
        )
        self.node.disk = MemoryDisk()  # the users are those of a new cluster
        self.node.start()
        self.broker = self.node.broker
        self.broker.connected("door", "DOOR", "127.0.0.1")
        self.broker.outbox.clear()

    @property
    def client(self):
        return self.broker.requests.clients["door"]

    def ask(self, api, version, **body):
        """The answer; None, if there is none (yet)."""
        request = messages.encode_request(api, version, 1, "client", body)
        return self.send(b"".join(request), api, version)

    def send(self, frame, api=None, version=0):
        self.broker.receive("door", bytearray(frame), self.node.now)
        return self.answer(api, version)

    def answer(self, api=None, version=0):
        self.closed = None
        self.admitted = False
        found = None
        for effect in self.broker.outbox:
            if isinstance(effect, Close):
                self.closed = effect.why
            elif isinstance(effect, Admitted):
                self.admitted = True
            elif isinstance(effect, Reply):
                self.closed = effect.last
                found = b"".join(map(bytes, effect.frame))
        self.broker.outbox.clear()
        if found is None or api is None:
            return found
        return messages.decode_response(api, version, bytearray(found))[1]

    def later(self, ms, api=None, version=0):
        self.node.pass_time(ms)
        return self.answer(api, version)

    def plain(self, password='a;"1', user="alice"):
        self.ask("SaslHandshake", 1, mechanism="PLAIN")
        token = f"\0{user}\0{password}".encode()
        return self.ask("SaslAuthenticate", 2, auth_bytes=token)


def test_before_a_login_only_versions_and_the_login_are_answered():
    for api, version in (("Metadata", 1), ("ListGroups", 0), ("SaslAuthenticate", 1)):
        door = Door()
        assert door.ask(api, version) is None
        assert door.closed is None
        assert door.later(DELAY_MS) is None
        assert "before it had logged in" in door.closed
    door = Door()
    assert door.ask(
        "ApiVersions", 3, client_software_name="x", client_software_version="1"
    )
    assert door.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
    assert door.ask("Metadata", 1) is None
    door.later(DELAY_MS)
    assert "before it had logged in" in door.closed


def test_versions_are_asked_once_and_a_version_too_new_may_be_asked_again():
    door = Door()
    frame = (18).to_bytes(2, "big") + (99).to_bytes(2, "big") + bytes(4) + b"\xff\xff"
    assert door.send(frame) is not None
    assert door.ask("ApiVersions", 0)
    assert door.ask("ApiVersions", 0) is None
    door.later(DELAY_MS)
    assert "before it had logged in" in door.closed


def test_whoever_logs_in_is_that_principal():
    door = Door()
    assert str(door.client.principal) == "User:ANONYMOUS"
    answer = door.plain()
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (
        0,
        b"",
        0,
    )
    assert door.admitted
    assert str(door.client.principal) == "User:alice"
    assert door.ask("Metadata", 1, topics=None).brokers[0].port == 9093
    again = door.ask("SaslHandshake", 1, mechanism="PLAIN")
    assert again.error_code == Error.ILLEGAL_SASL_STATE
    refused = door.ask("SaslAuthenticate", 1, auth_bytes=b"")
    assert refused.error_message == (
        "SaslAuthenticate request received after successful authentication"
    )


def test_a_wrong_password_waits_for_its_answer_and_the_connection_is_closed():
    door = Door()
    assert door.plain("b") is None
    assert door.later(DELAY_MS - 1) is None
    answer = door.later(1, "SaslAuthenticate", 2)
    assert answer.error_code == Error.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert door.closed == "failed to log in by PLAIN"
    assert not door.admitted
    door = Door(connection_failed_authentication_delay_ms=0)
    assert door.plain("b").error_code == Error.SASL_AUTHENTICATION_FAILED
    assert door.closed


def test_a_mechanism_that_is_not_enabled_is_named_with_those_that_are():
    door = Door()
    assert door.ask("SaslHandshake", 1, mechanism="GSSAPI") is None
    answer = door.later(DELAY_MS, "SaslHandshake", 1)
    assert answer.error_code == Error.UNSUPPORTED_SASL_MECHANISM
    assert set(answer.mechanisms) == {"PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"}
    assert "GSSAPI" in door.closed


def test_scram_over_sasl_authenticate_and_what_a_failure_says():
    door = Door()
    door.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256")

    def answer(message):
        return door.ask("SaslAuthenticate", 2, auth_bytes=message).auth_bytes

    assert scram_client("SCRAM-SHA-256", "alice", "a", answer)
    assert str(door.client.principal) == "User:alice"
    door = Door()
    door.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256")
    door.ask("SaslAuthenticate", 2, auth_bytes=b"n,,n=mallory,r=x")
    assert door.later(DELAY_MS, "SaslAuthenticate", 2).error_message == (
        "Authentication failed during authentication due to invalid credentials with"
        " SASL mechanism SCRAM-SHA-256"
    )


def test_after_handshake_0_the_messages_are_no_requests():
    door = Door()
    door.ask("SaslHandshake", 0, mechanism="PLAIN")
    assert door.send(b'\0alice\0a;"1') == b""
    assert door.admitted and str(door.client.principal) == "User:alice"
    door = Door()
    door.ask("SaslHandshake", 0, mechanism="PLAIN")
    assert door.send(b"\0alice\0b") is None
    assert door.later(DELAY_MS) is None
    assert door.closed == "failed to log in by PLAIN"


def test_a_session_ends_unless_its_client_logs_in_again():
    """KIP-368."""
    door = Door(connections_max_reauth_ms=5000)
    assert door.plain().session_lifetime_ms == 5000
    door.later(4000)
    assert door.plain().session_lifetime_ms == 5000
    door.later(4000)
    assert door.ask("Metadata", 1, topics=[]) is not None
    door.later(1001)
    assert door.ask("Metadata", 1, topics=[]) is None
    door.later(DELAY_MS)
    assert door.closed == "has not logged in again before its session ended"


def test_logging_in_again_is_for_the_same_user_by_the_same_mechanism():
    door = Door(connections_max_reauth_ms=5000)
    door.plain()
    door.later(2000)
    door.plain("b", "bob")
    assert door.later(DELAY_MS, "SaslAuthenticate", 2).error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )
    door = Door(connections_max_reauth_ms=5000)
    door.plain()
    door.later(2000)
    assert door.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256").error_code == 0
    assert door.ask("SaslAuthenticate", 2, auth_bytes=b"x") is None
    door.later(DELAY_MS)
    assert door.closed == "wanted to log in again with another mechanism"
    door = Door(connections_max_reauth_ms=5000)
    door.plain()
    assert door.ask("SaslHandshake", 1, mechanism="PLAIN").error_code == 0
    door.ask("SaslAuthenticate", 2, auth_bytes=b'\0alice\0a;"1')
    soon = door.ask("SaslHandshake", 1, mechanism="PLAIN")
    assert soon.error_code == Error.ILLEGAL_SASL_STATE


# -- tokens


def token(claims, header=None, signature=b""):
    parts = [
        json.dumps(header or {"alg": "none"}).encode(),
        json.dumps(claims).encode(),
    ]
    return ".".join(
        base64.urlsafe_b64encode(part).rstrip(b"=").decode()
        for part in [*parts, signature]
    )


def first_message(shown):
    return f"n,,\1auth=Bearer {shown}\1\1".encode()


SOON = WALL_MS // 1000 + 3600


def test_a_token_without_a_signature_says_whose_it_is_and_until_when():
    door = Door()
    door.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    shown = first_message(token({"sub": "carol", "exp": SOON, "iat": SOON - 4000}))
    answer = door.ask("SaslAuthenticate", 2, auth_bytes=shown)
    assert answer.session_lifetime_ms == 3_600_000
    assert str(door.client.principal) == "User:carol"


@pytest.mark.parametrize(
    "shown",
    [
        token({"sub": "carol", "exp": SOON - 3600}),
        token({"sub": "carol"}),
        token({"exp": SOON}),
        token({"sub": "carol", "exp": SOON, "iat": SOON}),
        token({"sub": "carol", "exp": SOON}, {"alg": "RS256"}),
        token({"sub": "carol", "exp": SOON}, signature=b"x"),
        token({"sub": "carol", "exp": "never"}),
        "no.token",
    ],
)
def test_a_token_that_will_not_do_is_refused_in_two_steps(shown):
    """RFC 7628, section 3.2.3."""
    door = Door()
    door.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    told = door.ask("SaslAuthenticate", 2, auth_bytes=first_message(shown))
    assert (told.error_code, told.auth_bytes) == (0, b'{"status":"invalid_token"}')
    assert door.ask("SaslAuthenticate", 2, auth_bytes=b"\1") is None
    refused = door.later(DELAY_MS, "SaslAuthenticate", 2)
    assert refused.error_message == '{"status":"invalid_token"}'


# -- configs


def test_the_options_of_a_login_module():
    jaas = parse_jaas(PLAIN_USERS)
    assert jaas.module == "PlainLoginModule"
    assert jaas.options == {"user_alice": 'a;"1', "user_bob": "b"}
    for bad in (
        "",
        "required;",
        f"{MODULE} user_a=secret",
        f'{MODULE} user_a="secret";x',
    ):
        with pytest.raises(KafkaError, match="can't be read") as error:
            parse_jaas(bad)
        assert "secret" not in error.value.message


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "GSSAPI: clients can log in"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "somebody must have a password"),
        ({"sasl.enabled.mechanisms": "OAUTHBEARER"}, "tokens without a signature"),
    ],
)
def test_a_lock_that_would_not_be_there_is_refused(properties, why):
    given = {"listener.security.protocol.map": "DOOR:SASL_SSL"} | properties
    config = BrokerConfig({"DOOR": ("localhost", 9093)}, given)
    with pytest.raises(KafkaError, match=why):
        check_logins(config, "DOOR")


SUBJECT = (
    (("countryName", "DE"),),
    (("organizationName", "Example, Inc."),),
    (("organizationalUnitName", "shop"),),
    (("commonName", "alice"),),
)


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", "CN=alice,OU=shop,O=Example\\, Inc.,C=DE"),
        ("RULE:^CN=(.*?),.*$/$1/", "alice"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$2-$1/U, DEFAULT", "SHOP-ALICE"),
        ("RULE:^UID=(.*)$/$1/,RULE:^CN=([^,]*).*$/$1@$3/L", "alice@$3"),
        ("RULE:^UID=(.*)$/$1/", None),
    ],
)
def test_a_rule_makes_a_name_of_a_certificate(rules, name):
    """KIP-371."""
    assert name_by(rules_in(rules), distinguished_name(SUBJECT)) == name
