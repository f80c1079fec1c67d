"""kafka-topics, kafka-get-offsets, kafka-configs, kafka-console-consumer and
kafka-leader-election, with the columns of Apache Kafka 4.3.1's.
"""

from typing import TYPE_CHECKING, Any

from minikafka.course.on_call.commands import Given, Refused, whole
from minikafka.course.on_call.world import MIN_ISR, create_topic
from minikafka.simulation.topics import config_changes
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

TOPICS, BROKERS, GROUPS = 2, 4, 32  # types of resources
KIND_OF = {
    "topics": TOPICS,
    "brokers": BROKERS,
    "groups": GROUPS,
}
DEFAULT = 5  # a config's source
SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
NOT_A_TOPIC = (
    "Error while executing topic command : Topic '{}' does not exist as expected"
)
OF_THE_CONTROLLER = {
    "topics": [
        {
            "topic_name": "__cluster_metadata",
            "partitions": [{"partition_index": 0}],
        },
    ],
}
ONLY = (
    "--under-replicated-partitions",
    "--unavailable-partitions",
    "--under-min-isr-partitions",
    "--at-min-isr-partitions",
)


def topic_names(world: "World", given: Given) -> str:
    """kafka-topics --list"""
    return "\n".join(sorted(_names(world)))


def describe_topics(world: "World", given: Given) -> str:
    """kafka-topics --describe"""
    only = [name for name in ONLY if name in given]
    if len(only) > 1:
        raise Refused("kafka-topics takes one of its lists of partitions at a time.")
    # Apache Kafka's asks the controller which partitions move, and gives up without
    # one. Here any broker answers that, so this asks what only the controller tells.
    world.ask("DescribeQuorum", OF_THE_CONTROLLER)
    names = sorted(_names(world))
    if "--topic" in given:
        names = [name for name in names if name == given["--topic"]]
        if not names:
            return NOT_A_TOPIC.format(given["--topic"])
    elif "--exclude-internal" in given:
        names = [name for name in names if not name.startswith("__")]
    if not names:
        return ""
    wanted = {
        "topics": [{"name": name} for name in names],
        "cursor": None,
    }
    lines = []
    live = _live(world)
    for topic in world.ask("DescribeTopicPartitions", wanted).topics:
        configs = _configs(
            world,
            TOPICS,
            topic.name,
        )
        least = int(next(each.value for each in configs if each.name == MIN_ISR))
        if not only:
            lines.append(_topic_line(topic, configs))
        for partition in topic.partitions:
            if not only or _is_in(
                only[0],
                partition,
                least,
                live,
            ):
                lines.append(_partition_line(topic.name, partition))
    return "\n".join(lines)


def _names(world: "World") -> list[str]:
    """All topics, Kafka's own too."""
    told = world.ask("Metadata", {"topics": None})
    return [topic.name for topic in told.topics]


def _live(world: "World") -> set[int]:
    """The brokers that are not fenced."""
    return {broker.node_id for broker in world.ask("Metadata", {"topics": []}).brokers}


def _is_in(only: str, partition: Any, least: int, live: set[int]) -> bool:
    """Whether one of the tool's lists has this partition."""
    isr = len(partition.isr_nodes)
    if only == "--under-replicated-partitions":
        return isr < len(partition.replica_nodes)
    if only == "--unavailable-partitions":
        return partition.leader_id not in live
    if only == "--under-min-isr-partitions":
        return isr < least
    return isr == least


def _topic_line(topic: Any, configs: list[Any]) -> str:
    """The line above a topic's partitions."""
    own = [
        f"{each.name}={each.value}" for each in configs if each.config_source != DEFAULT
    ]
    columns = (
        f"Topic: {topic.name}",
        f"TopicId: {uuid_text(topic.topic_id)}",
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {len(topic.partitions[0].replica_nodes)}",
        f"Configs: {','.join(own)}",
    )
    return "\t".join(columns)


