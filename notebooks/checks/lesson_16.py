"""Lesson 16, a real cluster: what a right answer does."""

import json
from collections import Counter
from collections.abc import Mapping

from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a topic paymets in the list",
        right=2,
        why=(
            "2. A client that asks for an unknown topic creates it, unless"
            " auto.create.topics.enable is false."
        ),
    ),
    Question(
        "--from-beginning and a group that has committed",
        right=1,
        why=(
            "1. A committed offset comes first. --from-beginning counts where there is"
            " none."
        ),
    ),
    Question(
        "Leader 1, Replicas 1,2,3, Isr 1, min.insync.replicas 2",
        right=3,
        why=(
            "3. There is a leader, so it is read. One copy in sync is fewer than two:"
            " acks=all is refused."
        ),
    ),
    Question(
        "lag of a console consumer that has been stopped",
        right=2,
        why=(
            "2. Lag counts from the committed offset. The group's offsets stay, so its"
            " lag grows."
        ),
        lesson="04",
    ),
    Question(
        "all changes of one customer",
        right=1,
        why=(
            "1. The customer is the key, and equal keys go to one partition, where"
            " order holds."
        ),
        lesson="02",
    ),
)

# --- 1: what --describe says ---

FINE, BEHIND, REFUSES, OFFLINE = (
    "fine",
    "copies missing",
    "refuses acks=all",
    "no leader",
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
        right="so you read the table as the broker means it.",
        hints=(
            (
                "The first line is about the topic: it has no Partition. The columns of"
                " the others are separated by tabs, each a name, a colon and a space,"
                " and a value."
            ),
            (
                "line.strip().split('\\t') gives the columns, and column.partition(':"
                " ') a name and a value. A list of brokers is value.split(','), and an"
                " empty value has no broker in it."
            ),
            (
                "Ask in this order: no leader; fewer in sync than min_isr; fewer in"
                " sync than replicas; else fine. The first that holds is the word."
            ),
        ),
        rungs=(
            Rung(
                holds="a partition is fine, or copies are missing",
                cases={
                    "one partition": ([("1", "1,2,3", "1,2,3")], 2),
                    "another order": ([("2", "2,3,1", "1,2,3")], 2),
                    "one copy behind": ([("1", "1,2,3", "1,2")], 2),
                    "two copies": ([("1", "1,2", "1,2"), ("2", "2,1", "2")], 1),
                },
                scenario=lambda source: a_topic(source, least=2),
                **common,
            ),
            Rung(
                holds=(
                    "with fewer in sync than min.insync.replicas, acks=all is refused"
                ),
                cases={
                    "one of three": ([("3", "3,1,2", "3")], 2),
                    "just enough": ([("3", "3,1,2", "3,1")], 2),
                    "three wanted": ([("1", "1,2,3", "1,2")], 3),
                },
                scenario=lambda source: a_topic(source, least=1),
                **common,
            ),
            Rung(
                holds="without a leader nothing goes",
                cases={
                    "the last one that was in sync": ([("none", "3", "3")], 1),
                    "nobody in sync": ([("none", "1,2,3", "")], 1),
                },
                scenario=lambda source: a_topic(source, least=0),
                **common,
            ),
            Rung(
                holds="the other columns, and numbers with two digits, don't disturb",
                cases={
                    "broker 10 and 11": ([("10", "10,11,12", "10")], 2),
                    "eligible, and not in sync": ([("1", "1,2,3", "1", "2,3", "")], 2),
                    "last known": ([("none", "1,2,3", "", "", "2")], 1),
                },
                scenario=lambda source: a_topic(source, least=0, wide=True),
                **common,
            ),
        ),
    )


def a_topic(source, least, wide=False):
    """(partitions, min_isr). A partition: leader, replicas, in sync, and where wide
    eligible and last known leaders.
    """
    rows = []
    known = range(8, 14) if wide else range(1, 6)
    for _ in range(source.randint(1, 5)):
        replicas = source.sample(list(known), source.randint(max(2, least), 3))
        inside = source.sample(replicas, source.randint(least, len(replicas)))
        leader = (
            str(inside[0]) if inside and (least or source.random() < 0.7) else "none"
        )
        others = [one for one in replicas if one not in inside]
        row = (leader, ",".join(map(str, replicas)), ",".join(map(str, inside)))
        rows.append(
            (*row, ",".join(map(str, others)), "")
            if wide and inside and leader != "none"
            else row
        )
    return rows, source.randint(1, 2)


def a_smaller_topic(case):
    rows, min_isr = case
    for gone in range(len(rows)):
        if len(rows) > 1:
            yield rows[:gone] + rows[gone + 1 :], min_isr
    if min_isr > 1:
        yield rows, min_isr - 1


