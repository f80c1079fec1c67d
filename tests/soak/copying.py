"""The copier that tests.soak.copier kills: reads numbers, squares them, writes them,
all in transactions.

`python -m tests.soak.copying BOOTSTRAP` copies from one topic to the other for ever,
partition by partition. How far it has read, as offsets of its group, belongs to the
transaction in which it writes. When a transaction can't be committed it takes it back
and reads again from what is committed; when it has been fenced or may not go on, it
ends.
"""

import sys
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

SOURCE, TARGET, GROUP = "numbers", "squares", "copier"
BATCH, POLL_S, PATIENCE_S = 100, 0.2, 60
RECONNECT = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    "log_level": 0,
}


def copied(value: bytes) -> bytes:
    """The value that the copier writes for a value it has read."""
    number = int(value)
    return b"%d squared is %d" % (number, number * number)


def copy_once(consumer: Consumer, producer: Producer, messages: list[Message]) -> None:
    """One transaction: outputs, and how far the input is read."""
    producer.begin_transaction()
    for message in messages:
        value, partition = message.value(), message.partition()
        assert value is not None and partition is not None
        producer.produce(TARGET, copied(value), partition=partition)
    places = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(
        places, consumer.consumer_group_metadata(), PATIENCE_S
    )
    producer.commit_transaction(PATIENCE_S)


def rewind(consumer: Consumer) -> None:
    """Back to what is committed, or to the beginning."""
    for place in consumer.committed(consumer.assignment(), PATIENCE_S):
        consumer.seek(
            TopicPartition(place.topic, place.partition, max(place.offset, 0))
        )


def main(bootstrap: str) -> None:
    common = {"bootstrap.servers": bootstrap, **RECONNECT}
    # A static member (KIP-345): after a death the group needs no rebalance, and waits
    # for no session to end.
    membership = {
        "group.id": GROUP,
        "group.instance.id": "the-copier",
        "session.timeout.ms": 30_000,
    }
    reading = {
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(common | membership | reading)
    producer = Producer(
        common
        | {
            "transactional.id": GROUP,
            "transaction.timeout.ms": 60_000,
            "linger.ms": 1,
        }
    )
    producer.init_transactions(PATIENCE_S)
    consumer.subscribe([SOURCE])
    while True:
        messages = [
            message
            for message in consumer.consume(BATCH, POLL_S)
            if message.error() is None
        ]
        if not messages:
            continue
        try:
            copy_once(consumer, producer, messages)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            producer.abort_transaction(PATIENCE_S)
            rewind(consumer)


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):
        main(sys.argv[1])
