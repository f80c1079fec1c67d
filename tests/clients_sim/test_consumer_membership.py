"""Members of the consumer protocol (KIP-848), in a simulated cluster."""

from itertools import pairwise

import pytest

from minikafka import Cluster
from minikafka.clients import consumer_membership as states
from minikafka.wire.errors import KafkaError
from tests.seeds import seeds


@pytest.fixture
def cluster():
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=6)
    return cluster


def member(cluster, *topics, **config):
    config = {
        "group_id": "billing",
        "group_protocol": "consumer",
        "auto_offset_reset": "earliest",
        **config,
    }
    return cluster.consumer(*(topics or ("orders",)), **config)


def reading(consumer):
    for _ in consumer:
        pass


def selling(cluster, producer):
    for number in range(1000):
        producer.send("orders", value=str(number), partition=number % 6)
        cluster.sleep(0.05)


class Listener:
    def __init__(self):
        self.told = []

    def on_partitions_revoked(self, partitions):
        self.told.append(
            ("revoked", sorted(partition.partition for partition in partitions))
        )

    def on_partitions_assigned(self, partitions):
        self.told.append(
            ("assigned", sorted(partition.partition for partition in partitions))
        )

    def on_partitions_lost(self, partitions):
        self.told.append(
            ("lost", sorted(partition.partition for partition in partitions))
        )


def numbers(consumer):
    return sorted(partition.partition for partition in consumer.assignment())


def of(cluster, consumer, kind):
    return [
        event
        for event in cluster.trace
        if event.kind == kind and event.node == consumer.name
    ]


def way(cluster, consumer):
    return [
        event.detail["state"] for event in of(cluster, consumer, "MemberStateChanged")
    ]


def start(cluster, *consumers, seconds=0):
    for consumer in consumers:
        cluster.start(reading, consumer)
    cluster.run(seconds=seconds)


def test_kip_848_a_member_joins_takes_over_its_share_and_says_so(cluster):
    a = member(cluster)
    start(cluster, a, seconds=3)
    assert numbers(a) == [0, 1, 2, 3, 4, 5]
    assert way(cluster, a) == ["joining", "reconciling", "acknowledging", "stable"]


def test_kip_848_partitions_that_stay_are_read_throughout_a_rebalance(cluster):
    a, b = member(cluster), member(cluster)
    cluster.start(selling, cluster, cluster.producer(linger_ms=0))
    start(cluster, a, seconds=5)
    since = cluster.now_ms
    start(cluster, b, seconds=20)
    assert (numbers(a), numbers(b)) == ([0, 1, 2], [3, 4, 5])
    polled = [
        event
        for event in of(cluster, a, "RecordsPolled")
        if event.at >= since and event.detail["partition"] == 0
    ]
    gaps = [later.at - earlier.at for earlier, later in pairwise(polled)]
    assert max(gaps) < 1000, "nothing stops for the newcomer"


def test_kip_848_the_listener_is_told_what_goes_before_what_comes(cluster):
    a, b, listener = member(cluster), member(cluster), Listener()
    a.subscribe(["orders"], listener=listener)
    start(cluster, a, seconds=3)
    start(cluster, b, seconds=20)
    assert listener.told == [
        ("assigned", [0, 1, 2, 3, 4, 5]),
        ("revoked", [3, 4, 5]),
        ("assigned", []),
    ]


def test_kip_848_a_member_that_says_goodbye_is_replaced_at_the_others_next_heartbeat(
    cluster,
):
    a, b = member(cluster), member(cluster)
    start(cluster, a, seconds=1)
    b.poll(timeout_ms=1000)
    cluster.run(seconds=7)
    b.poll(timeout_ms=7000)
    assert numbers(b) == [3, 4, 5]
    b.close()
    cluster.run(seconds=6)
    assert numbers(a) == [0, 1, 2, 3, 4, 5]
    assert way(cluster, b)[-2:] == ["leaving", "unjoined"]


def test_kip_848_a_crashed_member_is_replaced_after_the_session_timeout(cluster):
    a, b = member(cluster), member(cluster)
    start(cluster, a, b, seconds=20)
    assert len(numbers(b)) == 3
    cluster.crash(b)
    cluster.run(seconds=38)
    assert len(numbers(a)) == 3
    cluster.run(seconds=13)
    assert len(numbers(a)) == 6


def test_kip_848_a_member_frozen_for_too_long_loses_its_partitions_and_joins_again(
    cluster,
):
    a, b, listener = member(cluster), member(cluster), Listener()
    b.subscribe(["orders"], listener=listener)
    start(cluster, a, b, seconds=20)
    cluster.freeze(b)
    cluster.run(seconds=60)
    assert len(numbers(a)) == 6
    cluster.thaw(b)
    cluster.run(seconds=20)
    assert (len(numbers(a)), len(numbers(b))) == (3, 3)
    assert ("lost", [3, 4, 5]) in listener.told
    went = way(cluster, b)
    assert went[went.index("fenced") :][:2] == ["fenced", "joining"]


def test_a_program_that_does_not_poll_makes_its_member_leave_and_come_back_with_the_next_poll(
    cluster,
):
    listener = Listener()
    a = member(cluster, max_poll_interval_ms=10_000)
    a.subscribe(["orders"], listener=listener)
    a.poll(timeout_ms=2000)
    cluster.run(seconds=9)
    assert of(cluster, a, "PollOverdue") == []
    cluster.run(seconds=2)
    assert len(of(cluster, a, "PollOverdue")) == 1
    left = [event for event in cluster.trace if event.kind == "MemberLeft"]
    assert [event.detail["reason"] for event in left] == ["goodbye"]
    a.poll(timeout_ms=5000)
    assert listener.told == [
        ("assigned", [0, 1, 2, 3, 4, 5]),
        ("lost", [0, 1, 2, 3, 4, 5]),
        listener.told[0],
    ]


