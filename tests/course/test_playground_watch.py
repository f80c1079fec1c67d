"""What one watches at work, under the playground's picture."""

import json

import pytest

from minikafka.course.publishing import playground

pytestmark = pytest.mark.slow


def watched(settings, changes=()):
    question = {"settings": settings, "changes": changes}
    return json.loads(playground.answer(json.dumps(question)))["watched"]


def at(found, name, ms):
    return found["numbers"][name][found["at"].index(ms)]


def test_a_dead_broker_leaves_partitions_under_replicated_until_it_is_back():
    settings = {"brokers": 3, "shows": "the replicas", "partitions": 3, "seconds": 30}
    settings["per_second"] = 10
    changes = [[6000, "kill", "broker 2"], [18_000, "restart", "broker 2"]]
    found = watched(settings, changes)
    name = "under-replicated partitions"
    assert at(found, name, 5500) == 0
    assert at(found, name, 17_500) >= 3
    assert at(found, name, 30_000) == 0
    shrinks = found["numbers"]["ISR shrinks so far"]
    assert shrinks == sorted(shrinks) and shrinks[-1] > 0


def test_while_the_controller_is_dead_nobody_is_the_active_one():
    settings = {"brokers": 3, "shows": "the controllers", "partitions": 3}
    before = watched(settings)
    assert set(before["numbers"]["active controllers"]) == {1}
    killed = [
        watched(settings, [[6000, "kill", f"broker {number}"]])["numbers"]
        for number in (1, 2, 3)
    ]
    least = sorted(min(each["active controllers"]) for each in killed)
    assert least == [0, 1, 1]


def test_the_lag_grows_while_a_member_is_frozen():
    settings = {"seconds": 14, "per_second": 10}
    found = watched(settings, [[7000, "freeze", "consumer A"]])
    lag = found["numbers"]["lag of billing"]
    assert at(found, "lag of billing", 14_000) > at(found, "lag of billing", 7000) + 20
    assert len(lag) == len(found["at"]) == 14_000 // 500 - found["at"][0] // 500 + 1
