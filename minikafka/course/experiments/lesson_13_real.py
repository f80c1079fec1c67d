"""Lesson 13's real transactions: a broker over TCP, a kafka-python producer, and two of
its consumers.
"""

from typing import Any

from minikafka.server.embedded import Served

TOPIC = "payments"


def commit_and_abort() -> None:
    """One transaction is aborted, one is committed. Prints what a reader of either kind
    is handed.
    """
    from kafka import KafkaAdminClient, KafkaProducer
    from kafka.admin import NewTopic

    with Served() as served:
        admin = KafkaAdminClient(bootstrap_servers=served.bootstrap)
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
        shop = KafkaProducer(bootstrap_servers=served.bootstrap, transactional_id="pay")
        shop.init_transactions()
        for value, end in (
            (b"20 euros", shop.abort_transaction),
            (b"30 euros", shop.commit_transaction),
        ):
            shop.begin_transaction()
            shop.send(TOPIC, value)
            shop.flush()
            end()
        for level in ("read_uncommitted", "read_committed"):
            print(f"{level:16}  {'  '.join(read(served.bootstrap, level))}")
        shop.close()
        admin.close()


def read(bootstrap: str, level: str) -> list[str]:
    """Offset and value of each record, up to the end that this reader has."""
    from kafka import KafkaConsumer, TopicPartition

    partition = TopicPartition(TOPIC, 0)
    consumer: Any = KafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level=level
    )
    consumer.assign([partition])
    end, found = consumer.end_offsets([partition])[partition], []
    while consumer.position(partition) < end:
        for records in consumer.poll(timeout_ms=500).values():
            found += [f"{record.offset}: {record.value.decode()}" for record in records]
    consumer.close()
    return found