def lines_of(rows):
    """As Apache Kafka 4.3 prints it."""
    count = len(rows[0][1].split(","))
    about = (
        f"PartitionCount: {len(rows)}\tReplicationFactor: {count}\tConfigs:"
        " min.insync.replicas=2"
    )
    lines = [f"Topic: orders\tTopicId: DilTORZ0Ss-x8tX6hIj9_Q\t{about}"]
    for number, (leader, replicas, inside, *others) in enumerate(rows):
        elr, last = others or ("", "")
        lines.append(
            f"\tTopic: orders\tPartition: {number}\tLeader: {leader}\tReplicas:"
            f" {replicas}\tIsr: {inside}\tElr: {elr}\tLastKnownElr: {last}"
        )
    return lines


def as_describe(case):
    rows, min_isr = case
    shown = "; ".join(line.strip().replace("\t", "  ") for line in lines_of(rows)[1:])
    return f"{shown}, min_isr={min_isr}"


def true_word(row, min_isr):
    leader, replicas, inside = (
        row[0],
        row[1].split(","),
        [one for one in row[2].split(",") if one],
    )
    if leader == "none":
        return OFFLINE
    if len(inside) < min_isr:
        return REFUSES
    return BEHIND if len(inside) < len(replicas) else FINE


def not_the_health(answer, case):
    rows, min_isr = case
    found = answer(lines_of(rows), min_isr)
    truth = {number: true_word(row, min_isr) for number, row in enumerate(rows)}
    if found == truth:
        return None
    if not isinstance(found, Mapping):
        return (
            f"it returned {found!r}, and should return a dict: partition -> one of the"
            " four words."
        )
    if {str(partition): word for partition, word in truth.items()} == found:
        return (
            "the words are right, and the partitions are text: they should be numbers."
        )
    if set(found) != set(truth):
        return (
            f"it has the partitions {sorted(found, key=str)}, and the topic has"
            f" {sorted(truth)}."
        )
    wrong = next(
        partition for partition in truth if found[partition] != truth[partition]
    )
    return f"partition {wrong} is {truth[wrong]!r}, and it says {found[wrong]!r}."


# --- 2: changes into a table ---

NAMES = ("alice", "bruno", "chidi", "dalia")
CITIES = ("Arles", "Bergen", "Cork")


def exercise_2():
    """The table that the changes lead to, and how many changes of each kind there
    were.
    """
    common = {"smaller": without_one, "describe": as_changes}
    return Exercise(
        name="into_table",
        right="the table is right, and each change counts once.",
        hints=(
            (
                "Two answers that need not care for each other: the table takes every"
                " record, the counts take every change once."
            ),
            (
                "A row is set to `after`, or taken away when `after` is null, or when"
                " the whole value is. Taking away what isn't there is no error:"
                " pop(name, None)."
            ),
            (
                "Each of them has a number of its own, lsn. A set of those that were"
                " counted tells what has come again. They don't rise from record to"
                " record: three partitions are read in turns."
            ),
        ),
        rungs=(
            Rung(
                holds="the table is what the snapshot and the changes lead to",
                broken=not_the_table,
                cases=PLAIN,
                scenario=some_changes,
                **common,
            ),
            Rung(
                holds=(
                    "a null value takes its key away, also where nothing else is left"
                    " of it"
                ),
                broken=not_the_table,
                cases=NULLS,
                scenario=lambda source: compacted(
                    source, some_changes(source, nulls=True)
                ),
                **common,
            ),
            Rung(
                holds="what comes again leaves the table right",
                broken=not_the_table,
                cases=REPEATED,
                scenario=lambda source: some_changes(source, nulls=True, repeated=True),
                **common,
            ),
            Rung(
                holds="each change counts once, whatever its number",
                broken=not_the_counts,
                cases=COUNTED,
                scenario=lambda source: some_changes(source, nulls=True, repeated=True),
                **common,
            ),
        ),
    )


def change(lsn, op, name, before, after):
    """(key, value) as the connector writes it. before, after: a city, or None."""
    rows = {
        key: city and {"customer_id": name, "city": city}
        for key, city in (("before", before), ("after", after))
    }
    return name.encode(), json.dumps({"op": op, **rows, "lsn": lsn}).encode()


def null(name):
    return name.encode(), None


def again(records):
    return records + records


