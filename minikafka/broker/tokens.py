"""OAUTHBEARER (RFC 7628, KIP-255, KIP-768): a client shows a token, a JSON Web Token
(RFC 7519), that says whose it is and until when.

Without `sasl.oauthbearer.jwks.endpoint.url` tokens have no signature, and anybody can
make one: for practice. With it they are signed by somebody whose public keys are there,
with RSA (RS256, RS384, RS512). Keys of other kinds are not used.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from minikafka.broker.mechanisms import NotAuthenticated
from minikafka.clock import Now
from minikafka.trace import printable

_SASLNAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
FIRST = re.compile(rf"n,(?:a=({_SASLNAME}))?,\x01((?:{_PAIR})*)\x01")
AUTH = re.compile(r"(\w+) +([-_~+/.a-zA-Z0-9]+=*)")
REFUSED = b"\x01"  # the client has heard that its token won't do
INVALID, TOO_NARROW = "invalid_token", "insufficient_scope"
PARTS = 3  # of a token: header, claims, signature
FEWEST_BITS = 2048  # of an RSA key (RFC 7518, section 3.3)
# what PKCS #1 puts before a hash: which one it is (RFC 8017, section 9.2)
DIGESTS = {
    "RS256": ("sha256", "3031300d060960864801650304020105000420"),
    "RS384": ("sha384", "3041300d060960864801650304020205000430"),
    "RS512": ("sha512", "3051300d060960864801650304020305000440"),
}


class BadToken(Exception):
    """The token won't do. status: as RFC 6750 says it. scope: what it lacks."""

    def __init__(self, status: str = INVALID, scope: str | None = None) -> None:
        super().__init__(status)
        self.status, self.scope = status, scope


class Shown(NamedTuple):
    """The owner of a token, and when it expires (wall-clock ms)."""

    user: str
    ends_ms: int


class Validator(Protocol):
    """Says whose a token is."""

    def shown(self, token: str, now_ms: int) -> Shown:
        """now_ms: by the wall clock. Errors: BadToken."""


class Bearer:
    """One login by token."""

    def __init__(self, validator: Validator) -> None:
        self.user: str | None = None
        self.ends_ms: int | None = None
        self._validator = validator
        self._refusal = ""

    def answer(self, message: bytes, now: Now) -> bytes:
        """The client's token; or, if that was refused, that it has heard so."""
        if self._refusal and message == REFUSED:
            raise NotAuthenticated(self._refusal)
        acts_for, token = first_message(message)
        try:
            shown = self._validator.shown(token, now.wall_ms)
        except BadToken as error:
            told = {"status": error.status}
            if error.scope is not None:
                told["scope"] = error.scope
            self._refusal = json.dumps(told, separators=(",", ":"))
            return self._refusal.encode()
        if acts_for and acts_for != shown.user:
            raise NotAuthenticated(
                "Authentication failed: Client requested an authorization id"
                f" ({acts_for}) that is different from the token's principal name"
                f" ({shown.user})"
            )
        self.user, self.ends_ms = shown
        return b""


def first_message(message: bytes) -> tuple[str, str]:
    """For whom the client acts, or "", and its token. Errors: NotAuthenticated."""
    match = FIRST.fullmatch(message.decode(errors="replace"))
    if match is None:
        raise NotAuthenticated("")
    pairs = dict(pair.split("=", 1) for pair in match[2].split("\1") if pair)
    auth = AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth[1].lower() != "bearer":
        raise NotAuthenticated("")
    return match[1] or "", auth[2]


