"""The contents of the cluster: brokers and topics, leaders and coordinators. Any broker
answers for all.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.broker.access import every_operation
from minikafka.broker.calls import Call
from minikafka.broker.config import BrokerConfig
from minikafka.broker.forwarding import Forwarding
from minikafka.broker.sharing import Sharing
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.acls import CLUSTER_NAME, Operation, ResourceType
from minikafka.cluster.metadata import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    NO_LEADER,
    BrokerRegistration,
    Image,
    Partition,
    Topic,
)
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.coordinator import (
    Coordinator,
    GroupCoordinator,
    TransactionCoordinator,
)
from minikafka.coordinators.runtime import partition_for
from minikafka.coordinators.share_states import ShareKey
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import Encoded

NO_ID = bytes(16)
CREATED_AT_ONCE = 100  # topics that one request creates by asking for them
# What one may do without an authorizer: everything that the resource knows.
TOPIC_OPERATIONS = every_operation(ResourceType.TOPIC)
CLUSTER_OPERATIONS = every_operation(ResourceType.CLUSTER)
NOT_ASKED = -(2**31)
BROKERS, CONTROLLERS = 1, 2  # endpoint types of DescribeCluster
PARTITION_LIMIT = 2000  # max.request.partition.size.limit
GROUP, TRANSACTION, SHARE = 0, 1, 2  # key types of FindCoordinator
KEY_TYPES, MANY_KEYS, SHARE_KEYS = 1, 4, 6  # its first versions with these
NULL_NAMES = 12  # the first version of Metadata with topics that have an id alone


class Page(NamedTuple):
    """The part of a topic that one answer shows. partitions: how many. is_last: whether
    these are the last.
    """

    answer: Answer
    partitions: int
    is_last: bool


@dataclass(eq=False, repr=False)
class MetadataHandlers:
    """Handles requests about the cluster as a whole. descriptions: of topics in this
    image, as Metadata has them.
    """

    config: BrokerConfig
    image: Image
    quorum: Quorum
    forwarding: Forwarding
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    sharing: Sharing
    descriptions: dict[Hashable, Encoded]

    def metadata(self, request: Call, now: Now) -> Answer:
        """Metadata: which brokers there are, and who leads each partition.

        - Topics null (0: an empty list) means all.
        - An unknown topic is created with num.partitions partitions if the client and
          auto.create.topics.enable allow it; of very many the first ones. It is
          UNKNOWN_TOPIC_OR_PARTITION in this answer all the same, and clients ask again.
        - __consumer_offsets is made as its coordinator wants it, other internal topics
          by nobody who only asks.

        Versions: 0 to 13.

        - 4 lets the client forbid creation.
        - 7 adds leader epochs.
        - 10 and 12 add topic ids (KIP-516).
        - 11 drops the cluster's authorized operations.
        - 13 adds a top-level error (always 0 here).

        With an authorizer nobody learns of topics that it may not describe: asked for
        all, they are left out, and a topic that is named is refused, there or not. To
        have one created takes CREATE.
        """
        body = request.body
        topics: list[Encoded | Answer] = []
        if body.topics is None or (request.version == 0 and not body.topics):
            for topic in self.image.topics.values():
                if may_describe(request, topic.name):
                    topics.append(self.described(topic, request))
        else:
            failed = self.not_to_create(request)
            created = self.auto_created(request, failed)
            once = {(one.name, one.topic_id): one for one in body.topics}
            for one in once.values():
                topics.append(self.find(one, request, failed))
            if created:
                self.forwarding.create(created, now, dict)
        brokers = []
        for registered, address in self.reachable(request):
            brokers.append({"node_id": registered.broker_id, **address})
        answer = self.cluster_fields(request, brokers)
        answer["topics"] = topics
        return answer

    def not_to_create(self, request: Call) -> dict[str, KafkaError]:
        """The unknown topics of a request that its client may not have created, and
        why; of those that it may not describe it isn't told whether they are unknown.
        """
        access = request.access
        refused: dict[str, KafkaError] = {}
        if access is None:
            return refused
        creates = self.creates_topics(request)
        may_create_all = access.allows_cluster(Operation.CREATE)
        for name in dict.fromkeys(
            one.name for one in request.body.topics if by_name(one)
        ):
            is_allowed = access.allows_topic(Operation.DESCRIBE, name)
            if is_allowed and creates and name not in self.image.topics:
                is_allowed = may_create_all or access.allows_topic(
                    Operation.CREATE, name
                )
            if not is_allowed:
                refused[name] = KafkaError(Error.TOPIC_AUTHORIZATION_FAILED)
        return refused

    def creates_topics(self, request: Call) -> bool:
        """Whether an unknown topic is created for who asks."""
        is_enabled = self.config["auto.create.topics.enable"]
        return bool(is_enabled and request.body.allow_auto_topic_creation)

    def auto_created(
        self, request: Call, failed: dict[str, KafkaError]
    ) -> list[dict[str, Any]]:
        """The unknown topics of a request, as CreateTopics wants them; names that
        cannot be created go to failed.
        """
        if not self.creates_topics(request):
            return []
        known = {METADATA_TOPIC, *self.image.topics, *failed}
        asked = dict.fromkeys(one.name for one in request.body.topics if by_name(one))
        unknown = [name for name in asked if name not in known]
        topics = []
        for name in unknown[:CREATED_AT_ONCE]:
            if name == self.groups.topic_name:
                topics.append(self.groups.creation())
            elif name == self.transactions.topic_name:
                topics.append(self.transactions.creation())
            elif name not in INTERNAL_TOPICS:
                try:
                    controller.check_new_topic_name(name, self.image)
                except KafkaError as error:
                    failed[name] = error
                    continue
                topic = {"name": name, "num_partitions": -1, "replication_factor": -1}
                topics.append(topic)
        return topics

    def find(
        self, one: Any, request: Call, failed: dict[str, KafkaError]
    ) -> Encoded | Answer:
        """One asked topic, by name or by id."""
        try:
            if not by_name(one):
                topic = self.image.topic_by_id(one.topic_id)
                if not may_describe(request, topic.name):
                    raise KafkaError(Error.TOPIC_AUTHORIZATION_FAILED)
                return self.described(topic, request)
            if one.name in failed:
                raise failed[one.name]
            if one.name not in self.image.topics:
                controller.check_topic_name(one.name)
            return self.described(self.image.topic(one.name), request)
        except KafkaError as error:
            name = None if request.version >= NULL_NAMES else ""
            if by_name(one):
                name = one.name
            return {
                "error_code": error.error,
                "name": name,
                "topic_id": one.topic_id,
                "is_internal": name in INTERNAL_TOPICS,
                "partitions": [],
            }

    def described(self, topic: Topic, request: Call) -> Encoded:
        """A topic that exists. Encoded once for an image: every client that starts
        asks, and many partitions take long.
        """
        operations = NOT_ASKED
        if request.body.include_topic_authorized_operations:
            operations = topic_operations(request, topic.name)
        key = topic.name, request.version, operations
        if key not in self.descriptions:
            schema = messages.API[request.api].response
            fields = self.topic_fields(topic, topic.partitions, operations)
            self.descriptions[key] = schema.encode_item(
                request.version, "topics", fields
            )
        return self.descriptions[key]

    def topic_fields(
        self, topic: Topic, partitions: Mapping[int, Partition], operations: int
    ) -> Answer:
        """A topic with these partitions of it."""
        live = {one.broker_id for one in self.image.live_brokers()}
        shown = []
        for number, partition in partitions.items():
            shown.append(partition_fields(number, partition, live))
        return {
            "name": topic.name,
            "topic_id": topic.topic_id,
            "is_internal": topic.name in INTERNAL_TOPICS,
            "partitions": shown,
            "topic_authorized_operations": operations,
        }

    def reachable(
        self, request: Call, fenced: bool = False
    ) -> Iterator[tuple[BrokerRegistration, Answer]]:
        """Brokers by id, with their addresses for the listener that the client came
        through.
        """
        for _, one in sorted(self.image.brokers.items()):
            if one.fenced and not fenced:
                continue
            endpoint = one.endpoints.get(request.client.listener)
            if endpoint:
                host, port = endpoint
                yield one, {"host": host, "port": port, "rack": one.rack}

    def cluster_fields(self, request: Call, brokers: list[Answer]) -> Answer:
        """The cluster, as Metadata and DescribeCluster tell it. As its controller a
        broker that clients can reach, as in KRaft: the active controller if it is one
        of them.
        """
        there = [one.broker_id for one, _ in self.reachable(request)]
        controller_id = self.quorum.leader_id
        if controller_id not in there:
            controller_id = min(there, default=-1)
        operations = NOT_ASKED
        if request.body.include_cluster_authorized_operations:
            operations = cluster_operations(request)
        return {
            "cluster_id": self.quorum.cluster_id,
            "controller_id": controller_id,
            "brokers": brokers,
            "cluster_authorized_operations": operations,
        }

    def describe_cluster(self, request: Call, now: Now) -> Answer:
        """DescribeCluster (KIP-700, KIP-919): the cluster's id, its controller and its
        brokers.

        Versions: 0 to 2.

        - 1 tells brokers from controllers (this listener knows brokers).
        - 2 shows fenced brokers on demand.
        """
        body = request.body
        if body.endpoint_type == CONTROLLERS:
            why = (
                "The request was sent to an endpoint of type BROKER, but we wanted an"
                " endpoint of type CONTROLLER"
            )
            raise KafkaError(Error.MISMATCHED_ENDPOINT_TYPE, why)
        if body.endpoint_type != BROKERS:
            why = f"Unsupported endpoint type {body.endpoint_type}"
            raise KafkaError(Error.UNSUPPORTED_ENDPOINT_TYPE, why)
        brokers = []
        for one, address in self.reachable(request, body.include_fenced_brokers):
            named = {"broker_id": one.broker_id, "is_fenced": one.fenced}
            brokers.append(named | address)
        answer = self.cluster_fields(request, brokers)
        answer["endpoint_type"] = BROKERS
        return answer

    def describe_topic_partitions(self, request: Call, now: Now) -> dict[str, Any]:
        """DescribeTopicPartitions (KIP-966): topics and partitions a page at a time.

        - Topics come in the order of their names, at most ResponsePartitionLimit
          partitions an answer (2,000 at the most); NextCursor says where the next page
          begins.
        - A cursor must name a topic that is asked for.

        Version: 0.
        """
        body, cursor = request.body, request.body.cursor
        asked = sorted({topic.name for topic in body.topics})
        names = asked or [
            name for name in sorted(self.image.topics) if may_describe(request, name)
        ]
        first_partition = 0
        if cursor is not None:
            is_astray = bool(asked) and cursor.topic_name not in asked
            if cursor.partition_index < 0 or is_astray:
                return {"topics": [refused_page(name) for name in asked]}
            names = [name for name in names if name >= cursor.topic_name]
            if names and names[0] == cursor.topic_name:
                first_partition = cursor.partition_index
        left = max(1, min(body.response_partition_limit, PARTITION_LIMIT))
        topics: list[Answer] = []
        for name in names:
            if left == 0:
                return {"topics": topics, "next_cursor": cursor_at(name, 0)}
            page = self.page_of(request, name, first_partition, left)
            topics.append(page.answer)
            left -= page.partitions
            if not page.is_last:
                next_cursor = cursor_at(name, first_partition + page.partitions)
                return {"topics": topics, "next_cursor": next_cursor}
            first_partition = 0
        return {"topics": topics, "next_cursor": None}

    def page_of(self, request: Call, name: str, first: int, limit: int) -> Page:
        """One topic from a partition on."""
        try:
            if name not in self.image.topics:
                controller.check_topic_name(name)
            topic = self.image.topic(name)
        except KafkaError as error:
            refused = {"error_code": error.error, "name": name, "partitions": []}
            return Page(refused, partitions=0, is_last=True)
        shown: dict[int, Partition] = {}
        is_last = True
        for number, partition in topic.partitions.items():
            if number < first:
                continue
            if len(shown) == limit:
                is_last = False
                break
            shown[number] = partition
        operations = topic_operations(request, name)
        answer = self.topic_fields(topic, shown, operations)
        for told, partition in zip(answer["partitions"], shown.values(), strict=True):
            told["eligible_leader_replicas"] = list(partition.eligible_leader_replicas)
            told["last_known_elr"] = list(partition.last_known_elr)
        return Page(answer, len(shown), is_last)

    def find_coordinator(self, request: Call, now: Now) -> Answer | Wait:
        """FindCoordinator (KIP-98, KIP-699): which broker coordinates a group or a
        transactional id.

        - The group's name chooses a partition of `__consumer_offsets`, a transactional
          id one of `__transaction_state`, and the leader of that partition is the
          coordinator.
        - The topic is made when somebody asks for the first time.

        Versions: 0 to 6.

        - 1 adds the key type.
        - 4 asks for many keys in one request.
        - 6 adds share partitions (KIP-932): group, topic id and partition, with colons
          between.
        """
        body, version = request.body, request.version
        kind = GROUP
        if version >= KEY_TYPES:
            kind = body.key_type
        keys = [body.key]
        if version >= MANY_KEYS:
            keys = body.coordinator_keys
        coordinators: dict[int, Coordinator] = {
            GROUP: self.groups,
            TRANSACTION: self.transactions,
        }
        if version >= SHARE_KEYS:
            coordinators[SHARE] = self.sharing.coordinator
        if kind not in coordinators:
            why = f"Unsupported key type {kind}"
            refused = [no_coordinator(key, Error.INVALID_REQUEST, why) for key in keys]
            return shaped(request, refused)
        coordinator = coordinators[kind]

        def found() -> Answer:
            topic, listener = coordinator.topic, request.client.listener
            if kind == SHARE:
                return shaped(
                    request, [self.of_share(topic, key, listener) for key in keys]
                )
            each = [self.coordinator_of(topic, key, listener) for key in keys]
            return shaped(request, each)

        if coordinator.topic is not None:
            return found()
        return self.forwarding.create([coordinator.creation()], now, found)

    def coordinator_of(self, topic: Topic | None, key: str, listener: str) -> Answer:
        """The leader of the partition of an internal topic that a key belongs to, with
        its address for that listener.
        """
        leader = NO_LEADER
        if topic is not None and topic.partitions:
            number = partition_for(key, len(topic.partitions))
            leader = topic.partitions[number].leader
        endpoint = None
        if leader != NO_LEADER:
            endpoint = self.image.brokers[leader].endpoints.get(listener)
        if endpoint is None:
            error = Error.COORDINATOR_NOT_AVAILABLE
            return no_coordinator(key, error, error.message)
        host, port = endpoint
        return {
            "key": key,
            "node_id": leader,
            "host": host,
            "port": port,
            "error_code": Error.NONE,
            "error_message": "",
        }

    def of_share(self, topic: Topic | None, key: str, listener: str) -> Answer:
        """The coordinator of a share partition, whose key has a special form."""
        try:
            ShareKey.parse(key)
        except KafkaError as error:
            return no_coordinator(key, error.error, error.message)
        return self.coordinator_of(topic, key, listener)


def may_describe(request: Call, topic: str) -> bool:
    """Whether a client may learn of a topic."""
    access = request.access
    return access is None or access.allows_topic(Operation.DESCRIBE, topic)


def topic_operations(request: Call, topic: str) -> int:
    """All that a client may do with a topic."""
    if request.access is None:
        return TOPIC_OPERATIONS
    return request.access.operations(ResourceType.TOPIC, topic)


def cluster_operations(request: Call) -> int:
    """All that a client may do with the cluster, if it may describe it."""
    if request.access is None:
        return CLUSTER_OPERATIONS
    if not request.access.allows_cluster(Operation.DESCRIBE):
        return 0
    return request.access.operations(ResourceType.CLUSTER, CLUSTER_NAME)


def by_name(one: Any) -> bool:
    """An id counts before a name."""
    return one.name is not None and one.topic_id == NO_ID


def partition_fields(number: int, partition: Partition, live: set[int]) -> Answer:
    error = Error.NONE
    if partition.leader == NO_LEADER:
        error = Error.LEADER_NOT_AVAILABLE
    offline = [replica for replica in partition.replicas if replica not in live]
    return {
        "error_code": error,
        "partition_index": number,
        "leader_id": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": list(partition.replicas),
        "isr_nodes": list(partition.isr),
        "offline_replicas": offline,
    }


def refused_page(name: str) -> Answer:
    return {"error_code": Error.INVALID_REQUEST, "name": name}


def cursor_at(name: str, number: int) -> Answer:
    return {"topic_name": name, "partition_index": number}


def no_coordinator(key: str, error: Error, message: str) -> Answer:
    return {
        "key": key,
        "error_code": error,
        "error_message": message,
        "node_id": -1,
        "host": "",
        "port": -1,
    }


def shaped(request: Call, coordinators: list[Answer]) -> Answer:
    """One coordinator before version 4, many from there on."""
    if request.version >= MANY_KEYS:
        return {"coordinators": coordinators}
    [only] = coordinators
    del only["key"]
    return only
