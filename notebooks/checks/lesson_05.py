"""Lesson 05, consumer groups: what a right answer does."""

import itertools
from functools import cache

from minikafka import Cluster
from minikafka.course.experiments.lesson_05_runs import (
    paid_twice,
    pay_with,
    signs_of_life,
)
from minikafka.course.judging.checks import Exercise, Rung, faults_for
from minikafka.course.judging.group_cases import assignment_given, unsteady
from minikafka.course.judging.subscriptions import a_group, group, smaller
from minikafka.course.lessons import Question
from minikafka.faults import Crash, Cut, Delay, Freeze, Lose

EXIT_TICKET = (
    Question(
        "12 partitions, 20 pods, and a zone fails with 8 of them",
        right=2,
        why=(
            "2. The coordinator evicts the 8 once their sessions have expired, and the"
            " next assignment gives each of the 12 partitions to one of the 12 pods that are"
            " left. The spare pods have paid off."
        ),
    ),
    Question(
        "LeaveGroup, due to consumer poll timeout has expired",
        right=3,
        why=(
            "3. The program didn't call poll for max.poll.interval.ms: the"
            " records of one poll took too long. Fetch fewer at a time. The session has nothing to do"
            " with it: heartbeats never stopped."
        ),
    ),
    Question(
        "balance = balance - 20, and a member that freezes in the middle",
        right=2,
        why=(
            "2. The member is evicted, another one processes the order, then the first"
            " wakes up and sends its UPDATE. With the key the database refuses the second"
            " payment, and the UPDATE with it. A longer session only makes that rarer. A"
            " commit before the UPDATE loses the order if the member dies in between."
        ),
    ),
    Question(
        "half of all orders have the key megamart, and one member can't keep up with"
        " these alone",
        right=3,
        why=(
            "3. Neither. One key goes to one partition, and a partition has one reader in a"
            " group: one member always has all of megamart. A finer-grained key helps."
        ),
        lesson="02",
    ),
    Question(
        "read up to 119, committed 100, killed",
        right=1,
        why=(
            "1. 100. A committed offset is the next one that the group wants. Offsets"
            " 100 to 119 are read again, because only the dead member knew of them."
        ),
        lesson="04",
    ),
)

# --- 1: write an assignor ---


HINTS_1 = (
    (
        "Go topic by topic. Which members want this topic at all? Only they may get"
        " one of its partitions."
    ),
    (
        "Put the members of one topic into a list. Partition 0 goes to the first, 1 to"
        " the second, and % wraps round. Or hand out blocks: divmod(number of"
        " partitions, number of members) gives the block length and the number of"
        " members that get one extra."
    ),
    (
        "For each topic and count in partitions.items(): sort the members whose"
        " .topics contain the topic. Skip the topic if there are none. Then give each"
        " partition p in range(count) to one of them, by p."
    ),
)


# the worked examples of the task
THE_EXAMPLES = {
    "the first example": group({"A": "orders", "B": "orders"}, orders=3),
    "the second example": group(
        {"A": "orders", "B": "orders refunds"}, orders=2, refunds=1
    ),
}
ONE_OWNER = {
    "one member": group({"A": "orders"}, orders=3),
    "two members": group({"A": "orders", "B": "orders"}, orders=4),
    "more members than partitions": group(
        {"A": "orders", "B": "orders", "C": "orders"}, orders=2
    ),
    "a topic that only one reads": group(
        {"A": "orders", "B": "orders payments"}, orders=1, payments=2
    ),
    "a topic that isn't there yet": group({"A": "orders refunds"}, orders=1),
    "a dozen members": group(dict.fromkeys("ABCDEFGHIJKL", "orders"), orders=14),
    **THE_EXAMPLES,
}
ALL_PARTITIONS = {
    "one member": group({"A": "orders"}, orders=3),
    "5 partitions for 2": group({"A": "orders", "B": "orders"}, orders=5),
    "a topic that only one reads": group(
        {"A": "orders", "B": "orders payments"}, orders=1, payments=2
    ),
    "each its own topic": group({"A": "orders", "B": "payments"}, orders=2, payments=2),
    **THE_EXAMPLES,
}
BALANCED = {
    "4 for 2": group({"A": "orders", "B": "orders"}, orders=4),
    "4 for 3": group({"A": "orders", "B": "orders", "C": "orders"}, orders=4),
    "two topics, one of them read by two": group(
        {"A": "orders", "B": "orders payments", "C": "orders payments"},
        orders=4,
        payments=4,
    ),
    **THE_EXAMPLES,
}


