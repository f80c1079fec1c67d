"""Lesson 14: a sink that neither loses nor repeats, with one note a partition; and
settings that keep a promise.
"""

import json
import sys

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right
SEEN, NOTED = set(), {}


def place(record):
    return f"{record.topic}/{record.partition}"


@right(1)
def skips_early(consumer, database):
    for record in consumer:
        last = database.noted(place(record))
        if last is not None and last >= record.offset:
            consumer.commit()
            continue
        with database.transaction():
            database.note(place(record), record.offset)
            database.add(record.key, record.value)
        consumer.commit()


@right(1)
def notes_the_next_offset_and_commits_at_the_end(consumer, database):
    for record in consumer:
        with database.transaction():
            if record.offset >= (database.noted(place(record)) or 0):
                database.add(record.key, record.value)
                database.note(place(record), record.offset + 1)
    consumer.commit()


@right(1)
def one_transaction_for_all(consumer, database):
    with database.transaction():
        for record in consumer:
            noted = database.noted(place(record))
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
    consumer.commit()


@right(1)
def reads_all_into_a_list(consumer, database):
    records = list(consumer)
    with database.transaction():
        for record in records:
            noted = database.noted(place(record))
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
    consumer.commit()


def added_once(record, database):
    with database.transaction():
        noted = database.noted(place(record))
        if noted is None or record.offset > noted:
            database.add(record.key, record.value)
            database.note(place(record), record.offset)


@right(1)
def tells_the_error_in_its_own_words(consumer, database):
    for record in consumer:
        try:
            added_once(record, database)
        except Exception as error:
            raise RuntimeError(f"{place(record)}@{record.offset} failed") from error
        consumer.commit()


@right(1)
def exits_when_the_database_is_down(consumer, database):
    for record in consumer:
        try:
            added_once(record, database)
        except Exception:
            sys.exit(1)
        consumer.commit()


@right(1)
def one_note_with_all_offsets(consumer, database):
    for record in consumer:
        with database.transaction():
            ends = json.loads(database.noted("ends") or "{}")
            if record.offset >= ends.get(place(record), 0):
                database.add(record.key, record.value)
                database.note(
                    "ends", json.dumps(ends | {place(record): record.offset + 1})
                )
        consumer.commit()


@right(1)
def tries_again_by_itself(consumer, database):
    for record in consumer:
        done = False
        while not done:
            try:
                with database.transaction():
                    noted = database.noted(place(record))
                    if noted is None or record.offset > noted:
                        database.add(record.key, record.value)
                        database.note(place(record), record.offset)
                done = True
            except Exception:
                continue
        consumer.commit()


def last_of(database, where):
    """Asks the database once in each life."""
    if where not in NOTED:
        NOTED[where] = database.noted(where)
    return NOTED[where]


@right(1)
def a_helper_remembers_what_was_noted(consumer, database):
    for record in consumer:
        last = last_of(database, place(record))
        if last is None or record.offset > last:
            with database.transaction():
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
            NOTED[place(record)] = record.offset
        consumer.commit()


@wrong(1, "is lost")
def the_same_account_and_amount_as_the_last(consumer, database):
    for record in consumer:
        seen = f"{record.key} {record.value}"
        with database.transaction():
            if database.noted(place(record)) != seen:
                database.add(record.key, record.value)
                database.note(place(record), seen)
        consumer.commit()


@wrong(1, "alice should have 0 cents, and has 40", "not as it is")
def without_the_sign(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record))
            if noted is None or record.offset > noted:
                database.add(record.key, abs(record.value))
                database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "alice should have 0 cents, and has 20", "not as it is")
def leaves_out_what_is_not_above_zero(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record))
            if noted is None or record.offset > noted:
                if record.value > 0:
                    database.add(record.key, record.value)
                database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "counts twice")
def at_least_once(consumer, database):
    for record in consumer:
        database.add(record.key, record.value)
        consumer.commit()


@wrong(1, "is lost")
def at_most_once(consumer, database):
    for record in consumer:
        consumer.commit()
        database.add(record.key, record.value)


@wrong(1, "counts twice")
def remembers_in_a_variable(consumer, database):
    for record in consumer:
        if (place(record), record.offset) not in SEEN:
            SEEN.add((place(record), record.offset))
            database.add(record.key, record.value)
        consumer.commit()


def is_new(record, seen=SEEN):
    if (place(record), record.offset) in seen:
        return False
    seen.add((place(record), record.offset))
    return True


@wrong(1, "counts twice")
def a_helper_remembers_in_a_variable(consumer, database):
    for record in consumer:
        if is_new(record):
            database.add(record.key, record.value)
        consumer.commit()


