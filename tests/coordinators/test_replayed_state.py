"""Whoever takes over as coordinator, at whatever moment, knows what the last one knew:
after each commit the partition is read again from its beginning, and the states are
compared.
"""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from minikafka.clients.structs import OffsetAndMetadata
from minikafka.coordinators.classic_group import ClassicGroup
from minikafka.coordinators.classic_state import EMPTY, STABLE
from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.coordinators.runtime import Runtime, Shard
from minikafka.coordinators.transactions import Transactions
from minikafka.simulation.cluster import Cluster
from tests.coordinators.consumer_groups import hard_state
from tests.coordinators.purity import state_of
from tests.simulation.members import member, reads, sent


def said_by_records(group):
    """The part of a group that its records say."""
    if isinstance(group, ConsumerGroup):
        return state_of(hard_state(group))
    return {
        "generation": group.generation,
        "protocol": group.protocol,
        "leader": group.members.leader,
        "topics": group.topics,
        "assignments": dict(group.assignments),
        "members": {
            each.member_id: (
                each.instance_id,
                each.client_id,
                each.rebalance_timeout_ms,
                each.session_timeout_ms,
                each.protocols.get(group.protocol),
            )
            for each in group.members.values()
        },
    }


def is_between_agreements(group):
    """Members come and go, and have agreed on nothing yet: that is soft."""
    return isinstance(group, ClassicGroup) and group.state not in (EMPTY, STABLE)


class Replays:
    """Compares whenever a record is committed. compared: how often, by what."""

    def __init__(self, monkeypatch):
        self.compared = Counter()
        self.new_states = {}
        elected, commits = Runtime.elected, Shard._is_committed

        def is_elected(runtime, partition, replica):
            elected(runtime, partition, replica)
            new_state = partial(runtime._new_state, partition)
            self.new_states[runtime.shards[partition]] = new_state

        def is_committed(shard, write, now):
            commits(shard, write, now)
            self.compare(shard)

        monkeypatch.setattr(Runtime, "elected", is_elected)
        monkeypatch.setattr(Shard, "_is_committed", is_committed)

    def compare(self, shard):
        state = self.new_states[shard]()
        for _ in replace(shard, state=state, open={})._load():
            pass
        if isinstance(state, Transactions):
            self.compared["transactions"] += 1
            assert state.transactions == shard.state.transactions
            assert state.size_bytes == shard.state.size_bytes
            return
        self.compared["offsets"] += 1
        assert state_of(state.offsets) == state_of(shard.state.offsets)
        for name, group in shard.state.groups.items():
            if not is_between_agreements(group):
                self.compared[group.type] += 1
                assert said_by_records(state.groups[name]) == said_by_records(group)


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
    assert replays.compared["transactions"] > 30
