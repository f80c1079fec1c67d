"""A consumer of orders as JSON, for kafka-python 3.0: it pays each order once.

    python consumer_kafka_python.py localhost:9092 shop.db

Each partition has a worker, a thread that pays its orders one after the other, so
polling goes on while the work is slow. What a worker can't pay goes to a retry topic,
and after the last attempt to a dead letter topic. SIGTERM ends it with exit code 0.
"""

import json
import logging
import queue
import re
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, fields

from kafka import AsyncConsumerRebalanceListener, KafkaConsumer, KafkaProducer
from kafka.errors import (
    CommitFailedError,
    KafkaError,
    MessageSizeTooLargeError,
    RebalanceInProgressError,
    RetriableError,
)
from kafka.structs import OffsetAndMetadata

log = logging.getLogger("consumer")

TOPIC, RETRY, DEAD = "orders", "orders-retry", "orders-dead"
MAX_ATTEMPTS = 3
RETRY_AFTER_S = 60
MAX_WAITING = 200  # records of a partition that wait for its worker, before it pauses
LOCKED_S = 60  # how long a payment waits for a database that is locked
GRACE_S = 20  # for the records in hand: Kubernetes sends SIGKILL 30 s after SIGTERM

SETTINGS = {
    "group_id": "billing",
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    # All that a fetch brings, 1 MB a partition: kafka-python 3.0 may never return the
    # rest of a batch that poll has cut and that is paused then.
    "max_poll_records": 1_000_000,
    "bootstrap_timeout_ms": 10_000,
}
HANDING_ON = {
    "acks": "all",
    # In kafka-python 3.0 an idempotent producer fails for good once a broker has found
    # one record too large. And a copy that is written twice is still paid once.
    "enable_idempotence": False,
    "compression_type": "gzip",
}

TABLES = """
CREATE TABLE IF NOT EXISTS
    payments (number TEXT PRIMARY KEY, customer TEXT, cents INTEGER);
CREATE TABLE IF NOT EXISTS
    mails (number TEXT, customer TEXT);
"""


@dataclass(frozen=True)
class Order:
    number: str
    customer: str
    cents: int

    def __post_init__(self):
        for name in (self.number, self.customer):
            if not re.fullmatch(r"[\w.-]{1,64}", name, re.ASCII):
                raise ValueError(f"not a number or customer: {name[:64]!r}")
        if type(self.cents) is not int or not 0 < self.cents < 10**12:
            raise ValueError(f"not an amount: {self.cents!r:.64}")

    @classmethod
    def from_json(cls, text):
        """The order in a text; ValueError if there is none."""
        try:
            found = json.loads(text)
            # Fields that we don't know are fine: the other program may be newer.
            return cls(**{field.name: found[field.name] for field in fields(cls)})
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not an order: {error!r:.200}") from error


def pay_once(database, order):
    """The database refuses a second row, even from another process at that moment."""
    insert = "INSERT INTO payments VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    with database:  # one transaction: all of it, or nothing
        paid = database.execute(insert, (order.number, order.customer, order.cents))
        if paid.rowcount:  # else this order comes again, and is paid already
            mail = (order.number, order.customer)
            database.execute("INSERT INTO mails VALUES (?, ?)", mail)


class Worker:
    """Handles the records of one partition in their order, in a thread of its own."""

    def __init__(self, path, handle, offset):
        self.path, self.handle = path, handle
        self.records = queue.SimpleQueue()
        self.next_offset = self.committed = offset  # the records before it are done
        self.error = None
        self.is_paused = False
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            with closing(sqlite3.connect(self.path, timeout=LOCKED_S)) as database:
                for record in iter(self.records.get, None):
                    if self.stopping.wait(seconds_until_due(record)):
                        return
                    self.handle(database, record)
                    self.next_offset = record.offset + 1
        except Exception as error:  # the main thread raises it
            self.error = error

    def stop(self):
        """Finishes the record in hand; the others will come again."""
        self.stopping.set()
        self.records.put(None)


def seconds_until_due(record):
    if record.topic != RETRY:
        return 0
    return record.timestamp / 1000 + RETRY_AFTER_S - time.time()


def attempt_of(record):
    """Which attempt this is; 1 for records that say nothing about it."""
    text = dict(record.headers).get("attempt") or b""
    return int(text) if text.isdigit() and len(text) < 4 else 1


