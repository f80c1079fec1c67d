"""kafka-topics, kafka-get-offsets, kafka-leader-election and
kafka-reassign-partitions --list, with the columns of Apache
Kafka 4.4.0's.
"""

import re
from typing import Any

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.structs import TopicPartition
from minikafka.course.on_call import asking
from minikafka.course.on_call.asking import EARLIEST, LARGEST_TIME, LATEST, TIMEOUT_MS
from minikafka.course.on_call.brokers import MIN_ISR
from minikafka.course.on_call.columns import commas
from minikafka.course.on_call.shell import Said
from minikafka.course.on_call.tools_configs import DEFAULT, TOPICS, configs_of
from minikafka.course.on_call.usage import (
    INT_MAX,
    LONG_MAX,
    SHORT_MAX,
    Given,
    Refused,
    number_in,
    pairs,
    whole,
    whole_or,
)
from minikafka.course.on_call.world import World
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error

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
NO_SUCH_PARTITIONS = (
    "Error occurred: Could not match any topic-partitions with the specified filters"
)
SKIPPED = (
    "Skip getting offsets for topic-partition {where} due to error:"
    " org.apache.kafka.common.errors.TimeoutException:"
    " Call(callName=listOffsets(api=METADATA), ...) timed out"
)
ELECTED = "Successfully completed leader election ({}) for partitions {}"
NOT_ELECTED = "Error completing leader election ({}) for partition: {}: {}"
NO_RESULTS = "Timeout waiting for election results"
ELECTIONS = {
    "preferred": 0,
    "unclean": 1,
}


def topic_names(world: World, given: Given) -> str:
    """kafka-topics --list: the names of all topics."""
    return "\n".join(_names(world, given))


def _names(world: World, given: Given) -> list[str]:
    """The topics that a line means: --topic is a name, several, or a pattern."""
    names = asking.topic_names(world.brokers)
    if "--exclude-internal" in given or "--exclude-internal-topics" in given:
        names = [name for name in names if not name.startswith("__")]
    if "--topic" not in given:
        return names
    try:
        wanted = re.compile(given["--topic"].replace(",", "|"))
    except re.error as error:
        raise Refused(f"--topic can't be read: {error}.") from None
    return list(filter(wanted.fullmatch, names))


def describe_topics(world: World, given: Given) -> str:
    """kafka-topics --describe"""
    only = [name for name in LISTS if name in given]
    if len(only) > 1:
        raise Refused("kafka-topics takes one of its lists of partitions at a time.")
    # Apache Kafka's asks the controller which partitions move, and gives up without
    # one. Here any broker answers that, so this asks what only the controller tells.
    world.brokers.ask("DescribeQuorum", {"topics": [CONTROLLERS]})
    names = _names(world, given)
    if not names:
        return NOT_A_TOPIC.format(given["--topic"]) if "--topic" in given else ""
    wanted = [{"name": name} for name in names]
    body = {
        "topics": wanted,
        "cursor": None,
    }
    topics = world.brokers.ask("DescribeTopicPartitions", body).topics
    lines = []
    for topic in topics:
        if "--topics-with-overrides" in given:
            lines += _described(world, topic)[:1]
        elif only:
            lines += _listed(world, topic, only[0])
        else:
            lines += _described(world, topic)
    return "\n".join(lines)


def _described(world: World, topic: Any) -> list[str]:
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


def _listed(world: World, topic: Any, only: str) -> list[str]:
    """Those of its partitions that one of LISTS has."""
    live = asking.live_brokers(world.brokers)
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
    """The line for one partition in kafka-topics --describe."""
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


def get_offsets(world: World, given: Given) -> Said:
    """kafka-get-offsets: the offsets of a topic's partitions at a time."""
    when = _time(given.get("--time", "latest"))
    places = _places(world, given)
    if not places:
        return Said("", NO_SUCH_PARTITIONS)
    leaders = _leaders(world, places)
    if -1 in leaders.values():
        world.run(TIMEOUT_MS / 1000)  # it waits for them
        leaders = _leaders(world, places)
    skipped, lines = [], []
    for (topic, number), leader in leaders.items():
        if leader < 0:
            skipped.append(SKIPPED.format(where=f"{topic}-{number}"))
            continue
        partition = TopicPartition(topic, number)
        offset = asking.offset_at(world.brokers, partition, when, leader)
        if offset >= 0:
            lines.append(f"{topic}:{number}:{offset}")
    return Said("\n".join(lines), "\n".join(skipped))


def _places(world: World, given: Given) -> list[TopicPartition]:
    """The partitions that a line means: orders:0,paid:1-3, or those of topics."""
    wanted = given.get("--topic-partitions", "")
    named: dict[str, str] = {}
    for part in filter(None, wanted.split(",")):
        topic, _, numbers = part.partition(":")
        named[topic] = f"{named.get(topic, '')},{numbers}".strip(",")
    found = []
    for topic in _names(world, given):
        if wanted and topic not in named:
            continue
        numbers = named.get(topic) or given.get("--partitions", "")
        for number in asking.leaders(world.brokers, topic):
            if not numbers or _is_in(number, numbers):
                found.append(TopicPartition(topic, number))
    return found


def _is_in(number: int, numbers: str) -> bool:
    """Whether it is among 0,2 or 1-3: from there up to there, without that."""
    for each in numbers.split(","):
        first, dash, end = each.partition("-")
        low = number_in(first or "0")
        high = number_in(end) if end else INT_MAX
        if low is None or high is None:
            raise Refused("Partitions are such as 0,2 or 1-3, where 3 is left out.")
        if number == low or (dash and low <= number < high):
            return True
    return False


