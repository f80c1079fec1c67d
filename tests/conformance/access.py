"""The decision table of access rules: what each API answers to clients with different
rights, about resources that are there and others that aren't.

Nobody logs in. Clients differ by the address that they come from, and each rule is
about one address: 127.0.0.1, from where these tests and Apache Kafka's nodes come, may
do everything.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.cluster.acls import (
    CLUSTER_NAME,
    SUPPORTED,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from tests.conformance.raw import Connection, batch
from tests.conformance.same_answers import UNKNOWN_ID, Side, plain

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
CLUSTER, TRANSACTION = ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY
READ, WRITE, CREATE, DELETE, ALTER = (
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
)
DESCRIBE, ALL = Operation.DESCRIBE, Operation.ALL
KINDS = (TOPIC, GROUP, CLUSTER, TRANSACTION)
AUTHORIZED = {
    "authorizer.class.name": (
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    ),
    "allow.everyone.if.no.acl.found": "true",  # until the first rules are there
}
ADMIN = "127.0.0.1"


class Right(NamedTuple):
    """Something that a client may do, or must not."""

    kind: ResourceType
    operation: Operation
    permission: Permission = ALLOW


EVERYTHING = tuple(Right(kind, ALL) for kind in KINDS)
# Clients, by what they may do.
CLIENTS: dict[str, tuple[Right, ...]] = {"nothing": (), "everything": EVERYTHING}
for _kind in (TOPIC, GROUP, CLUSTER):
    for _operation in (*SUPPORTED[_kind], ALL):
        CLIENTS[f"{_operation.name} {_kind.name}"] = (Right(_kind, _operation),)
for _operation in (DESCRIBE, WRITE, ALL):
    CLIENTS[f"{_operation.name} {TRANSACTION.name}"] = (Right(TRANSACTION, _operation),)
for _first, _second in (
    ((READ, GROUP), (READ, TOPIC)),
    ((READ, GROUP), (DESCRIBE, TOPIC)),
    ((DESCRIBE, GROUP), (DESCRIBE, TOPIC)),
    ((DELETE, GROUP), (READ, TOPIC)),
    ((WRITE, TRANSACTION), (READ, GROUP)),
    ((WRITE, TRANSACTION), (WRITE, TOPIC)),
    ((DESCRIBE, TRANSACTION), (DESCRIBE, TOPIC)),
    ((CREATE, TOPIC), (DESCRIBE, TOPIC)),
    ((CREATE, TOPIC), (Operation.DESCRIBE_CONFIGS, TOPIC)),
):
    _name = " and ".join(f"{each[0].name} {each[1].name}" for each in (_first, _second))
    CLIENTS[_name] = tuple(
        Right(kind, operation) for operation, kind in (_first, _second)
    )
CLIENTS["WRITE TRANSACTIONAL_ID, READ GROUP and TOPIC"] = (
    Right(TRANSACTION, WRITE),
    Right(GROUP, READ),
    Right(TOPIC, READ),
)
for _kind in KINDS:
    CLIENTS[f"everything, but no DESCRIBE {_kind.name}"] = (
        *EVERYTHING,
        Right(_kind, DESCRIBE, DENY),
    )
CLIENTS["everything, but nothing of TOPIC"] = (*EVERYTHING, Right(TOPIC, ALL, DENY))


def address_of(client: str) -> str:
    """Where a client comes from."""
    return f"127.77.0.{1 + list(CLIENTS).index(client)}"


class Names(NamedTuple):
    """What there is, and what there isn't."""

    known: str
    unknown: str
    known_id: bytes
    group: str
    no_group: str
    transaction: str
    victim: str


Body = Callable[[Names], dict[str, Any]]


class Question(NamedTuple):
    """A request in one version. what: tells it from others of its API."""

    api: str
    version: int
    body: Body
    what: str = ""

    @property
    def label(self) -> str:
        return f"{self.api} {self.what}".strip()


def topics_of(names: Names, field: str = "name", **more: Any) -> list[dict[str, Any]]:
    return [{field: each} | more for each in (names.known, names.unknown)]


def partitions(field: str = "partition_index", **more: Any) -> list[dict[str, Any]]:
    return [{field: 0} | more]


