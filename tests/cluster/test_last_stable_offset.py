"""Where readers of committed records stop (KIP-98), on the leader and on its
followers.
"""

from dataclasses import replace

import pytest

from minikafka.cluster.metadata import Partition
from minikafka.cluster.replica import Replica
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.config import LogConfig
from minikafka.storage.log import Log
from minikafka.storage.producer_state import Marker
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import encode_batch, read_header
from minikafka.wire.schema import Message
from tests.cluster.test_replica import NOW, OF_THREE, Led

OF_TWO = Partition((1, 2), (1, 2), 1, 0, 0)


class Transactional(Led):
    def __init__(self, partition=OF_TWO):
        self.events = []
        log = Log(
            MemoryDisk(),
            "orders-0",
            LogConfig(),
            Trace("broker 1", [self.events.append]),
            "orders",
            0,
        )
        super().__init__(partition=partition, log=log)

    def send(self, sequence, of=7):
        fields = {
            "producer_id": of,
            "producer_epoch": 0,
            "base_sequence": sequence,
            "transactional": True,
        }
        batch = bytearray(encode_batch([(NOW.wall_ms, None, b"x", [])], **fields))
        return self.replica.append(batch, [read_header(batch)], NOW)

    def end(self, committed, of=7):
        return self.replica.append_marker(Marker(of, 0, committed, 0), NOW)

    @property
    def ends(self):
        return self.replica.last_stable_offset, self.replica.high_watermark

    def copy_to(self, follower):
        """One fetch of a follower: what is there from its log's end on, and how far
        this leader is.
        """
        offset, end = follower.log.log_end_offset, self.log.log_end_offset
        self.follower_fetched(2, offset)
        records = b"".join(self.log.read(offset, 1 << 20, end))
        told = {
            "high_watermark": self.replica.high_watermark,
            "log_start_offset": 0,
            "records": records,
        }
        follower.take(Message(diverging_epoch=Message(epoch=-1), **told), NOW)

    def follower(self):
        """The replica on broker 2, which follows."""
        log = Log(
            MemoryDisk(), "orders-0", LogConfig(), Trace("broker 2", []), "orders", 0
        )
        return Replica(bytes(16), self.replica.partition, log, 2, self)


def test_kip_98_it_waits_for_the_marker_and_the_marker_for_the_followers():
    led = Transactional()
    led.append()
    led.send(0)
    led.append()
    led.follower_fetched(2, 3)
    assert led.ends == (1, 3), "the transaction is open"
    led.end(True)
    assert led.ends == (1, 3), "decided, but a follower lacks the marker"
    led.follower_fetched(2, 4)
    assert led.ends == (4, 4)


def test_kip_98_a_transaction_that_is_decided_holds_it_back_until_its_own_marker_counts():
    led = Transactional()
    led.send(0, of=7)
    led.send(0, of=8)
    led.end(False, of=7)
    led.append()
    led.end(True, of=8)
    for fetched, stable in ((2, 0), (3, 1), (4, 1), (5, 5)):
        led.follower_fetched(2, fetched)
        assert led.ends == (stable, fetched)


def test_a_transaction_that_began_below_the_log_start_offset_holds_it_back_there():
    led = Transactional()
    led.send(0)
    led.append(4)
    led.follower_fetched(2, 5)
    led.replica.delete_records(3)
    assert led.ends == (3, 5)


def test_it_is_told_where_it_parts_from_the_high_watermark():
    led = Transactional()
    led.append()
    led.follower_fetched(2, 1)
    led.send(0)
    led.follower_fetched(2, 2)
    led.end(True)
    led.follower_fetched(2, 3)
    told = [
        event
        for event in led.events
        if event.kind in ("HighWatermarkAdvanced", "LastStableOffsetAdvanced")
    ]
    assert [event.kind for event in told] == ["HighWatermarkAdvanced"] * 3 + [
        "LastStableOffsetAdvanced"
    ]
    assert told[-1].detail["last_stable_offset"] == 3


def test_a_marker_needs_min_insync_replicas():
    led = Transactional(replace(OF_THREE, isr=(1,)))
    led.replica.min_insync_replicas = 2
    with pytest.raises(KafkaError) as caught:
        led.end(True)
    assert caught.value.error is Error.NOT_ENOUGH_REPLICAS


def test_a_follower_knows_the_same_and_goes_on_as_leader():
    led = Transactional()
    led.send(0, of=7)
    led.send(0, of=8)
    led.end(False, of=7)
    follower = led.follower()
    led.copy_to(follower)
    assert (follower.last_stable_offset, follower.high_watermark) == (0, 0)
    led.copy_to(follower)
    assert (follower.last_stable_offset, follower.high_watermark) == (1, 3) == led.ends
    assert (
        follower.log.aborted_transactions(0, 3)
        == led.log.aborted_transactions(0, 3)
        != []
    )
    follower.follow_image(
        replace(follower.partition, leader=2, leader_epoch=1, isr=(2,))
    )
    follower.append_marker(Marker(8, 0, True, 0), NOW)
    assert (follower.last_stable_offset, follower.high_watermark) == (4, 4)


def test_kip_279_where_a_marker_was_lost_with_its_leader_the_transaction_is_open_again():
    led = Transactional()
    led.send(0)
    follower = led.follower()
    led.copy_to(follower)
    led.end(False)
    led.copy_to(follower)
    assert follower.log.aborted_transactions(0, 2) != []
    follower.take(Message(diverging_epoch=Message(epoch=0, end_offset=1)), NOW)
    assert follower.log.log_end_offset == 1
    assert follower.log.aborted_transactions(0, 2) == []
    assert follower.log.producers.first_unstable_offset(1) == 0
