"""Every version of every API that minikafka advertises is really served, and says the
same as Apache Kafka's.
"""

import pytest

from minikafka.broker.handlers import HANDLERS
from minikafka.wire.errors import Error
from minikafka.wire.messages import BY_KEY, encode_versioned
from tests.conformance.raw import batch

pytestmark = pytest.mark.slow

NOBODY = "nobody", 1
WITHOUT_MEMBER = "", -1
NOT_YET = {
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
}
SUBSCRIPTION = encode_versioned(
    "ConsumerProtocolSubscription", 0, {"topics": ["orders"], "user_data": None}
)


def body(api, version, topic, topic_id, member=NOBODY):
    """A request that succeeds. member: (id, generation) of a member of the group that
    is named as the topic is.
    """
    bodies = of_groups(version, topic, member, topic_id)
    bodies |= of_transactions(version, topic) | OF_NO_TOPIC | of_tokens(version)
    bodies |= of_share_groups(version, topic, topic_id)
    return bodies[api] if api in bodies else of_topics(api, version, topic, topic_id)


def of_groups(version, name, member, topic_id=bytes(16)):
    member_id, generation_id = member
    topic = {"topic_id": topic_id} if version >= 10 else {"name": name}
    who = {"group_id": name, "member_id": member_id}
    whose = who | {"generation_id": generation_id}
    names = {"protocol_type": "consumer", "protocol_name": "range"}
    asked = {"group_id": name, "topics": [topic | {"partition_indexes": [0]}]}
    offset = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "note"}
    return {
        "OffsetCommit": {
            "group_id": name,
            "topics": [topic | {"partitions": [offset]}],
        },
        "OffsetFetch": {"groups": [asked]} if version >= 8 else asked,
        "FindCoordinator": (
            {"coordinator_keys": [name]} if version >= 4 else {"key": name}
        ),
        "JoinGroup": {
            "group_id": name,
            "session_timeout_ms": 60_000,
            "rebalance_timeout_ms": 6000,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
        },
        "Heartbeat": whose,
        "LeaveGroup": (
            {"group_id": name, "members": [{"member_id": member_id}]}
            if version >= 3
            else who
        ),
        "SyncGroup": (
            whose
            | (names if version >= 5 else {})
            | {"assignments": [{"member_id": member_id, "assignment": b"yours"}]}
        ),
        "DescribeGroups": {"groups": [name]},
        "ListGroups": (
            {"states_filter": ["Stable"]} if version >= 4 else {"states_filter": []}
        ),
        "DeleteGroups": {"groups_names": [name]},
        "OffsetDelete": {
            "group_id": name,
            "topics": [{"name": name, "partitions": [{"partition_index": 0}]}],
        },
        **of_modern_groups(name),
    }


def of_modern_groups(name):
    """Of the consumer and the streams protocol."""
    return {
        "ConsumerGroupHeartbeat": {
            "group_id": name,
            "member_id": "one",
            "member_epoch": 0,
            "rebalance_timeout_ms": 6000,
            "subscribed_topic_names": [name],
            "topic_partitions": [],
        },
        "ConsumerGroupDescribe": {"group_ids": [name]},
        "StreamsGroupHeartbeat": {
            "group_id": name,
            "member_id": "one",
            "member_epoch": 0,
            "rebalance_timeout_ms": 6000,
            "topology": {
                "epoch": 0,
                "subtopologies": [{"subtopology_id": "0", "source_topics": [name]}],
            },
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
        },
        "StreamsGroupDescribe": {"group_ids": [name]},
        "StreamsGroupTopologyDescriptionUpdate": {
            "group_id": name,
            "member_id": "one",
            "topology_description": {"subtopologies": [], "global_stores": []},
        },
    }


