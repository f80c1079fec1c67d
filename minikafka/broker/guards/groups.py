"""Guards of requests about groups, their members and their committed offsets."""

from typing import Any

from minikafka.broker.calls import Call
from minikafka.broker.guards.asked import Asked, Items, Partitions, by_name
from minikafka.broker.handlers.group_offsets import (
    MANY_GROUPS,
    TOP_LEVEL_ERROR,
    each_says,
)
from minikafka.broker.handlers.group_offsets import TOPIC_IDS as FETCHED_BY_ID
from minikafka.broker.handlers.metadata import (
    GROUP,
    KEY_TYPES,
    MANY_KEYS,
    SHARE,
    TRANSACTION,
    no_coordinator,
    shaped,
)
from minikafka.cluster.acls import CLUSTER_NAME, Operation, ResourceType
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.offsets import fetched
from minikafka.coordinators.share_states import UNKNOWN
from minikafka.wire.errors import Error, KafkaError

HIDDEN_TOPICS = (
    "The group has described topic(s) that the client is not authorized to describe."
)
COORDINATED = {
    GROUP: ResourceType.GROUP,
    TRANSACTION: ResourceType.TRANSACTIONAL_ID,
    SHARE: ResourceType.CLUSTER,
}

# the first versions that name the topics of a commit by id
COMMITTED_BY_ID = {"OffsetCommit": 10, "TxnOffsetCommit": 6}


def find_coordinator(asked: Asked) -> Answer | None:
    """DESCRIBE on the groups or the transactional ids; for share partitions
    CLUSTER_ACTION.
    """
    body, call = asked.body, asked.call
    kind = body.key_type if asked.version >= KEY_TYPES else GROUP
    if kind not in COORDINATED:
        return None
    operation, of_cluster = Operation.DESCRIBE, None
    if kind == SHARE:
        operation, of_cluster = Operation.CLUSTER_ACTION, CLUSTER_NAME
    keys = [body.key] if asked.version < MANY_KEYS else body.coordinator_keys
    refused = []
    allowed = []
    for key in keys:
        try:
            asked.access.check(operation, COORDINATED[kind], of_cluster or key)
            allowed.append(key)
        except KafkaError as error:
            refused.append(no_coordinator(key, error.error, error.message))
    if asked.version < MANY_KEYS:
        return shaped(call, refused) if refused else None
    body.coordinator_keys = allowed
    asked.add("coordinators", refused)
    return {} if refused and not allowed else None


def offset_commit(asked: Asked) -> Answer | None:
    """READ on the group and on the topics; the answer has no error for the whole."""
    return committed(asked, (ResourceType.GROUP, asked.body.group_id, Operation.READ))


def txn_offset_commit(asked: Asked) -> Answer | None:
    """WRITE on the transactional id, READ on the group and on the topics."""
    body = asked.body
    return committed(
        asked,
        (ResourceType.TRANSACTIONAL_ID, body.transactional_id, Operation.WRITE),
        (ResourceType.GROUP, body.group_id, Operation.READ),
    )


def committed(
    asked: Asked, *needed: tuple[ResourceType, str, Operation]
) -> Answer | None:
    """Offsets are to be committed: what is needed for that, and READ on each topic."""
    body = asked.body
    try:
        for kind, name, operation in needed:
            asked.access.check(operation, kind, name)
    except KafkaError as error:
        rows = [not_committed(asked.call, each, error.error) for each in body.topics]
        return {"topics": rows}
    allowed = []
    refused = []
    for topic in body.topics:
        name = asked.topic_of(topic)
        if not name or asked.access.allows_topic(Operation.READ, name):
            allowed.append(topic)
        else:
            error_code = Error.TOPIC_AUTHORIZATION_FAILED
            refused.append(not_committed(asked.call, topic, error_code))
    body.topics = allowed
    asked.add("topics", refused)
    return {} if refused and not allowed else None


def not_committed(call: Call, topic: Any, error: Error) -> Answer:
    """A topic of a commit that is refused."""
    by_id = call.version >= COMMITTED_BY_ID[call.api]
    named = {"topic_id": topic.topic_id} if by_id else {"name": topic.name}
    partitions = [
        {"partition_index": one.partition_index, "error_code": error}
        for one in topic.partitions
    ]
    return named | {"partitions": partitions}


def offset_fetch(asked: Asked) -> Answer | None:
    """DESCRIBE on the groups and on the topics; where all topics are asked for, those
    that one may describe.
    """
    body = asked.body
    if asked.version < MANY_GROUPS:
        return fetched_by_one(asked)
    allowed = []
    refused = []
    rows: dict[str, list[Answer]] = {}
    for group in body.groups:
        if asked.access.allows_group(Operation.DESCRIBE, group.group_id):
            allowed.append(group)
            rows[group.group_id] = not_fetched(asked, group)
        else:
            error = Error.GROUP_AUTHORIZATION_FAILED
            refused.append({"group_id": group.group_id, "error_code": error})
    body.groups = allowed

    def whole(answer: Answer) -> Answer:
        groups = []
        for group in answer.get("groups", ()):
            topics = shown(asked, group["topics"])
            if group["error_code"] == Error.NONE:
                topics += rows.get(group["group_id"], [])
            groups.append(group | {"topics": topics})
        return answer | {"groups": [*groups, *refused]}

    asked.then(whole)
    return {} if refused and not allowed else None


