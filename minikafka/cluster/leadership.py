"""Who leads a partition, and who might: every change of a partition's replicas goes
through `partition_change`.

The rules. Only who surely has all that counts may lead. While the ISR has members,
those are they. When it shrinks below min.insync.replicas nothing new counts, so who
leaves it from then on still has everything: it becomes an eligible leader replica (ELR,
KIP-966), as does its last member, and leads if nobody of the ISR is left. A broker that
comes back from an unclean shutdown may have lost what was not on disk yet, and is
neither. When ISR and ELR are both empty the last leader is taken, if it comes back: if
it lost nothing, nothing is lost. Any other replica leads by an unclean election only,
which somebody must have asked for, or allowed (unclean.leader.election.enable): what it
doesn't have is gone.

A reassignment (KIP-455) adds the new replicas first; when they are in sync the old ones
go, in the same change.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from minikafka.cluster.metadata import LISTS, NO_LEADER, MetadataRecord, Partition
from minikafka.wire.errors import Error, KafkaError

ANY, PREFERRED, UNCLEAN = "any", "preferred", "unclean"

Brokers = Sequence[int]


def partition_change(
    topic_id: bytes,
    number: int,
    was: Partition,
    may_lead: Callable[[int], bool],
    min_insync_replicas: int,
    *,
    unclean_shutdown: Collection[int] = (),
    election: str = ANY,
    **lists: Brokers,
) -> MetadataRecord | None:
    """What becomes of a partition for which somebody wants another ISR or other
    replicas, or for which another broker may lead now: a PartitionChangeRecord, or None
    if it stays as it is.

    may_lead: whether a broker is up, and not about to go. unclean_shutdown: brokers
    that may have lost records. election: PREFERRED takes the first replica if it may
    lead, ANY leaves who leads; UNCLEAN takes whoever is up rather than nobody. lists:
    isr, replicas, adding_replicas, removing_replicas, if they are to change.
    """
    assert lists.keys() <= set(LISTS), lists
    wanted = {name: tuple(lists.get(name, getattr(was, name))) for name in LISTS}
    complete_reassignment(wanted)
    wanted["eligible_leader_replicas"] = eligible(
        was, wanted, min_insync_replicas, unclean_shutdown
    )
    leader, is_clean = elect(was, wanted, may_lead, election)
    if leader != was.leader and leader != NO_LEADER and leader not in wanted["isr"]:
        wanted["isr"] = (leader,)
        others = tuple(
            each for each in wanted["eligible_leader_replicas"] if each != leader
        )
        wanted["eligible_leader_replicas"] = others if is_clean else ()
    if leader != NO_LEADER:
        wanted["last_known_elr"] = ()
    elif was.leader != NO_LEADER:
        wanted["last_known_elr"] = (was.leader,)
    changed: dict[str, Any] = {
        name: list(value)
        for name, value in wanted.items()
        if value != getattr(was, name)
    }
    if leader != was.leader or not set(was.replicas) <= set(wanted["replicas"]):
        changed["leader"] = leader
    if not changed:
        return None
    return MetadataRecord(
        "PartitionChangeRecord",
        2,
        {"partition_id": number, "topic_id": topic_id, **changed},
    )


def eligible(
    was: Partition,
    wanted: dict[str, tuple[int, ...]],
    min_insync_replicas: int,
    unclean_shutdown: Collection[int],
) -> tuple[int, ...]:
    """The ELR: who left an ISR that is too small, or was eligible before."""
    isr = wanted["isr"]
    if len(isr) >= min(min_insync_replicas, len(wanted["replicas"])):
        return ()
    return tuple(
        sorted(
            {*was.eligible_leader_replicas, *was.isr} - {*isr, *unclean_shutdown}
            & {*wanted["replicas"]}
        )
    )


def elect(
    was: Partition,
    wanted: dict[str, tuple[int, ...]],
    may_lead: Callable[[int], bool],
    election: str,
) -> tuple[int, bool]:
    """(who leads, whether it surely has all that counts)."""
    isr, elr, replicas = (
        wanted["isr"],
        wanted["eligible_leader_replicas"],
        wanted["replicas"],
    )
    candidates = [
        replica for replica in replicas if replica in (isr or elr) and may_lead(replica)
    ]
    if was.leader in candidates and (
        election != PREFERRED or candidates[0] != replicas[0]
    ):
        return was.leader, True
    if candidates:
        return candidates[0], True
    if (
        not isr
        and not elr
        and len(was.last_known_elr) == 1
        and may_lead(was.last_known_elr[0])
    ):
        return was.last_known_elr[0], False
    if election == UNCLEAN:
        return (
            next((replica for replica in replicas if may_lead(replica)), NO_LEADER),
            False,
        )
    return NO_LEADER, True


# -- reassignment


def reassign(was: Partition, target: Brokers) -> dict[str, Brokers]:
    """What a partition that is to move to these replicas has meanwhile: all of both,
    who comes and who goes. A reassignment that is under way gives way to this one.
    """
    stay = [replica for replica in was.replicas if replica not in was.adding_replicas]
    adding = [replica for replica in target if replica not in stay]
    removing = [replica for replica in stay if replica not in target]
    return {
        "replicas": [*target, *removing],
        "adding_replicas": adding,
        "removing_replicas": removing,
    }


def cancel_reassignment(was: Partition) -> dict[str, Brokers]:
    """Back to what was before. Errors: NO_REASSIGNMENT_IN_PROGRESS;
    INVALID_REPLICA_ASSIGNMENT if only new replicas are in sync.
    """
    if not was.is_reassigning:
        raise KafkaError(Error.NO_REASSIGNMENT_IN_PROGRESS)
    isr = [replica for replica in was.isr if replica not in was.adding_replicas]
    if not isr:
        why = (
            "The partition can't be reverted: it would require an unclean leader"
            " election."
        )
        raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, why)
    replicas = [
        replica for replica in was.replicas if replica not in was.adding_replicas
    ]
    return {
        "isr": isr,
        "replicas": replicas,
        "adding_replicas": (),
        "removing_replicas": (),
    }


def complete_reassignment(wanted: dict[str, tuple[int, ...]]) -> None:
    """When all that stay are in sync, the others go."""
    removing = wanted["removing_replicas"]
    stay = [replica for replica in wanted["replicas"] if replica not in removing]
    isr = [replica for replica in wanted["isr"] if replica not in removing]
    if (removing or wanted["adding_replicas"]) and stay and set(stay) <= set(isr):
        wanted |= {
            "replicas": tuple(stay),
            "isr": tuple(isr),
            "adding_replicas": (),
            "removing_replicas": (),
        }
