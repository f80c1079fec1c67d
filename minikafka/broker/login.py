"""The login of a connection on a listener that wants one (KIP-43, KIP-152, KIP-368).

                                       a client sends               it may come then
    NEW         nothing is known yet   ApiVersions, SaslHandshake   GREETED, EXCHANGING
    GREETED     it knows our versions  SaslHandshake                EXCHANGING
    EXCHANGING  a mechanism is chosen  SaslAuthenticate             IN, or it is closed
    RAW         the same               the mechanism's messages     IN, or it is closed
    IN          it may ask everything  anything                     EXCHANGING

RAW follows SaslHandshake in version 0, where the mechanism's messages are no requests.
Whoever is IN for a limited time begins again before that ends, with the same mechanism
and as the same user (KIP-368): the next request after the end closes the connection.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.config import BrokerConfig, Random
from minikafka.broker.jaas import Jaas, parse_jaas
from minikafka.broker.mechanisms import (
    OAUTHBEARER,
    PLAIN,
    SCRAM,
    Exchange,
    NotAuthenticated,
    Plain,
    Scram,
)
from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.principals import USER, Principal
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

NEW, GREETED, EXCHANGING, RAW, IN = "new", "greeted", "exchanging", "raw", "in"
SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
# which requests are heard
HEARD = {
    NEW: (API_VERSIONS, SASL_HANDSHAKE),
    GREETED: (SASL_HANDSHAKE,),
    EXCHANGING: (SASL_AUTHENTICATE,),
}
MECHANISMS = (PLAIN, *SCRAM, OAUTHBEARER)
LEAST_BETWEEN_MS = 1000  # how soon a client may log in again
NONCE_BYTES = 24
USER_OPTION = "user_"


class Entrance(NamedTuple):
    """What a listener demands at a login. begin: starts an exchange, for every mechanism
    that is enabled. most_ms: how long such a login lasts; 0: as long as the credential
    itself. delay_ms: how long a failed login waits for its answer.
    """

    begin: Mapping[str, Callable[[], Exchange]]
    most_ms: Mapping[str, int]
    delay_ms: int


@dataclass(slots=True)
class Login:
    """The login of one connection. mechanism: the last one that was begun. user: who it
    is, once IN. ends_ms: when that ends, monotonic.
    """

    entrance: Entrance
    state: str = NEW
    mechanism: str = ""
    user: str | None = None
    ends_ms: int | None = None
    _began_again_ms: int | None = None
    _exchange: Exchange | None = field(default=None, repr=False)
    _is_other_mechanism: bool = False

    def objection(self, frame: bytes | bytearray, now: Now) -> str | None:
        """What is wrong with a request now, as the rest of a sentence about the client;
        None: nothing.
        """
        key = int.from_bytes(frame[:2], "big")
        if self.state == IN:
            is_over = self.ends_ms is not None and now.monotonic_ms > self.ends_ms
            if is_over and key != SASL_HANDSHAKE:
                return "has not logged in again before its session ended"
            return None
        if self._is_other_mechanism:
            return "wanted to log in again with another mechanism"
        if key in HEARD[self.state]:
            return None
        return f"asked for API {key} before it had logged in"

    def greeted(self) -> None:
        """It has asked for our versions."""
        if self.state == NEW:
            self.state = GREETED

    def may_begin(self, now: Now) -> bool:
        """Whether SaslHandshake is heard: the first time, or when a login that ends is
        to be renewed. Notes that it is.
        """
        if self.state in (NEW, GREETED):
            return True
        if self.state != IN or self.ends_ms is None:
            return False
        began_ms = self._began_again_ms
        if began_ms is not None and now.monotonic_ms - began_ms < LEAST_BETWEEN_MS:
            return False
        self._began_again_ms = now.monotonic_ms
        return True

    def begin(self, mechanism: str, version: int) -> None:
        """SaslHandshake has chosen a mechanism that is enabled."""
        if self.user is not None and mechanism != self.mechanism:
            self._is_other_mechanism = True
            self.state = EXCHANGING
            return
        self.mechanism = mechanism
        self._exchange = self.entrance.begin[mechanism]()
        self.state = EXCHANGING if version else RAW

    def answer(self, message: bytes, now: Now) -> bytes:
        """The client's next message of the mechanism. Errors:
        SASL_AUTHENTICATION_FAILED, which says what the client is told.
        """
        exchange = self._exchange
        assert exchange is not None, "a mechanism was chosen"
        try:
            answer = exchange.answer(message, now)
        except NotAuthenticated as error:
            raise _failed(str(error) or self._invalid) from None
        if exchange.user is None:
            return answer
        if self.user is not None and exchange.user != self.user:
            raise _failed(
                f"Cannot change principals during re-authentication from"
                f" {USER}.{self.user}: {USER}.{exchange.user}"
            )
        self.user = exchange.user
        self.state = IN
        self._exchange = None
        lifetime_ms = self._lifetime_ms(exchange.ends_ms, now)
        self.ends_ms = None if lifetime_ms is None else now.monotonic_ms + lifetime_ms
        return answer

    @property
    def _invalid(self) -> str:
        what = "authentication" if self.user is None else "re-authentication"
        return (
            f"Authentication failed during {what} due to invalid credentials with SASL"
            f" mechanism {self.mechanism}"
        )

    def _lifetime_ms(self, ends_ms: int | None, now: Now) -> int | None:
        most_ms = self.entrance.most_ms[self.mechanism]
        ends = [most_ms] if most_ms > 0 else []
        if ends_ms is not None:
            ends.append(ends_ms - now.wall_ms)
        return max(0, min(ends)) if ends else None

    def lifetime_ms(self, now: Now) -> int:
        """How long the session is good from now on, as the client is told: 0 for
        ever.
        """
        return 0 if self.ends_ms is None else max(0, self.ends_ms - now.monotonic_ms)

    @property
    def is_over(self) -> bool:
        """Whether the client is in."""
        return self.state == IN

    @property
    def is_going_on(self) -> bool:
        """Whether the client is in the middle of it."""
        return self.state in (EXCHANGING, RAW)

    @property
    def principal(self) -> Principal:
        assert self.user is not None, "it is in"
        return Principal(USER, self.user)


class Logins:
    """The logins of one node's listeners. random: what nobody can guess comes from
    it.
    """

    def __init__(self, config: BrokerConfig, image: Image, random: Random) -> None:
        self._config = config
        self._image = image
        self._random = random
        self._entrances: dict[str, Entrance] = {}

    def of(self, listener: str) -> Login:
        """A new connection's, on a listener that wants one."""
        entrance = self._entrances.get(listener)
        if entrance is None:
            entrance = self._entrances[listener] = self._entrance(listener)
        return Login(entrance)

    def _entrance(self, listener: str) -> Entrance:
        config = self._config

        def scram(mechanism: str) -> Exchange:
            return Scram(mechanism, self._image.users.credentials, self._nonce())

        begin: dict[str, Callable[[], Exchange]] = {}
        most_ms = {}
        for mechanism in enabled_mechanisms(config, listener):
            if mechanism == PLAIN:
                begin[PLAIN] = partial(Plain, plain_passwords(config, listener))
            elif mechanism in SCRAM:
                begin[mechanism] = partial(scram, mechanism)
            else:
                # loads what only those need who have tokens
                from minikafka.broker.tokens import Bearer

                begin[OAUTHBEARER] = partial(Bearer, token_validator(config, listener))
            most_ms[mechanism] = config.of_listener(
                listener, "connections.max.reauth.ms", mechanism
            )
        return Entrance(
            begin, most_ms, config["connection.failed.authentication.delay.ms"]
        )

    def _nonce(self) -> str:
        return "".join(
            f"{int(self._random.random() * 256):02x}" for _ in range(NONCE_BYTES)
        )


