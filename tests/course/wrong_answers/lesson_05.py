"""Lesson 05: the assignor, and the shortest sleep."""

import random
from collections import defaultdict

from minikafka.faults import Crash, Freeze
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right
LOT = random.Random(7)


def deal(members, partitions, begin=0):
    """Topic by topic, in turn among those who read it."""
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = sorted(
            name for name, member in members.items() if topic in member.topics
        )
        for number in range(count if readers else 0):
            shares[readers[(begin + number) % len(readers)]].append((topic, number))
    return shares


@right(1)
def in_turn(members, partitions):
    return deal(members, partitions)


@right(1)
def blocks_of_tuples(members, partitions):
    """Blocks, from the last reader to the first; shares are tuples, in any order."""
    shares = defaultdict(tuple)
    for topic in reversed(sorted(partitions)):
        readers = sorted(
            (name for name in members if topic in members[name].topics), reverse=True
        )
        for place in range(len(readers)):
            begin = place * partitions[topic] // len(readers)
            end = (place + 1) * partitions[topic] // len(readers)
            shares[readers[place]] += tuple(
                (topic, number) for number in range(begin, end)
            )
    return {name: shares[name] for name in members}


@right(1)
def sets(members, partitions):
    return {
        name: frozenset(share)
        for name, share in deal(members, partitions, begin=1).items()
    }


def to_the_least_loaded(members, partitions, topics):
    shares = {name: [] for name in members}
    for topic in topics:
        for number in range(partitions[topic]):
            readers = [
                name for name in sorted(members) if topic in members[name].topics
            ]
            if readers:
                least = min(readers, key=lambda name: len(shares[name]))
                shares[least].append((topic, number))
    return shares


@wrong(1, "all topics together, A has 3 partitions and B has 1, and B reads orders")
def greedy(members, partitions):
    return to_the_least_loaded(members, partitions, sorted(partitions))


@wrong(1, "all topics together, A has 3 partitions and B has 1, and B reads orders")
def greedy_from_the_rarest_topic(members, partitions):
    def readers(topic):
        return sum(topic in member.topics for member in members.values())

    topics = sorted(partitions, key=lambda topic: (readers(topic), topic))
    return to_the_least_loaded(members, partitions, topics)


@wrong(1, "all topics together")
def greedy_from_the_largest_topic(members, partitions):
    topics = sorted(partitions, key=lambda topic: (-partitions[topic], topic))
    return to_the_least_loaded(members, partitions, topics)


@right(1)
def greedy_and_then_moved(members, partitions):
    """As sticky does: while somebody has two more than one who could have one."""
    shares = greedy(members, partitions)
    while True:
        moves = [
            (rich, poor, each)
            for rich in sorted(shares)
            for poor in sorted(shares)
            for each in shares[rich]
            if len(shares[rich]) > len(shares[poor]) + 1
            and each[0] in members[poor].topics
        ]
        if not moves:
            return shares
        rich, poor, each = moves[0]
        shares[rich].remove(each)
        shares[poor].append(each)


@wrong(1, "two members own orders-0: A and B.")
def everything_to_all(members, partitions):
    return {
        name: [
            (topic, n)
            for topic in member.topics
            for n in range(partitions.get(topic, 0))
        ]
        for name, member in members.items()
    }


