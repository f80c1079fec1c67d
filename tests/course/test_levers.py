"""The partitioner's machine with its levers, as lesson 02 shows it."""

import json

import pytest

from minikafka import Cluster
from minikafka.course import levers
from minikafka.course.experiments.lesson_07_runs import fast
from minikafka.theatre.drawing import WIDE
from tests.simulation.replication_schedules import QUICK

pytestmark = pytest.mark.slow

READS_A = ("RecordsPolled", "consumer A")


@pytest.fixture(autouse=True)
def text_only(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")


def test_each_lever_runs_the_cluster_again_and_prints_its_line_of_code():
    machine = levers.partitioner("alice bob", partitions=2, then=3)
    first = repr(machine)
    machine.controls["then"].value = 5
    assert repr(machine) != first
    assert "cluster.create_partitions(&quot;orders&quot;, 5)" in machine.line.value
    machine.controls["then"].value = 3
    assert repr(machine) == first


def test_a_topic_that_should_shrink_is_refused_and_the_picture_stays():
    machine = levers.partitioner("alice", partitions=3, then=4)
    before = machine.picture
    machine.controls["partitions"].value = 6
    assert "never loses partitions" in machine.line.value
    assert machine.picture is before


def test_a_record_without_a_key_follows_the_chosen_rule():
    machine = levers.partitioner("- - -", partitions=3, then=3)
    sticky = repr(machine)
    machine.controls["rule"].value = "round_robin"
    assert repr(machine) != sticky


# -- the rebalance


@pytest.fixture(scope="module")
def run():
    def shop(cluster, producer):
        while True:
            producer.send("orders", value="order")
            cluster.sleep(0.5)

    def billing(consumer):
        for _ in consumer:
            pass

    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders", partitions=4)
        cluster.start(shop, cluster, cluster.producer(client_id="shop"))
        for letter in "AB":
            consumer = cluster.consumer(
                "orders", group_id="billing", client_id=f"consumer {letter}"
            )
            cluster.start(billing, consumer)
        cluster.run(seconds=20)
        yield cluster


@pytest.mark.parametrize(
    ("what", "line", "members"),
    [
        (
            "add",
            'cluster.start(billing, cluster.consumer(..., client_id="consumer C"))',
            3,
        ),
        ("leave", 'consumer.close()  # "consumer A"', 1),
        ("crash", 'cluster.crash("consumer A")', 2),
        ("freeze", 'cluster.freeze("consumer A")', 2),
        ("slow", 'cluster.slow("consumer A", processing_ms=400)', 2),
    ],
)
def test_each_lever_of_the_rebalance_changes_the_run_at_its_moment(
    run, what, line, members
):
    machine = levers.rebalance(run)
    machine.press(what, "consumer A", 10_000)
    assert f"10.000 s  {line}" in repr(machine)
    inside = [
        each
        for each in machine.picture.scenes[-1]["space"]["members"]
        if each["inside"]
    ]
    assert len(inside) == members
    machine.reset()
    assert repr(machine) == repr(levers.rebalance(run))


def test_pointing_at_a_lever_makes_its_run_and_only_a_click_shows_it(run):
    machine = levers.rebalance(run)
    before = repr(machine)
    [pointed] = [
        each for each in machine.stage.hidden if "minikafka-point" in each._dom_classes
    ]
    message = {"act": "freeze consumer A", "at": 10_000, "of": "1"}
    pointed.value = json.dumps(message)
    assert repr(machine) == before
    assert 'data-of="1"' in machine.stage.ahead.value
    machine.stage.clicked.value = json.dumps(message)
    assert '10.000 s  cluster.freeze("consumer A")' in repr(machine)
    again = levers.rebalance(run)
    again.press("freeze", "consumer A", 10_000)
    assert repr(machine) == repr(again)


def test_a_moment_at_which_it_can_not_be_done_is_said(run):
    machine = levers.rebalance(run)
    machine.press("freeze", "consumer A", 0)
    assert "consumer A is not there yet at 0.000 s" in machine.line.value
    machine.press("add", at_ms=99_000)
    assert "The run ends at 20.0" in machine.line.value


def test_two_changes_at_one_moment_add_up(run):
    machine = levers.rebalance(run)
    machine.press("slow", "consumer A", 10_000)
    machine.press("freeze", "consumer B", 10_000)
    kinds = [
        (event.kind, event.node)
        for event in machine.rerun(machine.changes)
        if event.at == 10_000
    ]
    assert ("ProcessingSlowed", "consumer A") in kinds and (
        "NodeFrozen",
        "consumer B",
    ) in kinds


def test_a_wire_that_is_cut_keeps_a_member_from_reading_until_it_heals(run):
    machine = levers.rebalance(run)
    machine.press("cut", "consumer A", 8000)
    machine.press("heal", "consumer A", 14_000)
    assert '8.000 s  cluster.cut("consumer A", 1)' in repr(machine)
    assert '14.000 s  cluster.heal("consumer A", 1)' in repr(machine)
    reads = [
        each.at
        for each in machine.rerun(machine.changes)
        if (each.kind, each.node) == READS_A
    ]
    assert not [at for at in reads if 8000 < at < 14_000] and max(reads) > 14_000
    cut_off = [
        scene
        for scene in machine.picture.scenes
        if "cut" in scene["space"]["members"][0]
    ]
    assert cut_off[0]["at"] == 8000 and cut_off[-1]["at"] < 14_000


# -- other pictures


def bought(cluster, orders):
    """A reader that polls after each of so many orders."""
    cluster.create_topic("orders")
    billing, shop = (
        cluster.consumer("orders", client_id="billing"),
        cluster.producer(client_id="shop"),
    )
    billing.poll(timeout_ms=1000)
    for number in range(orders):
        shop.send("orders", value=f"order {number}")
        billing.poll(timeout_ms=1000)
    return cluster


def test_a_reader_that_seeks_goes_on_from_there_and_the_later_calls_are_made_again():
    with Cluster(seed=1) as cluster:
        machine = levers.hands(bought(cluster, 4), "log")
        third = [
            scene["at"]
            for scene in machine.picture.scenes
            if scene["kind"] == "RecordsPolled"
        ][2]
        machine.press("seek", "billing", third, "0/1")
        assert 'consumer.seek(TopicPartition("orders", 0), 1)  # "billing"' in repr(
            machine
        )
        polled = [
            each.detail["records"]
            for each in machine.rerun(machine.changes)
            if each.kind == "RecordsPolled"
        ]
        assert [record[0] for records in polled for record in records] == [
            0,
            1,
            2,
            1,
            2,
            3,
        ]


def test_a_reader_that_is_closed_can_not_seek_and_that_is_said():
    with Cluster(seed=1) as cluster:
        bought(cluster, 2).clients["billing"].close()
        cluster.run(seconds=1)
        machine = levers.hands(cluster, "log")
        before = machine.picture
        machine.press("seek", "billing", cluster.now_ms - 1, "0/0")
        assert "billing is closed" in machine.line.value and machine.picture is before


def test_a_rate_that_is_dragged_changes_how_long_a_record_takes():
    cluster = fast()
    machine = levers.hands(cluster, "lag")
    machine.press("rate", "billing", 15_000, "billing/80")
    machine.press("rate", "billing", 20_000, "billing/5")
    assert '20.000 s  cluster.slow("billing", processing_ms=5)' in repr(machine)
    rates = [
        (scene["at"], scene["space"]["processing_ms"]["billing"])
        for scene in machine.picture.scenes
    ]
    assert {ms for at, ms in rates if at < 15_000} == {10} and {
        ms for at, ms in rates if at > 20_000
    } == {5}
    faster = next(
        scene
        for scene in machine.picture.scenes
        if scene["chapter"] == "billing is faster"
    )
    assert faster["at"] == 20_000 and not faster["trouble"]


def test_a_producers_wire_holds_back_what_is_sent_until_it_heals():
    with Cluster(seed=1) as cluster:
        cluster.create_topic("orders")
        shop = cluster.producer(client_id="shop")
        for number in range(3):
            shop.send("orders", value=f"order {number}")
            cluster.run(seconds=1)
        machine = levers.hands(cluster, "pipeline")
        machine.press("cut", "shop", 500)
        written = [
            scene
            for scene in machine.picture.scenes
            if scene["kind"] == "RecordsAppended"
        ]
        assert len(written) == 1 and machine.picture.scenes[-1]["space"]["parted"]
        machine.press("heal", "shop", 2500)
        appended = [
            each.at // 100
            for each in machine.rerun(machine.changes)
            if each.kind == "RecordsAppended"
        ]
        assert appended == [0, 25, 25]


def test_a_picture_without_anything_to_grab_is_refused():
    with (
        Cluster() as cluster,
        pytest.raises(ValueError, match="choose one of rebalance, log, lag, pipeline"),
    ):
        levers.hands(cluster, "commit")


def test_a_cluster_without_a_group_has_no_rebalance():
    with (
        Cluster() as cluster,
        pytest.raises(ValueError, match="no consumer with a group_id"),
    ):
        levers.rebalance(cluster)


# -- replication


def three_brokers():
    """A producer with acks=1 that goes on writing."""

    def shop(cluster, producer):
        for number in range(20):
            producer.send("orders", key="alice", value=f"order {number}")
            cluster.sleep(0.5)

    cluster = Cluster(brokers=3, seed=3, configs=QUICK)
    cluster.create_topic("orders", replication_factor=3)
    cluster.start(
        shop, cluster, cluster.producer(acks=1, client_id="shop", linger_ms=0)
    )
    cluster.run(seconds=8)
    return cluster


@pytest.mark.parametrize("name", ["replica-set", "quorum"])
def test_a_broker_is_killed_frozen_and_started_again_on_its_card(name):
    with three_brokers() as cluster:
        machine = levers.replication(cluster, name)
        machine.press("kill", "broker 1", 2000)
        assert "2.000 s  cluster.crash(1)" in repr(machine)
        killed = [
            event.node
            for event in machine.rerun(machine.changes)
            if event.kind == "NodeCrashed"
        ]
        assert killed == ["broker 1"]
        machine.press("restart", "broker 1", 5000)
        machine.press("freeze", "broker 2", 7000)
        lines = (
            "2.000 s  cluster.crash(1)",
            "5.000 s  cluster.restart(1)",
            "7.000 s  cluster.freeze(2)",
        )
        assert all(line in repr(machine) for line in lines)
        kinds = {(scene["kind"], scene["node"]) for scene in machine.picture.scenes}
        assert {("NodeRestarted", "broker 1"), ("NodeFrozen", "broker 2")} <= kinds
        machine.reset()
        assert repr(machine) == repr(levers.replication(cluster, name))


def test_a_broker_is_cut_off_from_the_others_by_its_wire_and_healed():
    with three_brokers() as cluster:
        machine = levers.replication(cluster)
        machine.press("cut", "broker 1", 2000)
        assert "2.000 s  cluster.cut(1, 2); cluster.cut(1, 3)" in repr(machine)
        assert machine.picture.scenes[-1]["space"]["copies"][0]["life"] == "cut off"
        acts = [
            shape["act"]
            for shape in machine.picture.drawings(WIDE)[-1].shapes.values()
            if "act" in shape
        ]
        assert "heal broker 1" in acts and "cut broker 2" in acts
        machine.press("heal", "broker 1", 6000)
        assert machine.picture.scenes[-1]["space"]["copies"][0]["life"] == ""


def test_a_follower_is_cut_off_from_its_leader_only_and_falls_out_of_the_isr():
    with three_brokers() as cluster:
        machine = levers.replication(cluster)
        copies = machine.picture.scenes[-1]["space"]["copies"]
        leader = next(copy["broker"] for copy in copies if copy["leads"])
        one, other = (copy["broker"] for copy in copies if not copy["leads"])
        machine.press("cut", f"broker {one}, broker {leader}", 2000)
        assert f"2.000 s  cluster.cut({one}, {leader})\n" in repr(machine)
        apart = {
            copy["broker"]: copy["apart"]
            for copy in machine.picture.scenes[-1]["space"]["copies"]
        }
        assert apart == {leader: False, one: True, other: False}
        assert machine.picture.scenes[-1]["space"]["isr"] == sorted({leader, other})
        acts = [
            shape["act"]
            for shape in machine.picture.drawings(WIDE)[-1].shapes.values()
            if "act" in shape
        ]
        assert (
            f"heal broker {one}, broker {leader}" in acts
            and f"cut broker {other}, broker {leader}" in acts
        )


def test_a_controllers_link_to_one_voter_is_cut_and_healed():
    with three_brokers() as cluster:
        machine = levers.replication(cluster, "quorum")

        def acts():
            shapes = machine.picture.drawings(WIDE)[-1].shapes.values()
            return {shape["act"] for shape in shapes if "act" in shape}

        voters = machine.picture.scenes[-1]["space"]["voters"]
        one, other = (each["broker"] for each in voters if each["role"] != "controller")
        (leader,) = {each["leader"] for each in voters}
        to_the_leader = f"broker {one}, broker {leader}"
        assert {
            f"cut {to_the_leader}",
            f"cut broker {other}, broker {leader}",
        } <= acts()
        machine.press("cut", to_the_leader, 2000)
        assert f"2.000 s  cluster.cut({one}, {leader})\n" in repr(machine)
        assert f"heal {to_the_leader}" in acts()
        machine.press("heal", to_the_leader, 6000)
        assert f"heal {to_the_leader}" not in acts()
