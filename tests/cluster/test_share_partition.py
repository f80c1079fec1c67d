"""A share partition (KIP-932), by a history of what was asked of it: who gets which
record next, what becomes of it, where the partition begins.

The log has record batches of five: 0 to 4, 5 to 9, 10 to 14 and so on.
"""

import pytest

from minikafka.cluster.share_acquiring import Asked, Limits, Read
from minikafka.cluster.share_partition import AcknowledgementBatch, SharePartition
from minikafka.cluster.share_window import Range
from minikafka.wire.errors import KafkaError

LOCK_MS = 30_000
ACCEPT, RELEASE, REJECT, RENEW = [1], [2], [3], [4]


class Log:
    """Ten batches of five records, and one share partition. Time moves by hand."""

    def __init__(self, start=0, written=(), most_in_flight=2000, most_deliveries=5):
        limits = Limits(most_in_flight, most_deliveries, LOCK_MS, renews=True)
        self.partition = SharePartition(lambda: limits, start, written)
        self.now_ms = 1000
        self.batches = [Range(first, first + 4) for first in range(0, 50, 5)]
        self.aborted = ()
        self.wait = None

    def acquire(self, member="a", most=500, size=500, strict=False):
        offset = self.partition.window.next_fetch_offset()
        read = [batch for batch in self.batches if batch.last >= offset]
        asked = Asked(member, most, size, strict)
        found = Read(offset, read, self.aborted)
        return [tuple(one) for one in self.partition.acquire(asked, found, self.now_ms)]

    def says(self, member, *batches, writes=True):
        """What a member says of [(first, last, types)]; what is written of it."""
        said = [AcknowledgementBatch(*batch) for batch in batches]
        change = self.partition.acknowledge(member, said, self.now_ms)
        return self.end(change, writes)

    def leaves(self, member, writes=True):
        return self.end(self.partition.release(member), writes)

    def end(self, change, writes):
        if writes:
            self.partition.committed(change)
        else:
            self.partition.rolled_back(change, self.now_ms)
        return [tuple(map(int, batch)) for batch in change.batches]

    def pass_time(self, ms=LOCK_MS):
        self.now_ms += ms
        written = self.partition.locks_end(self.now_ms)
        self.partition.locks_written()
        return [tuple(map(int, batch)) for batch in written]

    @property
    def start(self):
        return self.partition.window.start_offset

    @property
    def next(self):
        return self.partition.window.next_fetch_offset()

    @property
    def done(self):
        return self.partition.window.delivery_complete_count


def refused(action, *args):
    with pytest.raises(KafkaError) as error:
        action(*args)
    return error.value.error.name


# -- what is acquired


def test_kip_932_the_limit_in_records_is_soft_and_batches_stay_whole():
    log = Log()
    assert log.acquire(most=7) == [(0, 9, 1)]
    assert log.acquire("b", most=1) == [(10, 14, 1)]


def test_kip_932_a_long_run_is_cut_where_a_batch_of_the_log_begins():
    assert Log().acquire(most=25, size=10) == [(0, 9, 1), (10, 19, 1), (20, 24, 1)]


def test_kip_1206_a_strict_limit_cuts_a_batch_and_others_get_the_rest():
    log = Log()
    assert log.acquire("a", most=3, strict=True) == [(0, 2, 1)]
    assert log.next == 3
    assert log.acquire("b", most=4, strict=True) == [(3, 4, 1), (5, 6, 1)]


def test_two_members_never_have_the_same_record():
    log = Log()
    assert log.acquire("a", most=5) == [(0, 4, 1)]
    assert log.acquire("b", most=5) == [(5, 9, 1)]


def test_what_comes_back_goes_before_what_is_new():
    log = Log()
    log.acquire("a", most=10)
    log.says("a", (0, 4, RELEASE))
    assert log.acquire("b", most=5) == [(0, 4, 2)]
    assert log.acquire("c", most=5) == [(10, 14, 1)]


def test_with_as_many_in_flight_as_there_may_be_only_what_came_back_is_acquired():
    log = Log(most_in_flight=10)
    log.acquire("a", most=10)
    assert not log.partition.can_acquire
    log.says("a", (3, 3, RELEASE))
    assert log.partition.can_acquire
    assert log.acquire("b") == [(3, 3, 2)]
    assert log.acquire("b") == []


