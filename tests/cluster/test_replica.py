"""What counts, and when: the high watermark of a partition and of the metadata log."""

from dataclasses import replace

import pytest

from minikafka.clock import Now
from minikafka.cluster.metadata import Partition
from minikafka.cluster.quorum import Voter
from minikafka.cluster.replica import Replica
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.config import LogConfig
from minikafka.storage.log import Log
from minikafka.trace import Trace
from minikafka.wire.records import encode_batch, read_header

NOW = Now(1_000, 1_767_225_600_000)
OF_THREE = Partition((1, 2, 3), (1, 2, 3), 1, 0, 0)


class Led:
    """A partition that broker 1 leads. told: what the replica's listener heard."""

    def __init__(self, kind=Replica, partition=OF_THREE, log=None, high_watermark=0):
        self.told = []
        self.log = log or Log(
            MemoryDisk(), "orders-0", LogConfig(), Trace("broker 1"), "orders", 0
        )
        self.replica = kind(bytes(16), partition, self.log, 1, self, high_watermark)
        self.replica.follow_image(partition)

    def appended(self, replica, size_bytes, now):
        self.told.append(("appended", replica.log.log_end_offset))

    def high_watermark_advanced(self, replica, size_bytes):
        self.told.append(("counts", replica.high_watermark))

    def follower_fetched(self, broker, offset, at_ms=NOW.monotonic_ms):
        self.replica.follower_fetched(broker, offset, Now(at_ms, NOW.wall_ms))

    def append(self, count=1):
        batch = bytearray(encode_batch([(NOW.wall_ms, None, b"x", [])] * count))
        return self.replica.append(batch, [read_header(batch)], NOW)

    def in_sync(self, *brokers, leader=1, leader_epoch=0):
        self.replica.follow_image(
            replace(
                self.replica.partition,
                isr=brokers,
                leader=leader,
                leader_epoch=leader_epoch,
            )
        )


def test_the_high_watermark_is_the_smallest_log_end_offset_of_the_in_sync_replicas():
    led = Led()
    led.append(5)
    assert led.replica.high_watermark == 0
    led.follower_fetched(2, 5)
    assert led.replica.high_watermark == 0
    led.follower_fetched(3, 3)
    assert led.replica.high_watermark == 3
    led.follower_fetched(3, 5)
    assert led.told == [("appended", 5), ("counts", 3), ("counts", 5)]


def test_without_followers_a_record_counts_when_it_is_written():
    led = Led(partition=Partition((1,), (1,), 1, 0, 0))
    led.append(2)
    assert led.told == [("appended", 2), ("counts", 2)]


def test_a_replica_that_is_not_in_sync_is_not_waited_for():
    led = Led()
    led.append()
    led.follower_fetched(2, 1)
    assert led.replica.high_watermark == 0
    led.in_sync(1, 2)
    assert led.replica.high_watermark == 1


def test_the_high_watermark_never_goes_back():
    led = Led()
    led.append(4)
    led.follower_fetched(2, 4)
    led.follower_fetched(3, 4)
    led.in_sync(1, 2, 3, leader_epoch=1)
    led.append()
    led.follower_fetched(2, 0)
    assert led.replica.high_watermark == 4


def test_a_new_leader_does_not_trust_what_it_knew_of_its_followers_in_an_earlier_epoch():
    led = Led()
    led.append(2)
    led.follower_fetched(2, 2)
    led.in_sync(1, 2, 3, leader=2, leader_epoch=1)
    led.in_sync(1, 2, 3, leader=1, leader_epoch=2)
    led.follower_fetched(3, 2)
    assert led.replica.high_watermark == 0


def test_a_follower_moves_no_high_watermark():
    led = Led(partition=replace(OF_THREE, leader=2))
    led.follower_fetched(2, 5)
    assert led.replica.high_watermark == 0


@pytest.mark.parametrize(("checkpoint", "expected"), [(0, 0), (2, 2), (9, 3)])
def test_the_high_watermark_comes_from_its_checkpoint_within_the_log(
    checkpoint, expected
):
    before = Led()
    before.append(3)
    led = Led(log=before.log, high_watermark=checkpoint)
    assert led.replica.high_watermark == expected


def test_truncation_takes_the_high_watermark_along():
    led = Led(partition=Partition((1, 2), (1,), 1, 0, 0))
    led.append()
    led.append()
    led.in_sync(1, leader=2, leader_epoch=1)
    led.replica.truncate_to(1)
    assert led.replica.high_watermark == 1


def voting(*voters):
    return Led(Voter, Partition(voters, voters, 1, 1, 0))


def synced(led):
    led.log.flush()
    led.replica.advance_high_watermark()


def test_kip_595_a_metadata_record_counts_when_a_majority_has_it_on_disk():
    led = voting(1, 2, 3)
    led.append()
    synced(led)
    assert led.replica.high_watermark == 0
    led.follower_fetched(3, 1)
    assert led.replica.high_watermark == 1


def test_kip_595_a_leader_counts_itself_only_when_it_has_synced():
    led = voting(1)
    led.append()
    assert led.replica.high_watermark == 0
    synced(led)
    assert led.replica.high_watermark == 1


def test_raft_5_4_2_records_of_earlier_leaders_count_with_the_first_of_this_epoch():
    led = voting(1, 2, 3)
    led.append(2)
    led.in_sync(1, 2, 3, leader_epoch=2)
    led.follower_fetched(2, 2)
    synced(led)
    assert led.replica.high_watermark == 0, (
        "a majority has them, but a leader of epoch 2 may not count them alone"
    )
    led.append()
    synced(led)
    led.follower_fetched(2, 3)
    assert led.replica.high_watermark == 3


# -- what must hold, or the node stops loudly


@pytest.fixture
def follower():
    led = Led()
    led.append(3)
    led.in_sync(1, 2, 3, leader=2, leader_epoch=1)
    return led


def test_only_the_leader_appends(follower):
    with pytest.raises(AssertionError, match="only the leader appends"):
        follower.append()


def test_a_leader_epoch_never_falls(follower):
    with pytest.raises(AssertionError, match="a leader epoch never falls"):
        follower.in_sync(1, 2, 3, leader=3, leader_epoch=0)


def test_a_leader_takes_and_drops_nothing():
    led = Led()
    led.append(3)
    with pytest.raises(AssertionError, match="a leader drops nothing"):
        led.replica.truncate_to(1)
    with pytest.raises(AssertionError, match="a leader drops nothing"):
        led.replica.start_at(7)
    with pytest.raises(AssertionError, match="takes nothing from others"):
        led.replica.take(None, NOW)
