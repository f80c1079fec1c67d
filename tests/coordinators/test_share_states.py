"""The state of share partitions, as their coordinator keeps it (KIP-932): snapshots and
updates, what two writes make together, who is fenced.
"""

from itertools import pairwise
from random import Random

import pytest

from minikafka.clock import Now
from minikafka.cluster.share_batches import StateBatch
from minikafka.coordinators.share_states import ShareKey, ShareStates, combined
from minikafka.wire.errors import KafkaError
from minikafka.wire.internal_records import (
    decode_share_record,
    encode_coordinator_record,
)
from minikafka.wire.messages import API
from minikafka.wire.schema import Message
from tests.coordinators.modern_groups import Topics

CONFIG = {
    "share.coordinator.snapshot.update.records.per.snapshot": 3,
    "share.coordinator.cold.partition.snapshot.interval.ms": 300_000,
}
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


class Coordinator:
    """One shard without a broker. log: all its records so far, encoded."""

    def __init__(self):
        self.topics = Topics(orders=2)
        self.states = ShareStates(CONFIG, self.topics.image)
        self.log = []
        self.now = Now(1_000_000, 1_700_000_000_000)
        topic_id = self.topics.image.topics["orders"].topic_id
        self.key = ShareKey("workers", topic_id, 0)

    def ask(self, what, **fields):
        """The answer's fields; KafkaError if it is refused."""
        api = {"read": "Read", "write": "Write", "initialize": "Initialize"}[what]
        asked = partition_of(f"{api}ShareGroupState", fields)
        decision = getattr(self.states, what)(self.key, asked, self.now)
        return self._commit(decision)

    def _commit(self, decision):
        for record in decision.records:
            key, value = encode_coordinator_record(*record)
            self.log.append((key, value))
            offset = len(self.log) - 1
            self.states.apply(*decode_share_record(key, value), offset)
        if decision.effect is not None:
            self.states.carry_out(str(self.key), decision.effect, self.now)
        return decision.answer

    def tick(self):
        return self._commit(self.states.tick(str(self.key), self.now))

    def kinds(self):
        return [decode_share_record(*record).name for record in self.log]

    def replayed(self, first_offset=0):
        """The states after the log from there."""
        states = ShareStates(CONFIG, self.topics.image)
        for offset, record in enumerate(self.log[first_offset:], first_offset):
            states.apply(*decode_share_record(*record), offset)
        return states.states

    def begin(self, state_epoch=2, start_offset=0):
        self.ask("initialize", state_epoch=state_epoch, start_offset=start_offset)

    def write(self, *batches, start=0, leader=0, epoch=2, done=0):
        names = StateBatch._fields
        listed = [dict(zip(names, batch, strict=True)) for batch in batches]
        fields = {"state_epoch": epoch, "leader_epoch": leader, "start_offset": start}
        more = {"delivery_complete_count": done, "state_batches": listed}
        return self.ask("write", **fields, **more)


def partition_of(api, fields) -> Message:
    """The fields of one partition of a request, through bytes."""
    schema = API[api].request
    version = schema.versions[-1]
    body = {
        "group_id": "workers",
        "topics": [{"topic_id": bytes(16), "partitions": [{"partition": 0, **fields}]}],
    }
    message, _ = schema.decode(version, memoryview(schema.to_bytes(version, body)), 0)
    return message.topics[0].partitions[0]


@pytest.fixture
def coordinator():
    return Coordinator()


def refused(action, *args, **fields):
    with pytest.raises(KafkaError) as error:
        action(*args, **fields)
    return error.value.error.name


def test_kip_932_after_some_updates_comes_a_snapshot(coordinator):
    coordinator.begin()
    for offset in range(6):
        coordinator.write((offset, offset, ACKNOWLEDGED, 1))
    update, snapshot = "ShareUpdate", "ShareSnapshot"
    assert coordinator.kinds() == [snapshot, *[update] * 3, snapshot, *[update] * 2]
    [state] = coordinator.states.states.values()
    assert state.batches == (StateBatch(0, 5, ACKNOWLEDGED, 1),)


def test_kip_932_a_snapshot_is_all_that_is_needed(coordinator):
    coordinator.begin()
    for offset in range(6):
        coordinator.write((offset, offset, ACKNOWLEDGED, 1))
    last = len(coordinator.log) - 1 - coordinator.kinds()[::-1].index("ShareSnapshot")
    assert coordinator.states.needed_from() == last
    assert coordinator.replayed(last) == coordinator.replayed()


