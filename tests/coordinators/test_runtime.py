"""The runtime: decide, append, wait for the high watermark, apply, change, answer."""

import pytest

from minikafka.clock import Now
from minikafka.cluster.timers import NEVER_MS
from minikafka.coordinators.runtime import TICK_RETRY_MS, Decision
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import encode_batch, read_header
from tests.coordinators.scene import (
    ALONE,
    NOW,
    TWO,
    WRITE_TIMEOUT_MS,
    Note,
    Scene,
    record,
)


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
    def decide(now):
        raise KafkaError(Error.UNKNOWN_MEMBER_ID)

    wait = scene.submit("a", decide)
    assert wait.error.error is Error.UNKNOWN_MEMBER_ID
    assert scene.log.log_end_offset == 0


def test_nothing_is_written_while_too_few_replicas_are_in_sync_and_what_needs_no_record_goes_on():
    scene = Scene(isr=()).load()
    assert scene.add("a").error.error is Error.COORDINATOR_NOT_AVAILABLE
    assert scene.log.log_end_offset == 0
    assert scene.submit("a", lambda _: Decision((), {"fine": True})).answer == {
        "fine": True
    }


def test_a_change_and_the_answer_come_after_the_records_are_applied(scene):
    decision = Decision([record("a", 1)], {}, Note("changed"))
    wait = scene.submit("a", lambda _: decision)
    assert scene.state.noted == []
    scene.commit()
    assert scene.state.noted == [("changed", {"a": 1})] and wait.is_done


def test_the_trace_tells_of_a_change_the_request_that_it_was_for(scene):
    causes = []
    scene.state.carry_out = lambda *_: causes.append(scene.trace.cause)
    scene.trace.cause = ("producer 1", 7)
    scene.submit("a", lambda _: Decision([record("a", 1)], {}, Note()))
    scene.trace.cause = ("broker 2", 8)
    scene.commit()
    assert causes == [("producer 1", 7)]
    assert scene.trace.cause == ("broker 2", 8)


def test_a_change_may_lead_to_records_and_the_answer_waits_for_them_too(scene):
    more = Decision([record("a", 9)])
    left = Decision((), {"left": True}, Note("left", leads_to=more))
    wait = scene.submit("a", lambda _: left)
    behind = scene.add("a")
    assert not wait.is_done
    scene.commit()
    assert wait.answer == {"left": True}
    assert scene.state.offsets == {"a": 9}
    scene.commit()
    assert behind.answer == {"offset": 10}


# -- what can't be written


def test_what_is_not_committed_within_offsets_commit_timeout_ms_is_refused_and_so_is_what_queues_behind_it(
    scene,
):
    first = scene.add("a")
    scene.go_to(3_000)
    second = scene.add("a")
    assert scene.timers.next() == 1_000 + WRITE_TIMEOUT_MS
    scene.go_to(6_000)
    assert first.error.error is Error.COORDINATOR_NOT_AVAILABLE and not second.is_done
    scene.go_to(8_000)
    assert second.error.error is Error.COORDINATOR_NOT_AVAILABLE
    assert scene.state.offsets == {}


def test_a_record_that_came_too_late_for_its_answer_counts_all_the_same(scene):
    scene.add("a"), scene.add("a")
    scene.go_to(6_000)
    scene.commit()
    assert scene.state.offsets == {"a": 1}, (
        "the second was refused before it was decided"
    )
    assert scene.timers.next() == NEVER_MS


def test_whoever_else_waits_for_a_record_hears_once_that_it_failed_and_its_change_never_comes(
    scene,
):
    decision = Decision([record("a", 1)], {}, Note("changed"), Note("failed"))
    scene.submit("a", lambda _: decision)
    scene.go_to(6_000)
    scene.commit()
    assert scene.state.given_up == [("failed", Error.COORDINATOR_NOT_AVAILABLE)]
    assert scene.state.noted == []
    assert scene.state.offsets == {"a": 1}


