"""What administrators ask of a cluster: what is asked of both brokers (see
same_answers.py).
"""

from tests.conformance.raw import keyed_batch
from tests.conformance.scenarios_configs import describe

UPDATES = (
    ("no.such", 1),
    ("no.such", 0),
    ("group.version", 2),
    ("group.version", -1),
    ("group.version", 0),
    ("group.version", 0, 9),
    ("group.version", 1),
    ("group.version", 1, 2),
    ("metadata.version", 34),
    ("metadata.version", 32),
    ("metadata.version", 32, 2),
    ("metadata.version", 32, 3),
    ("metadata.version", 33),
    ("metadata.version", 3, 2),
    ("share.version", 3),
    ("share.version", 0),
    ("share.version", 0, 2),
    ("share.version", 1, 2),
    ("share.version", 2),
    ("streams.version", 2),
    ("streams.version", -1, 2),
    ("streams.version", 0, 3),
    ("streams.version", 1),
)


# What kafka-features upgrade --release-version 4.4 --dry-run asks.
RELEASE_4_4 = {
    "feature_updates": [
        {"feature": "metadata.version", "max_version_level": 33},
        {"feature": "kraft.version", "max_version_level": 1},
        {"feature": "transaction.version", "max_version_level": 2},
        {"feature": "group.version", "max_version_level": 1},
        {"feature": "eligible.leader.replicas.version", "max_version_level": 1},
        {"feature": "share.version", "max_version_level": 2},
        {"feature": "streams.version", "max_version_level": 1},
    ],
    "validate_only": True,
}


def update_features(side):
    """KIP-584, KIP-778. Ends as it began, since the other scenarios share these
    brokers.
    """
    for name, level, *kind in UPDATES:
        wanted = {"feature": name, "max_version_level": level}
        for version in (0, 1, 2):
            asked = [wanted | ({"upgrade_type": kind[0]} if kind and version else {})]
            side.ask(
                f"{name} to {level} {kind}",
                "UpdateFeatures",
                version,
                feature_updates=asked,
            )
    for level in (0, 1, 2, -1):
        for kind in (1, 2, 3, 9):
            one = {"feature": "kraft.version", "max_version_level": level}
            side.ask(
                f"only validated, kraft.version to {level} {kind}",
                "UpdateFeatures",
                1,
                2,
                feature_updates=[one | {"upgrade_type": kind}],
                validate_only=True,
            )
    side.ask("only validated, 4.4", "UpdateFeatures", 2, **RELEASE_4_4)
    off = {"feature": "group.version", "max_version_level": 0, "upgrade_type": 2}
    on = {"feature": "group.version", "max_version_level": 1}
    side.ask(
        "one bad, one good",
        "UpdateFeatures",
        2,
        feature_updates=[on, on | {"feature": "no.such"}],
    )
    side.ask(
        "only validated", "UpdateFeatures", 2, feature_updates=[off], validate_only=True
    )
    heartbeat = {
        "group_id": side.name,
        "member_id": "m",
        "rebalance_timeout_ms": 1000,
        "topic_partitions": [],
    }
    heartbeat |= {"subscribed_topic_names": ["none"], "member_epoch": 0}
    side.ask("off", "UpdateFeatures", 2, feature_updates=[off])
    side.settle()
    side.ask("while it is off", "ConsumerGroupHeartbeat", 1, **heartbeat)
    side.ask("on", "UpdateFeatures", 2, feature_updates=[on])
    side.settle()
    side.ask("nothing", "UpdateFeatures", feature_updates=[])