# -- what the configs say


def check_logins(config: BrokerConfig, listener: str) -> None:
    """Check whether clients can log in at a listener, when a broker starts. Errors:
    INVALID_CONFIG.
    """
    for mechanism in enabled_mechanisms(config, listener):
        if mechanism == PLAIN:
            plain_passwords(config, listener)
        elif mechanism == OAUTHBEARER:
            token_validator(config, listener)


def enabled_mechanisms(config: BrokerConfig, listener: str) -> list[str]:
    """Errors: INVALID_CONFIG, for those that aren't there."""
    text = config.of_listener(listener, "sasl.enabled.mechanisms")
    names = [name for name in text.split(",") if name]
    others = [name for name in names if name not in MECHANISMS]
    if others or not names:
        listed = ", ".join(MECHANISMS)
        raise _bad(
            listener,
            f"sasl.enabled.mechanisms={printable(','.join(names))}: clients can log in"
            f" here with {listed}",
        )
    return list(dict.fromkeys(names))


def jaas_of(config: BrokerConfig, listener: str, mechanism: str) -> Jaas | None:
    """What sasl.jaas.config of one mechanism of a listener says. It counts there
    only, as in Apache Kafka.
    """
    name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
    text = config.properties.get(name)
    return None if text is None else parse_jaas(text)


