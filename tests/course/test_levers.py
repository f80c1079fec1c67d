"""The partitioner's machine with its levers, as lesson 02 shows it."""

import pytest

from minikafka.course import levers


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
    from minikafka import Cluster

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
            consumer = cluster.consumer("orders", group_id="billing", client_id=f"consumer {letter}")
            cluster.start(billing, consumer)
        cluster.run(seconds=20)
        yield cluster


@pytest.mark.parametrize(
    ("what", "line", "members"),
    [
        ("add", 'cluster.start(billing, cluster.consumer(..., client_id="consumer C"))', 3),
        ("leave", 'consumer.close()  # "consumer A"', 1),
        ("crash", 'cluster.crash("consumer A")', 2),
        ("freeze", 'cluster.freeze("consumer A")', 2),
        ("slow", 'cluster.slow("consumer A", processing_ms=400)', 2),
    ],
)
def test_each_lever_of_the_rebalance_changes_the_run_at_its_moment(run, what, line, members):
    machine = levers.rebalance(run)
    machine.press(what, "consumer A", 10_000)
    assert f"10.000 s  {line}" in repr(machine)
    inside = [each for each in machine.picture.scenes[-1]["space"]["members"] if each["inside"]]
    assert len(inside) == members
    machine.reset()
    assert repr(machine) == repr(levers.rebalance(run))


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
    kinds = [(event.kind, event.node) for event in machine.rerun(machine.changes) if event.at == 10_000]
    assert ("ProcessingSlowed", "consumer A") in kinds and ("NodeFrozen", "consumer B") in kinds


def test_a_cluster_without_a_group_has_no_rebalance():
    from minikafka import Cluster

    with Cluster() as cluster, pytest.raises(ValueError, match="no consumer with a group_id"):
        levers.rebalance(cluster)