PLAIN = {
    "a snapshot": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "r", "bruno", None, "Cork"),
    ],
    "an update": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "u", "alice", "Arles", "Cork"),
    ],
    "a delete": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "d", "alice", "Arles", None),
    ],
    "new again": [
        change(1, "d", "alice", "Arles", None),
        change(2, "c", "alice", None, "Cork"),
    ],
}
NULLS = {
    "a delete and its null": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "d", "alice", "Arles", None),
        null("alice"),
    ],
    "only the null is left": [change(1, "r", "alice", None, "Arles"), null("alice")],
    "nobody knew the key": [null("bruno"), change(2, "c", "alice", None, "Cork")],
}
REPEATED = {
    "deleted, made anew, and all of it again": again(
        [
            change(1, "d", "alice", "Arles", None),
            null("alice"),
            change(2, "c", "alice", None, "Cork"),
        ]
    ),
    "the null again, and what followed it": [
        change(1, "d", "alice", "Arles", None),
        null("alice"),
        change(2, "c", "alice", None, "Cork"),
        null("alice"),
        change(2, "c", "alice", None, "Cork"),
    ],
}
COUNTED = {
    "once": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "u", "alice", "Arles", "Cork"),
    ],
    "twice the same": again([change(1, "r", "alice", None, "Arles")]),
    "a smaller number later": [
        change(5, "r", "bruno", None, "Cork"),
        change(2, "r", "alice", None, "Arles"),
    ],
    "a null is no change": [change(1, "d", "alice", "Arles", None), null("alice")],
}


def some_changes(source, nulls=False, repeated=False):
    """Changes of three partitions, read in turns: in order for each key, and not for
    all.
    """
    partitions, cities, lsn, latest = [[], [], []], {}, 0, []
    for _ in range(source.randint(1, 14)):
        name = source.choice(NAMES)
        before, lsn = cities.get(name), lsn + 1
        gone = before is not None and source.random() < 0.35
        after = (
            None if gone else source.choice([city for city in CITIES if city != before])
        )
        made = [
            change(
                lsn,
                "d" if gone else "u" if before else source.choice("rc"),
                name,
                before,
                after,
            )
        ]
        made += [null(name)] if gone and nulls else []
        cities[name] = after
        latest = [*latest, *made][-5:]
        for record in made:
            partitions[NAMES.index(name) % 3].append(record)
        if repeated and source.random() < 0.2:
            for record in latest:
                partitions[NAMES.index(record[0].decode()) % 3].append(record)
    read = []
    while any(partitions):
        chosen = source.choice([records for records in partitions if records])
        taken = source.randint(1, 3)
        read += chosen[:taken]
        del chosen[:taken]
    return read


def compacted(source, records):
    """Some of what a later record of the same key has overwritten is gone."""
    last = {key: number for number, (key, _) in enumerate(records)}
    return [
        each
        for number, each in enumerate(records)
        if last[each[0]] == number or source.random() < 0.5
    ]


def without_one(records):
    for gone in range(len(records)):
        if len(records) > 1:
            yield records[:gone] + records[gone + 1 :]


def as_changes(records):
    shown = []
    for key, value in records:
        told = json.loads(value) if value is not None else None
        after = told and (told["after"] or {}).get("city")
        shown.append(
            f"{key.decode()} {told['op']} -> {after} (lsn {told['lsn']})"
            if told
            else f"{key.decode()} null"
        )
    return "; ".join(shown)


def the_answer(answer, records):
    """(table, counts), or a line on why it is none."""
    found = answer(list(records))
    if (
        not isinstance(found, tuple | list)
        or len(found) != 2
        or not all(isinstance(each, Mapping) for each in found)
    ):
        return (
            f"it returned {found!r}, and should return two dicts: the table, the"
            " counts."
        )
    return found


def not_the_table(answer, records):
    found = the_answer(answer, records)
    if isinstance(found, str):
        return found
    truth = {}
    for key, value in records:
        row = json.loads(value)["after"] if value is not None else None
        truth.pop(key.decode(), None)
        if row is not None:
            truth[key.decode()] = row
    table = found[0]
    if table == truth:
        return None
    if {name.encode(): row for name, row in truth.items()} == table and truth:
        return (
            "the rows are right, and their names are bytes: they should be text,"
            " b'alice'.decode()."
        )
    for name in sorted({*truth, *table}, key=str):
        if name not in table:
            return (
                f"{name} is in the database ({truth[name]['city']}), and not in the"
                " table."
            )
        if name not in truth:
            return (
                f"{name} is not in the database any more, and the table has"
                f" {table[name]!r}."
            )
        if table[name] != truth[name]:
            return f"{name} should be {truth[name]!r}, and is {table[name]!r}."
    return None


def not_the_counts(answer, records):
    found = the_answer(answer, records)
    if isinstance(found, str):
        return found
    changes = {
        json.loads(value)["lsn"]: json.loads(value)["op"]
        for _, value in records
        if value is not None
    }
    truth = dict(Counter(changes.values()))
    counts = {op: count for op, count in found[1].items() if count}
    return (
        None
        if counts == truth
        else f"the counts are {dict(found[1])}, and {truth} is true."
    )
