"""What a broker without security answers: nobody logs in (SASL), and nobody gets a
delegation token, as all clients connect over plaintext. Stored credentials are in
users.py, access rules in acls.py.
"""

from dataclasses import dataclass

from minikafka.broker.calls import Call
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error, KafkaError

NO_TIME = -1


@dataclass(eq=False, repr=False)
class SecurityHandlers:
    """Handles requests about SASL and delegation tokens: there are none."""

    # -- SASL, on a connection that needs none

    def sasl_handshake(self, request: Call, now: Now) -> Answer:
        """SaslHandshake (KIP-43): ILLEGAL_SASL_STATE. Versions: 0 and 1."""
        return {"error_code": Error.ILLEGAL_SASL_STATE, "mechanisms": []}

    def sasl_authenticate(self, request: Call, now: Now) -> Answer:
        """SaslAuthenticate (KIP-152): ILLEGAL_SASL_STATE. Versions: 0 to 2."""
        why = "SaslAuthenticate request received after successful authentication"
        raise KafkaError(Error.ILLEGAL_SASL_STATE, why)

    # -- delegation tokens, which nobody gets over plaintext

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
