"""What clients of this node may do, if it has an authorizer: the decision of Apache
Kafka's StandardAuthorizer on the rules in the image (cluster/acls.py), super users, and
what holds where there is no rule.

Without `authorizer.class.name` there is none, and everybody may do everything. The
nodes' own listener is never asked.
"""

from dataclasses import dataclass

from minikafka.broker.config import BrokerConfig
from minikafka.cluster.acls import (
    CLUSTER_NAME,
    SUPPORTED,
    Operation,
    ResourceType,
    Who,
)
from minikafka.cluster.metadata import Image
from minikafka.wire.errors import Error, KafkaError

REFUSED = {
    ResourceType.TOPIC: Error.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: Error.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: Error.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
ANY_NAME = (
    "hardcode"  # which Apache Kafka asks for, where it means no resource in particular
)


@dataclass(frozen=True, slots=True, eq=False)
class Authorizer:
    """Who may do what on this node. allows_without_rule: what holds for resources that
    no rule is about.
    """

    _image: Image
    _super_users: frozenset[str]
    _allows_without_rule: bool

    def allows(
        self, who: Who, operation: Operation, kind: ResourceType, name: str
    ) -> bool:
        """Whether somebody may do this with one resource."""
        if str(who.principal) in self._super_users:
            return True
        decided = self._image.acls.decide(who, operation, kind, name)
        return self._allows_without_rule if decided is None else decided

    def allows_some(self, who: Who, operation: Operation, kind: ResourceType) -> bool:
        """Whether somebody may do this with some resource of the type."""
        if self.allows(who, operation, kind, ANY_NAME):
            return True
        return self._image.acls.allows_some(who, operation, kind)


def authorizer_of(config: BrokerConfig, image: Image) -> Authorizer | None:
    """The node's authorizer, if its configs name one."""
    if not config["authorizer.class.name"]:
        return None
    named = str(config["super.users"] or "").split(";")
    super_users = frozenset(name.strip() for name in named if name.strip())
    allows = str(config["allow.everyone.if.no.acl.found"]).strip().lower() == "true"
    return Authorizer(image, super_users, allows)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What the client of one request may do."""

    _authorizer: Authorizer
    _who: Who

    def allows(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        """Whether it may do this with one resource."""
        return self._authorizer.allows(self._who, operation, kind, name)

    def allows_topic(self, operation: Operation, name: str) -> bool:
        """Whether it may do this with a topic."""
        return self.allows(operation, ResourceType.TOPIC, name)

    def allows_group(self, operation: Operation, group_id: str) -> bool:
        """Whether it may do this with a group."""
        return self.allows(operation, ResourceType.GROUP, group_id)

    def allows_cluster(self, operation: Operation) -> bool:
        """Whether it may do this with the cluster."""
        return self.allows(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows_some(self, operation: Operation, kind: ResourceType) -> bool:
        """Whether it may do this with some resource of the type."""
        return self._authorizer.allows_some(self._who, operation, kind)

    def check(self, operation: Operation, kind: ResourceType, name: str) -> None:
        """Errors: that of the type, such as TOPIC_AUTHORIZATION_FAILED."""
        if not self.allows(operation, kind, name):
            raise KafkaError(REFUSED[kind])

    def operations(self, kind: ResourceType, name: str) -> int:
        """All that it may do with a resource, as a bit field (KIP-430)."""
        allowed = 0
        for operation in SUPPORTED[kind]:
            if self.allows(operation, kind, name):
                allowed |= 1 << operation
        return allowed


def every_operation(kind: ResourceType) -> int:
    """All that anybody may do with a resource where there is no authorizer."""
    return sum(1 << operation for operation in SUPPORTED[kind])
