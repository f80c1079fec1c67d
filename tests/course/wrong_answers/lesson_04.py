"""Lesson 04: pay each order once; the schedule that makes the careful one skip."""

import sys

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
def asks_whether_it_has_a_consumer_and_closes_it(consumer, payments):
    if not consumer:
        return
    with consumer as mine:
        for record in mine:
            if record.key not in payments:
                payments.add(record, record.value)
            mine.commit()


@right(1)
def exits_when_payments_is_down(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            try:
                payments.add(record, record.value)
            except Exception as error:
                sys.exit(f"payments is down: {error}")
        consumer.commit()


@right(1)
def returns_when_payments_is_down(consumer, payments):
    for record in consumer:
        try:
            if record.key not in payments:
                payments.add(record, record.value)
        except Exception:
            return
        consumer.commit()


@wrong(1, "order o-0 is never written.")
def passes_over_an_order_after_three_tries(consumer, payments):
    for record in consumer:
        for _ in range(3):
            if record.key not in payments:
                try:
                    payments.add(record, record.value)
                except Exception as error:
                    print(error)
        consumer.commit()


@right(1)
def remembers_too(consumer, payments):
    """A local set only saves a look; the table decides."""
    mine = set()
    for record in consumer:
        if record.key not in mine and record.key not in payments:
            payments.add(record, record.value)
        mine.add(record.key)
        consumer.commit()


@wrong(1, "order o-0 is written twice.")
def never_looks(consumer, payments):
    for record in consumer:
        payments.add(record, record.value)
        consumer.commit()


@wrong(1, "order o-0 is never written.")
def commits_first(consumer, payments):
    for record in consumer:
        consumer.commit()
        if record.key not in payments:
            payments.add(record, record.value)


@wrong(1, "all orders are written, but nothing is committed, and the log end")
def never_commits(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)


@wrong(1, "all orders are written, but nothing is committed, and the log end")
def commits_when_written_only(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
            consumer.commit()


@wrong(1, "order o-0 is written twice.")
def remembers_in_a_variable(consumer, payments):
    seen = set()
    for record in consumer:
        if record.key not in seen:
            seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()


SEEN = set()


@wrong(1, "order o-0 is written twice.")
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


@wrong(1, "order o-0 is written twice.")
def remembers_offsets(consumer, payments):
    done = {}
    for record in consumer:
        if done.get(record.partition, -1) < record.offset:
            payments.add(record, record.value)
            done[record.partition] = record.offset
        consumer.commit()


@wrong(1, "order o-0 is never written.")
def commits_before_the_batch(consumer, payments):
    while True:
        batch = consumer.poll(timeout_ms=1000)
        consumer.commit()
        for records in batch.values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)


@wrong(1, "order o-1 is never written.")
def commits_in_the_middle_of_a_batch(consumer, payments):
    """poll() has moved the position behind the whole batch: the first commit counts for
    all.
    """
    while True:
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)
                consumer.commit()


