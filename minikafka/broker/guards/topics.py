"""Guards of requests about topics and their configs, and of producers and consumers."""

from typing import Any

from minikafka.broker.access import REFUSED
from minikafka.broker.calls import Answered, Disconnect
from minikafka.broker.guards.asked import Asked, Items, Partitions, by_name
from minikafka.broker.handlers.produce import NONE as NO_ACKS
from minikafka.broker.handlers.produce import TOPIC_IDS
from minikafka.broker.handlers.produce import refusal as not_appended
from minikafka.cluster.acls import CLUSTER_NAME, Operation, ResourceType
from minikafka.cluster.metadata import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    INTERNAL_TOPICS,
    TOPIC_RESOURCE,
)
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, read_header

NO_ID = bytes(16)
CONFIGS_TOLD = 5  # the first version of CreateTopics that answers the topic's configs
MANY = 4  # the first version of AddPartitionsToTxn that only brokers send
# Which resource the configs of one belong to, by ConfigResource.Type.
CONFIGURED = {
    TOPIC_RESOURCE: ResourceType.TOPIC,
    GROUP_RESOURCE: ResourceType.GROUP,
    BROKER_RESOURCE: ResourceType.CLUSTER,
    BROKER_LOGGER_RESOURCE: ResourceType.CLUSTER,
    CLIENT_METRICS_RESOURCE: ResourceType.CLUSTER,
}


EPOCHS = Items(
    Operation.DESCRIBE,
    ResourceType.TOPIC,
    "topics",
    "topics",
    Partitions(topic="topic", number="partition", named="partition"),
    "topic",
)
PAGES = Items(
    Operation.DESCRIBE,
    ResourceType.TOPIC,
    "topics",
    "topics",
    lambda topic, error: {"name": topic.name, "error_code": error, "partitions": []},
)
TRANSACTIONS = Items(
    Operation.DESCRIBE,
    ResourceType.TRANSACTIONAL_ID,
    "transactional_ids",
    "transaction_states",
    by_name("transactional_id"),
    None,
)


def produce(asked: Asked) -> Answer | None:
    """WRITE on the topics; for a transaction WRITE on its transactional id, too."""
    body = asked.body
    refused: list[Any] = []
    allowed: list[Any] = []
    transactional_id = body.transactional_id
    is_refused = transactional_id is not None and not asked.access.allows(
        Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    )
    error = Error.TOPIC_AUTHORIZATION_FAILED
    if is_refused and any(map(has_transaction, body.topic_data)):
        error = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        refused = list(body.topic_data)
    else:
        for topic in body.topic_data:
            name = asked.topic_of(topic)
            may = not name or asked.access.allows_topic(Operation.WRITE, name)
            (allowed if may else refused).append(topic)
    if not refused:
        return None
    body.topic_data = allowed
    rows = []
    for topic in refused:
        named = {"name": topic.name}
        if asked.version >= TOPIC_IDS:
            named = {"topic_id": topic.topic_id}
        partitions = [
            not_appended(one.index, KafkaError(error, ""))
            for one in topic.partition_data
        ]
        for one in partitions:
            one["error_message"] = None
        rows.append(named | {"partition_responses": partitions})
    if body.acks != NO_ACKS:
        asked.add("responses", rows)
        return None if allowed else {}

    def closed(_: Answered) -> Answered:
        return Disconnect(f"produced with acks=0 and failed with {error.name}")

    asked.call.amend(closed)
    return None if allowed else {}


def has_transaction(topic: Any) -> bool:
    """Whether a batch of a transaction is among those of a Produce."""
    for one in topic.partition_data:
        try:
            is_batch = one.records is not None and len(one.records) >= BATCH_OVERHEAD
            if is_batch and read_header(one.records).transactional:
                return True
        except CorruptRecord:
            continue
    return False


