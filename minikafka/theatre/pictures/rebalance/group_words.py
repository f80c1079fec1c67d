"""The group in plain words: what a member does, who gets what, by which assignor."""

from typing import Any

from minikafka.theatre.pictures.rebalance.cast import Part
from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.pictures.rebalance.member import Member, Work
from minikafka.theatre.text import counted, lasting

KAFKAS_ASSIGNORS = (
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "uniform",
    "",
)
MOST_NAMED = 8  # members in one sentence
AWAY = {
    "frozen": "frozen: no heartbeat",
    "crashed": "crashed: it says nothing",
    "closed": "has left",
    "left": "has left",
    "cut off": "cut off: hears nothing",
}


def doing(group: Group, member: Member) -> str:
    """The first thing that holds, from what is worst for the group to what is usual."""
    return (
        _not_there(member)
        or _overdue_or_leaving(group, member)
        or _joining(group, member)
        or _taking_over(group, member)
        or _reading(group, member)
    )


def _not_there(member: Member) -> str:
    """It is dead or silent, or it is no member."""
    life = member.life
    if member.is_blind:
        life = f"{life}: " if life else ""
        return f"{life}is out, doesn't know it"
    if life == "closed" and member.inside:
        return "closed, still a member"
    if life == "crashed" and not member.inside:
        return "crashed, is out"
    if life or member.inside:
        return AWAY.get(life, "")
    if member.asked:
        return "asks to join"
    return "not in the group" if member.id else "starts"


def _overdue_or_leaving(group: Group, member: Member) -> str:
    if member.overdue:
        return "too slow: poll is overdue"
    if member.revoked:
        gone = group.labels(member.revoked) if member.owns else "all"
        return f"gives up {gone}"
    if member.asked == "LeaveGroup":
        return "leaves the group"
    return ""


def _joining(group: Group, member: Member) -> str:
    """The member learns of a rebalance, joins again, and waits for the leader's
    assignment.
    """
    work = member.work(group.at)
    if member.told and work:
        return f"busy, joins in {_left(work, group.at)}"
    if member.told:
        return "was told, joins at next poll"
    if member.must_give:
        return _giving(group, member)
    if member.joining and group.state == "PreparingRebalance":
        reads_on = "reads on, " if member.owns else ""
        missing = group.missing
        whom = missing[0].actor.letter if len(missing) == 1 else "all"
        return f"{reads_on}waits for {whom}"
    if group.is_classic and group.state == "CompletingRebalance":
        leads = member.actor.name == group.leader
        return "decides who reads what" if leads else "waits for a share"
    return ""


def _giving(group: Group, member: Member) -> str:
    """It must give partitions up; a classic member does so when it next polls."""
    gives = group.labels(member.must_give)
    if group.is_classic and member.asked == "SyncGroup":
        return f"gives up {gives} only when it polls"
    return f"must give up {gives}"


def _taking_over(group: Group, member: Member) -> str:
    """It was given partitions that it doesn't read yet."""
    waits = member.still_waits
    if not group.is_classic:
        return _reconciling(group, member, waits)
    return f"takes over {group.labels(waits)}" if waits else ""


def _reconciling(group: Group, member: Member, waits: list[Part]) -> str:
    """A member under KIP-848 waits until others have given up its partitions; a classic
    one reads everything that its leader gives it.
    """
    for part in waits:
        for owner in group.owners(part):
            if owner.inside:
                letter = owner.actor.letter
                return f"waits until {letter} gives up {group.labels([part])}"
    unheard = [part for part in waits if part not in member.given]
    if unheard:
        return f"waits to hear of {group.labels(unheard)}"
    return f"takes over {group.labels(waits)}" if waits else ""


def _reading(group: Group, member: Member) -> str:
    if not member.owns and group.is_given_out:
        return "no partition left"
    if not member.owns:
        return "owns nothing"
    work = member.work(group.at)
    if work:
        what = counted(work.records, "record")
        return f"busy with {what}, {_left(work, group.at)} more"
    if member.processing_ms:
        return f"reads, slowly: {lasting(member.processing_ms)} for each record"
    return "reads"


def _left(work: Work, at: int) -> str:
    """How long it is busy from now on, in whole seconds."""
    return f"{-(-(work.until_ms - at) // 1000)} s"


def assigned_by(group: Group) -> str:
    """The name of the assignor, and whether it is the learner's own."""
    name = group.assignor
    return name if name in KAFKAS_ASSIGNORS else f"your assignor {name}"


def who_gets_what(group: Group, assignment: dict[str, Any]) -> str:
    """assignment: member id -> partitions."""
    cast = group.cast
    said = []
    for member_id, parts in assignment.items():
        member = group.member(member_id)
        if member:
            mine = [part for part in group.parts(parts) if part in cast.parts]
            said.append(f"{member.actor.letter} {group.labels(mine) or 'nothing'}")
    named = sorted(said)[:MOST_NAMED]
    if len(said) > MOST_NAMED:
        named.append(f"{len(said) - MOST_NAMED} members more")
    return "; ".join(named)
