"""The APIs that this broker serves: one row each, with the lowest and the highest
version and the function that serves it. ApiVersions says the same.

A function is in the file of its family, under the API's name. It gets the request and
the time, and returns the answer's fields, None where the protocol knows no answer, a
Wait, or a Disconnect. A KafkaError it raises becomes the answer's top-level error code,
unless the row has a function `refuse`.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from minikafka.broker.calls import Handler, narrowed
from minikafka.broker.parts import Parts
from minikafka.wire.messages import API

if TYPE_CHECKING:
    from minikafka.broker.handlers.acls import AclHandlers
    from minikafka.broker.handlers.alter_configs import AlterConfigHandlers
    from minikafka.broker.handlers.configs import ConfigHandlers
    from minikafka.broker.handlers.features import FeatureHandlers
    from minikafka.broker.handlers.fetch import FetchHandlers
    from minikafka.broker.handlers.follower_fetches import FollowerFetches
    from minikafka.broker.handlers.group_offsets import GroupOffsetHandlers
    from minikafka.broker.handlers.groups import GroupHandlers
    from minikafka.broker.handlers.metadata import MetadataHandlers
    from minikafka.broker.handlers.nodes import NodeHandlers
    from minikafka.broker.handlers.offsets import OffsetHandlers
    from minikafka.broker.handlers.partitions import PartitionHandlers
    from minikafka.broker.handlers.produce import ProduceHandlers
    from minikafka.broker.handlers.quotas import QuotaHandlers
    from minikafka.broker.handlers.security import SecurityHandlers
    from minikafka.broker.handlers.share_acknowledge import ShareAcknowledgeHandlers
    from minikafka.broker.handlers.share_fetch import ShareFetchHandlers
    from minikafka.broker.handlers.share_groups import ShareGroupHandlers
    from minikafka.broker.handlers.share_states import ShareStateHandlers
    from minikafka.broker.handlers.streams_groups import StreamsGroupHandlers
    from minikafka.broker.handlers.topics import TopicHandlers
    from minikafka.broker.handlers.transactions import TransactionHandlers
    from minikafka.broker.handlers.users import UserHandlers


class Handlers:
    """The handlers of one node, by family, each with the parts that it works with. A
    family is read and made when it is first asked for, so that a node starts before it
    has read them all.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        older = parts.config.kafka_version
        # to clients; nodes are served all
        self.served = HANDLERS if older is None else narrowed(HANDLERS, older)

    @cached_property
    def acls(self) -> "AclHandlers":
        from minikafka.broker.handlers.acls import AclHandlers

        parts = self._parts
        return AclHandlers(
            parts.image,
            parts.authorizer is not None,
            parts.random_uuid,
            parts.active_controller,
        )

    @cached_property
    def alter_configs(self) -> "AlterConfigHandlers":
        from minikafka.broker.handlers.alter_configs import AlterConfigHandlers

        parts = self._parts
        return AlterConfigHandlers(
            parts.node_id,
            parts.image,
            parts.config,
            parts.in_force,
            parts.loggers,
            parts.active_controller,
        )

    @cached_property
    def configs(self) -> "ConfigHandlers":
        from minikafka.broker.handlers.configs import ConfigHandlers

        parts = self._parts
        return ConfigHandlers(
            parts.node_id, parts.disk, parts.image, parts.config, parts.loggers
        )

    @cached_property
    def features(self) -> "FeatureHandlers":
        from minikafka.broker.handlers.features import FeatureHandlers

        parts = self._parts
        return FeatureHandlers(
            parts.node_id,
            parts.image,
            parts.quorum,
            parts.active_controller,
            HANDLERS,
            parts.config.kafka_version,
        )

    @cached_property
    def _followers(self) -> "FollowerFetches":
        from minikafka.broker.handlers.follower_fetches import FollowerFetches

        parts = self._parts
        return FollowerFetches(
            parts.node_id,
            parts.image,
            parts.quorum,
            parts.replicas,
            parts.isr,
            parts.waiting,
            parts.events,
        )

    @cached_property
    def fetch(self) -> "FetchHandlers":
        from minikafka.broker.handlers.fetch import FetchHandlers

        parts = self._parts
        return FetchHandlers(
            parts.node_id,
            parts.config,
            parts.image,
            parts.quorum,
            parts.replicas,
            parts.damage,
            parts.fetch_sessions,
            parts.throttling,
            parts.leader_quota,
            self._followers,
            parts.trace,
            parts.counters,
        )

    @cached_property
    def group_offsets(self) -> "GroupOffsetHandlers":
        from minikafka.broker.handlers.group_offsets import GroupOffsetHandlers

        parts = self._parts
        return GroupOffsetHandlers(parts.image, parts.groups, parts.verifier)

    @cached_property
    def groups(self) -> "GroupHandlers":
        from minikafka.broker.handlers.groups import GroupHandlers

        parts = self._parts
        return GroupHandlers(
            parts.image,
            parts.config,
            parts.clock,
            parts.groups,
            parts.sharing.persister,
            parts.random_uuid,
        )

    @cached_property
    def metadata(self) -> "MetadataHandlers":
        from minikafka.broker.handlers.metadata import MetadataHandlers

        parts = self._parts
        return MetadataHandlers(
            parts.config,
            parts.image,
            parts.quorum,
            parts.forwarding,
            parts.groups,
            parts.transactions,
            parts.sharing,
            parts.descriptions,
        )

    @cached_property
    def nodes(self) -> "NodeHandlers":
        from minikafka.broker.handlers.nodes import NodeHandlers

        parts = self._parts
        return NodeHandlers(
            parts.config,
            parts.image,
            parts.quorum,
            parts.incarnation,
            parts.active_controller,
        )

    @cached_property
    def offsets(self) -> "OffsetHandlers":
        from minikafka.broker.handlers.offsets import OffsetHandlers

        parts = self._parts
        return OffsetHandlers(parts.image, parts.replicas, parts.active_controller)

    @cached_property
    def partitions(self) -> "PartitionHandlers":
        from minikafka.broker.handlers.partitions import PartitionHandlers

        parts = self._parts
        return PartitionHandlers(
            parts.disk, parts.image, parts.replicas, parts.active_controller
        )

    @cached_property
    def produce(self) -> "ProduceHandlers":
        from minikafka.broker.handlers.produce import ProduceHandlers

        parts = self._parts
        return ProduceHandlers(
            parts.image,
            parts.replicas,
            parts.verifier,
            parts.throttling,
            parts.storage_failed,
            parts.trace,
        )

    @cached_property
    def quotas(self) -> "QuotaHandlers":
        from minikafka.broker.handlers.quotas import QuotaHandlers

        parts = self._parts
        return QuotaHandlers(parts.image, parts.active_controller)

    @cached_property
    def security(self) -> "SecurityHandlers":
        from minikafka.broker.handlers.security import SecurityHandlers

        return SecurityHandlers()

    @cached_property
    def share_acknowledge(self) -> "ShareAcknowledgeHandlers":
        from minikafka.broker.handlers.share_acknowledge import ShareAcknowledgeHandlers

        parts = self._parts
        return ShareAcknowledgeHandlers(parts.config, parts.image, parts.sharing)

    @cached_property
    def share_fetch(self) -> "ShareFetchHandlers":
        from minikafka.broker.handlers.share_fetch import ShareFetchHandlers

        parts = self._parts
        return ShareFetchHandlers(
            parts.config,
            parts.image,
            parts.damage,
            parts.sharing,
            self.share_acknowledge,
            parts.counters,
        )

    @cached_property
    def share_groups(self) -> "ShareGroupHandlers":
        from minikafka.broker.handlers.share_groups import ShareGroupHandlers

        parts = self._parts
        return ShareGroupHandlers(
            parts.image,
            parts.clock,
            parts.replicas,
            parts.groups,
            parts.sharing.persister,
        )

    @cached_property
    def share_states(self) -> "ShareStateHandlers":
        from minikafka.broker.handlers.share_states import ShareStateHandlers

        parts = self._parts
        return ShareStateHandlers(parts.sharing)

    @cached_property
    def streams_groups(self) -> "StreamsGroupHandlers":
        from minikafka.broker.handlers.streams_groups import StreamsGroupHandlers

        parts = self._parts
        return StreamsGroupHandlers(
            parts.image, parts.clock, parts.groups, parts.internal_topics
        )

    @cached_property
    def topics(self) -> "TopicHandlers":
        from minikafka.broker.handlers.topics import TopicHandlers

        parts = self._parts
        return TopicHandlers(
            parts.node_id,
            parts.image,
            parts.config,
            parts.random,
            parts.random_uuid,
            parts.active_controller,
        )

    @cached_property
    def transactions(self) -> "TransactionHandlers":
        from minikafka.broker.handlers.transactions import TransactionHandlers

        parts = self._parts
        return TransactionHandlers(
            parts.image,
            parts.config,
            parts.replicas,
            parts.groups,
            parts.transactions,
            parts.forwarding,
            parts.storage_failed,
            parts.trace,
        )

    @cached_property
    def users(self) -> "UserHandlers":
        from minikafka.broker.handlers.users import UserHandlers

        parts = self._parts
        return UserHandlers(parts.image, parts.active_controller)


