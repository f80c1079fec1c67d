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
from tests.broker.signed_tokens import key_set, signed

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


@pytest.mark.parametrize(("letters", "is_heard"), [(16_000, True), (16_400, False)])
def test_a_message_of_scram_that_is_far_too_long_is_not_read(letters, is_heard):
    name = "x" * letters
    known = {UserMechanism(name, 1): credential_of("SCRAM-SHA-256", "a", b"s", 4096)}
    login = Scram("SCRAM-SHA-256", known, "servernonce")
    try:
        assert login.answer(f"n,,n={name},r=x".encode(), NOW) and is_heard
    except NotAuthenticated:
        assert not is_heard


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
    """A broker whose listener DOOR asks for a login, and one connection to it. files:
    what stands at URLs.
    """

    def __init__(self, files=None, **properties):
        prefix = "listener.name.door."
        self.files = files or {}
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
            files=self.files,
        )
        self.node.new_broker = lambda: Broker(
            1, config, self.node.disk, Random(7), Trace("broker 1")
        )
        self.node.disk = MemoryDisk()  # the users are those of a new cluster
        self.node.start()
        self.broker = self.node.broker
        self.again()

    def again(self):
        """The client hangs up, and comes again."""
        self.broker.disconnected("door")
        self.broker.connected("door", "DOOR", "127.0.0.1")
        self.broker.outbox.clear()
        return self

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


# -- tokens that somebody has signed (KIP-768)

KEYS = "file:///keys.json"
GOOD = {"sub": "carol", "exp": SOON, "iat": SOON - 4000, "iss": "us", "aud": "kafka"}


def door_of_tokens(written, **properties):
    """written: the key set."""
    given = {
        "sasl_oauthbearer_jwks_endpoint_url": KEYS,
        "sasl_oauthbearer_expected_audience": "other,kafka",
        "sasl_oauthbearer_expected_issuer": "us",
    }
    return Door({KEYS: written}, **(given | properties))


def who_shows(door, shown):
    """Who is let in with this token; None: nobody, and it is said why in two steps."""
    door.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    told = door.ask("SaslAuthenticate", 2, auth_bytes=first_message(shown))
    assert told.error_code == 0
    if not told.auth_bytes:
        return door.client.principal.name
    assert told.auth_bytes == b'{"status":"invalid_token"}'
    assert not door.admitted
    return None


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512"])
@pytest.mark.parametrize("header", [{}, {"kid": "ours"}])
def test_kip_768_a_signed_token_says_whose_it_is(algorithm, header):
    door = door_of_tokens(key_set("other", "ours"))
    shown = signed(GOOD, "ours", algorithm, **header)
    assert who_shows(door, shown) == "carol"


def without(claim):
    """A good token, but for a claim that it lacks."""
    return signed({name: each for name, each in GOOD.items() if name != claim})


def changed(**claims):
    """A good token, but for these claims."""
    return signed(GOOD | claims)


