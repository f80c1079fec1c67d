"""Consumer groups of KIP-848: who gets what, and in which steps."""

import pytest

from minikafka.wire.errors import Error, KafkaError
from tests.coordinators.consumer_groups import Consumer, Coordinator
from tests.coordinators.modern_groups import Topics, beat_until_quiet


@pytest.fixture
def coordinator():
    return Coordinator(Topics(orders=6, invoices=2))


def members(coordinator, *names, **options):
    return [Consumer(coordinator, name, **options) for name in names]


def test_kip_848_the_first_member_gets_everything_with_its_first_heartbeat(coordinator):
    (a,) = members(coordinator, "a")
    answer = a.beat()
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (
        "a",
        2,
        5000,
    )
    assert a.numbers == [0, 1, 2, 3, 4, 5]
    assert coordinator.group.state_name == "Stable"


def test_kip_848_a_heartbeat_that_changes_nothing_writes_nothing_and_answers_without_an_assignment(
    coordinator,
):
    (a,) = members(coordinator, "a")
    a.beat()
    written = len(coordinator.log)
    assert a.beat().assignment is None
    assert coordinator.heartbeat(member_id="a", member_epoch=2).assignment is None
    assert len(coordinator.log) == written


def test_kip_848_a_full_heartbeat_is_answered_with_the_assignment(coordinator):
    (a,) = members(coordinator, "a")
    a.beat()
    a.must_say = True
    assert len(a.beat().assignment.topic_partitions[0].partitions) == 6


def test_kip_848_a_partition_moves_only_after_its_owner_said_that_it_gave_it_up(
    coordinator,
):
    a, b = members(coordinator, "a", "b")
    a.beat()
    assert b.beat().member_epoch == 3
    assert b.numbers == [], "all partitions are a's still"
    assert coordinator.group.state_name == "Reconciling"
    answer = a.beat()
    assert (answer.member_epoch, a.numbers) == (
        2,
        [0, 1, 2],
    ), "a keeps its epoch until it has revoked"
    assert b.beat().assignment is None, "a has not said anything yet"
    assert a.beat().member_epoch == 3
    b.beat()
    assert b.numbers == [3, 4, 5]
    assert coordinator.group.state_name == "Stable"


def test_kip_848_what_a_member_just_gave_up_and_is_to_have_again_is_its_at_once(
    coordinator,
):
    a, b = members(coordinator, "a", "b")
    a.beat()
    b.beat()
    a.beat()
    assert a.numbers == [0, 1, 2]
    b.leave()
    coordinator.sleep(2)
    a.beat()
    assert a.numbers == [0, 1, 2, 3, 4, 5]
    assert coordinator.group.state_name == "Stable"


def test_kip_848_a_member_that_does_not_say_what_it_owns_still_has_it(coordinator):
    a, b = members(coordinator, "a", "b")
    a.beat()
    b.beat()
    a.beat()
    assert coordinator.heartbeat(member_id="a", member_epoch=2).member_epoch == 2
    b.beat()
    assert b.numbers == []


def test_kip_848_members_that_lose_nothing_never_stop(coordinator):
    a, b, c = members(coordinator, "a", "b", "c")
    beat_until_quiet(a, b)
    c.beat()
    a.beat()
    assert (a.numbers, a.epoch) == ([0, 1], 3), "a gives up one"
    b_before = b.numbers
    assert set(b_before) - {5} >= {3, 4}
    beat_until_quiet(a, b, c)
    assert sorted(a.numbers + b.numbers + c.numbers) == [0, 1, 2, 3, 4, 5]
    assert {0, 1} == set(a.numbers), "what stays, stays where it is"


def test_kip_848_what_a_leaver_had_is_free_at_once(coordinator):
    a, b = members(coordinator, "a", "b")
    beat_until_quiet(a, b)
    answer = b.leave()
    assert (answer.member_id, answer.member_epoch) == ("b", -1)
    a.beat()
    assert a.numbers == [0, 1, 2, 3, 4, 5]
    assert a.epoch == 4


def test_kip_848_the_last_one_out_leaves_an_empty_group_that_goes_on_counting(
    coordinator,
):
    (a,) = members(coordinator, "a")
    a.beat()
    a.leave()
    assert coordinator.group.state_name == "Empty"
    assert a.beat().member_epoch == 4


def test_kip_848_a_changed_subscription_takes_unsubscribed_topics_away_at_once(
    coordinator,
):
    a, b = members(coordinator, "a", "b", topics=("invoices", "orders"))
    beat_until_quiet(a, b)
    a.topics, a.must_say = ("invoices",), True
    a.beat()
    assert {topic for topic, _ in a.owned} == {"invoices"}
    beat_until_quiet(a, b)
    assert ("orders", 5) in b.owned and len(
        [1 for topic, _ in b.owned if topic == "orders"]
    ) == 6


def test_kip_848_a_topic_that_grows_or_appears_is_assigned_at_the_next_heartbeat(
    coordinator,
):
    a, b = members(coordinator, "a", "b", topics=("orders", "later"))
    beat_until_quiet(a, b)
    epoch = coordinator.group.state.group_epoch
    coordinator.topics.grow("orders", 8)
    beat_until_quiet(a, b)
    assert len(a.owned) == len(b.owned) == 4
    assert coordinator.group.state.group_epoch == epoch + 1
    coordinator.topics.create("later", 2)
    beat_until_quiet(a, b)
    assert len(a.owned) == len(b.owned) == 5


