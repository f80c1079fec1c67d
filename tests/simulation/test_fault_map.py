"""The map of all faults: a run for each fault and each moment, from coarse to fine."""

import pytest

from minikafka.faults import Crash, Cut, Delay, Freeze
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.fault_map import (
    NOTHING,
    Ahead,
    Outcome,
    Place,
    fault_map,
    named,
)

LOST = Outcome("lost", "order 1")
KILL = Crash(1, restart_after_ms=5000)


class Ran:
    """What a run is here: its plan. lost_from: from this moment on the first broker's
    crash loses something.
    """

    def __init__(self, lost_from=None):
        self.lost_from = lost_from
        self.plans = []

    def run(self, plan):
        self.plans.append(plan)
        return plan

    def ended(self, plan):
        fault = plan[-1]
        is_late = self.lost_from is not None and fault.at_ms >= self.lost_from
        return LOST if isinstance(fault, Crash) and is_late else NOTHING


def mapped(ran, faults=(KILL,), moments=range(0, 320, 10), also=()):
    return fault_map(ran.run, faults, ran.ended, moments, also, processes=1)


def test_every_eighth_moment_is_run_where_nothing_differs():
    ran = Ran()
    found = mapped(ran)
    assert [plan[0].at_ms for plan in ran.plans] == [0, 80, 160, 240, 310]
    assert (found.runs, found.counts()) == (5, {"nothing": 32})


@pytest.mark.parametrize("lost_from", range(0, 330, 10))
def test_the_moment_at_which_it_changes_is_found_by_halving(lost_from):
    ran = Ran(lost_from)
    found = mapped(ran)
    for at_ms in found.moments:
        assert (found.cell(0, at_ms).outcome == LOST) == (at_ms >= lost_from)
    assert found.runs <= 5 + 3


def test_a_fault_strikes_at_the_maps_moments_whatever_its_own():
    ran = Ran()
    found = mapped(ran, [Freeze(2, at_ms=7, for_ms=50)], [100])
    assert ran.plans == [[Freeze(2, at_ms=100, for_ms=50)]]
    assert found.cell(0, 100).fault == Freeze(2, at_ms=100, for_ms=50)


def test_what_happens_in_every_run_stands_before_the_fault():
    ran = Ran()
    found = mapped(ran, moments=[100], also=[Cut(1, 2, at_ms=5)])
    [cell] = found.cells("nothing")
    assert cell.plan == [Cut(1, 2, at_ms=5), Crash(1, 100, restart_after_ms=5000)]
    assert cell.rerun() == ran.plans[0] == cell.plan


def test_a_cell_says_whether_it_was_run():
    found = mapped(Ran(150))
    tried = [cell.fault.at_ms for cell in found.rows[0] if cell.is_run]
    assert tried == [0, 80, 120, 140, 150, 160, 240, 310]


def test_its_text_has_a_line_a_fault_and_a_sign_a_moment():
    faults = KILL, Freeze(2, at_ms=0, for_ms=1500), Cut(1, 2, at_ms=0)
    text = str(mapped(Ran(30), faults, range(0, 60, 10)))
    assert text.splitlines() == [
        "                            0 to 50 ms, every 10 ms",
        "broker 1 is killed          ...lll",
        "broker 2 freezes for 1.5 s  ......",
        "broker 1 - broker 2 cut     ......",
        "                            . nothing: 15   l lost: 3   (8 runs)",
    ]


def test_less_than_a_second_is_told_in_milliseconds():
    assert named(Freeze(2, at_ms=0, for_ms=20)) == "broker 2 freezes for 20 ms"
    assert named(Cut(1, 2, at_ms=0, for_ms=999)) == "broker 1 - broker 2 cut for 999 ms"
    assert named(Freeze(2, at_ms=0, for_ms=1000)) == "broker 2 freezes for 1 s"


@pytest.mark.parametrize(
    ("faults", "moments", "words"),
    [
        ([], [1], "at least one fault"),
        ([KILL], [], "one moment"),
        ([Delay(1, 2, extra_ms=5)], [1], "has no moment"),
        ([KILL], [2, 1], "ascending"),
        ([KILL], [1, 1], "each once"),
    ],
)
def test_what_makes_no_map_is_refused(faults, moments, words):
    with pytest.raises(ValueError, match=words):
        mapped(Ran(), faults, moments)