class Unsecured:
    """Tokens without a signature. options: of OAuthBearerLoginModule, those that begin
    with unsecuredValidator.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        def option(name: str) -> str:
            return options.get(f"unsecuredValidator{name}", "").strip()

        self._principal_claim = option("PrincipalClaimName") or "sub"
        self._scope_claim = option("ScopeClaimName") or "scope"
        self._required = option("RequiredScope").split()
        self._skew_ms = int(option("AllowableClockSkewMs") or 0)

    def shown(self, token: str, now_ms: int) -> Shown:
        header, claims, signature = parts_of(token)
        if header.get("alg") != "none" or signature:
            raise BadToken
        name = claims.get(self._principal_claim)
        if not isinstance(name, str) or not name.strip():
            raise BadToken
        begins_ms, ends_ms = times_of(claims)
        if begins_ms is not None and begins_ms > now_ms + self._skew_ms:
            raise BadToken
        if now_ms - self._skew_ms >= ends_ms or (begins_ms or 0) >= ends_ms:
            raise BadToken
        scope = scope_of(claims.get(self._scope_claim))
        if not set(self._required) <= scope:
            raise BadToken(TOO_NARROW, f"[{', '.join(self._required)}]")
        return Shown(name, ends_ms)


class Expected(NamedTuple):
    """What a signed token must say. audience: one of these, if any is named. issuer: this
    one, if it is named.
    """

    audience: Sequence[str] = ()
    issuer: str | None = None
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    skew_ms: int = 30_000


class Key(NamedTuple):
    """A public key of RSA. name: by which a token may name it (kid). algorithm: the only
    one that it is for, if it says so.
    """

    name: str | None
    algorithm: str | None
    modulus: int
    exponent: int


class KeySet:
    """The keys that are at a URL now: they may be exchanged while the broker runs, as in
    Apache Kafka. files: what is at each URL.
    """

    def __init__(self, files: Mapping[str, str], url: str) -> None:
        self._files = files
        self._url = url
        self._text: str | None = None
        self._keys: Sequence[Key] = ()

    def keys(self) -> Sequence[Key]:
        """Errors: ValueError, which says why there is none."""
        text = self._files.get(self._url)
        if text is None:
            raise ValueError(f"there is nothing to read at {printable(self._url)}")
        if text != self._text:
            self._keys, self._text = keys_in(text), text
        return self._keys


class Signed:
    """Tokens that one of these keys has signed."""

    def __init__(self, keys: KeySet, expected: Expected) -> None:
        self._keys = keys
        self._expected = expected

    def shown(self, token: str, now_ms: int) -> Shown:
        header, claims, signature = parts_of(token)
        algorithm = header.get("alg")
        named = header.get("kid")
        said = token.rpartition(".")[0].encode()
        if not isinstance(algorithm, str) or algorithm not in DIGESTS:
            raise BadToken
        if "crit" in header:
            raise BadToken
        try:
            keys = self._keys.keys()
        except ValueError:
            raise BadToken from None
        is_signed = False
        for key in keys:
            may_be = named is None or key.name is None or key.name == named
            if may_be and key.algorithm in (None, algorithm):
                is_signed = is_signed or is_signed_by(key, algorithm, said, signature)
        if not is_signed:
            raise BadToken
        return self._shown(claims, now_ms)

    def _shown(self, claims: Mapping[str, Any], now_ms: int) -> Shown:
        expected = self._expected
        begins_ms, ends_ms = times_of(claims)
        not_before_ms = ms_of(claims.get("nbf"))
        if begins_ms is None or begins_ms < 0:
            raise BadToken
        if now_ms - expected.skew_ms >= ends_ms:
            raise BadToken
        if not_before_ms is not None and not_before_ms > now_ms + expected.skew_ms:
            raise BadToken
        if expected.issuer is not None and claims.get("iss") != expected.issuer:
            raise BadToken
        audience = claims.get("aud")
        named = {audience} if isinstance(audience, str) else scope_of(audience)
        if expected.audience and not named & set(expected.audience):
            raise BadToken
        check_scope(claims.get(expected.scope_claim))
        name = claims.get(expected.subject_claim)
        if not isinstance(name, str) or not name.strip():
            raise BadToken
        return Shown(name, ends_ms)


def parts_of(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Header, claims and signature of a token. Errors: BadToken."""
    parts = token.split(".")
    if len(parts) != PARTS:
        raise BadToken
    header, claims = (object_in(part) for part in parts[:2])
    return header, claims, decoded(parts[2])


def decoded(text: str) -> bytes:
    """Base64 for URLs, without the padding. Errors: BadToken."""
    try:
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadToken from None


def object_in(text: str) -> dict[str, Any]:
    try:
        found = json.loads(decoded(text))
    except (ValueError, RecursionError):
        raise BadToken from None
    if not isinstance(found, dict):
        raise BadToken
    return found


def ms_of(seconds: Any) -> int | None:
    """Errors: BadToken, for what is no time."""
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not abs(seconds) < 1e15:
        raise BadToken
    return round(seconds * 1000)


def times_of(claims: Mapping[str, Any]) -> tuple[int | None, int]:
    """When a token was issued, if it says so, and when it ends, in ms. Errors:
    BadToken.
    """
    ends_ms = ms_of(claims.get("exp"))
    if ends_ms is None:
        raise BadToken
    return ms_of(claims.get("iat")), ends_ms


def scope_of(claim: Any) -> set[str]:
    """What a scope allows: a text (of one, as Apache Kafka reads it), or a list."""
    if isinstance(claim, str):
        claim = [claim]
    if not isinstance(claim, list):
        return set()
    return {each.strip() for each in claim if isinstance(each, str) and each.strip()}


def check_scope(claim: Any) -> None:
    """Errors: BadToken, for a scope that says nothing, or the same twice."""
    if isinstance(claim, str):
        claim = [claim]
    if isinstance(claim, list) and len(scope_of(claim)) != len(claim):
        raise BadToken


# -- keys


def keys_in(text: str) -> list[Key]:
    """The keys of a JSON Web Key Set (RFC 7517) that can be used. Errors: ValueError,
    which says why there is none.
    """
    try:
        found = json.loads(text)
        listed = found["keys"]
    except (ValueError, TypeError, KeyError):
        raise ValueError("it is no JSON Web Key Set") from None
    keys = []
    for each in listed:
        is_rsa = isinstance(each, dict) and each.get("kty") == "RSA"
        if not is_rsa or each.get("use", "sig") != "sig":
            continue
        try:
            modulus, exponent = (
                int.from_bytes(decoded(str(each.get(name, ""))), "big")
                for name in ("n", "e")
            )
        except BadToken:
            raise ValueError("a key of it is no number") from None
        if modulus.bit_length() >= FEWEST_BITS and exponent > 1:
            keys.append(Key(each.get("kid"), each.get("alg"), modulus, exponent))
    if not keys:
        raise ValueError(f"it has no RSA key of {FEWEST_BITS} bits or more")
    return keys


def is_signed_by(key: Key, algorithm: str, said: bytes, signature: bytes) -> bool:
    """RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2): what the key makes of the signature is
    the hash, padded. That is compared as a whole.
    """
    size = (key.modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= key.modulus:
        return False
    name, prefix = DIGESTS[algorithm]
    digest = bytes.fromhex(prefix) + hashlib.new(name, said).digest()
    padded = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return pow(number, key.exponent, key.modulus).to_bytes(size, "big") == padded
