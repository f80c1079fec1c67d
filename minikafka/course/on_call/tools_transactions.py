"""kafka-transactions, with the columns of Apache Kafka 4.4.0's."""

from typing import Any

from minikafka.clients.structs import TopicPartition
from minikafka.course.on_call import asking
from minikafka.course.on_call.asking import FOR_TRANSACTIONS
from minikafka.course.on_call.columns import columns
from minikafka.course.on_call.usage import LONG_MAX, Given, whole, whole_or
from minikafka.course.on_call.world import World
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.wire.errors import Error

OF_LIST = [
    "TransactionalId",
    "Coordinator",
    "ProducerId",
    "TransactionState",
]
OF_DESCRIBE = [
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
]
OF_PRODUCERS = [
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
]
OF_HANGING = [
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
]
NOT_OPEN = (
    "Could not find any open transactions starting at offset {} on partition {}-{}"
)
NO_SCOPE = (
    "The `find-hanging` command requires either --topic or --broker-id to limit the"
    " scope of the search"
)
EVERY_BROKER = EVERY_PARTITION = -1
NONE = "None"
EVERY_ONE: dict[str, list[str]] = {
    "state_filters": [],
    "producer_id_filters": [],
}
ENDED = ("Empty", "CompleteCommit")
LONGEST_MIN = 15  # a transaction that is open for longer hangs, unless told otherwise
MINUTE_MS = 60_000


def list_transactions(world: World, given: Given) -> str:
    """kafka-transactions list"""
    rows = [OF_LIST]
    for broker in asking.live_brokers(world.brokers):
        for each in _coordinated(world, broker):
            rows.append(
                [
                    each.transactional_id,
                    str(broker),
                    str(each.producer_id),
                    each.transaction_state,
                ]
            )
    return columns(rows, between="\t")


def _coordinated(world: World, broker: int) -> list[Any]:
    """The transactions that a broker coordinates."""
    told = world.brokers.ask("ListTransactions", EVERY_ONE, broker)
    return list(told.transaction_states)


def describe_transaction(world: World, given: Given) -> str:
    """kafka-transactions describe"""
    name = given["--transactional-id"]
    coordinator = asking.coordinator(world.brokers, name, FOR_TRANSACTIONS)
    body = {"transactional_ids": [name]}
    answer = world.brokers.ask("DescribeTransactions", body, coordinator)
    [told] = answer.transaction_states
    asking.check(told)
    began, lasts = NONE, NONE
    if told.transaction_start_time_ms >= 0:
        began = str(told.transaction_start_time_ms)
        lasts = str(_wall_ms(world) - told.transaction_start_time_ms)
    partitions = []
    for topic in told.topics:
        partitions += [f"{topic.topic}-{number}" for number in topic.partitions]
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
    return columns([OF_DESCRIBE, row], between="\t")


def describe_producers(world: World, given: Given) -> str:
    """kafka-transactions describe-producers"""
    rows = [OF_PRODUCERS]
    for producer in _producers(world, _partition(given)):
        start = producer.current_txn_start_offset
        rows.append(
            [
                str(producer.producer_id),
                str(producer.producer_epoch),
                str(producer.coordinator_epoch),
                str(producer.last_sequence),
                str(producer.last_timestamp),
                NONE if start < 0 else str(start),
            ]
        )
    return columns(rows, between="\t")


def _partition(given: Given) -> TopicPartition:
    """The one that a line names. Raises Refused."""
    return TopicPartition(given["--topic"], whole(given, "--partition"))


def _producers(world: World, partition: TopicPartition) -> list[Any]:
    """DescribeProducers, at the partition's leader."""
    topic, number = partition
    leader = asking.leader(world.brokers, partition)
    wanted = {
        "name": topic,
        "partition_indexes": [number],
    }
    told = world.brokers.ask("DescribeProducers", {"topics": [wanted]}, leader)
    [found] = told.topics[0].partitions
    asking.check(found)
    return list(found.active_producers)