class Billing(AsyncConsumerRebalanceListener):
    """Polls, hands records to the workers, and commits what they have finished."""

    def __init__(self, bootstrap, path):
        self.path = path
        with closing(sqlite3.connect(path, timeout=LOCKED_S)) as database:
            database.executescript(TABLES)
        self.workers = {}  # partition: its worker, while this member has the partition
        self.producer = KafkaProducer(bootstrap_servers=bootstrap, **HANDING_ON)
        self.consumer = KafkaConsumer(bootstrap_servers=bootstrap, **SETTINGS)
        self.consumer.subscribe([TOPIC, RETRY], listener=self)
        # Metadata first: kafka-python 3.0 joins without it, so that a group's leader
        # assigns nothing, joins again, and may never hear what it is assigned then.
        self.consumer.bootstrap(timeout_ms=10_000, refresh=True)

    def run(self):
        try:
            while not stopping:
                self.poll()
                self.commit()
                self.pause_and_resume()
        finally:
            self.close()

    def poll(self):
        for partition, records in self.consumer.poll(timeout_ms=200).items():
            if partition not in self.workers:
                offset = records[0].offset
                self.workers[partition] = Worker(self.path, self.handle, offset)
            for record in records:
                self.workers[partition].records.put(record)

    def pause_and_resume(self):
        """Polling goes on, but returns nothing from a paused partition."""
        for partition, worker in self.workers.items():
            if worker.error:
                raise worker.error
            waiting = worker.records.qsize()
            if not worker.is_paused and waiting > MAX_WAITING:
                self.consumer.pause(partition)
                worker.is_paused = True
            elif worker.is_paused and waiting < MAX_WAITING / 2:
                self.consumer.resume(partition)
                worker.is_paused = False

    def finished(self):
        """What the workers have finished since the last commit."""
        return {
            partition: OffsetAndMetadata(worker.next_offset, "", -1)
            for partition, worker in self.workers.items()
            if worker.next_offset != worker.committed
        }

    def commit(self):
        """Once per poll, for all that is finished by then."""
        offsets = self.finished()
        try:
            self.consumer.commit(offsets, timeout_ms=5000)
        except CommitFailedError:  # evicted: others have its partitions by now
            log.warning("too late to commit; others will find these orders paid")
        except RebalanceInProgressError:  # the next poll joins, and revokes first
            log.info("will commit once the group has rebalanced")
        except RetriableError as error:  # no answer, or no coordinator at the moment
            log.warning("will commit after the next poll: %r", error)
        else:
            self.has_committed(offsets)

    def has_committed(self, offsets):
        for partition, offset in offsets.items():
            self.workers[partition].committed = offset.offset

    async def on_partitions_revoked(self, revoked):
        """Before others get these partitions: commit what is finished of them."""
        # Runs in kafka-python's own thread, where consumer.commit() would raise.
        offsets = self.finished()
        try:
            await self.consumer.commit_async(offsets)
            self.has_committed(offsets)
        except KafkaError as error:
            log.warning("not committed before a rebalance: %r", error)
        self.let_go(revoked)

    async def on_partitions_lost(self, lost):
        """Others have these partitions already: nothing to commit."""
        self.let_go(lost)

    async def on_partitions_assigned(self, assigned):
        log.info("assigned: %s", sorted(assigned))

    def let_go(self, partitions):
        for partition in partitions:
            if partition not in self.workers:
                continue
            worker = self.workers.pop(partition)
            worker.stop()
            # The rebalance may give it back to us. kafka-python 3.0 then fetches from
            # where it was, behind the records that the worker hasn't handled.
            if partition in self.consumer.assignment():
                self.consumer.seek(partition, worker.committed)
                self.consumer.resume(partition)

    def handle(self, database, record):
        """In a worker's thread."""
        try:
            pay_once(database, Order.from_json(record.value))
        except sqlite3.OperationalError:  # locked, disk full: not this record's fault
            raise
        except Exception as error:
            self.hand_on(record, error)

    def hand_on(self, record, error):
        """To the retry topic; after the last attempt, to the dead letters."""
        attempt = attempt_of(record)
        # What is no order today is none tomorrow.
        is_dead = isinstance(error, ValueError) or attempt >= MAX_ATTEMPTS
        topic, number = (DEAD, attempt) if is_dead else (RETRY, attempt + 1)
        place = f"{record.topic}-{record.partition}@{record.offset}"
        log.warning("%s goes to %s: %r", place, topic, error)
        headers = {name: value or b"" for name, value in record.headers}
        told = {
            "attempt": str(number).encode(),
            "error": repr(error)[:200].encode(),
            "from": (headers.get("from") or place.encode())[:200],  # its first place
        }
        try:
            self.write(topic, record.key, record.value or b"", headers | told)
        except MessageSizeTooLargeError:  # with these headers: say where it is
            self.write(DEAD, None, b"", told)

    def write(self, topic, key, value, headers):
        """Returns when Kafka has it: only then may the record's offset be committed."""
        sent = self.producer.send(
            topic, key=key, value=value, headers=list(headers.items())
        )
        sent.get(timeout=130)

    def close(self):
        """Each worker finishes the record in hand; then commit, and leave the group."""
        deadline = time.monotonic() + GRACE_S
        for worker in self.workers.values():
            worker.stop()
        for worker in self.workers.values():
            worker.thread.join(max(0, deadline - time.monotonic()))
        self.commit()
        self.consumer.close(timeout_ms=5000)


stopping = False


def stop(signum, frame):
    """Only sets a flag: an exception raised here could surface anywhere."""
    global stopping
    stopping = True


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("kafka").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    Billing(*sys.argv[1:]).run()
