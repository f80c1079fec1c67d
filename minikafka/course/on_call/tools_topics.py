"""kafka-topics, kafka-get-offsets, kafka-console-consumer and kafka-leader-election,
with the columns of Apache Kafka 4.3.1's.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.clients.structs import TopicPartition
from minikafka.course.on_call import asking
from minikafka.course.on_call.asking import EARLIEST, LARGEST_TIME, LATEST, TIMEOUT_MS
from minikafka.course.on_call.columns import commas
from minikafka.course.on_call.tools_configs import DEFAULT, TOPICS, configs_of, pairs
from minikafka.course.on_call.usage import Given, Refused, whole, whole_or
from minikafka.course.on_call.world import MIN_ISR, create_topic
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

NOT_A_TOPIC = (
    "Error while executing topic command : Topic '{}' does not exist as expected"
)
CONTROLLERS = {
    "topic_name": "__cluster_metadata",
    "partitions": [{"partition_index": 0}],
}
UNDER_REPLICATED = "--under-replicated-partitions"
UNAVAILABLE = "--unavailable-partitions"
UNDER_MIN_ISR = "--under-min-isr-partitions"
AT_MIN_ISR = "--at-min-isr-partitions"
LISTS = (UNDER_REPLICATED, UNAVAILABLE, UNDER_MIN_ISR, AT_MIN_ISR)
TIMES = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": LARGEST_TIME,
}
SHOWN = 20  # records, unless told otherwise
NOBODY_LEADS = "It would wait until somebody leads {where}: consumers ask the leader."
WOULD_WAIT = (
    "It would wait for what is written from now on. What is there already:"
    " --from-beginning, or --partition N --offset N."
)
ELECTIONS = {
    "preferred": 0,
    "unclean": 1,
}


def topic_names(world: "World", given: Given) -> str:
    """kafka-topics --list"""
    return "\n".join(asking.topic_names(world))


def describe_topics(world: "World", given: Given) -> str:
    """kafka-topics --describe"""
    only = [name for name in LISTS if name in given]
    if len(only) > 1:
        raise Refused("kafka-topics takes one of its lists of partitions at a time.")
    # Apache Kafka's asks the controller which partitions move, and gives up without
    # one. Here any broker answers that, so this asks what only the controller tells.
    world.ask("DescribeQuorum", {"topics": [CONTROLLERS]})
    names = asking.topic_names(world)
    if "--topic" in given:
        names = [name for name in names if name == given["--topic"]]
        if not names:
            return NOT_A_TOPIC.format(given["--topic"])
    elif "--exclude-internal" in given:
        names = [name for name in names if not name.startswith("__")]
    if not names:
        return ""
    wanted = [{"name": name} for name in names]
    body = {
        "topics": wanted,
        "cursor": None,
    }
    topics = world.ask("DescribeTopicPartitions", body).topics
    lines = []
    for topic in topics:
        if only:
            lines += _listed(world, topic, only[0])
        else:
            lines += _described(world, topic)
    return "\n".join(lines)


def _described(world: "World", topic: Any) -> list[str]:
    """A topic, and each of its partitions."""
    configs = []
    for config in configs_of(world, TOPICS, topic.name):
        if config.config_source != DEFAULT:
            configs.append(f"{config.name}={config.value}")
    columns = [
        f"Topic: {topic.name}",
        f"TopicId: {uuid_text(topic.topic_id)}",
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {len(topic.partitions[0].replica_nodes)}",
        f"Configs: {','.join(configs)}",
    ]
    lines = ["\t".join(columns)]
    for partition in topic.partitions:
        lines.append(_partition_line(topic.name, partition))
    return lines


def _listed(world: "World", topic: Any, only: str) -> list[str]:
    """Those of its partitions that one of LISTS has."""
    live = asking.live_brokers(world)
    configs = configs_of(world, TOPICS, topic.name)
    [least] = [int(config.value) for config in configs if config.name == MIN_ISR]

    def is_in(partition: Any) -> bool:
        in_sync = len(partition.isr_nodes)
        if only == UNDER_REPLICATED:
            return in_sync < len(partition.replica_nodes)
        if only == UNAVAILABLE:
            return partition.leader_id not in live
        if only == UNDER_MIN_ISR:
            return in_sync < least
        return in_sync == least

    wanted = filter(is_in, topic.partitions)
    return [_partition_line(topic.name, partition) for partition in wanted]


def _partition_line(topic: str, partition: Any) -> str:
    """One partition."""
    leader = partition.leader_id if partition.leader_id >= 0 else "none"
    columns = [
        "",
        f"Topic: {topic}",
        f"Partition: {partition.partition_index}",
        f"Leader: {leader}",
        f"Replicas: {commas(partition.replica_nodes)}",
        f"Isr: {commas(partition.isr_nodes)}",
        f"Elr: {commas(partition.eligible_leader_replicas)}",
        f"LastKnownElr: {commas(partition.last_known_elr)}",
    ]
    return "\t".join(columns)


def get_offsets(world: "World", given: Given) -> str:
    """kafka-get-offsets"""
    topic = given["--topic"]
    when = _time(given.get("--time", "latest"))
    lines = []
    for number, leader in asking.leaders(world, topic).items():
        if leader >= 0:
            partition = TopicPartition(topic, number)
            offset = asking.offset_at(world, partition, when, leader)
            shown = offset if offset >= 0 else ""
            lines.append(f"{topic}:{number}:{shown}")
    return "\n".join(lines)


def _time(text: str) -> int:
    """-1 or latest, and so on, or ms. Raises Refused."""
    if text in TIMES:
        return TIMES[text]
    is_known = text.isdigit() or text in map(str, TIMES.values())
    if not is_known:
        raise Refused(
            "--time is -1 or latest, -2 or earliest, -3 or max-timestamp, or a time in"
            " ms since 1970."
        )
    return int(text)


# -- changing


def create(world: "World", given: Given) -> str:
    """kafka-topics --create"""
    name = given["--topic"]
    body = create_topic(
        name=name,
        partitions=whole_or(given, "--partitions", -1, least=1),
        replicas=whole_or(given, "--replication-factor", -1, least=1),
        configs=pairs(given.get("--config", "")),
    )
    [answer] = world.ask("CreateTopics", body).topics
    return _done(answer, f"Created topic {name}.")


def grow(world: "World", given: Given) -> str:
    """kafka-topics --alter --partitions"""
    count = whole(given, "--partitions", least=1)
    topic = {
        "name": given["--topic"],
        "count": count,
        "assignments": None,
    }
    body = {
        "topics": [topic],
        "timeout_ms": TIMEOUT_MS,
    }
    [answer] = world.ask("CreatePartitions", body).results
    return _done(answer)


def delete(world: "World", given: Given) -> str:
    """kafka-topics --delete"""
    body = {
        "topic_names": [given["--topic"]],
        "timeout_ms": TIMEOUT_MS,
    }
    [answer] = world.ask("DeleteTopics", body).responses
    return _done(answer)


def _done(answer: Any, said: str = "") -> str:
    """What the tool says when it has been done, or refused."""
    error = Error(answer.error_code)
    if error is Error.NONE:
        return said
    words = getattr(answer, "error_message", None) or error.message
    return f"Error while executing topic command : {words}"


# -- reading


class _Range(NamedTuple):
    """What is to be shown of a partition: from this offset on, up to that one."""

    partition: int
    first: int
    end: int


def consume(world: "World", given: Given) -> str:
    """kafka-console-consumer, of as many records as there are."""
    topic = given["--topic"]
    most = whole_or(given, "--max-messages", SHOWN, least=1)
    known = asking.leaders(world, topic)
    if "--partition" in given:
        number = whole(given, "--partition")
        if number not in known:
            return f"Error: {topic} has no partition {number}"
        if known[number] < 0:
            raise Refused(NOBODY_LEADS.format(where=f"{topic}-{number}"))
        chosen = [number]
    elif "--offset" in given:
        raise Refused("The partition is required when offset is specified.")
    else:
        chosen = [number for number, leader in known.items() if leader >= 0]
    lines: list[str] = []
    for number in chosen:
        wanted = _range(world, topic, number, given)
        lines += _records(world, topic, wanted)
    count = min(len(lines), most)
    return "\n".join([*lines[:most], f"Processed a total of {count} messages"])


def _range(world: "World", topic: str, number: int, given: Given) -> _Range:
    """What the line asks for. Raises Refused for what isn't there yet."""
    first, _ = world.cluster.log_offsets(topic, number)
    leader = world.leader_of(topic, number)
    end = leader.high_watermark
    if given.get("--isolation-level") == "read_committed":
        end = leader.last_stable_offset
    offset = given.get("--offset", "latest")
    if "--from-beginning" in given or offset == "earliest":
        return _Range(number, first, end)
    if offset == "latest":
        raise Refused(WOULD_WAIT)
    return _Range(number, whole(given, "--offset"), end)


