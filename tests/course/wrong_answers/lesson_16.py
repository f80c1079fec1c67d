"""Lesson 16: what still works, and a plan for retiring a broker."""

import re
from collections import Counter
from itertools import cycle

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


# --- health ---


def columns(line):
    found = {}
    for column in line.strip().split("\t"):
        name, _, value = column.partition(":")
        found[name] = value.strip()
    return found


def brokers(text):
    return [one for one in text.split(",") if one]


def word(row, min_isr):
    if row["Leader"] == "none":
        return "no leader"
    if len(brokers(row["Isr"])) < min_isr:
        return "refuses acks=all"
    return (
        "copies missing"
        if len(brokers(row["Isr"])) < len(brokers(row["Replicas"]))
        else "fine"
    )


def of_all(lines, decide):
    rows = [columns(line) for line in lines if "Partition: " in line]
    return {int(row["Partition"]): decide(row) for row in rows}


@right(1)
def by_columns(lines, min_isr):
    return of_all(lines, lambda row: word(row, min_isr))


@right(1)
def by_expression(lines, min_isr):
    found = {}
    for line in lines:
        match = re.search(
            r"\tPartition: (\d+)\tLeader: (\w+)\tReplicas: ([\d,]*)\tIsr: ([\d,]*)",
            line,
        )
        if match is None:
            continue
        number, leader, replicas, isr = match.groups()
        row = {"Leader": leader, "Replicas": replicas, "Isr": isr}
        found[int(number)] = word(row, min_isr)
    return found


@wrong(1, "it raised KeyError: 'Partition'")
def takes_the_first_line_too(lines, min_isr):
    return {
        int(columns(line)["Partition"]): word(columns(line), min_isr) for line in lines
    }


@wrong(1, "the words are right, but the partitions are text")
def partitions_as_text(lines, min_isr):
    return {str(number): found for number, found in by_columns(lines, min_isr).items()}


@wrong(1, "it returned ['fine'], and should return a dict")
def a_list(lines, min_isr):
    return list(by_columns(lines, min_isr).values())


@wrong(1, "partition 0 is 'fine', but health says 'copies missing'.")
def the_same_order(lines, min_isr):
    return of_all(
        lines,
        lambda row: (
            "fine"
            if row["Isr"] == row["Replicas"]
            else word(row | {"Isr": "1,2"}, min_isr)
        ),
    )


@wrong(
    1,
    "partition 0 is 'fine', but health says 'copies missing'.",
    "but health says 'copies missing'",
)
def three_are_wanted(lines, min_isr):
    return of_all(
        lines,
        lambda row: (
            "copies missing" if len(brokers(row["Isr"])) != 3 else word(row, min_isr)
        ),
    )


@wrong(
    1,
    "partition 0 is 'copies missing', but health says 'refuses acks=all'.",
    "but health says 'refuses acks=all'",
)
def one_too_strict(lines, min_isr):
    return of_all(lines, lambda row: word(row, min_isr + 1))


@wrong(1, "partition 0 is 'refuses acks=all', but health says 'copies missing'.")
def min_isr_is_forgotten(lines, min_isr):
    return of_all(lines, lambda row: word(row, 0))


@wrong(
    1,
    "partition 0 is 'no leader', but health says 'fine'.",
    "partition 0 is 'no leader', but health says",
)
def the_leader_is_not_looked_at(lines, min_isr):
    return of_all(lines, lambda row: word(row | {"Leader": "1"}, min_isr))


@wrong(1, "partition 0 is 'no leader', but health says 'refuses acks=all'.")
def refuses_comes_first(lines, min_isr):
    return of_all(
        lines,
        lambda row: (
            "refuses acks=all"
            if len(brokers(row["Isr"])) < min_isr
            else word(row, min_isr)
        ),
    )


@wrong(1, "partition 0 is 'refuses acks=all', but health says")
def letters_are_counted(lines, min_isr):
    def short(row):
        return {**row, "Isr": ",".join("1" * len(row["Isr"].replace(",", "")))}

    return of_all(lines, lambda row: word(short(row), min_isr))


@wrong(1, "partition 0 is 'copies missing', but health says 'fine'.")
def the_eligible_count(lines, min_isr):
    return of_all(
        lines,
        lambda row: word({**row, "Isr": f"{row['Isr']},{row.get('Elr', '')}"}, min_isr),
    )


