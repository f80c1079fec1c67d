"""Lesson 06's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import pytest

from minikafka.coordinators.assignors import (
    assign_cooperative_sticky,
    assign_range,
    assign_round_robin,
    assign_sticky,
)
from minikafka.course.lessons import lesson
from tests.course.answers import endless, solution, verdict

pytestmark = pytest.mark.slow

CHECKS = lesson("06")._module


# --- exercise 1 ---


def by_looking_for_others(target, members):
    """Right, and unlike the solution."""
    given = {}
    for name, share in target.items():
        given[name] = []
        for partition in share:
            if not any(
                partition in members[other].owned for other in members if other != name
            ):
                given[name].append(partition)
    return given


def at_once(target, members):
    return target


def only_what_is_free(target, members):
    """Gives a member nothing that anybody has, itself included."""
    owned = {partition for member in members.values() for partition in member.owned}
    return {
        name: [partition for partition in share if partition not in owned]
        for name, share in target.items()
    }


def all_or_nothing(target, members):
    """Nobody gets anything while something still moves."""
    owner = {
        partition: name
        for name, member in members.items()
        for partition in member.owned
    }
    moves = any(
        owner.get(p, name) != name for name, share in target.items() for p in share
    )
    return {name: [] for name in target} if moves else target


def nobody_gives_back(target, members):
    """Leaves everything where it is, and gives out what is free."""
    owner = {
        partition: name
        for name, member in members.items()
        for partition in member.owned
    }
    given = {name: list(member.owned) for name, member in members.items()}
    for name, share in target.items():
        given[name] += [partition for partition in share if partition not in owner]
    return given


def only_what_stays(target, members):
    """Never gives anybody anything new."""
    return {
        name: [p for p in share if p in members[name].owned]
        for name, share in target.items()
    }


def free_to_anybody(target, members):
    """What is free goes to the first."""
    given = only_what_stays(target, members)
    owned = {partition for member in members.values() for partition in member.owned}
    given[min(given)] += [
        p for share in target.values() for p in share if p not in owned
    ]
    return given


def new_members_wait(target, members):
    """Lets who has nothing get everything at once: nobody to revoke there."""
    return {
        name: (
            share
            if not members[name].owned
            else [p for p in share if p in members[name].owned]
        )
        for name, share in target.items()
    }


@pytest.mark.parametrize(
    "answer",
    [solution("06", 1, "hand_over"), by_looking_for_others],
    ids=lambda answer: answer.__name__,
)
def test_a_right_hand_over_is_right_however_it_is_written(answer):
    found = verdict("06", 1, answer)
    assert found.right, found
    assert len(found.lines) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (at_once, "you gave orders-0 to B before A had given it up"),
        (new_members_wait, "before A had given it up"),
        (only_what_is_free, "A has orders-0 and should keep it"),
        (all_or_nothing, "and should keep it, and it was left out of its share"),
        (nobody_gives_back, "A was never told to give it up"),
        (
            only_what_stays,
            "orders-0 never arrives at B: it was free, and nobody got it",
        ),
        (free_to_anybody, "who neither has it nor should get it"),
        (lambda target, members: list(members), "it returned a list, not a dictionary"),
        (lambda target, members: target["nobody"], "KeyError"),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not hand_over"),
    ],
)
def test_a_wrong_hand_over_hears_what_is_wrong(answer, words):
    found = verdict("06", 1, answer)
    assert not found.right and words in str(found), found


def test_the_smallest_early_move_is_one_partition_and_two_members_and_the_detectors_see_two_owners():
    found = verdict("06", 1, at_once)
    assert found.headline.startswith("Not yet: two owners: A and B own orders-0 at ")
    assert (
        "smallest case: A had orders-0, B is new; the target is A: nothing; B: orders-0"
        in found.lines
    )
    assert any(scene["space"]["two_owners"] for scene in found.picture.scenes)


# --- exercise 2 ---


def all_partitions(partitions):
    return [
        (topic, number)
        for topic, count in partitions.items()
        for number in range(count)
    ]


def one_by_one(members, partitions):
    """Right, and unlike the solution: begins with what all had, then moves one from
    most to least until it is even.
    """
    shares, free = {name: [] for name in members}, all_partitions(partitions)
    for name, member in sorted(members.items(), key=lambda each: -each[1].generation):
        for partition in member.owned:
            if partition in free:
                free.remove(partition)
                shares[name].append(partition)
    for partition in free:
        shares[min(shares, key=lambda name: len(shares[name]))].append(partition)
    while True:
        most, least = (
            max(shares, key=lambda n: len(shares[n])),
            min(shares, key=lambda n: len(shares[n])),
        )
        if len(shares[most]) - len(shares[least]) < 2:
            return shares
        shares[least].append(shares[most].pop())


def keeps_everything(members, partitions):
    """Sticky, and whoever comes first keeps all."""
    free, shares = set(all_partitions(partitions)), {}
    for name, member in members.items():
        shares[name] = [partition for partition in member.owned if partition in free]
        free -= set(shares[name])
    for partition in sorted(free):
        shares[min(shares, key=lambda name: len(shares[name]))].append(partition)
    return shares


def believes_all(members, partitions):
    """Keeps what a member names, also where another one names it."""
    shares = {
        name: [p for p in member.owned if p in all_partitions(partitions)]
        for name, member in members.items()
    }
    taken = {partition for share in shares.values() for partition in share}
    for partition in all_partitions(partitions):
        if partition not in taken:
            shares[min(shares, key=lambda name: len(shares[name]))].append(partition)
    return shares


def keeps_what_is_gone(members, partitions):
    shares, taken = {}, set()
    for name, member in members.items():
        shares[name] = [
            partition for partition in member.owned if partition not in taken
        ]
        taken |= set(shares[name])
    for partition in set(all_partitions(partitions)) - taken:
        shares[min(shares, key=lambda name: len(shares[name]))].append(partition)
    return shares


def forgets_the_free(members, partitions):
    taken, shares = set(), {}
    for name, member in members.items():
        shares[name] = [
            p
            for p in member.owned
            if p in all_partitions(partitions) and p not in taken
        ]
        taken |= set(shares[name])
    return shares


def forgets_the_remainder(members, partitions):
    every = all_partitions(partitions)
    each = len(every) // len(members)
    return {
        name: every[number * each : (number + 1) * each]
        for number, name in enumerate(members)
    }


def anybody_keeps_one_more(members, partitions):
    """The extra partitions go by name, not to those who had more."""
    every = all_partitions(partitions)
    fair, extra = divmod(len(every), len(members))
    free, shares, room = set(every), {}, {}
    for number, (name, member) in enumerate(sorted(members.items())):
        room[name] = fair + (number < extra)
        shares[name] = [partition for partition in member.owned if partition in free][
            : room[name]
        ]
        free -= set(shares[name])
    for partition in sorted(free):
        shares[next(name for name in shares if len(shares[name]) < room[name])].append(
            partition
        )
    return shares


def changes_its_input(members, partitions):
    shares = solution("06", 2, "my_sticky")(members, partitions)
    members.clear()
    partitions.clear()
    return shares


@pytest.mark.parametrize(
    "answer",
    [solution("06", 2, "my_sticky"), one_by_one, assign_sticky],
    ids=lambda f: f.__name__,
)
def test_a_right_assignor_is_right_however_it_is_written(answer):
    found = verdict("06", 2, answer)
    assert found.right, found
    assert len(found.lines) == 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (changes_its_input, "it changed its argument members, which is the caller's"),
        (assign_range, "B only 0"),
        (assign_round_robin, "it moved 1 partition, and none would do"),
        (keeps_everything, "A got 2 partitions and B only 0"),
        (believes_all, "it gave orders-0 to A and B. Then its records are done twice"),
        (keeps_what_is_gone, "and there is no such partition now"),
        (forgets_the_free, "nobody got orders-0. Its records wait for ever"),
        (forgets_the_remainder, "Its records wait for ever"),
        (anybody_keeps_one_more, "and none would do"),
        (assign_cooperative_sticky, "nobody got orders-"),
        (
            lambda members, partitions: {"Z": all_partitions(partitions)},
            "it gave a share to 'Z', and there is no such member",
        ),
        (
            lambda members, partitions: list(members),
            "it returned a list, not a dictionary",
        ),
        (
            lambda members, partitions: {name: [0] for name in members},
            "a list of pairs",
        ),
        (
            lambda members, partitions: {
                name: members[name].partitions for name in members
            },
            "AttributeError",
        ),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not my_sticky"),
    ],
)
def test_a_wrong_assignor_hears_what_is_wrong(answer, words):
    found = verdict("06", 2, answer)
    assert not found.right and words in str(found), found


def test_a_half_right_assignor_hears_which_half():
    found = str(verdict("06", 2, assign_round_robin))
    assert "holds already: every partition goes to exactly one member" in found
    assert "smallest case: A is new, B had orders-0; orders has 1 partition" in found
    assert "moved: orders-0 from B to A" in found


@pytest.mark.parametrize(
    ("owned", "partitions", "fewest"),
    [
        ({"A": (0, 1, 2), "B": ()}, 3, 1),
        ({"A": (0, 1, 2, 3), "B": ()}, 4, 2),
        ({"A": (0,), "B": (1, 2, 3)}, 5, 0),
        ({"A": (0, 1), "B": (2, 3), "C": ()}, 4, 1),
        ({"A": (1,), "B": (0,)}, 2, 0),
    ],
)
def test_the_fewest_moves_are_what_is_above_a_fair_share(owned, partitions, fewest):
    assert CHECKS.fewest_moves(CHECKS.group(**owned), {"orders": partitions}) == fewest


def test_a_counterexample_of_the_assignor_can_be_played():
    picture = verdict("06", 2, assign_round_robin).picture
    assert "A P0" in str(picture) and "B" in str(picture.table())


# --- both ---


@pytest.mark.parametrize("number", [1, 2])
def test_a_stub_is_not_attempted_and_there_are_three_hints(number):
    def stub(members, partitions):
        """A docstring."""
        ...

    assert verdict("06", number, stub).headline.startswith("Not attempted yet")
    assert len(lesson("06")._exercise(number).hints) == 3
