"""Seeded schedules of trouble for one consumer group: what happens to whom, when; and
whether the group holds.

A schedule is made from its number alone. It lasts 40 virtual seconds of trouble; then
faults stop, and the group must settle: every partition read by exactly one of the
living members.
"""

from contextlib import suppress
from random import Random

from minikafka import Cluster
from minikafka.anomalies import group_anomalies
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.faults import Cut, Delay, Lose
from minikafka.wire.errors import KafkaError

PROTOCOLS = ("range", "roundrobin", "sticky", "cooperative-sticky", "consumer")
BROKER = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.heartbeat.interval.ms": 2000,
}
STEPS = (
    "freeze",
    "freeze",
    "freeze as it joins",
    "freeze as it joins",
    "crash",
    "crash and restart",
    "leave",
    "join",
    "join",
    "restart the broker",
)
TROUBLE_MS = 40_000
SETTLE_S = 120


class Schedule:
    """A group of 2 to 4 members on 2 to 7 partitions, and 3 to 8 things that happen to
    it.
    """

    def __init__(self, number):
        self.number = number
        self.random = Random(f"group schedule {number}")
        self.protocol = PROTOCOLS[number % len(PROTOCOLS)]
        self.members = self.whole(2, 4)
        self.partitions = self.whole(2, 7)
        # A static member of a consumer group whose join answer is lost is refused until
        # its session ends, and fatally so (UNRELEASED_INSTANCE_ID, as in Apache Kafka):
        # its process must be started again, which is another story.
        self.static = self.whole(0, 2) == 0 and self.protocol != "consumer"
        names = [f"consumer {n}" for n in range(1, self.members + 1)]
        self.faults = [self.fault(names) for _ in range(self.whole(1, 3))]
        self.steps = sorted(
            (self.whole(3_000, TROUBLE_MS), self.step(names))
            for _ in range(self.whole(3, 6))
        )

    def whole(self, lowest, highest):
        return lowest + int(self.random.random() * (highest - lowest + 1))

    def choose(self, options):
        return options[self.whole(0, len(options) - 1)]

    def fault(self, names):
        """On the network: connections reset, messages late."""
        name, at_ms = self.choose(names), self.whole(2_000, TROUBLE_MS)
        apis = (
            ["ConsumerGroupHeartbeat"] * 3
            if self.protocol == "consumer"
            else ["JoinGroup", "SyncGroup", "Heartbeat"]
        )
        kind = self.whole(0, 3)
        if kind == 0:
            return Cut(name, "broker 1", at_ms=at_ms, for_ms=self.whole(200, 15_000))
        if kind == 1:
            return Delay(
                name,
                "broker 1",
                extra_ms=self.whole(50, 12_000),
                at_ms=at_ms,
                for_ms=self.whole(500, 9_000),
            )
        api, answer = self.choose([*apis, "OffsetCommit"]), self.random.random() < 0.5
        return Lose(
            name,
            "broker 1",
            api,
            nth=self.whole(1, 8),
            times=self.whole(1, 2),
            answer=answer,
        )

    def step(self, names):
        """Done to members and the broker: (what, to whom, for how many ms)."""
        what = self.choose(STEPS)
        return what, self.choose(names), self.whole(500, 14_000)

    def __repr__(self):
        kind = f"{self.protocol}, static" if self.static else self.protocol
        head = (
            f"schedule {self.number}: {kind}, {self.members} members, {self.partitions}"
            " partitions"
        )
        return "\n  ".join(
            [
                head,
                *map(repr, self.faults),
                *(f"{at_ms} ms: {step}" for at_ms, step in self.steps),
            ]
        )


class Run:
    """A schedule carried out. anomalies: what the detectors found. settled: whether
    each partition has one reader.
    """

    def __init__(self, schedule):
        self.schedule = schedule
        self.cluster = Cluster(
            brokers=1, seed=schedule.number, faults=schedule.faults, configs=BROKER
        )
        self.cluster.create_topic("orders", partitions=schedule.partitions)
        self.consumers = {}
        self.joined = 0
        with self.cluster:
            for _ in range(schedule.members):
                self.join()
            self.trouble()
            self.settled = self.settle()
            self.anomalies = group_anomalies(self.cluster.trace)
            self.state = self.cluster.group("billing").state

    def join(self):
        self.joined += 1
        name = f"consumer {self.joined}"
        protocol = self.schedule.protocol
        if protocol == "consumer":
            how = {"group_protocol": "consumer"}
        else:
            # static ones may miss a whole generation
            session_ms = 14_000 if self.schedule.static else 10_000
            how = {
                "partition_assignment_strategy": protocol,
                "session_timeout_ms": session_ms,
                "heartbeat_interval_ms": 2000,
            }
        if self.schedule.static:
            how["group_instance_id"] = f"instance {self.joined}"
        consumer = self.cluster.consumer(
            "orders",
            group_id="billing",
            client_id=name,
            max_poll_interval_ms=8_000,
            request_timeout_ms=5_000,
            fetch_max_wait_ms=4_000,
            auto_commit_interval_ms=3_000,
            **how,
        )
        self.consumers[name] = consumer
        self.cluster.start(reads, consumer)

    def trouble(self):
        for at_ms, (what, name, for_ms) in self.schedule.steps:
            self.cluster.run_ms(max(0, at_ms - self.cluster.now_ms))
            if what == "join":
                self.join()
            elif what == "restart the broker":
                self.cluster.restart(1)
            elif name in self.consumers:
                self.to_a_member(what, name, for_ms)
        self.cluster.run_ms(max(0, TROUBLE_MS + 15_000 - self.cluster.now_ms))
        self.cluster.heal()

    def to_a_member(self, what, name, for_ms):
        consumer = self.consumers[name]
        if what == "freeze as it joins":
            joins = (
                "preparing_rebalance",
                "completing_rebalance",
                "joining",
                "reconciling",
            )
            with suppress(KafkaTimeoutError):
                self.cluster.run_until(
                    lambda: consumer.core.membership.state in joins, seconds=4
                )
        if what.startswith("freeze"):
            self.cluster.freeze(consumer, seconds=for_ms / 1000)
        elif what == "leave":
            del self.consumers[name]
            consumer.stop_reading = True
        else:
            self.cluster.crash(consumer)
            if what == "crash":
                del self.consumers[name]
            else:
                self.cluster.restart(consumer)

    def settle(self):
        try:
            self.cluster.run_until(self.one_reader_each, seconds=SETTLE_S)
            self.cluster.run(seconds=10)  # and so it stays
            return self.one_reader_each()
        except KafkaTimeoutError:
            return False

    def one_reader_each(self):
        read = [
            partition
            for consumer in self.consumers.values()
            for partition in consumer.assignment()
        ]
        return not self.consumers or sorted(number for _, number in read) == list(
            range(self.schedule.partitions)
        )


def reads(consumer):
    """A member that reads, commits by itself now and then, and goes when it is asked
    to.
    """
    while not getattr(consumer, "stop_reading", False):
        try:
            consumer.poll(timeout_ms=2000)
            consumer.commit()
        except KafkaError:
            pass  # fenced, or in a rebalance: the next poll joins again
    consumer.close()
