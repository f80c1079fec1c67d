"""A consumer of orders as JSON, for confluent-kafka 2.16: it pays each order once.

    python consumer_confluent.py localhost:9092 shop.db

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

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

log = logging.getLogger("consumer")

TOPIC, RETRY, DEAD = "orders", "orders-retry", "orders-dead"
MAX_ATTEMPTS = 3
RETRY_AFTER_S = 60
MAX_WAITING = 200  # records of a partition that wait for its worker, before it pauses
LOCKED_S = 60  # how long a payment waits for a database that is locked
GRACE_S = 20  # for the records in hand: Kubernetes sends SIGKILL 30 s after SIGTERM

SETTINGS = {
    "group.id": "billing",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    # the client goes on by itself
    "error_cb": lambda error: log.warning("client: %s", error),
}
HANDING_ON = {
    "acks": "all",
    "enable.idempotence": True,
    "delivery.timeout.ms": 120_000,
    "compression.type": "gzip",
}

EVICTED = {  # others have the partitions by now
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError.FENCED_MEMBER_EPOCH,
    KafkaError.STALE_MEMBER_EPOCH,
}
NO_ANSWER = {  # or no coordinator at the moment
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
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

    def __init__(self, path, handle):
        self.path, self.handle = path, handle
        self.records = queue.SimpleQueue()
        self.next_offset = self.committed = None  # the records before it are done
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
                    self.next_offset = record.offset() + 1
        except Exception as error:  # the main thread raises it
            self.error = error

    def stop(self):
        """Finishes the record in hand; the others will come again."""
        self.stopping.set()
        self.records.put(None)


def seconds_until_due(record):
    if record.topic() != RETRY:
        return 0
    _, sent_ms = record.timestamp()
    return sent_ms / 1000 + RETRY_AFTER_S - time.time()


def attempt_of(record):
    """Which attempt this is; 1 for records that say nothing about it."""
    text = dict(record.headers() or []).get("attempt") or b""
    return int(text) if text.isdigit() and len(text) < 4 else 1


class Billing:
    """Polls, hands records to the workers, and commits what they have finished."""

    def __init__(self, bootstrap, path):
        self.path = path
        with closing(sqlite3.connect(path, timeout=LOCKED_S)) as database:
            database.executescript(TABLES)
        self.workers = {}  # (topic, partition): its worker, while it is assigned to us
        self.producer = Producer({"bootstrap.servers": bootstrap, **HANDING_ON})
        self.consumer = Consumer({"bootstrap.servers": bootstrap, **SETTINGS})
        self.consumer.subscribe(
            [TOPIC, RETRY],
            on_assign=self.on_assign,
            on_revoke=self.on_revoke,
            on_lost=self.on_lost,
        )

    def run(self):
        try:
            while not stopping:
                self.poll()
                self.commit()
                self.pause_and_resume()
        finally:
            self.close()

    def poll(self):
        for record in self.consumer.consume(100, timeout=0.2):
            error = record.error()
            if error:
                self.on_error(error)
                continue
            partition = record.topic(), record.partition()
            if partition not in self.workers:
                self.workers[partition] = Worker(self.path, self.handle)
            self.workers[partition].records.put(record)

    def on_error(self, error):
        if error.fatal():
            raise KafkaException(error)
        log.warning("poll: %s", error)  # the client goes on by itself

    def pause_and_resume(self):
        """Polling goes on, but returns nothing from a paused partition."""
        for partition, worker in self.workers.items():
            if worker.error:
                raise worker.error
            waiting = worker.records.qsize()
            if not worker.is_paused and waiting > MAX_WAITING:
                self.consumer.pause([TopicPartition(*partition)])
                worker.is_paused = True
            elif worker.is_paused and waiting < MAX_WAITING / 2:
                self.consumer.resume([TopicPartition(*partition)])
                worker.is_paused = False

    def finished(self):
        """What the workers have finished since the last commit."""
        return [
            TopicPartition(*partition, worker.next_offset)
            for partition, worker in self.workers.items()
            if worker.next_offset != worker.committed
        ]

    def commit(self):
        """Once per poll, for all that is finished by then."""
        offsets = self.finished()
        if not offsets:
            return
        try:
            for done in self.consumer.commit(offsets=offsets, asynchronous=False):
                if done.error:
                    raise KafkaException(done.error)
                self.workers[done.topic, done.partition].committed = done.offset
        except KafkaException as exception:
            error = exception.args[0]
            if error.code() in EVICTED:
                log.warning("too late to commit; others will find these orders paid")
            elif error.code() == KafkaError.REBALANCE_IN_PROGRESS:
                log.info("will commit once the group has rebalanced")
            elif error.code() in NO_ANSWER:
                log.warning("will commit after the next poll: %s", error)
            else:
                raise

    def on_assign(self, consumer, partitions):
        log.info("assigned: %s", sorted((p.topic, p.partition) for p in partitions))

    def on_revoke(self, consumer, partitions):
        """Before others get these partitions: commit what is finished of them."""
        self.commit()
        self.let_go(partitions)

    def on_lost(self, consumer, partitions):
        """Others have these partitions already: nothing to commit."""
        self.let_go(partitions)

    def let_go(self, partitions):
        for each in partitions:
            worker = self.workers.pop((each.topic, each.partition), None)
            if worker:
                worker.stop()
                # librdkafka leaves it paused, even if it is assigned to us again.
                self.consumer.resume([each])

    def handle(self, database, record):
        """In a worker's thread."""
        try:
            pay_once(database, Order.from_json(record.value()))
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
        place = f"{record.topic()}-{record.partition()}@{record.offset()}"
        log.warning("%s goes to %s: %r", place, topic, error)
        headers = dict(record.headers() or [])
        told = {
            "attempt": str(number),
            "error": repr(error)[:200],
            "from": (headers.get("from") or place)[:200],  # its first place
        }
        try:
            self.write(topic, record.key(), record.value(), headers | told)
        except KafkaException as exception:
            if exception.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            # With these headers: say where it is.
            self.write(DEAD, None, None, told)

    def write(self, topic, key, value, headers):
        """Returns when Kafka has it: only then may the record's offset be committed."""
        answers = queue.SimpleQueue()
        self.producer.produce(
            topic,
            key=key,
            value=value,
            headers=headers,
            on_delivery=lambda error, _: answers.put(error),
        )
        self.producer.flush(130)
        error = answers.get(timeout=1)
        if error:
            raise KafkaException(error)

    def close(self):
        """Each worker finishes the record in hand; then commit, and leave the group."""
        deadline = time.monotonic() + GRACE_S
        for worker in self.workers.values():
            worker.stop()
        for worker in self.workers.values():
            worker.thread.join(max(0, deadline - time.monotonic()))
        self.commit()
        self.consumer.close()


stopping = False


def stop(signum, frame):
    """Only sets a flag: an exception raised here could surface anywhere."""
    global stopping
    stopping = True


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    Billing(*sys.argv[1:]).run()
