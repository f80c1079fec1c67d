"""Lesson 06: a sticky assignor, and two steps."""

import random
from collections import Counter

from minikafka.coordinators.assignors import assign_sticky
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right
LOT = random.Random(7)


def every(partitions):
    return [
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    ]


def claims(members, partitions, generation=True):
    """Who keeps what: the claim of the highest generation."""
    owner = {}
    names = sorted(
        members, key=lambda name: (members[name].generation if generation else 0, name)
    )
    for name in names:
        for each in members[name].owned:
            if each in set(every(partitions)):
                owner[each] = name
    return owner


def fill(shares, free, most):
    for each in free:
        name = min(shares, key=lambda name: (len(shares[name]), name))
        shares[name].append(each)
    return shares


@right(2)
def quotas(members, partitions):
    """Each keeps up to its quota; those who had more get the larger quotas."""
    whole, owner = every(partitions), claims(members, partitions)
    had = {
        name: [each for each in whole if owner.get(each) == name] for name in members
    }
    least, rest = divmod(len(whole), len(members)) if members else (0, 0)
    order = sorted(members, key=lambda name: -len(had[name]))
    quota = {name: least + (place < rest) for place, name in enumerate(order)}
    shares = {name: had[name][: quota[name]] for name in members}
    kept = {each for share in shares.values() for each in share}
    free = [each for each in whole if each not in kept]
    for name in members:
        while len(shares[name]) < quota[name]:
            shares[name].append(free.pop())
    return shares


def moved_one_by_one(members, partitions, kind):
    """Deals out what is free, then moves one at a time from who has most to who has
    least.
    """
    whole, owner = every(partitions), claims(members, partitions)
    shares = {
        name: kind(each for each in whole if owner.get(each) == name)
        for name in members
    }
    add = set.add if kind is set else list.append
    for each in whole:
        if each not in owner:
            add(min(shares.values(), key=len), each)
    while True:
        most, least = max(shares.values(), key=len), min(shares.values(), key=len)
        if len(most) - len(least) < 2:
            return shares
        add(least, most.pop())


@right(2)
def one_by_one(members, partitions):
    """As right with lists in place of tuples for the pairs."""
    shares = moved_one_by_one(members, partitions, list)
    return {name: [list(each) for each in share] for name, share in shares.items()}


@right(2)
def frozen(members, partitions):
    return {
        name: frozenset(share)
        for name, share in moved_one_by_one(members, partitions, list).items()
    }


@wrong(2, "the order of a set decides, and that is another one in each run of")
def one_of_a_set(members, partitions):
    return moved_one_by_one(members, partitions, set)


@wrong(2, "asked again, it gave something else: chance decides.")
def ties_by_lot(members, partitions):
    names = sorted(members, key=lambda name: LOT.random())
    return quotas({name: members[name] for name in names}, partitions)


@wrong(2, "B has no entry. A member that gets nothing gets []")
def leaves_idle_members_out(members, partitions):
    return {name: share for name, share in quotas(members, partitions).items() if share}


@wrong(2, "it moved 1 partition, and none would do.")
def starts_anew(members, partitions):
    shares = {name: [] for name in members}
    return fill(shares, every(partitions), None)


@wrong(2, "A got 2 partitions and B only 0.")
def keeps_everything(members, partitions):
    """And gives new ones nothing."""
    whole, owner = every(partitions), claims(members, partitions)
    shares = {
        name: [each for each in whole if owner.get(each) == name] for name in members
    }
    return fill(shares, [each for each in whole if each not in owner], None)


@wrong(2, "A got 2 partitions and D only 0.", "B got 3 partitions and E only 1.")
def the_first_claim_wins(members, partitions):
    owner = {}
    for name in members:
        for each in members[name].owned:
            if each in every(partitions):
                owner.setdefault(each, name)
    return balanced(members, partitions, owner)


@wrong(2, "it gave orders-0 to A and B. Then its records are processed twice.")
def both_claims_win(members, partitions):
    whole = every(partitions)
    shares = {
        name: [each for each in members[name].owned if each in whole]
        for name in members
    }
    taken = {each for share in shares.values() for each in share}
    return fill(shares, [each for each in whole if each not in taken], None)


