"""Requests about who a client is: a login (SASL), where the listener asks for one; and
delegation tokens, which nobody gets. Stored credentials are in users.py, access rules
in acls.py.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minikafka.broker.calls import (
    Call,
    Disconnect,
    Parting,
    Raw,
    Served,
    Welcome,
    as_listed,
    error_fields,
)
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.login import Login

NO_TIME = -1


@dataclass(eq=False, repr=False)
class SecurityHandlers:
    """Handles requests about SASL and delegation tokens."""

    # -- SASL

    def sasl_handshake(self, request: Call, now: Now) -> Served:
        """SaslHandshake (KIP-43): which mechanism a client logs in by.

        - One that is not enabled: UNSUPPORTED_SASL_MECHANISM, and those that are; then
          the connection is closed.
        - ILLEGAL_SASL_STATE on a listener without logins, or when a login that doesn't
          end was made already.

        Versions: 0 and 1.

        - 0 lets the mechanism's messages follow as they are; 1 in SaslAuthenticate.
        """
        login = request.client.login
        if login is None or not login.may_begin(now):
            return {"error_code": Error.ILLEGAL_SASL_STATE, "mechanisms": []}
        mechanism = request.body.mechanism
        answer: Answer = {
            "error_code": Error.NONE,
            "mechanisms": as_listed(login.entrance.begin),
        }
        if mechanism not in login.entrance.begin:
            answer["error_code"] = Error.UNSUPPORTED_SASL_MECHANISM
            what = f"wanted to log in by {printable(mechanism)}, which is not enabled"
            return failed_login(request, Parting(answer, what), now)
        login.begin(mechanism, request.version)
        return answer

    def sasl_authenticate(self, request: Call, now: Now) -> Served:
        """SaslAuthenticate (KIP-152, KIP-368): the messages of a mechanism.

        - SASL_AUTHENTICATION_FAILED comes after a delay, and the connection is closed.
        - ILLEGAL_SASL_STATE where no login is going on.

        Versions: 0 to 2.

        - 1 says how long the session is good: a client logs in again before.
        """
        login = request.client.login
        if login is None or not login.is_going_on:
            why = "SaslAuthenticate request received after successful authentication"
            raise KafkaError(Error.ILLEGAL_SASL_STATE, why)
        try:
            message = login.answer(bytes(request.body.auth_bytes), now)
        except KafkaError as error:
            answer = error_fields(error)
            return failed_login(request, Parting(answer, not_logged_in(login)), now)
        answer = {
            "error_code": Error.NONE,
            "error_message": None,
            "auth_bytes": message,
            "session_lifetime_ms": login.lifetime_ms(now),
        }
        return answer if login.is_going_on else Welcome(answer)

    # -- delegation tokens, which nobody gets

    def create_delegation_token(self, request: Call, now: Now) -> Answer:
        """CreateDelegationToken (KIP-48): DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
        Versions: 1 to 3.
        """
        body = request.body
        requester = request.client.principal
        owner = {"principal_type": requester.type, "principal_name": requester.name}
        if body.owner_principal_name:
            owner["principal_type"] = body.owner_principal_type or "User"
            owner["principal_name"] = body.owner_principal_name
        answer: Answer = {
            "error_code": Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
            "issue_timestamp_ms": NO_TIME,
            "expiry_timestamp_ms": NO_TIME,
            "max_timestamp_ms": NO_TIME,
        }
        if request.version >= 3:
            answer["token_requester_principal_type"] = requester.type
            answer["token_requester_principal_name"] = requester.name
        return answer | owner

    def renew_delegation_token(self, request: Call, now: Now) -> Answer:
        """RenewDelegationToken (KIP-48): DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
        Versions: 1 and 2.
        """
        error = Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return {"error_code": error, "expiry_timestamp_ms": NO_TIME}

    def expire_delegation_token(self, request: Call, now: Now) -> Answer:
        """ExpireDelegationToken (KIP-48): DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
        Versions: 1 and 2.
        """
        error = Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return {"error_code": error, "expiry_timestamp_ms": NO_TIME}

    def describe_delegation_token(self, request: Call, now: Now) -> Answer:
        """DescribeDelegationToken (KIP-48): DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
        Versions: 1 to 3.
        """
        return {"error_code": Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "tokens": []}


def raw_message(call: Call, message: bytes, now: Now) -> Served:
    """The client's next message of a mechanism, as it follows SaslHandshake 0."""
    login = call.client.login
    assert login is not None, "it has begun"
    try:
        answer = Raw(login.answer(message, now))
    except KafkaError:
        return failed_login(call, Disconnect(not_logged_in(login)), now)
    return answer if login.is_going_on else Welcome(answer)


def not_logged_in(login: "Login") -> str:
    """What a client did, as the rest of a sentence about it."""
    return f"failed to log in by {login.mechanism}"


def failed_login(call: Call, end: Parting | Disconnect, now: Now) -> Served:
    """A login has failed: its end comes after connection.failed.authentication.delay.ms,
    so that nobody tries many passwords in a short time.
    """
    login = call.client.login
    assert login is not None, "it has failed"
    if not login.entrance.delay_ms:
        return end

    def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
        return {} if expired else None

    wait = Wait((), now.monotonic_ms + login.entrance.delay_ms, attempt, again=True)
    wait.resume = lambda now: end
    return wait