def names_in_produce(names: Names, records: Any) -> list[dict[str, Any]]:
    data = [{"index": 0, "records": records}]
    return topics_of(names, partition_data=data)


def ids(names: Names, field: str = "topic_id", **more: Any) -> list[dict[str, Any]]:
    return [{field: each} | more for each in (names.known_id, UNKNOWN_ID)]


def of_broker(*keys: str) -> dict[str, Any]:
    return {"resource_type": 4, "resource_name": "1", "configuration_keys": list(keys)}


def of_member(**more: Any) -> Body:
    def body(names: Names) -> dict[str, Any]:
        named = {"group_id": names.group, "member_id": "nobody", "generation_id": 1}
        return named | more

    return body


def configs(names: Names, **change: Any) -> list[dict[str, Any]]:
    """Of what has configs, each with a change."""
    named = [(2, names.known), (2, names.unknown), (4, "1"), (8, "1"), (16, "metrics")]
    named.append((32, names.group))
    return [
        {"resource_type": kind, "resource_name": name} | change for kind, name in named
    ]


def heartbeat(topics: Any = None, **more: Any) -> Body:
    """Of a member that nobody knows. topics(names): those that it reads."""

    def body(names: Names) -> dict[str, Any]:
        named = {"group_id": names.group, "member_id": "A" * 22, "member_epoch": 7}
        if topics is not None:
            named["subscribed_topic_names"] = topics(names)
        return named | more

    return body


def in_topology(names: Names) -> dict[str, Any]:
    return {
        "epoch": 0,
        "subtopologies": [
            {
                "subtopology_id": "0",
                "source_topics": [names.known],
                "source_topic_regex": [],
                "state_changelog_topics": [],
                "repartition_sink_topics": [],
                "repartition_source_topics": [],
                "copartition_groups": [],
            }
        ],
    }


def share_states(**more: Any) -> Body:
    def body(names: Names) -> dict[str, Any]:
        topics = [{"topic_id": UNKNOWN_ID, "partitions": [{"partition": 0} | more]}]
        return {"group_id": names.group, "topics": topics}

    return body