def exercise_1():
    """An assignor in four rungs: one owner; all partitions; balanced; steady."""
    common = {
        "scenario": a_group,
        "smaller": smaller,
        "describe": as_call,
        "picture": in_a_group,
    }
    return Exercise(
        name="my_assignor",
        right=(
            "each partition has one owner, none is left out, and the members share them"
            " evenly."
        ),
        hints=HINTS_1,
        rungs=(
            Rung(
                holds=(
                    "no partition has two owners, and each goes to a member that reads its"
                    " topic"
                ),
                broken=not_one_owner,
                cases=ONE_OWNER,
                **common,
            ),
            Rung(
                holds="every partition of every topic that a member wants has an owner",
                broken=left_out,
                cases=ALL_PARTITIONS,
                **common,
            ),
            Rung(
                holds=(
                    "no member has two partitions more than another that could have one"
                    " of them"
                ),
                broken=not_balanced,
                cases=BALANCED,
                **common,
            ),
            steady(common),
        ),
    )


def steady(common):
    return Rung(
        holds=(
            "the same group gets the same answer, whatever order its members are listed in"
        ),
        broken=lambda answer, case: unsteady(
            lambda *given: shares_of(answer, given), case, True
        ),
        cases={
            "3 for 2": group({"A": "orders", "B": "orders"}, orders=3),
            "two topics": group(
                {"A": "orders payments", "B": "orders payments"}, orders=1, payments=1
            ),
            **THE_EXAMPLES,
        },
        **common,
    )


def as_call(case):
    members, partitions = case
    shown = ", ".join(
        f"{name!r}: Member({member.topics!r})" for name, member in members.items()
    )
    return f"my_assignor({{{shown}}}, {partitions!r})"


def shares_of(answer, case):
    return assignment_given(answer(*case), case[0])


def not_one_owner(answer, case):
    members, partitions = case
    shares = shares_of(answer, case)
    owner = {}
    for name, share in shares.items():
        for topic, number in share:
            where = f"{topic}-{number}"
            if topic not in partitions or number not in range(partitions[topic]):
                has = (
                    f"{topic} has the partitions"
                    f" {list(range(partitions.get(topic, 0)))}"
                )
                return (
                    f"it gave {where} to {name}, and there is no such partition.\n{has}"
                )
            if topic not in members[name].topics:
                return (
                    f"it gave {where} to {name}, and {name} doesn't read {topic}."
                    " Nobody would see those records."
                )
            if (topic, number) in owner:
                if owner[topic, number] == name:
                    return f"it gave {where} to {name} twice."
                words = (
                    "Kafka doesn't notice: both would read it, and each record would be"
                    " processed twice."
                )
                return (
                    f"two members own {where}: {owner[topic, number]} and"
                    f" {name}.\n{words}"
                )
            owner[topic, number] = name
    return None


def left_out(answer, case):
    members, partitions = case
    shares = shares_of(answer, case)
    given = {partition for share in shares.values() for partition in share}
    for topic in partitions:
        if not any(topic in member.topics for member in members.values()):
            continue
        for number in range(partitions[topic]):
            if (topic, number) not in given:
                words = "Kafka doesn't notice: its records would wait forever."
                return f"nobody owns {topic}-{number}.\n{words}"
    return None


