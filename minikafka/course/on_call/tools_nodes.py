"""kafka-log-dirs, kafka-metadata-quorum and kafka-transactions, with the columns of
Apache Kafka 4.3.1's.
"""

import json
from typing import TYPE_CHECKING, Any

from minikafka.course.on_call.commands import Given, Refused, whole
from minikafka.course.on_call.tools_topics import leaders
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

EVERY_ONE: dict[str, list[str]] = {
    "state_filters": [],
    "producer_id_filters": [],
}
FOR_WRITING = 1  # a resource type of FindCoordinator: a transactional id


def log_dirs(world: "World", given: Given) -> str:
    """kafka-log-dirs --describe"""
    live = sorted(
        broker.node_id for broker in world.ask("Metadata", {"topics": []}).brokers
    )
    asked = live
    if "--broker-list" in given:
        listed = given["--broker-list"].split(",")
        if not all(each.isdigit() for each in listed):
            raise Refused("--broker-list is such as 1,3.")
        asked = list(map(int, listed))
        missing = sorted(set(asked) - set(live))
        if missing:
            return (
                "ERROR: The given brokers do not exist from --broker-list:"
                f" {_commas(missing)}. Current existent brokers: {_commas(live)}"
            )
    topics = None
    if "--topic-list" in given:
        topics = [
            {
                "topic": name,
                "partitions": list(leaders(world, name)),
            }
            for name in given["--topic-list"].split(",")
        ]
    found = []
    for broker in asked:
        told = world.ask(
            "DescribeLogDirs",
            {"topics": topics},
            broker,
        )
        found.append(
            {
                "broker": broker,
                "logDirs": list(map(_log_dir, told.results)),
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
            f"Received log directory information from brokers {_commas(asked)}",
            shown,
        ]
    )


def _log_dir(found: Any) -> dict[str, Any]:
    """One folder, as the tool's JSON has it."""
    partitions = []
    for topic in found.topics:
        for each in topic.partitions:
            partitions.append(
                {
                    "partition": f"{topic.name}-{each.partition_index}",
                    "size": each.partition_size,
                    "offsetLag": each.offset_lag,
                    "isFuture": bool(each.is_future_key),
                }
            )
    error = Error(found.error_code)
    return {
        "partitions": partitions,
        "error": None if error is Error.NONE else error.name,
        "logDir": found.log_dir,
    }


def _commas(numbers: Any) -> str:
    """1,2,3"""
    return ",".join(map(str, numbers))


# -- the metadata quorum


def quorum_status(world: "World", given: Given) -> str:
    """kafka-metadata-quorum describe --status"""
    told, partition = _quorum(world)
    leader = _leader_of(partition)
    end = leader.log_end_offset
    voters, observers = partition.current_voters, partition.observers
    lags = [end - each.log_end_offset for each in voters]
    late_ms = [
        leader.last_caught_up_timestamp - each.last_caught_up_timestamp
        for each in voters
    ]
    rows = {
        "ClusterId": world.cluster._brokers[1].broker.config.cluster_id,
        "LeaderId": partition.leader_id,
        "LeaderEpoch": partition.leader_epoch,
        "HighWatermark": partition.high_watermark,
        "MaxFollowerLag": max(lags),
        "MaxFollowerLagTimeMs": max(0, *late_ms),
        "CurrentVoters": json.dumps([_voter(told, each) for each in voters]),
        "CurrentObservers": json.dumps([{"id": each.replica_id} for each in observers]),
    }
    return "\n".join(f"{name + ':':24}{value}" for name, value in rows.items())


def quorum_replication(world: "World", given: Given) -> str:
    """kafka-metadata-quorum describe --replication"""
    _, partition = _quorum(world)
    leader = _leader_of(partition)
    rows = [
        [
            "NodeId",
            "DirectoryId",
            "LogEndOffset",
            "Lag",
            "LastFetchTimestamp",
            "LastCaughtUpTimestamp",
            "Status",
        ]
    ]
    human = "--human-readable" in given
    voters = sorted(
        partition.current_voters, key=lambda each: each.replica_id != leader.replica_id
    )
    for each in (*voters, *partition.observers):
        is_voter = each in partition.current_voters
        status = "Follower" if is_voter else "Observer"
        if each.replica_id == leader.replica_id:
            status = "Leader"
        times = (each.last_fetch_timestamp, each.last_caught_up_timestamp)
        shown = [_ago(world, at) if human else str(at) for at in times]
        if each.replica_id == leader.replica_id and human:
            shown = ["0 ms ago", "0 ms ago"]
        rows.append(
            [
                str(each.replica_id),
                uuid_text(each.replica_directory_id),
                str(each.log_end_offset),
                str(leader.log_end_offset - each.log_end_offset),
                *shown,
                status,
            ]
        )
    return table(rows)


