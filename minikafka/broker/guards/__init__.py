"""What each API asks of its client, where the node has an authorizer: one row each.

A guard looks at a request before its handler does, or the controller. It refuses the
request as a whole, or takes out the topics and groups that the client may not touch;
the refusals come into the answer when the handler has answered the rest. So handlers
know nothing of rules, but for a few: Metadata, Fetch, ShareFetch and ShareAcknowledge,
which find out themselves what they are asked for, and descriptions that tell what one
may do. Where Apache Kafka answers an error, or hides what is there, so do these
(kafka.server.KafkaApis, ControllerApis).
"""

from typing import Any

from minikafka.broker.access import Access
from minikafka.broker.calls import Call
from minikafka.broker.guards import groups, topics
from minikafka.broker.guards.asked import (
    Asked,
    Cluster,
    Group,
    Guard,
    Items,
    Partitions,
    by_name,
)
from minikafka.cluster.acls import CLUSTER_NAME, Operation, ResourceType
from minikafka.cluster.metadata import BROKER_LOGGER_RESOURCE, Image
from minikafka.cluster.waiting import Answer
from minikafka.wire.errors import Error, KafkaError

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LOG_DIRS_ERROR = 3  # the first version of DescribeLogDirs with an error for the whole


def refused_with(operation: Operation, more: Answer) -> Guard:
    """An operation on the cluster; the answer to a refusal has these fields besides the
    error.
    """

    def guarded(asked: Asked) -> Answer | None:
        if asked.access.allows_cluster(operation):
            return None
        error = Error.CLUSTER_AUTHORIZATION_FAILED
        return {"error_code": error, "error_message": error.message} | more

    return guarded


def log_dirs(asked: Asked) -> Answer | None:
    """DESCRIBE on the cluster; old versions answer that there is nothing."""
    if asked.access.allows_cluster(Operation.DESCRIBE):
        return None
    has_error = asked.version >= LOG_DIRS_ERROR
    code = {"error_code": Error.CLUSTER_AUTHORIZATION_FAILED} if has_error else {}
    return {"results": []} | code


def scram_credentials(asked: Asked) -> Answer | None:
    """DESCRIBE on the cluster; a result without a user says the error again."""
    if asked.access.allows_cluster(Operation.DESCRIBE):
        return None
    error = Error.CLUSTER_AUTHORIZATION_FAILED
    nobody = {"user": "", "error_code": error, "error_message": None}
    return {
        "error_code": error,
        "error_message": error.message,
        "results": [nobody],
    }


def alter_client_quotas(asked: Asked) -> None:
    """ALTER_CONFIGS on the cluster."""
    asked.access.check(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)


def replica_log_dirs(asked: Asked) -> Answer | None:
    """ALTER on the cluster; each partition says that it is refused."""
    try:
        asked.check_cluster(Operation.ALTER)
    except KafkaError as error:
        results = []
        for folder in asked.body.dirs:
            for topic in folder.topics:
                partitions = [
                    {"partition_index": number, "error_code": error.error}
                    for number in topic.partitions
                ]
                results.append({"topic_name": topic.name, "partitions": partitions})
        return {"results": results}
    return None


def share_group(asked: Asked) -> None:
    """READ on the group that fetches or acknowledges."""
    group_id = asked.body.group_id
    if group_id is not None:
        asked.access.check(Operation.READ, GROUP, group_id)


def partitions_not_added(topic: Any, error: Error) -> Answer:
    return {"name": topic.name, "error_code": error, "error_message": None}