def fetched_by_one(asked: Asked) -> Answer | None:
    """OffsetFetch of the versions that ask for one group."""
    body = asked.body
    try:
        asked.access.check(Operation.DESCRIBE, ResourceType.GROUP, body.group_id)
    except KafkaError as error:
        if asked.version < TOP_LEVEL_ERROR:
            return {"topics": each_says(body, error)}
        return {"error_code": error.error, "topics": []}
    rows = not_fetched(asked, body)

    def whole(answer: Answer) -> Answer:
        is_refused = answer.get("error_code", Error.NONE) != Error.NONE
        added = [] if is_refused else rows
        return answer | {"topics": [*shown(asked, answer.get("topics", [])), *added]}

    asked.then(whole)
    return None


def not_fetched(asked: Asked, group: Any) -> list[Answer]:
    """Takes the topics out of a request that its client may not describe; their
    results.
    """
    if group.topics is None:
        return []
    rows = []
    allowed = []
    for topic in group.topics:
        name = asked.topic_of(topic)
        if not name or asked.access.allows_topic(Operation.DESCRIBE, name):
            allowed.append(topic)
            continue
        named = {"name": topic.name}
        if asked.version >= FETCHED_BY_ID:
            named = {"topic_id": topic.topic_id}
        error = Error.TOPIC_AUTHORIZATION_FAILED
        partitions = [fetched(one, None, error) for one in topic.partition_indexes]
        rows.append(named | {"partitions": partitions})
    group.topics = allowed
    return rows


def shown(asked: Asked, topics: list[Answer]) -> list[Answer]:
    """The topics in an answer that its client may describe."""
    found = []
    for topic in topics:
        name = topic.get("name", "")
        if not name or asked.access.allows_topic(Operation.DESCRIBE, name):
            found.append(topic)
    return found


def list_groups(asked: Asked) -> None:
    """DESCRIBE on the cluster shows all groups, DESCRIBE on a group that one."""
    access = asked.access
    if access.allows_cluster(Operation.DESCRIBE):
        return

    def whole(answer: Answer) -> Answer:
        groups = []
        for group in answer.get("groups", ()):
            if access.allows_group(Operation.DESCRIBE, group["group_id"]):
                groups.append(group)
        return answer | {"groups": groups}

    asked.then(whole)


class Described:
    """A description of groups of a newer protocol: DESCRIBE on each, and on all topics
    that it tells. topics(group): their names.
    """

    def __init__(self, topics: Any) -> None:
        self.topics = topics
        self.by_group = Items(
            Operation.DESCRIBE,
            ResourceType.GROUP,
            "group_ids",
            "groups",
            by_name("group_id"),
            None,
        )

    def __call__(self, asked: Asked) -> Answer | None:
        nothing_left = self.by_group(asked)
        access = asked.access

        def judged(group: Answer) -> Answer:
            names = set(self.topics(group))
            if all(access.allows_topic(Operation.DESCRIBE, name) for name in names):
                return group
            return {
                "group_id": group["group_id"],
                "error_code": Error.TOPIC_AUTHORIZATION_FAILED,
                "error_message": HIDDEN_TOPICS,
                "members": [],
            }

        def whole(answer: Answer) -> Answer:
            groups = [judged(group) for group in answer.get("groups", ())]
            return answer | {"groups": groups}

        asked.then(whole)
        return nothing_left


def topics_of_consumers(group: Answer) -> list[str]:
    """Those of a ConsumerGroupDescribe."""
    names: list[str] = []
    for member in group.get("members", ()):
        names += member["subscribed_topic_names"]
        for each in ("assignment", "target_assignment"):
            names += [one["topic_name"] for one in member[each]["topic_partitions"]]
    return names


def topics_of_sharers(group: Answer) -> list[str]:
    """Those of a ShareGroupDescribe."""
    names: list[str] = []
    for member in group.get("members", ()):
        names += member["subscribed_topic_names"]
        assigned = member["assignment"]["topic_partitions"]
        names += [one["topic_name"] for one in assigned]
    return names


def topics_of_streams(group: Answer) -> list[str]:
    """Those of a StreamsGroupDescribe."""
    topology = group.get("topology")
    if topology is None:
        return []
    return topics_of_topology(topology["subtopologies"] or ())


def topics_of_topology(subtopologies: Any) -> list[str]:
    """All that a topology reads and keeps; of what the description tells."""
    names: list[str] = []
    for each in subtopologies:
        names += each["source_topics"]
        names += each["repartition_sink_topics"]
        for kept in ("repartition_source_topics", "state_changelog_topics"):
            names += [one["name"] for one in each[kept]]
    return names


