"""Seeded schedules of trouble for one share group: what happens to whom, when; and
whether the group holds.

A schedule is made from its number alone. Workers accept, release and reject, by the
number that a record holds, or keep it for longer than its lock; brokers and workers
crash, freeze and lose their connections for 40 virtual seconds. Then faults stop, and
all records must be done with.
"""

from contextlib import suppress
from random import Random

from minikafka.anomalies import FINAL, Part, SharedPart, ShareWatch
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.faults import Cut, Lose
from minikafka.wire.errors import KafkaError
from tests.clients_sim.share_groups import GROUP, LOCK_MS, explicit, sharing

STEPS = (
    "freeze a worker",
    "freeze a worker",
    "crash a worker",
    "reset a worker",
    "join",
    "crash a broker",
    "crash a broker",
    "freeze a broker",
)
APIS = ("ShareFetch", "ShareAcknowledge", "ShareGroupHeartbeat")
PARTITIONS, TROUBLE_MS, SETTLE_S = 2, 40_000, 120


class Schedule:
    """2 or 3 workers on 3 brokers, and 3 to 7 things that happen to them. steps: given,
    for a story of its own.
    """

    def __init__(self, number, steps=None):
        self.number = number
        self.random = Random(f"share schedule {number}")
        self.workers = self.whole(2, 3)
        self.faults = [self.fault() for _ in range(self.whole(0, 2))]
        made = [
            (self.whole(6_000, TROUBLE_MS), *self.step())
            for _ in range(self.whole(3, 7))
        ]
        self.steps = sorted(made) if steps is None else steps
        if steps is not None:
            self.faults = []

    def whole(self, lowest, highest):
        return lowest + int(self.random.random() * (highest - lowest + 1))

    def choose(self, options):
        return options[self.whole(0, len(options) - 1)]

    def fault(self):
        name, broker = f"worker {self.whole(1, 2)}", f"broker {self.whole(1, 3)}"
        if self.whole(0, 1):
            at_ms, for_ms = self.whole(6_000, TROUBLE_MS), self.whole(200, 9_000)
            return Cut(name, broker, at_ms=at_ms, for_ms=for_ms)
        is_answer = self.random.random() < 0.5
        nth = self.whole(2, 12)
        return Lose(name, broker, self.choose(APIS), nth=nth, answer=is_answer)

    def step(self):
        """What is done, to the how manieth, for how many ms."""
        return self.choose(STEPS), self.whole(1, 3), self.whole(500, 14_000)

    def __repr__(self):
        head = f"schedule {self.number}: {self.workers} workers"
        told = [f"{at_ms} ms: {step}" for at_ms, *step in self.steps]
        return "\n  ".join([head, *map(repr, self.faults), *told])


class Run:
    """A schedule carried out. problems: what must not be, in words."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.cluster = sharing(
            PARTITIONS, brokers=3, seed=schedule.number, faults=schedule.faults
        )
        self.workers = {}
        self.joined = 0
        self.watch, self.seen, self.problems = ShareWatch(), 0, []
        with self.cluster:
            for _ in range(schedule.workers):
                self.join()
            self.cluster.start(sells, self.cluster)
            self.trouble()
            if not self.settle():
                self.problems.append(f"not settled: {self.undone()}")

    def look(self):
        """Take in what happened since the last look."""
        news = self.cluster.trace[self.seen :]
        self.seen += len(news)
        for event in news:
            for each in self.watch.see(event):
                self.problems.append(f"{each.name} at {each.at} ms: {each.what}")
            if event.kind == "NodeStopped":
                self.problems.append(str(event))

    def join(self):
        self.joined += 1
        name = f"worker {self.joined}"
        worker = explicit(
            self.cluster,
            client_id=name,
            max_poll_records=4,
            request_timeout_ms=5_000,
            max_poll_interval_ms=20_000,
        )
        self.workers[name] = worker
        self.cluster.start(works, self.cluster, worker)

    def trouble(self):
        for at_ms, *step in self.schedule.steps:
            self.cluster.run_ms(max(0, at_ms - self.cluster.now_ms))
            self.look()
            if self.problems:
                return
            self.do(*step)
        self.cluster.run_ms(max(0, TROUBLE_MS + 15_000 - self.cluster.now_ms))
        self.cluster.heal()

    def do(self, what, which, for_ms):
        name = f"worker {which}"
        if what == "join":
            self.join()
        elif what == "freeze a broker":
            self.cluster.freeze(which, seconds=for_ms / 1000)
        elif what == "crash a broker":
            self.cluster.restart(which)
        elif name in self.workers:
            worker = self.workers[name]
            if what == "freeze a worker":
                self.cluster.freeze(worker, seconds=for_ms / 1000)
            elif what == "reset a worker":
                for broker in range(1, 4):
                    self.cluster.reset(worker, broker)
            else:
                del self.workers[name]
                self.cluster.crash(worker)

    def settle(self):
        """Whether all is done with in the end; it is not waited for when something is
        wrong already.
        """

        def is_over():
            return not self.undone() or bool(self.problems)

        self.join()
        with suppress(KafkaTimeoutError):
            self.cluster.run_until(is_over, seconds=SETTLE_S)
        return is_over()

    def undone(self):
        """The partitions with records that nobody has dealt with, and these."""
        self.look()
        left = {}
        for number in range(PARTITIONS):
            _, end_offset = self.cluster.log_offsets("orders", number)
            known = self.watch.parts.get(Part(GROUP, "orders", number), SharedPart())
            states = known.states
            undone = [
                each for each in range(end_offset) if states.get(each) not in FINAL
            ]
            if undone:
                left[number] = undone
        return left


def sells(cluster):
    """40 records, one after the other."""
    producer = cluster.producer(client_id="shop", delivery_timeout_ms=90_000)
    for number in range(40):
        producer.send("orders", value=str(number), partition=number % PARTITIONS)
        cluster.sleep(0.5)
    producer.close()


def works(cluster, worker):
    """Most records are accepted; every fifth is released, every seventh rejected, and
    every eleventh takes longer than its lock.
    """
    while True:
        with suppress(KafkaError):
            for records in worker.poll(timeout_ms=2000).values():
                for record in records:
                    work_on(cluster, worker, record)


def work_on(cluster, worker, record):
    number = int(record.value)
    if number % 11 == 0:
        cluster.sleep((LOCK_MS + 500) / 1000)
    if number % 7 == 0:
        worker.acknowledge(record, "reject")
    elif number % 5 == 0:
        worker.acknowledge(record, "release")
    else:
        worker.acknowledge(record)
