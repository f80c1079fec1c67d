"""What must hold after a schedule of tests/simulation/transaction_schedules.py, as far
as the logs, the readers, the programs and the trace tell.

The logs are read batch by batch: which records count follows from the markers alone
(KIP-98), and is compared with what each producer was told, what the readers of
committed records saw, and what the copiers made of it.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.clients.structs import TopicPartition
from minikafka.coordinators.runtime import partition_for
from minikafka.wire.internal_records import (
    decode_coordinator_record,
    decode_end_transaction,
)
from minikafka.wire.records import batches, decode_batch
from tests.simulation.transaction_programs import (
    CLEANUP_MS,
    COPIER_TIMEOUT_MS,
    COPIES,
    GROUP,
    ORDERS,
    PARTITIONS,
    PAYER_TIMEOUT_MS,
)

if TYPE_CHECKING:
    from tests.simulation.transaction_schedules import Run

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
LEAST_IN_SYNC = 2  # min.insync.replicas
Values = list[tuple[int, str]]  # offset, value
Seen = dict[TopicPartition, Values]
# After the faults: elections, ISRs, a write of the coordinator that is tried again (5
# s), and clocks that differ.
AVAILABLE_AFTER_MS, SKEW_MS = 15_000, 4000


class Log(NamedTuple):
    """A partition as its markers tell. committed: by the order of offsets. ended: as
    their markers came. open: producer ids without a marker.
    """

    committed: list[tuple[int, Any]]
    ended: list[tuple[int, Any]]
    open: list[int]
    is_stable: bool


def log_of(run: "Run", topic: str, number: int) -> Log | None:
    """The leader's log; None if there is no leader."""
    node = run.cluster.leader(topic, number)
    replica = (
        None
        if node is None
        else run.cluster.brokers[node].broker.replicas.find_or_create(topic, number)
    )
    if replica is None or not replica.is_leader:
        return None
    found: dict[int, list[tuple[int, Any]]] = {}
    ended: list[tuple[int, Any]] = []
    offset, end = replica.log.log_start_offset, replica.log.log_end_offset
    while offset < end:
        for header, batch in batches(
            bytearray().join(replica.log.read(offset, 1 << 20, end))
        ):
            offset = header.next_offset
            marker = decode_end_transaction(batch) if header.control else None
            if marker is not None:
                ended += found.pop(header.producer_id, []) if marker.committed else []
                found.pop(header.producer_id, None)
            elif header.transactional:
                found.setdefault(header.producer_id, []).extend(
                    (each.offset, each) for each in decode_batch(batch)
                )
    return Log(
        sorted(ended, key=lambda each: each[0]),
        ended,
        list(found),
        replica.last_stable_offset == end,
    )


def values_of(log: Log) -> Values:
    return [(offset, bytes(record.value).decode()) for offset, record in log.committed]


def is_settled(run: "Run") -> bool:
    """Whether nothing is open any more, and all is copied and read."""
    if not set(run.states.values()) <= {"Empty", "CompleteCommit", "CompleteAbort"}:
        return False
    for number in range(PARTITIONS):
        orders, copies = log_of(run, ORDERS, number), log_of(run, COPIES, number)
        if (
            orders is None
            or copies is None
            or not (orders.is_stable and copies.is_stable)
        ):
            return False
        read = [
            len(run.seen.get(TopicPartition(topic, number), ()))
            for topic in (ORDERS, COPIES)
        ]
        if not len(orders.committed) == len(copies.committed) == read[0] == read[1]:
            return False
    offsets = log_of(run, OFFSETS, 0)
    return offsets is not None and offsets.is_stable


def verdict(run: "Run") -> list[str]:
    """What must not have happened."""
    problems: list[str] = []
    partitions = [
        TopicPartition(name, number)
        for name in (ORDERS, COPIES)
        for number in range(PARTITIONS)
    ]
    logs = {
        partition: log_of(run, *partition)
        for partition in (*partitions, TopicPartition(OFFSETS, 0))
    }
    for partition, log in logs.items():
        if log is None:
            problems.append(f"{partition} has no leader")
        elif log.open or not log.is_stable:
            problems.append(
                f"the last stable offset of {partition} stands still: {log.open} are"
                " open"
            )
    if None in logs.values():
        return problems
    known: dict[TopicPartition, Any] = {**logs}
    committed = {
        partition: values_of(log)
        for partition, log in known.items()
        if partition.topic != OFFSETS
    }
    problems += told(run, committed)
    for partition, values in committed.items():
        problems += read(partition, values, run.seen.get(partition, []))
    problems += copied(
        committed,
        known[TopicPartition(OFFSETS, 0)],
        run.cluster.committed_offsets(GROUP),
    )
    return problems + too_late(run)