def test_kip_345_a_restarted_static_member_has_its_share_again_and_nobody_notices(
    cluster,
):
    a, b = (
        member(cluster, group_instance_id="one"),
        member(cluster, group_instance_id="two"),
    )
    start(cluster, a, b, seconds=20)
    mine = numbers(b)
    b.close()
    cluster.run(seconds=10)
    rebalances = [event for event in cluster.trace if event.kind == "RebalanceStarted"]
    again = member(cluster, group_instance_id="two")
    start(cluster, again, seconds=5)
    assert numbers(again) == mine
    assert [
        event for event in cluster.trace if event.kind == "RebalanceStarted"
    ] == rebalances


def test_kip_345_an_instance_id_in_use_is_fatal(cluster):
    a, late = (
        member(cluster, group_instance_id="one"),
        member(cluster, group_instance_id="one"),
    )
    start(cluster, a, seconds=3)
    for _ in range(2):
        with pytest.raises(KafkaError, match="UNRELEASED_INSTANCE_ID"):
            late.poll(timeout_ms=2000)
    late.close()
    assert len(numbers(a)) == 6


def test_kip_848_an_assignor_that_the_coordinator_does_not_have_is_fatal(cluster):
    a = member(cluster, group_remote_assignor="mine")
    with pytest.raises(KafkaError, match="ServerAssignor mine is not supported"):
        a.poll(timeout_ms=2000)
    assert way(cluster, a) == ["joining", "fatal"]
    b = member(cluster, group_remote_assignor="range")
    start(cluster, b, seconds=3)
    assert len(numbers(b)) == 6


def test_a_changed_subscription_is_told_with_the_next_heartbeat(cluster):
    cluster.create_topic("invoices", partitions=2)
    a = member(cluster)
    a.poll(timeout_ms=2000)
    a.subscribe(["invoices"])
    a.poll(timeout_ms=10_000)
    assert {partition.topic for partition in a.assignment()} == {"invoices"}


def test_a_new_topic_and_new_partitions_come_by_themselves(cluster):
    a = member(cluster, "orders", "later", allow_auto_create_topics=False)
    start(cluster, a, seconds=5)
    cluster.create_topic("later", partitions=2)
    cluster.create_partitions("orders", 7)
    cluster.run(seconds=20)
    assert len(a.assignment()) == 9


def test_a_member_outlives_a_crash_of_its_coordinator(cluster):
    a, b = member(cluster), member(cluster)
    start(cluster, a, b, seconds=20)
    epochs = [a.core.membership.generation, b.core.membership.generation]
    cluster.crash(1)
    cluster.run(seconds=10)
    cluster.restart(1)
    cluster.run(seconds=20)
    assert [a.core.membership.generation, b.core.membership.generation] == epochs
    assert sorted(numbers(a) + numbers(b)) == [0, 1, 2, 3, 4, 5]
    lost = [
        event
        for event in cluster.trace
        if event.kind in ("PartitionsLost", "MemberLeft")
    ]
    assert lost == []


def test_a_member_commits_what_it_read_before_it_gives_a_partition_back(cluster):
    a, b = member(cluster), member(cluster)
    cluster.start(selling, cluster, cluster.producer(linger_ms=0))
    start(cluster, a, seconds=4)
    start(cluster, b, seconds=20)
    (gone,) = of(cluster, a, "PartitionsRevoked")
    committed = [
        event for event in of(cluster, a, "CommitAcknowledged") if event.at <= gone.at
    ][-1]
    offsets = {
        (topic, number): offset for topic, number, offset in committed.detail["offsets"]
    }
    first = {}
    for event in of(cluster, b, "RecordsPolled"):
        first.setdefault(
            (event.detail["topic"], event.detail["partition"]),
            event.detail["records"][0][0],
        )
    assert {partition: offsets[partition] for partition in first} == first, (
        "b goes on exactly where a stopped"
    )


def test_the_states_that_hold_heartbeats_can_all_be_left():
    for event in ("put_out", "overdue", "refused", "leaves"):
        assert all((state, event) in states.MOVES for state in states.IN_GROUP)


def check_owners(events):
    """A member owns a partition from its assignment until it revoked or lost it, or was
    put out: never two at once.
    """
    owners = {}
    for event in events:
        detail = event.detail
        if event.kind == "MemberLeft":
            owners = {
                partition: member
                for partition, member in owners.items()
                if member != detail["member"]
            }
        elif event.kind in ("PartitionsRevoked", "PartitionsLost"):
            for partition in map(tuple, detail["partitions"]):
                if owners.get(partition) == detail["member"]:
                    del owners[partition]
        elif event.kind == "PartitionsAssigned":
            for partition in map(tuple, detail["partitions"]):
                assert (
                    owners.setdefault(partition, detail["member"]) == detail["member"]
                ), f"two owners: {event}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(range(12)))
def test_kip_848_whatever_happens_no_partition_has_two_owners_and_in_the_end_each_has_one(
    seed,
):
    cluster = Cluster(seed=seed)
    cluster.create_topic("orders", partitions=6)
    consumers = [member(cluster) for _ in range(3)]
    start(cluster, *consumers, seconds=seed % 4)
    victim = consumers[seed % 3]
    if seed % 2:
        cluster.freeze(victim)
        cluster.run(seconds=20 + 10 * (seed % 5))
        cluster.thaw(victim)
    else:
        cluster.crash(1)
        cluster.run(seconds=seed)
        cluster.restart(1)
    cluster.run(seconds=90)
    check_owners(cluster.trace)
    assert sorted(number for consumer in consumers for number in numbers(consumer)) == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    assert [consumer.core.membership.state for consumer in consumers] == ["stable"] * 3