def not_balanced(answer, case):
    """Of the two ways to be balanced an answer hears the one that it is further from:
    a member with many of one topic may have few in all.
    """
    members, partitions = case
    shares = shares_of(answer, case)
    in_all = unequal_in_all(members, shares)
    if in_all is None:
        return None
    rich, poor, could_have = in_all
    together = (
        f"all topics together, {rich} has {len(shares[rich])} partitions and {poor} has"
        f" {len(shares[poor])}, and {poor} reads {could_have}, too"
    )
    for topic in partitions:
        counts = {
            name: sum(1 for each, _ in shares.get(name, []) if each == topic)
            for name, member in members.items()
            if topic in member.topics
        }
        most, least = max(counts, key=counts.get), min(counts, key=counts.get)
        if counts[most] <= counts[least] + 1:
            continue
        alone = (
            f"{most} has {counts[most]} partitions of {topic}, and {least} has"
            f" {counts[least]}"
        )
        if len(partitions) == 1:
            return f"{alone}."
        if len(shares[most]) > len(shares[least]):
            return f"{alone}.\n{together}"
        return f"{together}.\nit isn't balanced topic by topic, either: {alone}"
    return None


def unequal_in_all(members, shares):
    """(a member, one that has two partitions fewer, a topic that it could have one of):
    of those the two that are furthest apart. None where sticky would leave it so.
    """
    found = []
    for rich, poor in itertools.permutations(shares, 2):
        could_have = [
            topic for topic, _ in shares[rich] if topic in members[poor].topics
        ]
        apart = len(shares[rich]) - len(shares[poor])
        if could_have and apart > 1:
            found.append((apart, (rich, poor, could_have[0])))
    if not found:
        return None
    return max(found, key=lambda each: each[0])[1]


def in_a_group(answer, case):
    """The answer at work: a group of these members, in which one of them runs it."""
    members, partitions = case

    def read(consumer):
        while True:
            consumer.poll(timeout_ms=1000)

    cluster = Cluster(seed=5)
    for topic, count in partitions.items():
        cluster.create_topic(topic, partitions=count)
    for name, member in members.items():
        consumer = cluster.consumer(
            *[topic for topic in member.topics if topic in partitions],
            group_id="billing",
            client_id=f"consumer {name}",
            partition_assignment_strategy=answer,
        )
        cluster.start(read, consumer)
    shop = cluster.producer(client_id="shop")
    for number in range(12):
        for topic in partitions:
            shop.send(topic, key=f"o-{number}", value="20 euros")
        cluster.run(seconds=1)
    return cluster.play("rebalance", group="billing")


# --- 2: break a group ---


LIMIT_MS = 43_500
SESSION_MS = 45_000
FIRST_MS, LAST_MS = 1000, 100_000
WITHIN = f"from {FIRST_MS} to {LAST_MS - 1}"
MEMBERS = ("consumer A", "consumer B")
EXAMPLE = 'Freeze("consumer A", at_ms=24_100, for_ms=60_000)'
PLACES = (*MEMBERS, "careful", "careful 2", "shop", 1, "broker 1")
take_faults = faults_for(EXAMPLE, Freeze, Crash, Cut, Delay, Lose, places=PLACES)


def careful(consumer, payments, wait):
    """Pays each order and commits at once. The lesson's billing."""
    while True:
        for [record] in consumer.poll(timeout_ms=1000, max_records=1).values():
            wait(0.4)
            payments.add(record, record.value)
            consumer.commit()