@wrong(1, "all orders are written, but the committed offset is 5, and the log end")
def commits_its_own_offset(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        where = TopicPartition(record.topic, record.partition)
        consumer.commit({where: OffsetAndMetadata(record.offset, "", -1)})


@wrong(1, "all orders are written, but the committed offset is 7, and the log end")
def commits_one_too_far(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        where = TopicPartition(record.topic, record.partition)
        consumer.commit({where: OffsetAndMetadata(record.offset + 2, "", -1)})


@wrong(1, "it raised KafkaError: UNKNOWN_TOPIC_OR_PARTITION: This server does not")
def one_topic_only(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.value)
        consumer.commit(
            {TopicPartition("orders", 0): OffsetAndMetadata(record.offset + 1, "", -1)}
        )


@wrong(1, "it has ended. A service keeps running: tomorrow there are more orders.")
def one_poll(consumer, payments):
    for records in consumer.poll(timeout_ms=5000).values():
        for record in records:
            if record.key not in payments:
                payments.add(record, record.value)
    consumer.commit()


@wrong(1, "all orders are written, but nothing is committed, and the log end")
def stops_at_a_known_one(consumer, payments):
    for record in consumer:
        if record.key in payments:
            break
        payments.add(record, record.value)
        consumer.commit()


@wrong(
    1,
    "the program asks payments for b'20 euros', a value; the keys of the rows look like o-0",
)
def looks_for_the_value(consumer, payments):
    for record in consumer:
        if record.value not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(
    1, "the program asks payments for 0, an offset; the keys of the rows look like o-0"
)
def looks_for_the_offset(consumer, payments):
    for record in consumer:
        if record.offset not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(
    1,
    "the program asks payments for '0', an offset; the keys of the rows look like o-0",
)
def looks_for_the_offset_as_text(consumer, payments):
    for record in consumer:
        if str(record.offset) not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(
    1,
    "the program asks payments for ('orders', 0, 0); the keys of the rows look like o-0",
)
def looks_for_the_place(consumer, payments):
    for record in consumer:
        if (record.topic, record.partition, record.offset) not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(
    1,
    "the program asks payments for a record, so it compares offsets. The shop may send",
)
def looks_for_the_record(consumer, payments):
    for record in consumer:
        if record not in payments:
            payments.add(record, record.value)
        consumer.commit()


@right(1)
def looks_for_the_record_and_its_key(consumer, payments):
    for record in consumer:
        if record not in payments and record.key not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "order o-0 is 20 euros, and payments has 'o-0'.")
def writes_the_key(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, record.key)
        consumer.commit()


@wrong(1, "order o-0 is never written.")
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


@wrong(1, "order o-0 is never written.")
def swallows_errors(consumer, payments):
    """An order that the table refuses is never paid."""
    for record in consumer:
        try:
            if record.key not in payments:
                payments.add(record, record.value)
        except Exception:
            pass
        consumer.commit()


@wrong(1, "all orders are written, but nothing is committed, and the log end")
def closes_politely(consumer, payments):
    try:
        for record in consumer:
            if record.key not in payments:
                payments.add(record, record.value)
    finally:
        consumer.commit()


@wrong(1, "all orders are written, but nothing is committed, and the log end")
def every_second_commit(consumer, payments):
    for number, record in enumerate(consumer):
        if record.key not in payments:
            payments.add(record, record.value)
        if number % 2:
            consumer.commit()


careful = "careful"
for faults, words in [
    ([], "without a fault all six orders are paid. Put a Crash into the list."),
    ([Crash(careful, call=1)], "all six orders are paid."),
    ([Crash(careful, call=2)], "all six orders are paid."),
    (
        [Crash(careful, call=100)],
        "the program makes only 11 calls, so it was never killed.",
    ),
    ([Crash(careful, call=4)], "2 of 6 orders are skipped. One crash can do more."),
    ([Crash(careful, call=5)], "1 of 6 orders are skipped. One crash can do more."),
    (
        [Crash("careless", call=3)],
        "'careless' can't be: it is 'careful'. Write Crash(\"careful\", call=3)",
    ),
    (
        [Crash(careful, call=0)],
        'call=0 can\'t be: it is a whole number from 1 on. Write Crash("careful",',
    ),
    (
        [Crash(careful, call=-1)],
        "call=-1 can't be: it is a whole number from 1 on. Write",
    ),
    (
        [Crash("careful")],
        (
            "Crash(node='careful', at_ms=None, call=None, restart_after_ms=None,"
            " power=False, "
        ),
    ),
    (
        [Freeze(careful, at_ms=100, for_ms=100)],
        'a Freeze is of no use here. Write Crash("careful", call=3)',
    ),
    (
        [Crash(careful, call=3)] * 2,
        "6 of 6 orders are skipped, by 2 crashes. One can skip orders, and the",
    ),
    (
        [Crash(careful, call=3)] * 50,
        "6 of 6 orders are skipped, by 50 crashes. One can skip orders, and the",
    ),
    ([3], '3 is no fault. Write Crash("careful", call=3)'),
    (3, 'faults should be a list of faults, such as [Crash("careful", call=3)],'),
    (
        "careful",
        'faults should be a list of faults, such as [Crash("careful", call=3)],',
    ),
]:
    wrong(2, words)(faults)
for faults in (
    [Crash(careful, call=3)],
    (Crash(careful, call=3),),
    Crash(careful, call=3),
):
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


@wrong(1, "order o-0 is written twice.")
def empty_polls_first(consumer, payments):
    """A kill at the n-th call falls on one of these, for all small n."""
    for _ in range(60):
        consumer.end_offsets([TopicPartition("orders", 0)])
    never_looks(consumer, payments)


@wrong(1, "all orders are written, but nothing is committed, and the log end")
def commits_new_ones_only(consumer, payments):
    while True:
        for records in consumer.poll(timeout_ms=1000, max_records=1).values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)
                    consumer.commit()


@wrong(1, "order o-0 is never written.")
def commits_in_any_case(consumer, payments):
    for record in consumer:
        try:
            if record.key not in payments:
                payments.add(record, record.value)
        finally:
            consumer.commit()


@wrong(1, "order o-0 is 20 euros, and payments has '0 euros'.")
def for_nothing(consumer, payments):
    for record in consumer:
        if record.key not in payments:
            payments.add(record, "0 euros")
        consumer.commit()


@wrong(1, "order o-6 is never written.")
def the_first_six(consumer, payments):
    for number, record in enumerate(consumer):
        if number < 6 and record.key not in payments:
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "order o-0 is written twice.")
def remembers_on_the_consumer(consumer, payments):
    consumer.seen = getattr(consumer, "seen", set())
    for record in consumer:
        if record.key not in consumer.seen:
            consumer.seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()


@wrong(1, "order o-0 is written twice.")
def remembers_on_itself(consumer, payments):
    seen = remembers_on_itself.__dict__.setdefault("seen", set())
    for record in consumer:
        if record.key not in seen:
            seen.add(record.key)
            payments.add(record, record.value)
        consumer.commit()