def _partition_line(topic: str, partition: Any) -> str:
    """One partition."""
    leader = partition.leader_id if partition.leader_id >= 0 else "none"
    columns = (
        "",
        f"Topic: {topic}",
        f"Partition: {partition.partition_index}",
        f"Leader: {leader}",
        f"Replicas: {_commas(partition.replica_nodes)}",
        f"Isr: {_commas(partition.isr_nodes)}",
        f"Elr: {_commas(partition.eligible_leader_replicas)}",
        f"LastKnownElr: {_commas(partition.last_known_elr)}",
    )
    return "\t".join(columns)


def _commas(numbers: Any) -> str:
    """1,2,3"""
    return ",".join(map(str, numbers or ()))


def get_offsets(world: "World", given: Given) -> str:
    """kafka-get-offsets"""
    topic = given["--topic"]
    when = {
        "latest": -1,
        "earliest": -2,
    }.get(given.get("--time", "latest"))
    if when is None:
        raise Refused("--time is latest or earliest here.")
    lines = []
    for partition, leader in leaders(world, topic).items():
        if leader < 0:
            continue
        offset = offset_at(
            world,
            topic,
            partition,
            when,
            leader,
        )
        lines.append(f"{topic}:{partition}:{offset}")
    return "\n".join(lines)


def leaders(world: "World", topic: str) -> dict[int, int]:
    """Partition -> who leads it, -1 for nobody."""
    body = {
        "topics": [{"name": topic}],
        "allow_auto_topic_creation": False,
    }
    told = world.ask("Metadata", body)
    [found] = told.topics
    if found.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    return {each.partition_index: each.leader_id for each in found.partitions}


def offset_at(
    world: "World", topic: str, partition: int, when: int, leader: int
) -> int:
    """ListOffsets of one partition: -1 is the end, -2 the beginning, else a time."""
    wanted = {
        "partition_index": partition,
        "timestamp": when,
    }
    body = {
        "replica_id": -1,
        "topics": [
            {
                "name": topic,
                "partitions": [wanted],
            }
        ],
        "timeout_ms": 30_000,
    }
    [found] = (
        world.ask(
            "ListOffsets",
            body,
            leader,
        )
        .topics[0]
        .partitions
    )
    return int(found.offset)


def create(world: "World", given: Given) -> str:
    """kafka-topics --create"""
    name = given["--topic"]
    partitions = (
        whole(
            given,
            "--partitions",
            1,
        )
        if "--partitions" in given
        else -1
    )
    factor = -1
    if "--replication-factor" in given:
        factor = whole(
            given,
            "--replication-factor",
            1,
        )
    configs = _pairs(given.get("--config", ""))
    body = create_topic(
        name,
        partitions,
        factor,
        configs,
    )
    answer = world.ask("CreateTopics", body).topics[0]
    return _done(answer, f"Created topic {name}.")


def grow(world: "World", given: Given) -> str:
    """kafka-topics --alter --partitions"""
    topic = {
        "name": given["--topic"],
        "count": whole(
            given,
            "--partitions",
            1,
        ),
        "assignments": None,
    }
    body = {
        "topics": [topic],
        "timeout_ms": 30_000,
    }
    return _done(world.ask("CreatePartitions", body).results[0], "")


def delete(world: "World", given: Given) -> str:
    """kafka-topics --delete"""
    body = {
        "topic_names": [given["--topic"]],
        "timeout_ms": 30_000,
    }
    return _done(world.ask("DeleteTopics", body).responses[0], "")


def _done(answer: Any, said: str) -> str:
    """What the tool says when it has been done, or refused."""
    error = Error(answer.error_code)
    if error is Error.NONE:
        return said
    words = (
        getattr(
            answer,
            "error_message",
            None,
        )
        or error.message
    )
    return f"Error while executing topic command : {words}"


# -- configs


def describe_configs(world: "World", given: Given) -> str:
    """kafka-configs --describe"""
    kind, name = _entity(given)
    found = _configs(
        world,
        KIND_OF[kind],
        name,
    )
    every = "--all" in given
    which = "All" if every else "Dynamic"
    lines = [f"{which} configs for {kind[:-1]} {name} are:"]
    for each in found:
        is_dynamic = each.config_source in (1, 2, 8)
        if every or is_dynamic:
            synonyms = ", ".join(
                f"{SOURCES[other.source]}:{other.name}={other.value}"
                for other in each.synonyms
            )
            sensitive = str(bool(each.is_sensitive)).lower()
            lines.append(
                f"  {each.name}={each.value} sensitive={sensitive}"
                f" synonyms={{{synonyms}}}"
            )
    return "\n".join(lines)