def _wall_ms(world: World) -> int:
    """The time as timestamps have it."""
    return MIDNIGHT_MS + world.now_ms


# -- hanging transactions


def find_hanging(world: World, given: Given) -> str:
    """kafka-transactions find-hanging: what is open for longer than 15 minutes, and no
    coordinator knows it.
    """
    if not {"--broker-id", "--topic"} & given.keys():
        return NO_SCOPE
    most_min = whole_or(given, "--max-transaction-timeout", LONGEST_MIN)
    known = _known_producers(world)
    rows = [OF_HANGING]
    for partition in _searched(world, given):
        for producer in _producers(world, partition):
            open_ms = _wall_ms(world) - producer.last_timestamp
            minutes = open_ms // MINUTE_MS
            is_open = producer.current_txn_start_offset >= 0
            is_known = producer.producer_id in known
            if is_open and minutes > most_min and not is_known:
                rows.append(_hanging(partition, producer, minutes))
    return columns(rows, between="\t")


def _known_producers(world: World) -> set[int]:
    """Those of which a coordinator knows that their transaction is open."""
    known = set()
    for broker in asking.live_brokers(world.brokers):
        for each in _coordinated(world, broker):
            if each.transaction_state not in ENDED:
                known.add(each.producer_id)
    return known


def _searched(world: World, given: Given) -> list[TopicPartition]:
    """The partitions that a line names: of a broker those that it leads, without
    Kafka's own.
    """
    broker = whole_or(given, "--broker-id", EVERY_BROKER, least=1)
    number = whole_or(given, "--partition", EVERY_PARTITION)
    found = []
    for topic in world.brokers.ask("Metadata", {"topics": None}).topics:
        if topic.name != given.get("--topic", topic.name) or topic.name[:2] == "__":
            continue
        for partition in topic.partitions:
            is_its = broker in (EVERY_BROKER, partition.leader_id)
            is_meant = number in (EVERY_PARTITION, partition.partition_index)
            if is_its and is_meant and partition.leader_id >= 0:
                found.append(TopicPartition(topic.name, partition.partition_index))
    return found


def _hanging(partition: TopicPartition, producer: Any, minutes: int) -> list[str]:
    """A row of kafka-transactions find-hanging."""
    return [
        partition.topic,
        str(partition.partition),
        str(producer.producer_id),
        str(producer.producer_epoch),
        str(producer.coordinator_epoch),
        str(producer.current_txn_start_offset),
        str(producer.last_timestamp),
        str(minutes),
    ]


# -- ending them


def terminate(world: World, given: Given) -> str:
    """kafka-transactions forceTerminateTransaction: the coordinator ends it, as when a
    new producer comes with the same id.
    """
    name = given["--transactionalId"]
    coordinator = asking.coordinator(world.brokers, name, FOR_TRANSACTIONS)
    body = {
        "transactional_id": name,
        "transaction_timeout_ms": asking.TIMEOUT_MS,
    }
    for _ in range(asking.ATTEMPTS):
        told = world.brokers.ask("InitProducerId", body, coordinator)
        if told.error_code != Error.CONCURRENT_TRANSACTIONS:
            break
        world.cluster.run_ms(asking.PAUSE_MS)
    asking.check(told)
    return ""


def abort(world: World, given: Given) -> str:
    """kafka-transactions abort: a marker into one partition, whatever the coordinator
    thinks.
    """
    partition = _partition(given)
    topic, number = partition
    start = whole(given, "--start-offset", most=LONG_MAX)
    for producer in _producers(world, partition):
        if producer.current_txn_start_offset == start:
            break
    else:
        return NOT_OPEN.format(start, topic, number)
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "transaction_result": False,
        "topics": [
            {
                "name": topic,
                "partition_indexes": [number],
            }
        ],
        "coordinator_epoch": max(0, producer.coordinator_epoch),
    }
    leader = asking.leader(world.brokers, partition)
    told = world.brokers.ask("WriteTxnMarkers", {"markers": [marker]}, leader)
    [answer] = told.markers[0].topics[0].partitions
    asking.check(answer)
    return ""
