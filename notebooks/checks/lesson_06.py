"""Lesson 06, rebalancing: what a right answer does."""

from minikafka.anomalies import group_anomalies
from minikafka.course.judging.checks import Exercise, Rung, WrongKind
from minikafka.course.judging.group_cases import (
    a_group,
    a_group_with_quarrels,
    assigned,
    assignment_given,
    counts,
    fewest_moves,
    group,
    had,
    listed,
    member,
    on_a_cluster,
    owner_of,
    renamed,
    smaller_group,
    stale,
    unsteady,
)
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "eager, max.poll.records=500, 0.2 s per order, and a pod joins",
        right=3,
        why=(
            "3. 500 orders take 100 s, and the member that has them doesn't poll until"
            " it has finished them. All others have given everything back by then, and wait in"
            " JoinGroup."
            " Smaller polls make shorter rebalances."
        ),
    ),
    Question(
        "Request joining group due to: need to revoke partitions [orders-5]",
        right=2,
        why=(
            "2. The first rebalance of a cooperative group is over, and orders-5 is"
            " missing from the member's new share. It gives the partition back and joins"
            " again, so that the second rebalance can hand it on."
        ),
    ),
    Question(
        "caches that take ten minutes to build, restarts of 20 s, and a daily deployment",
        right=1,
        why=(
            "1. Each member is back before its session ends and gets its old share, and its"
            " cache is still on its disk. Orders wait for about 20 s, which is allowed. A"
            " dynamic member leaves and joins, so partitions move twice, and their"
            " caches have to be built elsewhere, with any protocol."
        ),
    ),
    Question(
        "C has processed P5 up to offset 109 and committed 106; then P5 goes to D",
        right=2,
        why=(
            "2. Four: 106, 107, 108 and 109. The committed offset is the next one that"
            " the group wants, so D starts with 106 itself."
        ),
        lesson="04",
    ),
    Question(
        "a deadlock at 14:00, and the heartbeats look fine",
        right=2,
        why=(
            "2. Heartbeats keep the session alive, but poll isn't called any more. After"
            " max.poll.interval.ms, five minutes, the client leaves the group by itself."
        ),
        lesson="05",
    ),
)


# --- 1: hand partitions over ---


HINTS_1 = (
    (
        "A partition of the target is in one of three states: its new member has it"
        " already, another member has it, or nobody has it. In which of these states"
        " may you give it out?"
    ),
    (
        "First build a dict from each partition to the member that has it now, from the"
        " members' owned. Members that have left aren't in it."
    ),
    (
        "Keep a partition in a share if owner.get(partition, name) == name: then it is"
        " this member's already, or nobody's. Otherwise leave it out. You don't have to"
        " tell its owner: a member gives back what isn't in its share."
    ),
)


def exercise_1():
    """The two-phase revoke: what may be handed out of a target while some of it still
    has another owner.
    """
    common = {
        "smaller": smaller_target,
        "describe": as_target,
        "picture": play_hand_over,
        "scenario": a_target,
        "cases": {
            "one joins": (group(A=(0, 1), B=()), to(A=[0], B=[1])),
            "two swap": (group(A=(0,), B=(1,)), to(A=[1], B=[0])),
            "one has left": (group(A=(0,), B=()), to(A=[0], B=[1])),
            "nothing moves": (group(A=(0,), B=(1,)), to(A=[0], B=[1])),
            "the same number in two topics": (
                {
                    name: member(BOTH, [part])
                    for name, part in zip("AB", TWINS, strict=True)
                },
                dict(zip("AB", map(list, zip(TWINS, strict=True)), strict=True)),
            ),
            "one of two twins moves": (
                {"A": member(BOTH, TWINS), "B": member(BOTH, [])},
                {"A": list(TWINS[:1]), "B": list(TWINS[1:])},
            ),
        },
    }
    return Exercise(
        name="hand_over",
        right="no partition ever has two owners, and what stays is read all the time.",
        call_seconds=4.0,  # a wrong answer is played on a cluster
        hints=HINTS_1,
        rungs=(
            Rung(
                holds="no partition is given away while another member has it",
                broken=two_owners,
                **common,
            ),
            Rung(
                holds="a member that keeps a partition keeps it without a break",
                broken=a_break,
                **common,
            ),
            Rung(
                holds="after the second rebalance everything is where it should be",
                broken=never_there,
                **common,
            ),
        ),
    )


BOTH = ("orders", "refunds")
TWINS = (("orders", 0), ("refunds", 0))


def to(**numbers):
    """A target: who should get which partitions of orders."""
    return {
        name: [("orders", number) for number in share]
        for name, share in numbers.items()
    }


def a_target(source):
    members, partitions = a_group(source)
    target = {name: [] for name in members}
    for topic, count in partitions.items():
        for number in range(count):
            stays = (
                owner_of(members).get((topic, number))
                if source.random() < 0.5
                else None
            )
            target[stays or source.choice(list(members))].append((topic, number))
    return members, target


