"""Lesson 16, a real cluster: what a right answer does."""

import json
from collections import Counter
from collections.abc import Mapping

from minikafka.course.judging.checks import Exercise, Rung
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
        "The first line is about the topic: it has no Partition. The columns of"
        " the others are separated by tabs, each a name, a colon and a space,"
        " and a value."
    ),
    (
        "line.strip().split('\\t') gives the columns, column.partition(':') a"
        " name and a value, and value.strip() takes the space away. A list of"
        " brokers is value.split(','), and an empty value has no broker in it."
    ),
    (
        "Ask in this order: no leader; fewer in sync than min_isr; fewer in"
        " sync than replicas; else fine. The first that holds is the word."
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
        right="so you read the table as the broker means it.",
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
                holds="without a leader nothing goes",
                cases={**NO_LEADER, **THE_EXAMPLES},
                scenario=lambda source: a_topic(source, least=0),
                **common,
            ),
            Rung(
                holds="the other columns, and numbers with two digits, don't disturb",
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
            "the words are right, and the partitions are text: they should be numbers."
        )
    if set(found) != set(truth):
        return (
            f"it has the partitions {sorted(found, key=str)}, and the lines have"
            f" {sorted(truth)}."
        )
    wrong = next(
        partition for partition in truth if found[partition] != truth[partition]
    )
    return f"partition {wrong} is {truth[wrong]!r}, and it says {found[wrong]!r}."


# --- 2: changes into a table ---

NAMES = ("alice", "bruno", "chidi", "dalia")
# also one that is another's beginning, in capitals, and no ASCII
MORE_NAMES = ("alice", "alic", "Alice", "bruno", "zoë", "łucja", "10", "1")
CITIES = ("Arles", "Bergen", "Cork", "Kraków")


HINTS_2 = (
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
)


def exercise_2():
    """The table that the changes lead to, and how many changes of each kind there
    were.
    """
    common = {"smaller": without_one, "describe": as_changes}
    return Exercise(
        name="into_table",
        right="the table is right, and each change counts once.",
        hints=HINTS_2,
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
    told = {
        "op": op,
        "before": row_of(name, before),
        "after": row_of(name, after),
        "lsn": lsn,
    }
    return name.encode(), json.dumps(told, ensure_ascii=False).encode()


def row_of(name, city):
    return None if city is None else {"customer_id": name, "city": city}


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
    "the first example": again([change(1, "r", "alice", None, "Cork")]),
    "the second example": [
        change(1, "r", "alice", None, "Cork"),
        change(2, "d", "alice", "Cork", None),
        null("alice"),
    ],
    "the same row, read again later": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "r", "alice", None, "Arles"),
    ],
    "number 0": again([change(0, "r", "alice", None, "Arles")]),
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
    names = source.sample(MORE_NAMES, 4) if source.random() < 0.5 else NAMES
    partitions = {name: [] for name in names[:3]}
    partitions[names[3]] = partitions[names[0]]  # two names in one partition
    cities, latest = {}, []
    lsn = source.choice((0, 1, 9, 98))
    for _ in range(source.randint(1, 14)):
        name = source.choice(names)
        before = cities.get(name)
        is_gone = before is not None and source.random() < 0.35
        if is_gone:
            op, after = "d", None
        else:
            op = "u" if before is not None else source.choice("rc")
            after = source.choice([city for city in CITIES if city != before])
        made = [change(lsn, op, name, before, after)]
        if is_gone and nulls:
            made.append(null(name))
        cities[name] = after
        latest = [*latest, *made][-5:]
        partitions[name] += made
        if repeated and source.random() < 0.2:
            for record in latest:
                partitions[record[0].decode()].append(record)
        lsn += 1
    return in_turns(source, [partitions[name] for name in names[:3]])


def in_turns(source, partitions):
    """The records of some partitions, a few of one, then a few of another."""
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
        name = key.decode()
        if value is None:
            shown.append(f"{name} null")
            continue
        told = json.loads(value)
        after = (told["after"] or {}).get("city")
        shown.append(f"{name} {told['op']} -> {after} (lsn {told['lsn']})")
    return "; ".join(shown)


def the_answer(answer, records):
    """(table, counts), or a line on why it is none."""
    found = answer(list(records))
    is_pair = isinstance(found, tuple | list) and len(found) == 2
    if not is_pair or not all(isinstance(each, Mapping) for each in found):
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
            city = truth[name]["city"]
            return f"{name} is in the database ({city}), and not in the table."
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
    if counts == truth:
        return None
    return f"the counts are {dict(found[1])}, and {truth} is true."
