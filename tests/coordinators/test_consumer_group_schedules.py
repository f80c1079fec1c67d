"""Consumer groups of KIP-848 under random schedules: never two owners of a partition;
in the end all have theirs.
"""

import random

import pytest

from minikafka.wire.errors import KafkaError
from tests.coordinators.consumer_groups import Consumer, Coordinator
from tests.coordinators.modern_groups import Topics, beat_until_quiet, hard_state
from tests.seeds import seeds

SCHEDULES, STEPS = 300, 60


class Schedule:
    """Members that come, go, fall silent, miss answers; a coordinator that moves;
    topics that change.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        interval_ms = self.choose([0, 1000])
        self.coordinator = Coordinator(
            Topics(orders=5, invoices=3),
            group_consumer_assignment_interval_ms=interval_ms,
        )
        self.consumers: list[Consumer] = []
        self.sizes = {"orders": 5, "invoices": 3}
        self.named = 0

    def choose(self, options: list):
        return options[int(self.random.random() * len(options))]

    def step(self) -> None:
        actions = [self.beat] * 10 + [self.beat_slowly] * 3 + [self.join] * 3
        actions += [
            self.lose_answer,
            self.leave,
            self.crash,
            self.sleep,
            self.restart,
            self.subscribe,
            self.grow,
        ]
        action = self.choose(actions)
        try:
            action()
        except KafkaError as error:
            assert error.error.name in (
                "FENCED_MEMBER_EPOCH",
                "UNKNOWN_MEMBER_ID",
                "UNRELEASED_INSTANCE_ID",
                "FENCED_INSTANCE_ID",
            ), error

    def some_topics(self) -> tuple[str, ...]:
        return self.choose(
            [("orders",), ("invoices",), ("invoices", "orders"), ("invoices", "orders")]
        )

    def join(self) -> None:
        if len(self.consumers) < 5:
            self.named += 1
            instance = self.choose([None, None, "one", "two"])
            options = {"topics": self.some_topics(), "instance_id": instance}
            consumer = Consumer(
                self.coordinator,
                f"m{self.named}",
                **options,
                assignor=self.choose([None, "range"]),
            )
            consumer.beat()
            self.consumers.append(consumer)

    def beat(self) -> None:
        if self.consumers:
            self.choose(self.consumers).beat()

    def beat_slowly(self) -> None:
        if self.consumers:
            self.choose(self.consumers).beat(slow=True)

    def lose_answer(self) -> None:
        if self.consumers:
            self.choose(self.consumers).beat(lost=True)

    def leave(self) -> None:
        if self.consumers:
            consumer = self.choose(self.consumers)
            self.consumers.remove(consumer)
            consumer.leave(self.choose([-1, -2]) if consumer.instance_id else -1)

    def crash(self) -> None:
        if self.consumers:
            self.consumers.remove(self.choose(self.consumers))

    def sleep(self) -> None:
        self.coordinator.sleep(self.choose([0.5, 5, 20, 61]))

    def restart(self) -> None:
        self.coordinator.restart()

    def subscribe(self) -> None:
        if self.consumers:
            consumer = self.choose(self.consumers)
            consumer.topics, consumer.must_say = self.some_topics(), True

    def grow(self) -> None:
        topic = self.choose(["orders", "invoices"])
        if self.sizes[topic] < 8:
            self.sizes[topic] += 1
            self.coordinator.topics.grow(topic, self.sizes[topic])

    def check(self) -> None:
        holders = self.coordinator.holders()
        assert all(len(members) == 1 for members in holders.values()), (
            f"two owners: {holders}"
        )
        owners = {partition: member for partition, (member,) in holders.items()}
        names = self.coordinator.topics.image.topic_names
        kept = {
            (names[topic], number): member
            for (topic, number), member in self.coordinator.group.state.owners.items()
        }
        assert kept == owners
        for consumer in self.consumers:
            if consumer.member_id in self.coordinator.group.state.members:
                mine = {
                    partition
                    for partition, member in owners.items()
                    if member == consumer.member_id
                }
                known = {
                    partition
                    for partition in consumer.owned
                    if partition[0] in names.values()
                }
                assert known <= mine, (
                    f"{consumer.member_id} has {known}, and may have {mine}"
                )

    def end_well(self) -> None:
        """Faults stop; whoever is left gets its share, and nothing is left over."""
        self.coordinator.sleep(46)
        for _ in range(12):
            for consumer in list(self.consumers):
                try:
                    consumer.beat()
                except KafkaError as error:
                    if error.error.name in (
                        "FENCED_INSTANCE_ID",
                        "UNRELEASED_INSTANCE_ID",
                    ):
                        # its instance has a newer process
                        self.consumers.remove(consumer)
            self.coordinator.sleep(1)
            self.check()


@pytest.mark.parametrize("block", seeds(range(60)))
def test_kip_848_no_partition_ever_has_two_owners_and_the_group_converges(block):
    for seed in range(block * SCHEDULES // 60, (block + 1) * SCHEDULES // 60):
        schedule = Schedule(seed)
        for _ in range(STEPS):
            schedule.step()
            schedule.check()
        schedule.end_well()
        converged(schedule, seed)


def converged(schedule: Schedule, seed: int) -> None:
    group = schedule.coordinator.group
    assert group.state_name == ("Stable" if schedule.consumers else "Empty"), (
        f"seed {seed}"
    )
    wanted = {topic for consumer in schedule.consumers for topic in consumer.topics}
    everything = {
        (topic, number) for topic in wanted for number in range(schedule.sizes[topic])
    }
    had = [partition for consumer in schedule.consumers for partition in consumer.owned]
    assert sorted(had) == sorted(everything), f"seed {seed}"
    assert hard_state(
        schedule.coordinator.replayed(schedule.coordinator.log)
    ) == hard_state(group), f"seed {seed}"
    written = len(schedule.coordinator.log)
    beat_until_quiet(*schedule.consumers, rounds=1)
    assert len(schedule.coordinator.log) == written, (
        f"seed {seed}: a stable group writes nothing"
    )


def test_the_same_seed_gives_the_same_log():
    logs = []
    for _ in range(2):
        schedule = Schedule(7)
        for _ in range(STEPS):
            schedule.step()
        logs.append(schedule.coordinator.log)
    assert logs[0] == logs[1]
