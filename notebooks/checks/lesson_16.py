"""Lesson 16, operating a cluster: what a right answer does."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minikafka.course.judging.checks import Exercise, Rung, short
from minikafka.course.judging.described_topics import (
    Described,
    Row,
    a_smaller_topic,
    a_topic,
    as_describe,
    lines_of,
    topic_of,
)
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "100 partitions, three copies each, on five brokers: one dies",
        right=2,
        why=(
            "2. There are 300 replicas, 60 on each broker, of 60 different partitions."
        ),
    ),
    Question(
        "ten partitions of 60 GB from one leader to two brokers, at 100 MB/s",
        right=2,
        why=(
            "2. Each receiver gets 300 GB, but broker 1 sends all 600 GB, and it sends at"
            " most 100 MB a second: 6,000 s."
        ),
    ),
    Question(
        "a broker comes back with the same id and an empty disk",
        right=1,
        why=(
            "1. The lists of replicas still name it, so it follows their leaders and"
            " copies everything. No other broker has taken its place."
        ),
    ),
    Question(
        "acks=1 to a partition that is under its minimum ISR",
        right=3,
        why=(
            "3. The leader refuses acks=all, and nothing else. But its high watermark"
            " doesn't move, and consumers read only up to there."
        ),
        lesson="09",
    ),
    Question(
        "lag grows in one of twelve partitions",
        right=2,
        why=(
            "2. With too few consumers it would grow in several. Look at the partition's"
            " keys, and at the member that reads it."
        ),
        lesson="07",
    ),
)

# --- 1: what --describe says ---

FINE = "fine"
BEHIND = "copies missing"
REFUSES = "refuses acks=all"
OFFLINE = "no leader"


# The worked examples of the task.
THE_EXAMPLES = {
    "the first example": Described(
        (Row(0, "1", (1, 2, 3), (1, 2)),), min_isr=2, is_brief=True
    ),
    "the second example": Described(
        (Row(0, "none", (1, 2, 3), ()),), min_isr=2, has_head=False
    ),
}
FINE_OR_NOT = {
    "one partition": topic_of(("1", (1, 2, 3), (1, 2, 3)), min_isr=2),
    "another order": topic_of(("2", (2, 3, 1), (1, 2, 3)), min_isr=2),
    "one copy behind": topic_of(("1", (1, 2, 3), (1, 2)), min_isr=2),
    "two copies": topic_of(
        ("1", (1, 2), (1, 2)),
        ("2", (2, 1), (2,)),
        min_isr=1,
    ),
}
TOO_FEW = {
    "one of three": topic_of(("3", (3, 1, 2), (3,)), min_isr=2),
    "just enough": topic_of(("3", (3, 1, 2), (3, 1)), min_isr=2),
    "three wanted": topic_of(("1", (1, 2, 3), (1, 2)), min_isr=3),
}
NO_LEADER = {
    "the last one that was in sync": topic_of(("none", (3,), (3,)), min_isr=1),
    "nobody in sync": topic_of(("none", (1, 2, 3), ()), min_isr=1),
}
MORE_COLUMNS = {
    "broker 10 and 11": topic_of(("10", (10, 11, 12), (10,)), min_isr=2),
    "eligible, and not in sync": topic_of(
        ("1", (1, 2, 3), (1,), (2, 3)),
        min_isr=2,
    ),
    "last known": topic_of(("none", (1, 2, 3), (), (), (2,)), min_isr=1),
    "broker 0": topic_of(("0", (0, 1, 2), (0, 1, 2)), min_isr=3),
    "one partition of a dozen": Described(
        (Row(11, "2", (2, 1), (2,)),), min_isr=1, has_head=False
    ),
    "a topic that is called none": topic_of(("1", (1, 2), (1, 2)), min_isr=1)._replace(
        topic="none"
    ),
}


HINTS_1 = (
    (
        "The first line is about the topic: it has no Partition. In the others, tabs"
        " separate the columns. Each column is a name, a colon, a space and a value."
    ),
    (
        "line.strip().split('\\t') gives the columns, column.partition(':') gives a"
        " name and a value, and value.strip() removes the space. value.split(',') is a"
        " list of brokers, but an empty value means that there is none."
    ),
    (
        "Ask in this order: no leader; fewer in sync than min_isr; fewer in"
        " sync than replicas. If none of these is true, it's fine."
    ),
)


def exercise_1():
    """A word for each partition, from the lines of kafka-topics.sh --describe."""
    common = {
        "broken": not_the_health,
        "smaller": a_smaller_topic,
        "describe": as_describe,
    }
    return Exercise(
        name="health",
        right="you read the table as the broker means it.",
        hints=HINTS_1,
        rungs=(
            Rung(
                holds="a partition is fine, or copies are missing",
                cases=FINE_OR_NOT,
                scenario=lambda source: a_topic(source, least=2),
                **common,
            ),
            Rung(
                holds=(
                    "with fewer in sync than min.insync.replicas, acks=all is refused"
                ),
                cases=TOO_FEW,
                scenario=lambda source: a_topic(source, least=1),
                **common,
            ),
            Rung(
                holds="without a leader, nothing is read or written",
                cases={**NO_LEADER, **THE_EXAMPLES},
                scenario=lambda source: a_topic(source, least=0),
                **common,
            ),
            Rung(
                holds="more columns and ids of two digits change nothing",
                cases=MORE_COLUMNS,
                scenario=lambda source: a_topic(source, least=0, wide=True),
                **common,
            ),
        ),
    )


def true_word(row, min_isr):
    if row.leader == "none":
        return OFFLINE
    if len(row.isr) < min_isr:
        return REFUSES
    return BEHIND if len(row.isr) < len(row.replicas) else FINE


def not_the_health(answer, case):
    found = answer(lines_of(case), case.min_isr)
    truth = {row.number: true_word(row, case.min_isr) for row in case.rows}
    if found == truth:
        return None
    if not isinstance(found, Mapping):
        return (
            f"it returned {found!r}, and should return a dict: partition -> one of the"
            " four words."
        )
    if {str(partition): word for partition, word in truth.items()} == found:
        return (
            "the words are right, but the partitions are text: they should be numbers."
        )
    if set(found) != set(truth):
        return (
            f"it returned the partitions {sorted(found, key=str)}, and the lines have"
            f" {sorted(truth)}."
        )
    wrong = next(
        partition for partition in truth if found[partition] != truth[partition]
    )
    return f"partition {wrong} is {truth[wrong]!r}, but health says {found[wrong]!r}."


# --- 2: a plan for retiring a broker ---


class Duty(NamedTuple):
    """replicas: partition -> its replicas. broker: the one that leaves. brokers: all
    that are there, that one too.
    """

    replicas: dict[int, list[int]]
    broker: int
    brokers: list[int]


EMPTIED = {
    "the first example": Duty({0: [1, 2], 1: [2, 3]}, 1, [1, 2, 3]),
    "it leads nothing": Duty({0: [2, 1], 1: [3, 2]}, 1, [1, 2, 3]),
    "it has nothing": Duty({0: [2, 3], 1: [3, 2]}, 1, [1, 2, 3]),
    "the last of three": Duty({4: [10, 2, 3]}, 3, [2, 3, 10, 11]),
}
NOT_TWICE = {
    "three copies, four brokers": Duty({0: [1, 2, 3], 1: [2, 3, 4]}, 3, [1, 2, 3, 4]),
    "the smallest one has it": Duty({0: [1, 3], 1: [3, 2]}, 3, [1, 2, 3]),
}
FEWEST = {
    "the second example": Duty({0: [1, 2], 1: [2, 1], 2: [1, 3]}, 1, [1, 2, 3, 4]),
    "broker 4 is empty": Duty(
        {0: [1, 2], 1: [2, 1], 2: [3, 2], 3: [2, 3]}, 1, [1, 2, 3, 4]
    ),
    "it fills up meanwhile": Duty(
        {number: [1, 2 + number % 3] for number in range(9)}, 1, [1, 2, 3, 4]
    ),
    "not in the order of the numbers": Duty(
        {7: [1, 2], 0: [1, 3], 3: [3, 1]}, 1, [4, 3, 2, 1]
    ),
    "numbers with two digits": Duty({10: [9, 10], 9: [10, 11]}, 10, [9, 10, 11, 12]),
}
TOO_FEW_BROKERS = {
    "two copies, and one broker is left": Duty({0: [1, 2]}, 1, [1, 2]),
    "only one of them can't move": Duty({0: [1, 2], 1: [1, 2, 3]}, 1, [1, 2, 3]),
    "it has nothing, so nothing has to move": Duty({0: [2]}, 1, [1, 2]),
}

HINTS_2 = (
    (
        "How many replicas each broker has changes while you work. Count them once at"
        " the start, and keep the count up to date with each choice."
    ),
    (
        "Any of `brokers` may take a replica, except those that are in the partition's"
        " list already. If there is none, raise ValueError."
    ),
    (
        "min(candidates, key=lambda each: (count[each], each)) is the one with the fewest,"
        " or the smallest id among equals. Go through sorted(replicas), and put the new one"
        " where the old one was."
    ),
)


def exercise_2():
    """Partition -> its new replicas, so that a broker can go."""
    common = {"smaller": a_smaller_duty, "describe": as_duty}
    return Exercise(
        name="retire",
        right="you can replace a running cluster like this, broker by broker.",
        hints=HINTS_2,
        rungs=(
            Rung(
                holds="the broker is in no list, and nothing else moves",
                broken=not_emptied,
                cases=EMPTIED,
                scenario=lambda source: a_duty(source, spare=2),
                **common,
            ),
            Rung(
                holds="no broker has a partition twice",
                broken=has_one_twice,
                cases=NOT_TWICE,
                scenario=lambda source: a_duty(source, spare=1),
                **common,
            ),
            Rung(
                holds="each replica goes to the broker that has the fewest",
                broken=not_the_plan,
                cases=FEWEST,
                scenario=lambda source: a_duty(source, spare=source.choice((1, 2, 4))),
                **common,
            ),
            Rung(
                holds="with too few brokers there is no plan",
                broken=not_the_plan,
                cases=TOO_FEW_BROKERS,
                scenario=lambda source: a_duty(source, spare=source.choice((0, 0, 1))),
                **common,
            ),
        ),
    )


def a_duty(source, spare):
    """spare: how many brokers there are more than the longest list has replicas."""
    factor = source.randint(1, 3)
    known = list(range(source.choice((0, 1, 8)), 20))[: factor + spare]
    source.shuffle(known)
    number, replicas = source.choice((0, 0, 3)), {}
    for _ in range(source.randint(1, 9)):
        replicas[number] = source.sample(known, source.randint(1, factor))
        number += source.choice((1, 1, 4))
    places = list(replicas)
    source.shuffle(places)
    there = {each: replicas[each] for each in places}
    return Duty(there, source.choice(known), known)


def a_smaller_duty(duty):
    for gone in duty.replicas:
        if len(duty.replicas) > 1:
            left = {each: at for each, at in duty.replicas.items() if each != gone}
            yield duty._replace(replicas=left)


def as_duty(duty):
    return f"retire({duty.replicas}, {duty.broker}, {duty.brokers})"


def the_plan(duty):
    """The right one; None if there are too few brokers."""
    count = dict.fromkeys(duty.brokers, 0)
    for replicas in duty.replicas.values():
        for each in replicas:
            count[each] += 1
    plan = {}
    for number in sorted(duty.replicas):
        there = duty.replicas[number]
        if duty.broker not in there:
            continue
        able = [each for each in duty.brokers if each not in there]
        if not able:
            return None
        chosen = min(able, key=lambda each: (count[each], each))
        count[chosen] += 1
        plan[number] = [chosen if each == duty.broker else each for each in there]
    return plan


def answered(answer, duty):
    """The learner's plan, with lists; or a line on why it is none."""
    found = answer(duty.replicas, duty.broker, duty.brokers)
    if not isinstance(found, Mapping):
        return (
            f"it returned {short(found)}, and should return a dict: partition -> its"
            " new replicas."
        )
    for number, replicas in found.items():
        if not isinstance(replicas, Sequence) or isinstance(replicas, str):
            return (
                f"partition {number} has {short(replicas)}, and should have a list of"
                " brokers."
            )
    return {number: list(replicas) for number, replicas in found.items()}