def of_share_groups(version, name, topic_id):
    """The bodies of the requests of share groups, by API."""
    beginning = {"partition_index": 0, "start_offset": 0}
    session = {
        "group_id": name,
        "member_id": "one",
        "topics": [
            {
                "topic_id": topic_id,
                "partitions": [{"partition_index": 0, "acknowledgement_batches": []}],
            }
        ],
    }
    return {
        "ShareGroupHeartbeat": {
            "group_id": name,
            "member_id": "one",
            "member_epoch": 0,
            "subscribed_topic_names": [name],
        },
        "ShareGroupDescribe": {"group_ids": [name]},
        "ShareFetch": session
        | {
            "share_session_epoch": 0,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_records": 5,
            "batch_size": 5,
            "forgotten_topics_data": [],
        },
        "ShareAcknowledge": session | {"share_session_epoch": 1},
        **of_share_states(version, name, topic_id),
        "DescribeShareGroupOffsets": {
            "groups": [
                {
                    "group_id": name,
                    "topics": [{"topic_name": name, "partitions": [0]}],
                }
            ]
        },
        "AlterShareGroupOffsets": {
            "group_id": name,
            "topics": [{"topic_name": name, "partitions": [beginning]}],
        },
        "DeleteShareGroupOffsets": {
            "group_id": name,
            "topics": [{"topic_name": name}],
        },
    }


def of_share_states(version, name, topic_id):
    """Of what share coordinators keep."""
    place = {"partition": 0}
    state = place | {"state_epoch": 0, "leader_epoch": 0, "start_offset": 0}
    written = state | {"delivery_complete_count": 0, "state_batches": []}

    def of_states(fields):
        topic = {"topic_id": topic_id, "partitions": [fields]}
        return {"group_id": name, "topics": [topic]}

    return {
        "InitializeShareGroupState": of_states(
            {"partition": 0, "state_epoch": 0, "start_offset": 0}
        ),
        "ReadShareGroupState": of_states({"partition": 0, "leader_epoch": 0}),
        "WriteShareGroupState": of_states(
            {
                name: value
                for name, value in written.items()
                if version >= 1 or name != "delivery_complete_count"
            }
        ),
        "DeleteShareGroupState": of_states(place),
        "ReadShareGroupStateSummary": of_states({"partition": 0, "leader_epoch": 0}),
    }


def of_transactions(version, topic):
    here = [{"name": topic, "partition_indexes": [0]}]
    at = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    nowhere = {"name": "nowhere"}
    return {
        "WriteTxnMarkers": {
            "markers": [{"producer_id": 7, "topics": here, "transaction_result": True}]
        },
        "DescribeProducers": {"topics": here},
        "TxnOffsetCommit": {
            "transactional_id": "t",
            "group_id": "g",
            "producer_id": 7,
            "topics": [({} if version >= 6 else nowhere) | {"partitions": [at]}],
        },
    }


def of_topics(api, version, topic, topic_id):
    bodies = {
        **of_records(version, topic, topic_id),
        **of_the_topics_themselves(version, topic),
        **of_configs(topic),
        "Metadata": {"topics": [{"name": topic}]},
        "ApiVersions": {"client_software_name": "raw", "client_software_version": "1"},
        "InitProducerId": {"transactional_id": None, "transaction_timeout_ms": 1000},
        "AddPartitionsToTxn": of_a_transaction(
            version, [{"name": topic, "partitions": [0]}]
        ),
        "DescribeCluster": {},
        "DescribeTopicPartitions": {"topics": [{"name": topic}]},
    }
    return bodies[api]


def of_records(version, topic, topic_id):
    """Requests for the records of a partition, and for offsets of them."""
    by_id = {"topic_id": topic_id}
    of_produce = by_id if version >= 13 else {"name": topic}
    of_fetch = by_id if version >= 13 else {"topic": topic}
    written = {"index": 0, "records": batch(b"x")}
    read = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    latest = {"partition_index": 0, "timestamp": -1}
    deleted = {"partition_index": 0, "offset": 0}
    epoch = {"partition": 0, "leader_epoch": 0}
    return {
        "Produce": {
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": [{**of_produce, "partition_data": [written]}],
        },
        "Fetch": {
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "topics": [{**of_fetch, "partitions": [read]}],
        },
        "ListOffsets": {
            "replica_id": -1,
            "topics": [{"name": topic, "partitions": [latest]}],
        },
        "DeleteRecords": {
            "topics": [{"name": topic, "partitions": [deleted]}],
            "timeout_ms": 1000,
        },
        "OffsetForLeaderEpoch": {"topics": [{"topic": topic, "partitions": [epoch]}]},
    }


def of_the_topics_themselves(version, topic):
    """Requests that make and remove topics and partitions."""
    made = f"{topic}-made-{version}"
    doomed = f"{topic}-doomed"
    by_name = {"topics": [{"name": doomed}]}
    names_only = {"topic_names": [doomed]}
    deleted = by_name if version >= 6 else names_only
    return {
        "CreateTopics": {
            "topics": [{"name": made, "num_partitions": 2, "replication_factor": 1}],
            "timeout_ms": 10_000,
        },
        "DeleteTopics": {**deleted, "timeout_ms": 10_000},
        "CreatePartitions": {
            "topics": [{"name": topic, "count": 2, "assignments": None}],
            "timeout_ms": 10_000,
        },
    }