@wrong(1, "it returned the partitions")
def the_first_partition_only(lines, min_isr):
    return by_columns(lines[:2], min_isr)


@wrong(1, "it returned the partitions [0], and the lines have [11].")
def the_number_of_the_line(lines, min_isr):
    rows = [columns(line) for line in lines if "Partition: " in line]
    return {number: word(row, min_isr) for number, row in enumerate(rows)}


@wrong(1, "it returned the partitions [], and the lines have [0].")
def the_first_line_is_always_the_topics(lines, min_isr):
    return by_columns(lines[1:], min_isr)


@wrong(1, "it raised KeyError: 'Isr'")
def a_colon_and_a_space(lines, min_isr):
    rows = [
        dict(column.partition(": ")[::2] for column in line.strip().split("\t"))
        for line in lines
        if "Partition: " in line
    ]
    return {
        int(row["Partition"]): word({**row, "Isr": row["Isr"]}, min_isr) for row in rows
    }


@wrong(1, "partition 0 is 'fine', but health says 'no leader'.")
def none_anywhere(lines, min_isr):
    found = {}
    for line in lines:
        if "Partition: " in line:
            row = columns(line)
            leader = "none" if "none" in line else row["Leader"]
            found[int(row["Partition"])] = word({**row, "Leader": leader}, min_isr)
    return found


@wrong(1, "partition 0 is 'fine', but health says")
def broker_0_is_nobody(lines, min_isr):
    return of_all(
        lines,
        lambda row: word(
            {
                **row,
                "Isr": ",".join(one for one in brokers(row["Isr"]) if int(one)),
            },
            min_isr,
        ),
    )


@wrong(1, "partition 0 is 'refuses acks=all', but health says 'copies missing'.")
def min_isr_is_never_more_than_two(lines, min_isr):
    return of_all(lines, lambda row: word(row, min(min_isr, 2)))


# --- retire ---


def planned(replicas, broker, brokers, choose):
    """choose(able, count) of the brokers that may take it."""
    count = Counter(each for there in replicas.values() for each in there)
    plan = {}
    for partition, there in sorted(replicas.items()):
        if broker in there:
            able = [each for each in brokers if each not in there]
            if not able:
                raise ValueError("too few brokers")
            new = choose(able, count)
            count[new] += 1
            plan[partition] = [new if each == broker else each for each in there]
    return plan


def fewest(able, count):
    return min(sorted(able), key=count.__getitem__)


@right(2)
def sorted_then_counted(replicas, broker, brokers):
    return planned(replicas, broker, brokers, fewest)


@right(2)
def as_tuples_one_by_one(replicas, broker, brokers):
    now = {partition: tuple(there) for partition, there in replicas.items()}
    for partition in sorted(now):
        if broker in now[partition]:
            loads = sorted(
                (sum(each in there for there in now.values()), each)
                for each in set(brokers) - set(now[partition])
            )
            if not loads:
                raise ValueError(partition)
            where = now[partition].index(broker)
            before, after = now[partition][:where], now[partition][where + 1 :]
            now[partition] = (*before, loads[0][1], *after)
    return {
        partition: there
        for partition, there in now.items()
        if there != tuple(replicas[partition])
    }


@wrong(2, "it returned None, and should return a dict")
def forgets_to_return(replicas, broker, brokers):
    planned(replicas, broker, brokers, fewest)


@wrong(2, "it changed its argument replicas")
def changes_the_lists(replicas, broker, brokers):
    plan = planned(replicas, broker, brokers, fewest)
    for partition, there in plan.items():
        replicas[partition][:] = there
    return {partition: replicas[partition] for partition in plan}


@wrong(2, "is in the plan, but broker 1 doesn't have it", "doesn't have it")
def all_partitions(replicas, broker, brokers):
    return replicas | planned(replicas, broker, brokers, fewest)


@wrong(2, "had 2 replicas, and would have 1", "and would have")
def takes_it_away(replicas, broker, brokers):
    return {
        partition: [each for each in there if each != broker]
        for partition, there in replicas.items()
        if broker in there
    }


@wrong(2, "should keep its place", "had 1 replicas")
def puts_it_at_the_end(replicas, broker, brokers):
    plan = planned(replicas, broker, brokers, fewest)
    for partition, there in plan.items():
        [new] = set(there) - set(replicas[partition])
        plan[partition] = [each for each in there if each != new] + [new]
    return plan


