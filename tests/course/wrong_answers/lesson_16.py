"""Lesson 16: what still works, and changes into a table."""

import json
import re

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


@wrong(1, "the words are right, and the partitions are text")
def partitions_as_text(lines, min_isr):
    return {str(number): found for number, found in by_columns(lines, min_isr).items()}


@wrong(1, "it returned ['fine'], and should return a dict")
def a_list(lines, min_isr):
    return list(by_columns(lines, min_isr).values())


@wrong(1, "partition 0 is 'fine', and it says 'copies missing'.")
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
    "partition 0 is 'fine', and it says 'copies missing'.",
    "and it says 'copies missing'",
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
    "partition 0 is 'copies missing', and it says 'refuses acks=all'.",
    "and it says 'refuses acks=all'",
)
def one_too_strict(lines, min_isr):
    return of_all(lines, lambda row: word(row, min_isr + 1))


@wrong(1, "partition 0 is 'refuses acks=all', and it says 'copies missing'.")
def min_isr_is_forgotten(lines, min_isr):
    return of_all(lines, lambda row: word(row, 0))


@wrong(
    1,
    "partition 0 is 'no leader', and it says 'fine'.",
    "partition 0 is 'no leader', and it says",
)
def the_leader_is_not_looked_at(lines, min_isr):
    return of_all(lines, lambda row: word(row | {"Leader": "1"}, min_isr))


@wrong(1, "partition 0 is 'no leader', and it says 'refuses acks=all'.")
def refuses_comes_first(lines, min_isr):
    return of_all(
        lines,
        lambda row: (
            "refuses acks=all"
            if len(brokers(row["Isr"])) < min_isr
            else word(row, min_isr)
        ),
    )


@wrong(1, "partition 0 is 'refuses acks=all', and it says")
def letters_are_counted(lines, min_isr):
    def short(row):
        return {**row, "Isr": ",".join("1" * len(row["Isr"].replace(",", "")))}

    return of_all(lines, lambda row: word(short(row), min_isr))


@wrong(1, "partition 0 is 'copies missing', and it says 'fine'.")
def the_eligible_count(lines, min_isr):
    return of_all(
        lines,
        lambda row: word({**row, "Isr": f"{row['Isr']},{row.get('Elr', '')}"}, min_isr),
    )


@wrong(1, "it has the partitions")
def the_first_partition_only(lines, min_isr):
    return by_columns(lines[:2], min_isr)


@wrong(1, "it has the partitions [0], and the lines have [11].")
def the_number_of_the_line(lines, min_isr):
    rows = [columns(line) for line in lines if "Partition: " in line]
    return {number: word(row, min_isr) for number, row in enumerate(rows)}


@wrong(1, "it has the partitions [], and the lines have [0].")
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


@wrong(1, "partition 0 is 'fine', and it says 'no leader'.")
def none_anywhere(lines, min_isr):
    found = {}
    for line in lines:
        if "Partition: " in line:
            row = columns(line)
            leader = "none" if "none" in line else row["Leader"]
            found[int(row["Partition"])] = word({**row, "Leader": leader}, min_isr)
    return found


@wrong(1, "partition 0 is 'fine', and it says")
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


@wrong(1, "partition 0 is 'refuses acks=all', and it says 'copies missing'.")
def min_isr_is_never_more_than_two(lines, min_isr):
    return of_all(lines, lambda row: word(row, min(min_isr, 2)))


# --- into_table ---


@right(2)
def a_set_of_numbers(records):
    table, seen = {}, {}
    for key, value in records:
        change = json.loads(value) if value else {"after": None}
        table[key.decode()] = change["after"]
        if value:
            seen[change["lsn"]] = change["op"]
    kinds = list(seen.values())
    return {name: row for name, row in table.items() if row}, {
        op: kinds.count(op) for op in set(kinds)
    }


@right(2)
def values_once(records):
    """What comes again has the same bytes."""
    table, counts = {}, {}
    for key, value in records:
        table.pop(key.decode(), None)
        if value is not None and json.loads(value)["after"]:
            table[key.decode()] = json.loads(value)["after"]
    for value in dict.fromkeys(value for _, value in records if value is not None):
        op = json.loads(value)["op"]
        counts[op] = counts.get(op, 0) + 1
    return table, counts


def table_of(records):
    return values_once(records)[0]


def counts_of(records):
    return values_once(records)[1]


@wrong(2, "it raised TypeError")
def null_is_parsed(records):
    table = {}
    for key, value in records:
        after = json.loads(value)["after"]
        table.pop(key.decode(), None)
        if after:
            table[key.decode()] = after
    return table, counts_of(records)


@wrong(2, "it returned {'alice'", "and should return two dicts")
def the_table_alone(records):
    return table_of(records)


