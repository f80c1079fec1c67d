"""kill -9 under honest clients: `python -m tests.soak.kill --rounds 30`.

Idempotent librdkafka producers write numbers to a plain and to a compacted topic, both
in small segments, while a group reads and commits; the server is killed and started
again on the same folder and port, again and again. In the end every acknowledged record
is there once, in order, at the offset it was acknowledged with (in the compacted topic:
each key's latest), and no commit that was acknowledged ever went back.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from minikafka.server.embedded import Served
from tests.clients.brokers import overrides
from tests.clients.test_confluent_kafka import consuming, finish
from tests.kafka import free_ports

GROUP = "readers"
KEYS = 200  # of the compacted topic
IN_FLIGHT = 2000
# so many records, then a breath: the rounds are long, and all is read again in the end
BURST, BREATH_S = 100, 0.01
MOST_A_ROUND = 6000  # records acknowledged between two kills
PATIENCE_SECONDS = 180
PROPERTIES = {"log.cleaner.backoff.ms": "100", "offsets.topic.num.partitions": "3"}
SMALL = {"internal.segment.bytes": "50000"}
TOPICS = {
    "plain": SMALL,
    "compacted": (
        SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    ),
}
# what a client is told of a coordinator while it has no place
MOVING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
}
RECONNECT = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 100,
    "log_level": 0,
}


class Wrong(AssertionError):
    """Something acknowledged was lost, doubled, moved, or went back."""


class Client(threading.Thread):
    """Goes on until it is asked to end. failed: what must not have happened."""

    def __init__(self, what: str) -> None:
        super().__init__(daemon=True)
        self.what = what
        self.failed: object = None

    def end(self) -> None:
        """Asks it to end, when all that is on its way is acknowledged."""
        raise NotImplementedError

    def stop(self) -> None:
        self.end()
        self.join()
        if self.failed:
            raise Wrong(f"{self.what}: {self.failed}")


class Writer(Client):
    """Writes 0, 1, 2 ... to a topic. acknowledged: number -> offset. longest_pause_s:
    between two acknowledgements, since somebody set it to 0.
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic
        self.acknowledged: dict[int, int] = {}
        self.longest_pause_s = 0.0
        self._acknowledged_at = time.monotonic()

    def acknowledge(self, number: int, offset: int) -> None:
        self.acknowledged[number] = offset
        now = time.monotonic()
        self.longest_pause_s = max(self.longest_pause_s, now - self._acknowledged_at)
        self._acknowledged_at = now

    def check(self, found: list[tuple[int, int]]) -> None:
        """found: all (offset, number) in the topic's log, in order."""
        numbers = [number for _, number in found]
        wanted = sorted(self.acknowledged)
        if self.topic == "compacted":
            wanted_at_least = {number % KEYS: number for number in wanted}.values()
            if lost := set(wanted_at_least) - set(numbers):
                raise Wrong(
                    f"compacted: the latest of {len(lost)} keys is lost:"
                    f" {sorted(lost)[:10]}"
                )
        elif lost := set(wanted) - set(numbers):
            raise Wrong(
                f"{self.topic}: {len(lost)} acknowledged records are lost:"
                f" {sorted(lost)[:10]}"
            )
        if len(set(numbers)) != len(numbers):
            raise Wrong(
                f"{self.topic}: {len(numbers) - len(set(numbers))} records are there"
                " more than once"
            )
        if numbers != sorted(numbers):
            raise Wrong(f"{self.topic}: records are out of order")
        if moved := [
            number
            for offset, number in found
            if self.acknowledged.get(number, offset) != offset
        ]:
            raise Wrong(
                f"{self.topic}: {len(moved)} records are not at the offset they were"
                " acknowledged with"
            )


class LibrdkafkaWriter(Writer):
    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(topic)
        self._over = threading.Event()
        options = {
            "enable.idempotence": True,
            "linger.ms": 2,
            "batch.num.messages": 100,
            "retry.backoff.ms": 10,
        }
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, **RECONNECT, **options}
        )

    def run(self) -> None:
        number = 0
        while not self._over.is_set():
            key, value = b"%d" % (number % KEYS), b"%d" % number
            self._producer.produce(
                self.topic, value, key, partition=0, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(0 if number % BURST else BREATH_S)
            while (
                number - len(self.acknowledged) > IN_FLIGHT and not self._over.is_set()
            ):
                self._producer.poll(0.05)
        if self._producer.flush(PATIENCE_SECONDS):
            self.failed = "not everything was acknowledged in the end"

    def end(self) -> None:
        self._over.set()

    def _delivered(self, error, message) -> None:
        if error is not None:
            self.failed = error
        else:
            self.acknowledge(int(message.value()), message.offset())


class Reader(Client):
    """A member of the group, which commits what it has read. committed: the latest
    offset acknowledged.
    """

    def __init__(self, group: str) -> None:
        super().__init__(group)
        self.group = group
        self.committed = 0
        self.commits = 0

    def reads_from(self, offset: int) -> None:
        if offset < self.committed:
            self.failed = (
                f"a commit went back: a member reads from {offset} on, {self.committed}"
                " was committed"
            )

    def has_committed(self, offset: int) -> None:
        self.committed = offset
        self.commits += 1


class LibrdkafkaReader(Reader):
    def __init__(self, bootstrap: str, protocol: str = "classic") -> None:
        super().__init__(f"{GROUP}-{protocol}")
        self._over = threading.Event()
        options = {
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "group.protocol": protocol,
        }
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": self.group,
                **RECONNECT,
                **options,
            }
        )
        self._consumer.subscribe(["plain"])

    def run(self) -> None:
        with closing(self._consumer):
            while not self._over.is_set():
                messages = [
                    message
                    for message in self._consumer.consume(500, 0.2)
                    if message.error() is None
                ]
                if messages:
                    self.reads_from(messages[0].offset())
                    self._commit(messages[-1].offset() + 1)

    def end(self) -> None:
        self._over.set()

    def _commit(self, offset: int) -> None:
        try:
            [told] = self._consumer.commit(
                offsets=[TopicPartition("plain", 0, offset)], asynchronous=False
            )
        except KafkaException:
            return
        if told.error is None:
            self.has_committed(offset)


