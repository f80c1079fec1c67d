"""Transactions one after the other, 100 records each, over three partitions with three
copies: a producer that writes, commits, and goes on. What counts is how soon a commit
is answered, and how soon the next transaction may begin.
"""

import time

from confluent_kafka import Producer

from tests.bench import measures, nodes

RECORDS, SIZE, PARTITIONS = 100, 100, 3


def measure(results, clusters, rounds, scale, turns):
    """clusters: name -> one that runs. The first round warms up."""
    count = int(600 * scale)
    for number in range(-1, rounds):
        print(
            f"work, round {number + 1} of {rounds}" if number >= 0 else "warming up",
            flush=True,
        )
        for name in turns(number, results.names):
            bootstrap = clusters[name].bootstrap
            topic = measures.new_topic(
                bootstrap, partitions=PARTITIONS, **nodes.REPLICATED
            )
            before = measures.processor_seconds(clusters[name])
            seconds = transactions(bootstrap, topic, count)
            spent = measures.processor_seconds(clusters[name]) - before
            measures.delete_topic(bootstrap, topic)
            if number >= 0:
                results.add(
                    f"transactions of {RECORDS} records",
                    "records/s",
                    True,
                    name,
                    RECORDS * count / seconds,
                )
                results.add("a transaction", "ms", False, name, 1000 * seconds / count)
                results.add(
                    "a transaction, brokers", "ms", False, name, 1000 * spent / count
                )


def transactions(bootstrap, topic, count):
    """Seconds from the first one's begin to the last one's commit."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": topic,
            "linger.ms": 0,
            **measures.QUIET,
        }
    )
    producer.init_transactions(60)
    producer.list_topics(topic, timeout=30)
    value = bytes(SIZE)
    began = time.perf_counter()
    for _ in range(count):
        producer.begin_transaction()
        for number in range(RECORDS):
            producer.produce(topic, value, partition=number % PARTITIONS)
        producer.commit_transaction(60)
    return time.perf_counter() - began
