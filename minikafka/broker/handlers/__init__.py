"""The APIs that this broker serves: one row each, with the versions from and to.
ApiVersions says the same. A row names its functions, `module.function` of this room, so
that a node starts before it has read how all of them are served.

`handle(broker, request, now)` returns the answer's fields, None where the protocol
knows no answer, a Wait, or a HangUp. A KafkaError it raises becomes the answer's
top-level error code, unless the row has a function `refuse`.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from minikafka.broker.calls import Handler
from minikafka.wire.messages import API


@cache
def load(name: str) -> Callable[..., Any]:
    """The function that a row names. Its module is imported when it is first asked
    for.
    """
    module, function = name.split(".")
    found: Callable[..., Any] = getattr(import_module(f"{__name__}.{module}"), function)
    return found


_TABLE = (
    Handler("Produce", (3, 13), "produce.handle"),
    Handler("Fetch", (4, 18), "fetch.handle"),
    Handler("ListOffsets", (1, 11), "offsets.list_offsets"),
    Handler("Metadata", (0, 13), "metadata.handle"),
    Handler(
        "OffsetCommit",
        (2, 10),
        "group_offsets.commit",
    ),
    Handler("OffsetFetch", (1, 10), "group_offsets.fetch"),
    Handler("FindCoordinator", (0, 6), "metadata.find_coordinator"),
    Handler("JoinGroup", (0, 9), "groups.join"),
    Handler("Heartbeat", (0, 4), "groups.heartbeat", "groups.refuse_heartbeat"),
    Handler("LeaveGroup", (0, 5), "groups.leave", "groups.refuse_leave"),
    Handler("SyncGroup", (0, 5), "groups.sync"),
    Handler("DescribeGroups", (0, 6), "groups.describe_classic"),
    Handler("ListGroups", (0, 5), "groups.list_groups"),
    Handler("SaslHandshake", (0, 1), "users.handshake"),
    Handler("ApiVersions", (0, 4), "features.api_versions"),
    Handler(
        "CreateTopics", (2, 7), "topics.create", "refusals.new_topics", decides=True
    ),
    Handler(
        "DeleteTopics", (1, 6), "topics.delete", "refusals.deleted_topics", decides=True
    ),
    Handler("DeleteRecords", (0, 2), "offsets.delete_records"),
    Handler(
        "InitProducerId",
        (0, 5),
        "transactions.init_producer_id",
        refuse="transactions.refuse",
    ),
    Handler("OffsetForLeaderEpoch", (2, 4), "offsets.ends_of_epochs"),
    Handler("AddPartitionsToTxn", (0, 5), "transactions.add_partitions"),
    Handler(
        "AddOffsetsToTxn",
        (0, 4),
        "transactions.add_offsets",
        refuse="transactions.refuse",
    ),
    Handler("EndTxn", (0, 5), "transactions.end", refuse="transactions.refuse"),
    Handler("WriteTxnMarkers", (1, 2), "transactions.write_markers"),
    Handler(
        "TxnOffsetCommit",
        (0, 5),
        "group_offsets.commit_in_transaction",
    ),
    Handler("DescribeAcls", (1, 3), "security.describe_acls"),
    Handler("CreateAcls", (1, 3), "security.create_acls"),
    Handler("DeleteAcls", (1, 3), "security.delete_acls"),
    Handler("DescribeConfigs", (1, 4), "configs.describe"),
    Handler(
        "AlterConfigs",
        (0, 2),
        "alter_configs.alter",
        "refusals.altered_resources",
        decides=True,
        split="alter_configs.split",
    ),
    Handler("AlterReplicaLogDirs", (1, 2), "partitions.alter_log_dirs"),
    Handler("DescribeLogDirs", (1, 5), "partitions.describe_log_dirs"),
    Handler("SaslAuthenticate", (0, 2), "users.authenticate"),
    Handler(
        "CreatePartitions",
        (0, 3),
        "topics.create_partitions",
        "refusals.grown_topics",
        decides=True,
    ),
    Handler("CreateDelegationToken", (1, 3), "users.create_token"),
    Handler("RenewDelegationToken", (1, 2), "users.change_token"),
    Handler("ExpireDelegationToken", (1, 2), "users.change_token"),
    Handler("DescribeDelegationToken", (1, 3), "users.describe_tokens"),
    Handler("DeleteGroups", (0, 2), "groups.delete"),
    Handler(
        "ElectLeaders",
        (0, 2),
        "partitions.elect_leaders",
        "refusals.elections",
        decides=True,
    ),
    Handler(
        "IncrementalAlterConfigs",
        (0, 1),
        "alter_configs.alter",
        "refusals.altered_resources",
        decides=True,
        split="alter_configs.split",
    ),
    Handler(
        "AlterPartitionReassignments",
        (0, 1),
        "partitions.reassign",
        "refusals.reassignments",
        decides=True,
    ),
    Handler("ListPartitionReassignments", (0, 0), "partitions.list_reassignments"),
    Handler(
        "OffsetDelete",
        (0, 0),
        "group_offsets.delete",
    ),
    Handler("FetchSnapshot", (1, 1), "nodes.fetch_snapshot", of_nodes=True),
    Handler("DescribeClientQuotas", (0, 1), "quotas.describe"),
    Handler("AlterClientQuotas", (0, 1), "quotas.alter", "quotas.refuse", decides=True),
    Handler("DescribeUserScramCredentials", (0, 0), "users.describe_credentials"),
    Handler(
        "AlterUserScramCredentials",
        (0, 0),
        "users.alter_credentials",
        "users.refuse_credentials",
        decides=True,
    ),
    Handler("DescribeQuorum", (0, 2), "nodes.describe_quorum", decides=True),
    Handler("UpdateFeatures", (0, 2), "features.update", decides=True),
    Handler("DescribeCluster", (0, 2), "metadata.describe_cluster"),
    Handler("Vote", (2, 2), "nodes.vote", of_nodes=True),
    Handler("BeginQuorumEpoch", (1, 1), "nodes.begin_quorum_epoch", of_nodes=True),
    Handler("EndQuorumEpoch", (1, 1), "nodes.end_quorum_epoch", of_nodes=True),
    Handler(
        "AlterPartition", (3, 3), "nodes.alter_partition", decides=True, of_nodes=True
    ),
    Handler(
        "AssignReplicasToDirs",
        (0, 0),
        "nodes.assign_replicas_to_dirs",
        decides=True,
        of_nodes=True,
    ),
    Handler("DescribeProducers", (0, 0), "transactions.describe_producers"),
    Handler("DescribeTransactions", (0, 0), "transactions.describe"),
    Handler("ListTransactions", (0, 2), "transactions.listed"),
    Handler(
        "BrokerRegistration", (4, 4), "nodes.register", decides=True, of_nodes=True
    ),
    Handler("BrokerHeartbeat", (2, 2), "nodes.heartbeat", of_nodes=True),
    Handler(
        "AllocateProducerIds",
        (0, 0),
        "nodes.allocate_producer_ids",
        decides=True,
        of_nodes=True,
    ),
    Handler("UnregisterBroker", (0, 0), "nodes.unregister", decides=True),
    Handler("ConsumerGroupHeartbeat", (0, 1), "groups.consumer_heartbeat"),
    Handler("ConsumerGroupDescribe", (0, 1), "groups.describe_consumer"),
    Handler("ListConfigResources", (0, 1), "configs.resources"),
    Handler("DescribeTopicPartitions", (0, 0), "metadata.describe_topic_partitions"),
    Handler("ShareGroupHeartbeat", (1, 1), "share_groups.heartbeat"),
    Handler("ShareGroupDescribe", (1, 1), "share_groups.describe"),
    Handler("ShareFetch", (1, 2), "share_fetch.handle", "share_acknowledge.refuse"),
    Handler(
        "ShareAcknowledge",
        (1, 2),
        "share_acknowledge.acknowledge",
        "share_acknowledge.refuse",
    ),
    Handler("AddRaftVoter", (0, 1), "nodes.add_voter", decides=True),
    Handler("RemoveRaftVoter", (0, 0), "nodes.remove_voter", decides=True),
    Handler("InitializeShareGroupState", (0, 0), "share_states.initialize_state"),
    Handler("ReadShareGroupState", (0, 0), "share_states.read_state"),
    Handler("WriteShareGroupState", (0, 1), "share_states.write_state"),
    Handler("DeleteShareGroupState", (0, 0), "share_states.delete_state"),
    Handler("ReadShareGroupStateSummary", (0, 1), "share_states.summarize_state"),
    Handler("StreamsGroupHeartbeat", (0, 0), "streams_groups.heartbeat"),
    Handler("StreamsGroupDescribe", (0, 0), "streams_groups.describe"),
    Handler("DescribeShareGroupOffsets", (0, 1), "share_groups.describe_offsets"),
    Handler("AlterShareGroupOffsets", (0, 0), "share_groups.alter_offsets"),
    Handler("DeleteShareGroupOffsets", (0, 0), "share_groups.delete_offsets"),
)

HANDLERS: dict[int, Handler] = {API[handler.api].key: handler for handler in _TABLE}
