"""One moment of the group as plain JSON, for the play."""

from typing import Any

from minikafka.theatre.pictures.rebalance.cast import Part
from minikafka.theatre.pictures.rebalance.group import Group, by_letter
from minikafka.theatre.pictures.rebalance.group_words import doing
from minikafka.theatre.pictures.rebalance.member import Member
from minikafka.theatre.play import picked

MOST_MEMBERS = 6  # that are shown


def snapshot(group: Group, step: int) -> dict[str, Any]:
    """step: the one that is told now."""
    label = group.cast.label
    parts = group.cast.parts
    missing = group.missing if group.all_join else []
    space: dict[str, Any] = {"kind": group.cast.kind}
    space |= picked(group, "state", "down", "number", "leader", "assignor")
    space["assigns"] = _assigns(group, step)
    space["waits_for"] = [each.actor.letter for each in missing]
    space["two_owners"] = [label(part) for part in group.two_owners]
    space["inside"] = len(group.inside)
    space["members"] = [_member(group, each) for each in _shown(group)]
    space["free"] = [label(part) for part in _free(group)]
    space["waiting"] = {label(part): group.waiting(part) for part in parts}
    lanes = sorted(group.spans.items())
    space["spans"] = {lane: list(spans) for lane, spans in lanes}
    return space


def _free(group: Group) -> list[Part]:
    """Partitions that no member has; the belief of a removed member doesn't count."""
    if not group.state:
        return []
    held = {part for each in group.inside for part in each.owns}
    return [part for part in group.cast.parts if part not in held]


def _shown(group: Group) -> list[Member]:
    """At most six members, those inside first; in the order of their letters."""
    members = sorted(group.members.values(), key=by_letter)
    here = []
    others = []
    for each in members:
        if each.inside or each.owns:
            here.append(each)
        else:
            others.append(each)
    chosen = [*here, *others][:MOST_MEMBERS]
    return [each for each in members if each in chosen]


def _assigns(group: Group, step: int) -> str:
    """The one that is assigning now: a member's name, "coordinator", or ""."""
    if group.is_classic:
        return group.leader if group.state == "CompletingRebalance" else ""
    assigns = group.state == "Assigning" or group.assigned_at == step
    return "coordinator" if assigns else ""


def _member(group: Group, each: Member) -> dict[str, Any]:
    label = group.cast.label
    told: dict[str, Any] = {"name": each.actor.name}
    told |= picked(each, "life", "inside")
    told["words"] = doing(group, each)
    told["trouble"] = each.is_blind or (each.overdue and each.reads)
    told["owns"] = [label(part) for part in each.owns]
    told["gives"] = [label(part) for part in each.must_give]
    told["waits"] = [label(part) for part in each.still_waits]
    told |= picked(each, "asked", "asked_at", "answered")
    if each.cut:
        told["cut"] = True
    return told
