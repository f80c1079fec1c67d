"""A transaction in its partitions: batches, markers, who reads what meanwhile (see
same_answers.py).

No coordinator knows of these transactions: nobody asks it (BY_HAND).
"""

import itertools
from functools import partial

from minikafka.coordinators.runtime import partition_for
from minikafka.wire.errors import Error
from tests.conformance.raw import batch
from tests.conformance.same_answers import UNKNOWN_ID
from tests.conformance.scenarios_groups import find
from tests.conformance.scenarios_offsets import committing, fetching

ONE, TWO = 70_001, 70_002  # producer ids


def send(
    side,
    what,
    producer,
    sequence,
    *versions,
    epoch=0,
    transactional=True,
    transactional_id="t",
    partition=0,
):
    fields = {
        "producer_id": producer,
        "producer_epoch": epoch,
        "base_sequence": sequence,
    }
    records = batch(f"{what}".encode(), transactional=transactional, **fields)
    topics = [
        {
            "name": side.name,
            "partition_data": [{"index": partition, "records": records}],
        }
    ]
    asked = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout_ms": 5000,
        "topic_data": topics,
    }
    side.ask(what, "Produce", *(versions or (9,)), **asked)


def end(
    side,
    what,
    producer,
    committed,
    *versions,
    epoch=0,
    coordinator_epoch=0,
    topic=None,
    partitions=(0,),
    **more,
):
    topics = [{"name": topic or side.name, "partition_indexes": list(partitions)}]
    marker = {
        "producer_id": producer,
        "producer_epoch": epoch,
        "transaction_result": committed,
        "topics": topics,
    }
    marker |= {"coordinator_epoch": coordinator_epoch} | more
    side.ask(what, "WriteTxnMarkers", *(versions or (1,)), markers=[marker])


def look(side, what, *offsets):
    """What readers of both kinds see, where it ends for them, and what is known of the
    producers.
    """
    for offset in offsets or (0,):
        for level in (0, 1):
            side.fetch(
                f"{what}, from {offset}, level {level}", offset, isolation_level=level
            )
            side.offsets(
                f"{what}, from {offset}, level {level}", -1, 2, 8, isolation_level=level
            )
    side.ask(
        f"{what}: producers",
        "DescribeProducers",
        topics=[{"name": side.name, "partition_indexes": [0]}],
    )


def a_transaction_in_a_partition(side):
    """KIP-98."""
    side.create_topic()
    send(side, "plain", -1, -1, transactional=False, transactional_id=None)
    send(side, "one", ONE, 0)
    send(side, "two", TWO, 5)
    look(side, "open")
    send(side, "one again", ONE, 1)
    send(side, "the same again", ONE, 1)
    send(side, "a gap", ONE, 5)
    send(side, "without the bit", ONE, 2, transactional=False)
    send(side, "without a transactional id", ONE, 2, transactional_id=None)
    end(side, "one aborts", ONE, False)
    look(side, "one aborted", 0, 2, 4)
    end(side, "two commits", TWO, True)
    look(side, "two committed", 0, 1, 2, 4, 5, 6)
    send(side, "outside of a transaction", ONE, 2, transactional=False)
    send(side, "a new transaction", ONE, 3)
    end(side, "it aborts", ONE, False)
    look(side, "all ended", 0, 4, 7, 8)


def the_largest_timestamp_is_not_committed(side):
    """KIP-734: what lies behind the last stable offset is not found, and nothing else
    instead.
    """

    def look_for(when):
        for level in (0, 1):
            what = f"{when}, level {level}"
            for timestamp in (-3, 1_700_000_000_000, 1_700_000_000_001):
                side.offsets(
                    f"{what}, {timestamp}", timestamp, 7, 11, isolation_level=level
                )

    side.create_topic()
    send(side, "plain", -1, -1, transactional=False, transactional_id=None)
    look_for("none")
    send(side, "one", ONE, 0)
    look_for("as young, open")
    younger = batch(
        b"x",
        timestamp=1_700_000_000_001,
        transactional=True,
        producer_id=TWO,
        producer_epoch=0,
        base_sequence=0,
    )
    side.client.produce(side.name, younger)
    look_for("younger, open")
    end(side, "one commits", ONE, True)
    look_for("the other open")


