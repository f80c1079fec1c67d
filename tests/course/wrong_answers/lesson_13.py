"""Lesson 13: receipts of orders, each once, in transactions."""

from minikafka.clients.errors import KafkaError, KafkaTimeoutError
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.course.experiments.lesson_13_runs import TillBusy
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


def batches(orders):
    while True:
        batch = orders.poll(timeout_ms=1000)
        if batch:
            yield batch


def give(batch, receipts, till):
    for records in batch.values():
        for record in records:
            receipts.send("receipts", key=record.key, value=till.receipt(record.value))


def behind(batch, by=1):
    return {
        partition: OffsetAndMetadata(records[-1].offset + by, "")
        for partition, records in batch.items()
    }


def rewind(batch, orders):
    for partition, records in batch.items():
        orders.seek(partition, records[0].offset)


def committed(receipts):
    """Until the coordinator answers."""
    while True:
        try:
            receipts.commit_transaction()
            return
        except KafkaTimeoutError:
            pass


COMMITTED = "and then the program committed."


@wrong(1, COMMITTED)
def asks_until_the_till_answers(orders, receipts, till):
    """It tries in place, and the batch doesn't come again."""
    receipts.init_transactions()
    for batch in batches(orders):
        found = []
        for record in [record for records in batch.values() for record in records]:
            while len(found) < 100:
                try:
                    found.append((record.key, till.receipt(record.value)))
                    break
                except TillBusy:
                    continue
        receipts.begin_transaction()
        for key, value in found:
            receipts.send("receipts", key=key, value=value)
        receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        committed(receipts)


@right(1)
def all_receipts_before_the_transaction(orders, receipts, till):
    """Then nothing has to be aborted: the batch comes again by the seek alone."""
    receipts.init_transactions()
    for batch in batches(orders):
        records = [record for found in batch.values() for record in found]
        try:
            values = [till.receipt(record.value) for record in records]
        except TillBusy:
            rewind(batch, orders)
            continue
        receipts.begin_transaction()
        for record, value in zip(records, values, strict=True):
            receipts.send("receipts", key=record.key, value=value)
        receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        committed(receipts)


@wrong(1, "finds no receipts of order")
def leaves_out_what_is_busy_twice(orders, receipts, till):
    refused = set()
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        at = None
        try:
            for records in batch.values():
                for record in records:
                    at = record.value
                    if (at, 2) in refused:
                        continue
                    receipts.send(
                        "receipts", key=record.key, value=till.receipt(record.value)
                    )
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
            committed(receipts)
        except TillBusy:
            refused.add((at, 2 if (at, 1) in refused else 1))
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "past the end of its partition")
def one_offset_too_many(orders, receipts, till):
    looped(orders, receipts, till, by=2)


@wrong(1, "the program has ended with", "finds no receipts of order")
def two_customers_only(orders, receipts, till):
    def send(record):
        key = {b"alice": "alice", b"bob": "bob"}[record.key]
        receipts.send("receipts", key=key, value=till.receipt(record.value))

    sending(orders, receipts, till, send)


@right(1)
def a_transaction_an_order(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        for partition, records in batch.items():
            for record in records:
                receipts.begin_transaction()
                try:
                    receipts.send(
                        "receipts", key=record.key, value=till.receipt(record.value)
                    )
                except TillBusy:
                    receipts.abort_transaction()
                    orders.seek(partition, record.offset)
                    break
                done = {partition: OffsetAndMetadata(record.offset + 1, "")}
                receipts.send_offsets_to_transaction(done, orders.group_metadata())
                committed(receipts)


@right(1)
def order_by_order(orders, receipts, till):
    receipts.init_transactions()
    for order in orders:
        here = TopicPartition(order.topic, order.partition)
        receipts.begin_transaction()
        try:
            receipts.send("receipts", key=order.key, value=till.receipt(order.value))
            done = {here: OffsetAndMetadata(order.offset + 1, "")}
            receipts.send_offsets_to_transaction(done, orders.group_metadata())
            committed(receipts)
        except TillBusy:
            receipts.abort_transaction()
            orders.seek(here, order.offset)


@right(1)
def begins_before_it_polls(orders, receipts, till):
    receipts.init_transactions()
    while True:
        receipts.begin_transaction()
        batch = orders.poll(timeout_ms=1000)
        try:
            give(batch, receipts, till)
            if batch:
                receipts.send_offsets_to_transaction(
                    behind(batch), orders.group_metadata()
                )
            committed(receipts)
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)


