"""Other nodes' replies are input like any other: they are checked before anybody acts
on them.

These checks hold for any receiver: a reply must be about what was asked, with possible
epochs, offsets and ids. The part that asked checks everything beyond that. A reply that
fails doesn't count as one: the connection is closed with a one-line message, and the
request has failed, as if there had been no reply.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
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
    if check is None:
        return
    has_failed = bool(vars(reply).get("error_code"))
    if not has_failed:  # else there is nothing else in it
        check(asked, reply, nodes)


def must(holds: bool, what: str) -> None:
    """Raise DecodeError unless a reply is as it must be. what: the fault, in words."""
    if not holds:
        raise DecodeError(f"a reply that {what}")


def only_partition(topics: Iterable[Message], topic: str, partition: str) -> Message:
    """The part of a reply about the metadata log, and nothing else. topic, partition:
    the fields that name them.
    """
    places = []
    parts = []
    for each in topics:
        for part in each.partitions:
            places.append((getattr(each, topic), getattr(part, partition)))
            parts.append(part)
    must(places == [(METADATA_TOPIC, 0)], "is not about the metadata log")
    return parts[0]


# -- the metadata quorum


def of_quorum(asked: Body, reply: Message, nodes: Nodes) -> None:
    """Vote, BeginQuorumEpoch, EndQuorumEpoch: check the leader and epoch."""
    check_leader(only_partition(reply.topics, "topic_name", "partition_index"), nodes)


def check_leader(said: Message, nodes: Nodes) -> None:
    """The leader is a node of the cluster and its epoch possible, or each is -1, not
    known. Errors: DecodeError.
    """
    known = said.leader_id == NO_LEADER or said.leader_id in nodes
    must(known, f"names node {said.leader_id}, which is no node of the cluster")
    in_range = -1 <= said.leader_epoch <= HIGHEST_EPOCH
    must(in_range, f"names epoch {said.leader_epoch}, which no election leads to")


def of_snapshot(asked: Body, reply: Message, nodes: Nodes) -> None:
    """FetchSnapshot: the next piece of the one that was asked for."""
    part = only_partition(reply.topics, "name", "index")
    [topic] = asked["topics"]
    [wanted] = topic["partitions"]
    if part.error_code:
        return
    is_same = part.snapshot_id.to_dict() == wanted["snapshot_id"]
    is_next = part.position == wanted["position"]
    must(is_same and is_next, "is about another snapshot")
    size_bytes = len(part.unaligned_records)
    is_within = wanted["position"] + size_bytes <= part.size
    must(size_bytes > 0 and is_within, "is no piece of a snapshot")


# -- records


def of_fetch(asked: Body, reply: Message, nodes: Nodes) -> None:
    """Fetch: check where logs diverge and what is committed; for the metadata log also
    the leader.
    """
    is_of_metadata = any(topic["topic_id"] == TOPIC_ID for topic in asked["topics"])
    places = []
    for topic in reply.responses:
        for part in topic.partitions:
            places.append((topic.topic_id, part.partition_index))
            if part.error_code == Error.NONE:
                check_offsets(part)
            if is_of_metadata:
                of_metadata(part, nodes)
    if is_of_metadata:
        must(places == [(TOPIC_ID, 0)], "is not about the metadata log")


def of_metadata(part: Message, nodes: Nodes) -> None:
    """The snapshot to begin with, if there is one, and the leader."""
    snapshot = part.snapshot_id
    if snapshot.end_offset >= 0:
        can_be = 0 <= snapshot.epoch <= HIGHEST_EPOCH
        must(can_be, "names a snapshot that can't be")
    check_leader(part.current_leader, nodes)


def check_offsets(part: Message) -> None:
    """High watermark and log start are 0 or more, and so is the end of a diverging
    epoch, if one is named. Errors: DecodeError.
    """
    diverging = part.diverging_epoch
    if diverging.epoch >= 0:
        must(diverging.end_offset >= 0, "truncates to where no log begins")
    must(part.high_watermark >= 0, "names offsets that can't be")
    must(part.log_start_offset >= 0, "names offsets that can't be")


def of_offsets(asked: Body, reply: Message, nodes: Nodes) -> None:
    """ListOffsets: where the leader's log begins."""
    wanted = []
    for topic in asked["topics"]:
        for part in topic["partitions"]:
            wanted.append((topic["name"], part["partition_index"]))
    found = []
    can_be = True
    for topic in reply.topics:
        for part in topic.partitions:
            found.append((topic.name, part.partition_index))
            if not part.error_code and part.offset < 0:
                can_be = False
    must(found == wanted, "is about other partitions")
    must(can_be, "names offsets that can't be")


# -- transactions


def of_joins(asked: Body, reply: Message, nodes: Nodes) -> None:
    """AddPartitionsToTxn: a verdict on each partition of each transaction."""
    wanted = []
    for each in asked["transactions"]:
        places = set()
        for topic in each["topics"]:
            places |= {(topic["name"], number) for number in topic["partitions"]}
        wanted.append((each["transactional_id"], places))
    found = []
    codes = set()
    for each in reply.results_by_transaction:
        places = set()
        for topic in each.topic_results:
            for part in topic.results_by_partition:
                places.add((topic.name, part.partition_index))
                codes.add(part.partition_error_code)
        found.append((each.transactional_id, places))
    must(found == wanted, "is about other partitions")
    must(codes <= KNOWN_ERRORS, "names errors that Kafka doesn't know")


def of_markers(asked: Body, reply: Message, nodes: Nodes) -> None:
    """Check the results of all markers in a WriteTxnMarkers response."""
    wanted = [each["producer_id"] for each in asked["markers"]]
    found = [each.producer_id for each in reply.markers]
    must(found == wanted, "is about other markers")
    codes = set()
    for each in reply.markers:
        for topic in each.topics:
            codes |= {part.error_code for part in topic.partitions}
    must(codes <= KNOWN_ERRORS, "names errors that Kafka doesn't know")


def of_producer_ids(asked: Body, reply: Message, nodes: Nodes) -> None:
    """AllocateProducerIds: a block of them."""
    start, size = reply.producer_id_start, reply.producer_id_len
    is_block = start >= 0 and size > 0
    must(is_block and start + size <= HIGHEST, "gives producer ids that can't be")


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
