"""The dead letters of share groups (KIP-1191): what a group gives up is written into a
topic, if the group names one.

A record that was rejected, or delivered too often, is Archiving meanwhile; its share
partition waits until its letter is written, or can't be, and archives it either way. A
letter has no key and no value, unless the group wants copies; headers tell which record
it is about, and why. Nobody is told that a letter couldn't be written, except who looks
after the node: the topic must want dead letters (errors.deadletterqueue.group.enable),
have the broker's prefix, and be there, unless it may be created. (Apache Kafka:
ShareGroupDLQStateManager.)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.log_configs import LogConfigs
from minikafka.clock import Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import GROUP_RESOURCE, NO_LEADER, Image
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import Deadlines
from minikafka.coordinators.share_persister import CreateTopics
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    NewRecord,
    batches,
    decode_batch,
    encode_batch,
)
from minikafka.wire.schema import Message

REJECTED = "Offset rejected by client."
TOO_OFTEN = "Offset delivery count exceeded the threshold."
LANE, PRODUCE_VERSION = "dead_letters", 13
TIMEOUT_MS = 30_000
FIRST_BACKOFF_MS, MOST_BACKOFF_MS, MOST_ATTEMPTS = 1000, 30_000, 5
MOST_COPIED = 1 << 20  # bytes of the log, for one batch of copies
MOST_AT_ONCE = 1000  # letters in one batch

TOPIC, PREFIX = (
    "errors.deadletterqueue.topic.name",
    "errors.deadletterqueue.topic.name.prefix",
)
WANTS = "errors.deadletterqueue.group.enable"
CREATES = "errors.deadletterqueue.auto.create.topics.enable"
COPIES = "errors.deadletterqueue.copy.record.enable"

Copies = dict[int, tuple[bytes | None, bytes | None]]  # by offset: key and value


class GivenUp(NamedTuple):
    """Neighbouring records of a partition that a group has given up. why: in Kafka's
    words.
    """

    group_id: str
    topic: str
    partition: int
    first: int
    last: int
    delivery_count: int
    why: str

    def headers(self, offset: int) -> list[tuple[str, bytes | None]]:
        told = {
            "topic": self.topic,
            "partition": self.partition,
            "offset": offset,
            "group": self.group_id,
            "delivery.count": self.delivery_count,
            "message": self.why,
        }
        return [
            (f"__dlq.errors.{name}", str(value).encode())
            for name, value in told.items()
        ]


@dataclass(eq=False, slots=True)
class Delivery:
    """Letters on their way. log: of the partition. then(now): when all are written, or
    can't be. offset: of the next record. attempt: how often that one was tried.
    """

    what: GivenUp
    log: Replica
    then: Callable[[Now], None]
    offset: int
    attempt: int = 0


@dataclass(eq=False, repr=False)
class DeadLetters:
    """Of one node: about records of the partitions that it leads. create_topics(topics,
    now, answer): has the active controller create topics.
    """

    _image: Image
    _configs: LogConfigs
    _ask: AskNode
    _create_topics: CreateTopics
    _notice: Callable[[str], None]
    _later: Deadlines[Delivery] = field(default_factory=Deadlines)

    def write(
        self, what: GivenUp, log: Replica, then: Callable[[Now], None], now: Now
    ) -> None:
        """Write the letters about these records."""
        self._send(Delivery(what, log, then, what.first), now)

    def tick(self, now: Now) -> None:
        """Try again what is due."""
        for delivery in self._later.overdue(now.monotonic_ms):
            self._later.set(delivery, None)
            self._send(delivery, now)

    # -- the way of a letter

    def _send(self, delivery: Delivery, now: Now) -> None:
        name = self._of_group(delivery.what.group_id, TOPIC)
        why_not = self._why_not(name)
        if why_not is not None:
            self._end(delivery, why_not, now)
            return
        topic = self._image.topics.get(name)
        if topic is None:
            self._create(name, delivery, now)
            return
        number = delivery.what.partition % len(topic.partitions)
        leader = topic.partitions[number].leader
        if leader == NO_LEADER:
            self._again(delivery, now)
            return
        records = self._letters(delivery, name, now)
        partition = {"index": number, "records": encode_batch(records)}
        body = {
            "acks": -1,
            "timeout_ms": TIMEOUT_MS,
            "topic_data": [{"topic_id": topic.topic_id, "partition_data": [partition]}],
        }

        def answered(reply: Message | None, now: Now) -> None:
            self._answered(delivery, len(records), reply, now)

        self._ask(leader, LANE, "Produce", PRODUCE_VERSION, body, answered)

    def _answered(
        self, delivery: Delivery, count: int, reply: Message | None, now: Now
    ) -> None:
        if reply is None:
            self._again(delivery, now)
            return
        error = Error(reply.responses[0].partition_responses[0].error_code)
        if error is Error.NOT_LEADER_OR_FOLLOWER:
            self._again(delivery, now)
        elif error is not Error.NONE:
            self._end(delivery, error.message, now)
        else:
            delivery.offset += count
            delivery.attempt = 0
            if delivery.offset > delivery.what.last:
                self._end(delivery, None, now)
            else:
                self._send(delivery, now)

    def _again(self, delivery: Delivery, now: Now) -> None:
        delivery.attempt += 1
        if delivery.attempt >= MOST_ATTEMPTS:
            self._end(delivery, "it was tried too often", now)
            return
        backoff_ms = FIRST_BACKOFF_MS << (delivery.attempt - 1)
        at_ms = now.monotonic_ms + min(backoff_ms, MOST_BACKOFF_MS)
        self._later.set(delivery, at_ms)

    def _end(self, delivery: Delivery, why_not: str | None, now: Now) -> None:
        if why_not is not None:
            what = delivery.what
            self._notice(
                f"share group {what.group_id}: no dead letters for offsets"
                f" {delivery.offset} to {what.last} of {what.topic}-{what.partition}:"
                f" {why_not}"
            )
        delivery.then(now)

    # -- the topic

    def _of_group(self, group_id: str, name: str) -> str:
        return self._image.config(GROUP_RESOURCE, group_id).get(name) or ""

    def _why_not(self, name: str) -> str | None:
        """Why no letters go into this topic; None if they may."""
        prefix = self._configs.of_broker[PREFIX]
        if not name:
            return "the group names no topic"
        if name in self._image.topics:
            if not self._configs.of_topic(name, WANTS):
                return f"{WANTS} is false for {name}"
        elif not self._configs.of_broker[CREATES]:
            return f"there is no topic {name}, and {CREATES} is false"
        if not name.startswith(prefix):
            return f"{name} does not begin with {prefix}"
        return None

    def _create(self, name: str, delivery: Delivery, now: Now) -> None:
        configs = {WANTS: "true", "message.timestamp.type": "CreateTime"}
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [],
            "configs": [
                {"name": each, "value": value} for each, value in configs.items()
            ],
        }

        def created() -> dict[str, Any]:
            self._again(delivery, now)
            return {}

        self._create_topics([topic], now, created)

    # -- the letters

    def _letters(self, delivery: Delivery, topic: str, now: Now) -> list[NewRecord]:
        """As many as fit into one batch, but at least one."""
        what = delivery.what
        copies, last = self._copies(delivery)
        most_bytes = self._configs.of_topic(topic, "max.message.bytes")
        size = BATCH_OVERHEAD
        letters: list[NewRecord] = []
        for offset in range(delivery.offset, last + 1):
            key, value = copies.get(offset, (None, None))
            headers = what.headers(offset)
            letter = (now.wall_ms, key, value, headers)
            size += len(encode_batch([letter])) - BATCH_OVERHEAD
            if letters and (size > most_bytes or len(letters) == MOST_AT_ONCE):
                break
            letters.append(letter)
        return letters

    def _copies(self, delivery: Delivery) -> tuple[Copies, int]:
        """Keys and values of the next records, if the group wants them and they can be
        read; and the last offset up to which that was looked at.
        """
        what, log = delivery.what, delivery.log
        if self._of_group(what.group_id, COPIES) != "true":
            return {}, what.last
        copies: Copies = {}
        last = delivery.offset
        try:
            read = log.read(delivery.offset, MOST_COPIED, log.high_watermark, True)
            for header, batch in batches(b"".join(read)):
                last = header.last_offset
                if not header.control:
                    for record in decode_batch(batch):
                        copies[record.offset] = record.key, record.value
        except KafkaError:
            return {}, what.last
        return copies, max(delivery.offset, min(last, what.last))