def test_kip_848_a_deleted_topic_is_taken_away_and_one_created_again_is_another(
    coordinator,
):
    a, b = members(coordinator, "a", "b", topics=("invoices", "orders"))
    beat_until_quiet(a, b)
    coordinator.topics.delete("orders")
    beat_until_quiet(a, b)
    assert sorted(a.owned + b.owned) == [("invoices", 0), ("invoices", 1)]
    coordinator.topics.create("orders", 2)
    beat_until_quiet(a, b)
    assert sorted(a.owned + b.owned) == [
        ("invoices", 0),
        ("invoices", 1),
        ("orders", 0),
        ("orders", 1),
    ]


def test_kip_848_a_member_may_subscribe_to_nothing_or_to_what_is_not_there(coordinator):
    nothing, elsewhere = (
        Consumer(coordinator, "n", topics=()),
        Consumer(coordinator, "e", topics=("nowhere",)),
    )
    assert nothing.beat().member_epoch == 1, (
        "nothing to assign: the first epoch of a group stands"
    )
    elsewhere.beat()
    assert (nothing.owned, elsewhere.owned) == ([], [])
    beat_until_quiet(nothing, elsewhere)
    assert coordinator.group.state_name == "Stable"


def test_kip_848_most_votes_choose_the_assignor_and_the_first_configured_one_wins_a_tie(
    coordinator,
):
    a, b, c = members(coordinator, "a", "b", "c")
    a.assignor, b.assignor, c.assignor = "range", "uniform", "range"
    a.beat()
    assert coordinator.group.describe()["assignor_name"] == "range"
    b.beat()
    assert coordinator.group.describe()["assignor_name"] == "uniform"
    c.beat()
    assert coordinator.group.describe()["assignor_name"] == "range"


def test_kip_1263_the_target_is_not_made_more_often_than_the_interval_allows():
    coordinator = Coordinator(
        Topics(orders=6), group_consumer_assignment_interval_ms=1000
    )
    a, b, c = members(coordinator, "a", "b", "c")
    a.beat()
    assert (b.beat().member_epoch, c.beat().member_epoch) == (2, 2)
    assert coordinator.group.state_name == "Assigning"
    assert coordinator.group.state.group_epoch == 4
    coordinator.sleep(1)
    beat_until_quiet(a, b, c)
    assert coordinator.kinds().count("AssignmentMade") == 2
    assert [len(each.owned) for each in (a, b, c)] == [2, 2, 2]


def test_group_consumer_max_size_limits_new_members_only():
    coordinator = Coordinator(Topics(orders=6), group_consumer_max_size=2)
    a, b, c = members(coordinator, "a", "b", "c")
    beat_until_quiet(a, b)
    with pytest.raises(KafkaError, match="maximum capacity of 2 members") as refused:
        c.beat()
    assert refused.value.error is Error.GROUP_MAX_SIZE_REACHED
    a.beat()


@pytest.mark.parametrize(
    ("version", "fields", "error", "message"),
    [
        (1, {"member_id": ""}, "INVALID_REQUEST", "MemberId can't be empty."),
        (
            0,
            {"member_id": "", "member_epoch": 3},
            "INVALID_REQUEST",
            "MemberId can't be empty.",
        ),
        (1, {"group_id": ""}, "INVALID_REQUEST", "GroupId can't be empty."),
        (1, {"instance_id": ""}, "INVALID_REQUEST", "InstanceId can't be empty."),
        (1, {"rack_id": " "}, "INVALID_REQUEST", "RackId can't be empty."),
        (
            1,
            {"rebalance_timeout_ms": -1},
            "INVALID_REQUEST",
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            1,
            {"topic_partitions": None},
            "INVALID_REQUEST",
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            1,
            {"subscribed_topic_names": None},
            "INVALID_REQUEST",
            "Either SubscribedTopicNames or SubscribedTopicRegex",
        ),
        (1, {"member_epoch": -2}, "INVALID_REQUEST", "InstanceId can't be null."),
        (1, {"member_epoch": -3}, "INVALID_REQUEST", "MemberEpoch is invalid."),
        (
            1,
            {"server_assignor": "mine"},
            "UNSUPPORTED_ASSIGNOR",
            "ServerAssignor mine is not supported. Supported",
        ),
        (
            1,
            {"subscribed_topic_regex": "o("},
            "INVALID_REGULAR_EXPRESSION",
            "`o(` is not a valid regular expression",
        ),
        (
            1,
            {"member_epoch": 7},
            "UNKNOWN_MEMBER_ID",
            "Member a is not a member of group billing.",
        ),
        (
            1,
            {"member_epoch": -1},
            "UNKNOWN_MEMBER_ID",
            "Member a is not a member of group billing.",
        ),
        (
            1,
            {"member_epoch": -2, "instance_id": "i"},
            "UNKNOWN_MEMBER_ID",
            "Instance id i is unknown.",
        ),
    ],
)
def test_kip_848_a_heartbeat_that_makes_no_sense_is_refused_in_kafkas_words(
    coordinator, version, fields, error, message
):
    legal = {
        "member_id": "a",
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    with pytest.raises(KafkaError) as refused:
        coordinator.heartbeat(version, **{**legal, **fields})
    assert refused.value.error.name == error
    assert message in refused.value.message