def heartbeat(asked: Asked) -> None:
    """READ on the group, DESCRIBE on the topics that the member names."""
    body, access = asked.body, asked.access
    access.check(Operation.READ, ResourceType.GROUP, body.group_id)
    for name in body.subscribed_topic_names or ():
        access.check(Operation.DESCRIBE, ResourceType.TOPIC, name)


def streams_heartbeat(asked: Asked) -> None:
    """READ on the group, DESCRIBE on all topics of the topology."""
    body, access = asked.body, asked.access
    access.check(Operation.READ, ResourceType.GROUP, body.group_id)
    if body.topology is None:
        return
    for name in topics_of_topology(body.topology.to_dict()["subtopologies"]):
        access.check(Operation.DESCRIBE, ResourceType.TOPIC, name)


def offset_delete(asked: Asked) -> Answer | None:
    """DELETE on the group, READ on the topics."""
    asked.access.check(Operation.DELETE, ResourceType.GROUP, asked.body.group_id)
    return OFFSETS(asked)


OFFSETS = Items(
    Operation.READ, ResourceType.TOPIC, "topics", "topics", Partitions("name")
)


# -- of share groups


def describe_share_offsets(asked: Asked) -> Answer | None:
    """DESCRIBE on the groups and on the topics."""
    access = asked.access
    allowed = []
    refused = []
    rows: dict[str, list[Answer]] = {}
    for group in asked.body.groups:
        if not access.allows_group(Operation.DESCRIBE, group.group_id):
            error = Error.GROUP_AUTHORIZATION_FAILED
            named = {"group_id": group.group_id, "error_code": error}
            refused.append(named | {"error_message": error.message})
            continue
        allowed.append(group)
        rows[group.group_id] = share_offsets_refused(asked, group)
    asked.body.groups = allowed

    def whole(answer: Answer) -> Answer:
        groups = []
        for group in answer.get("groups", ()):
            topics = []
            for topic in group.get("topics", ()):
                if access.allows_topic(Operation.DESCRIBE, topic["topic_name"]):
                    topics.append(topic)
            added = rows.get(group["group_id"], [])
            groups.append(group | {"topics": [*topics, *added]})
        return answer | {"groups": [*groups, *refused]}

    asked.then(whole)
    return {} if refused and not allowed else None


def share_offsets_refused(asked: Asked, group: Any) -> list[Answer]:
    """Takes the topics out that may not be described; their results."""
    if group.topics is None:
        return []
    rows = []
    allowed = []
    error = Error.TOPIC_AUTHORIZATION_FAILED
    for topic in group.topics:
        if asked.access.allows_topic(Operation.DESCRIBE, topic.topic_name):
            allowed.append(topic)
            continue
        partitions = [
            {
                "partition_index": number,
                "start_offset": UNKNOWN,
                "error_code": error,
                "error_message": error.message,
            }
            for number in topic.partitions
        ]
        rows.append({"topic_name": topic.topic_name, "partitions": partitions})
    group.topics = allowed
    return rows


def alter_share_offsets(asked: Asked) -> Answer | None:
    """READ on the group and on the topics."""
    asked.access.check(Operation.READ, ResourceType.GROUP, asked.body.group_id)

    def refused(topic: Any, error: Error) -> Answer:
        known = asked.image.topics.get(topic.topic_name)
        partitions = [
            {
                "partition_index": one.partition_index,
                "error_code": error,
                "error_message": error.message,
            }
            for one in topic.partitions
        ]
        named = {"topic_name": topic.topic_name, "partitions": partitions}
        return named if known is None else named | {"topic_id": known.topic_id}

    items = Items(
        Operation.READ, ResourceType.TOPIC, "topics", "responses", refused, "topic_name"
    )
    return items(asked)


def delete_share_offsets(asked: Asked) -> Answer | None:
    """DELETE on the group, READ on the topics; the group is asked even if no topic is
    left.
    """
    asked.access.check(Operation.DELETE, ResourceType.GROUP, asked.body.group_id)

    def refused(topic: Any, error: Error) -> Answer:
        named = {"topic_name": topic.topic_name, "error_code": error}
        return named | {"error_message": error.message}

    items = Items(
        Operation.READ, ResourceType.TOPIC, "topics", "responses", refused, "topic_name"
    )
    items(asked)
    return None


def share_states(asked: Asked) -> Answer | None:
    """CLUSTER_ACTION; each share partition says that it is refused."""
    try:
        asked.access.check(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    except KafkaError as error:
        results = []
        for topic in asked.body.topics:
            partitions = [
                {
                    "partition": one.partition,
                    "error_code": error.error,
                    "error_message": error.message,
                }
                for one in topic.partitions
            ]
            results.append({"topic_id": topic.topic_id, "partitions": partitions})
        return {"results": results}
    return None