def who_may_end_a_transaction(side):
    """KIP-98."""
    side.create_topic(partitions=2)
    end(side, "of nobody", ONE, True, 1, 2)
    send(side, "epoch 3", ONE, 0, epoch=3)
    send(side, "epoch 2", ONE, 1, epoch=2)
    end(side, "by epoch 2", ONE, True, epoch=2)
    # coordinators' epochs that there are: 0, and -1 of before the first
    end(side, "by coordinator epoch 0", ONE, True, epoch=3, coordinator_epoch=0)
    end(side, "by coordinator epoch -1", ONE, True, epoch=3, coordinator_epoch=-1)
    end(side, "by a newer epoch", ONE, False, epoch=4)
    send(side, "epoch 3 goes on", ONE, 1, epoch=3)
    send(side, "epoch 4", ONE, 0, epoch=4)
    v2 = {"transaction_version": 2}
    end(side, "v2 with the same epoch", ONE, True, 2, epoch=4, **v2)
    end(side, "v2 with the next epoch", ONE, True, 2, epoch=5, **v2)
    end(side, "v2 once more", ONE, True, 2, epoch=5, **v2)
    send(side, "the next epoch", ONE, 0, epoch=5)
    send(side, "a second of the last epoch", TWO, 0, epoch=32_767)
    end(side, "v2 with the last epoch", TWO, True, 2, epoch=32_767, **v2)
    look(side, "after all")
    end(side, "unknown topic", ONE, True, topic=side.name + ".none")
    end(side, "unknown partition", ONE, True, epoch=5, partitions=(0, 1, 7))
    side.ask("no markers", "WriteTxnMarkers", markers=[])
    for what, topic, partitions in (
        ("unknown partition", side.name, [1, 7]),
        ("unknown topic", side.name + ".none", [0]),
        ("illegal topic", "a b", [0]),
        ("no partitions", side.name, []),
    ):
        asked = [{"name": topic, "partition_indexes": partitions}]
        side.ask(f"{what}: producers", "DescribeProducers", topics=asked)


def pending(side, what, producer, *places, versions=(0, 5), epoch=0, **more):
    asked = {"transactional_id": "t", "producer_id": producer, "producer_epoch": epoch}
    side.ask(
        what, "TxnOffsetCommit", *versions, **committing(side, *places) | asked | more
    )


def see_offsets(side, what):
    for stable in (False, True):
        side.ask(
            f"{what}, stable {stable}",
            "OffsetFetch",
            7,
            **fetching(side, 0, 1, 2),
            require_stable=stable,
        )
        groups = [{"group_id": side.name, "topics": None}]
        side.ask(
            f"{what}, stable {stable}, all",
            "OffsetFetch",
            8,
            groups=groups,
            require_stable=stable,
        )


def offsets_by_topic_id(side, markers):
    """KIP-1319, with errors of their own."""
    by_id = committing(side, (0, 14), (9, 14))
    by_id["topics"][0]["topic_id"] = side.topic_id(side.name)
    for what, asked in {
        "by id": {},
        "an unknown id": {"topics": [by_id["topics"][0] | {"topic_id": UNKNOWN_ID}]},
        "no id": {"topics": [by_id["topics"][0] | {"topic_id": bytes(16)}]},
        "by id, of no group": {"generation_id_or_member_epoch": 1},
    }.items():
        who = {"transactional_id": "t", "producer_id": ONE, "producer_epoch": 3}
        pending(side, f"before {what}", ONE, (0, 13), versions=(0,), epoch=3)
        side.ask(what, "TxnOffsetCommit", 6, **by_id | who | asked)
        end(side, f"after {what}", ONE, True, epoch=3, **markers)


def offsets_in_a_transaction(side):
    """KIP-98; KIP-447."""
    side.create_topic(partitions=3)
    find(side)
    see = partial(see_offsets, side)
    markers = {
        "topic": "__consumer_offsets",
        "partitions": (partition_for(side.name, 5),),
    }
    side.ask("plain", "OffsetCommit", 5, **committing(side, (0, 5), (1, 5)))
    pending(side, "pending", ONE, (0, 9), (2, 9, "note"))
    see("pending")
    end(side, "aborted", ONE, False, **markers)
    see("aborted")
    pending(side, "pending again", ONE, (0, 10), (2, 10))
    side.ask("meanwhile", "OffsetCommit", 5, **committing(side, (0, 7)))
    pending(side, "of another producer", TWO, (2, 11))
    end(side, "the other commits", TWO, True, **markers)
    see("the other committed")
    end(side, "committed", ONE, True, 1, 2, **markers)
    see("committed")
    pending(side, "a newer epoch", ONE, (0, 12), epoch=2)
    pending(side, "an older epoch", ONE, (0, 13), epoch=1)
    end(side, "by an older epoch", ONE, True, epoch=1, **markers)
    end(side, "by a newer epoch", ONE, True, epoch=3, **markers)
    end(
        side,
        "by an older coordinator",
        ONE,
        True,
        epoch=3,
        coordinator_epoch=-1,
        **markers,
    )
    see("at last")
    pending(side, "unknown partition", ONE, (9, 1), epoch=3)
    pending(side, "long note", ONE, (0, 1, "x" * 4097), (1, 2), epoch=3)
    end(side, "without the note", ONE, True, epoch=3, **markers)
    for what, who in {
        "a generation": {"generation_id_or_member_epoch": 1},
        "a member": {"member_id": "who"},
        "an instance": {"group_instance_id": "who"},
        "no group": {"group_id": ""},
    }.items():
        pending(side, what, ONE, (0, 1), epoch=3, versions=(3, 4), **who)
        end(side, f"after {what}", ONE, True, epoch=3, **markers)
    offsets_by_topic_id(side, markers)
    pending(side, "to be deleted", ONE, (0, 20), epoch=3)
    topics = [
        {
            "name": side.name,
            "partitions": [{"partition_index": 0}, {"partition_index": 1}],
        }
    ]
    side.ask("delete", "OffsetDelete", group_id=side.name, topics=topics)
    see("deleted")
    end(side, "after the deletion", ONE, True, epoch=3, **markers)
    see("after all")