GUARDS: dict[str, Guard] = {
    # of producers and consumers
    "Produce": topics.produce,
    "ListOffsets": Items(Operation.DESCRIBE, TOPIC, "topics", "topics", Partitions()),
    "OffsetForLeaderEpoch": topics.offset_for_leader_epoch,
    "InitProducerId": topics.init_producer_id,
    "AddPartitionsToTxn": topics.add_partitions_to_txn,
    "AddOffsetsToTxn": topics.of_transaction,
    "EndTxn": topics.of_transaction,
    "TxnOffsetCommit": groups.txn_offset_commit,
    "WriteTxnMarkers": topics.write_txn_markers,
    # of members of groups
    "FindCoordinator": groups.find_coordinator,
    "JoinGroup": Group(Operation.READ),
    "SyncGroup": Group(Operation.READ),
    "Heartbeat": Group(Operation.READ),
    "LeaveGroup": Group(Operation.READ),
    "ConsumerGroupHeartbeat": groups.heartbeat,
    "ShareGroupHeartbeat": groups.heartbeat,
    "StreamsGroupHeartbeat": groups.streams_heartbeat,
    "StreamsGroupTopologyDescriptionUpdate": Group(Operation.READ),
    "ShareFetch": share_group,
    "ShareAcknowledge": share_group,
    "OffsetCommit": groups.offset_commit,
    "OffsetFetch": groups.offset_fetch,
    # of those who look after groups
    "DescribeGroups": Items(
        Operation.DESCRIBE, GROUP, "groups", "groups", by_name("group_id"), None
    ),
    "ConsumerGroupDescribe": groups.Described(groups.topics_of_consumers),
    "ShareGroupDescribe": groups.Described(groups.topics_of_sharers),
    "StreamsGroupDescribe": groups.Described(groups.topics_of_streams),
    "ListGroups": groups.list_groups,
    "DeleteGroups": Items(
        Operation.DELETE, GROUP, "groups_names", "results", by_name("group_id"), None
    ),
    "OffsetDelete": groups.offset_delete,
    "DescribeShareGroupOffsets": groups.describe_share_offsets,
    "AlterShareGroupOffsets": groups.alter_share_offsets,
    "DeleteShareGroupOffsets": groups.delete_share_offsets,
    # of those who look after topics
    "CreateTopics": topics.create_topics,
    "DeleteTopics": topics.delete_topics,
    "CreatePartitions": Items(
        Operation.ALTER, TOPIC, "topics", "results", partitions_not_added
    ),
    "DeleteRecords": Items(
        Operation.DELETE,
        TOPIC,
        "topics",
        "topics",
        Partitions(more={"low_watermark": -1}),
    ),
    "DescribeTopicPartitions": topics.describe_topic_partitions,
    "DescribeProducers": Items(
        Operation.READ,
        TOPIC,
        "topics",
        "topics",
        Partitions(
            asked="partition_indexes",
            number=None,
            more={"error_message": Error.TOPIC_AUTHORIZATION_FAILED.message},
        ),
    ),
    "DescribeTransactions": topics.describe_transactions,
    "ListTransactions": topics.list_transactions,
    "DescribeConfigs": topics.Configs(Operation.DESCRIBE_CONFIGS, "results"),
    "AlterConfigs": topics.Configs(
        Operation.ALTER_CONFIGS, "responses", without=BROKER_LOGGER_RESOURCE
    ),
    "IncrementalAlterConfigs": topics.Configs(Operation.ALTER_CONFIGS, "responses"),
    # of those who look after the cluster
    "DescribeAcls": Cluster(Operation.DESCRIBE),
    "CreateAcls": Cluster(Operation.ALTER),
    "DeleteAcls": Cluster(Operation.ALTER),
    "ElectLeaders": Cluster(Operation.ALTER),
    "AlterPartitionReassignments": Cluster(Operation.ALTER),
    "ListPartitionReassignments": Cluster(Operation.DESCRIBE),
    "AlterReplicaLogDirs": replica_log_dirs,
    "DescribeLogDirs": log_dirs,
    "DescribeClientQuotas": refused_with(Operation.DESCRIBE_CONFIGS, {"entries": None}),
    "AlterClientQuotas": alter_client_quotas,
    "DescribeUserScramCredentials": scram_credentials,
    "AlterUserScramCredentials": Cluster(Operation.ALTER),
    "ListConfigResources": Cluster(Operation.DESCRIBE_CONFIGS),
    "DescribeQuorum": Cluster(Operation.DESCRIBE),
    "UpdateFeatures": Cluster(Operation.ALTER),
    "UnregisterBroker": Cluster(Operation.ALTER),
    "UnregisterController": Cluster(Operation.ALTER),
    "AddRaftVoter": refused_with(Operation.ALTER, {}),
    "RemoveRaftVoter": refused_with(Operation.ALTER, {}),
    # of brokers; what else they send each other is not served to clients
    "InitializeShareGroupState": groups.share_states,
    "ReadShareGroupState": groups.share_states,
    "WriteShareGroupState": groups.share_states,
    "DeleteShareGroupState": groups.share_states,
    "ReadShareGroupStateSummary": groups.share_states,
}


def guard(call: Call, access: Access, image: Image) -> Answer | None:
    """The guard of a request's API looks at it. Returns the answer if nothing is left
    to ask. Errors: that of a request which is refused as a whole.
    """
    guarded = GUARDS.get(call.api)
    return None if guarded is None else guarded(Asked(call, access, image))