def of_configs(topic):
    resource = {"resource_type": 2, "resource_name": topic}
    changed = [{"name": "retention.ms", "value": "5000"}]
    return {
        "DescribeConfigs": {
            "resources": [{**resource, "configuration_keys": ["retention.ms"]}],
            "include_synonyms": True,
        },
        "IncrementalAlterConfigs": {"resources": [{**resource, "configs": changed}]},
        "AlterConfigs": {"resources": [{**resource, "configs": []}]},
    }


def of_a_transaction(version, topics):
    of = {"transactional_id": "nobody", "producer_id": 7, "topics": topics}
    return (
        {"transactions": [of]}
        if version >= 4
        else {f"v3_and_below_{name}": value for name, value in of.items()}
    )


def of_tokens(version):
    owner = {"owner_principal_type": "User", "owner_principal_name": "ann"}
    created = {"renewers": [], "max_lifetime_ms": -1}
    return {
        "CreateDelegationToken": created | (owner if version >= 3 else {}),
        "RenewDelegationToken": {"hmac": b"x", "renew_period_ms": 1},
        "ExpireDelegationToken": {"hmac": b"x", "expiry_time_period_ms": 1},
        "DescribeDelegationToken": {"owners": None},
    }


VOTER = {"cluster_id": None, "voter_id": 7, "voter_directory_id": bytes(15) + b"x"}
HERE = {"name": "CONTROLLER", "host": "localhost", "port": 9}
OF_NO_TOPIC = {
    "DescribeAcls": {
        "resource_type_filter": 2,
        "resource_name_filter": None,
        "pattern_type_filter": 3,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    },
    "CreateAcls": {"creations": []},
    "DeleteAcls": {"filters": []},
    "AlterReplicaLogDirs": {"dirs": []},
    "DescribeLogDirs": {"topics": None},
    "DescribeClientQuotas": {"components": [], "strict": False},
    "AlterClientQuotas": {"entries": []},
    "DescribeUserScramCredentials": {"users": None},
    "AlterUserScramCredentials": {},
    "SaslHandshake": {"mechanism": "PLAIN"},
    "SaslAuthenticate": {"auth_bytes": b"x"},
    "AddRaftVoter": {**VOTER, "timeout_ms": 1000, "listeners": [HERE]},
    "RemoveRaftVoter": VOTER,
    "DescribeQuorum": {
        "topics": [
            {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
        ]
    },
    "ElectLeaders": {"topic_partitions": None, "timeout_ms": 10_000},
    "AlterPartitionReassignments": {"topics": [], "timeout_ms": 10_000},
    "ListPartitionReassignments": {"topics": None, "timeout_ms": 10_000},
    "UpdateFeatures": {"feature_updates": []},
    "AddOffsetsToTxn": {
        "transactional_id": "nobody",
        "producer_id": 7,
        "group_id": "g",
    },
    "EndTxn": {"transactional_id": "nobody", "producer_id": 7, "committed": True},
    "DescribeTransactions": {"transactional_ids": ["nobody"]},
    "ListTransactions": {},
    "UnregisterBroker": {"broker_id": 77},
    "UnregisterController": {"controller_id": 77},
    "ListConfigResources": {},
}


def errors_in(message):
    """All error codes anywhere in an answer."""
    found = set()

    def look(value):
        if isinstance(value, dict):
            found.update(code for name, code in value.items() if name == "error_code")
            for inner in value.values():
                look(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                look(inner)

    look(message.to_dict())
    return found


NO_TOKENS = Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
REFUSED = {
    "DescribeAcls": Error.SECURITY_DISABLED,
    "UnregisterBroker": Error.BROKER_ID_NOT_REGISTERED,
    "UnregisterController": Error.CONTROLLER_ID_NOT_REGISTERED,
    "StreamsGroupTopologyDescriptionUpdate": Error.UNSUPPORTED_VERSION,
    "SaslHandshake": Error.ILLEGAL_SASL_STATE,
    "SaslAuthenticate": Error.ILLEGAL_SASL_STATE,
    "CreateDelegationToken": NO_TOKENS,
    "RenewDelegationToken": NO_TOKENS,
    "ExpireDelegationToken": NO_TOKENS,
    "DescribeDelegationToken": NO_TOKENS,
    "AddRaftVoter": Error.UNSUPPORTED_VERSION,
    "RemoveRaftVoter": Error.UNSUPPORTED_VERSION,
    "ShareAcknowledge": Error.SHARE_SESSION_NOT_FOUND,
    "TxnOffsetCommit": Error.UNKNOWN_TOPIC_OR_PARTITION,
    ("TxnOffsetCommit", 6): Error.UNKNOWN_TOPIC_ID,
    "AddOffsetsToTxn": Error.INVALID_PRODUCER_ID_MAPPING,
    "EndTxn": Error.INVALID_PRODUCER_ID_MAPPING,
    "DescribeTransactions": Error.TRANSACTIONAL_ID_NOT_FOUND,
}
OF_TRANSACTIONS = (
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "DescribeTransactions",
    "ListTransactions",
)
OF_SHARE_STATES = of_share_states(0, "", b"").keys()
GROUP_APIS = {*of_groups(0, "", NOBODY), *of_share_groups(0, "", b"")} - OF_SHARE_STATES
SERVED = [
    (BY_KEY[key].name, version)
    for key, handler in HANDLERS.items()
    if not handler.inter_broker
    for version in range(
        max(handler.versions[0], BY_KEY[key].min_version), handler.versions[1] + 1
    )
]


@pytest.mark.parametrize(("api", "version"), SERVED)
def test_every_version_that_is_advertised_is_served(broker, topic, api, version):
    if api == "DeleteTopics":
        broker.create_topic(f"{topic}-doomed")
    topic_id = broker.ask("Metadata", 10, topics=[{"name": topic}]).topics[0].topic_id
    member = prepare(broker, api, topic, topic_id)
    answer = patiently(
        broker, api, version, body(api, version, topic, topic_id, member)
    )
    comes_again = (
        {Error.MEMBER_ID_REQUIRED} if api == "JoinGroup" and version >= 4 else {0}
    )
    refused = REFUSED.get((api, version), REFUSED.get(api))
    assert errors_in(answer) in (({refused},) if refused else (set(), comes_again))


def patiently(broker, api, version, request):
    """Apache Kafka asks for patience while it makes or loads the internal topics, and
    its share coordinator hears of a new topic a little later: until then a share fetch
    fails there.
    """
    not_yet = set(NOT_YET)
    if api in OF_SHARE_STATES:
        not_yet.add(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if api == "ShareFetch":
        not_yet.add(Error.UNKNOWN_SERVER_ERROR)
    while True:
        answer = broker.ask(api, version, **request)
        if not errors_in(answer) & not_yet:
            return answer


def prepare(broker, api, group, topic_id):
    """Makes the group that the request is about, or the state of a share partition;
    gives the group's member.
    """

    def ask(api, version, member=NOBODY):
        answer = patiently(
            broker, api, version, body(api, version, group, topic_id, member)
        )
        assert errors_in(answer) <= {0}
        return answer

    if api in OF_TRANSACTIONS:
        for kind in (0, 1):
            patiently(
                broker,
                "FindCoordinator",
                4,
                {"key_type": kind, "coordinator_keys": ["nobody"]},
            )
    if api in OF_SHARE_STATES:
        ask("InitializeShareGroupState", 0)
    if api not in GROUP_APIS:
        return NOBODY
    ask("FindCoordinator", 4)
    if api in ("Heartbeat", "LeaveGroup", "SyncGroup"):
        joined = ask("JoinGroup", 3)
        member = joined.member_id, joined.generation_id
        if api != "SyncGroup":
            ask("SyncGroup", 0, member)
        return member
    if api in ("DescribeGroups", "DeleteGroups", "OffsetDelete"):
        ask("OffsetCommit", 2)
    if api == "ConsumerGroupDescribe":
        ask("ConsumerGroupHeartbeat", 0)
    if api == "ShareGroupDescribe":
        ask("ShareGroupHeartbeat", 1)
    if api == "DeleteShareGroupOffsets":
        ask("AlterShareGroupOffsets", 0)
    if api == "StreamsGroupDescribe":
        ask("StreamsGroupHeartbeat", 0)
    return WITHOUT_MEMBER
