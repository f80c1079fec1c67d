"""What the page says is wrong."""

import pytest

from minikafka.watching.problems import all_is_well, problems
from minikafka.watching.seen import NOBODY, Group, Member, Part, Place, Seen
from minikafka.watching.watched import GROWS_BY, GROWS_FOR_S, Watched

ORDERS = Place("orders", 0)
READER = Member("till-1", "till", parts=(ORDERS,))
BROKERS = {1: "one:9092", 2: "two:9092", 3: "three:9092"}
WHOLE = Part(leader=1, replicas=(1, 2, 3), isr=(1, 2, 3), end=0)


def seen(at_s=0.0, brokers=BROKERS, part=WHOLE, **group):
    groups = {}
    if group:
        groups["billing"] = Group("billing", "classic", **group)
    return Seen(at_s, brokers, controller=1, parts={ORDERS: part}, groups=groups)


def said(*looks, now_s=0.0):
    watched = Watched("one:9092")
    for look in looks:
        watched.saw(look)
    return problems(watched, now_s)


def lagging(members, lags, every_s=1.0, state="Stable"):
    """A look for each lag."""
    committed = {ORDERS: 1000}
    return [
        seen(
            number * every_s,
            part=WHOLE._replace(end=1000 + lag),
            state=state,
            members=members,
            committed=committed,
        )
        for number, lag in enumerate(lags)
    ]


def test_a_cluster_without_problems_is_said_to_be_well():
    assert said(seen()) == []
    assert all_is_well(seen()).startswith(
        "All is well: 3 brokers, 1 partition, 0 groups"
    )


def test_a_broker_that_the_others_no_longer_count_is_away():
    there = {broker: BROKERS[broker] for broker in (1, 2)}
    assert said(seen(), seen(brokers=there)) == [
        "Broker 3 is away: the others don't count it any more."
    ]


def test_a_cluster_that_does_not_answer_is_said_to_be_away_and_comes_back():
    watched = Watched("one:9092")
    watched.missed_it(10.0, "connection refused")
    watched.missed_it(11.0, "connection refused")
    assert problems(watched, 15.0) == [
        "Nobody answers at one:9092, for 5 s: connection refused. It's asked again every"
        " second; below is what was seen last."
    ]
    watched.saw(seen())
    assert problems(watched, 16.0) == []


def test_a_partition_without_a_leader_can_be_neither_written_nor_read():
    part = WHOLE._replace(leader=NOBODY)
    assert said(seen(part=part)) == [
        "orders-0 has no leader: nobody can write or read there."
    ]


def test_a_replica_out_of_sync_is_told_with_its_broker():
    assert said(seen(part=WHOLE._replace(isr=(1, 2)))) == [
        "Not in sync on broker 3: orders-0."
    ]


def test_a_group_that_rebalances_is_told_with_its_state():
    [problem] = said(seen(state="PreparingRebalance"))
    assert problem == "Group billing rebalances: PreparingRebalance."


def test_a_lag_that_nobody_reads_is_told_at_once():
    [problem] = said(*lagging([], [7], state="Empty"))
    assert problem == "Group billing: nobody reads orders-0. The lag is 7."
    [problem] = said(*lagging([], [7, 8], state="Empty"))
    assert problem == "Group billing: nobody reads orders-0. The lag is 8, and grows."


def test_a_reader_is_slow_if_its_lag_has_grown_for_longer_than_between_two_commits():
    count = int(GROWS_FOR_S) + 1
    slow = [number * GROWS_BY for number in range(count)]
    assert said(*lagging([READER], slow[:-1])) == []
    assert said(*lagging([READER], slow)) == [
        "Group billing: till reads orders-0 more slowly than producers write; the lag"
        " grows."
    ]


@pytest.mark.parametrize(
    "lags",
    [
        [0, 300, 600, 900] * 4,
        [5] * 20,
        [number % 2 for number in range(20)],
        [*range(1, 1 + GROWS_BY // 2), *[GROWS_BY // 2] * 12],
    ],
    ids=["commits", "stands still", "comes and goes", "grows a little"],
)
def test_a_reader_that_keeps_up_is_not_slow(lags):
    assert said(*lagging([READER], lags)) == []


def test_a_lag_is_remembered_for_a_while_and_not_longer_than_its_group():
    watched = Watched("one:9092")
    looks = lagging([READER], range(500))
    for look in looks:
        watched.saw(look)
    group = looks[-1].groups["billing"]
    assert len(watched.lags(group, ORDERS)) <= 61
    watched.saw(seen(at_s=501.0))
    assert watched.lags(group, ORDERS) == []
