"""A word count as Kafka Streams would run it, over a plain consumer and a plain
producer: state in memory, its changelog, a repartition topic, restore.

Kafka Streams' names: APPLICATION-NAME-repartition, APPLICATION-NAME-changelog. `kafka`
makes clients with kafka-python's names, on whatever cluster: in the simulation
lesson_21_word_counts.py, over TCP the tests.
"""

from collections.abc import Callable
from typing import Any

LINES = "lines"
WORDS = "word-count-words-repartition"
CHANGELOG = "word-count-words-changelog"


class WordCount:
    """One instance of the application that counts words."""

    def __init__(self, kafka: Any) -> None:
        self.kafka = kafka
        # of each partition of the words that it has: word -> count
        self.tables: dict[int, dict[str, int]] = {}
        self.restored = 0  # how many records it has read for that
        self.producer = kafka.producer()
        self.consumer = kafka.consumer()
        self.consumer.subscribe([LINES, WORDS], listener=self)

    def on_partitions_assigned(self, partitions: Any) -> None:
        """A table is its changelog, read to the end."""
        for topic, partition in partitions:
            if topic == WORDS:
                table = self.tables[partition] = {}
                for record in self.kafka.all_records(CHANGELOG, partition):
                    table[record.key.decode()] = int(record.value)
                    self.restored += 1

    def on_partitions_revoked(self, partitions: Any) -> None:
        """The next owner has the table from here on."""
        for topic, partition in partitions:
            if topic == WORDS:
                self.tables.pop(partition, None)

    def process(self, record: Any) -> None:
        """Send each word of a line on, by its key; count a word that comes back."""
        if record.topic == LINES:
            for word in record.value.decode().split():
                self.producer.send(WORDS, key=word.encode(), value=b"")
            return
        table = self.tables[record.partition]
        word = record.key.decode()
        table[word] = table.get(word, 0) + 1
        count = str(table[word]).encode()
        self.producer.send(CHANGELOG, count, record.key, partition=record.partition)

    def run_once(self, before_commit: Callable[[], None] = lambda: None) -> int:
        """Poll, process the records, commit. Returns how many records there were."""
        polled = self.consumer.poll(timeout_ms=500)
        if not polled:
            return 0
        self.kafka.begin(self.producer)
        count = 0
        for records in polled.values():
            for record in records:
                self.process(record)
                count += 1
        self.producer.flush()
        before_commit()
        self.kafka.commit(self.producer, self.consumer, polled)
        return count
