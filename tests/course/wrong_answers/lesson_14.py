"""Lesson 14: a sink that neither loses nor repeats, with one note a partition."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right
SEEN = set()


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
