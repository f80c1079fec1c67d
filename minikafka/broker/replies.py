"""What other nodes answer is input like any other: looked at before anybody acts on it.

Here is what a reply must be whoever gets it: about what was asked, with epochs, offsets
and ids that can be. What the asking part expects beyond that it checks itself. One that
is nothing of the kind is no reply: the connection is closed with one line, and the
request has failed, as if there had been none.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from minikafka.cluster.election import HIGHEST_EPOCH
from minikafka.cluster.metadata import METADATA_TOPIC, NO_LEADER
from minikafka.cluster.quorum import TOPIC_ID
from minikafka.wire.errors import Error
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

HIGHEST = 2**63 - 1  # of an int64
KNOWN_ERRORS = frozenset(Error)

Body = Mapping[str, Any]
Nodes = Collection[int]


def check_reply(api: str, asked: Body, reply: Message, nodes: Nodes) -> None:
    """asked: the request. nodes: whom this node knows. Errors: DecodeError."""
    check = CHECKS.get(api)
    # else there is nothing else in it
    if check is not None and not vars(reply).get("error_code"):
        check(asked, reply, nodes)


def must(holds: bool, what: str) -> None:
    """Errors: DecodeError."""
    if not holds:
        raise DecodeError(f"a reply that {what}")


# -- the metadata quorum


def of_quorum(asked: Body, reply: Message, nodes: Nodes) -> None:
    """Vote, BeginQuorumEpoch, EndQuorumEpoch: who leads in which epoch."""
    found = [
        (topic.topic_name, part) for topic in reply.topics for part in topic.partitions
    ]
    at = [(name, part.partition_index) for name, part in found]
    must(at == [(METADATA_TOPIC, 0)], "is not about the metadata log")
    for _, part in found:
        leads(part, nodes)


def leads(said: Message, nodes: Nodes) -> None:
    """A leader's id and epoch, or -1 for who or what is not known."""
    known = said.leader_id == NO_LEADER or said.leader_id in nodes
    must(known, f"names node {said.leader_id}, which is no node of the cluster")
    in_range = -1 <= said.leader_epoch <= HIGHEST_EPOCH
    must(in_range, f"names epoch {said.leader_epoch}, which no election leads to")


def of_snapshot(asked: Body, reply: Message, nodes: Nodes) -> None:
    """FetchSnapshot: the next piece of the one that was asked for."""
    found = [(topic.name, part) for topic in reply.topics for part in topic.partitions]
    at = [(name, part.index) for name, part in found]
    must(at == [(METADATA_TOPIC, 0)], "is not about the metadata log")
    [(_, part)], [topic] = found, asked["topics"]
    [wanted] = topic["partitions"]
    if part.error_code:
        return
    same = part.snapshot_id.to_dict() == wanted["snapshot_id"]
    must(same and part.position == wanted["position"], "is about another snapshot")
    ends = wanted["position"] + len(part.unaligned_records)
    must(
        bool(part.unaligned_records) and ends <= part.size, "is no piece of a snapshot"
    )


# -- records


def of_fetch(asked: Body, reply: Message, nodes: Nodes) -> None:
    """Fetch: where logs part and what counts; of the metadata log, who leads it."""
    metadata = [topic for topic in asked["topics"] if topic["topic_id"] == TOPIC_ID]
    for topic in reply.responses:
        for part in topic.partitions:
            if part.error_code == Error.NONE:
                offsets(part)
            if metadata:
                snapshot, leader = part.snapshot_id, part.current_leader
                can_be = snapshot.end_offset < 0 or 0 <= snapshot.epoch <= HIGHEST_EPOCH
                must(can_be, "names a snapshot that can't be")
                leads(leader, nodes)
    if metadata:
        at = [
            (topic.topic_id, part.partition_index)
            for topic in reply.responses
            for part in topic.partitions
        ]
        must(at == [(TOPIC_ID, 0)], "is not about the metadata log")


def offsets(part: Message) -> None:
    """None is below zero, but for what is not said."""
    diverging = part.diverging_epoch
    must(
        diverging.epoch < 0 or diverging.end_offset >= 0,
        "truncates to where no log begins",
    )
    must(
        part.high_watermark >= 0 and part.log_start_offset >= 0,
        "names offsets that can't be",
    )


def of_offsets(asked: Body, reply: Message, nodes: Nodes) -> None:
    """ListOffsets: where the leader's log begins."""
    found = [
        (topic.name, part.partition_index)
        for topic in reply.topics
        for part in topic.partitions
    ]
    wanted = [
        (topic["name"], part["partition_index"])
        for topic in asked["topics"]
        for part in topic["partitions"]
    ]
    must(found == wanted, "is about other partitions")
    parts = (part for topic in reply.topics for part in topic.partitions)
    must(
        all(part.error_code or part.offset >= 0 for part in parts),
        "names offsets that can't be",
    )


# -- transactions


def of_joins(asked: Body, reply: Message, nodes: Nodes) -> None:
    """AddPartitionsToTxn: a verdict on each partition of each transaction."""
    wanted = [
        (
            each["transactional_id"],
            {
                (topic["name"], at)
                for topic in each["topics"]
                for at in topic["partitions"]
            },
        )
        for each in asked["transactions"]
    ]
    found = [
        (
            each.transactional_id,
            {(topic.name, part.partition_index) for topic, part in verdicts(each)},
        )
        for each in reply.results_by_transaction
    ]
    must(found == wanted, "is about other partitions")
    codes = {
        part.partition_error_code
        for each in reply.results_by_transaction
        for _, part in verdicts(each)
    }
    must(codes <= KNOWN_ERRORS, "names errors that Kafka doesn't know")


def verdicts(each: Message) -> list[tuple[Message, Message]]:
    return [
        (topic, part)
        for topic in each.topic_results
        for part in topic.results_by_partition
    ]


def of_markers(asked: Body, reply: Message, nodes: Nodes) -> None:
    """WriteTxnMarkers: what became of each marker."""
    wanted = [each["producer_id"] for each in asked["markers"]]
    must(
        [each.producer_id for each in reply.markers] == wanted, "is about other markers"
    )
    parts = (
        part
        for each in reply.markers
        for topic in each.topics
        for part in topic.partitions
    )
    must(
        {part.error_code for part in parts} <= KNOWN_ERRORS,
        "names errors that Kafka doesn't know",
    )


def of_producer_ids(asked: Body, reply: Message, nodes: Nodes) -> None:
    """AllocateProducerIds: a block of them."""
    start, size = reply.producer_id_start, reply.producer_id_len
    must(
        start >= 0 and size > 0 and start + size <= HIGHEST,
        "gives producer ids that can't be",
    )


CHECKS: dict[str, Callable[[Body, Message, Nodes], None]] = {
    "Vote": of_quorum,
    "BeginQuorumEpoch": of_quorum,
    "EndQuorumEpoch": of_quorum,
    "FetchSnapshot": of_snapshot,
    "Fetch": of_fetch,
    "ListOffsets": of_offsets,
    "AddPartitionsToTxn": of_joins,
    "WriteTxnMarkers": of_markers,
    "AllocateProducerIds": of_producer_ids,
}
