"""Lesson 05's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import itertools

import pytest

from minikafka.coordinators.assignors import ASSIGNORS, Member
from minikafka.coordinators.server_assignors import assign_uniform
from minikafka.faults import Crash, Cut, Freeze
from tests.course.answers import endless, solution, verdict

pytestmark = pytest.mark.slow


def dealt_out(members, partitions):
    """Right, and unlike the solution: all partitions in turn, as cards are dealt."""
    found = {name: [] for name in members}
    for topic, count in sorted(partitions.items()):
        ring = itertools.cycle(
            [name for name in sorted(members) if topic in members[name].topics]
            or [None]
        )
        for number in range(count):
            name = next(ring)
            if name is not None:
                found[name].append([topic, number])
    return found


def uniform(members, partitions):
    """The broker's own (KIP-848). The coordinator hands it the members in order."""
    return assign_uniform(
        {name: Member(members[name].topics) for name in sorted(members)}, partitions
    )


def everything_to_all(members, partitions):
    return {
        name: [(topic, n) for topic in partitions for n in range(partitions[topic])]
        for name in members
    }


def all_to_one(members, partitions):
    first = min(members)
    topics = [topic for topic in members[first].topics if topic in partitions]
    everything = [
        (topic, number) for topic in topics for number in range(partitions[topic])
    ]
    return dict.fromkeys(members, ()) | {first: everything}


def one_each(members, partitions):
    """Forgets what is left when each has one."""
    return {
        name: [
            (topic, place)
            for topic in members[name].topics
            if place < partitions.get(topic, 0)
        ]
        for place, name in enumerate(sorted(members))
    }


def without_the_remainder(members, partitions):
    found = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        size = count // len(readers)
        for place, name in enumerate(readers):
            found[name] += [
                (topic, number) for number in range(place * size, (place + 1) * size)
            ]
    return found


def remainder_to_the_last(members, partitions):
    found = without_the_remainder(members, partitions)
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        found[readers[-1]] += [
            (topic, number)
            for number in range(count // len(readers) * len(readers), count)
        ]
    return found


def whoever_reads_what(members, partitions):
    """Deals out all partitions to all members."""
    names = sorted(members)
    every = [
        (topic, number) for topic in partitions for number in range(partitions[topic])
    ]
    found = {name: [] for name in names}
    for place, partition in enumerate(every):
        found[names[place % len(names)]].append(partition)
    return found


def from_one(members, partitions):
    return {
        name: [(topic, number + 1) for topic, number in share]
        for name, share in dealt_out(members, partitions).items()
    }


def numbers_only(members, partitions):
    return {
        name: [number for _, number in share]
        for name, share in dealt_out(members, partitions).items()
    }


def by_number(members, partitions):
    return {
        place: share
        for place, share in enumerate(dealt_out(members, partitions).values())
    }


def a_list(members, partitions):
    return list(dealt_out(members, partitions).items())


def says_nothing(members, partitions):
    dealt_out(members, partitions)


def trusts_topics(members, partitions):
    return dict.fromkeys(members, ()) | {
        name: [
            (topic, number)
            for topic in member.topics
            for number in range(partitions[topic])
        ]
        for name, member in itertools.islice(members.items(), 1)
    }


def spoils_what_it_is_given(members, partitions):
    """Right, but for what it does to its arguments."""
    found = dealt_out(members, partitions)
    members.clear()
    partitions.clear()
    return found


@pytest.mark.parametrize(
    "answer",
    [
        solution("05", 1, "my_assignor"),
        dealt_out,
        *(
            ASSIGNORS[name].assign
            for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
        ),
        uniform,
    ],
)
def test_a_right_assignor_is_right_however_it_is_written(answer):
    found = verdict("05", 1, answer)
    assert found.right, found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (everything_to_all, "two members own orders-0: A and B"),
        (all_to_one, "nobody owns"),
        (one_each, "nobody owns orders-1"),
        (without_the_remainder, "nobody owns orders-0"),
        (remainder_to_the_last, "C has 2 partitions of orders, and A has 0"),
        (whoever_reads_what, "doesn't read"),
        (from_one, "orders has the partitions [0]"),
        (numbers_only, "A share is a list of pairs (topic, partition)"),
        (by_number, "it gave a share to 0, and there is no such member: A"),
        (a_list, "it returned a list, not a dictionary"),
        (says_nothing, "it returned None"),
        (spoils_what_it_is_given, "it changed its argument members"),
        (trusts_topics, "it raised KeyError: 'refunds'"),
        (lambda members, partitions: 1 / 0, "it raised ZeroDivisionError"),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not my_assignor"),
    ],
)
def test_a_wrong_assignor_hears_what_is_wrong(answer, words):
    found = verdict("05", 1, answer)
    assert not found.right and words in str(found), found