def told(run: "Run", committed: dict[TopicPartition, Values]) -> list[str]:
    """What the payers were told is what the logs say: each transaction counts whole,
    once, or not at all.
    """
    problems = []
    orders = {
        number: committed[TopicPartition(ORDERS, number)]
        for number in range(PARTITIONS)
    }
    there = Counter(
        (number, value) for number, values in orders.items() for _, value in values
    )
    for each in run.ledger.transactions:
        counts = {there[value] for value in each.values}
        who = f"a transaction of {each.name} {each.identity} ({each.state})"
        if len(counts) > 1:
            problems.append(f"{who} counts in part: {each.values}")
        elif counts - {0, 1}:
            problems.append(f"{who} counts twice: {each.values}")
        elif each.state == "committed" and counts == {0}:
            problems.append(f"{who} is lost: {each.values}")
        elif (each.state in ("open", "aborting") or each.fenced) and counts == {1}:
            problems.append(
                f"{who} counts{', though it was fenced' * each.fenced}: {each.values}"
            )
    if not any(each.state == "committed" for each in run.ledger.transactions):
        problems.append("no transaction was committed")
    return problems


def read(partition: TopicPartition, committed: Values, seen: Values) -> list[str]:
    """A reader of committed records has seen these, all of them, in order, and nothing
    else.
    """
    if seen == committed:
        return []
    wrong = [each for each in seen if each not in committed]
    missed = [each for each in committed if each not in seen]
    return [
        f"of {partition} was read what does not count: {wrong[:3]}; and not what does:"
        f" {missed[:3]}"
    ]


def copied(
    committed: dict[TopicPartition, Values],
    offsets: Log,
    group: dict[TopicPartition, int],
) -> list[str]:
    """Each committed order is copied once, in order; offsets and outputs belong to the
    same transactions.
    """
    problems, outputs = [], {}
    for number in range(PARTITIONS):
        orders, copies = committed[TopicPartition(ORDERS, number)], []
        for _, text in committed[TopicPartition(COPIES, number)]:
            tag, offset, value = text.split("|")
            copies.append((int(offset), value))
            outputs[tag, number] = int(offset) + 1
        if copies != orders:
            twice = [each for each, count in Counter(copies).items() if count > 1]
            lost = [each for each in orders if each not in copies]
            problems.append(
                f"{ORDERS}-{number} is not copied: {lost[:3]} lost, {twice[:3]} twice"
            )
    told: dict[tuple[str, int], int] = {}
    for _, record in offsets.ended:
        name, key, value = decode_coordinator_record(record.key, record.value)
        if name == "OffsetCommit" and value is not None:
            told[value.metadata, key.partition] = value.offset
    if told != outputs:
        differ = sorted(set(told.items()) ^ set(outputs.items()))
        problems.append(
            f"offsets and outputs are not of the same transactions: {differ[:6]}"
        )
    last = {
        TopicPartition(ORDERS, number): offset for (_, number), offset in told.items()
    }
    if group != dict(sorted(last.items())):
        problems.append(f"{GROUP} has committed {group}, and its log says {last}")
    return problems


def too_late(run: "Run") -> list[str]:
    """Who has a transaction open for longer than its timeout finds it aborted, once
    there is a coordinator.
    """
    problems, began = [], {}
    for event in [
        each for each in run.cluster.trace if each.kind == "TransactionStateChanged"
    ]:
        name, state = event.detail["transactional_id"], event.detail["state"]
        if state == "Ongoing":
            began.setdefault(name, event.at)
            continue
        at_ms = began.pop(name, event.at)
        timeout_ms = (
            COPIER_TIMEOUT_MS if name.startswith("copier") else PAYER_TIMEOUT_MS
        )
        latest_ms = (
            max(at_ms + timeout_ms, available_ms(run, name, event.at))
            + CLEANUP_MS
            + SKEW_MS
        )
        if event.at > latest_ms:
            problems.append(
                f"{name}'s transaction of {at_ms} ms was aborted at {event.at} ms"
            )
    return problems + [
        f"{name}'s transaction of {at_ms} ms is open for ever"
        for name, at_ms in began.items()
    ]


def available_ms(run: "Run", transactional_id: str, until_ms: int) -> int:
    """Since when it has a coordinator that can write: one that leads, with as many in
    sync as a write needs. The last followers come back late where a request to a
    machine without power hangs until its timeout of 30 s.
    """
    found = run.calm_ms + AVAILABLE_AFTER_MS
    number = partition_for(transactional_id, run.cluster.partition_count(TRANSACTIONS))
    for event in run.cluster.trace:
        where = event.detail.get("topic"), event.detail.get("partition")
        if (
            event.at <= until_ms
            and event.kind in ("LeaderElected", "IsrExpanded")
            and where == (TRANSACTIONS, number)
        ):
            was, isr = event.detail.get("was", ()), event.detail["isr"]
            found = (
                max(found, event.at) if len(was) < LEAST_IN_SYNC <= len(isr) else found
            )
    return found
