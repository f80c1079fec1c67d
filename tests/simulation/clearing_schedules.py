"""Random minutes in which records go while transactions are written (KIP-98), from a
seed: DeleteRecords (KIP-107) cuts anywhere, also through an open transaction, and the
cleaner works all the time on a compacted topic. Brokers are killed, lose their power,
stop and freeze in the middle of that, and come back.

In the end no replica begins at an offset that nobody asked for, nor below one that was
answered, unless all have ended since: like Apache Kafka, a broker notes only now and
then where its logs begin. Whoever reads committed records gets to the end, finds
each committed record that nobody deleted at its offset and each key's last committed
value, and none that was aborted, though the records where its transaction began, or its
first segments, are gone.
"""

from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from tests.simulation.replication_schedules import ENDS, QUICK, Brokers

ORDERS, PRICES = "orders", "prices"  # deleted from; compacted
BROKERS, WRITERS, KEYS, STEPS = 3, 3, 5, 120
HEALING_S = 40
CONFIGS = QUICK | {
    "log.cleaner.backoff.ms": 100,
    "transaction.state.log.num.partitions": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
}
SMALL = {"internal.segment.bytes": 600, "min.insync.replicas": 2}
COMPACTED = SMALL | {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": 0.01,
    "delete.retention.ms": 1000,
}
KINDS = ("crash", "crash", "silent", "power", "stop", "freeze")
OF_BROKERS, OF_DELETIONS = 0.2, 0.25  # chances of a step
TOPICS = {ORDERS: 1, PRICES: 1, "__transaction_state": 1}
PATIENT = {"max_block_ms": 20_000, "delivery_timeout_ms": 15_000}
IMPATIENT = {"linger_ms": 0, "request_timeout_ms": 1500, "retry_backoff_ms": 50}