@wrong(1, "a note is a whole number or a text, not a set")
def a_set_in_one_note(consumer, database):
    for record in consumer:
        with database.transaction():
            seen = database.noted("seen") or set()
            if (place(record), record.offset) not in seen:
                database.add(record.key, record.value)
                database.note("seen", seen | {(place(record), record.offset)})
        consumer.commit()


@wrong(1, "a note has 100 letters at most")
def all_ids_in_one_note(consumer, database):
    for record in consumer:
        with database.transaction():
            seen = (database.noted("seen") or "").split()
            if f"{place(record)}/{record.offset}" not in seen:
                database.add(record.key, record.value)
                database.note(
                    "seen", " ".join([*seen, f"{place(record)}/{record.offset}"])
                )
        consumer.commit()


@wrong(1, "a number 64 bits")
def a_bit_an_order(consumer, database):
    for record in consumer:
        with database.transaction():
            seen = database.noted(place(record)) or 0
            if not seen >> record.offset & 1:
                database.add(record.key, record.value)
                database.note(place(record), seen | 1 << record.offset)
        consumer.commit()


@wrong(1, "is lost")
def names_that_run_together(consumer, database):
    """The topic orders1, partition 0, is taken for the topic orders, partition 10."""
    for record in consumer:
        name = f"{record.topic}{record.partition}"
        with database.transaction():
            noted = database.noted(name)
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note(name, record.offset)
        consumer.commit()


SET_BACK = "the group's offsets are set back to"


@wrong(1, SET_BACK)
def only_knows_the_last_one(consumer, database):
    for record in consumer:
        with database.transaction():
            if record.offset != database.noted(place(record)):
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, SET_BACK)
def knows_the_last_ten(consumer, database):
    for record in consumer:
        with database.transaction():
            known = (database.noted(place(record)) or "").split()
            if str(record.offset) not in known:
                database.add(record.key, record.value)
                known.append(str(record.offset))
                database.note(place(record), " ".join(known[-10:]))
        consumer.commit()


@wrong(1, SET_BACK)
def takes_the_note_back_with_the_offsets(consumer, database):
    first = set()
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record))
            starts_here = record.partition not in first
            first.add(record.partition)
            if (
                noted is None
                or record.offset > noted
                or (starts_here and record.offset < noted - 1)
            ):
                database.add(record.key, record.value)
            database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, SET_BACK, "counts twice")
def notes_whatever_it_reads(consumer, database):
    """The note goes back, too."""
    for record in consumer:
        with database.transaction():
            if record.offset != database.noted(place(record)):
                database.add(record.key, record.value)
            database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "counts twice")
def only_knows_the_last_one_and_commits_at_the_end(consumer, database):
    for record in consumer:
        with database.transaction():
            if record.offset != database.noted(place(record)):
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
    consumer.commit()


@wrong(1, "counts twice")
def takes_0_for_minus_1(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record)) or -1
            if record.offset > noted:
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "counts twice")
def two_steps_without_a_transaction(consumer, database):
    for record in consumer:
        noted = database.noted(place(record))
        if noted is None or record.offset > noted:
            database.add(record.key, record.value)
            database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "is lost")
def notes_first_without_a_transaction(consumer, database):
    for record in consumer:
        noted = database.noted(place(record))
        if noted is None or record.offset > noted:
            database.note(place(record), record.offset)
            database.add(record.key, record.value)
        consumer.commit()