def exercise_2():
    """One freeze that makes an order be paid twice; as short as it can be."""
    return Exercise(
        name="faults",
        takes=take_faults,
        right=(
            "a member froze for less than its session timeout, was evicted, and paid all"
            " the same. The clock had started before the freeze, at its last sign of"
            " life."
        ),
        hints=(
            (
                "The member has to sleep until the coordinator evicts it. When does the"
                " coordinator start counting?"
            ),
            (
                "It counts from the last sign of life that arrived, a heartbeat or a"
                " commit. How old is that when your freeze begins? You need what is left"
                " of 45,000 ms."
            ),
            (
                "Look at the signs of life that the cell above prints. Between which two"
                " is the longest pause? Freeze the member just before the second of"
                " them, for 45,000 ms less the pause, plus some 50 ms."
            ),
        ),
        rungs=(
            Rung(
                holds="an order is paid twice",
                broken=nothing_twice,
                cases={"this schedule": None},
                picture=played,
            ),
            Rung(
                holds="by one Freeze, shorter than the session timeout",
                broken=too_much,
                cases={"this schedule": None},
            ),
            Rung(
                holds=f"shorter than {LIMIT_MS:,} ms",
                broken=too_long,
                cases={"this schedule": None},
            ),
        ),
    )


@cache
def untouched():
    return pay_with(careful, [])


def played(faults, _):
    return pay_with(careful, faults).play(name="rebalance")


def last_sign(name, at_ms):
    """(when, what) of this member's last sign of life before that moment, with no fault
    at all; None if none was.
    """
    sent = [
        (when_ms, what)
        for when_ms, what in signs_of_life(untouched().trace, name)
        if when_ms <= at_ms
    ]
    return sent[-1] if sent else None


def nothing_twice(faults, _):
    if not faults:
        return "no fault, and every order is paid once. Put a Freeze into the list."
    for fault in faults:
        if (
            isinstance(fault, (Freeze, Crash))
            and fault.at_ms is not None
            and not FIRST_MS <= fault.at_ms < LAST_MS
        ):
            return (
                f"at_ms={fault.at_ms} is not within the run, in which both consumers"
                f" are there: {WITHIN}."
            )
    cluster = pay_with(careful, faults)
    if paid_twice(cluster.trace):
        return None
    lines = ["every order is paid at most once."]
    for fault in faults:
        if fault.node not in MEMBERS if isinstance(fault, Freeze) else True:
            lines.append(f"{fault} freezes no consumer. Write {EXAMPLE}")
        else:
            lines += why_not(fault, cluster)
    return "\n".join(lines)


def why_not(fault, cluster):
    """Why this freeze made nobody pay twice."""
    sign, woke = last_sign(fault.node, fault.at_ms), fault.at_ms + fault.for_ms
    if sign is None:
        return [
            f"{fault.node} had given no sign of life as a member by {fault.at_ms} ms."
        ]
    if woke > cluster.now_ms:
        return [
            f"{fault.node} is still frozen when the run ends, at {cluster.now_ms} ms."
        ]
    words = (
        f"its last {sign[1]} before the freeze went out at {sign[0]} ms, and it woke up"
        f" at {woke} ms"
    )
    return [
        f"{words}, {woke - sign[0]} ms later. The session timeout is {SESSION_MS} ms."
    ]


def too_much(faults, _):
    if len(faults) > 1:
        return f"{len(faults)} faults. One is enough."
    (fault,) = faults
    if isinstance(fault, Freeze) and fault.node not in MEMBERS:
        return (
            f"freezing {fault.node!r} does it, too. But here, freeze a consumer: it"
            " stays alive."
        )
    if not isinstance(fault, Freeze):
        return (
            f"a {type(fault).__name__} does it, and shows another hole (lesson 04)."
            " Here, use a Freeze."
        )
    if fault.for_ms >= SESSION_MS:
        return (
            f"a freeze of {fault.for_ms} ms does it. It can be shorter than the session"
            f" timeout of {SESSION_MS} ms."
        )
    return None


def too_long(faults, _):
    (fault,) = faults
    if fault.for_ms < LIMIT_MS:
        return None
    when, what = last_sign(fault.node, fault.at_ms)
    return (
        f"a freeze of {fault.for_ms} ms does it, but a shorter one can, too.\nwhen it"
        f" began, the last {what} was {fault.at_ms - when} ms old. The older it is, the"
        " less is left to wait for."
    )