def test_records_larger_than_max_message_bytes_are_refused_and_change_nothing():
    scene = Scene(ALONE).load()
    long = record("a", 1)._replace(
        value={"offset": 1, "metadata": "x" * 30_000, "commit_timestamp": 0}
    )
    decision = Decision([long] * 40, {}, Note("changed"), Note("failed"))
    assert (
        scene.submit("a", lambda _: decision).error.error is Error.UNKNOWN_SERVER_ERROR
    )
    assert scene.state.given_up == [("failed", Error.UNKNOWN_SERVER_ERROR)]
    assert scene.state.noted == []
    assert scene.log.log_end_offset == 0
    assert scene.add("a").answer == {"offset": 1}


def test_a_bug_in_a_decision_ends_the_request_and_is_told(scene):
    assert (
        scene.submit("a", lambda _: {}["nothing"]).error.error
        is Error.UNKNOWN_SERVER_ERROR
    )
    assert "KeyError" in scene.notices[0]
    scene.add("a")
    scene.commit()
    assert scene.state.offsets == {"a": 1}


# -- loading


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
    assert after.timers.next() == NEVER_MS
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
    assert after.timers.next() == NEVER_MS
    after.runtime.tick(NOW, 1 << 20)
    assert after.state.offsets == {}


def test_whoever_waits_when_the_partition_moves_away_is_sent_to_look_for_the_new_coordinator(
    scene,
):
    waiting = [scene.add("a"), scene.add("a"), scene.submit("b", lambda _: Decision())]
    scene.runtime.resigned(0)
    assert [wait.error.error for wait in waiting] == [Error.NOT_COORDINATOR] * 3
    with pytest.raises(KafkaError) as refused:
        scene.add("a")
    assert refused.value.error is Error.NOT_COORDINATOR


def test_a_key_is_ticked_when_its_deadline_comes_and_not_before(scene):
    scene.state.due["a"] = 5_000
    scene.submit("a", lambda _: Decision((), {}))
    assert scene.timers.next() == 5_000
    scene.runtime.tick(Now(4_999, 0), 1)
    scene.runtime.tick(Now(5_000, 0), 1)
    assert scene.state.ticked == [("a", 5_000)]
    assert scene.timers.next() == NEVER_MS


def test_a_deadline_from_before_the_partition_moved_away_and_back_means_nothing_while_it_is_loaded(
    scene,
):
    scene.state.due["a"] = 5_000
    scene.submit("a", lambda _: Decision((), {}))
    scene.runtime.resigned(0)
    scene.runtime.elected(0, scene.replica)
    scene.runtime.tick(Now(5_000, 0), 1)
    assert scene.state.ticked == []


def test_a_tick_that_cannot_write_is_tried_again(scene):
    scene.state.due["a"] = 5_000
    scene.state.tick_records = [record("a", 7)]
    scene.submit("a", lambda _: Decision((), {}))
    whole = scene.only_some_in_sync()
    scene.go_to(5_000)
    assert scene.state.ticked == []
    assert scene.timers.next() == 5_000 + TICK_RETRY_MS
    scene.replica.partition = whole
    scene.go_to(5_000 + TICK_RETRY_MS)
    scene.commit()
    assert scene.state.ticked == [("a", 5_000 + TICK_RETRY_MS)]
    assert scene.state.offsets == {"a": 7}


def test_a_key_whose_records_are_not_committed_is_ticked_when_they_are(scene):
    scene.add("a")
    scene.state.due["a"] = 2_000
    scene.go_to(3_000)
    assert scene.state.ticked == []
    scene.commit()
    assert scene.timers.next() == 2_000
    scene.go_to(3_001)
    assert scene.state.ticked == [("a", 3_001)]


def test_a_wait_ends_once(scene):
    wait = scene.submit("a", lambda _: Decision())
    wait.finish({"first": True})
    wait.finish({"second": True})
    wait.fail(KafkaError(Error.NOT_COORDINATOR))
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
