"""The lab of lesson 05: real consumers in one group, kafka-python's command line, the
broker's trace as a picture.
"""

import pytest

from minikafka.course import connect
from minikafka.course.experiments.lesson_05_real import GroupLab

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def our_own_kafka(monkeypatch):
    monkeypatch.delenv(connect.VARIABLE, raising=False)


def test_members_come_and_go_and_the_picture_tells_of_each(capsys):
    with GroupLab(partitions=2) as lab:
        lab.start("A")
        assert lab.wait_for(members=1) == {"A": [0, 1]}
        lab.start("B")
        assert lab.wait_for(members=2) == {"A": [0], "B": [1]}
        lab.write(4)
        lab.command("groups", "describe")
        lab.say_goodbye("A")
        assert lab.wait_for(members=1) == {"B": [0, 1]}
    said = capsys.readouterr().out
    assert said.startswith(
        "$ python -m kafka.admin -b HOST:PORT groups describe -g billing\n"
    )
    assert "'group_state': 'Stable'" in said and "'member_id': 'consumer A-...'" in said
    told = str(lab.play().table())
    assert (
        "Consumer B is a member of group" in told
        and "removes consumer A from the group: it said goodbye" in told
    )


def test_nothing_that_is_new_each_time_is_printed(capsys):
    with GroupLab(partitions=1) as lab:
        lab.start("A")
        lab.wait_for(members=1)
        lab.command("groups", "list-offsets")
        unique = lab.group.removeprefix("billing-")
        port = lab.kafka.bootstrap.rpartition(":")[2]
    said = capsys.readouterr().out
    assert unique not in said and port not in said


def test_an_error_of_the_command_line_is_shown_as_it_is(capsys):
    with GroupLab(partitions=1) as lab:
        lab.command("groups", "no-such-command")
    assert "invalid choice: 'no-such-command'" in capsys.readouterr().out


def test_a_cluster_of_somebody_else_has_no_trace_to_play(monkeypatch):
    with GroupLab(partitions=1) as host:
        monkeypatch.setenv(connect.VARIABLE, host.kafka.bootstrap)
        with GroupLab(partitions=1) as guest:
            guest.start("A")
            assert guest.wait_for(members=1) == {"A": [0]}
        assert "writes no trace" in str(guest.play())
