"""The diagram of a classic group's states is drawn from the coordinator's own table."""

import re
from xml.etree import ElementTree

from minikafka import Cluster
from minikafka.coordinators.classic_state import DEAD, TRANSITIONS
from minikafka.course.experiments.lesson_05_states import group_states
from minikafka.theatre.drawing import text_width


def a_run():
    """Two members join together; one says goodbye."""
    cluster = Cluster(seed=1)
    cluster.create_topic("orders", partitions=2)
    members = [
        cluster.consumer("orders", group_id="billing", client_id=name)
        for name in ("A", "B")
    ]
    for member in members:
        cluster.start(list, member)
    cluster.run(seconds=10)
    members[0].close()
    cluster.run(seconds=10)
    return cluster.trace


def test_every_row_of_the_table_is_in_the_diagram():
    drawn = group_states().svg()
    ElementTree.fromstring(drawn)
    words = re.findall(r">([^<>]+)</text>", drawn)
    for row in TRANSITIONS.values():
        assert row.state in words and row.next_state in words
    events = [row.event.replace("_", " ") for row in TRANSITIONS.values()]
    assert all(words.count(event) == events.count(event) for event in events)


def test_a_run_marks_the_ways_it_took_and_how_often():
    states = group_states(a_run())
    taken = {way: times for way, times in states.taken.items() if times}
    assert taken == {
        ("Empty", "member_joins"): 1,
        ("PreparingRebalance", "all_joined"): 2,
        ("CompletingRebalance", "leader_assigned"): 2,
        ("Stable", "member_leaves"): 1,
    }
    drawn = states.svg()
    assert (
        "all joined ×2" in drawn
        and "member leaves ×1" in drawn
        and "deleted ×" not in drawn
    )


def test_what_a_run_did_is_always_a_row_of_the_table():
    assert set(group_states(a_run()).taken) <= set(TRANSITIONS)


def test_as_text_it_is_the_table():
    lines = repr(group_states(a_run())).splitlines()
    assert len(lines) == len(TRANSITIONS)
    assert (
        re.sub(" +", " ", lines[0])
        .strip()
        .startswith("1 x Empty member_joins PreparingRebalance the first member")
    )
    assert not lines[1].startswith("   0") and DEAD in lines[1]
    assert repr(group_states()).startswith("Empty ")


def test_it_says_in_words_what_it_shows():
    described = re.search(r"<desc[^>]*>(.*?)</desc>", group_states().svg())[1]
    assert "From Stable by session_timeout to PreparingRebalance" in described


def test_words_stay_inside_their_boxes():
    for row in TRANSITIONS.values():
        assert text_width(row.state, 13, bold=True) < 180


def test_in_a_notebook_it_is_a_frame_of_its_own(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    bundle = group_states()._repr_mimebundle_()
    assert bundle["text/html"].startswith(
        "<iframe title='The states of a classic group'"
    )
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    assert list(group_states()._repr_mimebundle_()) == ["text/plain"]