def test_kip_932_a_share_partition_that_is_not_written_to_gets_a_snapshot(coordinator):
    coordinator.begin()
    coordinator.write((0, 4, ACKNOWLEDGED, 1))
    coordinator.now = Now(2_000_000, coordinator.now.wall_ms + 300_000)
    coordinator.tick()
    coordinator.tick()
    assert coordinator.kinds() == ["ShareSnapshot", "ShareUpdate", "ShareSnapshot"]


def test_kip_932_what_lies_before_the_start_offset_is_forgotten(coordinator):
    coordinator.begin()
    coordinator.write((0, 9, ACKNOWLEDGED, 1), (10, 14, AVAILABLE, 2))
    coordinator.write(start=7)
    [state] = coordinator.states.states.values()
    assert (state.start_offset, state.batches[0]) == (7, (7, 9, ACKNOWLEDGED, 1))


def test_kip_932_a_leader_that_has_been_replaced_can_not_write(coordinator):
    coordinator.begin()
    coordinator.ask("read", leader_epoch=5)
    batch = (0, 4, ACKNOWLEDGED, 1)
    assert refused(coordinator.write, batch, leader=4) == "FENCED_LEADER_EPOCH"
    assert coordinator.write(batch, leader=5) == {}
    assert refused(coordinator.ask, "read", leader_epoch=4) == "FENCED_LEADER_EPOCH"


def test_kip_932_what_was_delivered_before_it_began_anew_counts_no_more(coordinator):
    coordinator.begin(state_epoch=2)
    coordinator.write((0, 4, ACKNOWLEDGED, 1))
    coordinator.begin(state_epoch=3, start_offset=0)
    batch = (0, 4, ACKNOWLEDGED, 1)
    assert refused(coordinator.write, batch, epoch=2) == "FENCED_STATE_EPOCH"
    assert coordinator.ask("read", leader_epoch=0)["state_batches"] == []
    fields = {"state_epoch": 1, "start_offset": 0}
    assert refused(coordinator.ask, "initialize", **fields) == "FENCED_STATE_EPOCH"


def test_kip_932_what_was_never_begun_is_not_read_or_written(coordinator):
    assert refused(coordinator.ask, "read", leader_epoch=0) == "INVALID_REQUEST"
    assert refused(coordinator.write) == "INVALID_REQUEST"


def test_the_key_of_a_share_partition_reads_as_it_was_written(coordinator):
    key = ShareKey("a:b", bytes(range(16)), 7)
    assert ShareKey.parse(str(key)) == key
    for wrong in (
        "",
        "a:b:c",
        "a:AAAAAAAAAAAAAAAAAAAAAA:x",
        ":AAAAAAAAAAAAAAAAAAAAAA:1",
        "a:AAAAAAAAAAAAAAAAAAAAAA:2147483648",
        "a:AAAAAAAAAAAAAAAAAAAAAA:-2147483649",
        f"a:AAAAAAAAAAAAAAAAAAAAAA:{'9' * 5000}",
        "a:AAAAAAAAAAAAAAAAAAAAAA:1_0",
    ):
        assert refused(ShareKey.parse, wrong) == "INVALID_REQUEST"


def by_offset(batches, start=-1):
    """What happened last to each record: the most deliveries, then the furthest."""
    last = {}
    for batch in batches:
        for offset in range(max(batch.first_offset, start), batch.last_offset + 1):
            said = batch.delivery_count, batch.delivery_state
            last[offset] = max(said, last.get(offset, said))
    return last


def test_of_batches_that_overlap_what_happened_later_counts():
    """Random ones, against what is said of each record alone."""
    random = Random(7)
    for _ in range(500):
        some = []
        for _ in range(random.randint(0, 8)):
            first = random.randint(0, 30)
            last = first + random.randint(0, 9)
            state = random.choice((AVAILABLE, ACKNOWLEDGED, ARCHIVED))
            some.append(StateBatch(first, last, state, random.randint(1, 3)))
        start = random.choice((-1, random.randint(0, 20)))
        found = combined(some[:4], some[4:], start)
        assert by_offset(found) == by_offset(some, start)
        for one, other in pairwise(found):
            assert one.last_offset < other.first_offset
            touch = one.last_offset + 1 == other.first_offset
            assert not touch or one[2:] != other[2:], "neighbours that say the same"