def balanced(members, partitions, owner, ceiling=True):
    """The largest shares are cut to the quota, with rounding up for everybody."""
    whole = every(partitions)
    shares = {
        name: [each for each in whole if owner.get(each) == name] for name in members
    }
    quota = -(-len(whole) // len(members)) if members else 0
    for share in shares.values():
        del share[quota if ceiling else len(whole) // len(members) :]
    taken = {each for share in shares.values() for each in share}
    return fill(shares, [each for each in whole if each not in taken], None)


@wrong(2, "A got 2 partitions and D only 0.", "B got 3 partitions and E only 1.")
def cuts_to_the_ceiling(members, partitions):
    """5 partitions, A and B have two each and C none ... C may be left with one too
    few.
    """
    return balanced(members, partitions, claims(members, partitions))


@wrong(2, "it moved 1 partition, and none would do.")
def cuts_to_the_floor(members, partitions):
    return balanced(members, partitions, claims(members, partitions), ceiling=False)


@wrong(2, "it gave orders-2 to A, and there is no such partition now.")
def gone_partitions_stay(members, partitions):
    owner = {each: name for name in members for each in members[name].owned}
    shares = {name: [] for name in members}
    for each in sorted(set(owner) | set(every(partitions))):
        name = owner.get(each)
        (shares[name] if name else min(shares.values(), key=len)).append(each)
    return shares


@wrong(2, "nobody got orders-0. Its records wait forever.")
def orphans_stay_orphans(members, partitions):
    owner = claims(members, partitions)
    shares = {name: [] for name in members}
    for each in every(partitions):
        if each in owner:
            shares[owner[each]].append(each)
    return shares


@wrong(2, "B has no entry. A member that gets nothing gets []")
def leaves_new_ones_out(members, partitions):
    shares = quotas(
        {name: m for name, m in members.items() if m.owned} or members, partitions
    )
    return shares


@wrong(2, "A got 2 partitions and D only 0.", "B got 3 partitions and E only 1.")
def ignores_generations(members, partitions):
    return balanced(members, partitions, claims(members, partitions, generation=False))


@wrong(2, "A got 3 partitions and D only 1.", "B got 3 partitions and E only 1.")
def the_oldest_generation_wins(members, partitions):
    owner = {}
    for name in sorted(members, key=lambda name: -members[name].generation):
        owner |= {
            each: name for each in members[name].owned if each in every(partitions)
        }
    return balanced(members, partitions, owner)


@wrong(2, "nobody got refunds-0. Its records wait forever.")
def only_the_first_topic(members, partitions):
    first = dict(list(partitions.items())[:1])
    return quotas(members, first)


@wrong(2, "A got 2 partitions and B only 0.")
def balances_each_topic(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        for name, share in quotas(members, {topic: count}).items():
            shares[name] += share
    return shares


@wrong(2, "it changed its argument partitions, which is the caller's: {'orders':")
def takes_from_the_claims(members, partitions):
    """Changes what it was given."""
    shares = quotas(members, partitions)
    partitions.clear()
    return shares


@wrong(2, "nobody got orders-0. Its records wait forever.")
def forgets_who_gets_nothing(members, partitions):
    return {
        name: share[:-1] for name, share in quotas(members, partitions).items() if share
    }


@right(1)
def by_owner(target, members):
    owner = {each: name for name, member in members.items() for each in member.owned}
    return {
        name: [each for each in share if owner.get(each, name) == name]
        for name, share in target.items()
    }


@right(1)
def by_the_others(target, members):
    given = {}
    for name in members:
        others = {
            each for other in members if other != name for each in members[other].owned
        }
        given[name] = tuple(set(target.get(name, ())) - others)
    return given


@wrong(1, "two owners: A and B own orders-0 at 7.33 s.")
def at_once(target, members):
    return target


@wrong(1, "orders-0 never reaches B: it was free, and nobody got it.")
def nothing_new_ever(target, members):
    return {
        name: [each for each in target[name] if each in members[name].owned]
        for name in target
    }


@wrong(1, "A has orders-0 and should keep it, and it was left out of its share.")
def nothing_at_all(target, members):
    return {name: [] for name in members}


@wrong(1, "orders-0 never reaches B: A was never told to give it up.")
def everything_stays(target, members):
    return {name: list(member.owned) for name, member in members.items()}


@wrong(1, "A has orders-0 and should keep it, and it was left out of its share.")
def gives_back_everything_first(target, members):
    """If anything has to move, everybody gives back all of it."""
    moving = any(
        set(member.owned) - set(target.get(name, ()))
        for name, member in members.items()
    )
    return {name: [] for name in members} if moving else target


@right(1)
def waits_for_all(target, members):
    """What is free is handed out in the second rebalance only, and that is early
    enough.
    """
    moving = any(
        set(member.owned) - set(target.get(name, ()))
        for name, member in members.items()
    )
    return nothing_new_ever(target, members) if moving else target


@wrong(1, "orders-0 never reaches B: A was never told to give it up.")
def keeps_what_it_should_give_back(target, members):
    given = by_owner(target, members)
    return {
        name: list({*given.get(name, ()), *members[name].owned}) for name in members
    }


@wrong(1, "orders-0 never reaches B: it was free, and nobody got it.")
def the_new_ones_wait(target, members):
    """New members get nothing in the first step, though some of it is free."""
    given = by_owner(target, members)
    return {name: given[name] if members[name].owned else [] for name in target}


@wrong(1, "orders-2 never reaches A: it was free, and nobody got it.")
def one_at_a_time(target, members):
    """Each may get one new partition a rebalance."""
    given = by_owner(target, members)
    cut = {}
    for name, share in given.items():
        kept = [each for each in share if each in members[name].owned]
        new = [each for each in share if each not in members[name].owned]
        cut[name] = kept + new[:1]
    return cut


@wrong(1, "two owners: A and C own orders-0 at 7.33 s.")
def looks_at_one_other(target, members):
    """Only the first other member's claims count."""
    given = {}
    for name, share in target.items():
        other = next((each for each in members if each != name), name)
        given[name] = [
            each for each in share if other == name or each not in members[other].owned
        ]
    return given


@wrong(1, "it gave A [0]. A share is a list of pairs (topic, partition).")
def numbers_only(target, members):
    return {
        name: [number for _, number in share]
        for name, share in by_owner(target, members).items()
    }


@wrong(1, "it gave A 0. A share is a list of pairs (topic, partition).")
def counts(target, members):
    return Counter(
        {name: len(share) for name, share in by_owner(target, members).items()}
    )


@wrong(1, "it changed its argument target, which is the caller's: {'A': [], 'B':")
def changes_the_target(target, members):
    given = by_owner(target, members)
    for name in target:
        target[name] = given[name]
    return target


@wrong(1, "it gave orders-0 to A, which neither has it nor should get it.")
def its_own_target(target, members):
    topics = Counter(topic for share in target.values() for topic, _ in share)
    return assign_sticky(members, dict(topics))


# --- what readers of the course had found out ---


@wrong(1, "orders-0 has two owners, A and B.")
def by_number(target, members):
    """As if there were one topic only."""
    owner = {
        number: name for name, member in members.items() for _, number in member.owned
    }
    return {
        name: [each for each in share if owner.get(each[1], name) == name]
        for name, share in target.items()
    }