def committed(bootstrap: str, group: str) -> int:
    """What the coordinator says the group has committed."""
    options = {"bootstrap.servers": bootstrap, "group.id": group, **RECONNECT}
    until = time.monotonic() + PATIENCE_SECONDS
    with closing(Consumer(options)) as consumer:
        while True:
            try:
                [told] = consumer.committed(
                    [TopicPartition("plain", 0)], timeout=PATIENCE_SECONDS
                )
                return max(told.offset, 0)
            except KafkaException as error:  # the group has moved, or moves
                if error.args[0].code() not in MOVING:
                    raise
                if time.monotonic() > until:
                    raise Wrong(
                        f"nobody tells what {group} has committed: {error}"
                    ) from None


def everything(bootstrap: str, topic: str) -> list[tuple[int, int]]:
    """All (offset, number) of a topic, in the order of the log."""
    found = []
    with consuming(bootstrap, TopicPartition(topic, 0, 0)) as consumer:
        _, end = consumer.get_watermark_offsets(
            TopicPartition(topic, 0), timeout=PATIENCE_SECONDS
        )
        until = time.monotonic() + PATIENCE_SECONDS
        while not found or found[-1][0] < end - 1:
            messages = consumer.consume(1000, 0.2)
            if messages:
                until = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() > until:
                raise Wrong(
                    f"{topic} can't be read behind {found[-1:]}; it ends at {end}"
                )
            found += [
                (message.offset(), int(message.value()))
                for message in messages
                if message.error() is None
            ]
    return found


def kill(rounds: int, seed: int) -> str:
    """So many kills; a summary, or Wrong."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="minikafka-kill-") as data:
        [port] = free_ports(1)
        served = Served(data=data, port=port, options=overrides(PROPERTIES))
        try:
            admin = AdminClient({"bootstrap.servers": served.bootstrap, "log_level": 0})
            finish(
                admin.create_topics(
                    [
                        NewTopic(name, 1, 1, config=configs)
                        for name, configs in TOPICS.items()
                    ]
                )
            )
            writers = [LibrdkafkaWriter(served.bootstrap, topic) for topic in TOPICS]
            reader = LibrdkafkaReader(served.bootstrap)
            for thread in (*writers, reader):
                thread.start()
            for number in range(rounds):
                wait_for(writers, dice.randint(200, MOST_A_ROUND))
                before = reader.committed
                served.kill()
                served = Served(data=data, port=port, options=overrides(PROPERTIES))
                if (now := committed(served.bootstrap, reader.group)) < before:
                    raise Wrong(
                        f"round {number + 1}: a commit went back from {before} to {now}"
                    )
            for writer in writers:
                writer.stop()
            reader.stop()
            for writer in writers:
                writer.check(everything(served.bootstrap, writer.topic))
        finally:
            served.stop()
    records = sum(len(writer.acknowledged) for writer in writers)
    return (
        f"{rounds} rounds, {records} records acknowledged and {reader.commits} commits:"
        " nothing lost, none back"
    )


def wait_for(writers: list[Writer], records: int) -> None:
    """Until each writer has so many more acknowledged."""
    goals = [(writer, len(writer.acknowledged) + records) for writer in writers]
    until = time.monotonic() + PATIENCE_SECONDS
    while any(len(writer.acknowledged) < goal for writer, goal in goals):
        if failed := [
            f"{writer.what}: {writer.failed}" for writer in writers if writer.failed
        ]:
            raise Wrong("; ".join(failed))
        if time.monotonic() > until:
            where = [
                f"{writer.topic} at {len(writer.acknowledged)} of {goal}"
                for writer, goal in goals
            ]
            raise Wrong(f"producers are stuck: {', '.join(where)}")
        threading.Event().wait(0.01)


def parser_of(
    soak: str, description: str | None, **numbers: int
) -> argparse.ArgumentParser:
    """numbers: options with their defaults."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.soak.{soak}", description=description
    )
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser


def report(soak: str, run: Callable[..., str], *args: object) -> int:
    """Prints how a run ended. Returns the code to exit with."""
    try:
        print(f"{soak}: {run(*args)}", flush=True)
    except Wrong as wrong:
        print(f"{soak}: FAILED with {args}: {wrong}", flush=True)
        return 1
    return 0


def main() -> int:
    args = parser_of("kill", __doc__, rounds=30, seed=1).parse_args()
    return report("kill", kill, args.rounds, args.seed)


if __name__ == "__main__":
    sys.exit(main())
