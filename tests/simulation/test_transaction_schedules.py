"""What transactions promise (KIP-98, KIP-360, KIP-447), over seeded schedules of
trouble for brokers and programs: what was committed is read, whole and once; what was
aborted is not; a zombie commits nothing; a copy and the offsets of its input agree; a
transaction that takes too long is aborted, and when the faults stop nothing stays open.
And that a broken coordinator would be noticed.

A failure prints its schedule. Schedule(number) replays it.
"""

from dataclasses import replace

import pytest

from minikafka.coordinators import transactions
from minikafka.coordinators.groups import Groups
from minikafka.coordinators.transaction_requests import Markers
from minikafka.coordinators.transactions import (
    PREPARED,
    Status,
    Transaction,
    Transactions,
)
from tests.seeds import seeds
from tests.simulation.transaction_schedules import Run, Schedule

pytestmark = [pytest.mark.apart, pytest.mark.usefixtures("quiet")]

SCHEDULES = 12


@pytest.mark.parametrize("number", seeds(range(SCHEDULES)))
def test_kip_98_what_is_committed_counts_once_and_nothing_stays_open(number):
    schedule = Schedule(number)
    assert not Run(schedule).problems, schedule


@pytest.mark.nightly
def test_kip_447_who_was_put_out_of_the_group_commits_no_offsets_without_a_generation():
    """A schedule in which a copier is put out between its poll and its commit."""
    schedule = Schedule(200579)
    assert not Run(schedule).problems, schedule


# -- broken coordinators


def whoever_knows_the_transactional_id_may_end_its_transaction(patch):
    def end(self, of, *how):
        known = self.transactions.get(of[0])
        return right(self, (*of[:2], known.producer_epoch if known else of[2]), *how)

    right = Transactions.end
    patch.setattr(Transactions, "end", end)


def nobody_looks_for_transactions_that_take_too_long(patch):
    def go_on(self, transaction, now):
        right(self, transaction, now)
        if transaction.status is Status.ONGOING:
            self._deadlines.set(transaction.transactional_id, None)

    right = Transactions._go_on
    patch.setattr(Transactions, "_go_on", go_on)


def a_new_coordinator_does_not_go_on_with_what_was_decided(patch):
    patch.setattr(Transactions, "loaded", lambda self, now: list(self.transactions))


def a_new_coordinator_has_forgotten_the_decision(patch):
    def from_record(key, value):
        transaction = right(key, value)
        prepared = transaction.status in PREPARED
        return replace(transaction, status=Status.ONGOING) if prepared else transaction

    right = transactions.from_record
    patch.setattr(transactions, "from_record", from_record)


def a_partition_is_left_out_of_the_markers(patch):
    def send(self, pending, now):
        if len(pending.left) > 1:
            pending.left.discard(max(pending.left))
        right(self, pending, now)

    right = Markers.send
    patch.setattr(Markers, "send", send)


def a_transaction_is_complete_when_its_first_markers_are_answered(patch):
    def take(self, part, marker, now):
        right(self, part, marker, now)
        if self._is_current(part[0]) and part[0].left:
            self._complete(part[0], now)

    right = Markers._take_one
    patch.setattr(Markers, "_take_one", take)


def a_new_producer_goes_on_in_the_old_epoch(patch):
    def begun_again(self, expected, new_producer_id, timeout_ms):
        begun = right(self, expected, new_producer_id, timeout_ms)
        return replace(begun, producer_epoch=max(self.producer_epoch, 0))

    right = Transaction.begun_again
    patch.setattr(Transaction, "begun_again", begun_again)


def pending_offsets_count_before_the_commit(patch):
    patch.setattr(
        Groups,
        "apply_pending",
        lambda self, producer_id, *record: self.apply(*record, offset=-1),
    )


# Each is noticed within so many schedules from the one that is named.
WITHIN = 3
BREAKS = {
    whoever_knows_the_transactional_id_may_end_its_transaction: 13,
    nobody_looks_for_transactions_that_take_too_long: 8,
    a_new_coordinator_does_not_go_on_with_what_was_decided: 7,
    a_new_coordinator_has_forgotten_the_decision: 12,
    a_partition_is_left_out_of_the_markers: 0,
    a_transaction_is_complete_when_its_first_markers_are_answered: 0,
    a_new_producer_goes_on_in_the_old_epoch: 0,
    pending_offsets_count_before_the_commit: 0,
}


@pytest.mark.nightly
@pytest.mark.parametrize("break_it", BREAKS)
def test_a_broken_coordinator_is_noticed_when(break_it, monkeypatch):
    break_it(monkeypatch)
    first = BREAKS[break_it]
    assert any(Run(Schedule(first + number)).problems for number in range(WITHIN))
