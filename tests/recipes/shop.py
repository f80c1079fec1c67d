"""A shop whose orders a recipe sends or pays, on topics and a database of its own, and
what must hold of it whatever happened.
"""

import ast
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from minikafka.course.places import NOTEBOOKS
from tests.clients.brokers import fresh_name

ROOT = Path(__file__).parents[2]
RECIPES = NOTEBOOKS / "recipes"
OLD_MEMBER = Path(__file__).with_name("old_member.py")
PARTITIONS = 2
CUSTOMERS = ("alice", "bob", "carol")
SESSION_MS, POLL_MS = 2000, 3000
STOPS_IN_S = 30  # Kubernetes' grace
PATIENCE_MS = 240_000  # of this shop's own clients, on a busy machine
REFUSE = """
CREATE TRIGGER refuse BEFORE INSERT ON payments WHEN NEW.customer = 'refused'
BEGIN SELECT RAISE(ABORT, 'over the limit'); END
"""
MALFORMED = (b"{", b"\xff", None, b"[]", b'{"number": 7, "customer": "a", "cents": 1}')


def lines_of(path):
    """The lines of a recipe's functions: the places where a signal may strike."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
            found |= {each.lineno for each in body if each is not function}
    return sorted(found)


class Shop:
    """recipe: the file's name without its ending. folder: for the database and logs."""

    def __init__(self, recipe, bootstrap, folder):
        self.path = (
            OLD_MEMBER if recipe == OLD_MEMBER.stem else RECIPES / f"{recipe}.py"
        )
        self.is_confluent = "confluent" in recipe
        self.is_producer, self.is_relay = "producer" in recipe, "outbox" in recipe
        self.bootstrap, self.folder = bootstrap, folder
        self.orders, self.retry, self.dead = (
            fresh_name(what) for what in ("orders", "orders-retry", "orders-dead")
        )
        self.database, self.journal = folder / "shop.db", folder / "journal"
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self.reader = KafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed"
        )
        self.producer = KafkaProducer(bootstrap_servers=bootstrap)
        self.processes = []
        self.sent = []  # the numbers of good orders, by customer in this order
        self.malformed = self.refused = 0
        for topic, count in (
            (self.orders, PARTITIONS),
            (self.retry, 1),
            (self.dead, 1),
        ):
            self.make(topic, count)

    def make(self, topic, partitions, configs=None):
        about = {"num_partitions": partitions, "replication_factor": 1}
        self.admin.create_topics(
            {topic: about | ({"configs": configs} if configs else {})}
        )
        self.admin.wait_for_topics([topic], PATIENCE_MS)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.wait()
        for client in (self.admin, self.reader, self.producer):
            client.close()

    # --- the recipe in its process ------------------------------------------------

    def constants(self):
        """As at work, but with topics of this shop, and short of patience: a partition
        pauses when a few records of it wait.
        """
        if self.is_producer:
            return {"TOPIC": self.orders, "SETTINGS": {}}
        if self.is_relay:
            names = {"transactional.id": self.orders, "client.id": self.orders}
            return {"TOPIC": self.orders, "SETTINGS": names, "BATCH": 5}
        names = {
            "group_id": self.orders,
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": 400,
            "max_poll_interval_ms": POLL_MS,
        }
        if self.is_confluent:
            names = {name.replace("_", "."): value for name, value in names.items()}
        found = {"TOPIC": self.orders, "SETTINGS": names}
        if self.path is OLD_MEMBER:
            return found
        topics = {"RETRY": self.retry, "DEAD": self.dead}
        return found | topics | {"RETRY_AFTER_S": 0.2, "MAX_WAITING": 3}

    def start(self, arguments=(), line=None, number="SIGKILL", changes=None, at=None):
        """A process of the recipe, which sends itself the signal at that line."""
        constants = self.constants()
        for name, value in (changes or {}).items():
            is_table = isinstance(value, dict)
            constants[name] = constants.get(name, {}) | value if is_table else value
        plan = {
            "constants": constants,
            "journal": str(self.journal),
            "line": line,
            "signal": number,
        }
        arguments = arguments or [str(self.database)]
        address = at or self.bootstrap
        command = [sys.executable, "-m", "tests.recipes.child", str(self.path)]
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                [*command, json.dumps(plan), address, *arguments],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def stop(self, process):
        """SIGTERM: it has half a minute, and ends with exit code 0."""
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPS_IN_S) == 0, self.said()

    def said(self):
        return (self.folder / "log").read_text(errors="replace")[-6000:]

    def journalled(self):
        if not self.journal.exists():
            return []
        return self.journal.read_text().splitlines()

    # --- orders -------------------------------------------------------------------

    def sell(self, count=6, poison=True):
        """Puts orders into the topic; with poison, one that is no order and one that
        the database refuses.
        """
        for _ in range(count):
            number, customer = self.next_number(), CUSTOMERS[len(self.sent) % 3]
            self.sent.append(number)
            self.write(number, customer)
        if poison:
            self.write(f"refused-{self.refused}", "refused")
            self.refused += 1
            value = MALFORMED[self.malformed % len(MALFORMED)]
            self.producer.send(self.orders, key=b"%d" % self.malformed, value=value)
            self.malformed += 1
        self.producer.flush()

    def next_number(self):
        return f"o-{len(self.sent):04}"

    def write(self, number, customer):
        order = {"number": number, "customer": customer, "cents": 2000}
        value = json.dumps(order).encode()
        self.producer.send(self.orders, key=customer.encode(), value=value)

    def prepare(self, tables):
        """The database, with a rule that refuses a customer."""
        with closing(sqlite3.connect(self.database)) as database:
            database.executescript(tables + REFUSE)

    def rows(self, question):
        with closing(sqlite3.connect(self.database, timeout=60)) as database:
            return database.execute(question).fetchall()

    def lag(self):
        """How many records of the orders and of the retries are not committed."""
        done = self.admin.list_group_offsets(self.orders)[self.orders]
        partitions = [TopicPartition(self.orders, each) for each in range(PARTITIONS)]
        partitions.append(TopicPartition(self.retry, 0))
        ends = self.reader.end_offsets(partitions)
        return sum(
            end - (done[each].offset if each in done else 0)
            for each, end in ends.items()
        )

    def has_members(self, count):
        group = self.admin.describe_groups([self.orders])[self.orders]
        is_stable = group["group_state"] == "Stable"
        return is_stable and len(group["members"]) == count

    def is_done(self):
        try:
            return self.lag() == 0
        except KafkaError:  # while the broker is away
            return False

    def records(self, topic):
        count = PARTITIONS if topic == self.orders else 1
        partitions = [TopicPartition(topic, each) for each in range(count)]
        self.reader.assign(partitions)
        self.reader.seek_to_beginning(*partitions)
        ends, found = self.reader.end_offsets(partitions, PATIENCE_MS), []
        while any(self.reader.position(each) < end for each, end in ends.items()):
            for each in self.reader.poll(1000).values():
                found += each
        return found

    # --- what must hold -----------------------------------------------------------

    def check_payments(self):
        """Each order paid once, with its mail; a customer's in order; the poison with
        the dead letters, its attempts counted; nothing left. Says it in a sentence.
        """
        paid = [number for (number,) in self.rows("SELECT number FROM payments")]
        mailed = [number for (number,) in self.rows("SELECT number FROM mails")]
        assert Counter(paid) == Counter(self.sent), twice_or_never(paid, self.sent)
        assert Counter(mailed) == Counter(self.sent), twice_or_never(mailed, self.sent)
        question = "SELECT customer, number FROM payments ORDER BY rowid"
        by_customer = self.rows(question)
        for customer in CUSTOMERS:
            numbers = [number for who, number in by_customer if who == customer]
            assert numbers == sorted(numbers), numbers
        assert self.lag() == 0
        again = self.handled_again()
        dead = self.check_dead_letters()
        sentence = f"{len(paid)} orders paid once"
        if again:
            sentence += f", though {len(again)} came again ({again[0]}, for one)"
        return f"{sentence}; {dead}" if dead else sentence

    def handled_again(self):
        """Good orders that were handled more than once."""
        tried = Counter(self.journalled())
        return [number for number in self.sent if tried[number] > 1]

    def check_dead_letters(self):
        refused, malformed = set(), set()
        for record in self.records(self.dead):
            attempt = dict(record.headers)["attempt"]
            if record.key == b"refused":
                assert attempt == b"3", record
                refused.add(json.loads(record.value)["number"])
            else:
                assert attempt == b"1", record
                malformed.add(record.key)
        assert refused == {f"refused-{each}" for each in range(self.refused)}
        assert malformed == {b"%d" % each for each in range(self.malformed)}
        if not refused:
            return ""
        return f"{len(refused)} refused dead after 3 attempts, {len(malformed)} malformed after 1"

    def check_sent(self):
        """What was acknowledged is in the log, in its customer's order."""
        answers = [line.split() for line in self.journalled()]
        acknowledged = [number for what, number in answers if what == "acknowledged"]
        failed = [number for what, number in answers if what == "failed"]
        written = Counter()
        by_customer = {}
        for record in self.records(self.orders):
            order = json.loads(record.value)
            written[order["number"]] += 1
            by_customer.setdefault(order["customer"], []).append(order["number"])
        lost = [number for number in acknowledged if not written[number]]
        assert not lost, f"acknowledged and not written: {lost}"
        assert max(written.values(), default=1) == 1, written.most_common(3)
        for numbers in by_customer.values():
            assert numbers == sorted(numbers), numbers
        sentence = f"{len(acknowledged)} acknowledged, each is there once and in order"
        unknown = written.total() - len(acknowledged)
        if failed:
            sentence += f"; {len(failed)} failed by name"
        return f"{sentence}; {unknown} more without an answer" if unknown else sentence

    def check_relayed(self):
        """Each order of the database is in the log, none that it rolled back is; each
        customer's orders came first in their order; only refused rows are left.
        """
        placed = self.rows("SELECT number, customer FROM orders ORDER BY rowid")
        left = self.rows("SELECT refused FROM outbox")
        assert len(left) == self.refused and all(why for (why,) in left), left
        sent = Counter()
        for record in self.records(self.orders):
            order = json.loads(record.value)
            if not sent[order["number"]]:
                assert record.key == order["customer"].encode(), record
                wanted = next(n for n, who in placed if who == order["customer"])
                assert order["number"] == wanted, (order, wanted)
                placed.remove((order["number"], order["customer"]))
            sent[order["number"]] += 1
        assert len(placed) == self.refused, placed
        sentence = f"{len(sent)} orders in Kafka and in order"
        again = [number for number, count in sent.items() if count > 1]
        if again:
            sentence += f"; {len(again)} came again ({again[0]}, for one)"
        return f"{sentence}; {len(left)} refused, with the reason" if left else sentence


def twice_or_never(found, wanted):
    found, wanted = Counter(found), Counter(wanted)
    return f"twice: {list(found - wanted)}, never: {list(wanted - found)}"


def stands_still(process):
    return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED


def has_ended(process):
    return process.poll() is not None