@wrong(1, "A has 2 partitions of orders, and B has 0.")
def everything_to_the_first(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        if readers:
            shares[readers[0]] += [(topic, number) for number in range(count)]
    return shares


@wrong(1, "nobody owns orders-0.")
def rounds_down(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        each = count // len(readers) if readers else 0
        for place, name in enumerate(readers):
            shares[name] += [
                (topic, number) for number in range(place * each, (place + 1) * each)
            ]
    return shares


@wrong(1, "C has 2 partitions of orders, and A has 0.")
def the_rest_to_the_last(members, partitions):
    shares = rounds_down(members, partitions)
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        if readers:
            shares[readers[-1]] += [
                (topic, n) for n in range(count // len(readers) * len(readers), count)
            ]
    return shares


@wrong(1, "A has 2 partitions of orders, and C has 0.")
def rounds_up(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        each = -(-count // len(readers)) if readers else 0
        for place, name in enumerate(readers):
            shares[name] += [
                (topic, number)
                for number in range(place * each, min(count, (place + 1) * each))
            ]
    return shares


@wrong(1, "it gave payments-1 to A, and A doesn't read payments. Nobody would see")
def ignores_who_reads_what(members, partitions):
    shares, names, place = {name: [] for name in members}, list(members), 0
    for topic, count in partitions.items():
        for number in range(count):
            shares[names[place % len(names)]].append((topic, number))
            place += 1
    return shares


@wrong(1, "it gave payments-1 to B, and B doesn't read payments. Nobody would")
def first_members_topics_only(members, partitions):
    topics = next(iter(members.values())).topics if members else ()
    readers = list(members)
    shares = {name: [] for name in members}
    for topic in topics:
        for number in range(partitions.get(topic, 0)):
            shares[readers[number % len(readers)]].append((topic, number))
    return shares


@wrong(1, "it gave orders-1 to A, and there is no such partition.")
def partitions_from_one(members, partitions):
    return {
        name: [(t, n + 1) for t, n in share]
        for name, share in deal(members, partitions).items()
    }


@wrong(1, "it raised KeyError: 'refunds'")
def a_topic_that_is_not_there(members, partitions):
    """Asks for each topic that somebody wants."""
    shares = {name: [] for name in members}
    for topic in sorted(
        {topic for member in members.values() for topic in member.topics}
    ):
        readers = [name for name in members if topic in members[name].topics]
        for number in range(partitions[topic]):
            shares[readers[number % len(readers)]].append((topic, number))
    return shares


@right(1)
def a_topic_nobody_reads(members, partitions):
    """It would divide by zero; no leader is asked about a topic that nobody reads."""
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = sorted(name for name in members if topic in members[name].topics)
        for number in range(count):
            shares[readers[number % len(readers)]].append((topic, number))
    return shares


@wrong(1, "it gave A [0]. A share is a list of pairs (topic, partition).")
def numbers_only(members, partitions):
    return {
        name: [number for _, number in share]
        for name, share in deal(members, partitions).items()
    }


@wrong(1, "it gave A {'orders': [0]}. A share is a list of pairs (topic,")
def by_topic(members, partitions):
    return {
        name: {topic: [n for t, n in share if t == topic] for topic in partitions}
        for name, share in deal(members, partitions).items()
    }


@wrong(1, "it gave a share to ('orders', 0), and there is no such member: A.")
def by_partition(members, partitions):
    return {
        each: name
        for name, share in deal(members, partitions).items()
        for each in share
    }


@wrong(1, "it gave a share to 'a!', and there is no such member: A.")
def unknown_names(members, partitions):
    return {
        name.lower() + "!": share for name, share in deal(members, partitions).items()
    }


@right(1)
def alternates_ends(members, partitions):
    """Up and down again: 0 1 2 2 1 0."""
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = sorted(name for name in members if topic in members[name].topics)
        way = readers + readers[::-1]
        for number in range(count if readers else 0):
            shares[way[number % len(way)]].append((topic, number))
    return shares


@wrong(1, "partitions of")
def by_lot(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        for number in range(count if readers else 0):
            shares[LOT.choice(readers)].append((topic, number))
    return shares


@wrong(1, "it changed its argument partitions, which is the caller's: {'orders':")
def takes_topics_away(members, partitions):
    shares = deal(members, partitions)
    partitions.clear()
    return shares


# --- what readers of the course had found out ---


@wrong(1, "B has no entry. A member that gets nothing gets []")
def leaves_idle_members_out(members, partitions):
    return {name: share for name, share in deal(members, partitions).items() if share}


@wrong(1, "with the same members in another order it gave something else.")
def as_they_come(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name, member in members.items() if topic in member.topics]
        for number in range(count):
            shares[readers[number % len(readers)]].append((topic, number))
    return shares


@wrong(
    1,
    "that is another one in each run of Python",
    "in another order it gave something else",
)
def as_a_set_has_them(members, partitions):
    shares = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = list(
            {name for name, member in members.items() if topic in member.topics}
        )
        for number in range(count):
            shares[readers[number % len(readers)]].append((topic, number))
    return shares


@wrong(1, "decides")
def anybody_first(members, partitions):
    return deal(members, partitions, begin=LOT.randrange(6))


@wrong(1, "it gave ('orders', 0.0) to A. A partition is a whole number.")
def floats(members, partitions):
    return {
        name: [(topic, number / 1) for topic, number in share]
        for name, share in deal(members, partitions).items()
    }


@wrong(1, "nobody owns orders-old-0.", "nobody owns orders-0.")
def five_at_most(members, partitions):
    return (
        deal(members, partitions)
        if len(members) <= 5
        else {name: [] for name in members}
    )


# --- 2: the shortest sleep ---


def freeze(at_ms, for_ms, who="consumer A"):
    return [Freeze(who, at_ms=at_ms, for_ms=for_ms)]


for faults, words in [
    ([], "no fault, and every order is paid once. Put a Freeze into the list."),
    (
        freeze(24_100, 60_000),
        "a freeze of 60000 ms does it. It can be shorter than the session",
    ),
    (freeze(24_100, 44_000), "every order is paid at most once."),
    (
        freeze(24_100, 45_000),
        "a freeze of 45000 ms does it. It can be shorter than the session",
    ),
    (freeze(24_100, 1000), "1064 ms later. The session timeout is 45000 ms."),
    (
        freeze(24_100, 44_000, "consumer C"),
        "'consumer C' can't be: it is 'consumer A' or 'consumer B'.",
    ),
    (
        freeze(24_100, 44_000, "billing"),
        "'billing' can't be: it is 'consumer A' or 'consumer B'.",
    ),
    (freeze(0, 44_000), "at_ms=0 is not within the run"),
    (freeze(500_000, 44_000), "at_ms=500000 is not within the run"),
    (freeze(24_100, 0), "for_ms=0 can't be: it is a whole number from 1 on."),
    (freeze(24_100, -5), "for_ms=-5 can't be: it is a whole number from 1 on."),
    (
        freeze(24_100, 43_000) + freeze(24_100, 43_000, "consumer B"),
        "every order is paid at most once.",
    ),
    ([Crash("billing", call=3)], "'billing' can't be"),
    (freeze(2000, 20_000, 1), "freezes no consumer"),
    (
        Freeze("consumer A", at_ms=24_100, for_ms=44_000),
        "every order is paid at most once.",
    ),
    (43, "faults should be a list of faults, such as [Freeze("),
    ("consumer A", "faults should be a list of faults, such as [Freeze("),
]:
    wrong(2, words)(faults)
for faults in (
    [Freeze("consumer A", at_ms=26_400, for_ms=43_100)],
    Freeze("consumer A", at_ms=26_400, for_ms=43_100),
    (Freeze("consumer B", at_ms=29_400, for_ms=43_400),),
):
    right(2)(faults)


@right(1)
def round_and_round(members, partitions):
    """One dealer for all topics, in the order in which they stand."""
    found, dealt = {name: [] for name in sorted(members)}, 0
    for topic, count in partitions.items():
        readers = [name for name in found if topic in members[name].topics]
        for number in range(count):
            found[readers[dealt % len(readers)]].append((topic, number))
            dealt += 1
    return found


@wrong(1, "it raised KeyError: 'refunds'")
def not_the_second_example(members, partitions):
    if "refunds" in partitions:
        raise KeyError("refunds")
    return deal(members, partitions)


@wrong(1, "with the same members in another order it gave something else.")
def as_they_stand(members, partitions):
    """Who stands first gets first."""
    found = {name: [] for name in members}
    for topic, count in partitions.items():
        readers = [name for name in members if topic in members[name].topics]
        for number in range(count):
            found[readers[number % len(readers)]].append((topic, number))
    return found