def test_nobody_has_looked_at_a_moment_that_is_not_on_the_map():
    with pytest.raises(KeyError, match="0 to 310 ms, every 10 ms"):
        mapped(Ran()).cell(0, 5)


def test_faults_of_every_run_make_another_map_of_the_same_program():
    ran = Ran(150)
    found = mapped(ran, also=[Cut(1, 2, at_ms=5)])
    second = found.with_others([Freeze(2, at_ms=7, for_ms=50)])
    assert ran.plans[-1][0] == Freeze(2, at_ms=7, for_ms=50)
    assert second.also == (Freeze(2, at_ms=7, for_ms=50),)
    assert (second.moments, second.counts()) == (found.moments, found.counts())


def test_who_watches_sees_each_round_from_coarse_to_fine():
    ran, seen = Ran(150), []
    found = fault_map(
        ran.run,
        [KILL],
        ran.ended,
        range(0, 320, 10),
        processes=1,
        watch=lambda so_far: seen.append(so_far.runs),
    )
    assert seen == [5, 6, 7, 8] and found.runs == 8


def shop(plan):
    """An order that only the leader has acknowledged."""
    cluster = Cluster(brokers=3, seed=1, faults=plan)
    cluster.create_topic("orders", replication_factor=3)
    cluster.run_ms(max(0, 3000 - cluster.now_ms))
    cluster.producer(client_id="shop", acks=1).send("orders", value="paid")
    cluster.run(seconds=30)
    return cluster


def fared(cluster):
    values = [record.value for record in cluster.records("orders")]
    return NOTHING if values == [b"paid"] else Outcome("lost")


@pytest.mark.slow
def test_forked_processes_find_what_one_process_finds():
    faults = [Freeze(2, at_ms=0, for_ms=12_000), Crash(1, restart_after_ms=9000)]
    moments = range(2990, 3030, 10)
    alone = fault_map(shop, faults, fared, moments, processes=1)
    forked = fault_map(shop, faults, fared, moments, processes=2)
    assert str(alone) == str(forked)
    for row in alone.rows:
        for cell in row:
            if cell.is_run:
                assert fared(shop(cell.plan)) == cell.outcome


def test_a_run_that_ends_its_process_is_said_and_not_waited_for():
    def leaves(plan):
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match=r"ended by SystemExit\(3\)"):
        fault_map(leaves, [KILL], fared, [3000], processes=2)


def test_where_outcomes_change_from_moment_to_moment_each_is_run():
    ran = Ran(150)
    found = fault_map(
        ran.run, [KILL], ran.ended, range(0, 320, 10), processes=1, coarse=1
    )
    assert found.runs == 32
    assert all(cell.is_run for cell in found.rows[0])


def test_a_cell_that_is_tried_has_its_own_outcome_whatever_its_neighbours_had():
    moments = [2990, 2995, 3000]
    found = fault_map(shop, [KILL], fared, moments, processes=1, keeps_traces=True)
    _, taken, last = found.rows[0]
    assert (taken.is_run, last.is_run) == (False, True)
    by_hand = shop([*taken.plan])
    for tried in (taken.tried(), ahead(found, Place(0, 1))):
        assert tried.is_run and tried.outcome == fared(by_hand)
        assert list(map(str, tried.trace)) == list(map(str, by_hand.trace))
    assert last.tried() is last


def ahead(found, place):
    """The cell as the processes have run it that work ahead."""
    runs = Ahead(found)
    if runs._running:
        runs._running[place].wait()
    tried = runs.tried(place, found.rows[place.row][place.column])
    runs.stop()
    return tried


def test_a_kept_trace_is_that_of_the_same_plan_run_by_hand():
    kept = fault_map(shop, [KILL], fared, [3000], processes=2, keeps_traces=True)
    [cell] = kept.rows[0]
    by_hand = shop([*cell.plan]).trace
    assert [str(event) for event in cell.trace] == [str(event) for event in by_hand]
