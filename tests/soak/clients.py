"""What one client does, from its connection's first request to its last.

A script is a generator: it yields an Ask and is sent the answer (None where there is
none: acks=0, a closed connection). By themselves most scripts are honest, so that
requests reach deep states; the traffic (traffic.py) twists requests on their way.
"""

from minikafka.broker.handlers import HANDLERS
from minikafka.wire.messages import API, BY_KEY
from tests.soak.asking import Ask as Ask
from tests.soak.asking import Script as Script
from tests.soak.newer_members import share_member, streams_member
from tests.soak.values import (
    EMBEDDED,
    GROUPS,
    INSTANCES,
    INTERNAL,
    TOPICS,
    TRANSACTIONS,
    Values,
)

SERVED = {
    BY_KEY[key].name: range(
        max(handler.versions[0], BY_KEY[key].min_version), handler.versions[1] + 1
    )
    for key, handler in HANDLERS.items()
    if not handler.inter_broker
}
ADMIN = "__admin_client"
MOST_TOPICS = 30
USER = {
    "name": "ann",
    "mechanism": 1,
    "iterations": 4096,
    "salt": b"salt",
    "salted_password": b"salted",
}
OF_THE_CLUSTER = (
    Ask("DescribeClientQuotas", 1, {"components": [], "strict": False}),
    Ask("AlterUserScramCredentials", 0, {"upsertions": [USER]}),
    Ask("ElectLeaders", 2, {"election_type": 0, "topic_partitions": None}),
)


def served(values: Values, api: str, since: int = 0) -> int:
    """A version of an API that is served."""
    return values.choose(*(version for version in SERVED[api] if version >= since))


def wild(values: Values) -> Script:
    """Any requests at all, filled with anything."""
    for _ in range(20):
        api = values.choose(*SERVED)
        version = served(values, api)
        client_id = values.choose("soak", "soak", "", None, ADMIN, values.text())
        body = values.body(API[api].request.struct, version)
        # of the only broker itself: then it leads nothing, as in Apache Kafka
        if api == "UnregisterBroker":
            body["broker_id"] = values.choose(-1, 0, 2, 77)
        yield Ask(api, version, body, client_id)


def producer(values: Values) -> Script:
    """An idempotent producer to one partition, sometimes a copy of itself."""
    answer = yield Ask(
        "InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 1000}
    )
    ids = (answer.producer_id, answer.producer_epoch) if answer else (-1, -1)
    topic, partition, sequence = values.topic(), values.choose(0, 0, 1), 0
    yield Ask("Metadata", 9, {"topics": [{"name": topic}]})  # which creates it
    client_id = ADMIN if topic in INTERNAL else "soak"
    for _ in range(values.random.randint(1, 15)):
        batch = values.batches.good(
            producer_id=ids[0], producer_epoch=ids[1], base_sequence=sequence
        )
        data = {
            "name": topic,
            "partition_data": [{"index": partition, "records": batch}],
        }
        body = {
            "acks": values.choose(-1, -1, 1, 0),
            "timeout_ms": 1000,
            "topic_data": [data],
        }
        yield Ask("Produce", served(values, "Produce"), body, client_id)
        sequence += values.choose(0, 1, 1, 1, 5)


def transactor(values: Values) -> Script:
    """A transactional producer, whose id others use too, now and then."""
    name = values.choose(*TRANSACTIONS)
    yield Ask("FindCoordinator", 4, {"key_type": 1, "coordinator_keys": [name]})
    answer = yield Ask(
        "InitProducerId",
        4,
        {"transactional_id": name, "transaction_timeout_ms": 30_000},
    )
    of = (
        {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
        if answer
        else {}
    )
    of["transactional_id"] = name
    topic, group = values.topic(), values.choose(*GROUPS)
    yield Ask("Metadata", 9, {"topics": [{"name": topic}]})
    yield Ask("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": [group]})
    for sequence in range(values.random.randint(1, 6)):
        topics = [{"name": topic, "partitions": [0]}]
        joins = of | {"topics": topics}
        yield Ask(
            "AddPartitionsToTxn",
            3,
            {f"v3_and_below_{field}": each for field, each in joins.items()},
        )
        ids = {field: of.get(field, -1) for field in ("producer_id", "producer_epoch")}
        batch = values.batches.good(**ids, base_sequence=sequence, transactional=True)
        data = {"name": topic, "partition_data": [{"index": 0, "records": batch}]}
        body = {
            "transactional_id": name,
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": [data],
        }
        yield Ask("Produce", 9, body)
        yield Ask(
            "AddOffsetsToTxn",
            served(values, "AddOffsetsToTxn"),
            of | {"group_id": group},
        )
        part = {
            "partition_index": 0,
            "committed_offset": sequence,
            "committed_metadata": "",
        }
        offsets = of | {
            "group_id": group,
            "topics": [{"name": topic, "partitions": [part]}],
        }
        yield Ask("TxnOffsetCommit", 2, offsets)
        yield Ask(
            "EndTxn",
            served(values, "EndTxn"),
            of | {"committed": values.choose(True, True, False)},
        )


