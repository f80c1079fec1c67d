"""Subscriptions by regular expression, in RE2's syntax: the coordinator finds the
topics (KIP-848).
"""

import time

import pytest

from minikafka.coordinators.subscriptions import matching, matching_names
from minikafka.wire.errors import KafkaError
from tests.coordinators.consumer_groups import (
    Consumer,
    Coordinator,
    Topics,
    beat_until_quiet,
)


@pytest.fixture
def coordinator():
    return Coordinator(Topics(orders=2, invoices=2, ordersold=1))


def topics_of(member):
    return {name for name, _ in member.owned}


def test_kip_848_a_pattern_means_the_topics_whose_whole_name_it_matches(coordinator):
    a = Consumer(coordinator, "a", topics=(), pattern="order.|o.*s")
    a.beat()
    assert topics_of(a) == {"orders"}


def test_kip_848_names_and_a_pattern_count_together(coordinator):
    a = Consumer(coordinator, "a", topics=("invoices", "orders"), pattern="orders.*")
    a.beat()
    assert topics_of(a) == {"invoices", "orders", "ordersold"}


def test_kip_848_a_new_topic_that_matches_is_assigned_with_the_next_heartbeat(
    coordinator,
):
    a = Consumer(coordinator, "a", topics=(), pattern="orders.*")
    a.beat()
    coordinator.topics.create("orders2", 3)
    coordinator.topics.create("payments", 3)
    a.beat()
    assert topics_of(a) == {"orders", "ordersold", "orders2"}
    coordinator.topics.delete("orders")
    beat_until_quiet(a)
    assert topics_of(a) == {"ordersold", "orders2"}
    before = coordinator.group.state.group_epoch
    a.beat()
    assert coordinator.group.state.group_epoch == before, "nothing has changed since"


def test_kip_848_who_matches_and_who_names_a_topic_share_it(coordinator):
    a = Consumer(coordinator, "a", topics=(), pattern="order.")
    b = Consumer(coordinator, "b")
    beat_until_quiet(a, b)
    assert len(a.owned) == len(b.owned) == 1


def test_kip_848_an_empty_pattern_takes_the_subscription_back(coordinator):
    a = Consumer(coordinator, "a", pattern="in.*")
    a.beat()
    a.pattern, a.must_say = "", True
    beat_until_quiet(a)
    assert topics_of(a) == {"orders"}


def test_kip_848_another_coordinator_knows_the_pattern(coordinator):
    a = Consumer(coordinator, "a", topics=(), pattern="orders.*")
    a.beat()
    coordinator.restart()
    coordinator.topics.create("orders2", 1)
    beat_until_quiet(a)
    assert topics_of(a) == {"orders", "ordersold", "orders2"}
    assert coordinator.group.subscribes_to("orders2")
    assert not coordinator.group.subscribes_to("invoices")


def test_kip_848_when_the_last_one_leaves_no_topic_is_subscribed_to(coordinator):
    a = Consumer(coordinator, "a", topics=(), pattern="orders.*")
    a.beat()
    a.leave()
    assert not coordinator.group.subscribes_to("orders")
    assert coordinator.group.state.metadata_hash == 0


@pytest.mark.parametrize(
    "pattern", ["o(", "(?=o)", r"(o)\1", "o**", "[z-a]", "(?P<n>o)(?P=n)"]
)
def test_kip_848_what_re2_does_not_take_is_refused(coordinator, pattern):
    with pytest.raises(
        KafkaError,
        match=r"INVALID_REGULAR_EXPRESSION.*is not a valid regular expression",
    ):
        Consumer(coordinator, "a", topics=(), pattern=pattern).beat()


def test_re2_takes_no_longer_than_the_name_is_long(coordinator):
    coordinator.topics.create("a" * 248 + "b", 1)
    began = time.process_time()
    assert matching("(a|aa|a*)*c", coordinator.topics.image) == ()
    assert time.process_time() - began < 1, "backtracking would take years"


def test_what_a_client_asks_for_once_is_not_remembered_for_ever(coordinator):
    image = coordinator.topics.image
    for number in range(3000):
        matching(f"orders{number}", image)
    assert matching_names.cache_info().currsize <= 1000
