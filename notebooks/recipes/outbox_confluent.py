"""An outbox and its relay, for confluent-kafka 2.16: each order reaches Kafka.

    python outbox_confluent.py localhost:9092 shop.db

The shop calls place(): one transaction of its own database writes the order and a row
of the table outbox. This program, the relay, sends the rows in their order, and deletes
what Kafka has. If it is killed in between, rows are sent again: consumers pay an order's
number only once.

Run one relay. A second one fences the first by its transactional.id, so a relay that
stood still and wakes up can write nothing: it ends with an error. Rows that Kafka
refuses stay in the table, with the reason: have an alert for them.
"""

import json
import logging
import signal
import sqlite3
import sys
import time
from contextlib import closing

from confluent_kafka import KafkaError, KafkaException, Producer

log = logging.getLogger("relay")

TOPIC = "orders"
BATCH = 100  # rows in one transaction of Kafka
IDLE_S = 0.2  # how long it waits when there is no row
ANSWER_S = 8  # how long it waits for an answer before it asks again
LOCKED_S = 60  # how long it waits for a database that is locked

SETTINGS = {
    "client.id": "shop-outbox",
    "transactional.id": "shop-outbox",  # the newer relay fences the older one
    # then the broker aborts what a dead relay began
    "transaction.timeout.ms": 60_000,
    "delivery.timeout.ms": 60_000,
    "compression.type": "gzip",
    # the client goes on by itself
    "error_cb": lambda error: log.warning("client: %s", error),
}

# What Kafka refuses today it refuses tomorrow.
REFUSED = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD}

TABLES = """
CREATE TABLE IF NOT EXISTS
    orders (number TEXT PRIMARY KEY, customer TEXT, cents INTEGER);
CREATE TABLE IF NOT EXISTS
    outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, value TEXT, refused TEXT);
"""


def place(database, number, customer, cents):
    """The order and its record: the database has both, or neither."""
    order = {"number": number, "customer": customer, "cents": cents}
    with database:  # one transaction
        row = (number, customer, cents)
        database.execute("INSERT INTO orders VALUES (?, ?, ?)", row)
        record = (customer, json.dumps(order))
        database.execute("INSERT INTO outbox (key, value) VALUES (?, ?)", record)


class Relay:
    """Sends the rows of the outbox, a transaction of Kafka for each batch of them."""

    def __init__(self, bootstrap, database):
        self.database = database
        self.producer = Producer({"bootstrap.servers": bootstrap, **SETTINGS})
        self.alone = 0  # how many rows to send one by one, to find a refused one

    def run(self):
        try:
            answered(self.producer.init_transactions)  # fences an older relay
            while not stopping:
                rows = self.waiting()
                if rows:
                    self.relay(rows)
                else:
                    time.sleep(IDLE_S)
        except KafkaException as exception:
            if not (stopping and exception.args[0].retriable()):
                raise
            log.warning("stopped without an answer; the next relay sends these again")

    def waiting(self):
        """Not the ids above the last one: a smaller id may be committed later."""
        select = "SELECT id, key, value FROM outbox WHERE refused IS NULL ORDER BY id"
        limit = 1 if self.alone else BATCH
        return self.database.execute(f"{select} LIMIT {limit}").fetchall()

    def relay(self, rows):
        error = self.send(rows)
        self.alone = max(self.alone - 1, 0)
        if error is None:
            self.settle("DELETE FROM outbox WHERE id = ?", [row[:1] for row in rows])
        elif error.code() not in REFUSED:
            log.warning("will send again: %s", error)
        elif len(rows) > 1:
            self.alone = len(rows)
        else:
            log.error("outbox row %d is refused: %s", rows[0][0], error)
            row = (error.str(), rows[0][0])
            self.settle("UPDATE outbox SET refused = ? WHERE id = ?", [row])

    def settle(self, statement, rows):
        with self.database:
            self.database.executemany(statement, rows)

    def send(self, rows):
        """None if Kafka has them all, else why it has none."""
        self.producer.begin_transaction()
        try:
            for number, key, value in rows:
                self.producer.produce(
                    TOPIC,
                    key=key.encode(),
                    value=value.encode(),
                    headers=[("outbox-id", str(number)), ("attempt", "1")],
                )
            answered(self.producer.commit_transaction)  # sends what is left, too
        except KafkaException as exception:
            error = exception.args[0]
            if error.fatal() or error.retriable():  # fenced, or stopped meanwhile
                raise
            answered(self.producer.abort_transaction)
            return error
        return None


def answered(call):
    """Calls until there is an answer. Once stopping, it doesn't ask again."""
    while True:
        try:
            return call(ANSWER_S)
        except KafkaException as exception:
            if stopping or not exception.args[0].retriable():
                raise
            log.warning("no answer yet: %s", exception.args[0])


stopping = False


def stop(signum, frame):
    """Only sets a flag: an exception raised here could surface anywhere."""
    global stopping
    stopping = True


def main(bootstrap, path):
    with closing(sqlite3.connect(path, timeout=LOCKED_S)) as database:
        database.executescript(TABLES)
        Relay(bootstrap, database).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    sys.exit(main(*sys.argv[1:]))
