"""What a node believes of what another one answers: it is checked before anybody acts on
it (broker/replies.py).
"""

import pytest

from minikafka.broker.replies import CHECKS, check_reply
from minikafka.cluster.election import HIGHEST_EPOCH
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.cluster.quorum import TOPIC_ID
from minikafka.cluster.snapshots import Incoming, encode
from minikafka.wire.messages import (
    API,
    decode_response,
    encode_response,
)
from minikafka.wire.primitives import DecodeError


def answers(stranger):
    """For each API whose answers are checked: a request, and an honest answer as
    fields.
    """
    leader = {"leader_id": stranger.leader, "leader_epoch": stranger.epoch}
    partition = {"partition_index": 0, **leader}
    topic = {"topic_name": METADATA_TOPIC, "partitions": [partition]}
    of_quorum = {}, {"topics": [topic]}
    return {
        "Vote": of_quorum,
        "BeginQuorumEpoch": of_quorum,
        "EndQuorumEpoch": of_quorum,
        "FetchSnapshot": of_fetch_snapshot(stranger.epoch),
        "Fetch": of_fetch(leader),
        "ListOffsets": of_list_offsets(),
        "AddPartitionsToTxn": of_add_partitions_to_txn(),
        "WriteTxnMarkers": of_write_txn_markers(),
        "AllocateProducerIds": (
            {},
            {"producer_id_start": 1000, "producer_id_len": 1000},
        ),
    }


def of_fetch_snapshot(epoch):
    where = {"snapshot_id": {"end_offset": 5, "epoch": epoch}, "position": 10}
    asked = {"partition": 0, **where}
    piece = {"index": 0, **where, "size": 14, "unaligned_records": b"abcd"}
    return (
        {"topics": [{"partitions": [asked]}]},
        {"topics": [{"name": METADATA_TOPIC, "partitions": [piece]}]},
    )


def of_fetch(leader):
    partition = {
        "partition_index": 0,
        "high_watermark": 5,
        "log_start_offset": 0,
        "records": b"",
        "current_leader": leader,
    }
    return (
        {"topics": [{"topic_id": TOPIC_ID}]},
        {"responses": [{"topic_id": TOPIC_ID, "partitions": [partition]}]},
    )


def of_list_offsets():
    asked = {"name": "orders", "partitions": [{"partition_index": 0}]}
    said = {"name": "orders", "partitions": [{"partition_index": 0, "offset": 3}]}
    return {"topics": [asked]}, {"topics": [said]}


def of_add_partitions_to_txn():
    transaction = {
        "transactional_id": "t",
        "topics": [{"name": "orders", "partitions": [0]}],
    }
    partition = {"partition_index": 0, "partition_error_code": 0}
    topic = {"name": "orders", "results_by_partition": [partition]}
    result = {"transactional_id": "t", "topic_results": [topic]}
    return {"transactions": [transaction]}, {"results_by_transaction": [result]}


def of_write_txn_markers():
    partition = {"partition_index": 0, "error_code": 0}
    topic = {"name": "orders", "partitions": [partition]}
    marked = {"producer_id": 7, "topics": [topic]}
    return {"markers": [{"producer_id": 7}]}, {"markers": [marked]}


NONSENSE = {
    "leader_id": (-2, 77, 2**31 - 1),
    "leader_epoch": (-2, HIGHEST_EPOCH + 1, 2**31 - 1),
    "partition_index": (-1, 1),
    "index": (1,),
    "size": (0, -1, 13),
    "position": (0, 11),
    "high_watermark": (-1,),
    "log_start_offset": (-1,),
    "diverging_epoch": ({"epoch": 3, "end_offset": -1},),
    "snapshot_id": ({"end_offset": 6, "epoch": 2**31 - 1},),
    "offset": (-1,),
    "transactional_id": ("another",),
    "partition_error_code": (9999,),
    "producer_id": (8,),
    "producer_id_start": (-1, 2**63 - 1),
    "producer_id_len": (-1, 0),
}
UNCHECKED = {("WriteTxnMarkers", "partition_index"), ("Fetch", "partition_error_code")}


