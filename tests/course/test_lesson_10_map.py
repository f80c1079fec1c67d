"""When a leader's failure loses acknowledged orders, with unclean leader election and
without (KIP-966), as lesson 10 maps it.
"""

import pytest

from minikafka.course.experiments.lesson_10_map import (
    AWAY_MS,
    BACK_MS,
    EVERY_S,
    FOLLOWER,
    LEADER,
    fared,
    orders_while_the_follower_is_away,
    whenever_the_leader_fails,
)
from minikafka.faults import Crash
from minikafka.theatre import picture

pytestmark = pytest.mark.slow

POWER = 1  # the row of a loss of power


@pytest.fixture(scope="module")
def clean():
    return whenever_the_leader_fails(unclean=False)


@pytest.fixture(scope="module")
def unclean():
    return whenever_the_leader_fails(unclean=True)


def alone_ms(trace):
    """When the leader is alone in the ISR, where nothing else goes wrong."""
    shrunk, grew = [
        event.at for event in trace if event.kind in ("IsrShrunk", "IsrExpanded")
    ]
    return shrunk, grew


def lost_at(found, row):
    return [cell.fault.at_ms for cell in found.rows[row] if cell.outcome.kind == "lost"]


def test_it_is_lost_only_while_the_leader_is_alone_in_the_isr(clean, unclean):
    shrunk, grew = alone_ms(orders_while_the_follower_is_away([], unclean=False).trace)
    assert AWAY_MS < shrunk < BACK_MS < grew < BACK_MS + 1000 * EVERY_S
    dangerous = [at_ms for at_ms in clean.moments if shrunk < at_ms < grew]
    assert lost_at(clean, POWER) == dangerous
    for row in range(3):
        assert lost_at(unclean, row) == dangerous


def test_without_unclean_election_only_a_loss_of_power_loses_something(clean):
    assert lost_at(clean, 0) == lost_at(clean, 2) == []
    assert set(clean.counts()) == {"nothing", "lost"}


def test_with_two_that_must_be_in_sync_nothing_is_lost_all_the_same():
    found = whenever_the_leader_fails(unclean=True, min_insync_replicas=2)
    assert list(found.counts()) == ["nothing"]


def test_a_cell_is_the_same_plan_run_by_hand(unclean):
    cell = unclean.cell(2, 20_000)
    by_hand = orders_while_the_follower_is_away(cell.plan, unclean=True)
    assert fared(by_hand) == cell.outcome
    assert list(map(str, by_hand.trace)) == list(map(str, cell.trace))
    assert by_hand.leader("orders", 0) == FOLLOWER != LEADER


def test_who_is_elected_is_drawn_as_leading_and_not_as_fenced():
    plan = [Crash(LEADER, at_ms=17_000, restart_after_ms=60_000)]
    cluster = orders_while_the_follower_is_away(plan, unclean=True)
    scenes = picture("replica-set", cluster.trace).scenes
    [elected] = [each for each in scenes if "leads now" in each["sentence"][:20]]
    lives = {copy["broker"]: copy["life"] for copy in elected["space"]["copies"]}
    assert elected["space"]["leader"] == FOLLOWER and lives[FOLLOWER] == ""
