"""The runtime: decide, append, wait for the high watermark, apply, answer."""

from dataclasses import replace

import pytest

from minikafka.clock import Now
from minikafka.cluster.metadata import Partition
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.runtime import Record, Runtime
from minikafka.storage.disk import MemoryDisk
from minikafka.storage.log import Log, LogConfig
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import encode_batch, read_header

NOW = Now(1_000, 1_767_225_600_000)


class Counters:
    """A state of the simplest kind: the committed offset of each group."""

    def __init__(self):
        self.offsets = {}
        self.due = {}
        self.ticked = []

    def apply(self, name, key, value):
        self.offsets[key.group] = value.offset

    def loaded(self, now):
        return self.offsets

    def tick(self, key, now):
        self.ticked.append((key, now.monotonic_ms))
        del self.due[key]
        return ()

    def next_deadline(self, key):
        return self.due.get(key)


def record(group, offset):
    value = {"offset": offset, "metadata": "", "commit_timestamp": 0}
    return Record("OffsetCommit", {"group": group, "topic": "orders", "partition": 0}, value)


ALONE, TWO = (1,), (1, 2)  # who is in sync


class Scene:
    """A runtime over one partition, led by broker 1; broker 2, if it is in sync, has what `commit` gives it. `done`
    lists what was answered, in order; `written` the log's ends that followers were told of.
    """

    def __init__(self, isr=TWO, disk=None, committed=None):
        self.log = Log(disk or MemoryDisk(), "offsets-0", LogConfig(), Trace("broker 1", []), "offsets", 0)
        list(self.log.recover(1 << 20))
        self.done, self.written, self.notices = [], [], []
        high_watermark = self.log.log_end_offset if committed is None else committed
        partition = Partition((1, 2), isr, 1, 0, 0)
        self.replica = Replica(bytes(16), partition, self.log, 1, Trace("broker 1", []), self, high_watermark)
        self.state = Counters()
        self.runtime = Runtime(lambda _: self.state, self.tell)
        self.runtime.elected(0, self.replica)

    def tell(self, line, error):
        self.notices.append(line)

    def appended(self, replica, size_bytes, now):
        self.written.append(self.log.log_end_offset)

    def high_watermark_advanced(self, replica, size_bytes):
        """The broker tells the runtime when the request at hand has been dealt with."""

    def load(self):
        while self.runtime.next_deadline() == 0:
            self.runtime.tick(NOW, 1)
        return self

    def submit(self, group, decide):
        wait = Wait()
        wait.then(self.done.append)
        self.runtime.submit(0, group, decide, wait, NOW)
        end = -1
        while self.replica.partition.isr == ALONE and end < self.log.log_end_offset:
            end = self.log.log_end_offset
            self.runtime.high_watermark_advanced(0, NOW)
        return wait

    def add(self, group):
        """Add one to a group's offset."""

        def decide(wait, now):
            offset = self.state.offsets.get(group, 0) + 1
            return [record(group, offset)], {"offset": offset}

        return self.submit(group, decide)

    def commit(self):
        self.replica.follower_fetched(2, self.log.log_end_offset)
        self.runtime.high_watermark_advanced(0, NOW)


@pytest.fixture
def scene():
    return Scene().load()


def test_an_answer_waits_for_the_high_watermark_and_so_does_the_state(scene):
    wait = scene.add("a")
    assert not wait.is_done
    assert scene.state.offsets == {}
    scene.commit()
    assert wait.answer == {"offset": 1}
    assert scene.state.offsets == {"a": 1}
    assert scene.done == [wait]


def test_requests_for_one_key_see_only_what_is_committed_so_they_queue(scene):
    first, second, third = scene.add("a"), scene.add("a"), scene.add("a")
    assert scene.log.log_end_offset == 1
    for wait, offset in ((first, 1), (second, 2), (third, 3)):
        scene.commit()
        assert wait.answer == {"offset": offset}


def test_followers_are_told_of_what_a_queued_request_appends(scene):
    scene.add("a"), scene.add("a")
    assert scene.written == [1]
    scene.commit()
    assert scene.written == [1, 2]


def test_other_keys_do_not_wait(scene):
    scene.add("a"), scene.add("a")
    other = scene.add("b")
    scene.commit()
    assert other.is_done


def test_a_key_is_let_in_at_once_where_there_is_one_replica():
    scene = Scene(ALONE).load()
    assert [scene.add("a").answer["offset"] for _ in range(3)] == [1, 2, 3]


def test_a_refusal_answers_and_writes_nothing(scene):
    def decide(wait, now):
        raise KafkaError(Error.UNKNOWN_MEMBER_ID)

    wait = scene.submit("a", decide)
    assert wait.error.error is Error.UNKNOWN_MEMBER_ID
    assert scene.log.log_end_offset == 0


