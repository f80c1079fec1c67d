"""Kafka's own commands on lesson 16's cluster. Where Java and Kafka's jars are, the real
tool runs; elsewhere kafka-python does the same, and prints what the tool would.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minikafka.course.clusters import compose
from minikafka.course.places import cache
from minikafka.course.spark import java_version

TIMEOUT_SECONDS = 120
CLASSES = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-reassign-partitions.sh": (
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    ),
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-configs.sh": "org.apache.kafka.tools.ConfigCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
}
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class NoSuchCommand(ValueError):
    """This command doesn't work here; the message lists those that do."""


def kafka_jars() -> Path | None:
    """The folder of Kafka's jars, if `make kafka` has fetched them and Java is here."""
    [broker, *_] = compose.brokers({"KAFKA_HOST": "localhost"})
    folder = Path(
        os.environ.get("MINIKAFKA_KAFKA_JARS") or cache() / f"kafka-{broker.version}"
    )
    has_tools = (folder / f"kafka-tools-{broker.version}.jar").exists()
    return folder if has_tools and java_version()[0] else None


def run(line: str, bootstrap: Sequence[str], folder: Path) -> str:
    """What the command prints. H in the line is a broker's address; files are those of
    the folder.
    """
    name, *words = shlex.split(line)
    if name not in CLASSES:
        known = ", ".join(CLASSES)
        raise NoSuchCommand(f"{name} isn't one of the commands here: {known}")
    jars = kafka_jars()
    if jars is None:
        return in_python(name, words, bootstrap, folder)
    java, _ = java_version()
    assert java
    address = ",".join(bootstrap)
    done = subprocess.run(
        [
            java,
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            "-cp",
            str(jars / "*"),
            CLASSES[name],
            *(address if word == "H" else word for word in words),
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        timeout=TIMEOUT_SECONDS,
    )
    return (done.stdout + done.stderr).strip("\n")


def in_python(
    name: str, words: Sequence[str], bootstrap: Sequence[str], folder: Path
) -> str:
    """The same, by kafka-python."""
    from kafka import KafkaAdminClient

    options = options_of(words)
    for each in COMMANDS:
        if each[0] == name and each[1] <= options.keys():
            admin = KafkaAdminClient(bootstrap_servers=list(bootstrap))
            try:
                return each[2](admin, options, folder)
            finally:
                admin.close()
    known = "\n".join(f"  {each[0]} {' '.join(sorted(each[1]))}" for each in COMMANDS)
    raise NoSuchCommand(f"without Java, these commands work here:\n{known}")


def options_of(words: Sequence[str]) -> dict[str, str]:
    """--name value, or --name alone."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--") or not name:
            name = word if word.startswith("--") else ""
            found[word] = ""
        else:
            found[name], name = word, ""  # what follows is a subcommand
    return found


# -- kafka-topics.sh


def describe(admin: Any, options: Mapping[str, str], folder: Path) -> str:
    from kafka.admin import ConfigResource, ConfigResourceType

    lines = []
    for topic in described(admin, options["--topic"]):
        name = topic["name"]
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        answer = admin.describe_configs([resource], config_filter="all")
        found = answer["topic"][name]
        configs = [
            f"{each}={about['value']}"
            for each, about in found.items()
            if about["config_source"] != "DEFAULT_CONFIG"
        ]
        columns = [
            f"Topic: {name}",
            f"PartitionCount: {len(topic['partitions'])}",
            f"ReplicationFactor: {len(topic['partitions'][0]['replica_nodes'])}",
            f"Configs: {','.join(configs)}",
        ]
        lines.append("\t".join(columns))
        for each in topic["partitions"]:
            leader = each["leader_id"] if each["leader_id"] >= 0 else "none"
            columns = [
                "",
                f"Topic: {name}",
                f"Partition: {each['partition_index']}",
                f"Leader: {leader}",
                f"Replicas: {commas(each['replica_nodes'])}",
                f"Isr: {commas(each['isr_nodes'])}",
            ]
            lines.append("\t".join(columns))
    return "\n".join(lines)


def described(admin: Any, *topics: str) -> list[Any]:
    """The topics, each with its partitions in their order."""
    found = admin.describe_topics(list(topics) or None)
    for topic in found:
        topic["partitions"].sort(key=lambda each: each["partition_index"])
    return sorted(found, key=lambda topic: topic["name"])


def commas(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


# -- kafka-reassign-partitions.sh


def plan_in(folder: Path, options: Mapping[str, str]) -> dict[Any, list[int]]:
    """TopicPartition -> its replicas, from the JSON file."""
    from kafka import TopicPartition

    path = folder / options["--reassignment-json-file"]
    told = json.loads(path.read_text(encoding="utf-8"))
    return {
        TopicPartition(each["topic"], each["partition"]): each["replicas"]
        for each in told["partitions"]
    }


def replicas_of(admin: Any, partitions: Sequence[Any]) -> dict[Any, list[int]]:
    from kafka import TopicPartition

    names = sorted({each.topic for each in partitions})
    found = {}
    for topic in described(admin, *names):
        for each in topic["partitions"]:
            place = TopicPartition(topic["name"], each["partition_index"])
            found[place] = list(each["replica_nodes"])
    return {each: found[each] for each in sorted(partitions)}


def execute(admin: Any, options: Mapping[str, str], folder: Path) -> str:
    plan = plan_in(folder, options)
    current = replicas_of(admin, list(plan))
    rows = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "replicas": replicas,
            "log_dirs": ["any"] * len(replicas),
        }
        for each, replicas in current.items()
    ]
    lines = [
        "Current partition replica assignment",
        "",
        json.dumps({"version": 1, "partitions": rows}, separators=(",", ":")),
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
    ]
    if "--throttle" in options:
        throttle(admin, plan, current, options["--throttle"])
        lines += [
            "Warning: You must run --verify periodically, until the reassignment"
            " completes, to ensure the throttle is removed.",
            f"The inter-broker throttle limit was set to {options['--throttle']} B/s",
        ]
    answers = admin.alter_partition_reassignments(plan)
    refused = {each: error for each, error in answers.items() if error}
    if refused:
        why = ", ".join(f"{named(each)}: {error}" for each, error in refused.items())
        return f"Error: {why}"
    started = ",".join(named(each) for each in sorted(plan))
    plural = "s" if len(plan) > 1 else ""
    lines.append(f"Successfully started partition reassignment{plural} for {started}")
    return "\n".join(lines)


def named(partition: Any) -> str:
    return f"{partition.topic}-{partition.partition}"


def throttle(admin: Any, plan: Any, current: Any, rate: str) -> None:
    """As the tool does it (KIP-73): the rate for each broker that takes part, and for
    each topic the replicas that send, and those that receive.
    """
    from kafka.admin import ConfigResource, ConfigResourceType

    brokers: set[int] = set()
    sending: dict[str, list[str]] = {}
    receiving: dict[str, list[str]] = {}
    for partition, wanted in plan.items():
        there = current[partition]
        new = [each for each in wanted if each not in there]
        brokers |= {*there, *wanted}
        for names, replicas in ((sending, there), (receiving, new)):
            places = names.setdefault(partition.topic, [])
            places += [f"{partition.partition}:{each}" for each in replicas]
    resources = [
        ConfigResource(
            ConfigResourceType.BROKER,
            str(each),
            {LEADER_RATE: rate, FOLLOWER_RATE: rate},
        )
        for each in sorted(brokers)
    ]
    resources += [
        ConfigResource(
            ConfigResourceType.TOPIC,
            topic,
            {
                LEADER_REPLICAS: ",".join(sending[topic]),
                FOLLOWER_REPLICAS: ",".join(receiving[topic]),
            },
        )
        for topic in sending
    ]
    admin.alter_configs(resources, raise_on_unknown=False)


def verify(admin: Any, options: Mapping[str, str], folder: Path) -> str:
    plan = plan_in(folder, options)
    moving = admin.list_partition_reassignments()
    lines = ["Status of partition reassignment:"]
    for each in sorted(plan):
        how = "is still in progress." if each in moving else "is completed."
        lines.append(f"Reassignment of partition {named(each)} {how}")
    if not moving:  # not even what another plan moves
        lines += ["", *clear_throttle(admin, plan)]
    return "\n".join(lines)


def clear_throttle(admin: Any, plan: Any) -> list[str]:
    from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType

    gone = AlterConfigOp.DELETE, None
    brokers = sorted(each["broker_id"] for each in admin.describe_cluster()["brokers"])
    topics = sorted({each.topic for each in plan})
    resources = [
        ConfigResource(
            ConfigResourceType.BROKER,
            str(each),
            {LEADER_RATE: gone, FOLLOWER_RATE: gone},
        )
        for each in brokers
    ]
    resources += [
        ConfigResource(
            ConfigResourceType.TOPIC,
            each,
            {LEADER_REPLICAS: gone, FOLLOWER_REPLICAS: gone},
        )
        for each in topics
    ]
    admin.alter_configs(resources, raise_on_unknown=False)
    return [
        f"Clearing broker-level throttles on brokers {commas(brokers)}",
        f"Clearing topic-level throttles on topic{'s' if len(topics) > 1 else ''}"
        f" {','.join(topics)}",
    ]


# -- kafka-leader-election.sh


def elect(admin: Any, options: Mapping[str, str], folder: Path) -> str:
    before = leaders(admin)
    admin.elect_leaders(0, raise_errors=False)
    after = leaders(admin)
    changed = sorted(each for each in after if after[each] != before.get(each))
    if not changed:
        return ""
    return (
        "Successfully completed leader election (PREFERRED) for partitions"
        f" {', '.join(changed)}"
    )


def leaders(admin: Any) -> dict[str, int]:
    return {
        f"{topic['name']}-{each['partition_index']}": each["leader_id"]
        for topic in described(admin)
        for each in topic["partitions"]
    }


# -- kafka-configs.sh


def alter_configs(admin: Any, options: Mapping[str, str], folder: Path) -> str:
    """Of a topic, or the quotas of a client id."""
    from kafka.admin import ConfigResource, ConfigResourceType

    name = options["--entity-name"]
    pairs = [each.partition("=") for each in options["--add-config"].split(",")]
    wanted = {key: value for key, _, value in pairs}
    if options["--entity-type"] == "topics":
        resource = ConfigResource(ConfigResourceType.TOPIC, name, wanted)
        admin.alter_configs([resource])
        return f"Completed updating config for topic {name}."
    if options["--entity-type"] == "clients":
        set_quotas(admin, name, {key: float(value) for key, value in wanted.items()})
        return f"Completed updating config for client {name}."
    raise NoSuchCommand("--entity-type: without Java, topics and clients work here")


def set_quotas(admin: Any, client_id: str, quotas: Mapping[str, float]) -> None:
    """kafka-python has the request (KIP-546), and no method for it."""
    from kafka.protocol.admin import AlterClientQuotasRequest

    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData("client-id", client_id)],
                ops=[entry.OpData(key, value, False) for key, value in quotas.items()],
            )
        ],
        validate_only=False,
    )
    answer = admin._manager.run(admin._manager.send, request)
    [entry] = answer.entries
    if entry.error_code:
        raise ValueError(entry.error_message)


# -- kafka-features.sh


def describe_features(admin: Any, options: Mapping[str, str], folder: Path) -> str:
    lines = []
    for name, about in sorted(admin.describe_features().items()):
        least, most = about["supported"]
        _, level = about.get("finalized", (0, 0))
        lines.append(
            f"Feature: {name}\tSupportedMinVersion: {least}"
            f"\tSupportedMaxVersion: {most}\tFinalizedVersionLevel: {level}"
        )
    return "\n".join(lines)


Command = tuple[str, frozenset[str], Callable[[Any, Mapping[str, str], Path], str]]
COMMANDS: tuple[Command, ...] = (
    ("kafka-topics.sh", frozenset({"--describe", "--topic"}), describe),
    (
        "kafka-reassign-partitions.sh",
        frozenset({"--execute", "--reassignment-json-file"}),
        execute,
    ),
    (
        "kafka-reassign-partitions.sh",
        frozenset({"--verify", "--reassignment-json-file"}),
        verify,
    ),
    (
        "kafka-leader-election.sh",
        frozenset({"--all-topic-partitions"}),
        elect,
    ),
    (
        "kafka-configs.sh",
        frozenset({"--alter", "--entity-type", "--entity-name", "--add-config"}),
        alter_configs,
    ),
    ("kafka-features.sh", frozenset({"describe"}), describe_features),
)