def create_topics(asked: Asked) -> Answer | None:
    """CREATE on the cluster or on the topics; DESCRIBE_CONFIGS shows what is made."""
    access, body = asked.access, asked.body
    refused: list[Answer] = []
    if not access.allows_cluster(Operation.CREATE):
        allowed = []
        for topic in body.topics:
            if access.allows_topic(Operation.CREATE, topic.name):
                allowed.append(topic)
            else:
                error = Error.TOPIC_AUTHORIZATION_FAILED
                named = {"name": topic.name, "error_code": error}
                refused.append(named | {"error_message": "Authorization failed."})
        body.topics = allowed

    def whole(answer: Answer) -> Answer:
        rows = [*answer.get("topics", ()), *refused]
        for row in rows:
            name = row["name"]
            is_new = row["error_code"] == Error.NONE and asked.version >= CONFIGS_TOLD
            if is_new and not access.allows_topic(Operation.DESCRIBE_CONFIGS, name):
                row["topic_config_error_code"] = Error.TOPIC_AUTHORIZATION_FAILED
                row["num_partitions"] = row["replication_factor"] = -1
                row["configs"] = []
        return answer | {"topics": rows}

    asked.then(whole)
    return {} if refused and not body.topics else None


def delete_topics(asked: Asked) -> Answer | None:
    """DELETE on the cluster or on the topics. A topic that was named by id has its name
    told to those who may describe it.
    """
    access, body = asked.access, asked.body
    if access.allows_cluster(Operation.DELETE):
        return None

    def is_left(name: str) -> bool:
        """Whether the handler answers: who may describe a topic learns that there is
        none.
        """
        if access.allows_topic(Operation.DELETE, name):
            return True
        is_unknown = name not in asked.image.topics
        return is_unknown and access.allows_topic(Operation.DESCRIBE, name)

    refused = []
    names = []
    for name in body.topic_names:
        if is_left(name):
            names.append(name)
        else:
            refused.append(said("name", name))
    topics = []
    for topic in body.topics:
        name = asked.topic_of(topic)
        if not name or is_left(name):
            topics.append(topic)
            continue
        row = said("name", topic.name) | {"topic_id": topic.topic_id}
        if topic.name is None and access.allows_topic(Operation.DESCRIBE, name):
            row["name"] = name
        refused.append(row)
    body.topic_names, body.topics = names, topics
    asked.add("responses", refused)
    return {} if refused and not names and not topics else None


def said(field: str, name: str | None) -> Answer:
    """A topic that is refused, with the words of the error."""
    error = Error.TOPIC_AUTHORIZATION_FAILED
    return {field: name, "error_code": error, "error_message": error.message}


def offset_for_leader_epoch(asked: Asked) -> Answer | None:
    """DESCRIBE on the topics, but for those who replicate."""
    if asked.access.allows_cluster(Operation.CLUSTER_ACTION):
        return None
    return EPOCHS(asked)


def describe_topic_partitions(asked: Asked) -> Answer | None:
    """DESCRIBE on the topics that are named; of all, the handler shows those that one
    may describe.
    """
    if not asked.body.topics:
        return None
    return PAGES(asked)


class Configs:
    """A request about the configs of topics, groups, brokers and their like, one by
    one. answered: the answer's list. without: a type that the API doesn't know.
    """

    def __init__(
        self, operation: Operation, answered: str, without: int | None = None
    ) -> None:
        self.operation, self.answered = operation, answered
        self.kinds = {each: CONFIGURED[each] for each in CONFIGURED if each != without}

    def __call__(self, asked: Asked) -> Answer | None:
        allowed = []
        refused = []
        for resource in asked.body.resources:
            name = resource.resource_name
            kind = self.kinds.get(resource.resource_type)
            if kind is ResourceType.CLUSTER:
                name = CLUSTER_NAME
            if kind is None or asked.access.allows(self.operation, kind, name):
                allowed.append(resource)
                continue
            error = REFUSED[kind]
            row = {
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
                "error_code": error,
                "error_message": error.message,
            }
            refused.append(row)
        asked.body.resources = allowed
        asked.add(self.answered, refused)
        return {} if refused and not allowed else None


# -- of transactions