def test_nothing_is_decided_while_too_few_replicas_are_in_sync():
    scene = Scene(isr=()).load()
    assert scene.add("a").error.error is Error.COORDINATOR_NOT_AVAILABLE
    assert scene.log.log_end_offset == 0


def test_a_new_leader_loads_in_slices_and_refuses_meanwhile():
    disk = MemoryDisk()
    before = Scene(ALONE, disk).load()
    for _ in range(50):
        before.add("a"), before.add("b")
    before.log.close()
    after = Scene(ALONE, disk)
    with pytest.raises(KafkaError) as refused:
        after.add("a")
    assert refused.value.error is Error.COORDINATOR_LOAD_IN_PROGRESS
    assert after.load().state.offsets == {"a": 50, "b": 50}
    assert after.add("a").answer == {"offset": 51}


def test_a_new_leader_loads_when_all_that_the_former_one_answered_for_is_committed_here_too():
    disk = MemoryDisk()
    before = Scene(ALONE, disk).load()
    for _ in range(50):
        before.add("a")
    before.log.close()
    after = Scene(TWO, disk, committed=30)
    assert after.runtime.next_deadline() is None
    after.runtime.tick(NOW, 1 << 20)
    with pytest.raises(KafkaError) as refused:
        after.add("a")
    assert refused.value.error is Error.COORDINATOR_LOAD_IN_PROGRESS
    after.commit()
    assert after.load().state.offsets == {"a": 50}


def test_a_load_ends_when_the_partition_moves_away():
    disk = MemoryDisk()
    before = Scene(ALONE, disk).load()
    before.add("a")
    before.log.close()
    after = Scene(ALONE, disk)
    after.runtime.resigned(0)
    assert after.runtime.next_deadline() is None
    after.runtime.tick(NOW, 1 << 20)
    assert after.state.offsets == {}


def test_whoever_waits_when_the_partition_moves_away_is_sent_to_look_for_the_new_coordinator(scene):
    waiting = [scene.add("a"), scene.add("a"), scene.submit("b", lambda *_: ((), None))]
    scene.runtime.resigned(0)
    assert [wait.error.error for wait in waiting] == [Error.NOT_COORDINATOR] * 3
    with pytest.raises(KafkaError) as refused:
        scene.add("a")
    assert refused.value.error is Error.NOT_COORDINATOR


def test_a_key_is_ticked_when_its_deadline_comes_and_not_before(scene):
    scene.state.due["a"] = 5_000
    scene.submit("a", lambda *_: ((), {}))
    assert scene.runtime.next_deadline() == 5_000
    scene.runtime.tick(Now(4_999, 0), 1)
    scene.runtime.tick(Now(5_000, 0), 1)
    assert scene.state.ticked == [("a", 5_000)]
    assert scene.runtime.next_deadline() is None


def test_a_deadline_from_before_the_partition_moved_away_and_back_means_nothing_while_it_is_loaded(scene):
    scene.state.due["a"] = 5_000
    scene.submit("a", lambda *_: ((), {}))
    scene.runtime.resigned(0)
    scene.runtime.elected(0, scene.replica)
    scene.runtime.tick(Now(5_000, 0), 1)
    assert scene.state.ticked == []


def test_a_tick_waits_while_too_few_replicas_are_in_sync(scene):
    scene.state.due["a"] = 5_000
    scene.submit("a", lambda *_: ((), {}))
    whole = scene.replica.partition
    scene.replica.partition = replace(whole, isr=())
    scene.runtime.tick(Now(5_000, 0), 1)
    assert scene.state.ticked == []
    assert scene.runtime.next_deadline() == 5_500
    scene.replica.partition = whole
    scene.runtime.tick(Now(5_500, 0), 1)
    assert scene.state.ticked == [("a", 5_500)]


def test_an_wait_ends_once(scene):
    held = []
    wait = scene.submit("a", lambda wait, _: (held.append(wait), ((), None))[1])
    held[0].finish({"first": True})
    held[0].finish({"second": True})
    held[0].fail(KafkaError(Error.NOT_COORDINATOR))
    assert wait.answer == {"first": True} and wait.error is None
    assert scene.done == [wait]


def test_a_record_of_a_newer_kafka_is_skipped():
    disk = MemoryDisk()
    scene = Scene(ALONE, disk).load()
    scene.add("a")
    batch = bytearray(encode_batch([(0, b"\x00\x7bnew", b"\x00\x00", [])]))
    scene.log.append(batch, 0, NOW, [read_header(batch)])
    after = Scene(ALONE, disk)
    assert after.load().state.offsets == {"a": 1}
