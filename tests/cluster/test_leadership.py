"""Who leads a partition and who might (KIP-966, KIP-460, KIP-455), one change at a
time.
"""

from dataclasses import replace

import pytest

from minikafka.cluster import leadership
from minikafka.cluster.leadership import PREFERRED, UNCLEAN, partition_change
from minikafka.cluster.metadata import NO_LEADER, Partition
from minikafka.wire.errors import Error, KafkaError

ID = b"t" * 16
WHOLE = Partition((1, 2, 3), (1, 2, 3), 1, 0, 0)
# All of the ISR are gone.
NOBODY = replace(
    WHOLE,
    isr=(),
    eligible_leader_replicas=(2, 3),
    leader=NO_LEADER,
    last_known_elr=(3,),
)


def after(partition, live, **wanted):
    """The partition as the change leaves it."""
    record = partition_change(ID, 0, partition, set(live).__contains__, 2, **wanted)
    if record is None:
        return partition
    fields = {
        name: tuple(value)
        for name, value in record.fields.items()
        if isinstance(value, list)
    }
    if "leader" in record.fields:
        fields |= {
            "leader": record.fields["leader"],
            "leader_epoch": partition.leader_epoch + 1,
        }
    return replace(partition, **fields)


def gone(partition, broker, live):
    return after(
        partition, live, isr=[each for each in partition.isr if each != broker]
    )


def test_nothing_changes_where_nothing_has_to():
    assert partition_change(ID, 0, WHOLE, {1, 2, 3}.__contains__, 2) is None


def test_the_next_replica_in_sync_leads_in_a_new_epoch():
    now = gone(WHOLE, 1, {2, 3})
    assert (now.leader, now.leader_epoch, now.isr, now.eligible_leader_replicas) == (
        2,
        1,
        (2, 3),
        (),
    )


def test_who_leaves_an_isr_that_is_too_small_is_eligible_and_leads_when_nobody_else_can():
    two = gone(WHOLE, 1, {2, 3})
    one = gone(two, 2, {3})
    assert (one.isr, one.eligible_leader_replicas, one.leader) == ((3,), (2,), 3)
    none = gone(one, 3, set())
    assert (none.isr, none.eligible_leader_replicas, none.leader) == (
        (),
        (2, 3),
        NO_LEADER,
    )
    assert none.last_known_elr == (3,)
    assert after(none, {1}).leader == NO_LEADER, "1 left while new records counted"
    back = after(none, {1, 2})
    assert (
        back.leader,
        back.isr,
        back.eligible_leader_replicas,
        back.last_known_elr,
    ) == (2, (2,), (3,), ())


def test_a_whole_isr_needs_nobody_else():
    small = replace(WHOLE, isr=(1,), eligible_leader_replicas=(2,))
    assert after(small, {1, 2, 3}, isr=[1, 3]).eligible_leader_replicas == ()


def test_who_comes_back_from_an_unclean_shutdown_may_have_lost_records():
    lost = after(NOBODY, set(), unclean_shutdown=[2])
    assert lost.eligible_leader_replicas == (3,)
    assert after(lost, {1, 2}).leader == NO_LEADER
    all_lost = after(lost, set(), unclean_shutdown=[3])
    assert all_lost.eligible_leader_replicas == ()
    assert after(all_lost, {1, 2}).leader == NO_LEADER
    assert after(all_lost, {1, 3}).leader == 3, "the last leader is the best there is"


def test_an_unclean_election_takes_whoever_is_up_rather_than_nobody():
    now = after(NOBODY, {1}, election=UNCLEAN)
    assert (now.leader, now.isr, now.eligible_leader_replicas, now.last_known_elr) == (
        1,
        (1,),
        (),
        (),
    )
    assert after(NOBODY, {1, 2}, election=UNCLEAN).leader == 2, (
        "who surely has everything comes first"
    )


def test_a_preferred_election_gives_leadership_back_to_the_first_replica():
    second = replace(WHOLE, leader=2)
    assert after(second, {1, 2, 3}) == second, "nobody asked"
    assert after(second, {1, 2, 3}, election=PREFERRED).leader == 1
    assert after(second, {2, 3}, election=PREFERRED) == second
    assert (
        after(replace(second, isr=(2, 3)), {1, 2, 3}, election=PREFERRED).leader == 2
    ), "1 is not in sync"


def test_a_reassignment_adds_first_and_removes_when_the_new_ones_are_in_sync():
    begun = after(WHOLE, {1, 2, 3, 4}, **leadership.reassign(WHOLE, [4, 2]))
    assert (begun.replicas, begun.adding_replicas, begun.removing_replicas) == (
        (4, 2, 1, 3),
        (4,),
        (1, 3),
    )
    assert (begun.leader, begun.leader_epoch) == (1, 0)
    done = after(begun, {1, 2, 3, 4}, isr=[1, 2, 3, 4])
    assert (done.replicas, set(done.isr), done.leader, done.leader_epoch) == (
        (4, 2),
        {2, 4},
        4,
        1,
    )
    assert not done.is_reassigning


def test_to_reorder_replicas_takes_no_time():
    done = after(WHOLE, {1, 2, 3}, **leadership.reassign(WHOLE, [3, 1, 2]))
    assert (done.replicas, done.leader, done.is_reassigning) == ((3, 1, 2), 1, False)


def test_a_reassignment_is_taken_back():
    begun = after(WHOLE, {1, 2, 3, 4}, **leadership.reassign(WHOLE, [4, 2]))
    back = after(begun, {1, 2, 3, 4}, **leadership.cancel_reassignment(begun))
    assert (set(back.replicas), back.is_reassigning) == ({1, 2, 3}, False)
    with pytest.raises(KafkaError) as refused:
        leadership.cancel_reassignment(back)
    assert refused.value.error is Error.NO_REASSIGNMENT_IN_PROGRESS
