"""Whoever takes over as coordinator, at whatever moment, knows what the last one knew:
after each write that is committed the partition is read again from its beginning, and
the states are compared.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from minikafka.clients.structs import OffsetAndMetadata
from minikafka.coordinators.classic_state import EMPTY, STABLE
from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.coordinators.groups import Groups
from minikafka.coordinators.runtime import Runtime, Shard
from minikafka.coordinators.transactions import Transactions
from minikafka.simulation.cluster import Cluster
from minikafka.wire.errors import Error
from tests.coordinators.modern_groups import hard_state
from tests.coordinators.party import Party
from tests.coordinators.purity import state_of
from tests.simulation.group_schedules import PROTOCOLS, Run, Schedule
from tests.simulation.members import member, reads, sent


def agreement(group):
    """What the members of a classic group agree on, as a record says it."""
    return {
        "generation": group.generation,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "leader": group.members.leader,
        "topics": group.topics,
        "assignments": dict(group.assignments),
        "members": [
            (
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                each.rebalance_timeout_ms,
                each.session_timeout_ms,
                each.protocols.get(group.protocol),
            )
            for each in group.members.values()
        ],
        "empty_since_ms": group.empty_since_ms,
    }


def compare_groups(live, replayed):
    """Also between two agreements, when members come and go: that is soft."""
    if isinstance(live, ConsumerGroup):
        assert state_of(hard_state(replayed)) == state_of(hard_state(live))
        return
    assert agreement(replayed.agreed) == agreement(live.agreed)
    if live.state in (EMPTY, STABLE):
        assert replayed.state == live.state
        assert agreement(live) == agreement(live.agreed)


class Replays:
    """Compares whenever something is committed. compared: how often, by what."""

    def __init__(self, monkeypatch):
        self.compared = Counter()
        self.new_states = {}
        self.has_ended = False
        elected, commits = Runtime.elected, Shard._is_committed
        ends, advanced = Groups.end_transaction, Runtime.high_watermark_advanced

        def is_elected(runtime, partition, replica):
            elected(runtime, partition, replica)
            shard = runtime.shards[partition]
            self.new_states[shard] = partial(runtime._new_state, partition)

        def is_committed(shard, write, now):
            commits(shard, write, now)
            self.compare(shard, write.next_offset)

        def end_transaction(groups, producer_id, committed):
            ends(groups, producer_id, committed)
            self.has_ended = groups._live

        def has_advanced(runtime, partition, now):
            self.has_ended = False
            advanced(runtime, partition, now)
            if self.has_ended:
                self.compared["markers"] += 1
                shard = runtime.shards[partition]
                self.compare(shard, shard.replica.high_watermark)

        monkeypatch.setattr(Runtime, "elected", is_elected)
        monkeypatch.setattr(Shard, "_is_committed", is_committed)
        monkeypatch.setattr(Groups, "end_transaction", end_transaction)
        monkeypatch.setattr(Runtime, "high_watermark_advanced", has_advanced)

    def compare(self, shard, next_offset):
        """next_offset: so far the records are applied."""
        state = self.new_states[shard]()
        replica = SimpleNamespace(log=shard.replica.log, high_watermark=next_offset)
        for _ in replace(shard, state=state, replica=replica, open={})._load():
            pass
        if isinstance(state, Transactions):
            self.compared["transactions"] += 1
            assert state.transactions == shard.state.transactions
            assert state.size_bytes == shard.state.size_bytes
            return
        self.compared["offsets"] += 1
        assert state_of(state.offsets) == state_of(shard.state.offsets)
        assert state.groups.keys() == shard.state.groups.keys()
        for name, group in shard.state.groups.items():
            self.compared[group.type] += 1
            compare_groups(group, state.groups[name])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_of_groups_and_their_offsets(monkeypatch, protocol):
    replays = Replays(monkeypatch)
    with Cluster(seed=7) as cluster:
        sent(cluster, count=60, partitions=6)
        first, second, third = [
            member(cluster, group_protocol=protocol, enable_auto_commit=True)
            for _ in range(3)
        ]
        for each in (first, second):
            cluster.start(reads, each)
        cluster.run(seconds=15)
        cluster.start(reads, third)
        cluster.run(seconds=15)
        second.close()
        cluster.crash(first)
        cluster.create_partitions("orders", 8)
        cluster.run(seconds=60)
        third.close()
        cluster.run(seconds=5)
    assert replays.compared[protocol] > 3 and replays.compared["offsets"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2 * len(PROTOCOLS)))
def test_of_groups_in_trouble(monkeypatch, number):
    replays = Replays(monkeypatch)
    Run(Schedule(number))
    assert replays.compared["offsets"] > 10


def committed_late(party, ask):
    """A write that is committed when all who waited for it were refused."""
    party.hold_back()
    assert ask() is None
    party.pass_time(6_000)
    party.let_through()


def test_of_an_assignment_that_came_too_late(monkeypatch):
    replays = Replays(monkeypatch)
    party = Party()
    party.join("a")
    party.pass_time(1)
    party.answer("a")
    before = replays.compared["classic"]
    committed_late(party, lambda: party.sync("a", {"a": b"all"}))
    assert replays.compared["classic"] > before
    assert party.state == "PreparingRebalance", "it was told to start over"
    assert party.join("a").generation_id == 2


def test_of_a_static_member_whose_place_was_given_to_another_process_too_late(
    monkeypatch,
):
    replays = Replays(monkeypatch)
    party = Party()
    party.stable("a", instance="till-1")
    former_id = party.ids.pop("a")
    before = replays.compared["classic"]
    committed_late(party, lambda: party.join("a", instance="till-1"))
    assert replays.compared["classic"] > before
    [member] = party.describe().members
    assert member.member_id != former_id and member.group_instance_id == "till-1"
    party.join("a", instance="till-1")
    party.let_through()
    assert party.heartbeat("a") is Error.NONE


def test_of_a_group_that_became_empty_too_late(monkeypatch):
    replays = Replays(monkeypatch)
    party = Party()
    party.stable("a")
    before = replays.compared["classic"]
    committed_late(party, lambda: party.ask("a", "LeaveGroup", 2, **leaving(party)))
    assert replays.compared["classic"] > before
    assert party.state == "Empty"


def leaving(party):
    return {"group_id": party.group, "member_id": party.ids["a"]}


def test_of_transactional_ids(monkeypatch):
    replays = Replays(monkeypatch)
    with Cluster(seed=5) as cluster:
        sent(cluster, count=6)
        reader = member(cluster, enable_auto_commit=False)
        while not reader.poll(timeout_ms=9000):
            pass
        offsets = {place: OffsetAndMetadata(2, "", -1) for place in reader.assignment()}
        for ending in ("commit_transaction", "abort_transaction") * 2:
            producer = cluster.producer(transactional_id="pay")
            producer.init_transactions()
            for _ in range(2):
                producer.begin_transaction()
                producer.send("orders", value="a", partition=0)
                producer.send("orders", value="b", partition=1)
                producer.send_offsets_to_transaction(offsets, reader.group_metadata())
                getattr(producer, ending)()
        producer.begin_transaction()
        producer.send("orders", value="open", partition=0)
        producer.flush()
        cluster.run(seconds=90)  # its time is over
    assert replays.compared["transactions"] > 30 and replays.compared["markers"] > 4