class Schedule:
    """A seed: what happens depends on how far the cluster has come, too."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __repr__(self) -> str:
        return f"Schedule({self.seed})"


class Transaction:
    """outcome: "open", "committed", "aborted", or "unclear". sent: topic, key, value
    and future of each record.
    """

    def __init__(self) -> None:
        self.outcome = "open"
        self.sent: list[tuple[str, str, str, Any]] = []

    def written(self, topic: str) -> dict[int, tuple[str, str]]:
        """Of each acknowledged record the offset, key and value."""
        found = {}
        for its_topic, key, value, future in self.sent:
            if its_topic == topic and future.succeeded():
                found[future.get().offset] = (key, value)
        return found


class Run:
    """One schedule. problems: what must not have happened, a sentence each."""

    def __init__(self, schedule: Schedule) -> None:
        self.dice = Random(f"clearing {schedule.seed}")
        self.problems: list[str] = []
        self.transactions: list[Transaction] = []
        self.open: dict[int, Transaction] = {}
        self.sent = 0
        self.asked, self.answered = 0, 0  # offsets to begin at
        self.ended: set[int] = set()  # brokers, since the last answer
        cluster = Cluster(brokers=BROKERS, seed=schedule.seed, configs=CONFIGS)
        self.cluster = cluster
        for topic, configs in ((ORDERS, SMALL), (PRICES, COMPACTED)):
            cluster.create_topic(topic, 1, replication_factor=3, configs=configs)
        self.brokers = Brokers(cluster, TOPICS)
        self.writers: dict[int, Any] = {}
        self.writer(0)  # so that there is a coordinator
        ends: list[tuple[int, str, int]] = []  # step, kind, broker
        for step in range(STEPS):
            for at, kind, one in [each for each in ends if each[0] <= step]:
                ends.remove((at, kind, one))
                self.brokers.strike(kind, one, one)
            chance = self.dice.random()
            if chance < OF_BROKERS and not ends:
                kind, one = self.dice.choice(KINDS), self.dice.randint(1, BROKERS)
                ends.append((step + self.dice.randint(1, 4), ENDS[kind], one))
                self.strike(kind, one)
            elif chance < OF_BROKERS + OF_DELETIONS:
                self.delete()
            else:
                self.write(self.dice.randrange(WRITERS))
            cluster.run_ms(self.dice.randint(1, 400))
        for _, kind, one in ends:
            self.brokers.strike(kind, one, one)
        cluster.run(HEALING_S)
        self.writers.clear()
        for number in range(WRITERS):  # what is still open comes to an end
            self.writer(number)
        cluster.run(HEALING_S)
        self.look()

    def writer(self, number: int) -> Any:
        """The producer of this transactional id; a new one, if the last one met an
        error: what that had open ends. Errors: KafkaError, while nobody answers.
        """
        if number not in self.writers:
            lost = self.open.pop(number, None)
            if lost is not None and lost.outcome == "open":
                lost.outcome = "aborted"
            producer = self.cluster.producer(
                transactional_id=f"writer {number}", **PATIENT, **IMPATIENT
            )
            producer.init_transactions()
            self.writers[number] = producer
        return self.writers[number]

    def write(self, number: int) -> None:
        """Begin a transaction, go on with it, or end it."""
        try:
            producer = self.writer(number)
            transaction = self.open.get(number)
            if transaction is None:
                producer.begin_transaction()
                transaction = self.open[number] = Transaction()
                self.transactions.append(transaction)
            for _ in range(self.dice.randint(1, 4)):
                topic = self.dice.choice((ORDERS, PRICES))
                key = f"key {self.dice.randrange(KEYS)}"
                self.sent += 1
                value = f"{number}-{self.sent}"
                future = producer.send(topic, key=key, value=value)
                transaction.sent.append((topic, key, value, future))
            if self.dice.random() < 0.5:
                return
            if self.dice.random() < 0.4:
                transaction.outcome = "aborted"
                producer.abort_transaction()
            else:
                transaction.outcome = "unclear"
                producer.commit_transaction()
                transaction.outcome = "committed"
            del self.open[number]
        except KafkaError:
            self.writers.pop(number, None)

    def strike(self, kind: str, one: int) -> None:
        self.brokers.strike(kind, one, one)
        if kind != "freeze":
            self.ended.add(one)
        if len(self.ended) == BROKERS:
            self.answered = 0

    def delete(self) -> None:
        try:
            start, end = self.cluster.log_offsets(ORDERS, 0)
            at = self.dice.randint(start, start + (end - start) // 4)
            if self.dice.random() < 0.05:
                at = -1
            self.asked = max(self.asked, end if at < 0 else at)
            low = self.cluster.delete_records(ORDERS, 0, at)
            self.answered = low
            self.ended.clear()
        except KafkaError:
            pass  # nobody leads, or the high watermark is not there yet

    # -- what must hold

    def look(self) -> None:
        brokers = self.cluster.brokers
        down = [node for node, each in brokers.items() if each.state != "up"]
        if down:
            self.problems.append(f"brokers {down} are not back")
            return
        starts = {
            node: each.broker.replicas.find_or_create(ORDERS, 0).log.log_start_offset
            for node, each in brokers.items()
        }
        if (
            not self.answered
            <= min(starts.values())
            <= max(starts.values())
            <= self.asked
        ):
            self.problems.append(
                f"orders begin at {starts}, answered was {self.answered}, and asked for"
                f" {self.asked}"
            )
        start, _ = self.cluster.log_offsets(ORDERS, 0)
        for topic in (ORDERS, PRICES):
            self._look_at(topic, start if topic == ORDERS else 0)

    def _look_at(self, topic: str, start: int) -> None:
        found = self._read(topic)
        last = {key: value for key, value in found.values()}
        newest: dict[str, tuple[int, str]] = {}
        for transaction in self.transactions:
            written = {
                offset: each
                for offset, each in transaction.written(topic).items()
                if offset >= start
            }
            there = {offset for offset in written if offset in found}
            outcome = transaction.outcome
            for offset, (key, value) in written.items():
                if offset in there and found[offset] != (key, value):
                    self.problems.append(
                        f"{topic} {offset} is {found[offset]}, and not {value}"
                    )
                if outcome == "committed" and offset >= newest.get(key, (-1, ""))[0]:
                    newest[key] = offset, value
            if outcome == "aborted" and there:
                self.problems.append(f"{topic} {there} were aborted, and are read")
            is_whole = there in (set(), set(written))
            if topic == ORDERS and not is_whole:
                self.problems.append(f"of {sorted(written)} only {there} are read")
            if topic == ORDERS and outcome == "committed" and there != set(written):
                self.problems.append(f"{sorted(written)} were committed: {there}")
        values = [value for _, value in found.values()]
        if len(set(values)) < len(values):
            self.problems.append(f"{topic} has a record twice")
        if topic == PRICES:
            unclear = {
                value
                for each in self.transactions
                if each.outcome == "unclear"
                for _, _, value, _ in each.sent
            }
            for key, (offset, value) in newest.items():
                if last.get(key) != value and last.get(key) not in unclear:
                    self.problems.append(
                        f"{key} was {value} at {offset}, and is {last.get(key)}"
                    )

    def _read(self, topic: str) -> dict[int, tuple[str, str]]:
        """By offset, key and value of what is read as committed, up to the end."""
        reader = self.cluster.consumer(
            topic, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        _, end = self.cluster.log_offsets(topic, 0)
        found: dict[int, tuple[str, str]] = {}
        [partition] = reader.assignment() or [None]
        for _ in range(100):
            for records in reader.poll(timeout_ms=500).values():
                for each in records:
                    found[each.offset] = each.key.decode(), each.value.decode()
            [partition] = reader.assignment() or [partition]
            if partition is not None and reader.position(partition) >= end:
                return found
        self.problems.append(
            f"who reads committed {topic} gets no further than {found}"
        )
        return found
