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