PLAIN = batch(b"x")
IN_TRANSACTION = batch(
    b"x", producer_id=77, producer_epoch=0, base_sequence=0, transactional=True
)
NO_LIMITS = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20}
FETCHED = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 0}
A_FILTER = {
    "resource_name_filter": "nobody asked for this",
    "principal_filter": None,
    "host_filter": None,
    "resource_type_filter": 1,
    "pattern_type_filter": 1,
    "operation": 1,
    "permission_type": 1,
}
BAD_RULE = {
    "resource_type": 2,
    "resource_name": "",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
MARKER = {
    "producer_id": 77,
    "producer_epoch": 0,
    "transaction_result": False,
    "coordinator_epoch": 0,
}

QUESTIONS = (
    Question(
        "Produce",
        8,
        lambda names: {
            "acks": 1,
            "timeout_ms": 5000,
            "topic_data": names_in_produce(names, PLAIN),
        },
    ),
    Question(
        "Produce",
        13,
        lambda names: {
            "acks": 1,
            "timeout_ms": 5000,
            "topic_data": ids(names, partition_data=[{"index": 0, "records": PLAIN}]),
        },
        "by id",
    ),
    Question(
        "Produce",
        8,
        lambda names: {
            "acks": 1,
            "timeout_ms": 5000,
            "transactional_id": names.transaction,
            "topic_data": names_in_produce(names, IN_TRANSACTION),
        },
        "in a transaction",
    ),
    Question(
        "Produce",
        8,
        lambda names: {
            "acks": 0,
            "timeout_ms": 5000,
            "topic_data": [
                {
                    "name": names.known,
                    "partition_data": [{"index": 0, "records": PLAIN}],
                }
            ],
        },
        "acks=0",
    ),
    *(
        Question(
            "Fetch",
            version,
            lambda names: {
                "replica_id": -1,
                "session_epoch": -1,
                "topics": topics_of(names, "topic", partitions=[FETCHED]),
                **NO_LIMITS,
            },
            f"in {version}",
        )
        for version in (4, 11)
    ),
    Question(
        "Fetch",
        13,
        lambda names: {
            "replica_id": -1,
            "session_epoch": -1,
            "topics": ids(names, partitions=[FETCHED]),
            **NO_LIMITS,
        },
        "by id",
    ),
    *(
        Question(
            "ListOffsets",
            version,
            lambda names: {
                "replica_id": -1,
                "topics": topics_of(names, partitions=partitions(timestamp=-2)),
            },
            f"in {version}",
        )
        for version in (1, 7)
    ),
    Question(
        "Metadata",
        9,
        lambda names: {
            "topics": topics_of(names),
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": True,
            "include_cluster_authorized_operations": True,
        },
    ),
    Question("Metadata", 1, lambda names: {"topics": None}, "of all"),
    Question("Metadata", 0, lambda names: {"topics": []}, "of all in 0"),
    Question(
        "Metadata",
        12,
        lambda names: {
            "topics": [{"topic_id": each} for each in (names.known_id, UNKNOWN_ID)],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": True,
        },
        "by id",
    ),
    Question(
        "Metadata",
        8,
        lambda names: {"topics": [{"name": f"{names.unknown}!"}]},
        "that would create one with a bad name",
    ),
    Question(
        "DescribeTopicPartitions",
        0,
        lambda names: {
            "topics": topics_of(names),
            "response_partition_limit": 100,
            "cursor": None,
        },
    ),
    Question(
        "DescribeTopicPartitions",
        0,
        lambda names: {"topics": [], "response_partition_limit": 2000, "cursor": None},
        "of all",
    ),
    Question(
        "DescribeCluster",
        0,
        lambda names: {"include_cluster_authorized_operations": True},
    ),
    Question("ApiVersions", 0, lambda names: {}),
    # groups
    *(
        Question(
            "FindCoordinator",
            2,
            lambda names, kind=kind: {
                "key": names.group if kind == 0 else names.transaction,
                "key_type": kind,
            },
            f"type {kind}",
        )
        for kind in (0, 1)
    ),
    *(
        Question(
            "FindCoordinator",
            4,
            lambda names, kind=kind: {
                "coordinator_keys": [names.group, names.transaction],
                "key_type": kind,
            },
            f"many of type {kind}",
        )
        for kind in (0, 1)
    ),
    Question(
        "FindCoordinator",
        6,
        lambda names: {"coordinator_keys": ["no share partition"], "key_type": 2},
        "type 2",
    ),
    Question(
        "JoinGroup",
        5,
        lambda names: {
            "group_id": names.group,
            "session_timeout_ms": 1,
            "rebalance_timeout_ms": 1,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
    ),
    Question("SyncGroup", 3, of_member()),
    Question("Heartbeat", 3, of_member()),
    Question(
        "LeaveGroup",
        1,
        lambda names: {"group_id": names.group, "member_id": "nobody"},
    ),
    Question(
        "LeaveGroup",
        4,
        lambda names: {"group_id": names.group, "members": [{"member_id": "nobody"}]},
        "of many",
    ),
    Question("ConsumerGroupHeartbeat", 0, heartbeat()),
    Question(
        "ConsumerGroupHeartbeat",
        1,
        heartbeat(lambda names: [names.known, names.unknown]),
        "with topics",
    ),
    Question("ShareGroupHeartbeat", 1, heartbeat()),
    Question("ShareGroupHeartbeat", 1, heartbeat(lambda names: [names.known]), "topic"),
    Question("StreamsGroupHeartbeat", 0, heartbeat(endpoint_information_epoch=0)),
    Question(
        "StreamsGroupHeartbeat",
        0,
        lambda names: heartbeat(
            endpoint_information_epoch=0, topology=in_topology(names)
        )(names),
        "with a topology",
    ),
    Question(
        "StreamsGroupTopologyDescriptionUpdate",
        0,
        lambda names: {
            "group_id": names.group,
            "member_id": "A" * 22,
            "topology_epoch": 0,
            "topology_description": {"subtopologies": [], "global_stores": []},
        },
    ),
    *(
        Question(
            "OffsetCommit",
            version,
            lambda names: {
                "group_id": names.group,
                "generation_id_or_member_epoch": -1,
                "member_id": "",
                "topics": topics_of(
                    names,
                    partitions=partitions(committed_offset=0, committed_metadata=""),
                ),
            },
            f"in {version}",
        )
        for version in (2, 8)
    ),
    Question(
        "OffsetCommit",
        10,
        lambda names: {
            "group_id": names.group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": ids(
                names, partitions=partitions(committed_offset=0, committed_metadata="")
            ),
        },
        "by id",
    ),
    *(
        Question(
            "OffsetFetch",
            version,
            lambda names: {
                "group_id": names.group,
                "topics": topics_of(names, partition_indexes=[0]),
            },
            f"in {version}",
        )
        for version in (1, 5)
    ),
    Question(
        "OffsetFetch",
        7,
        lambda names: {"group_id": names.group, "topics": None, "require_stable": True},
        "of all",
    ),
    Question(
        "OffsetFetch",
        8,
        lambda names: {
            "groups": [
                {
                    "group_id": each,
                    "topics": topics_of(names, partition_indexes=[0]),
                }
                for each in (names.group, names.no_group)
            ]
        },
        "of groups",
    ),
    Question(
        "OffsetFetch",
        10,
        lambda names: {
            "groups": [
                {
                    "group_id": names.group,
                    "topics": ids(names, partition_indexes=[0]),
                },
                {"group_id": names.no_group, "topics": None},
            ]
        },
        "by id",
    ),
    Question(
        "OffsetDelete",
        0,
        lambda names: {
            "group_id": names.group,
            "topics": [{"name": names.unknown, "partitions": partitions()}],
        },
    ),
    Question(
        "DescribeGroups",
        5,
        lambda names: {
            "groups": [names.group, names.no_group],
            "include_authorized_operations": True,
        },
    ),
    *(
        Question(
            api,
            version,
            lambda names: {
                "group_ids": [names.group, names.no_group],
                "include_authorized_operations": True,
            },
        )
        for api, version in (
            ("ConsumerGroupDescribe", 0),
            ("ShareGroupDescribe", 1),
            ("StreamsGroupDescribe", 0),
        )
    ),
    Question("ListGroups", 4, lambda names: {}),
    Question("DeleteGroups", 2, lambda names: {"groups_names": [names.no_group]}),
    Question(
        "ShareFetch",
        1,
        lambda names: {
            "group_id": names.group,
            "member_id": "A" * 22,
            "share_session_epoch": 5,
            "max_records": 1,
            "batch_size": 1,
            "topics": ids(
                names,
                partitions=partitions(acknowledgement_batches=[]),
            ),
            **NO_LIMITS,
        },
    ),
    Question(
        "ShareAcknowledge",
        1,
        lambda names: {
            "group_id": names.group,
            "member_id": "A" * 22,
            "share_session_epoch": 5,
            "topics": [],
        },
    ),
    Question(
        "DescribeShareGroupOffsets",
        0,
        lambda names: {
            "groups": [
                {
                    "group_id": each,
                    "topics": [{"topic_name": names.unknown, "partitions": [0]}],
                }
                for each in (names.group, names.no_group)
            ]
        },
    ),
    Question(
        "AlterShareGroupOffsets",
        0,
        lambda names: {
            "group_id": names.no_group,
            "topics": [
                {
                    "topic_name": each,
                    "partitions": partitions(start_offset=0),
                }
                for each in (names.known, names.unknown)
            ],
        },
    ),
    Question(
        "DeleteShareGroupOffsets",
        0,
        lambda names: {
            "group_id": names.no_group,
            "topics": [{"topic_name": each} for each in (names.known, names.unknown)],
        },
    ),
    # transactions
    Question(
        "InitProducerId",
        1,
        lambda names: {"transactional_id": None, "transaction_timeout_ms": 60_000},
        "without a transaction",
    ),
    Question(
        "InitProducerId",
        4,
        lambda names: {
            "transactional_id": names.transaction,
            "transaction_timeout_ms": -1,
        },
    ),
    *(
        Question(
            "AddPartitionsToTxn",
            2,
            lambda names, which=which: {
                "v3_and_below_transactional_id": names.transaction,
                "v3_and_below_producer_id": 77,
                "v3_and_below_producer_epoch": 0,
                "v3_and_below_topics": [
                    {"name": each, "partitions": [0, 5]} for each in which(names)
                ],
            },
            what,
        )
        for what, which in (
            ("of both", lambda names: (names.known, names.unknown)),
            ("internal", lambda names: (names.known, "__consumer_offsets")),
        )
    ),
    Question(
        "AddPartitionsToTxn",
        4,
        lambda names: {
            "transactions": [
                {
                    "transactional_id": names.transaction,
                    "producer_id": 77,
                    "producer_epoch": 0,
                    "verify_only": True,
                    "topics": [{"name": names.known, "partitions": [0]}],
                }
            ]
        },
        "of brokers",
    ),
    Question(
        "AddOffsetsToTxn",
        2,
        lambda names: {
            "transactional_id": names.transaction,
            "producer_id": 77,
            "producer_epoch": 0,
            "group_id": names.group,
        },
    ),
    Question(
        "EndTxn",
        2,
        lambda names: {
            "transactional_id": names.transaction,
            "producer_id": 77,
            "producer_epoch": 0,
            "committed": True,
        },
    ),
    Question(
        "TxnOffsetCommit",
        3,
        lambda names: {
            "transactional_id": names.transaction,
            "group_id": names.group,
            "producer_id": 77,
            "producer_epoch": 0,
            "topics": topics_of(
                names, partitions=partitions(committed_offset=0, committed_metadata="")
            ),
        },
    ),
    Question(
        "WriteTxnMarkers",
        1,
        lambda names: {
            "markers": [
                MARKER | {"topics": [{"name": names.unknown, "partition_indexes": [0]}]}
            ]
        },
    ),
    Question(
        "DescribeTransactions",
        0,
        lambda names: {"transactional_ids": [names.transaction, names.no_group]},
    ),
    Question("ListTransactions", 0, lambda names: {}),
    Question(
        "DescribeProducers",
        0,
        lambda names: {"topics": topics_of(names, partition_indexes=[0])},
    ),
    # topics
    Question(
        "CreateTopics",
        5,
        lambda names: {
            "validate_only": True,
            "timeout_ms": 5000,
            "topics": topics_of(
                names, num_partitions=1, replication_factor=1, configs=[]
            ),
        },
    ),
    *(
        Question(
            "DeleteTopics",
            version,
            lambda names: {"timeout_ms": 5000, "topic_names": [names.unknown]},
            f"in {version}",
        )
        for version in (1, 5)
    ),
    Question(
        "DeleteTopics",
        6,
        lambda names: {
            "timeout_ms": 5000,
            "topics": [
                {"name": names.unknown, "topic_id": bytes(16)},
                {"name": None, "topic_id": UNKNOWN_ID},
            ],
        },
        "by name or id",
    ),
    Question(
        "CreatePartitions",
        1,
        lambda names: {
            "validate_only": True,
            "timeout_ms": 5000,
            "topics": topics_of(names, count=2),
        },
    ),
    Question(
        "DeleteRecords",
        1,
        lambda names: {
            "timeout_ms": 5000,
            "topics": topics_of(names, partitions=partitions(offset=0)),
        },
    ),
    Question(
        "OffsetForLeaderEpoch",
        3,
        lambda names: {
            "replica_id": -1,
            "topics": topics_of(
                names,
                "topic",
                partitions=partitions(
                    "partition", current_leader_epoch=-1, leader_epoch=0
                ),
            ),
        },
    ),
    Question(
        "DescribeConfigs",
        1,
        lambda names: {
            "resources": [
                *configs(names, configuration_keys=["retention.ms", "interval.ms"]),
                of_broker("num.io.threads"),
            ]
        },
    ),
    Question(
        "AlterConfigs",
        1,
        lambda names: {
            "validate_only": True,
            "resources": [each for each in configs(names, configs=[]) if each],
        },
    ),
    Question(
        "IncrementalAlterConfigs",
        0,
        lambda names: {"validate_only": True, "resources": configs(names, configs=[])},
    ),
    # the cluster
    Question("DescribeAcls", 2, lambda names: A_FILTER),
    Question("CreateAcls", 2, lambda names: {"creations": [BAD_RULE, BAD_RULE]}),
    Question("DeleteAcls", 2, lambda names: {"filters": [A_FILTER, A_FILTER]}),
    Question(
        "ElectLeaders",
        1,
        lambda names: {
            "election_type": 0,
            "timeout_ms": 5000,
            "topic_partitions": topics_of(names, "topic", partitions=[0]),
        },
    ),
    Question(
        "AlterPartitionReassignments",
        0,
        lambda names: {
            "timeout_ms": 5000,
            "topics": topics_of(names, partitions=partitions(replicas=None)),
        },
    ),
    Question(
        "ListPartitionReassignments",
        0,
        lambda names: {"timeout_ms": 5000, "topics": None},
    ),
    Question(
        "AlterReplicaLogDirs",
        1,
        lambda names: {
            "dirs": [{"path": "/nowhere", "topics": topics_of(names, partitions=[0])}]
        },
    ),
    *(
        Question(
            "DescribeLogDirs",
            version,
            lambda names: {"topics": [{"topic": names.unknown, "partitions": [0]}]},
            f"in {version}",
        )
        for version in (1, 4)
    ),
    Question(
        "DescribeClientQuotas",
        0,
        lambda names: {
            "components": [
                {"entity_type": "user", "match_type": 0, "match": names.unknown}
            ],
            "strict": False,
        },
    ),
    Question(
        "AlterClientQuotas",
        0,
        lambda names: {
            "validate_only": True,
            "entries": [
                {
                    "entity": [{"entity_type": "user", "entity_name": names.unknown}],
                    "ops": [{"key": "producer_byte_rate", "value": 1.0}],
                }
            ],
        },
    ),
    Question(
        "DescribeUserScramCredentials",
        0,
        lambda names: {"users": [{"name": names.unknown}]},
    ),
    Question(
        "AlterUserScramCredentials",
        0,
        lambda names: {
            "deletions": [{"name": names.unknown, "mechanism": 1}],
            "upsertions": [],
        },
    ),
    Question("ListConfigResources", 0, lambda names: {}),
    Question("ListConfigResources", 1, lambda names: {"resource_types": [16]}, "named"),
    Question(
        "DescribeQuorum",
        1,
        lambda names: {
            "topics": [
                {"topic_name": names.known, "partitions": [{"partition_index": 0}]}
            ]
        },
    ),
    Question(
        "UpdateFeatures",
        1,
        lambda names: {
            "validate_only": True,
            "feature_updates": [{"feature": "no.feature", "max_version_level": 1}],
        },
    ),
    Question("UnregisterController", 0, lambda names: {"controller_id": 99}),
    Question("UnregisterBroker", 0, lambda names: {"broker_id": 99}),
    Question(
        "AddRaftVoter",
        0,
        lambda names: {
            "cluster_id": "another",
            "timeout_ms": 1000,
            "voter_id": 9,
            "voter_directory_id": UNKNOWN_ID,
            "listeners": [],
        },
    ),
    Question(
        "RemoveRaftVoter",
        0,
        lambda names: {
            "cluster_id": "another",
            "voter_id": 9,
            "voter_directory_id": UNKNOWN_ID,
        },
    ),
    # of brokers
    Question(
        "InitializeShareGroupState", 0, share_states(state_epoch=0, start_offset=0)
    ),
    Question("ReadShareGroupState", 0, share_states(leader_epoch=0)),
    Question(
        "WriteShareGroupState",
        0,
        share_states(state_epoch=0, leader_epoch=0, start_offset=0, state_batches=[]),
    ),
    Question("DeleteShareGroupState", 0, share_states()),
    Question("ReadShareGroupStateSummary", 0, share_states(leader_epoch=0)),
    *(
        Question(api, version, lambda names: {})
        for api, version in (
            ("AlterPartition", 3),
            ("BrokerHeartbeat", 1),
            ("AllocateProducerIds", 0),
        )
    ),
    # last, as it changes what there is
    Question(
        "DeleteTopics",
        6,
        lambda names: {
            "timeout_ms": 5000,
            "topics": [{"name": names.victim, "topic_id": bytes(16)}],
        },
        "that is there",
    ),
)


def rule(
    kind: int,
    name: str,
    pattern: int,
    host: str,
    operation: int,
    permission: int = ALLOW,
    principal: str = "User:*",
) -> dict[str, Any]:
    """A rule as CreateAcls wants it."""
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": principal,
        "host": host,
        "operation": operation,
        "permission_type": permission,
    }


