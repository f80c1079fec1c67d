"""Lesson 04: pay each order once; the schedule that makes the careful one skip."""

from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.faults import Crash, Freeze
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


@right(1)
def batch_by_batch(consumer, payments):
    while True:
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)
        consumer.commit()


@right(1)
def explicit_offsets(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        where = TopicPartition(record.topic, record.partition)
        consumer.commit({where: OffsetAndMetadata(record.offset + 1, "", -1)})


@right(1)
def remembers_too(consumer, payments):
    """A local set only saves a look; the table decides."""
    mine = set()
    for record in consumer:
        if record.key not in mine and record.key not in payments:
            payments.add(record, record.value)
        mine.add(record.key)
        consumer.commit()


@wrong(1, "")
def never_looks(consumer, payments):
    for record in consumer:
        payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def commits_first(consumer, payments):
    for record in consumer:
        consumer.commit()
        if record.key not in payments:
            payments.add(record, record.value)


@wrong(1, "")
def never_commits(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)


@wrong(1, "")
def commits_when_written_only(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
            consumer.commit()


@wrong(1, "")
def remembers_in_a_variable(consumer, payments):
    seen = set()
    for record in consumer:
        if record.key not in seen:
            seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()


SEEN = set()


@wrong(1, "")
def remembers_in_a_global(consumer, payments):
    for record in consumer:
        if record.key not in SEEN:
            SEEN.add(record.key)
            payments.add(record, record.value)
        consumer.commit()


@right(1)
def marks_before_it_writes(consumer, payments, seen=set()):  # noqa: B006
    for record in consumer:
        if record.key not in payments and record.key not in seen:
            seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def remembers_offsets(consumer, payments):
    done = {}
    for record in consumer:
        if done.get(record.partition, -1) < record.offset:
            payments.add(record, record.value)
            done[record.partition] = record.offset
        consumer.commit()


@wrong(1, "")
def commits_before_the_batch(consumer, payments):
    while True:
        batch = consumer.poll(timeout_ms=1000)
        consumer.commit()
        for records in batch.values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)


@wrong(1, "")
def commits_in_the_middle_of_a_batch(consumer, payments):
    """poll() has moved the position behind the whole batch: the first commit counts for all."""
    while True:
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)
                consumer.commit()


@wrong(1, "")
def commits_its_own_offset(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        where = TopicPartition(record.topic, record.partition)
        consumer.commit({where: OffsetAndMetadata(record.offset, "", -1)})


@wrong(1, "")
def commits_one_too_far(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        where = TopicPartition(record.topic, record.partition)
        consumer.commit({where: OffsetAndMetadata(record.offset + 2, "", -1)})


@wrong(1, "")
def one_topic_only(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        consumer.commit({TopicPartition("orders", 0): OffsetAndMetadata(record.offset + 1, "", -1)})


@wrong(1, "")
def one_poll(consumer, payments):
    for records in consumer.poll(timeout_ms=5000).values():
        for record in records:
            if record.key not in payments:
                payments.add(record, record.value)
    consumer.commit()


@wrong(1, "")
def stops_at_a_known_one(consumer, payments):
    for record in consumer:
        if record.key in payments:
            break
        payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def looks_for_the_value(consumer, payments):
    for record in consumer:
        if record.value not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def looks_for_the_offset(consumer, payments):
    for record in consumer:
        if record.offset not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def writes_the_key(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.key)
        consumer.commit()


@wrong(1, "")
def collects_and_writes_later(consumer, payments):
    waiting = []
    for record in consumer:
        waiting.append(record)
        consumer.commit()
        if len(waiting) == 3:
            for each in waiting:
                if each.key not in payments:
                    payments.add(each, each.value)
            waiting = []


@wrong(1, "")
def swallows_errors(consumer, payments):
    """An order that the table refuses is never paid."""
    for record in consumer:
        try:
            if record.key not in payments:
                payments.add(record, record.value)
        except Exception:
            pass
        consumer.commit()


@wrong(1, "")
def closes_politely(consumer, payments):
    try:
        for record in consumer:
            if record.key not in payments:
                payments.add(record, record.value)
    finally:
        consumer.commit()


@wrong(1, "")
def every_second_commit(consumer, payments):
    for number, record in enumerate(consumer):
        if record.key not in payments:
            payments.add(record, record.value)
        if number % 2:
            consumer.commit()


careful = "careful"
for faults, words in [
    ([], ""),
    ([Crash(careful, call=1)], ""),
    ([Crash(careful, call=2)], ""),
    ([Crash(careful, call=100)], ""),
    ([Crash(careful, call=4)], ""),
    ([Crash(careful, call=5)], ""),
    ([Crash("careless", call=3)], ""),
    ([Crash(careful, call=0)], ""),
    ([Crash(careful, call=-1)], ""),
    ([Crash("careful")], ""),
    ([Freeze(careful, at_ms=100, for_ms=100)], ""),
    ([Crash(careful, call=3)] * 2, ""),
    ([Crash(careful, call=3)] * 50, ""),
    ([3], ""),
    (3, ""),
    ("careful", ""),
]:
    wrong(2, words)(faults)
for faults in ([Crash(careful, call=3)], (Crash(careful, call=3),), Crash(careful, call=3)):
    right(2)(faults)


# --- what readers of the course had found out ---


@right(1)
def from_the_beginning(consumer, payments):
    consumer.poll(timeout_ms=0)
    consumer.seek_to_beginning()
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def empty_polls_first(consumer, payments):
    """A kill at the n-th call falls on one of these, for all small n."""
    for _ in range(60):
        consumer.poll(timeout_ms=0, max_records=0)
    never_looks(consumer, payments)


@wrong(1, "")
def commits_new_ones_only(consumer, payments):
    while True:
        for records in consumer.poll(timeout_ms=1000, max_records=1).values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)
                    consumer.commit()


@wrong(1, "")
def commits_in_any_case(consumer, payments):
    for record in consumer:
        try:
            if record.key not in payments:
                payments.add(record, record.value)
        finally:
            consumer.commit()


@wrong(1, "")
def for_nothing(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, "0 euros")
        consumer.commit()


@wrong(1, "")
def the_first_six(consumer, payments):
    for number, record in enumerate(consumer):
        if number < 6 and record.key not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def remembers_on_the_consumer(consumer, payments):
    consumer.seen = getattr(consumer, "seen", set())
    for record in consumer:
        if record.key not in consumer.seen:
            consumer.seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "")
def remembers_on_itself(consumer, payments):
    seen = remembers_on_itself.__dict__.setdefault("seen", set())
    for record in consumer:
        if record.key not in seen:
            seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()
