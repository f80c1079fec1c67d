"""A request with as many items as a node takes holds up everybody else for as long as
it is worked on.
"""

import pytest

from minikafka.broker.calls import MOST_TIMES
from minikafka.broker.handlers import HANDLERS
from minikafka.broker.replica_manager import ASKED_FOR_AT_ONCE
from minikafka.wire.errors import Error
from minikafka.wire.messages import API, MOST_REQUEST_ITEMS
from tests.broker.node import Node
from tests.work import MOST_CALLS, counted, work_of

pytestmark = pytest.mark.slow

N = MOST_REQUEST_ITEMS - 10
TOPICS = [f"topic-{number}" for number in range(2000)]
NAMES = [f"g{number}" for number in range(N)]
TOPIC, BROKER, GROUP = 2, 4, 32


@pytest.fixture(scope="module")
def node():
    """It has 2,000 topics, one of which has 9,990 partitions more, and a group with 900
    offsets.
    """
    node = Node()
    for first in (0, 1000):
        topics = [new_topic(name) for name in TOPICS[first : first + 1000]]
        node.call("CreateTopics", 7, topics=topics, timeout_ms=1000)
    node.create_topic("large", partitions=N)
    node.call("FindCoordinator", 0, key="g")
    node.pass_time(20_000)
    node.out()
    committed = [
        {"partition_index": number, "committed_offset": 1} for number in range(900)
    ]
    topics = [{"name": "large", "partitions": committed}]
    group = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
    answer = node.call("OffsetCommit", 8, **group, topics=topics)
    assert answer.topics[0].partitions[0].error_code == Error.NONE
    return node


def new_topic(name, partitions=1, configs=()):
    how = {"num_partitions": partitions, "replication_factor": 1, "assignments": []}
    return {
        "name": name,
        **how,
        "configs": [{"name": key, "value": value} for key, value in configs],
    }


def of_large(
    count=N - 1,
    topic="name",
    partitions="partitions",
    number="partition_index",
    **fields,
):
    """All partitions of the large topic."""
    listed = [{number: each, **fields} if number else each for each in range(count)]
    return [{topic: "large", partitions: listed}]


def described(kinds_and_names, keys=None):
    resources = [
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        for kind, name in kinds_and_names
    ]
    return {
        "resources": resources,
        "include_synonyms": True,
        "include_documentation": True,
    }


def altered(names):
    config = {"name": "retention.ms", "value": "7"}
    resources = [
        {"resource_type": TOPIC, "resource_name": name, "configs": [config]}
        for name in names
    ]
    return {"resources": resources, "validate_only": False}


EACH_TOPIC = [(TOPIC, name) for name in TOPICS]


def joins(*subtopologies):
    """The first heartbeat of a streams group (KIP-1071)."""
    return {
        "group_id": "streams",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "topology": {"epoch": 0, "subtopologies": list(subtopologies)},
    }


def passes_on(number):
    """A subtopology that reads what the one after it writes."""
    read = [{"name": f"r{number + 1}", "partitions": 0, "replication_factor": 0}]
    return {
        "subtopology_id": str(number),
        "repartition_source_topics": read,
        "repartition_sink_topics": [f"r{number}"],
    }


