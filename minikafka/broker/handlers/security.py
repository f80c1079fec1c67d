"""Access rules, quotas, passwords: there are none, and so say these answers, as a
broker's without an authorizer do.
"""

from collections import Counter

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

NO_AUTHORIZER = {
    "error_code": Error.SECURITY_DISABLED,
    "error_message": "No Authorizer is configured.",
}
QUOTA_ENTITIES = ("user", "client-id", "ip")
MATCH_TYPES = range(3)


def describe_acls(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeAcls (KIP-140): SECURITY_DISABLED. Versions: 1 to 3."""
    raise KafkaError(
        Error.SECURITY_DISABLED, "No Authorizer is configured on the broker"
    )


def create_acls(broker: Broker, request: Call, now: Now) -> Answer:
    """CreateAcls (KIP-140): SECURITY_DISABLED for each. Versions: 1 to 3."""
    return {"results": [NO_AUTHORIZER for _ in request.body.creations]}


def delete_acls(broker: Broker, request: Call, now: Now) -> Answer:
    """DeleteAcls (KIP-140): SECURITY_DISABLED for each filter. Versions: 1 to 3."""
    return {
        "filter_results": [
            {**NO_AUTHORIZER, "matching_acls": []} for _ in request.body.filters
        ]
    }


def describe_quotas(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeClientQuotas (KIP-546): nobody has a quota. Versions: 0 and 1, the same
    fields.
    """
    for component in request.body.components:
        if component.entity_type not in QUOTA_ENTITIES:
            raise KafkaError(
                Error.UNSUPPORTED_VERSION,
                f"Unsupported entity type {component.entity_type}",
            )
        if component.match_type not in MATCH_TYPES:
            raise KafkaError(
                Error.INVALID_REQUEST, f"Unknown match type {component.match_type}"
            )
    return {"error_code": Error.NONE, "error_message": None, "entries": []}


def describe_scram(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeUserScramCredentials (KIP-554): no user has credentials. Version: 0."""
    none = (
        Error.RESOURCE_NOT_FOUND,
        "Attempt to describe a user credential that does not exist",
    )
    twice = (
        Error.DUPLICATE_RESOURCE,
        "Cannot describe SCRAM credentials for the same user twice in a single request",
    )
    users = Counter(one.name for one in request.body.users or ())
    results = []
    for user, times in users.items():
        error, why = none if times == 1 else twice
        results.append(
            {
                "user": user,
                "error_code": error,
                "error_message": f"{why}: {printable(user)}",
            }
        )
    return {"error_code": Error.NONE, "error_message": None, "results": results}