def describe_quorum(side):
    """KIP-595. Of a quorum of one: how far it is, the two don't agree on, as their logs
    differ.
    """
    for what, topic, *partitions in (
        ("another topic", "x", 0),
        ("another partition", "__cluster_metadata", 1),
        ("no partition", "__cluster_metadata"),
    ):
        asked = [
            {
                "topic_name": topic,
                "partitions": [{"partition_index": number} for number in partitions],
            }
        ]
        side.ask(what, "DescribeQuorum", 0, 1, 2, topics=asked)
    side.ask("nothing", "DescribeQuorum", topics=[])
    topics = [
        {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    ]
    for version in (0, 1, 2):
        [quorum] = (
            side.client.ask("DescribeQuorum", version, topics=topics)
            .topics[0]
            .partitions
        )
        [voter] = quorum.current_voters
        caught_up = voter.log_end_offset == quorum.high_watermark > 0
        timed = (
            version == 0
            or voter.last_fetch_timestamp
            == voter.last_caught_up_timestamp
            > 1_750_000_000_000
        )
        told = (
            quorum.leader_id,
            quorum.leader_epoch > 0,
            voter.replica_id,
            caught_up,
            timed,
            quorum.observers,
        )
        side.answers[f"the quorum in version {version}"] = {"told": repr(told)}
    nodes = side.client.ask("DescribeQuorum", 2, topics=topics).nodes
    told = [(node.node_id, len(node.listeners)) for node in nodes]
    side.answers["its nodes"] = {"told": repr(told)}


def brokers_that_are_forgotten(side):
    """KIP-631: UnregisterBroker."""
    side.ask("one that never was", "UnregisterBroker", broker_id=77)


def controllers_that_are_forgotten(side):
    """KIP-1312: UnregisterController."""
    for controller_id in (77, -1):
        side.ask(
            f"one that never was, {controller_id}",
            "UnregisterController",
            controller_id=controller_id,
        )


def log_dirs(side):
    """KIP-113."""
    topic = side.create_topic(partitions=2)
    for what, topics in (
        ("a topic", [{"topic": topic, "partitions": [0, 1]}]),
        ("a partition", [{"topic": topic, "partitions": [1]}]),
        (
            "unknown ones",
            [
                {"topic": topic, "partitions": [9]},
                {"topic": topic + ".none", "partitions": [0]},
            ],
        ),
        ("none", []),
    ):
        side.ask(what, "DescribeLogDirs", topics=topics)
    [folder] = side.client.ask("DescribeLogDirs", 1, topics=None).results
    assert {
        "partition_index": 1,
        "partition_size": 0,
        "offset_lag": 0,
        "is_future_key": False,
    } in [
        partition.to_dict()
        for each in folder.topics
        if each.name == topic
        for partition in each.partitions
    ]
    moved = [
        {"name": topic, "partitions": [0, 9]},
        {"name": topic + ".none", "partitions": [0]},
    ]
    for what, path in (
        ("where they are", folder.log_dir),
        ("no such folder", "/no/such/folder"),
    ):
        side.ask(
            f"to {what}", "AlterReplicaLogDirs", dirs=[{"path": path, "topics": moved}]
        )
    side.ask("nothing", "AlterReplicaLogDirs", dirs=[])
    nowhere = {"path": "/no/such/folder"}
    empty, one = {"name": topic, "partitions": []}, {"name": topic, "partitions": [1]}
    here = {"path": folder.log_dir, "topics": [one]}
    for what, dirs in {
        "no topics": [nowhere | {"topics": []}],
        "an empty topic": [nowhere | {"topics": [empty]}],
        "an empty topic and another": [nowhere | {"topics": [empty, moved[1]]}],
        "a partition twice": [
            nowhere | {"topics": [one, one | {"partitions": [1, 1]}]}
        ],
        "to two folders": [nowhere | {"topics": [one]}, here],
        "to two folders, the other way": [here, nowhere | {"topics": [one]}],
    }.items():
        side.ask(what, "AlterReplicaLogDirs", dirs=dirs)
    for version in (4, 5):
        [folder] = side.client.ask("DescribeLogDirs", version, topics=[]).results
        told = {"free": 0 < folder.usable_bytes < folder.total_bytes}
        side.answers[f"the volume in version {version}"] = told


def what_is_forbidden(side):
    """What an administrator may not do, by a topic's policy, or because it is the
    cluster's own: a table of calls and topics. (Nothing here changes a shared topic.)
    """
    for kind in (0, 1):
        asked = {"key": "some", "key_type": kind}
        while side.client.ask("FindCoordinator", 2, **asked).error_code != 0:
            pass
    names = {"__consumer_offsets": "__consumer_offsets"}
    names |= {"__transaction_state": "__transaction_state"}
    names |= {"__cluster_metadata": "__cluster_metadata", "none": side.name + ".none"}
    for policy in ("compact", "compact,delete", "delete,compact", "delete"):
        suffix = "." + policy.replace(",", "-")
        names[policy] = side.create_topic(suffix, cleanup_policy=policy)
        records = keyed_batch(b"a", b"b")
        assert side.client.produce(names[policy], records).error_code == 0
    for what, name in names.items():
        for offset in (99, -5, 0, 1, -1):
            place = {"partition_index": 0, "offset": offset}
            away = {"partition_index": 77, "offset": offset}
            side.ask(
                f"records of {what} before {offset}",
                "DeleteRecords",
                topics=[{"name": name, "partitions": [place, away]}],
                timeout_ms=5000,
            )
        may_not(side, what, name)


def may_not(side, what, name):
    """The calls that name a topic, but for DeleteRecords."""
    places = [{"topic": name, "partitions": [0]}]
    grown = {"name": name, "count": 90, "assignments": None}
    new = {"name": name, "num_partitions": 1, "replication_factor": 1}
    back = {"partition_index": 0, "replicas": None}
    for api, version, body in (
        ("CreateTopics", 7, {"topics": [new], "validate_only": True}),
        ("CreatePartitions", 3, {"topics": [grown], "validate_only": True}),
        ("ElectLeaders", 2, {"election_type": 0, "topic_partitions": places}),
        (
            "AlterPartitionReassignments",
            1,
            {"topics": [{"name": name, "partitions": [back]}]},
        ),
    ):
        side.ask(what, api, version, timeout_ms=5000, **body)
    policy = {"name": "cleanup.policy", "config_operation": 0, "value": "delete"}
    altered = {"resource_type": 2, "resource_name": name, "configs": [policy]}
    side.ask(
        what,
        "IncrementalAlterConfigs",
        1,
        resources=[altered],
        validate_only=True,
    )


FILTER = {
    "resource_type_filter": 2,
    "resource_name_filter": "x",
    "pattern_type_filter": 3,
    "principal_filter": None,
    "host_filter": None,
    "operation": 3,
    "permission_type": 3,
}
RULE = {
    "resource_type": 2,
    "resource_name": "x",
    "resource_pattern_type": 3,
    "principal": "User:ann",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


def neither_rules_nor_quotas(side):
    """KIP-140, KIP-546, KIP-554."""
    side.ask("rules", "DescribeAcls", **FILTER)
    for count in (0, 2):
        side.ask(f"{count} new ones", "CreateAcls", creations=[RULE] * count)
        side.ask(f"without {count}", "DeleteAcls", filters=[FILTER] * count)
    for what, kind, match in (
        ("ann's", "user", 0),
        ("everybody's", "user", 1),
        ("a kind's", "sort", 1),
        ("a match's", "user", 7),
    ):
        component = {
            "entity_type": kind,
            "match_type": match,
            "match": None if match else "ann",
        }
        side.ask(
            f"{what} quota", "DescribeClientQuotas", components=[component], strict=True
        )
    side.ask("all quotas", "DescribeClientQuotas", components=[], strict=False)
    for names in (None, [], ["ann"], ["ann", "ann"]):
        users = names and [{"name": name} for name in names]
        side.ask(f"credentials of {names}", "DescribeUserScramCredentials", users=users)


def resource(kind, name, **configs):
    pairs = [
        {"name": key.replace("_", "."), "value": value}
        for key, value in configs.items()
    ]
    return {"resource_type": kind, "resource_name": name, "configs": pairs}


def alter_configs(side):
    """KIP-133: what isn't named goes back to its default."""
    topic = side.create_topic(retention_ms=1000, segment_ms=5000)
    for what, one in (
        ("another one", resource(2, topic, retention_bytes="5")),
        ("null", resource(2, topic, retention_ms=None)),
        ("no number", resource(2, topic, retention_ms="x")),
        ("unknown", resource(2, topic, no_such="1")),
        ("none", resource(2, topic)),
        ("no topic", resource(2, topic + ".none")),
        ("no name", resource(2, "")),
        ("a logger", resource(8, "1")),
        ("what", resource(99, "x")),
        ("no id", resource(4, "one")),
        ("another broker", resource(4, "77")),
        ("at start only", resource(4, "1", num_partitions="5")),
        ("no group", resource(32, "")),
    ):
        side.ask(what, "AlterConfigs", resources=[one], validate_only=False)
        side.settle()
        describe(
            side,
            f"after {what}",
            topic,
            "retention.ms",
            "retention.bytes",
            "segment.ms",
            versions=(4,),
        )
    side.ask(
        "only validated",
        "AlterConfigs",
        resources=[resource(2, topic, retention_ms="7")],
        validate_only=True,
    )
    side.settle()
    describe(side, "after only validated", topic, "retention.ms", versions=(4,))


def group_configs(side):
    """KIP-848: of groups that may not be there yet."""
    group = side.name
    describe(side, "a new group's", group, kind=32)
    describe(side, "no group's", "", kind=32)
    for what, configs in (
        (
            "set",
            {
                "consumer_session_timeout_ms": "46000",
                "consumer_heartbeat_interval_ms": "6000",
            },
        ),
        ("no number", {"consumer_session_timeout_ms": "x"}),
        ("unknown", {"no_such": "1"}),
        ("back", {}),
    ):
        side.ask(what, "AlterConfigs", 2, resources=[resource(32, group, **configs)])
        side.settle()
        describe(side, f"after {what}", group, kind=32)
        listed = side.client.ask(
            "ListConfigResources", 1, resource_types=[32]
        ).config_resources
        side.answers[f"listed after {what}"] = {
            "found": group in [each.resource_name for each in listed]
        }


def what_has_configs(side):
    """KIP-1142."""
    topic = side.create_topic()
    side.ask("no such type", "ListConfigResources", 1, resource_types=[99])
    for kinds in ([2], [2, 2], [4], [16]):
        answer = side.client.ask("ListConfigResources", 1, resource_types=kinds)
        found = [
            each.to_dict()
            for each in answer.config_resources
            if each.resource_name in (topic, "1")
        ]
        side.answers[f"of {kinds}"] = {"error": answer.error_code, "found": repr(found)}
    side.ask("client metrics", "ListConfigResources", 0)


def elections(side):
    """KIP-183, KIP-460. With one broker, nobody else can lead."""
    topic = side.create_topic(partitions=2)
    for kind in (0, 1, 7):
        for what, partitions in (
            ("two", [{"topic": topic, "partitions": [0, 1]}]),
            ("none there", [{"topic": topic, "partitions": [9]}]),
            ("no topic", [{"topic": topic + ".none", "partitions": [0]}]),
            ("nothing", []),
        ):
            for version in (0, 1, 2):
                asked = {"election_type": kind} if version else {}
                side.ask(
                    f"{what}, kind {kind}",
                    "ElectLeaders",
                    version,
                    topic_partitions=partitions,
                    **asked,
                )
    answer = side.client.ask("ElectLeaders", 2, election_type=0, topic_partitions=None)
    found = [
        each.to_dict()
        for each in answer.replica_election_results
        if each.topic == topic
    ]
    side.answers["all"] = {"error": answer.error_code, "found": repr(found)}


def reassignments(side):
    """KIP-455. With one broker, nothing can move."""
    topic = side.create_topic(partitions=2)
    for what, name, number, replicas in (
        ("where it is", topic, 0, [1]),
        ("to nobody", topic, 0, []),
        ("to one that is not there", topic, 0, [7]),
        ("twice to one", topic, 0, [1, 1]),
        ("more", topic, 0, [1, 7]),
        ("no partition", topic, 9, [1]),
        ("no topic", topic + ".none", 0, [1]),
        ("nothing to take back", topic, 0, None),
    ):
        topics = [
            {
                "name": name,
                "partitions": [{"partition_index": number, "replicas": replicas}],
            }
        ]
        side.ask(what, "AlterPartitionReassignments", topics=topics)
        side.ask(
            what,
            "ListPartitionReassignments",
            topics=[{"name": name, "partition_indexes": [number]}],
        )
    side.ask("nothing", "AlterPartitionReassignments", topics=[])
    side.ask("all", "ListPartitionReassignments", topics=None)


SCENARIOS = (
    update_features,
    describe_quorum,
    brokers_that_are_forgotten,
    controllers_that_are_forgotten,
    log_dirs,
    what_is_forbidden,
    neither_rules_nor_quotas,
    alter_configs,
    group_configs,
    what_has_configs,
    elections,
    reassignments,
)
