"""Groups with a history that is the same on every broker: members that are only
requests, of which no session ends.
"""

from minikafka.wire.messages import encode_versioned
from tests.clients.brokers import KEPT
from tests.conformance.raw import Connection, batch

PATIENT = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": "3600000",
    "group.consumer.assignment.interval.ms": "0",
    **KEPT,
}


def make_history(broker):
    broker.create_topic("orders", 3)
    broker.create_topic("other")
    for number in range(1, 10):
        at = {"timestamp": 1_700_000_000_000 + 1000 * number}
        assert (
            broker.produce("orders", batch(b"a", b"b", **at), partition=0).error_code
            == 0
        )
        assert broker.produce("orders", batch(b"c", **at), partition=1).error_code == 0
        assert broker.produce("other", batch(b"d", **at)).error_code == 0
    for group in ("tool", "classic", "consumer", "left"):
        while (
            broker.ask("FindCoordinator", 3, key=group).error_code
            or broker.ask("OffsetFetch", 7, group_id=group, topics=[]).error_code
        ):
            pass
    commit(broker, "tool", {"orders": {0: 5, 1: 9}, "other": {0: 2}})
    two_static_members(broker)
    two_consumer_members(broker)
    commit(broker, "left", {"orders": {2: 0}})


def commit(broker, group, offsets, member_id="", epoch=-1, instance=None):
    topics = [
        {
            "name": topic,
            "partitions": [
                {
                    "partition_index": number,
                    "committed_offset": offset,
                    "committed_leader_epoch": 0,
                    "committed_metadata": "",
                }
                for number, offset in partitions.items()
            ],
        }
        for topic, partitions in offsets.items()
    ]
    asked = {
        "group_id": group,
        "member_id": member_id,
        "generation_id_or_member_epoch": epoch,
        "topics": topics,
    }
    asked["group_instance_id"] = instance
    for topic in broker.ask("OffsetCommit", 9, **asked).topics:
        assert {each.error_code for each in topic.partitions} == {0}


def two_static_members(broker):
    """A classic group in which one reads two partitions of orders, the other one."""
    subscription = encode_versioned(
        "ConsumerProtocolSubscription", 1, {"topics": ["orders"]}
    )
    shares = {"a": [0, 1], "b": [2]}

    def joining(instance, member_id=""):
        return {
            "group_id": "classic",
            "session_timeout_ms": 1_800_000,
            "rebalance_timeout_ms": 1_800_000,
            "member_id": member_id,
            "group_instance_id": instance,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription}],
        }

    first = broker.ask("JoinGroup", 5, **joining("a"))
    with Connection("{}:{}".format(*broker.socket.getpeername())) as other:
        other.send("JoinGroup", 5, **joining("b"))
        first_is = {
            "group_id": "classic",
            "member_id": first.member_id,
            "generation_id": 1,
        }
        while broker.ask("Heartbeat", 1, **first_is).error_code == 0:
            pass
        joined = broker.ask("JoinGroup", 5, **joining("a", first.member_id))
        other.read("JoinGroup", 5)
    assignments = [
        {
            "member_id": each.member_id,
            "assignment": encode_versioned(
                "ConsumerProtocolAssignment",
                1,
                {
                    "assigned_partitions": [
                        {
                            "topic": "orders",
                            "partitions": shares[each.group_instance_id],
                        }
                    ]
                },
            ),
        }
        for each in joined.members
    ]
    answer = broker.ask(
        "SyncGroup",
        3,
        **first_is | {"generation_id": 2, "group_instance_id": "a"},
        assignments=assignments,
    )
    assert answer.error_code == 0
    topics = {"orders": {0: 18, 1: 4}}
    commit(broker, "classic", topics, first.member_id, 2, "a")


def two_consumer_members(broker):
    """A KIP-848 group, reconciled: both members have what they are to have."""

    def beat(member_id, epoch, **more):
        asked = {"group_id": "consumer", "member_id": member_id, "member_epoch": epoch}
        answer = broker.ask("ConsumerGroupHeartbeat", 1, **asked | more)
        assert answer.error_code == 0, answer
        return answer

    joining = {
        "rebalance_timeout_ms": 1_800_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    epochs, owned = {}, {"one": [], "two": []}
    for member_id in owned:
        epochs[member_id] = beat(member_id, 0, **joining).member_epoch
    while not (owned["one"] and owned["two"] and len({*epochs.values()}) == 1):
        for member_id in owned:
            answer = beat(
                member_id, epochs[member_id], topic_partitions=owned[member_id]
            )
            epochs[member_id] = answer.member_epoch
            if answer.assignment is not None:
                owned[member_id] = [
                    {"topic_id": each.topic_id, "partitions": each.partitions}
                    for each in answer.assignment.topic_partitions
                ]
    commit(broker, "consumer", {"orders": {0: 1, 1: 2, 2: 0}}, "one", epochs["one"])