def _quorum(world: "World") -> tuple[Any, Any]:
    """DescribeQuorum: the answer, and its only partition."""
    asked = {"partition_index": 0}
    body = {
        "topics": [
            {
                "topic_name": "__cluster_metadata",
                "partitions": [asked],
            }
        ]
    }
    told = world.ask("DescribeQuorum", body)
    if told.error_code:
        raise KafkaError(Error(told.error_code))
    partition = told.topics[0].partitions[0]
    if partition.error_code:
        raise KafkaError(Error(partition.error_code))
    return told, partition


def _leader_of(partition: Any) -> Any:
    """The voter that leads."""
    return next(
        each
        for each in partition.current_voters
        if each.replica_id == partition.leader_id
    )


def _voter(told: Any, each: Any) -> dict[str, Any]:
    """One voter with its listeners, as the tool's JSON has it."""
    endpoints = []
    for node in told.nodes:
        if node.node_id == each.replica_id:
            for listener in node.listeners:
                name, port = listener.name, listener.port
                endpoints.append(f"{name}://kafka-{each.replica_id}:{port}")
    return {
        "id": each.replica_id,
        "endpoints": endpoints,
    }


def _ago(world: "World", at_ms: int) -> str:
    """A time, as --human-readable has it."""
    return f"{max(0, MIDNIGHT_MS + world.now_ms - at_ms)} ms ago"


def table(rows: list[list[str]]) -> str:
    """Columns as wide as their widest cell, with tabs between, as the tools print
    them.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(wide)
            for cell, wide in zip(
                row,
                widths,
                strict=True,
            )
        ]
        lines.append("\t".join(cells).rstrip())
    return "\n".join(lines)


# -- transactions


def list_transactions(world: "World", given: Given) -> str:
    """kafka-transactions list"""
    rows = [
        [
            "TransactionalId",
            "Coordinator",
            "ProducerId",
            "TransactionState",
        ]
    ]
    for broker in world.ask("Metadata", {"topics": []}).brokers:
        told = world.ask(
            "ListTransactions",
            EVERY_ONE,
            broker.node_id,
        )
        for each in told.transaction_states:
            rows.append(
                [
                    each.transactional_id,
                    str(broker.node_id),
                    str(each.producer_id),
                    each.transaction_state,
                ]
            )
    return table(rows)


def describe_transaction(world: "World", given: Given) -> str:
    """kafka-transactions describe"""
    name = given["--transactional-id"]
    coordinator = _coordinator(world, name)
    body = {"transactional_ids": [name]}
    [told] = world.ask(
        "DescribeTransactions",
        body,
        coordinator,
    ).transaction_states
    if told.error_code:
        raise KafkaError(Error(told.error_code))
    began, lasts = "None", "None"
    if told.transaction_start_time_ms >= 0:
        began = str(told.transaction_start_time_ms)
        lasts = str(MIDNIGHT_MS + world.now_ms - told.transaction_start_time_ms)
    partitions = [
        f"{topic.topic}-{number}"
        for topic in told.topics
        for number in topic.partitions
    ]
    heading = (
        "CoordinatorId TransactionalId ProducerId ProducerEpoch TransactionState"
        " TransactionTimeoutMs CurrentTransactionStartTimeMs TransactionDurationMs"
        " TopicPartitions"
    )
    row = [
        str(coordinator),
        name,
        str(told.producer_id),
        str(told.producer_epoch),
        told.transaction_state,
        str(told.transaction_timeout_ms),
        began,
        lasts,
        ",".join(partitions),
    ]
    return table([heading.split(), row])


def describe_producers(world: "World", given: Given) -> str:
    """kafka-transactions describe-producers"""
    heading = (
        "ProducerId ProducerEpoch LatestCoordinatorEpoch LastSequence LastTimestamp"
        " CurrentTransactionStartOffset"
    )
    rows = [heading.split()]
    for each in _producers(
        world,
        given["--topic"],
        whole(given, "--partition"),
    ):
        start = each.current_txn_start_offset
        rows.append(
            [
                str(each.producer_id),
                str(each.producer_epoch),
                str(each.coordinator_epoch),
                str(each.last_sequence),
                str(each.last_timestamp),
                "None" if start < 0 else str(start),
            ]
        )
    return table(rows)


def _producers(world: "World", topic: str, partition: int) -> list[Any]:
    """DescribeProducers, at the partition's leader."""
    leader = leaders(world, topic).get(partition, -1)
    if leader < 0:
        raise KafkaError(Error.LEADER_NOT_AVAILABLE)
    wanted = {
        "name": topic,
        "partition_indexes": [partition],
    }
    told = world.ask(
        "DescribeProducers",
        {"topics": [wanted]},
        leader,
    )
    [found] = told.topics[0].partitions
    if found.error_code:
        raise KafkaError(Error(found.error_code))
    return list(found.active_producers)