def smaller_target(case):
    members, target = case
    new = renamed(members)
    if new:
        yield tuple({new[name]: value for name, value in each.items()} for each in case)
    every = sorted(part for share in target.values() for part in share)
    for part in every:
        yield with_names(case, {other: other for other in every if other != part})
    tidy = {}
    for topic in sorted({topic for topic, _ in every}):
        tidy |= {
            part: (topic, at)
            for at, part in enumerate(part for part in every if part[0] == topic)
        }
    if tidy != {part: part for part in every}:
        yield with_names(case, tidy)
    if len({topic for topic, _ in every}) > 1:
        yield with_names(case, {part: ("orders", at) for at, part in enumerate(every)})
    for name in members:
        if not members[name].owned and not target[name]:
            yield tuple(
                {other: value for other, value in each.items() if other != name}
                for each in case
            )


def with_names(case, new):
    """The same, with these partitions only, under their new names."""
    members, target = case
    topics = tuple(sorted({topic for topic, _ in new.values()})) or ("orders",)
    return (
        {
            name: member(topics, [new[part] for part in each.owned if part in new])
            for name, each in members.items()
        },
        {
            name: [new[part] for part in share if part in new]
            for name, share in target.items()
        },
    )


def as_target(case):
    members, target = case
    return f"{had(members)}; the target is {assigned(target)}"


def handed(answer, members, target):
    found = assignment_given(answer(target, members), members)
    for name, share in found.items():
        for part in share:
            if part not in target[name] and part not in members[name].owned:
                raise WrongKind(
                    f"it gave {listed([part])} to {name}, which neither has it nor should"
                    " get it."
                )
    return found


def two_owners(answer, case):
    members, target = case
    found = handed(answer, members, target)
    for name, share in found.items():
        for part in share:
            others = [
                other
                for other, member in members.items()
                if other != name and part in member.owned
            ]
            if others:
                return (
                    f"{seen(answer, case) or f'{listed([part])} has two owners, {others[0]} and {name}.'}\n"
                    + f"you gave {listed([part])} to {name} before {others[0]} had"
                    " given it up"
                )
    return None


def seen(answer, case):
    """What the detectors see when the case is played on a cluster."""
    found = {
        each.name: each for each in group_anomalies(play_cluster(answer, case).trace)
    }
    if "two owners" in found:
        return (
            f"two owners: {found['two owners'].what} at"
            f" {found['two owners'].at / 1000:.2f} s."
        )
    return None


def a_break(answer, case):
    members, target = case
    found = handed(answer, members, target)
    for name, each in members.items():
        for part in target[name]:
            if part in each.owned and part not in found[name]:
                return (
                    f"{name} has {listed([part])} and should keep it, and it was left"
                    " out of its share.\na member gives back whatever isn't in its share, and"
                    " then nobody reads it for a while"
                )
    return None


def never_there(answer, case):
    members, target = case
    for _ in range(2):
        found = handed(answer, members, target)
        members = {
            name: member._replace(owned=tuple(found[name]))
            for name, member in members.items()
        }
    for name, share in target.items():
        for part in share:
            if part not in found[name]:
                keeper = next((other for other in found if part in found[other]), None)
                why = (
                    f"{keeper} was never told to give it up"
                    if keeper
                    else "it was free, and nobody got it"
                )
                return (
                    f"{listed([part])} never reaches {name}: {why}.\nafter two"
                    f" rebalances: {assigned(found)}"
                )
    return None


def play_cluster(answer, case):
    members, target = case
    partitions = {"orders": 1}
    for topic, number in [part for share in target.values() for part in share]:
        partitions[topic] = max(partitions.get(topic, 0), number + 1)
    return on_a_cluster(
        lambda found, _: answer(target, found), members, partitions, cooperative=True
    )


def play_hand_over(answer, case):
    return play_cluster(answer, case).play("rebalance", since_ms=3000)


# --- 2: write a piece ---


HINTS_2 = (
    (
        "Take three steps. Which member keeps what it had? (If two claim a"
        " partition, the later generation has it.) What is free then? Which"
        " member gets it? Begin with a version in which no member keeps"
        " anything: that is round robin, and the first two rungs hold."
    ),
    (
        "A fair share is total // members, and total % members of them get one"
        " more. Which members should keep that one more, so that less moves?"
        " And does each partition that a member had still exist?"
    ),
    (
        "Begin with a dict from each partition to the member that had it, filled"
        " in the order of generations, so that the latest stays. Then go"
        " through the members, those that had most first: each keeps its first"
        " `fair` partitions, and one more as long as extra ones are left. Then"
        " give each free partition to the member that has least: min(shares,"
        " key=...)."
    ),
)


