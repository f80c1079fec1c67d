"""A slice of each hostile day, in every test run; `make soak` runs them as long as one
likes.
"""

from contextlib import closing
from random import Random

import pytest

from minikafka.storage.log import Log
from tests.conformance.test_every_version import errors_in
from tests.simulation import clearing_schedules as clearing
from tests.simulation import disk_schedules as disks
from tests.soak import epochs
from tests.soak.clients import SERVED
from tests.soak.copier import copy
from tests.soak.core import Core
from tests.soak.damage_on_three import cases, run
from tests.soak.failover import failover
from tests.soak.nodes import Nodes
from tests.soak.stopped_leader import hold
from tests.soak.tcp import Tcp

pytestmark = [pytest.mark.first, pytest.mark.apart, pytest.mark.slow]

AT_NIGHT = [pytest.param(seed, marks=pytest.mark.nightly) for seed in (2, 3)]


@pytest.mark.parametrize("seed", [1, *AT_NIGHT])
def test_no_request_out_of_thousands_stops_the_node_or_is_left_without_its_one_answer(
    seed,
):
    """With a silence of an hour, a stop or a crash, and a new start on the same disk in
    between.
    """
    Core(seed).run(3100)


# without an authorizer, unless nothing is asked; of brokers that were never there; over
# plaintext; with a static quorum
REFUSED = {
    *("CreateAcls", "DeleteAcls", "DescribeAcls", "UnregisterBroker"),
    *("SaslHandshake", "SaslAuthenticate", "AddRaftVoter", "RemoveRaftVoter"),
    *("CreateDelegationToken", "DescribeDelegationToken"),
    *("RenewDelegationToken", "ExpireDelegationToken"),
}


@pytest.mark.nightly
def test_the_traffic_gets_as_far_as_an_answer_without_an_error_from_every_api():
    core, served = Core(4), set()
    learn = core.traffic.world.learn

    def listen(api, body, answer):
        learn(api, body, answer)
        if errors_in(answer) <= {0}:
            served.add(api)

    core.traffic.world.learn = listen
    core.run(6000)
    assert served - REFUSED == set(SERVED) - REFUSED


def test_a_seed_is_the_same_day_again():
    def steps():
        core = Core(5)
        core.run(300)
        return core.now, core.steps

    assert steps() == steps()


@pytest.mark.parametrize("seed", [1, *AT_NIGHT])
def test_no_request_to_the_listener_of_the_nodes_stops_one_or_leaves_a_poison_behind(
    seed,
):
    """Three nodes elect and take a write afterwards, and again when they are started
    from their disks.
    """
    Nodes(seed).run(1500)


@pytest.mark.nightly
def test_a_seed_of_the_listener_of_the_nodes_is_the_same_day_again():
    def steps():
        nodes = Nodes(5)
        nodes.run(200)
        return nodes.cluster.now_ms, nodes.steps

    assert steps() == steps()


@pytest.mark.nightly
def test_over_tcp_an_honest_client_is_served_among_hostile_ones():
    with closing(Tcp(1)) as tcp:
        tcp.run(800)


@pytest.mark.parametrize("seed", [1, *AT_NIGHT])
@pytest.mark.parametrize("run", [disks.Run, clearing.Run, epochs.Run])
def test_nothing_is_lost_to_failing_disks_deletions_the_cleaner_or_the_end_of_the_epochs(
    run, seed, capsys
):
    """A failing disk, and an older data folder; DeleteRecords and the cleaner beside
    transactions; each producer id with two epochs, over restarts.
    """
    schedule = {disks.Run: disks.Schedule, clearing.Run: clearing.Schedule}
    assert not run(schedule.get(run, epochs.Schedule)(seed)).problems


@pytest.mark.nightly
def test_a_log_that_forgets_what_was_aborted_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr(Log, "aborted_transactions", lambda *_: [])
    assert clearing.Run(clearing.Schedule(1)).problems


@pytest.mark.nightly
def test_a_producer_id_runs_out_of_epochs_more_than_once(capsys):
    ids = epochs.Run(epochs.Schedule(4)).ids
    assert max(map(len, ids.values())) > 2


SOME = 12


def test_a_damaged_file_of_one_broker_out_of_three_costs_no_record():
    chosen = Random(7).sample(cases(), SOME)
    verdicts = {case: run(case, seed=7) for case in chosen}
    assert set(verdicts.values()) == {"whole", "refused", None}, verdicts


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.java
def test_no_acknowledged_record_is_lost_when_one_of_three_brokers_dies_again_and_again():
    """kill -9, idempotent producers with acks=all, groups of both protocols:
    librdkafka's and Java's.
    """
    assert "3 kills" in failover(rounds=3, seed=1, apache=False)


@pytest.mark.nightly
def test_kip_98_what_is_copied_in_transactions_is_there_once_though_the_copier_and_a_broker_are_killed():
    assert "5 kills of the copier, 1 of a broker" in copy(kills=5, seed=1, apache=False)


@pytest.mark.nightly
def test_kip_98_more_transactions_than_one_request_can_name_end_when_the_leader_that_stood_still_is_back():
    """24,000 markers from two coordinators to one broker, which takes 10,000 in a
    request.
    """
    assert "every record is there once" in hold(
        transactions=120, partitions=200, kill=True
    )