def plain_passwords(config: BrokerConfig, listener: str) -> dict[str, str]:
    """The users of PLAIN, with their passwords. Errors: INVALID_CONFIG."""
    jaas = jaas_of(config, listener, PLAIN)
    passwords = {
        name.removeprefix(USER_OPTION): password
        for name, password in (jaas.options if jaas else {}).items()
        if name.startswith(USER_OPTION)
    }
    if not passwords:
        raise _bad(
            listener,
            "with PLAIN somebody must have a password: "
            f"listener.name.{listener.lower()}.plain.sasl.jaas.config="
            "org.apache.kafka.common.security.plain.PlainLoginModule required"
            ' user_alice="alice-secret";',
        )
    return passwords


def token_validator(config: BrokerConfig, listener: str) -> Any:
    """Checks tokens and finds their owners. Errors: INVALID_CONFIG."""
    from minikafka.broker.tokens import Expected, KeySet, Signed, Unsecured

    def of(name: str) -> Any:
        return config.of_listener(listener, name, OAUTHBEARER)

    def claimed(name: str, allowed: str) -> str:
        """The value a token must have; "" if any will do, which must be allowed."""
        expected: str = of(name) or ""
        if not expected.strip(",") and not of(allowed):
            raise ValueError(f"set {name}, or {allowed}=true if it may be anything")
        return expected

    # Apache Kafka's own validators; which one it is follows from the keys
    of("sasl.server.callback.handler.class")
    url = of("sasl.oauthbearer.jwks.endpoint.url")
    try:
        if not url:
            jaas = jaas_of(config, listener, OAUTHBEARER)
            if jaas is None:
                raise ValueError(
                    "tokens without a signature are accepted if"
                    f" listener.name.{listener.lower()}.oauthbearer.sasl.jaas.config="
                    "org.apache.kafka.common.security.oauthbearer."
                    "OAuthBearerLoginModule required; says so, and signed ones if"
                    " sasl.oauthbearer.jwks.endpoint.url names a file with keys"
                )
            return Unsecured(jaas.options)
        keys = KeySet(config.files, url)
        keys.keys()
        audience = claimed(
            "sasl.oauthbearer.expected.audience",
            "sasl.oauthbearer.allow.unverified.audience",
        )
        issuer = claimed(
            "sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.allow.unverified.issuer",
        )
        expected = Expected(
            [each for each in audience.split(",") if each],
            issuer or None,
            of("sasl.oauthbearer.sub.claim.name"),
            of("sasl.oauthbearer.scope.claim.name"),
            of("sasl.oauthbearer.clock.skew.seconds") * 1000,
        )
        return Signed(keys, expected)
    except ValueError as error:
        raise _bad(listener, f"OAUTHBEARER: {error}") from None


def _failed(why: str) -> KafkaError:
    return KafkaError(Error.SASL_AUTHENTICATION_FAILED, why)


def _bad(listener: str, why: str) -> KafkaError:
    return KafkaError(Error.INVALID_CONFIG, f"listener {listener}: {why}")