@wrong(2, "one broker, two replicas")
def does_not_look_who_has_it(replicas, broker, brokers):
    left = sorted(each for each in brokers if each != broker)
    return {
        partition: [left[0] if each == broker else each for each in there]
        for partition, there in replicas.items()
        if broker in there
    }


@wrong(2, "has fewer replicas, or as many")
def the_smallest_id(replicas, broker, brokers):
    return planned(replicas, broker, brokers, lambda able, count: min(able))


@wrong(2, "has fewer replicas, or as many")
def the_count_at_the_start(replicas, broker, brokers):
    start = Counter(each for there in replicas.values() for each in there)
    return planned(replicas, broker, brokers, lambda able, count: fewest(able, start))


@wrong(2, "has fewer replicas, or as many")
def the_largest_of_equals(replicas, broker, brokers):
    return planned(
        replicas,
        broker,
        brokers,
        lambda able, count: min(able, key=lambda each: (count[each], -each)),
    )


@wrong(2, "has fewer replicas, or as many")
def in_the_order_given(replicas, broker, brokers):
    return planned(
        replicas, broker, brokers, lambda able, count: min(able, key=count.__getitem__)
    )


@wrong(2, "has fewer replicas, or as many")
def counts_leaders_only(replicas, broker, brokers):
    leaders = Counter(there[0] for there in replicas.values())
    return planned(
        replicas,
        broker,
        brokers,
        lambda able, count: min(able, key=lambda each: (leaders[each], each)),
    )


@wrong(2, "there are too few brokers, and it returned")
def leaves_out_what_can_not_move(replicas, broker, brokers):
    return planned(
        {each: at for each, at in replicas.items() if set(brokers) - set(at)},
        broker,
        brokers,
        fewest,
    )


@wrong(2, "it raised ValueError: min()", "by then broker", "doesn't")
def in_the_order_of_the_dict(replicas, broker, brokers):
    count = Counter(each for there in replicas.values() for each in there)
    plan = {}
    for partition, there in replicas.items():
        if broker in there:
            new = fewest([each for each in brokers if each not in there], count)
            count[new] += 1
            plan[partition] = [new if each == broker else each for each in there]
    return plan


@wrong(2, "has fewer replicas, or as many")
def takes_turns(replicas, broker, brokers):
    turns = cycle(sorted(each for each in brokers if each != broker))
    return planned(
        replicas,
        broker,
        brokers,
        lambda able, count: next(each for each in turns if each in able),
    )


@wrong(2, "has fewer replicas, or as many")
def counts_its_own_choices_only(replicas, broker, brokers):
    chosen = Counter()

    def choose(able, count):
        new = fewest(able, chosen)
        chosen[new] += 1
        return new

    return planned(replicas, broker, brokers, choose)


@wrong(2, "has fewer replicas, or as many")
def in_the_order_of_the_text(replicas, broker, brokers):
    count = Counter(each for there in replicas.values() for each in there)
    plan = {}
    for partition in sorted(replicas, key=str):
        there = replicas[partition]
        if broker in there:
            able = [each for each in brokers if each not in there]
            if not able:
                raise ValueError(partition)
            new = fewest(able, count)
            count[new] += 1
            plan[partition] = [new if each == broker else each for each in there]
    return plan


@wrong(2, "it changed its argument brokers")
def takes_the_broker_off_the_list(replicas, broker, brokers):
    brokers.remove(broker)
    return planned(replicas, broker, brokers, fewest)


@wrong(2, "it raised IndexError")
def takes_the_first_of_none(replicas, broker, brokers):
    count = Counter(each for there in replicas.values() for each in there)
    plan = {}
    for partition, there in sorted(replicas.items()):
        if broker in there:
            able = sorted(
                (each for each in brokers if each not in there),
                key=lambda each: (count[each], each),
            )
            count[able[0]] += 1
            plan[partition] = [able[0] if each == broker else each for each in there]
    return plan


@wrong(2, "which is none of the brokers")
def a_list_in_the_list(replicas, broker, brokers):
    left = [each for each in brokers if each != broker]
    return {
        partition: [left[:1] if each == broker else each for each in there]
        for partition, there in replicas.items()
        if broker in there
    }