def _records(world: "World", topic: str, wanted: _Range) -> list[str]:
    """A line for each."""
    lines = []
    for record in world.cluster.records(topic, wanted.partition):
        if wanted.first <= record.offset < wanted.end:
            key = (record.key or b"null").decode()
            value = (record.value or b"null").decode()
            lines.append(f"Offset:{record.offset}\t{key}\t{value}")
    return lines


# -- electing


def elect(world: "World", given: Given) -> str:
    """kafka-leader-election"""
    kind = given["--election-type"].lower()
    if kind not in ELECTIONS:
        raise Refused("--election-type is preferred or unclean.")
    topic, number = given["--topic"], whole(given, "--partition")
    body = {
        "election_type": ELECTIONS[kind],
        "topic_partitions": [
            {
                "topic": topic,
                "partitions": [number],
            }
        ],
        "timeout_ms": TIMEOUT_MS,
    }
    told = world.ask("ElectLeaders", body)
    if told.error_code:
        return f"Error completing leader election: {Error(told.error_code).message}"
    [result] = told.replica_election_results[0].partition_result
    where = f"{topic}-{number}"
    error = Error(result.error_code)
    if error is Error.NONE:
        return (
            f"Successfully completed leader election ({kind.upper()}) for"
            f" partitions {where}"
        )
    if error is Error.ELECTION_NOT_NEEDED:
        return f"Valid replica already elected for partitions {where}"
    words = result.error_message or error.message
    return (
        f"Error completing leader election ({kind.upper()}) for partition:"
        f" {where}: {java_class(error)}: {words}"
    )


def java_class(error: Error) -> str:
    """What the tools, which are Java's, call it."""
    words = map(str.capitalize, error.name.split("_"))
    return f"org.apache.kafka.common.errors.{''.join(words)}Exception"
