"""A group as large as its members can make it: no request of theirs holds up everybody
else for long, and none asks for the same long work again and again.
"""

import pytest

from minikafka.coordinators.group_rules import MOST_TO_ASSIGN
from minikafka.wire.errors import Error
from tests.broker.node import Node
from tests.broker.sharing import SharingNode
from tests.work import MOST_CALLS, counted, work_of

pytestmark = pytest.mark.slow

REBALANCE_MS = 60_000
OWNS_NOTHING = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}


def node_with(topics, **properties):
    """It has these topics, and the one of the groups."""
    node = Node(**properties)
    for name, partitions in topics.items():
        node.create_topic(name, partitions=partitions)
    node.call("FindCoordinator", 0, key="g")
    node.pass_time(20_000)
    node.out()
    return node


# -- streams groups


def joins_streams(subtopologies, member="a", inputs=("orders",), process="p"):
    """The first heartbeat of a member whose subtopologies all read the same."""
    rows = [
        {"subtopology_id": str(number), "source_topics": list(inputs)}
        for number in range(subtopologies)
    ]
    return {
        "group_id": "g",
        "member_id": member,
        "member_epoch": 0,
        "rebalance_timeout_ms": REBALANCE_MS,
        "process_id": process,
        "topology": {"epoch": 0, "subtopologies": rows},
        **OWNS_NOTHING,
    }


def streams_node(delay_ms=0):
    return node_with(
        {"orders": 1000, "payments": 1000},
        group_streams_initial_rebalance_delay_ms=delay_ms,
    )


@pytest.mark.parametrize(
    ("subtopologies", "inputs"),
    [(60, ["orders"]), (2000, ["orders"]), (40, ["orders", "payments"])],
)
def test_kip_1071_a_target_that_is_too_large_is_refused_before_it_is_made(
    subtopologies, inputs
):
    node = streams_node()
    body = joins_streams(subtopologies, inputs=inputs)
    answer = node.call("StreamsGroupHeartbeat", 0, **body)
    assert answer.error_code == Error.UNKNOWN_SERVER_ERROR
    assert "too large" in answer.error_message
    calls = work_of(node, "StreamsGroupHeartbeat", 0, body)
    assert calls < 10_000 + 200 * subtopologies


def test_kip_1071_after_the_delay_members_hear_that_their_target_is_too_large():
    node = streams_node(delay_ms=3000)
    answer = node.call("StreamsGroupHeartbeat", 0, **joins_streams(300))
    assert answer.error_code == Error.NONE
    with counted() as work:
        node.pass_time(4000)
        answer = node.call(
            "StreamsGroupHeartbeat",
            0,
            group_id="g",
            member_id="a",
            member_epoch=answer.member_epoch,
        )
    assert answer.error_code == Error.UNKNOWN_SERVER_ERROR
    assert work.calls < 100_000


def test_kip_1071_the_largest_target_is_assigned_in_time():
    node = streams_node()
    body = joins_streams(MOST_TO_ASSIGN // 1000)
    assert work_of(node, "StreamsGroupHeartbeat", 0, body) < MOST_CALLS
    answer = node.call("StreamsGroupHeartbeat", 0, **body)
    given = [len(row.partitions) for row in answer.active_tasks]
    assert sum(given) == MOST_TO_ASSIGN


def test_kip_1071_the_tasks_of_one_process_with_many_members_take_no_longer():
    node = streams_node(delay_ms=3000)
    for member in range(300):
        node.call("StreamsGroupHeartbeat", 0, **joins_streams(10, f"m{member}"))
    with counted() as work:
        node.pass_time(3000)
    assert work.calls < 40 * 10_000


# -- share groups


def test_kip_932_the_states_of_many_partitions_are_made_bit_by_bit():
    node = SharingNode(partitions=1000)
    member = node.member("a")
    with counted() as work:
        assert member.beat() == "NONE"
    most = work.calls
    end = node.now.monotonic_ms + 10_000
    while node.now.monotonic_ms < end:
        with counted() as work:
            node.pass_time(node.broker.next_deadline() - node.now.monotonic_ms)
        most = max(most, work.calls)
    assert most < 120_000
    assert member.beat() == "NONE"
    assert len(member.assigned) == 1000