def a_transactional_id_that_nobody_has(side):
    """Here the coordinator is asked, which knows none of it."""
    side.create_topic()
    find(side)
    nobody = {"transactional_id": side.name, "producer_id": ONE, "producer_epoch": 0}
    side.until(Error.NONE, "FindCoordinator", 3, key=side.name, key_type=1)
    side.until(Error.INVALID_PRODUCER_ID_MAPPING, "EndTxn", 3, **nobody, committed=True)
    side.ask("ends", "EndTxn", **nobody, committed=True)
    side.ask("a group", "AddOffsetsToTxn", **nobody, group_id=side.name)
    here, nowhere = (
        {"name": side.name, "partitions": [0]},
        {
            "name": f"{side.name}-x",
            "partitions": [0],
        },
    )
    for what, topics in {"joins": [here], "joins nowhere": [here, nowhere]}.items():
        asked = {
            f"v3_and_below_{name}": value
            for name, value in (nobody | {"topics": topics}).items()
        }
        side.ask(what, "AddPartitionsToTxn", 0, 3, **asked)
    side.ask(
        "verified",
        "AddPartitionsToTxn",
        4,
        5,
        transactions=[nobody | {"topics": [here], "verify_only": True}],
    )
    side.ask("described", "DescribeTransactions", transactional_ids=[side.name, ""])
    side.ask(
        "listed",
        "ListTransactions",
        state_filters=["Sleeping", "Ongoing"],
        producer_id_filters=[ONE],
    )
    for timeout_ms in (0, 900_001):
        asked = {"transactional_id": side.name, "transaction_timeout_ms": timeout_ms}
        side.ask(f"for {timeout_ms} ms", "InitProducerId", **asked)


def a_committed_transaction_that_is_aborted(side):
    """KIP-98: a producer whose commit had no clear answer asks for the opposite. The
    decision stands: INVALID_TXN_STATE, and the same decision again is no error. So it
    is with EndTxn 5, too, when the producer hasn't heard of its next epoch (KIP-890).

    (What librdkafka does then: tests/clients/test_unclear_answers.py.)
    """
    side.create_topic()
    find(side)
    side.until(Error.NONE, "FindCoordinator", 3, key=side.name, key_type=1)
    for committed, version in itertools.product((True, False), range(6)):
        what = "committed" if committed else "aborted"
        name = f"{side.name}-{what}-{version}"

        def until_done(api, version, name=name, **body):
            """The answer when the coordinator is loaded, and not busy."""
            while True:
                told = side.client.ask(api, version, transactional_id=name, **body)
                if told.error_code == 0:
                    return told

        made = until_done("InitProducerId", 4, transaction_timeout_ms=60_000)
        producer = {
            "producer_id": made.producer_id,
            "producer_epoch": made.producer_epoch,
        }
        until_done("AddOffsetsToTxn", 3, group_id=side.name, **producer)
        until_done("EndTxn", version, committed=committed, **producer)
        while described(side, name) not in ("CompleteCommit", "CompleteAbort"):
            pass
        asked = {"transactional_id": name, **producer}
        opposite, same = f"{what}, the opposite", f"{what}, the same"
        side.ask(opposite, "EndTxn", version, committed=not committed, **asked)
        if version < 5:  # whose answer has new ids
            side.ask(same, "EndTxn", version, committed=committed, **asked)


def described(side, transactional_id):
    asked = side.client.ask(
        "DescribeTransactions", 0, transactional_ids=[transactional_id]
    )
    return asked.transaction_states[0].transaction_state


SCENARIOS = (
    a_committed_transaction_that_is_aborted,
    a_transaction_in_a_partition,
    the_largest_timestamp_is_not_committed,
    who_may_end_a_transaction,
    offsets_in_a_transaction,
    a_transactional_id_that_nobody_has,
)