def not_emptied(answer, duty):
    found = answered(answer, duty)
    if isinstance(found, str):
        return found
    for number, there in duty.replicas.items():
        moves = duty.broker in there
        if moves and number not in found:
            return f"broker {duty.broker} still has partition {number}."
        if number in found and not moves:
            return (
                f"partition {number} is in the plan, but broker {duty.broker} doesn't"
                " have it."
            )
    for number, replicas in found.items():
        if number not in duty.replicas:
            return f"partition {number!r} is in the plan, but doesn't exist."
        if duty.broker in replicas:
            return f"broker {duty.broker} still has partition {number}."
        there = duty.replicas[number]
        if len(replicas) != len(there):
            return (
                f"partition {number} had {len(there)} replicas, and would have"
                f" {len(replicas)}."
            )
        for before, after in zip(there, replicas, strict=True):
            if before not in (duty.broker, after):
                return (
                    f"partition {number} was {there}, and would be {replicas}: broker"
                    f" {before} should keep its place."
                )
        unknown = [each for each in replicas if each not in duty.brokers]
        if unknown:
            return (
                f"partition {number} would be on {unknown[0]!r}, which is none of the"
                " brokers."
            )
    return None


def has_one_twice(answer, duty):
    broken = not_emptied(answer, duty)
    if broken:
        return broken
    for number, replicas in answered(answer, duty).items():
        if len(set(replicas)) < len(replicas):
            return f"partition {number} would be {replicas}: one broker, two replicas."
    return None


def not_the_plan(answer, duty):
    plan = the_plan(duty)
    if plan is None:
        try:
            found = answered(answer, duty)
        except ValueError:
            return None
        return (
            f"there are too few brokers, and it returned {short(found)} instead of"
            " raising ValueError."
        )
    broken = has_one_twice(answer, duty)
    if broken:
        return broken
    found = answered(answer, duty)
    for number in sorted(plan):
        if found[number] != plan[number]:
            chosen = next(each for each in plan[number] if each not in found[number])
            return (
                f"partition {number} would be {found[number]}. {plan[number]} is right: by"
                f" then broker {chosen} has fewer replicas, or as many and a smaller id."
            )
    return None