def fetcher(values: Values) -> Script:
    """A consumer with a fetch session, which parks most of its requests."""
    session = (0, 0)
    version = served(values, "Fetch", since=7)
    for _ in range(values.random.randint(2, 12)):
        names = values.random.sample(TOPICS, values.random.randint(0, 3))
        body = {
            "max_wait_ms": values.choose(0, 50, 500, 5000),
            "min_bytes": values.choose(0, 1, 100_000),
        }
        body |= {
            "max_bytes": 1 << 20,
            "session_id": session[0],
            "session_epoch": session[1],
            "topics": [],
        }
        for name in names:
            place = {
                "partition": values.choose(0, 0, 1),
                "fetch_offset": values.choose(0, 0, 3, 10, 1000),
            }
            named = {
                "topic": name,
                "topic_id": values.world.topic_ids.get(name, bytes(16)),
            }
            body["topics"].append(
                named | {"partitions": [place | {"partition_max_bytes": 1 << 20}]}
            )
        answer = yield Ask("Fetch", version, body)
        fine = answer is not None and answer.error_code == 0 and answer.session_id
        session = (answer.session_id, session[1] + 1) if fine else (0, 0)


def classic_member(values: Values) -> Script:
    """A member of a classic group: joins, hands in or waits for assignments,
    heartbeats, commits, leaves or dies.
    """
    group, instance = values.group(), values.choose(None, None, *INSTANCES)
    version = served(values, "JoinGroup", since=5 if instance else 0)
    member_id = ""
    for _ in range(values.random.randint(1, 4)):
        joined = None
        # the second time with the id that the first one gave (KIP-394)
        for _ in range(2):
            names = values.choose(["range"], ["x", "range"])
            protocols = [
                {"name": name, "metadata": values.choose(*EMBEDDED[:4])}
                for name in names
            ]
            body = {
                "group_id": group,
                "member_id": member_id,
                "protocol_type": "consumer",
                "protocols": protocols,
            }
            body |= {
                "session_timeout_ms": values.choose(1000, 6000),
                "group_instance_id": instance,
            }
            joined = yield Ask(
                "JoinGroup",
                version,
                body | {"rebalance_timeout_ms": values.choose(500, 3000)},
            )
            if joined is None:
                return
            member_id = joined.member_id
            if joined.error_code == 0:
                break
        else:
            member_id = ""
            continue
        who = {"group_id": group, "member_id": member_id, "group_instance_id": instance}
        whose = who | {"generation_id": joined.generation_id}
        shares = [
            {"member_id": each.member_id, "assignment": b"share"}
            for each in joined.members
        ]
        yield Ask(
            "SyncGroup",
            served(values, "SyncGroup", since=3),
            whose | {"assignments": shares},
        )
        for _ in range(values.random.randint(0, 5)):
            yield values.choose(
                Ask("Heartbeat", 3, whose), commit(values, who, joined.generation_id)
            )
        if values.random.random() < 0.3:
            goodbye = {"member_id": member_id, "group_instance_id": instance}
            yield Ask("LeaveGroup", 5, {"group_id": group, "members": [goodbye]})
            return


def commit(values: Values, who: dict, generation: int) -> Ask:
    """A commit of a member, classic or not."""
    offset = {
        "partition_index": 0,
        "committed_offset": values.choose(0, 1, 5),
        "committed_metadata": "note",
    }
    body = who | {"generation_id_or_member_epoch": generation}
    return Ask(
        "OffsetCommit",
        9,
        body | {"topics": [{"name": values.topic(), "partitions": [offset]}]},
    )


def consumer_member(values: Values) -> Script:
    """A member of a new consumer group (KIP-848), which confirms what it was given."""
    group, instance = values.group(), values.choose(None, None, None, *INSTANCES)
    who = {"group_id": group, "member_id": f"member-{values.random.randrange(5)}"}
    epoch, owned = 0, []
    for beat in range(values.random.randint(1, 15)):
        body = who | {"member_epoch": epoch, "instance_id": instance}
        if epoch == 0:
            pattern = values.choose(None, None, "topic-.*", "(")
            names = (
                values.random.sample(TOPICS, 2) if pattern is None or beat % 2 else None
            )
            body |= {
                "subscribed_topic_names": names,
                "subscribed_topic_regex": pattern,
                "topic_partitions": [],
            }
            body |= {"rebalance_timeout_ms": values.choose(500, 3000)}
        else:
            body |= {"topic_partitions": values.choose(owned, owned, None, [])}
        answer = yield Ask("ConsumerGroupHeartbeat", 1, body)
        if answer is None:
            return
        epoch = answer.member_epoch if answer.error_code == 0 else 0
        if answer.assignment is not None:
            owned = [each.to_dict() for each in answer.assignment.topic_partitions]
        if values.random.random() < 0.2:
            yield commit(values, who, epoch)
    yield Ask(
        "ConsumerGroupHeartbeat",
        1,
        who | {"member_epoch": values.choose(-1, -2), "instance_id": instance},
    )