@wrong(2, "the rows are right, and their names are bytes")
def names_are_bytes(records):
    return {name.encode(): row for name, row in table_of(records).items()}, counts_of(
        records
    )


@wrong(2, "it raised KeyError: 'alice'")
def taken_away_twice(records):
    table = {}
    for key, value in records:
        after = json.loads(value)["after"] if value else None
        if after is None:
            del table[key.decode()]
        else:
            table[key.decode()] = after
    return table, counts_of(records)


@wrong(2, "alice is not in the database any more, and the table has")
def tombstones_are_skipped(records):
    return table_of(
        [(key, value) for key, value in records if value is not None]
    ), counts_of(records)


@wrong(2, "alice is not in the database any more, and the table has None.")
def rows_become_none(records):
    table = {}
    for key, value in records:
        table[key.decode()] = json.loads(value)["after"] if value else None
    return table, counts_of(records)


@wrong(2, "alice should be {'customer_id': 'alice', 'city': 'Cork'}, and is")
def the_row_before(records):
    table = {}
    for key, value in records:
        change = json.loads(value) if value else {"before": None, "after": None}
        table.pop(key.decode(), None)
        if change["after"]:
            table[key.decode()] = change["before"] or change["after"]
    return table, counts_of(records)


@wrong(2, "should be {'customer_id': 'bruno', 'city': 'Cork'}, and is {'op'")
def the_whole_change(records):
    table = {}
    for key, value in records:
        table.pop(key.decode(), None)
        if value and json.loads(value)["after"]:
            table[key.decode()] = json.loads(value)
    return table, counts_of(records)


@wrong(
    2, "alice is in the database (Cork), and not in the table.", "is in the database"
)
def old_numbers_are_skipped_and_tombstones_are_not(records):
    table, latest = {}, {}
    for key, value in records:
        if value is None:
            table.pop(key.decode(), None)
            continue
        change = json.loads(value)
        if change["lsn"] > latest.get(key, 0):
            latest[key] = change["lsn"]
            table.pop(key.decode(), None)
            if change["after"]:
                table[key.decode()] = change["after"]
    return table, counts_of(records)


@wrong(2, "alice is in the database", "is in the database", "should be")
def only_rising_numbers(records):
    table, latest = {}, 0
    for key, value in records:
        change = json.loads(value) if value else {"lsn": latest + 1, "after": None}
        if change["lsn"] > latest:
            latest = change["lsn"] if value else latest
            table.pop(key.decode(), None)
            if change["after"]:
                table[key.decode()] = change["after"]
    return table, counts_of(records)


@wrong(2, "the counts are {'r': 2}, and {'r': 1} is true.")
def all_are_counted(records):
    kinds = [json.loads(value)["op"] for _, value in records if value is not None]
    return table_of(records), {op: kinds.count(op) for op in kinds}


@wrong(2, "the counts are {'d': 1}, and {} is true.")
def a_tombstone_counts_as_a_delete(records):
    counts = counts_of(records)
    nulls = len({key for key, value in records if value is None})
    return table_of(records), {**counts, "d": counts.get("d", 0) + nulls}


@wrong(2, "the counts are {}, and {'r': 1} is true.")
def counted_while_numbers_rise(records):
    counts, latest = {}, 0
    for _, value in records:
        if value is not None and json.loads(value)["lsn"] > latest:
            latest, op = json.loads(value)["lsn"], json.loads(value)["op"]
            counts[op] = counts.get(op, 0) + 1
    return table_of(records), counts


@wrong(2, "is in the database", "is not in the database any more", "should be")
def latin_1(records):
    table = {}
    for key, value in records:
        table.pop(key.decode("latin-1"), None)
        if value is not None and json.loads(value)["after"]:
            table[key.decode("latin-1")] = json.loads(value)["after"]
    return table, counts_of(records)


@wrong(2, "the counts are {'r': 1}, and {'r': 2} is true.")
def equal_rows_count_once(records):
    rows = {
        (key, json.loads(value)["op"], str(json.loads(value)["after"]))
        for key, value in records
        if value is not None
    }
    kinds = [op for _, op, _ in rows]
    return table_of(records), {op: kinds.count(op) for op in kinds}


@wrong(2, "the counts are {'r': 2}, and {'r': 1} is true.", "is true.")
def number_0_is_no_number(records):
    seen, counts = set(), {}
    for _, value in records:
        change = json.loads(value) if value is not None else None
        if change and not (change["lsn"] and change["lsn"] in seen):
            seen.add(change["lsn"])
            counts[change["op"]] = counts.get(change["op"], 0) + 1
    return table_of(records), counts


@wrong(2, "is in the database", "should be")
def names_without_capitals(records):
    lowered = [(key.lower(), value) for key, value in records]
    return table_of(lowered), counts_of(records)