def init_producer_id(asked: Asked) -> None:
    """WRITE on the transactional id. Without one, a client that may write to any topic
    may also be idempotent (KIP-679).
    """
    access = asked.access
    transactional_id = asked.body.transactional_id
    if transactional_id is not None:
        access.check(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        return
    if access.allows_cluster(Operation.IDEMPOTENT_WRITE):
        return
    if not access.allows_some(Operation.WRITE, ResourceType.TOPIC):
        raise KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED)


def of_transaction(asked: Asked) -> None:
    """WRITE on the transactional id; AddOffsetsToTxn also READ on the group."""
    asked.access.check(
        Operation.WRITE, ResourceType.TRANSACTIONAL_ID, asked.body.transactional_id
    )
    if asked.call.api == "AddOffsetsToTxn":
        asked.access.check(Operation.READ, ResourceType.GROUP, asked.body.group_id)


def add_partitions_to_txn(asked: Asked) -> Answer | None:
    """WRITE on the transactional id and on the topics, all or none; what brokers send
    is a CLUSTER_ACTION.
    """
    body, access = asked.body, asked.access
    if asked.version >= MANY:
        asked.check_cluster(Operation.CLUSTER_ACTION)
        return None
    may_write = access.allows(
        Operation.WRITE,
        ResourceType.TRANSACTIONAL_ID,
        body.v3_and_below_transactional_id,
    )
    codes: dict[str, Error] = {}
    for topic in body.v3_and_below_topics:
        is_internal = topic.name in INTERNAL_TOPICS
        if is_internal or not access.allows_topic(Operation.WRITE, topic.name):
            codes[topic.name] = Error.TOPIC_AUTHORIZATION_FAILED
    if may_write and not codes:
        return None
    rows = []
    for topic in body.v3_and_below_topics:
        known = asked.image.topics.get(topic.name)
        partitions = []
        for number in topic.partitions:
            code = codes.get(topic.name, Error.OPERATION_NOT_ATTEMPTED)
            is_known = known is not None and number in known.partitions
            if topic.name not in codes and not is_known:
                code = Error.UNKNOWN_TOPIC_OR_PARTITION
            if not may_write:
                code = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            row = {"partition_index": number, "partition_error_code": code}
            partitions.append(row)
        rows.append({"name": topic.name, "results_by_partition": partitions})
    return {"results_by_topic_v3_and_below": rows}


def write_txn_markers(asked: Asked) -> Answer | None:
    """ALTER or CLUSTER_ACTION on the cluster; each partition says it is refused."""
    try:
        asked.check_cluster(Operation.ALTER, Operation.CLUSTER_ACTION)
    except KafkaError as error:
        markers = []
        for marker in asked.body.markers:
            topics = []
            for topic in marker.topics:
                partitions = [
                    {"partition_index": number, "error_code": error.error}
                    for number in topic.partition_indexes
                ]
                topics.append({"name": topic.name, "partitions": partitions})
            markers.append({"producer_id": marker.producer_id, "topics": topics})
        return {"markers": markers}
    return None


def describe_transactions(asked: Asked) -> Answer | None:
    """DESCRIBE on the transactional ids, and on the topics in them."""
    nothing_left = TRANSACTIONS(asked)
    access = asked.access

    def whole(answer: Answer) -> Answer:
        for state in answer.get("transaction_states", ()):
            state["topics"] = [
                each
                for each in state.get("topics", ())
                if access.allows_topic(Operation.DESCRIBE, each["topic"])
            ]
        return answer

    asked.then(whole)
    return nothing_left


def list_transactions(asked: Asked) -> None:
    """Those that one may DESCRIBE."""

    def whole(answer: Answer) -> Answer:
        states = []
        for state in answer.get("transaction_states", ()):
            named = state["transactional_id"]
            kind = ResourceType.TRANSACTIONAL_ID
            if asked.access.allows(Operation.DESCRIBE, kind, named):
                states.append(state)
        return answer | {"transaction_states": states}

    asked.then(whole)
