"""Where groups go on reading: committed offsets are written down, looked up,
forgotten.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from minikafka.broker.calls import Broker, Call, a_few_times
from minikafka.clock import Now
from minikafka.cluster.metadata import OFFSETS_TOPIC
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.offsets import NOTHING
from minikafka.coordinators.runtime import AS_A_COORDINATOR_SAYS, Decision
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

ABORTABLE, IMPLICIT_JOIN = 4, 5  # the versions of TxnOffsetCommit
MANY_GROUPS = 8  # the first version of OffsetFetch that asks for many


def commit(
    broker: Broker,
    request: Call,
    now: Now,
    producer: tuple[int, int] | None = None,
    may: Callable[[], None] = lambda: None,
) -> Answer | Wait:
    """OffsetCommit (KIP-98, KIP-211): a group writes down where it goes on reading.

    The commit of a member counts if the member is one and its generation (KIP-848:
    member epoch) is the group's; a request with generation -1 and no member id is of a
    consumer that assigns partitions by hand, or of a tool, and counts while the group
    is empty. Answered when the records are committed. That a partition exists is not
    checked by Apache Kafka's coordinator, but before it: so here. Versions 2 to 4 carry
    a retention time, 6 the leader epoch, 7 brings static members, 8 is flexible, 9 the
    consumer protocol's epochs. (10 names topics by id.) producer: id and epoch, where
    it is part of a transaction. may(): refuses if what the commit needs has gone before
    it is written.
    """
    body, version = request.body, request.version
    set_unknown_aside(broker, body)
    if not body.topics:
        return {"topics": merged(body.unknown, ())}

    def decide(groups: Any, _: Wait, now: Now) -> Decision:
        may()
        return groups.commit(body, version, now, producer)

    return broker.groups.ask(body.group_id, decide, now)


def commit_in_transaction(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """TxnOffsetCommit (KIP-98): a producer's transaction says where a group goes on
    reading, if it is committed.

    Nobody reads the offsets until the transaction's marker is in the group's partition
    of the offsets topic. Versions: 2 carries leader epochs; 3 says which member read
    the input, so that one that was put out can't commit (KIP-447); 4 may be answered
    with TRANSACTION_ABORTABLE, and 5 adds the partition to the transaction (KIP-890).
    """
    body, producer = (
        request.body,
        (
            request.body.producer_id,
            request.body.producer_epoch,
        ),
    )
    set_unknown_aside(broker, body)
    body.generation_id_or_member_epoch, body.retention_time_ms = (
        body.generation_id,
        NOTHING,
    )
    number = broker.groups.partition(body.group_id)
    state = broker.groups.shard(number).replica.log.producers
    joining = broker.joins.before_appending(
        body,
        producer,
        {(OFFSETS_TOPIC, number): state},
        adds=request.version >= IMPLICIT_JOIN,
        knows_abortable=request.version >= ABORTABLE,
        now=now,
    )
    if joining is not None:
        return joining
    may = partial(broker.joins.check, body, (OFFSETS_TOPIC, number), producer, state)
    return commit(broker, request, now, producer, may)


def refuse_in_transaction(request: Call, error: KafkaError) -> Answer:
    """Producers know generations; and no COORDINATOR_LOAD_IN_PROGRESS before version
    2.
    """
    known = {Error.STALE_MEMBER_EPOCH: Error.ILLEGAL_GENERATION} | AS_A_COORDINATOR_SAYS
    if request.version < 2:
        known |= {Error.COORDINATOR_LOAD_IN_PROGRESS: Error.COORDINATOR_NOT_AVAILABLE}
    return refuse_commit(
        request, KafkaError(known[error.error]) if error.error in known else error
    )


def shape_commit(request: Call, answer: Answer) -> Answer:
    return {"topics": merged(request.body.unknown, answer["topics"])}


def refuse_commit(request: Call, error: KafkaError) -> Answer:
    """The API has no error for the whole: every partition says it."""
    parts = [
        (topic.name, each.partition_index)
        for topic in request.body.topics
        for each in topic.partitions
    ]
    refused = nested(
        (name, {"partition_index": number, "error_code": error.error})
        for name, number in parts
    )
    return shape_commit(request, {"topics": refused})


def set_unknown_aside(broker: Broker, body: Message) -> None:
    """Takes the partitions that don't exist out of a request. body.unknown has the
    results by topic, with those. Once, though the request may begin anew.
    """
    if "unknown" in vars(body):
        return
    body.unknown = {}
    for topic in body.topics:
        known = (
            broker.image.topics[topic.name].partitions
            if topic.name in broker.image.topics
            else {}
        )
        result = body.unknown.setdefault(
            topic.name, {"name": topic.name, "partitions": []}
        )
        result["partitions"] += [
            {
                "partition_index": each.partition_index,
                "error_code": Error.UNKNOWN_TOPIC_OR_PARTITION,
            }
            for each in topic.partitions
            if each.partition_index not in known
        ]
        topic.partitions = [
            each for each in topic.partitions if each.partition_index in known
        ]
    body.topics = [topic for topic in body.topics if topic.partitions]


def merged(results: dict[str, Answer], answered: Iterable[Answer]) -> list[Answer]:
    """The coordinator's results beside those that it wasn't asked for."""
    for topic in answered:
        results[topic["name"]]["partitions"] += topic["partitions"]
    return [result for result in results.values() if result["partitions"]]


def fetch(broker: Broker, request: Call, now: Now) -> Answer:
    """OffsetFetch (KIP-88, KIP-447, KIP-709): where groups go on reading.

    A partition without a committed offset reads as -1, not as an error, and so does
    every partition of a group that doesn't exist. Null topics mean all. RequireStable:
    UNSTABLE_OFFSET_COMMIT where an open transaction has committed one, and the consumer
    asks again (KIP-447). Version 2 brings an error of its own, 5 leader epochs, 6 is
    flexible, 7 RequireStable, 8 asks for many groups at once, 9 checks a member's epoch
    (KIP-848). (10 names topics by id.)
    """
    if request.version >= MANY_GROUPS:
        groups = a_few_times(request.body.groups, lambda group: group.group_id)
        return {"groups": [of_group(broker, group, request) for group in groups]}
    answer = of_group(broker, request.body, request)
    del answer["group_id"]
    if request.version < 2:
        del answer["error_code"]
    return answer


def of_group(broker: Broker, asked: Message, request: Call) -> Answer:
    """One group's offsets, or its error."""
    version = request.version
    member_id, epoch = (
        (asked.member_id, asked.member_epoch) if version >= 9 else (None, NOTHING)
    )
    try:
        found = broker.groups.state(asked.group_id).fetch(
            asked, member_id, epoch, request.body.require_stable
        )
        return {"group_id": asked.group_id, "error_code": Error.NONE, **found}
    except KafkaError as error:
        # version 1: each says it
        unknown = {
            "committed_offset": NOTHING,
            "metadata": "",
            "error_code": error.error,
        }
        topics = [
            {
                "name": topic.name,
                "partitions": [
                    {"partition_index": n, **unknown} for n in topic.partition_indexes
                ],
            }
            for topic in (asked.topics or () if version < 2 else ())
        ]
        return {"group_id": asked.group_id, "error_code": error.error, "topics": topics}


def delete(broker: Broker, request: Call, now: Now) -> Wait:
    """OffsetDelete (KIP-496): forget committed offsets of topics that a group no longer
    reads.

    Refused per topic with GROUP_SUBSCRIBED_TO_TOPIC while members read it.
    """
    body = request.body
    set_unknown_aside(broker, body)
    return broker.groups.ask(
        body.group_id, lambda groups, *_: groups.delete_offsets(body), now
    )


def shape_delete(request: Call, answer: Answer) -> Answer:
    return answer | {"topics": merged(request.body.unknown, answer.get("topics", ()))}


def refuse_delete(request: Call, error: KafkaError) -> Answer:
    return shape_delete(request, {"error_code": error.error})