def alter_configs(world: "World", given: Given) -> str:
    """kafka-configs --alter"""
    kind, name = _entity(given)
    changes: dict[str, str | None] = dict(_pairs(given.get("--add-config", "")))
    for gone in filter(None, given.get("--delete-config", "").split(",")):
        changes[gone] = None
    if not changes:
        raise Refused("kafka-configs --alter needs --add-config or --delete-config.")
    resource = {
        "resource_type": KIND_OF[kind],
        "resource_name": name,
        "configs": config_changes(changes),
    }
    body = {
        "resources": [resource],
        "validate_only": False,
    }
    answer = world.ask("IncrementalAlterConfigs", body).responses[0]
    error = Error(answer.error_code)
    if error is not Error.NONE:
        words = answer.error_message or error.message
        return f"Error while executing config command with args: {words}"
    return f"Completed updating config for {kind[:-1]} {name}."


def _entity(given: Given) -> tuple[str, str]:
    """The kind and the name of what has configs."""
    kind = given["--entity-type"]
    if kind not in KIND_OF:
        raise Refused(f"--entity-type is {', '.join(KIND_OF)} here, not {kind!r}.")
    return kind, given["--entity-name"].removeprefix("kafka-")


def _pairs(text: str) -> dict[str, str]:
    """a=1,b=2"""
    found = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise Refused(f"{pair!r} is no NAME=VALUE.")
        found[name.strip()] = value.strip()
    return found


def _configs(world: "World", kind: int, name: str) -> list[Any]:
    """DescribeConfigs of one resource, by name."""
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configuration_keys": None,
    }
    body = {
        "resources": [resource],
        "include_synonyms": True,
    }
    node = None
    if kind == BROKERS:
        if not name.isdigit() or int(name) not in (1, 2, 3):
            raise Refused(f"There is no broker {name!r}: they are 1, 2 and 3.")
        node = int(name)
    [found] = world.ask(
        "DescribeConfigs",
        body,
        node,
    ).results
    if found.error_code:
        error = Error(found.error_code)
        raise KafkaError(error, found.error_message or error.message)
    return sorted(found.configs, key=lambda each: str(each.name))


# -- reading, electing


def consume(world: "World", given: Given) -> str:
    """kafka-console-consumer, of one partition, as many records as there are."""
    topic = given["--topic"]
    partition = whole(given, "--partition")
    most = (
        whole(
            given,
            "--max-messages",
            1,
        )
        if "--max-messages" in given
        else 20
    )
    if partition not in leaders(world, topic):
        return f"Error: {topic} has no partition {partition}"
    given_offset = given.get("--offset", "earliest")
    first, _ = world.cluster.log_offsets(topic, partition)
    if given_offset == "earliest":
        offset = first
    elif given_offset.isdigit():
        offset = int(given_offset)
    else:
        raise Refused("--offset is a number or earliest here.")
    lines: list[str] = []
    for record in world.cluster.records(topic, partition):
        if record.offset >= offset and len(lines) < most:
            key = (record.key or b"null").decode()
            value = (record.value or b"null").decode()
            lines.append(f"Offset:{record.offset}\t{key}\t{value}")
    lines.append(f"Processed a total of {len(lines)} messages")
    return "\n".join(lines)


def elect(world: "World", given: Given) -> str:
    """kafka-leader-election"""
    kind = given["--election-type"].lower()
    if kind not in ("preferred", "unclean"):
        raise Refused("--election-type is preferred or unclean.")
    topic, partition = given["--topic"], whole(given, "--partition")
    body = {
        "election_type": int(kind == "unclean"),
        "topic_partitions": [
            {
                "topic": topic,
                "partitions": [partition],
            }
        ],
        "timeout_ms": 30_000,
    }
    told = world.ask("ElectLeaders", body)
    where = f"{topic}-{partition}"
    if told.error_code:
        return f"Error completing leader election: {Error(told.error_code).message}"
    [result] = told.replica_election_results[0].partition_result
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
        f" {where}: {words}"
    )