REFUSED = {
    "another key's": lambda: signed(GOOD, "other"),
    "another key's, by our name": lambda: signed(GOOD, "other", kid="ours"),
    "our key's, by another name": lambda: signed(GOOD, kid="other"),
    "unsigned": lambda: token(GOOD),
    "unsigned, with our key's name": lambda: token(
        GOOD, {"alg": "none", "kid": "ours"}
    ),
    "signed, and said to be unsigned": lambda: ".".join(
        [token(GOOD).partition(".")[0], *signed(GOOD).split(".")[1:]]
    ),
    "with what must be understood": lambda: signed(GOOD, crit=["x"]),
    "over": lambda: changed(exp=SOON - 3600 - 31),
    "not yet good": lambda: changed(nbf=SOON - 3600 + 31),
    "without an end": lambda: without("exp"),
    "without a beginning": lambda: without("iat"),
    "from before all times": lambda: changed(iat=-1),
    "from somebody else": lambda: changed(iss="them"),
    "from nobody": lambda: without("iss"),
    "for somebody else": lambda: changed(aud="shop"),
    "for some others": lambda: changed(aud=["shop", "kafk"]),
    "for nobody": lambda: without("aud"),
    "nobody's": lambda: changed(sub=" "),
    "with a scope twice": lambda: changed(scope=["a", " a"]),
    "with an empty scope": lambda: changed(scope=["a", ""]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_kip_768_a_signed_token_that_will_not_do_lets_nobody_in(what):
    door = door_of_tokens(key_set("ours"))
    assert who_shows(door, REFUSED[what]()) is None


STRANGE = [None, [], {}, [[]], [{}], ["RS256"], 1, -1.5, 1e308, 10**400, "", True]


@pytest.mark.parametrize("field", ["alg", "kid", "crit", "typ"])
def test_kip_768_a_header_may_say_anything_and_lets_nobody_in(field):
    for value in STRANGE:
        door = door_of_tokens(key_set("ours"))
        header = {"alg": "RS256"} | {field: value}
        assert who_shows(door, token(GOOD, header, b"x")) is None, value


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf", "iss", "aud", "sub", "scope"])
def test_kip_768_a_claim_may_be_of_any_type_and_harms_nobody(claim):
    """Whoever signs tokens may be mistaken; without a signature anybody writes them."""
    for value in STRANGE:
        shown = GOOD | {claim: value}
        for door, written in (
            (door_of_tokens(key_set("ours")), signed(shown)),
            (Door(), token(shown)),
        ):
            assert who_shows(door, written) in (None, "carol"), value
            assert door.closed is None, value


@pytest.mark.parametrize(
    "part", [0, 1, 2], ids=["the header", "the claims", "the signature"]
)
def test_kip_768_no_part_of_a_signed_token_can_be_exchanged(part):
    parts = signed(GOOD).split(".")
    others = signed(GOOD | {"sub": "mallory"}, "ours", "RS512").split(".")
    parts[part] = others[part]
    door = door_of_tokens(key_set("ours"))
    assert who_shows(door, ".".join(parts)) is None


def test_kip_768_clocks_may_differ_as_far_as_it_is_said():
    just_over = signed(GOOD | {"exp": SOON - 3600 - 29})
    almost = signed(GOOD | {"nbf": SOON - 3600 + 29})
    door = door_of_tokens(key_set("ours"))
    assert who_shows(door, almost) == "carol"
    for seconds, who in ((30, "carol"), (28, None)):
        door = door_of_tokens(
            key_set("ours"), sasl_oauthbearer_clock_skew_seconds=seconds
        )
        assert who_shows(door, just_over) == who


def test_kip_768_the_claim_that_says_whose_a_token_is_has_another_name():
    door = door_of_tokens(key_set("ours"), sasl_oauthbearer_sub_claim_name="email")
    shown = signed(GOOD | {"email": "carol@example.org"})
    assert who_shows(door, shown) == "carol@example.org"


def test_kip_768_keys_are_exchanged_while_the_broker_runs():
    """By a set that has both, as an issuer does it."""
    old, new = (signed(GOOD, name, kid=name) for name in ("old", "new"))
    door = door_of_tokens(key_set("old"))

    def let_in():
        return [who_shows(door.again(), shown) is not None for shown in (old, new)]

    assert let_in() == [True, False]
    door.files[KEYS] = key_set("old", "new")
    assert let_in() == [True, True]
    door.files[KEYS] = key_set("new")
    assert let_in() == [False, True]
    for broken in ("", '{"keys": []}'):
        door.files[KEYS] = broken
        assert let_in() == [False, False]
    del door.files[KEYS]
    assert let_in() == [False, False]


@pytest.mark.parametrize("what", ["audience", "issuer"])
def test_kip_768_a_token_for_anybody_or_from_anybody_has_to_be_allowed(what):
    """Apache Kafka 4.4 does not start either."""
    other = {"audience": "aud", "issuer": "iss"}[what]
    free = {f"sasl_oauthbearer_expected_{what}": ""}
    with pytest.raises(KafkaError, match=f"set sasl.oauthbearer.expected.{what}, or"):
        door_of_tokens(key_set("ours"), **free)
    allowed = free | {f"sasl_oauthbearer_allow_unverified_{what}": "true"}
    door = door_of_tokens(key_set("ours"), **allowed)
    assert who_shows(door, signed(GOOD | {other: "x"})) == "carol"


KEYLESS = {
    "nothing": (lambda: None, "nothing to read at file:///keys.json"),
    "no set": (lambda: "{}", "no JSON Web Key Set"),
    "an empty file": (lambda: "", "no JSON Web Key Set"),
    "an empty set": (lambda: '{"keys": []}', "no RSA key of 2048 bits or more"),
    "a small key": (lambda: key_set("small", bits=1024), "no RSA key of 2048 bits"),
    "a key to encrypt with": (lambda: key_set("ours", use="enc"), "no RSA key"),
}


@pytest.mark.parametrize("what", KEYLESS)
def test_kip_768_a_key_set_that_has_no_key_is_refused_at_the_start(what):
    make, why = KEYLESS[what]
    written = make()
    given = {
        "listener.security.protocol.map": "DOOR:SASL_SSL",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": KEYS,
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "us",
    }
    files = {} if written is None else {KEYS: written}
    config = BrokerConfig({"DOOR": ("localhost", 9093)}, given, files=files)
    with pytest.raises(KafkaError, match=why):
        check_logins(config, "DOOR")


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