def test_the_smallest_counterexample_is_a_call_to_paste():
    found = verdict("05", 1, everything_to_all)
    call = (
        "my_assignor({'A': Member(('orders',)), 'B': Member(('orders',))},"
        " {'orders': 1})"
    )
    assert call in str(found)
    assert eval(call, {"Member": Member, "my_assignor": dealt_out}) == {
        "A": [["orders", 0]],
        "B": [],
    }


def test_a_counterexample_is_a_group_to_watch_in_which_the_answer_ran():
    table = str(verdict("05", 1, everything_to_all).picture.table())
    assert (
        "your assignor everything_to_all" in table
        and "Now A and B own P0: only one should." in table
    )


def test_a_stub_is_not_attempted():
    def my_assignor(members, partitions):
        """Who reads what."""
        ...

    found = verdict("05", 1, my_assignor)
    assert not found.attempted and "still the stub" in str(found)


def freeze(at_ms, for_ms, who="consumer A"):
    return [Freeze(who, at_ms=at_ms, for_ms=for_ms)]


@pytest.mark.parametrize(
    "faults", [solution("05", 2, "faults"), freeze(29_400, 43_400, "consumer B")]
)
def test_a_sleep_that_is_short_enough_is_right(faults):
    found = verdict("05", 2, faults)
    assert found.right, found


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([], "no fault, and every order is paid once"),
        (
            freeze(24_100, 30_000),
            "its last heartbeat before the freeze went out at 24036 ms",
        ),
        (freeze(26_400, 42_000), "43966 ms later. The session time-out is 45000 ms"),
        (freeze(24_100, 60_000), "shorter than the session time-out of 45000 ms"),
        (freeze(26_400, 43_800), "the last commit was 1966 ms old"),
        (freeze(26_400, 200_000), "still frozen when the run ends"),
        (freeze(1_000, 2_000), "had given no sign of life"),
        (freeze(1_000, 50_000, "broker 1"), "every order is paid at most once"),
        (
            freeze(1_000, 2_000, "consumer C"),
            "'consumer C' can't be: it is 'consumer A' or 'consumer B'",
        ),
        (
            freeze(26_400, 43_100) + freeze(26_400, 43_100, "consumer B"),
            "2 faults. One is enough",
        ),
        (
            [Crash("careful", call=18)],
            "a Crash does it, and shows another hole (lesson 04)",
        ),
        ([Cut("consumer A", "broker 1", 24_100, 60_000)], "a Cut does it"),
        (["freeze A"], "is no fault. Write Freeze("),
        ("freeze", "this is 'freeze'"),
        (None, "Not attempted yet"),
        (..., "Not attempted yet"),
    ],
)
def test_another_schedule_hears_what_happened(faults, words):
    found = verdict("05", 2, faults)
    assert not found.right and words in str(found), found


def test_a_schedule_that_does_nothing_can_be_played():
    assert "Consumer A is frozen" in str(
        verdict("05", 2, freeze(24_100, 30_000)).picture.table()
    )
