"""Access rules: there are none, and so say these answers, as a broker's without an
authorizer do.
"""

from dataclasses import dataclass

from minikafka.broker.calls import Call
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error, KafkaError

NO_AUTHORIZER = {
    "error_code": Error.SECURITY_DISABLED,
    "error_message": "No Authorizer is configured.",
}


@dataclass(eq=False, repr=False)
class SecurityHandlers:
    """Handles requests about ACLs: there is no authorizer."""

    def describe_acls(self, request: Call, now: Now) -> Answer:
        """DescribeAcls (KIP-140): SECURITY_DISABLED. Versions: 1 to 3."""
        raise KafkaError(
            Error.SECURITY_DISABLED, "No Authorizer is configured on the broker"
        )

    def create_acls(self, request: Call, now: Now) -> Answer:
        """CreateAcls (KIP-140): SECURITY_DISABLED for each. Versions: 1 to 3."""
        return {"results": [NO_AUTHORIZER for _ in request.body.creations]}

    def delete_acls(self, request: Call, now: Now) -> Answer:
        """DeleteAcls (KIP-140): SECURITY_DISABLED for each filter. Versions: 1 to 3."""
        return {
            "filter_results": [
                {**NO_AUTHORIZER, "matching_acls": []} for _ in request.body.filters
            ]
        }