def find_hanging(world: "World", given: Given) -> str:
    """kafka-transactions find-hanging: what is open for longer than 15 minutes, and no
    coordinator knows it.
    """
    heading = (
        "Topic Partition ProducerId ProducerEpoch CoordinatorEpoch StartOffset"
        " LastTimestamp Duration(min)"
    )
    rows = [heading.split()]
    most_min = 15
    if "--max-transaction-timeout" in given:
        most_min = whole(given, "--max-transaction-timeout")
    known: set[int] = set()
    for broker in world.ask("Metadata", {"topics": []}).brokers:
        told = world.ask(
            "ListTransactions",
            EVERY_ONE,
            broker.node_id,
        )
        known.update(
            each.producer_id
            for each in told.transaction_states
            if each.transaction_state not in ("Empty", "CompleteCommit")
        )
    for topic, partition in _of_broker(
        world,
        whole(
            given,
            "--broker-id",
            1,
        ),
    ):
        for each in _producers(
            world,
            topic,
            partition,
        ):
            now_ms = MIDNIGHT_MS + world.now_ms
            minutes = (now_ms - each.last_timestamp) // 60_000
            is_open = each.current_txn_start_offset >= 0
            if is_open and minutes > most_min and each.producer_id not in known:
                rows.append(
                    [
                        topic,
                        str(partition),
                        str(each.producer_id),
                        str(each.producer_epoch),
                        str(each.coordinator_epoch),
                        str(each.current_txn_start_offset),
                        str(each.last_timestamp),
                        str(minutes),
                    ]
                )
    return table(rows)


def _of_broker(world: "World", broker: int) -> list[tuple[str, int]]:
    """The partitions that it leads."""
    found = []
    for topic in world.ask("Metadata", {"topics": None}).topics:
        if not topic.name.startswith("__"):
            for each in topic.partitions:
                if each.leader_id == broker:
                    found.append((topic.name, each.partition_index))
    return found


def _coordinator(world: "World", name: str) -> int:
    """Of a transactional id."""
    body = {
        "coordinator_keys": [name],
        "key_type": FOR_WRITING,
    }
    for _ in range(20):
        (found,) = world.ask("FindCoordinator", body).coordinators
        if not found.error_code:
            return int(found.node_id)
        world.cluster.run_ms(500)
    raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE)


def terminate(world: "World", given: Given) -> str:
    """kafka-transactions forceTerminateTransaction: the coordinator ends it, as when a
    new producer comes with the same id.
    """
    name = given["--transactionalId"]
    coordinator = _coordinator(world, name)
    body = {
        "transactional_id": name,
        "transaction_timeout_ms": 30_000,
    }
    for _ in range(20):
        told = world.ask(
            "InitProducerId",
            body,
            coordinator,
        )
        if told.error_code != Error.CONCURRENT_TRANSACTIONS:
            break
        world.cluster.run_ms(500)
    if told.error_code:
        raise KafkaError(Error(told.error_code))
    return ""


def abort(world: "World", given: Given) -> str:
    """kafka-transactions abort: a marker into one partition, whatever the coordinator
    thinks.
    """
    topic, partition = given["--topic"], whole(given, "--partition")
    start = whole(given, "--start-offset")
    found = [
        each
        for each in _producers(
            world,
            topic,
            partition,
        )
        if each.current_txn_start_offset == start
    ]
    if not found:
        return (
            "Could not find any open transactions starting at offset"
            f" {start} on partition {topic}-{partition}"
        )
    marker = {
        "producer_id": found[0].producer_id,
        "producer_epoch": found[0].producer_epoch,
        "transaction_result": False,
        "topics": [
            {
                "name": topic,
                "partition_indexes": [partition],
            }
        ],
        "coordinator_epoch": max(0, found[0].coordinator_epoch),
    }
    leader = leaders(world, topic)[partition]
    told = world.ask(
        "WriteTxnMarkers",
        {"markers": [marker]},
        leader,
    )
    error = Error(told.markers[0].topics[0].partitions[0].error_code)
    if error is not Error.NONE:
        raise KafkaError(error)
    return ""