def test_records_of_an_aborted_transaction_are_archived_and_not_handed_out():
    log = Log()
    log.aborted = [Range(5, 9)]
    assert log.acquire(most=15) == [(0, 4, 1), (10, 14, 1)]
    assert (log.done, log.start) == (5, 0)
    log.says("a", (0, 4, ACCEPT))
    assert log.start == 10


# -- what becomes of it


def test_the_start_offset_moves_over_what_is_done_with():
    log = Log()
    log.acquire(most=15, size=5)
    assert log.says("a", (5, 9, ACCEPT)) == [(5, 9, 2, 1)]
    assert (log.start, log.done) == (0, 5)
    assert log.says("a", (0, 4, REJECT)) == [(0, 4, 4, 1)]
    assert (log.start, log.done) == (10, 0)


def test_each_record_may_have_its_own_type():
    log = Log()
    log.acquire(most=5)
    written = log.says("a", (0, 4, [1, 2, 3, 0, 1]))
    assert written == [
        (0, 0, 2, 1),
        (1, 1, 0, 1),
        (2, 2, 4, 1),
        (3, 3, 4, 1),
        (4, 4, 2, 1),
    ]
    assert (log.start, log.next) == (1, 1)
    assert log.acquire("b", most=1) == [(1, 1, 2)]


def test_an_acknowledgement_counts_when_it_is_written_down():
    log = Log()
    log.acquire(most=5)
    said = [AcknowledgementBatch(0, 4, RELEASE)]
    change = log.partition.acknowledge("a", said, log.now_ms)
    assert log.acquire("b", most=5) == [(5, 9, 1)], "nobody gets it meanwhile"
    log.partition.committed(change)
    assert log.acquire("b", most=5) == [(0, 4, 2)]


def test_what_can_not_be_written_down_never_was():
    log = Log()
    log.acquire(most=5)
    log.says("a", (0, 4, ACCEPT), writes=False)
    assert (log.start, log.done) == (0, 0)
    assert log.says("a", (0, 4, ACCEPT)) == [(0, 4, 2, 1)]
    assert log.start == 5


def test_a_lock_that_ends_while_a_change_is_written_frees_what_goes_back():
    log = Log()
    log.acquire(most=5)
    said = [AcknowledgementBatch(0, 4, ACCEPT)]
    change = log.partition.acknowledge("a", said, log.now_ms)
    assert log.pass_time() == []
    log.partition.rolled_back(change, log.now_ms)
    assert log.acquire("b", most=5) == [(0, 4, 2)]


@pytest.mark.parametrize(
    ("member", "batch", "error"),
    [
        ("b", (0, 4, ACCEPT), "INVALID_RECORD_STATE"),  # it is another's
        ("a", (0, 5, ACCEPT), "INVALID_REQUEST"),  # past what was acquired
        ("a", (5, 9, ACCEPT), "INVALID_REQUEST"),
    ],
)
def test_who_does_not_have_a_record_says_nothing_of_it(member, batch, error):
    log = Log()
    log.acquire("a", most=5)
    assert refused(log.says, member, batch) == error


def test_of_a_request_that_is_refused_nothing_counts():
    log = Log()
    log.acquire("a", most=10)
    log.acquire("b", most=5)
    batches = [(0, 9, ACCEPT), (10, 14, ACCEPT)]
    assert refused(log.says, "a", *batches) == "INVALID_RECORD_STATE"
    assert (log.start, log.done) == (0, 0)
    log.says("a", (0, 9, ACCEPT))
    assert log.start == 10


def test_a_record_is_acknowledged_once():
    log = Log()
    log.acquire("a", most=10)
    log.says("a", (5, 9, ACCEPT))
    assert refused(log.says, "a", (5, 9, ACCEPT)) == "INVALID_RECORD_STATE"
    assert refused(log.says, "a", (6, 6, RELEASE)) == "INVALID_RECORD_STATE"