def rules_of_admin() -> list[dict[str, Any]]:
    """All that can be done, from where the tests and the nodes come."""
    rules = [rule(CLUSTER, CLUSTER_NAME, LITERAL, ADMIN, ALL)]
    for kind in (TOPIC, GROUP, TRANSACTION, ResourceType.USER):
        rules.append(rule(kind, "*", LITERAL, ADMIN, ALL))
    return rules


def rules_of_clients(name: str) -> list[dict[str, Any]]:
    """What the clients may do with resources whose name begins with this."""
    rules = []
    for client, rights in CLIENTS.items():
        for right in rights:
            pattern, named = PREFIXED, name
            if right.kind is CLUSTER:
                pattern, named = LITERAL, CLUSTER_NAME
            rules.append(
                rule(
                    right.kind,
                    named,
                    pattern,
                    address_of(client),
                    right.operation,
                    right.permission,
                )
            )
    return rules


def create(client: Connection, rules: list[dict[str, Any]]) -> None:
    """They are there when this returns, on the controller; a broker may learn later."""
    answer = client.ask("CreateAcls", 3, creations=rules)
    assert all(result.error_code == 0 for result in answer.results), answer


class Table(Side):
    """One broker, its clients, and the cells of the table."""

    def prepare(self) -> dict[str, Names]:
        """Rules and resources; by client, the names that it asks about."""
        create(self.client, rules_of_admin())
        create(self.client, rules_of_clients(self.name))
        known = self.create_topic("-known")
        for key_type, key in ((0, "group"), (1, "txn")):
            while self.client.ask(
                "FindCoordinator", 2, key=f"{self.name}-{key}", key_type=key_type
            ).error_code:
                pass
        commit = {
            "group_id": f"{self.name}-group",
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": [
                {
                    "name": known,
                    "partitions": partitions(committed_offset=0, committed_metadata=""),
                }
            ],
        }
        while (
            self.client.ask("OffsetCommit", 8, **commit)
            .topics[0]
            .partitions[0]
            .error_code
        ):
            pass
        while self.client.ask(
            "InitProducerId",
            4,
            transactional_id=f"{self.name}-txn",
            transaction_timeout_ms=60_000,
        ).error_code:
            pass
        found = {}
        for number, client in enumerate(CLIENTS):
            found[client] = Names(
                known=known,
                unknown=f"{self.name}-unknown",
                known_id=self.topic_id(known),
                group=f"{self.name}-group",
                no_group=f"{self.name}-nothing",
                transaction=f"{self.name}-txn",
                victim=self.create_topic(f"-victim-{number}"),
            )
        self.settle()
        return found

    def fill(self) -> None:
        """Ask every question as every client."""
        for client, names in self.prepare().items():
            with Client(self.bootstrap, address_of(client)) as asking:
                for question in QUESTIONS:
                    answer = asking.answer(question, names)
                    if answer is None:
                        answer = "closes the connection"
                    elif not isinstance(answer, str):
                        fields = self._without_made_ids(answer.to_dict())
                        answer = plain(without_words(fields), self.name)
                    self.answers[f"{question.label}: {client}"] = answer


class Client:
    """One client, which connects again when the broker hangs up."""

    def __init__(self, bootstrap: str, source: str) -> None:
        self.bootstrap, self.source = bootstrap, source
        self.connection = Connection(bootstrap, source)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc: object) -> None:
        self.connection.close()

    def answer(self, question: Question, names: Names) -> Any:
        """The broker's answer; None if it hangs up."""
        body = question.body(names)
        try:
            if body.get("acks") != 0:
                return self.connection.ask(question.api, question.version, **body)
            self.connection.send(question.api, question.version, **body)
            self.connection.ask("ApiVersions", 0)
            return "is silent"
        except (EOFError, ConnectionError):
            self.connection.close()
            self.connection = Connection(self.bootstrap, self.source)
            return None


def without_words(value: Any) -> Any:
    """An answer without the words of a refusal in which Apache Kafka prints the whole
    request, down to its buffers.
    """
    if isinstance(value, dict):
        return {key: without_words(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_words(inner) for inner in value]
    if isinstance(value, str):
        return re.sub("^Request .* needs", "Request (this one) needs", value)
    return value
