"""Which replica leads a partition, and which ones might: every change of a partition's
replicas goes through `partition_change`.

The rules. Only a replica that surely has all committed records may lead. As long as the
ISR has members, those are its members. When the ISR shrinks below min.insync.replicas
nothing new is committed, so a replica that leaves it from then on still has everything:
it becomes an eligible leader replica (ELR, KIP-966), as does the last member, and leads
if nobody of the ISR is left. A broker that comes back from an unclean shutdown may have
lost records that weren't on disk yet, so it is neither in the ISR nor in the ELR. When
both are empty the last leader is taken, if it comes back: if it lost nothing, nothing
is lost. Any other replica leads only by an unclean election, which somebody must have
requested or allowed (unclean.leader.election.enable): records that it doesn't have are
lost.

A reassignment (KIP-455) adds the new replicas first; once they are in sync, the same
change removes the old ones.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from minikafka.cluster.metadata import LISTS, NO_LEADER, MetadataRecord, Partition
from minikafka.wire.errors import Error, KafkaError

ANY, PREFERRED, UNCLEAN = "any", "preferred", "unclean"

Brokers = Sequence[int]
MayLead = Callable[[int], bool]


class Elected(NamedTuple):
    """leader: a broker id, or NO_LEADER. is_clean: whether it surely has all committed
    records.
    """

    leader: int
    is_clean: bool


def partition_change(
    topic_id: bytes,
    number: int,
    was: Partition,
    may_lead: MayLead,
    min_insync_replicas: int,
    *,
    unclean_shutdown: Collection[int] = (),
    election: str = ANY,
    **lists: Brokers,
) -> MetadataRecord | None:
    """How a partition changes when another ISR or other replicas are wanted, or when
    another broker may lead now: a PartitionChangeRecord, or None if it stays as it is.

    may_lead: whether a broker is up and not shutting down. unclean_shutdown: brokers
    that may have lost records. election: PREFERRED takes the first replica if it may
    lead, ANY keeps the current leader if it can, UNCLEAN takes any live replica rather
    than none. lists: isr, replicas, adding_replicas, removing_replicas, where they are
    to change.
    """
    assert lists.keys() <= set(LISTS), lists
    in_lists: dict[str, Any] = {name: tuple(lists[name]) for name in lists}
    wanted = complete_reassignment(replace(was, **in_lists))
    elr = eligible(was, wanted, min_insync_replicas, unclean_shutdown)
    wanted = replace(wanted, eligible_leader_replicas=elr)
    leader, is_clean = elect(was, wanted, may_lead, election)
    wanted = led(was, wanted, leader, is_clean)
    changed: dict[str, Any] = {}
    for name in LISTS:
        before, after = getattr(was, name), getattr(wanted, name)
        if after != before:
            changed[name] = list(after)
    loses_replicas = not set(was.replicas) <= set(wanted.replicas)
    if leader != was.leader or loses_replicas:
        changed["leader"] = leader
    if not changed:
        return None
    fields = {"partition_id": number, "topic_id": topic_id, **changed}
    return MetadataRecord("PartitionChangeRecord", 2, fields)


def eligible(
    was: Partition,
    wanted: Partition,
    min_insync_replicas: int,
    unclean_shutdown: Collection[int],
) -> tuple[int, ...]:
    """The ELR: replicas that left an ISR that is too small, or that were eligible
    before.
    """
    needed = min(min_insync_replicas, len(wanted.replicas))
    if len(wanted.isr) >= needed:
        return ()
    had_all = {*was.eligible_leader_replicas, *was.isr}
    outside_isr = had_all - {*wanted.isr, *unclean_shutdown}
    return tuple(sorted(outside_isr.intersection(wanted.replicas)))


def elect(
    was: Partition, wanted: Partition, may_lead: MayLead, election: str
) -> Elected:
    """Elect the leader of the partition in its new state."""
    up = [replica for replica in wanted.replicas if may_lead(replica)]
    have_all = wanted.isr or wanted.eligible_leader_replicas
    candidates = [replica for replica in up if replica in have_all]
    if candidates:
        first = candidates[0]
        gives_back = election == PREFERRED and first == wanted.replicas[0]
        if was.leader in candidates and not gives_back:
            return Elected(was.leader, is_clean=True)
        return Elected(first, is_clean=True)
    if not have_all and len(was.last_known_elr) == 1:
        [last_leader] = was.last_known_elr
        if may_lead(last_leader):
            return Elected(last_leader, is_clean=False)
    if election == UNCLEAN and up:
        return Elected(up[0], is_clean=False)
    return Elected(NO_LEADER, is_clean=True)


def led(was: Partition, wanted: Partition, leader: int, is_clean: bool) -> Partition:
    """The partition with its leader. A leader from outside the ISR becomes its only
    member; others then stay eligible only after a clean election, because they have no
    more than the leader has.
    """
    isr = wanted.isr
    elr = wanted.eligible_leader_replicas
    if leader not in (was.leader, NO_LEADER, *isr):
        isr = (leader,)
        elr = tuple(_without(elr, isr)) if is_clean else ()
    last_known = wanted.last_known_elr
    if leader != NO_LEADER:
        last_known = ()
    elif was.leader != NO_LEADER:
        last_known = (was.leader,)
    return replace(
        wanted,
        leader=leader,
        isr=isr,
        eligible_leader_replicas=elr,
        last_known_elr=last_known,
    )


# -- reassignment


def reassign(was: Partition, target: Brokers) -> dict[str, Brokers]:
    """The replicas of a partition during a reassignment to these: the old and the new
    ones together, which are added, and which will be removed. It replaces a
    reassignment in progress.
    """
    stay = _without(was.replicas, was.adding_replicas)
    adding = _without(target, stay)
    removing = _without(stay, target)
    return {
        "replicas": [*target, *removing],
        "adding_replicas": adding,
        "removing_replicas": removing,
    }


def cancel_reassignment(was: Partition) -> dict[str, Brokers]:
    """Go back to the replicas from before. Errors: NO_REASSIGNMENT_IN_PROGRESS;
    INVALID_REPLICA_ASSIGNMENT if only new replicas are in sync.
    """
    if not was.is_reassigning:
        raise KafkaError(Error.NO_REASSIGNMENT_IN_PROGRESS)
    isr = _without(was.isr, was.adding_replicas)
    if not isr:
        why = (
            "The partition can't be reverted: it would require an unclean leader"
            " election."
        )
        raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    return {
        "isr": isr,
        "replicas": _without(was.replicas, was.adding_replicas),
        "adding_replicas": (),
        "removing_replicas": (),
    }


def complete_reassignment(wanted: Partition) -> Partition:
    """Once all target replicas are in sync, the others are removed."""
    stay = _without(wanted.replicas, wanted.removing_replicas)
    isr = _without(wanted.isr, wanted.removing_replicas)
    all_in_sync = bool(stay) and set(stay) <= set(isr)
    if not wanted.is_reassigning or not all_in_sync:
        return wanted
    return replace(
        wanted,
        replicas=tuple(stay),
        isr=tuple(isr),
        adding_replicas=(),
        removing_replicas=(),
    )


def _without(replicas: Brokers, gone: Brokers) -> list[int]:
    return [replica for replica in replicas if replica not in gone]