def spoiled(fields, name, value):
    """The answer with one field changed, wherever in it."""
    if isinstance(fields, list):
        return [spoiled(each, name, value) for each in fields]
    if not isinstance(fields, dict):
        return fields
    return {
        key: value if key == name else spoiled(each, name, value)
        for key, each in fields.items()
    }


@pytest.mark.parametrize("api", CHECKS)
def test_what_nobody_in_his_right_mind_answers_is_no_answer(stranger, api):
    """Any field of an honest answer, with any nonsense; and one of another number of
    partitions.
    """
    version = {"Fetch": 18, "Vote": 2, "ListOffsets": 7, "AddPartitionsToTxn": 5}.get(
        api, API[api].max_version
    )
    asked, honest = answers(stranger)[api]

    def check(fields):
        frame = b"".join(encode_response(api, version, 1, fields))
        check_reply(api, asked, decode_response(api, version, frame)[1], {1, 2, 3})

    check(honest)
    count = 0
    for name, values in NONSENSE.items():
        for value in values:
            fields = spoiled(honest, name, value)
            if fields != honest and (api, name) not in UNCHECKED:
                with pytest.raises(DecodeError):
                    check(fields)
                count += 1
    if api != "AllocateProducerIds":
        for many in (0, 2):
            [field] = [
                name for name, value in honest.items() if isinstance(value, list)
            ]
            with pytest.raises(DecodeError):
                check({field: honest[field] * many})
            count += 1
    assert count > 1


def test_a_nonsense_answer_fails_its_request_and_closes_the_connection(stranger):
    """The shell hears DecodeError, says so in a line, closes, and tells of the failure;
    the node goes on.
    """
    broker, heard = stranger.broker(stranger.one), []
    at = stranger.other, "votes"
    body = {"cluster_id": broker.cluster_id, "topics": []}
    broker.peers.ask(*at, "Vote", 2, body, lambda reply, now: heard.append(reply))
    correlation_id = broker.outbox.pop().correlation_id
    told = {
        "partition_index": 0,
        "leader_id": stranger.leader,
        "leader_epoch": 2**31 - 1,
    }
    fields = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [told]}]}
    frame = bytearray().join(encode_response("Vote", 2, correlation_id, fields))
    with pytest.raises(DecodeError, match="no election leads to"):
        broker.receive_reply(*at, frame, broker.now)
    assert not heard
    broker.request_failed(*at, correlation_id, broker.now)
    assert heard == [None]
    assert stranger.takes_a_write()


@pytest.mark.parametrize("damage", ["cut", "another epoch of a broker"])
def test_kip_630_a_leaders_snapshot_that_is_none_takes_no_logs_place(stranger, damage):
    """It was kept first and read then, and the node could not start any more."""
    quorum = stranger.active.quorum
    quorum._unsaved_bytes = quorum._config.snapshots.record_bytes
    quorum._save_snapshot(stranger.active.now)
    of, follower = quorum.snapshots.newest, stranger.broker(stranger.one).quorum
    of = of._replace(end_offset=of.end_offset + 1000)
    data = (
        quorum._disk.read(quorum.snapshots.newest.path)[:-5]
        if damage == "cut"
        else of_nobody()
    )
    incoming = Incoming(of, bytearray(data))
    before = follower.end_offset, follower.snapshots.ids
    with pytest.raises(DecodeError, match="no snapshot"):
        follower._install_snapshot(incoming, stranger.broker(stranger.one).now)
    assert (follower.end_offset, follower.snapshots.ids) == before


def of_nobody():
    """A snapshot in which a broker that is not there changes."""
    change = {"broker_id": 5, "broker_epoch": 3, "fenced": 1}
    return encode(1, [MetadataRecord("BrokerRegistrationChangeRecord", 1, change)], 0)
