"""Subscriptions by regular expression, in RE2's syntax: the coordinator finds the
topics (KIP-848).
"""

import pytest

from minikafka.coordinators.expressions import MOST_WORK, Expressions, Found
from minikafka.wire.errors import Error, KafkaError
from tests.coordinators.consumer_groups import Consumer, Coordinator
from tests.coordinators.modern_groups import Topics, beat_until_quiet


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


# -- hostile expressions

HOSTILE = "((a?){50}(b?){9}){8}.*"  # RE2 takes milliseconds for one name


def beats_until_found(member):
    """How many heartbeats the coordinator needed to match all names."""
    for beats in range(1, 1000):
        try:
            member.beat()
        except KafkaError as error:
            assert error.error is Error.COORDINATOR_LOAD_IN_PROGRESS
        else:
            return beats
    raise AssertionError("it never finds them")


def many_topics(count, letters=240):
    return {f"a{number:0{letters}}": 1 for number in range(count)}


def test_re2_takes_no_longer_than_the_name_is_long(coordinator):
    coordinator.topics.create("a" * 248 + "b", 1)
    names = coordinator.topics.image.all_topic_names
    assert Found("(a|aa|a*)*c").look(names, 1_000_000) < 100_000


def test_kip_848_a_hostile_expression_is_matched_bit_by_bit():
    topics = many_topics(100)
    coordinator = Coordinator(Topics(**topics))
    a = Consumer(coordinator, "a", topics=(), pattern=HOSTILE)
    names = coordinator.topics.image.all_topic_names
    assert Found(HOSTILE).look(names, MOST_WORK) < 1.1 * MOST_WORK
    assert 2 <= beats_until_found(a) < 10
    assert topics_of(a) == topics.keys()
    b = Consumer(coordinator, "b")
    assert beats_until_found(b) == 1, "what was found is remembered"


def test_kip_848_only_the_name_of_a_new_topic_is_looked_at(coordinator):
    found = Found("o.*")
    names = coordinator.topics.image.all_topic_names
    assert found.look(names, MOST_WORK) > 0
    assert found.look(names, MOST_WORK) == 0
    coordinator.topics.create("orders2", 1)
    more = coordinator.topics.image.all_topic_names
    assert 0 < found.look(more, MOST_WORK) < Found("o.*").look(more, MOST_WORK)
    assert set(found.topics) == {"orders", "ordersold", "orders2"}


def test_kip_848_ordinary_expressions_are_matched_at_once():
    coordinator = Coordinator(Topics(**many_topics(1000, letters=20)))
    for number in range(10):
        a = Consumer(coordinator, f"m{number}", topics=(), pattern=f"a.*{number}")
        assert beats_until_found(a) == 1


def test_kip_848_while_names_are_matched_nobody_loses_partitions(monkeypatch):
    coordinator = Coordinator(Topics(**many_topics(20)))
    a = Consumer(coordinator, "a", topics=(), pattern="a.*[0-9]")
    b = Consumer(coordinator, "b", topics=(), pattern="a.*")
    beat_until_quiet(a, b)
    before, epoch = (a.owned, b.owned), coordinator.group.state.group_epoch
    monkeypatch.setattr("minikafka.coordinators.expressions.MOST_WORK", 20_000)
    coordinator.restart()
    assert beats_until_found(a) > 2
    beat_until_quiet(a, b)
    assert (a.owned, b.owned) == before
    assert coordinator.group.state.group_epoch == epoch


def test_a_group_has_so_many_different_expressions(coordinator, monkeypatch):
    monkeypatch.setattr("minikafka.coordinators.expressions.MOST_OF_GROUP", 3)
    for number in range(4):
        a = Consumer(coordinator, f"m{number}", topics=(), pattern=f"o.*{number % 3}")
        a.beat()
    with pytest.raises(KafkaError, match="INVALID_REGULAR_EXPRESSION"):
        Consumer(coordinator, "b", topics=(), pattern="o.*9").beat()


def test_what_a_client_asks_for_once_is_not_remembered_for_ever(coordinator):
    expressions = Expressions()
    names = coordinator.topics.image.all_topic_names
    for number in range(3000):
        expressions.find([f"orders{number}|orders"], names)
    assert not expressions.matching("orders0|orders")
    assert expressions.matching("orders2999|orders")