@right(1)
def keeps_the_batch_and_tries_again(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        done = False
        while not done:
            receipts.begin_transaction()
            try:
                give(batch, receipts, till)
                receipts.send_offsets_to_transaction(
                    behind(batch), orders.group_metadata()
                )
                committed(receipts)
                done = True
            except TillBusy:
                receipts.abort_transaction()


@wrong(1, COMMITTED)
def commits_what_has_a_receipt_already(orders, receipts, till):
    """A busy till: what comes before it in its partition counts, and the rest comes
    again.
    """
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        done = {}
        for partition, records in batch.items():
            for record in records:
                try:
                    receipt = till.receipt(record.value)
                except TillBusy:
                    orders.seek(partition, record.offset)
                    break
                receipts.send("receipts", key=record.key, value=receipt)
                done[partition] = OffsetAndMetadata(record.offset + 1, "")
        if done:
            receipts.send_offsets_to_transaction(done, orders.group_metadata())
        committed(receipts)


@right(1)
def goes_back_to_what_is_committed(orders, receipts, till):
    def back(batch, orders):
        for partition in batch:
            orders.seek(partition, orders.committed(partition) or 0)

    looped(orders, receipts, till, back=back)


def looped(
    orders,
    receipts,
    till,
    *,
    init=True,
    offsets=True,
    commit=True,
    abort=True,
    back=rewind,
    by=1,
    after=None,
):
    """The loop, with a step left out or another one instead."""
    if init:
        receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            if offsets:
                receipts.send_offsets_to_transaction(
                    behind(batch, by), orders.group_metadata()
                )
            if commit:
                committed(receipts)
        except TillBusy:
            if abort:
                receipts.abort_transaction()
            back(batch, orders)
        if after:
            after(batch)


@wrong(1, "the program has ended with IllegalStateError")
def no_init(orders, receipts, till):
    looped(orders, receipts, till, init=False)


@wrong(1, "but the group has a lag of")
def no_offsets(orders, receipts, till):
    looped(orders, receipts, till, offsets=False)


@wrong(1, "the program has ended with IllegalStateError", "finds no receipts of order")
def no_commit(orders, receipts, till):
    looped(orders, receipts, till, commit=False)


@wrong(1, "the program has ended with IllegalStateError")
def no_abort(orders, receipts, till):
    looped(orders, receipts, till, abort=False)


@wrong(1, "finds no receipts of order")
def no_rewind(orders, receipts, till):
    looped(orders, receipts, till, back=lambda batch, orders: None)


@wrong(1, "finds 2 receipts of order", "but the group has a lag of")
def the_last_offset_and_not_the_next(orders, receipts, till):
    looped(orders, receipts, till, by=0)


@wrong(1, "finds no receipts of order", "finds 2 receipts of order")
def the_consumer_commits_after_the_transaction(orders, receipts, till):
    looped(
        orders,
        receipts,
        till,
        offsets=False,
        after=lambda batch: orders.commit(behind(batch)),
    )


@wrong(1, "finds no receipts of order")
def the_consumer_commits_first(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        orders.commit(behind(batch))
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            committed(receipts)
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "finds no receipts of order")
def back_to_the_last_order_only(orders, receipts, till):
    def back(batch, orders):
        for partition, records in batch.items():
            orders.seek(partition, records[-1].offset)

    looped(orders, receipts, till, back=back)


@wrong(1, "the program has ended with TillBusy")
def a_busy_till_is_the_end(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        give(batch, receipts, till)
        receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        committed(receipts)


@wrong(1, "the program has ended by itself")
def ends_when_there_is_nothing_to_read(orders, receipts, till):
    receipts.init_transactions()
    while batch := orders.poll(timeout_ms=1000):
        receipts.begin_transaction()
        give(batch, receipts, till)
        receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        committed(receipts)


@wrong(1, "the program has ended with IllegalStateError")
def without_transactions(orders, receipts, till):
    for batch in batches(orders):
        give(batch, receipts, till)
        orders.commit()


@wrong(1, COMMITTED)
def leaves_out_what_the_till_refuses(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        for record in [record for records in batch.values() for record in records]:
            try:
                receipts.send(
                    "receipts", key=record.key, value=till.receipt(record.value)
                )
            except TillBusy:
                continue
        receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        committed(receipts)


@wrong(1, COMMITTED)
def commits_what_is_there_and_rewinds(orders, receipts, till):
    """A busy till: what has a receipt already counts, and comes again."""
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        except TillBusy:
            rewind(batch, orders)
        committed(receipts)


@wrong(1, "finds 2 receipts of order", "but the group has a lag of")
def offsets_in_a_transaction_of_their_own(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            committed(receipts)
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)
            continue
        receipts.begin_transaction()
        receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
        committed(receipts)


def sending(orders, receipts, till, send, done=behind):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            for records in batch.values():
                for record in records:
                    send(record)
            receipts.send_offsets_to_transaction(done(batch), orders.group_metadata())
            committed(receipts)
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "has the key None, but the order had the key")
def forgets_the_key(orders, receipts, till):
    sending(
        orders,
        receipts,
        till,
        lambda record: receipts.send("receipts", value=till.receipt(record.value)),
    )


@wrong(
    1,
    "has the key alice 1, but the order had the key alice",
    "has the key bob 1, but the order had the key bob",
)
def takes_the_order_for_the_key(orders, receipts, till):
    def send(record):
        receipts.send("receipts", key=record.value, value=till.receipt(record.value))

    sending(orders, receipts, till, send)


@wrong(1, "there is a receipt that the till never gave")
def writes_receipts_of_its_own(orders, receipts, till):
    def send(record):
        receipts.send(
            "receipts", key=record.key, value=f"receipt of {record.value.decode()}"
        )

    sending(orders, receipts, till, send)


@wrong(1, "but the group has a lag of")
def counts_instead_of_taking_the_offset(orders, receipts, till):
    def done(batch):
        return {
            partition: OffsetAndMetadata(len(records), "")
            for partition, records in batch.items()
        }

    def send(record):
        receipts.send("receipts", key=record.key, value=till.receipt(record.value))

    sending(orders, receipts, till, send, done)


@wrong(1, "but the group has a lag of")
def commits_the_batchs_last_partition_only(orders, receipts, till):
    def done(batch):
        partition, records = list(batch.items())[-1]
        return {partition: OffsetAndMetadata(records[-1].offset + 1, "")}

    def send(record):
        receipts.send("receipts", key=record.key, value=till.receipt(record.value))

    sending(orders, receipts, till, send, done)


@wrong(1, "finds no receipts of order")
def goes_back_in_one_partition(orders, receipts, till):
    def back(batch, orders):
        partition, records = next(iter(batch.items()))
        orders.seek(partition, records[0].offset)

    looped(orders, receipts, till, back=back)


@wrong(1, "finds 2 receipts of order")
def goes_back_to_the_beginning(orders, receipts, till):
    def back(batch, orders):
        for partition in batch:
            orders.seek(partition, 0)

    looped(orders, receipts, till, back=back)


@wrong(1, "finds no receipts of order")
def the_consumer_commits_too_and_first(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            orders.commit()
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
            committed(receipts)
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "an offset between two orders is missing")
def counts_the_records(orders, receipts, till):
    """As if offsets had no gaps."""
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)
            continue
        done = {}
        for partition, records in batch.items():
            done[partition] = OffsetAndMetadata(records[0].offset + len(records), "")
        receipts.send_offsets_to_transaction(done, orders.group_metadata())
        committed(receipts)


def meets(orders, receipts, till, met):
    """met: what it does after an error, with the batch."""
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
            committed(receipts)
        except Exception as error:
            if met(error) == "raise":
                raise
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "the program has ended with IllegalStateError")
def aborts_whatever_it_was(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
            receipts.commit_transaction()
        except Exception:
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "the program has ended with KafkaTimeoutError")
def a_time_out_is_the_end(orders, receipts, till):
    receipts.init_transactions()
    for batch in batches(orders):
        receipts.begin_transaction()
        try:
            give(batch, receipts, till)
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
            receipts.commit_transaction()
        except TillBusy:
            receipts.abort_transaction()
            rewind(batch, orders)