def _leaders(world: World, places: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Partition -> its leader, -1 for none."""
    found: dict[TopicPartition, int] = {}
    for topic in dict.fromkeys(place.topic for place in places):
        for number, leader in asking.leaders(world.brokers, topic).items():
            found[TopicPartition(topic, number)] = leader
    return {place: found[place] for place in places}


def _time(text: str) -> int:
    """-1 or latest, and so on, or ms. Raises Refused."""
    if text in TIMES:
        return TIMES[text]
    number = number_in(text, LONG_MAX)
    if number is None or (number < 0 and number not in TIMES.values()):
        raise Refused(
            "--time is -1 or latest, -2 or earliest, -3 or max-timestamp, or a time in"
            " ms since 1970."
        )
    return number


# -- changing


def create(world: World, given: Given) -> str:
    """kafka-topics --create: create a topic. Errors: as the broker refuses it."""
    name = given["--topic"]
    body = asking.create_topics_body(
        name=name,
        partitions=whole_or(given, "--partitions", -1, least=1),
        replicas=whole_or(given, "--replication-factor", -1, 1, SHORT_MAX),
        configs=pairs(given.get("--config", "")),
    )
    if "--if-not-exists" in given and name in asking.topic_names(world.brokers):
        return ""
    [answer] = world.brokers.ask("CreateTopics", body).topics
    return _done(answer, f"Created topic {name}.")


def grow(world: World, given: Given) -> str:
    """kafka-topics --alter --partitions"""
    count = whole(given, "--partitions", least=1)
    missing = _missing(world, given)
    if missing is not None:
        return missing
    topic = {
        "name": given["--topic"],
        "count": count,
        "assignments": None,
    }
    body = {
        "topics": [topic],
        "timeout_ms": TIMEOUT_MS,
    }
    [answer] = world.brokers.ask("CreatePartitions", body).results
    return _done(answer)


def delete(world: World, given: Given) -> str:
    """kafka-topics --delete: delete a topic. Errors: as the broker refuses it."""
    missing = _missing(world, given)
    if missing is not None:
        return missing
    body = {
        "topic_names": [given["--topic"]],
        "timeout_ms": TIMEOUT_MS,
    }
    [answer] = world.brokers.ask("DeleteTopics", body).responses
    return _done(answer)


def _missing(world: World, given: Given) -> str | None:
    """What the tool says without the topic; None if it is there."""
    if given["--topic"] in asking.topic_names(world.brokers):
        return None
    return "" if "--if-exists" in given else NOT_A_TOPIC.format(given["--topic"])


def _done(answer: Any, said: str = "") -> str:
    """The tool's message when the request has been carried out or refused."""
    error = Error(answer.error_code)
    if error is Error.NONE:
        return said
    words = getattr(answer, "error_message", None) or error.message
    return f"Error while executing topic command : {words}"


# -- electing


def elect(world: World, given: Given) -> str:
    """kafka-leader-election: a preferred or an unclean election for a partition."""
    kind = given["--election-type"].lower()
    if kind not in ELECTIONS:
        raise Refused("--election-type is preferred or unclean.")
    body = {
        "election_type": ELECTIONS[kind],
        "topic_partitions": _elected(given),
        "timeout_ms": TIMEOUT_MS,
    }
    try:
        told = world.brokers.ask("ElectLeaders", body)
    except KafkaTimeoutError:
        return NO_RESULTS
    if told.error_code:
        return f"Error completing leader election: {Error(told.error_code).message}"
    won, needless, lines = [], [], []
    for topic in told.replica_election_results:
        for result in topic.partition_result:
            where = f"{topic.topic}-{result.partition_id}"
            error = Error(result.error_code)
            if error is Error.NONE:
                won.append(where)
            elif error is Error.ELECTION_NOT_NEEDED:
                needless.append(where)
            else:
                java = asking.java_class(error)
                words = f"{java}: {result.error_message or error.message}"
                lines.append(NOT_ELECTED.format(kind.upper(), where, words))
    if needless:
        lines.insert(
            0, f"Valid replica already elected for partitions {', '.join(needless)}"
        )
    if won:
        lines.insert(0, ELECTED.format(kind.upper(), ", ".join(won)))
    return "\n".join(lines)


def _elected(given: Given) -> list[dict[str, Any]] | None:
    """The partition of an election; None for all. Raises Refused."""
    if "--all-topic-partitions" in given:
        return None
    if "--topic" not in given or "--partition" not in given:
        raise Refused(
            "kafka-leader-election needs --topic TOPIC --partition N, or"
            " --all-topic-partitions."
        )
    return [
        {
            "topic": given["--topic"],
            "partitions": [whole(given, "--partition")],
        }
    ]


def moving(world: World, given: Given) -> str:
    """kafka-reassign-partitions --list: nothing moves replicas on such a night."""
    body = {
        "timeout_ms": TIMEOUT_MS,
        "topics": None,
    }
    told = world.brokers.ask("ListPartitionReassignments", body)
    asking.check(told)
    lines = []
    for topic in told.topics:
        for each in topic.partitions:
            replicas = commas(each.replicas)
            lines.append(f"{topic.name}-{each.partition_index}: replicas: {replicas}.")
    return "\n".join(lines) or "No partition reassignments found."