SHARE = N // 4  # subtopologies, which are three items and are written down, too
SOURCE = {
    "subtopology_id": "first",
    "source_topics": ["topic-0"],
    "repartition_sink_topics": [f"r{SHARE}"],
}
JOINED = SOURCE | {
    "repartition_sink_topics": [],
    "repartition_source_topics": [
        {"name": f"j{number}", "partitions": 1, "replication_factor": 0}
        for number in range(SHARE)
    ],
    "copartition_groups": [
        {"repartition_source_topics": [number]} for number in range(SHARE)
    ],
}
OF_TOPOLOGIES = {
    "subtopologies that follow from each other": (
        "StreamsGroupHeartbeat",
        0,
        joins(*map(passes_on, range(SHARE)), SOURCE),
    ),
    "topics that are joined": ("StreamsGroupHeartbeat", 0, joins(JOINED)),
}
MOST = {
    # what it does -> API, version, body
    "configs of topics and groups": (
        "DescribeConfigs",
        4,
        described([*EACH_TOPIC, *((GROUP, name) for name in NAMES[2000:])]),
    ),
    "one config of each": (
        "DescribeConfigs",
        4,
        described([(GROUP, name) for name in NAMES[: N // 2]], ["x"]),
    ),
    "one broker's configs again and again": (
        "DescribeConfigs",
        4,
        described([(BROKER, "1")] * N),
    ),
    "one topic's configs again and again": (
        "DescribeConfigs",
        4,
        described([(TOPIC, TOPICS[0])] * N),
    ),
    "configs of brokers that aren't there": (
        "DescribeConfigs",
        4,
        described((BROKER, name) for name in NAMES),
    ),
    "topics get a config": ("AlterConfigs", 2, altered(TOPICS)),
    "a config for all": (
        "IncrementalAlterConfigs",
        1,
        {
            "resources": [
                {
                    "resource_type": BROKER,
                    "resource_name": "",
                    "configs": [
                        {
                            "name": "log.retention.ms",
                            "config_operation": 0,
                            "value": "9",
                        }
                    ],
                }
            ],
            "validate_only": False,
        },
    ),
    "all topics": ("Metadata", 12, {"topics": None}),
    "one topic again and again": ("Metadata", 9, {"topics": [{"name": "large"}] * N}),
    "one topic's partitions, again and again": (
        "DescribeTopicPartitions",
        0,
        {"topics": [{"name": "large"}] * N, "response_partition_limit": 2000},
    ),
    "sizes": ("DescribeLogDirs", 4, {"topics": of_large(topic="topic", number=None)}),
    "sizes of all": ("DescribeLogDirs", 4, {"topics": None}),
    "offsets by time": (
        "ListOffsets",
        7,
        {"replica_id": -1, "topics": of_large(timestamp=1)},
    ),
    "ends of epochs": (
        "OffsetForLeaderEpoch",
        4,
        {
            "replica_id": -1,
            "topics": of_large(topic="topic", number="partition", leader_epoch=0),
        },
    ),
    "records to delete": (
        "DeleteRecords",
        2,
        {"timeout_ms": 1000, "topics": of_large(offset=-1)},
    ),
    "producers": (
        "DescribeProducers",
        0,
        {"topics": of_large(partitions="partition_indexes", number=None)},
    ),
    "elections": (
        "ElectLeaders",
        2,
        {
            "election_type": 0,
            "timeout_ms": 1000,
            "topic_partitions": of_large(topic="topic", number=None),
        },
    ),
    "one group's offsets again and again": (
        "OffsetFetch",
        8,
        {"groups": [{"group_id": "g", "topics": None}] * N},
    ),
    "offsets of groups": (
        "OffsetFetch",
        8,
        {"groups": [{"group_id": name, "topics": None} for name in NAMES]},
    ),
    "groups": ("DescribeGroups", 5, {"groups": NAMES}),
    "one group again and again": ("DescribeGroups", 5, {"groups": ["g"] * N}),
    "groups of the new protocol": ("ConsumerGroupDescribe", 1, {"group_ids": NAMES}),
    "streams groups": ("StreamsGroupDescribe", 0, {"group_ids": NAMES}),
    **OF_TOPOLOGIES,
    "groups to delete": ("DeleteGroups", 2, {"groups_names": NAMES[1:]}),
    "coordinators": ("FindCoordinator", 6, {"key_type": 0, "coordinator_keys": NAMES}),
    "transactions": ("DescribeTransactions", 0, {"transactional_ids": NAMES}),
    "one transaction again and again": (
        "DescribeTransactions",
        0,
        {"transactional_ids": ["t"] * N},
    ),
    "names of passwords": (
        "DescribeUserScramCredentials",
        0,
        {"users": [{"name": name} for name in NAMES]},
    ),
}


@pytest.mark.parametrize("what", MOST)
def test_no_request_however_many_items_it_has_is_long_work(what, node):
    api, version, body = MOST[what]
    assert HANDLERS[API[api].key].versions[1] >= version
    assert work_of(node, api, version, body) < MOST_CALLS


def test_configs_of_a_resource_that_is_named_very_often_are_refused(node):
    answer = node.call(
        "DescribeConfigs",
        4,
        **described([(GROUP, "g"), *[(TOPIC, "large")] * (MOST_TIMES + 1)]),
    )
    codes = [each.error_code for each in answer.results]
    assert codes == [Error.NONE, *[Error.INVALID_REQUEST] * (MOST_TIMES + 1)]
    answer = node.call("DescribeConfigs", 4, **described([(TOPIC, "large")] * 2))
    assert [each.error_code for each in answer.results] == [Error.NONE] * 2


def test_what_the_configs_of_topics_share_is_worked_out_once(node):
    one, many = (
        work_of(node, "DescribeConfigs", 4, described(EACH_TOPIC[:count]))
        for count in (1, 1001)
    )
    # calls for the more than thirty configs of a topic
    assert (many - one) / 1000 < 250


def test_a_config_of_one_topic_touches_no_other(node):
    """Of 12,000 partitions one gets another config."""
    with counted() as work:
        node.call("AlterConfigs", 2, **altered(TOPICS[:1]))
    assert work.calls < 5000


def test_a_request_makes_only_so_many_logs_and_the_others_come_in_the_background():
    """A topic's leader may not have made the log yet: NOT_LEADER_OR_FOLLOWER, and
    clients ask again.
    """
    node = Node()
    node.create_topic("new", partitions=1000)
    latest = [{"partition_index": number, "timestamp": -1} for number in range(1000)]
    body = {"replica_id": -1, "topics": [{"name": "new", "partitions": latest}]}
    rows = node.call("ListOffsets", 7, **body).topics[0].partitions
    codes = [row.error_code for row in rows]
    assert codes.count(Error.NONE) == ASKED_FOR_AT_ONCE
    assert codes.count(Error.NOT_LEADER_OR_FOLLOWER) == 1000 - ASKED_FOR_AT_ONCE
    node.pass_time(5000)
    rows = node.call("ListOffsets", 7, **body).topics[0].partitions
    assert all(row.error_code == Error.NONE for row in rows)