def test_what_lies_before_the_start_offset_is_acknowledged_without_effect():
    log = Log()
    log.acquire("a", most=10)
    log.says("a", (0, 4, ACCEPT))
    assert log.says("a", (0, 4, ACCEPT)) == []


# -- locks


def test_a_lock_ends_and_its_records_come_back():
    log = Log()
    log.acquire("a", most=5)
    assert log.partition.next_lock_end() == 1000 + LOCK_MS
    assert log.pass_time(LOCK_MS - 1) == []
    assert log.pass_time(1) == [(0, 4, 0, 1)]
    assert log.acquire("b", most=5) == [(0, 4, 2)]
    assert refused(log.says, "a", (0, 4, ACCEPT)) == "INVALID_RECORD_STATE"


def test_kip_1222_a_lock_is_renewed():
    log = Log()
    log.acquire("a", most=5)
    log.pass_time(LOCK_MS - 1)
    assert log.says("a", (0, 4, RENEW)) == []
    assert log.pass_time(LOCK_MS - 1) == []
    assert log.pass_time(1) == [(0, 4, 0, 1)]


def test_a_member_that_leaves_gives_back_what_it_has():
    log = Log()
    log.acquire("a", most=5)
    log.acquire("b", most=5)
    assert log.leaves("a") == [(0, 4, 0, 1)]
    assert log.acquire("c", most=5) == [(0, 4, 2)]


# -- the limit on deliveries


def test_after_its_last_delivery_a_record_is_archived():
    log = Log(most_deliveries=2)
    log.acquire("a", most=5)
    assert log.pass_time() == [(0, 4, 0, 1)]
    assert log.acquire("a", most=5) == [(0, 4, 2)]
    assert log.pass_time() == [(0, 4, 4, 2)]
    assert (log.start, log.next) == (5, 5)


def test_the_more_often_records_were_delivered_the_fewer_go_together():
    """One that kills its member is found, and the others of its batch are saved."""
    log = Log()
    deliveries = [log.acquire("a", most=5)]
    for _ in range(9):
        log.pass_time()
        deliveries.append(log.acquire("a", most=5))
        for first, last, _ in deliveries[-1]:
            if first > 0:
                log.says("a", (first, last, ACCEPT))
    assert deliveries[:4] == [[(0, 4, 1)], [(0, 4, 2)], [(0, 4, 3)], [(0, 1, 4)]]
    assert [(0, 0, 5)] in deliveries, "the last time it goes alone"


# -- another broker goes on


def test_what_was_written_down_is_where_another_broker_goes_on():
    log = Log(start=5, written=[(5, 9, 2, 1), (10, 12, 0, 3), (13, 14, 2, 1)])
    assert (log.start, log.next, log.done) == (10, 10, 2)
    assert log.acquire("a", most=3, strict=True) == [(10, 10, 4)]


def test_gaps_in_what_was_written_down_are_handed_out_as_new_in_their_turn():
    log = Log(start=0, written=[(5, 9, 2, 1), (15, 19, 0, 2)])
    assert log.next == 0
    assert log.acquire("a", most=5) == [(0, 4, 1)]
    assert log.acquire("a", most=5) == [(10, 14, 1)]
    assert log.acquire("a", most=5) == [(15, 19, 3)]
    assert log.acquire("a", most=5) == [(20, 24, 1)]
    log.says("a", (0, 4, ACCEPT), (10, 19, ACCEPT))
    assert log.start == 20


# -- the log


def test_what_the_log_lost_at_its_beginning_is_done_with():
    log = Log()
    log.acquire("a", most=10)
    log.says("a", (0, 4, RELEASE))
    log.partition.window.log_starts_at(3)
    assert (log.start, log.next) == (3, 3)
    assert log.acquire("b", most=2) == [(3, 4, 2)]


def test_the_start_offset_never_goes_back():
    log = Log(start=7)
    log.partition.window.log_starts_at(3)
    assert log.start == 7


def test_records_that_compaction_took_are_done_with():
    log = Log()
    log.acquire("a", most=10)
    log.says("a", (0, 9, RELEASE))
    del log.batches[0]
    assert log.acquire("b", most=5) == [(5, 9, 2)]
    log.says("b", (5, 9, ACCEPT))
    assert log.start == 10
