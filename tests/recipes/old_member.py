"""How not to do it, for the tests of the tests: it looks, then adds; its signal handler
ends the program wherever it is.
"""

import json
import sqlite3
import sys
from types import SimpleNamespace

from kafka import KafkaConsumer

TOPIC = "orders"
SETTINGS = {
    "group_id": "billing",
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
}
TABLES = """
CREATE TABLE IF NOT EXISTS payments (number TEXT, customer TEXT, cents INTEGER);
CREATE TABLE IF NOT EXISTS mails (number TEXT, customer TEXT);
"""


def pay_once(database, order):
    look = "SELECT 1 FROM payments WHERE number = ?"
    if not database.execute(look, (order.number,)).fetchone():
        add(database, order)


def add(database, order):
    row = (order.number, order.customer, order.cents)
    database.execute("INSERT INTO payments VALUES (?, ?, ?)", row)
    database.commit()
    database.execute("INSERT INTO mails VALUES (?, ?)", row[:2])
    database.commit()


def stop(signum, frame):
    sys.exit()


class Billing:
    def __init__(self, bootstrap, path):
        self.database = sqlite3.connect(path)
        self.database.executescript(TABLES)
        self.consumer = KafkaConsumer(bootstrap_servers=bootstrap, **SETTINGS)
        # as in the recipe: metadata first, or the group's leader may assign nothing
        self.consumer.partitions_for_topic(TOPIC)
        self.consumer.subscribe([TOPIC])

    def run(self):
        try:
            while True:
                for records in self.consumer.poll(timeout_ms=200).values():
                    for record in records:
                        pay_once(
                            self.database, SimpleNamespace(**json.loads(record.value))
                        )
                    self.consumer.commit()
        finally:
            self.consumer.close(timeout_ms=5000)