EACH_ONE = {
    "a new group": (group(A=(), B=()), {"orders": 3}),
    "the first example": (group(A=(0, 1, 2), B=()), {"orders": 3}),
    "the second example": (group(A=(1,), B=(0,)), {"orders": 2}),
    "more members than partitions": (
        group(A=(0,), B=(1,), C=()),
        {"orders": 2},
    ),
    "one has left": (group(A=(0,), B=(1,)), {"orders": 3}),
    "a partition that is gone": (
        group(A=(0, 2), B=(1,)),
        {"orders": 2},
    ),
    "two say it was theirs": (
        stale(group(A=(0,), B=(0, 1)), "A"),
        {"orders": 2},
    ),
}
FAIR = {
    "one has all": (group(A=(0, 1, 2, 3), B=()), {"orders": 4}),
    "two topics": (group(A=(), B=()), {"orders": 1, "refunds": 3}),
    "a partition more": (group(A=(0, 1), B=(2,)), {"orders": 4}),
}
AS_THEY_WERE = {
    "nothing has changed": (group(A=(1,), B=(0,)), {"orders": 2}),
    "the first example": (group(A=(0, 1, 2), B=()), {"orders": 3}),
    "one joins": (group(A=(0, 1), B=(2, 3), C=()), {"orders": 4}),
    "who may keep one more": (
        group(A=(0,), B=(1, 2, 3)),
        {"orders": 5},
    ),
    "one has left": (group(A=(0, 3), B=(1, 4)), {"orders": 6}),
    "A missed a rebalance": (
        stale(group(A=(0,), B=(0,)), "A"),
        {"orders": 2},
    ),
    "B missed a rebalance": (
        stale(group(A=(0,), B=(0,)), "B"),
        {"orders": 2},
    ),
}


def exercise_2():
    """A sticky assignor in four rungs: one owner, balanced, fewest moves, steady."""
    common = {
        "smaller": smaller_group,
        "describe": as_group,
        "picture": play_assignment,
    }
    return Exercise(
        name="my_sticky",
        right="one owner each, equal shares, and nothing moves that could stay.",
        hints=HINTS_2,
        rungs=(
            Rung(
                holds="every partition goes to exactly one member",
                broken=not_one_owner,
                cases=EACH_ONE,
                scenario=a_group_with_quarrels,
                **common,
            ),
            Rung(
                holds="no member has two more than another",
                broken=not_balanced,
                cases=FAIR,
                scenario=a_group_with_quarrels,
                **common,
            ),
            Rung(
                holds="as few partitions move as possible",
                broken=moves_too_many,
                cases=AS_THEY_WERE,
                scenario=a_group_with_quarrels,
                **common,
            ),
            steady(common),
        ),
    )


def steady(common):
    return Rung(
        holds="the same group gets the same answer",
        broken=lambda answer, case: unsteady(
            lambda *given: shares_of(answer, given), case
        ),
        cases={"two topics": (group(A=(), B=(), C=()), {"orders": 2, "refunds": 3})},
        scenario=a_group_with_quarrels,
        **common,
    )


def as_group(case):
    members, partitions = case
    return f"{had(members)}; {counts(partitions)}"


def shares_of(answer, case):
    return assignment_given(answer(*case), case[0])


def not_one_owner(answer, case):
    _, partitions = case
    found = shares_of(answer, case)
    every = {
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    }
    taken = {}
    for name, share in found.items():
        for part in share:
            if part not in every:
                return (
                    f"it gave {listed([part])} to {name}, and there is no such"
                    f" partition now.\n{gave(found)}"
                )
            if part in taken:
                twice = (
                    f"{taken[part]} and {name}"
                    if taken[part] != name
                    else f"{name} twice"
                )
                return (
                    f"it gave {listed([part])} to {twice}. Then its records are"
                    f" processed twice.\n{gave(found)}"
                )
            taken[part] = name
    missing = every - set(taken)
    return (
        f"nobody got {listed(missing)}. Its records wait forever.\n{gave(found)}"
        if missing
        else None
    )


def gave(found):
    return f"your assignor gave {assigned(found)}"


def not_balanced(answer, case):
    found = shares_of(answer, case)
    most, least = (
        max(found, key=lambda name: len(found[name])),
        min(found, key=lambda name: len(found[name])),
    )
    if len(found[most]) - len(found[least]) < 2:
        return None
    return (
        f"{most} got {len(found[most])} partitions and {least} only"
        f" {len(found[least])}.\n{gave(found)}"
    )


def moves_too_many(answer, case):
    members, _ = case
    found = shares_of(answer, case)
    before = owner_of(members)
    now = {part: name for name, share in found.items() for part in share}
    moved = sorted(part for part, name in now.items() if before.get(part, name) != name)
    fewest = fewest_moves(*case)
    if len(moved) <= fewest:
        return None
    enough = f"{fewest or 'none'} would do" if fewest != 1 else "one would do"
    went = ", ".join(
        f"{listed([part])} from {before[part]} to {now[part]}" for part in moved
    )
    return (
        f"it moved {len(moved)} partition{'s' * (len(moved) != 1)}, and"
        f" {enough}.\nmoved: {went}\n{gave(found)}"
    )


def play_assignment(answer, case):
    return on_a_cluster(answer, *case).play("rebalance", since_ms=3000)