_TABLE: tuple[Handler[Handlers], ...] = (
    Handler("Produce", (3, 13), lambda handlers: handlers.produce.produce),
    Handler("Fetch", (4, 18), lambda handlers: handlers.fetch.fetch),
    Handler("ListOffsets", (1, 11), lambda handlers: handlers.offsets.list_offsets),
    Handler("Metadata", (0, 13), lambda handlers: handlers.metadata.metadata),
    Handler(
        "OffsetCommit", (2, 10), lambda handlers: handlers.group_offsets.offset_commit
    ),
    Handler(
        "OffsetFetch", (1, 10), lambda handlers: handlers.group_offsets.offset_fetch
    ),
    Handler(
        "FindCoordinator", (0, 6), lambda handlers: handlers.metadata.find_coordinator
    ),
    Handler("JoinGroup", (0, 9), lambda handlers: handlers.groups.join_group),
    Handler(
        "Heartbeat",
        (0, 4),
        lambda handlers: handlers.groups.heartbeat,
        refuse=lambda handlers: handlers.groups.refuse_heartbeat,
    ),
    Handler(
        "LeaveGroup",
        (0, 5),
        lambda handlers: handlers.groups.leave_group,
        refuse=lambda handlers: handlers.groups.refuse_leave,
    ),
    Handler("SyncGroup", (0, 5), lambda handlers: handlers.groups.sync_group),
    Handler("DescribeGroups", (0, 6), lambda handlers: handlers.groups.describe_groups),
    Handler("ListGroups", (0, 5), lambda handlers: handlers.groups.list_groups),
    Handler("SaslHandshake", (0, 1), lambda handlers: handlers.security.sasl_handshake),
    Handler("ApiVersions", (0, 5), lambda handlers: handlers.features.api_versions),
    Handler(
        "CreateTopics",
        (2, 7),
        lambda handlers: handlers.topics.create_topics,
        refuse=lambda handlers: handlers.topics.refuse_create_topics,
        controller_only=True,
    ),
    Handler(
        "DeleteTopics",
        (1, 6),
        lambda handlers: handlers.topics.delete_topics,
        refuse=lambda handlers: handlers.topics.refuse_delete_topics,
        controller_only=True,
    ),
    Handler("DeleteRecords", (0, 2), lambda handlers: handlers.offsets.delete_records),
    Handler(
        "InitProducerId",
        (0, 5),
        lambda handlers: handlers.transactions.init_producer_id,
        refuse=lambda handlers: handlers.transactions.refuse,
    ),
    Handler(
        "OffsetForLeaderEpoch",
        (2, 4),
        lambda handlers: handlers.offsets.offset_for_leader_epoch,
    ),
    Handler(
        "AddPartitionsToTxn",
        (0, 5),
        lambda handlers: handlers.transactions.add_partitions_to_txn,
    ),
    Handler(
        "AddOffsetsToTxn",
        (0, 4),
        lambda handlers: handlers.transactions.add_offsets_to_txn,
        refuse=lambda handlers: handlers.transactions.refuse,
    ),
    Handler(
        "EndTxn",
        (0, 5),
        lambda handlers: handlers.transactions.end_txn,
        refuse=lambda handlers: handlers.transactions.refuse,
    ),
    Handler(
        "WriteTxnMarkers",
        (1, 2),
        lambda handlers: handlers.transactions.write_txn_markers,
    ),
    Handler(
        "TxnOffsetCommit",
        (0, 6),
        lambda handlers: handlers.group_offsets.txn_offset_commit,
    ),
    Handler("DescribeAcls", (1, 3), lambda handlers: handlers.acls.describe_acls),
    Handler(
        "CreateAcls",
        (1, 3),
        lambda handlers: handlers.acls.create_acls,
        refuse=lambda handlers: handlers.acls.refuse_create,
        controller_only=True,
    ),
    Handler(
        "DeleteAcls",
        (1, 3),
        lambda handlers: handlers.acls.delete_acls,
        refuse=lambda handlers: handlers.acls.refuse_delete,
        controller_only=True,
    ),
    Handler(
        "DescribeConfigs", (1, 4), lambda handlers: handlers.configs.describe_configs
    ),
    Handler(
        "AlterConfigs",
        (0, 2),
        lambda handlers: handlers.alter_configs.alter_configs,
        refuse=lambda handlers: handlers.alter_configs.refuse,
        controller_only=True,
        split=lambda handlers: handlers.alter_configs.split,
    ),
    Handler(
        "AlterReplicaLogDirs",
        (1, 2),
        lambda handlers: handlers.partitions.alter_replica_log_dirs,
    ),
    Handler(
        "DescribeLogDirs",
        (1, 5),
        lambda handlers: handlers.partitions.describe_log_dirs,
    ),
    Handler(
        "SaslAuthenticate", (0, 2), lambda handlers: handlers.security.sasl_authenticate
    ),
    Handler(
        "CreatePartitions",
        (0, 3),
        lambda handlers: handlers.topics.create_partitions,
        refuse=lambda handlers: handlers.topics.refuse_create_partitions,
        controller_only=True,
    ),
    Handler(
        "CreateDelegationToken",
        (1, 3),
        lambda handlers: handlers.security.create_delegation_token,
    ),
    Handler(
        "RenewDelegationToken",
        (1, 2),
        lambda handlers: handlers.security.renew_delegation_token,
    ),
    Handler(
        "ExpireDelegationToken",
        (1, 2),
        lambda handlers: handlers.security.expire_delegation_token,
    ),
    Handler(
        "DescribeDelegationToken",
        (1, 3),
        lambda handlers: handlers.security.describe_delegation_token,
    ),
    Handler("DeleteGroups", (0, 3), lambda handlers: handlers.groups.delete_groups),
    Handler(
        "ElectLeaders",
        (0, 2),
        lambda handlers: handlers.partitions.elect_leaders,
        refuse=lambda handlers: handlers.partitions.refuse_elect_leaders,
        controller_only=True,
    ),
    Handler(
        "IncrementalAlterConfigs",
        (0, 1),
        lambda handlers: handlers.alter_configs.incremental_alter_configs,
        refuse=lambda handlers: handlers.alter_configs.refuse,
        controller_only=True,
        split=lambda handlers: handlers.alter_configs.split,
    ),
    Handler(
        "AlterPartitionReassignments",
        (0, 1),
        lambda handlers: handlers.partitions.alter_partition_reassignments,
        refuse=lambda handlers: (
            handlers.partitions.refuse_alter_partition_reassignments
        ),
        controller_only=True,
    ),
    Handler(
        "ListPartitionReassignments",
        (0, 0),
        lambda handlers: handlers.partitions.list_partition_reassignments,
    ),
    Handler(
        "OffsetDelete", (0, 0), lambda handlers: handlers.group_offsets.offset_delete
    ),
    Handler(
        "FetchSnapshot",
        (1, 1),
        lambda handlers: handlers.nodes.fetch_snapshot,
        inter_broker=True,
    ),
    Handler(
        "DescribeClientQuotas",
        (0, 1),
        lambda handlers: handlers.quotas.describe_client_quotas,
    ),
    Handler(
        "AlterClientQuotas",
        (0, 1),
        lambda handlers: handlers.quotas.alter_client_quotas,
        refuse=lambda handlers: handlers.quotas.refuse,
        controller_only=True,
    ),
    Handler(
        "DescribeUserScramCredentials",
        (0, 0),
        lambda handlers: handlers.users.describe_user_scram_credentials,
    ),
    Handler(
        "AlterUserScramCredentials",
        (0, 0),
        lambda handlers: handlers.users.alter_user_scram_credentials,
        refuse=lambda handlers: handlers.users.refuse_credentials,
        controller_only=True,
    ),
    Handler(
        "DescribeQuorum",
        (0, 2),
        lambda handlers: handlers.nodes.describe_quorum,
        controller_only=True,
    ),
    Handler(
        "UpdateFeatures",
        (0, 2),
        lambda handlers: handlers.features.update_features,
        controller_only=True,
    ),
    Handler(
        "DescribeCluster", (0, 2), lambda handlers: handlers.metadata.describe_cluster
    ),
    Handler("Vote", (2, 2), lambda handlers: handlers.nodes.vote, inter_broker=True),
    Handler(
        "BeginQuorumEpoch",
        (1, 1),
        lambda handlers: handlers.nodes.begin_quorum_epoch,
        inter_broker=True,
    ),
    Handler(
        "EndQuorumEpoch",
        (1, 1),
        lambda handlers: handlers.nodes.end_quorum_epoch,
        inter_broker=True,
    ),
    Handler(
        "AlterPartition",
        (3, 3),
        lambda handlers: handlers.nodes.alter_partition,
        controller_only=True,
        inter_broker=True,
    ),
    Handler(
        "AssignReplicasToDirs",
        (0, 0),
        lambda handlers: handlers.nodes.assign_replicas_to_dirs,
        controller_only=True,
        inter_broker=True,
    ),
    Handler(
        "DescribeProducers",
        (0, 0),
        lambda handlers: handlers.transactions.describe_producers,
    ),
    Handler(
        "DescribeTransactions",
        (0, 0),
        lambda handlers: handlers.transactions.describe_transactions,
    ),
    Handler(
        "ListTransactions",
        (0, 2),
        lambda handlers: handlers.transactions.list_transactions,
    ),
    Handler(
        "BrokerRegistration",
        (4, 4),
        lambda handlers: handlers.nodes.broker_registration,
        controller_only=True,
        inter_broker=True,
    ),
    Handler(
        "BrokerHeartbeat",
        (2, 2),
        lambda handlers: handlers.nodes.broker_heartbeat,
        inter_broker=True,
    ),
    Handler(
        "AllocateProducerIds",
        (0, 0),
        lambda handlers: handlers.nodes.allocate_producer_ids,
        controller_only=True,
        inter_broker=True,
    ),
    Handler(
        "UnregisterBroker",
        (0, 0),
        lambda handlers: handlers.nodes.unregister_broker,
        controller_only=True,
    ),
    Handler(
        "ConsumerGroupHeartbeat",
        (0, 1),
        lambda handlers: handlers.groups.consumer_group_heartbeat,
    ),
    Handler(
        "ConsumerGroupDescribe",
        (0, 1),
        lambda handlers: handlers.groups.consumer_group_describe,
    ),
    Handler(
        "ListConfigResources",
        (0, 1),
        lambda handlers: handlers.configs.list_config_resources,
    ),
    Handler(
        "DescribeTopicPartitions",
        (0, 0),
        lambda handlers: handlers.metadata.describe_topic_partitions,
    ),
    Handler(
        "ShareGroupHeartbeat",
        (1, 1),
        lambda handlers: handlers.share_groups.share_group_heartbeat,
    ),
    Handler(
        "ShareGroupDescribe",
        (1, 1),
        lambda handlers: handlers.share_groups.share_group_describe,
    ),
    Handler(
        "ShareFetch",
        (1, 2),
        lambda handlers: handlers.share_fetch.share_fetch,
        refuse=lambda handlers: handlers.share_acknowledge.refuse,
    ),
    Handler(
        "ShareAcknowledge",
        (1, 2),
        lambda handlers: handlers.share_acknowledge.share_acknowledge,
        refuse=lambda handlers: handlers.share_acknowledge.refuse,
    ),
    Handler(
        "AddRaftVoter",
        (0, 1),
        lambda handlers: handlers.nodes.add_raft_voter,
        controller_only=True,
    ),
    Handler(
        "RemoveRaftVoter",
        (0, 0),
        lambda handlers: handlers.nodes.remove_raft_voter,
        controller_only=True,
    ),
    Handler(
        "InitializeShareGroupState",
        (0, 0),
        lambda handlers: handlers.share_states.initialize_share_group_state,
    ),
    Handler(
        "ReadShareGroupState",
        (0, 0),
        lambda handlers: handlers.share_states.read_share_group_state,
    ),
    Handler(
        "WriteShareGroupState",
        (0, 1),
        lambda handlers: handlers.share_states.write_share_group_state,
    ),
    Handler(
        "DeleteShareGroupState",
        (0, 0),
        lambda handlers: handlers.share_states.delete_share_group_state,
    ),
    Handler(
        "ReadShareGroupStateSummary",
        (0, 1),
        lambda handlers: handlers.share_states.read_share_group_state_summary,
    ),
    Handler(
        "StreamsGroupHeartbeat",
        (0, 1),
        lambda handlers: handlers.streams_groups.streams_group_heartbeat,
    ),
    Handler(
        "StreamsGroupDescribe",
        (0, 1),
        lambda handlers: handlers.streams_groups.streams_group_describe,
    ),
    Handler(
        "DescribeShareGroupOffsets",
        (0, 1),
        lambda handlers: handlers.share_groups.describe_share_group_offsets,
    ),
    Handler(
        "AlterShareGroupOffsets",
        (0, 0),
        lambda handlers: handlers.share_groups.alter_share_group_offsets,
    ),
    Handler(
        "DeleteShareGroupOffsets",
        (0, 0),
        lambda handlers: handlers.share_groups.delete_share_group_offsets,
    ),
    Handler(
        "StreamsGroupTopologyDescriptionUpdate",
        (0, 0),
        lambda handlers: (
            handlers.streams_groups.streams_group_topology_description_update
        ),
    ),
    Handler(
        "UnregisterController",
        (0, 0),
        lambda handlers: handlers.nodes.unregister_controller,
        controller_only=True,
    ),
)

HANDLERS = {API[handler.api].key: handler for handler in _TABLE}