def admin(values: Values) -> Script:
    """Creates, changes, describes and deletes topics and groups while others use
    them.
    """
    for _ in range(values.random.randint(2, 10)):
        name = values.topic()
        created = {
            "name": name,
            "num_partitions": values.choose(1, 2, 3),
            "replication_factor": 1,
        }
        created["configs"] = values.choose(
            [], [], [{"name": "cleanup.policy", "value": "compact"}]
        )
        created["configs"] += values.choose(
            [], [{"name": "internal.segment.bytes", "value": "5000"}]
        )
        change = {
            "name": values.config_name(),
            "config_operation": values.choose(0, 0, 1, 2),
        }
        change["value"] = values.choose(
            "1", "1000", "compact", "delete", "1048576", "true"
        )
        kind, whom = values.choose((2, name), (4, "1"), (4, ""))
        resource = {"resource_type": kind, "resource_name": whom}
        place = {
            "name": name,
            "partitions": [{"partition_index": 0, "offset": values.choose(-1, 0, 3)}],
        }
        grown = {"name": name, "count": values.choose(2, 3, 4), "assignments": None}
        yield values.choose(
            *OF_THE_CLUSTER,
            Ask("CreateTopics", 7, {"topics": [created]}),
            Ask("CreateTopics", 7, {"topics": [created]}),
            Ask("DeleteTopics", 5, {"topic_names": [name]}),
            Ask("CreatePartitions", 3, {"topics": [grown]}),
            Ask("DeleteRecords", 2, {"topics": [place]}),
            Ask(
                "IncrementalAlterConfigs",
                1,
                {"resources": [resource | {"configs": [change]}]},
            ),
            Ask(
                "DescribeConfigs",
                4,
                {"resources": [resource | {"configuration_keys": None}]},
            ),
            Ask("Metadata", 12, {"topics": None}),
            Ask(
                "DescribeTopicPartitions",
                0,
                {"topics": [{"name": name}], "response_partition_limit": 2},
            ),
            *of_groups(values.group()),
        )


def of_groups(doomed: str) -> list[Ask]:
    """What an administrator asks of groups, one to delete among them."""
    return [
        Ask("ListGroups", 5, {}),
        Ask("DescribeGroups", 5, {"groups": GROUPS}),
        Ask("ConsumerGroupDescribe", 1, {"group_ids": GROUPS}),
        Ask("DeleteGroups", 2, {"groups_names": [doomed]}),
        Ask("FindCoordinator", 4, {"coordinator_keys": GROUPS}),
    ]


def janitor(values: Values) -> Script:
    """Puts the world in order, so that it doesn't grow for ever: few topics, no strange
    groups, no broker configs.
    """
    everything = yield Ask("Metadata", 12, {"topics": None})
    names = [topic.name for topic in everything.topics] if everything else []
    ours = [name for name in names if name not in (*TOPICS, *INTERNAL, "witness")]
    if len(names) > MOST_TOPICS:
        yield Ask("DeleteTopics", 5, {"topic_names": ours})
    listed = yield Ask("ListGroups", 5, {})
    groups = [group.group_id for group in listed.groups] if listed else []
    yield Ask(
        "DeleteGroups",
        2,
        {"groups_names": [name for name in groups if name not in GROUPS]},
    )
    for name in ("1", ""):  # this broker; all brokers
        resource = {"resource_type": 4, "resource_name": name}
        told = yield Ask(
            "DescribeConfigs",
            4,
            {"resources": [resource | {"configuration_keys": None}]},
        )
        results = told.results if told else []
        changed = [
            config.name
            for result in results
            for config in result.configs
            if config.config_source in (2, 3)
        ]
        wiped = [
            {"name": config, "config_operation": 1, "value": None} for config in changed
        ]
        yield Ask(
            "IncrementalAlterConfigs", 1, {"resources": [resource | {"configs": wiped}]}
        )


SCRIPTS = [
    wild,
    wild,
    producer,
    producer,
    fetcher,
    fetcher,
    classic_member,
    classic_member,
    consumer_member,
    admin,
]
SCRIPTS += [transactor, transactor, share_member, streams_member]