@wrong(1, "counts twice")
def takes_0_for_nothing(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record))
            if not noted or record.offset > noted:
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "is lost")
def one_note_for_all_partitions(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted("offset")
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note("offset", record.offset)
        consumer.commit()


@wrong(1, "is lost")
def forgets_the_topic(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(str(record.partition))
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note(str(record.partition), record.offset)
        consumer.commit()


@wrong(1, "the notes grow without end")
def a_note_an_order(consumer, database):
    for record in consumer:
        name = f"{place(record)}/{record.offset}"
        with database.transaction():
            if database.noted(name) is None:
                database.add(record.key, record.value)
                database.note(name, 1)
        consumer.commit()


@wrong(1, "is lost")
def expects_offsets_without_gaps(consumer, database):
    for record in consumer:
        with database.transaction():
            if record.offset == (database.noted(place(record)) or 0):
                database.add(record.key, record.value)
                database.note(place(record), record.offset + 1)
        consumer.commit()


@wrong(1, "keeps a lag")
def never_commits(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record))
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note(place(record), record.offset)


@wrong(1, "is lost")
def swallows_errors(consumer, database):
    for record in consumer:
        try:
            with database.transaction():
                noted = database.noted(place(record))
                if noted is None or record.offset > noted:
                    database.note(place(record), record.offset)
                    database.add(record.key, record.value)
        except Exception:
            pass
        consumer.commit()


@wrong(1, "counts twice")
def adds_outside_of_the_transaction(consumer, database):
    for record in consumer:
        noted = database.noted(place(record))
        if noted is None or record.offset > noted:
            database.add(record.key, record.value)
            with database.transaction():
                database.note(place(record), record.offset)
        consumer.commit()


@wrong(1, "is lost")
def the_commit_is_inside(consumer, database):
    for record in consumer:
        with database.transaction():
            noted = database.noted(place(record))
            if noted is None or record.offset > noted:
                database.add(record.key, record.value)
                database.note(place(record), record.offset)
            consumer.commit()


PRODUCER, TOPIC = (
    {"linger_ms": 20, "delivery_timeout_ms": 40_000},
    {"min.insync.replicas": 2},
)

for answer in (
    ({"linger_ms": 30, "delivery_timeout_ms": 45_000}, {"min.insync.replicas": "2"}),
    [
        PRODUCER
        | {
            "acks": -1,
            "enable_idempotence": True,
            "max_in_flight_requests_per_connection": 1,
        },
        TOPIC,
    ],
    (
        PRODUCER | {"request_timeout_ms": 5_000, "retries": 1_000_000},
        TOPIC | {"unclean.leader.election.enable": False},
    ),
):
    right(2)(answer)

for producer, topic, words in (
    ({}, {}, "requests a second, and 60 are allowed"),  # all defaults
    (
        {"delivery_timeout_ms": 40_000, "linger_ms": 0},
        TOPIC,
        "requests a second, and 60 are allowed",
    ),
    (PRODUCER | {"linger_ms": 100}, TOPIC, "and should have one after 60 ms"),
    # one payment each
    (PRODUCER | {"batch_size": 100}, TOPIC, "requests a second, and 60 are allowed"),
    (PRODUCER | {"acks": 1}, TOPIC, "is there twice"),
    (
        PRODUCER | {"acks": 1, "retries": 0},
        TOPIC,
        "payments were acknowledged and are gone",
    ),
    (PRODUCER | {"acks": 0}, TOPIC, "payments were acknowledged and are gone"),
    # acks=all, and all may be one
    (PRODUCER, {}, "payments were acknowledged and are gone"),
    (
        PRODUCER,
        TOPIC | {"unclean.leader.election.enable": True},
        "payments were acknowledged and are gone",
    ),
    (PRODUCER | {"enable_idempotence": False}, TOPIC, "is there twice"),
    (PRODUCER | {"max_in_flight_requests_per_connection": 10}, TOPIC, "is there twice"),
    (
        PRODUCER
        | {
            "enable_idempotence": False,
            "max_in_flight_requests_per_connection": 1,
        },
        TOPIC,
        "is there twice",
    ),
    (PRODUCER | {"retries": 0}, TOPIC, "payments fail. The first is"),
    (PRODUCER | {"retries": 3}, TOPIC, "payments fail. The first is"),
    # It gives batches up that are on their way, and counts anew (KIP-360): what arrived
    # behind them comes again.
    (
        PRODUCER | {"request_timeout_ms": 3_000, "delivery_timeout_ms": 8_000},
        TOPIC,
        "is there twice",
    ),
    (
        PRODUCER | {"request_timeout_ms": 9_000, "delivery_timeout_ms": 10_000},
        TOPIC,
        "payments fail. The first is",
    ),
    # the default gives up after two minutes
    ({"linger_ms": 20}, TOPIC, "the answer for a payment came after"),
    (
        {"linger_ms": 20, "delivery_timeout_ms": 60_000},
        TOPIC,
        "the answer for a payment came after 60.0 s",
    ),
    (
        PRODUCER | {"delivery_timeout_ms": 20_000},
        TOPIC,
        "there would be no time for one try",
    ),
    (
        PRODUCER | {"enable_idempotence": True, "acks": 1},
        TOPIC,
        "enable_idempotence needs acks",
    ),
    (
        PRODUCER | {"linger.ms": 20},
        TOPIC,
        "'linger.ms' is no setting of the producer here",
    ),
    (
        PRODUCER | {"min.insync.replicas": 2},
        {},
        "'min.insync.replicas' is no setting of the producer here",
    ),
    (PRODUCER, {"min.insync.replicas": 0}, "Value must be at least 1"),
):
    wrong(2, words)((producer, topic))

# Nothing is committed until all three are in sync again, which takes about as long as
# the producer waits: a batch fails, and those behind it may come again (KIP-360).
wrong(2, "payments fail. The first is", "is there twice")(
    (PRODUCER, {"min.insync.replicas": 3})
)


# --- into_table ---


@right(3)
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


@right(3)
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


@wrong(3, "it raised TypeError")
def null_is_parsed(records):
    table = {}
    for key, value in records:
        after = json.loads(value)["after"]
        table.pop(key.decode(), None)
        if after:
            table[key.decode()] = after
    return table, counts_of(records)


@wrong(3, "it returned {'alice'", "and should return two dicts")
def the_table_alone(records):
    return table_of(records)


@wrong(3, "the rows are right, and their names are bytes")
def names_are_bytes(records):
    return {name.encode(): row for name, row in table_of(records).items()}, counts_of(
        records
    )


@wrong(3, "it raised KeyError: 'alice'")
def taken_away_twice(records):
    table = {}
    for key, value in records:
        after = json.loads(value)["after"] if value else None
        if after is None:
            del table[key.decode()]
        else:
            table[key.decode()] = after
    return table, counts_of(records)


@wrong(3, "alice is not in the database any more, and the table has")
def tombstones_are_skipped(records):
    return table_of(
        [(key, value) for key, value in records if value is not None]
    ), counts_of(records)


@wrong(3, "alice is not in the database any more, and the table has None.")
def rows_become_none(records):
    table = {}
    for key, value in records:
        table[key.decode()] = json.loads(value)["after"] if value else None
    return table, counts_of(records)


@wrong(3, "alice should be {'customer_id': 'alice', 'city': 'Cork'}, and is")
def the_row_before(records):
    table = {}
    for key, value in records:
        change = json.loads(value) if value else {"before": None, "after": None}
        table.pop(key.decode(), None)
        if change["after"]:
            table[key.decode()] = change["before"] or change["after"]
    return table, counts_of(records)


@wrong(3, "should be {'customer_id': 'bruno', 'city': 'Cork'}, and is {'op'")
def the_whole_change(records):
    table = {}
    for key, value in records:
        table.pop(key.decode(), None)
        if value and json.loads(value)["after"]:
            table[key.decode()] = json.loads(value)
    return table, counts_of(records)


@wrong(
    3, "alice is in the database (Cork), and not in the table.", "is in the database"
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


@wrong(3, "alice is in the database", "is in the database", "should be")
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


@wrong(3, "the counts are {'r': 2}, and {'r': 1} is true.")
def all_are_counted(records):
    kinds = [json.loads(value)["op"] for _, value in records if value is not None]
    return table_of(records), {op: kinds.count(op) for op in kinds}


@wrong(3, "the counts are {'d': 1}, and {} is true.")
def a_tombstone_counts_as_a_delete(records):
    counts = counts_of(records)
    nulls = len({key for key, value in records if value is None})
    return table_of(records), {**counts, "d": counts.get("d", 0) + nulls}


@wrong(3, "the counts are {}, and {'r': 1} is true.")
def counted_while_numbers_rise(records):
    counts, latest = {}, 0
    for _, value in records:
        if value is not None and json.loads(value)["lsn"] > latest:
            latest, op = json.loads(value)["lsn"], json.loads(value)["op"]
            counts[op] = counts.get(op, 0) + 1
    return table_of(records), counts


@wrong(3, "is in the database", "is not in the database any more", "should be")
def latin_1(records):
    table = {}
    for key, value in records:
        table.pop(key.decode("latin-1"), None)
        if value is not None and json.loads(value)["after"]:
            table[key.decode("latin-1")] = json.loads(value)["after"]
    return table, counts_of(records)


@wrong(3, "the counts are {'r': 1}, and {'r': 2} is true.")
def equal_rows_count_once(records):
    rows = {
        (key, json.loads(value)["op"], str(json.loads(value)["after"]))
        for key, value in records
        if value is not None
    }
    kinds = [op for _, op, _ in rows]
    return table_of(records), {op: kinds.count(op) for op in kinds}


@wrong(3, "the counts are {'r': 2}, and {'r': 1} is true.", "is true.")
def number_0_is_no_number(records):
    seen, counts = set(), {}
    for _, value in records:
        change = json.loads(value) if value is not None else None
        if change and not (change["lsn"] and change["lsn"] in seen):
            seen.add(change["lsn"])
            counts[change["op"]] = counts.get(change["op"], 0) + 1
    return table_of(records), counts


@wrong(3, "is in the database", "should be")
def names_without_capitals(records):
    lowered = [(key.lower(), value) for key, value in records]
    return table_of(lowered), counts_of(records)
