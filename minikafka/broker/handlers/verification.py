"""Whether a transaction is open, asked before its first records are written into a partition (KIP-890).

A batch may come late: its producer has given it up and taken the transaction back, the marker is written. Then nobody
would end what it begins, or the end of the next transaction would. So the leader of a partition asks the coordinator of
the transaction (AddPartitionsToTxn, to verify) whether the partition has joined; a marker that is written meanwhile
makes the answer void (storage/producer_state.py). Later batches of the transaction need no such question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import NO_LEADER, TRANSACTIONS_TOPIC
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.transactions import TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message
from minikafka.wire.topics import nested

ENABLED = "transaction.partition.verification.enable"
LANE = "verification"
VERSION = 4  # the first with verification
KNOWS_ABORTABLE = {"Produce": 11, "TxnOffsetCommit": 4}  # from this version on


def asked(
    broker: Broker, request: Call, producer: tuple[int, int], partitions: dict[TopicPartition, Replica]
) -> Wait | None:
    """Asks for those partitions where the transaction has not begun. The request begins anew with the answers, in its
    body; None if nobody need be asked, or all is answered.
    """
    body = request.body
    if "verified" in body.__dict__ or not broker.config[ENABLED]:
        return None
    guards = {at: replica.log.producers.guard(*producer) for at, replica in partitions.items()}
    unsure = [at for at, guard in guards.items() if guard is not None]
    body.verified = {at: (guards[at], Error.COORDINATOR_NOT_AVAILABLE) for at in unsure}
    node = coordinator(broker, body.transactional_id)
    if not unsure or node == NO_LEADER:
        return None
    wait = Wait(again=True)

    def answered(reply: Message | None, now: Now) -> None:
        for at in unsure:
            error = Error.NETWORK_EXCEPTION if reply is None else results(reply).get(at, Error(reply.error_code))
            fenced = error is Error.PRODUCER_FENCED
            body.verified[at] = guards[at], Error.INVALID_PRODUCER_EPOCH if fenced else error
        wait.finish({})

    who = {"transactional_id": body.transactional_id, "producer_id": producer[0], "producer_epoch": producer[1]}
    transaction = who | {"verify_only": True, "topics": nested(unsure)}
    broker.ask(node, LANE, "AddPartitionsToTxn", VERSION, {"transactions": [transaction]}, answered)
    return wait


def check(
    request: Call,
    producer: tuple[int, int],
    at: TopicPartition,
    replica: Replica,
    as_said: Mapping[Error, Error],
) -> None:
    """Before the records are written. as_said: what this API calls errors. Errors: INVALID_TXN_STATE,
    TRANSACTION_ABORTABLE, INVALID_PRODUCER_EPOCH, and those for which there is no answer.
    """
    if "verified" not in request.body.__dict__:
        return
    guard, error = request.body.verified.get(at, (None, Error.NONE))
    if error is Error.TRANSACTION_ABORTABLE and request.version < KNOWS_ABORTABLE[request.api]:
        error = Error.INVALID_TXN_STATE
    if error is not Error.NONE:
        raise KafkaError(as_said.get(error, error), f"the transaction can't be verified: {error.message}")
    replica.log.producers.check_guard(*producer, guard)


def coordinator(broker: Broker, transactional_id: str) -> int:
    """Who coordinates a transactional id, NO_LEADER if nobody does."""
    try:
        number = broker.transactions.partition(transactional_id)
    except KafkaError:
        return NO_LEADER
    return broker.image.topics[TRANSACTIONS_TOPIC].partitions[number].leader


def results(reply: Message) -> dict[TopicPartition, Error]:
    """The verdicts in the answer of a coordinator."""
    topics: list[Any] = [topic for each in reply.results_by_transaction for topic in each.topic_results]
    return {
        (topic.name, each.partition_index): Error(each.partition_error_code)
        for topic in topics
        for each in topic.results_by_partition
    }