@wrong(1, "it was fenced, but it goes on")
def fenced_and_polls_on(orders, receipts, till):
    try:
        meets(orders, receipts, till, lambda error: "abort")
    except KafkaError:
        while True:
            orders.poll(timeout_ms=1000)


@wrong(1, "it would try forever", "is too large, and the program goes on")
def tries_what_is_too_large_again(orders, receipts, till):
    def met(error):
        fenced = isinstance(error, KafkaError) and "FENCED" in error.error.name
        return "raise" if fenced else "abort"

    meets(orders, receipts, till, met)


@right(1)
def by_the_errors_names(orders, receipts, till):
    def met(error):
        name = error.error.name if isinstance(error, KafkaError) else ""
        ends = name in (
            "PRODUCER_FENCED",
            "INVALID_PRODUCER_EPOCH",
            "MESSAGE_TOO_LARGE",
        )
        return "raise" if ends else "abort"

    meets(orders, receipts, till, met)


@right(1)
def aborts_and_returns(orders, receipts, till):
    def met(error):
        if isinstance(error, TillBusy):
            return "abort"
        if error.error.name == "MESSAGE_TOO_LARGE":
            receipts.abort_transaction()
        return "raise"

    try:
        meets(orders, receipts, till, met)
    except KafkaError:
        return
