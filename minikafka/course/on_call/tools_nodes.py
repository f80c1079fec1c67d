"""kafka-log-dirs and kafka-metadata-quorum, with Apache Kafka 4.4.0's columns."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.course.on_call import asking
from minikafka.course.on_call.columns import columns, commas
from minikafka.course.on_call.shell import Said
from minikafka.course.on_call.usage import Given, Refused, number_in
from minikafka.course.on_call.world import World
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error

NO_SUCH_BROKERS = (
    "ERROR: The given brokers do not exist from --broker-list: {}. Current existent"
    " brokers: {}"
)
OF_REPLICATION = [
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
]
METADATA = "__cluster_metadata"


def log_dirs(world: World, given: Given) -> str | Said:
    """kafka-log-dirs --describe"""
    live = asking.live_brokers(world.brokers)
    asked = live
    if "--broker-list" in given:
        asked = _numbers(given["--broker-list"])
        missing = sorted(set(asked) - set(live))
        if missing:
            return Said("", NO_SUCH_BROKERS.format(commas(missing), commas(live)))
    topics = None
    if "--topic-list" in given:
        names = given["--topic-list"].split(",")
        topics = [_all_of(world, name) for name in names]
    found = []
    for broker in asked:
        told = world.brokers.ask("DescribeLogDirs", {"topics": topics}, broker)
        folders = list(map(_log_dir, told.results))
        found.append(
            {
                "broker": broker,
                "logDirs": folders,
            }
        )
    shown = json.dumps(
        {
            "brokers": found,
            "version": 1,
        },
        separators=(",", ":"),
    )
    return "\n".join(
        [
            "Querying brokers for log directories information",
            f"Received log directory information from brokers {commas(asked)}",
            shown,
        ]
    )


def _numbers(text: str) -> list[int]:
    """The numbers in a list such as 1,3. Raises Refused."""
    found = []
    for each in text.split(","):
        number = number_in(each)
        if number is None or number < 0:
            raise Refused("--broker-list is such as 1,3.")
        found.append(number)
    return found


def _all_of(world: World, topic: str) -> dict[str, Any]:
    """All partitions of a topic, as DescribeLogDirs is asked for them."""
    return {
        "topic": topic,
        "partitions": list(asking.leaders(world.brokers, topic)),
    }


def _log_dir(told: Any) -> dict[str, Any]:
    """One folder, as the tool's JSON has it."""
    partitions = []
    for topic in told.topics:
        for partition in topic.partitions:
            shown = {
                "partition": f"{topic.name}-{partition.partition_index}",
                "size": partition.partition_size,
                "offsetLag": partition.offset_lag,
                "isFuture": bool(partition.is_future_key),
            }
            partitions.append(shown)
    error = Error(told.error_code)
    return {
        "partitions": partitions,
        "error": None if error is Error.NONE else error.name,
        "logDir": told.log_dir,
    }


# -- the metadata quorum


class Quorum(NamedTuple):
    """The answer to DescribeQuorum. leader: the voter that leads."""

    nodes: Any
    partition: Any
    leader: Any

    def lag(self, replica: Any) -> int:
        """How many records it is behind the leader."""
        return int(self.leader.log_end_offset - replica.log_end_offset)

    def lag_ms(self, replica: Any) -> int:
        """How long ago it had what the leader has."""
        at_ms = replica.last_caught_up_timestamp
        return int(self.leader.last_caught_up_timestamp - at_ms)

    def most_lag_ms(self, voters: Sequence[Any]) -> int:
        """The largest lag of any voter, in ms; -1 if one was never heard of."""
        if any(each.last_caught_up_timestamp < 0 for each in voters):
            return -1
        return max(0, *map(self.lag_ms, voters))

    def is_leader(self, replica: Any) -> bool:
        """Whether this is the leader."""
        return bool(replica.replica_id == self.leader.replica_id)


def _quorum(world: World) -> Quorum:
    """The controller's answer. Raises KafkaError if there is no controller."""
    topic = {
        "topic_name": METADATA,
        "partitions": [{"partition_index": 0}],
    }
    told = world.brokers.ask("DescribeQuorum", {"topics": [topic]})
    asking.check(told)
    [partition] = told.topics[0].partitions
    asking.check(partition)
    leading = partition.leader_id
    voters = partition.current_voters
    [leader] = [voter for voter in voters if voter.replica_id == leading]
    return Quorum(told.nodes, partition, leader)


def quorum_status(world: World, given: Given) -> str:
    """kafka-metadata-quorum describe --status"""
    quorum = _quorum(world)
    partition = quorum.partition
    current = partition.current_voters
    voters = [_voter(quorum, voter) for voter in current]
    observers = [{"id": each.replica_id} for each in partition.observers]
    rows = {
        "ClusterId": world.brokers.cluster_id(),
        "LeaderId": partition.leader_id,
        "LeaderEpoch": partition.leader_epoch,
        "HighWatermark": partition.high_watermark,
        "MaxFollowerLag": max(map(quorum.lag, current)),
        "MaxFollowerLagTimeMs": quorum.most_lag_ms(current),
        "CurrentVoters": json.dumps(voters),
        "CurrentObservers": json.dumps(observers),
    }
    return "\n".join(f"{name + ':':24}{value}" for name, value in rows.items())


def _voter(quorum: Quorum, voter: Any) -> dict[str, Any]:
    """One voter with its listeners, as the tool's JSON has it."""
    number = voter.replica_id
    [node] = [node for node in quorum.nodes if node.node_id == number]
    endpoints = []
    for listener in node.listeners:
        endpoints.append(f"{listener.name}://kafka-{number}:{listener.port}")
    return {
        "id": number,
        "endpoints": endpoints,
    }


def quorum_replication(world: World, given: Given) -> str:
    """kafka-metadata-quorum describe --replication"""
    quorum = _quorum(world)
    human = "--human-readable" in given
    voters = quorum.partition.current_voters
    followers = [voter for voter in voters if not quorum.is_leader(voter)]
    statuses = [(quorum.leader, "Leader")]
    statuses += [(follower, "Follower") for follower in followers]
    statuses += [(each, "Observer") for each in quorum.partition.observers]
    rows = [OF_REPLICATION]
    for replica, status in statuses:
        times = [replica.last_fetch_timestamp, replica.last_caught_up_timestamp]
        shown = list(map(str, times))
        if human:
            shown = [_ago(world, at_ms) for at_ms in times]
        if human and replica is quorum.leader:
            shown = ["0 ms ago", "0 ms ago"]
        rows.append(
            [
                str(replica.replica_id),
                uuid_text(replica.replica_directory_id),
                str(replica.log_end_offset),
                str(quorum.lag(replica)),
                *shown,
                status,
            ]
        )
    return columns(rows, between="\t")


def _ago(world: World, at_ms: int) -> str:
    """A time, as --human-readable has it."""
    if at_ms < 0:
        return "-1"  # never
    return f"{max(0, MIDNIGHT_MS + world.now_ms - at_ms)} ms ago"
