"""The consumer: it has a position in each of its partitions, asks for what comes next, and hands over when polled.

Nothing happens between polls: as in the Java client, a position is found, and records are asked for, only while
somebody polls (or waits for an answer). So a new consumer with auto_offset_reset="latest" starts at the end as it is at
its first poll, not at its birth. One fetch is open at each leader at a time; the next one leaves as soon as a poll has
emptied what came before.

Without a group, a consumer of topics reads all their partitions, those added later included, and commits nothing, as in
kafka-python. The Java client doesn't subscribe without a group.id: there such a consumer assigns its partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.clients.connection import Client, Node, Now
from minikafka.clients.errors import IllegalStateError, NoOffsetForPartitionError
from minikafka.clients.fetching import Assigned, Fetched, consumer_record, items
from minikafka.clients.metadata import Address
from minikafka.clients.offsets import EARLIEST, LATEST, Lookup, Lookups
from minikafka.clients.structs import ConsumerRecord, OffsetAndTimestamp, TopicPartition, text
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

DEFAULTS: dict[str, Any] = {
    "group_id": None,
    "auto_offset_reset": "latest",
    "enable_auto_commit": True,
    "max_poll_records": 500,
    "fetch_min_bytes": 1,
    "fetch_max_wait_ms": 500,
    "fetch_max_bytes": 52428800,
    "max_partition_fetch_bytes": 1048576,
    "check_crcs": True,
    "isolation_level": "read_uncommitted",
    "key_deserializer": None,
    "value_deserializer": None,
    "consumer_timeout_ms": None,
    "retry_backoff_ms": 100,
    "reconnect_backoff_ms": 50,
    "request_timeout_ms": 30000,
    "metadata_max_age_ms": 300000,
    "allow_auto_create_topics": True,
    "client_id": None,
}

AT_THE_END = 'auto_offset_reset is "latest"'


class Consumer(Client):
    """config: as DEFAULTS, names and units as in kafka-python."""

    def __init__(self, name: str, bootstrap: Sequence[Address], trace: Trace, *topics: str, **config: Any) -> None:
        self.config = checked({**DEFAULTS, **config})
        given = self.config
        super().__init__(
            name,
            bootstrap,
            trace,
            client_id=given["client_id"] or name,
            request_timeout_ms=given["request_timeout_ms"],
            retry_backoff_ms=given["retry_backoff_ms"],
            reconnect_backoff_ms=given["reconnect_backoff_ms"],
            metadata_max_age_ms=given["metadata_max_age_ms"],
            allow_auto_create_topics=given["allow_auto_create_topics"],
        )
        self.topics: list[str] = []  # subscribed to; empty with assign()
        self.assigned: dict[TopicPartition, Assigned] = {}
        self.polling = False
        self.taken = 0  # records handed over so far
        self.error: Exception | None = None  # the next take() raises it
        self.lookups = Lookups(self)
        if self.trace:
            self.trace.emit("ClientStarted", client="consumer", topics=list(topics))
        if topics:
            self.subscribe(topics)

    # what a program calls, through the shell

    def subscribe(self, topics: Iterable[str]) -> None:
        self.topics = list(dict.fromkeys(topics))
        self.assigned = {partition: held for partition, held in self.assigned.items() if partition.topic in self.topics}
        for topic in self.topics:
            self.metadata.want(topic)
        self._assign_subscribed()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.topics = []
        before = self.assigned
        self.assigned = {partition: before.get(partition, Assigned()) for partition in partitions}
        for partition in self.assigned:
            self.metadata.want(partition.topic)

    def held(self, partition: TopicPartition) -> Assigned:
        if partition not in self.assigned:
            names = ", ".join(map(str, self.assigned)) or "nothing yet"
            raise IllegalStateError(f"{TopicPartition(*partition)} is not assigned to {self.name}, which has {names}")
        return self.assigned[partition]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.held(partition).move(offset)
        if isinstance(self.error, NoOffsetForPartitionError):
            self.error = None  # the next poll looks again whether a position is missing
        if self.trace:
            self.trace.emit("PositionSought", topic=partition.topic, partition=partition.partition, offset=offset)

    def seek_to(self, where: str, partitions: Iterable[TopicPartition]) -> None:
        """where: "earliest" or "latest". The offset is asked for at the next poll or position()."""
        for partition in list(partitions) or list(self.assigned):
            self.held(partition).move(None, where)

    def pause(self, partitions: Iterable[TopicPartition], paused: bool = True) -> None:
        names = [TopicPartition(*partition) for partition in partitions]
        for partition in names:
            self.held(partition).paused = paused
        if self.trace:
            self.trace.emit(
                "PartitionsPaused" if paused else "PartitionsResumed", partitions=[str(each) for each in names]
            )

    def take(self, max_records: int, now: Now) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to max_records that have arrived, {partition: records}; positions move past them.

        Asks for more where nothing is left.
        """
        self._enter(now)
        self.raise_error()
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        for partition, held in self.assigned.items():
            if max_records > 0 and held.fetched is not None and not held.paused:
                records = self._take_from(partition, held, held.fetched, max_records)
                max_records -= len(records)
                if records:
                    taken[partition] = records
        self.taken += sum(map(len, taken.values()))
        # Who was served first is last next time, so that one full partition does not starve the others.
        for partition in taken:
            self.assigned[partition] = self.assigned.pop(partition)
        self._do_what_is_due(now)
        return taken

    def raise_error(self) -> None:
        """Raise, once, what went wrong while nobody looked."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def has_records(self) -> bool:
        if self.error is not None:
            return True
        try:
            return any(
                held.fetched is not None and not held.paused and _holds_record(held) for held in self.assigned.values()
            )
        except KafkaError as error:
            self.error = error
            return True

    def begin_poll(self, now: Now) -> None:
        """From here to end_poll() the consumer works by itself: metadata, positions, fetches."""
        self._enter(now)
        self.polling = True
        self._do_what_is_due(now)

    def end_poll(self) -> None:
        self.polling = False

    def ask_offsets(self, timestamps: dict[TopicPartition, int], now: Now) -> Lookup:
        """Offsets for LATEST, EARLIEST or times in ms. Give it up with lookups.give_up when it takes too long."""
        self._enter(now)
        lookup = self.lookups.begin({TopicPartition(*partition): at for partition, at in timestamps.items()})
        self._do_what_is_due(now)
        return lookup

    def close(self, now: Now) -> None:
        self._enter(now)
        self.disconnect()
        if self.trace:
            self.trace.emit("ClientClosed")

    # what happens by itself while somebody polls

    def busy(self) -> bool:
        return self.polling or self.lookups.is_open()

    def metadata_changed(self, now: Now) -> None:
        self._assign_subscribed()
        for topic in self.metadata.wanted:
            error = self.metadata.errors.get(topic, Error.NONE)
            if error is not Error.NONE and not error.retriable:
                self.error = KafkaError(error, f"topic {topic!r}: {error.message}")

    def work(self, now: Now) -> None:
        self.lookups.work(self._now)
        if self.polling:
            self._find_positions()
            self._fetch()

    def next_work(self) -> list[int | None]:
        deadlines = self.lookups.next_work()
        if self.polling:
            for partition, held in self.assigned.items():
                leader = self.metadata.leader(*partition)
                node = None if leader is None else self.nodes.get(leader)
                waits = node is not None and not node.ready and node.connection is None
                if (
                    self._fetchable(held)
                    and node is not None
                    and (waits or (node.ready and not self._open_fetch(node)))
                ):
                    deadlines.append(max(held.retry_at, 0 if node.ready else node.retry_at))
        return deadlines

    def _assign_subscribed(self) -> None:
        for topic in self.topics:
            for number in self.metadata.partitions(topic) or {}:
                self.assigned.setdefault(TopicPartition(topic, number), Assigned())

    def _find_positions(self) -> None:
        questions: dict[TopicPartition, int] = {}
        asked: dict[TopicPartition, tuple[int, str]] = {}
        for partition, held in self.assigned.items():
            if held.position is None and not held.resetting:
                where = held.reset or self.config["auto_offset_reset"]
                if where == "none":
                    self.error = NoOffsetForPartitionError(
                        f'there is no position for {partition}, and auto_offset_reset is "none": seek() to one'
                    )
                    return
                held.resetting = True
                questions[partition] = EARLIEST if where == "earliest" else LATEST
                why = f"the program asked for the {where} offset" if held.reset else f'auto_offset_reset is "{where}"'
                asked[partition] = (held.seeks, held.why or why)

        def found(partition: TopicPartition, answer: OffsetAndTimestamp) -> None:
            held, (seeks, why) = self.assigned.get(partition), asked[partition]
            if held is None or held.seeks != seeks:
                return
            held.move(answer.offset)
            held.started_at_end = why == AT_THE_END
            if self.trace:
                topic, number = partition
                self.trace.emit("PositionReset", topic=topic, partition=number, offset=answer.offset, why=why)

        def failed(error: Exception) -> None:
            self.error = error
            for partition in asked:
                self.assigned.get(partition, Assigned()).resetting = False

        if questions:
            self.lookups.begin(questions, found).add_errback(failed)
            self.lookups.work(self._now)

    @staticmethod
    def _fetchable(held: Assigned) -> bool:
        return held.position is not None and held.fetched is None and not held.fetching and not held.paused

    @staticmethod
    def _open_fetch(node: Node) -> bool:
        return any(waiting.api == "Fetch" for waiting in node.in_flight)

    def _fetch(self) -> None:
        by_leader: dict[int, list[TopicPartition]] = {}
        for partition, held in self.assigned.items():
            if self._fetchable(held) and held.retry_at <= self._now:
                leader = self.metadata.leader(*partition)
                if leader is None:
                    self.metadata.refresh()
                else:
                    by_leader.setdefault(leader, []).append(partition)
        for leader, partitions in sorted(by_leader.items()):
            node = self.ready(leader)
            if node is not None and not self._open_fetch(node):
                self._send_fetch(node, partitions)

    def _send_fetch(self, node: Node, partitions: list[TopicPartition]) -> None:
        topics: dict[str, list[dict[str, Any]]] = {}
        asked: dict[TopicPartition, tuple[Assigned, int]] = {}
        for partition in partitions:
            held = self.assigned[partition]
            assert held.position is not None
            held.fetching = True
            asked[partition] = (held, held.position)
            part = {
                "partition": partition.partition,
                "current_leader_epoch": self.metadata.leader_epoch(*partition),
                "fetch_offset": held.position,
                "partition_max_bytes": self.config["max_partition_fetch_bytes"],
            }
            topics.setdefault(partition.topic, []).append(part)
        body = {
            "replica_id": -1,
            "max_wait_ms": self.config["fetch_max_wait_ms"],
            "min_bytes": self.config["fetch_min_bytes"],
            "max_bytes": self.config["fetch_max_bytes"],
            "session_epoch": -1,  # no fetch session (KIP-227): every request names all its partitions
            "topics": [{"topic": topic, "partitions": parts} for topic, parts in topics.items()],
        }
        self.request(node, "Fetch", body, lambda response: self._fetched(asked, response))

    def _fetched(self, asked: dict[TopicPartition, tuple[Assigned, int]], response: Message | None) -> None:
        for held, _ in asked.values():
            held.fetching = False
        if response is None or response.error_code:
            for held, _ in asked.values():
                held.retry_at = self._now + self.retry_backoff_ms
            return
        for topic in response.responses:
            for part in topic.partitions:
                partition = TopicPartition(topic.topic, part.partition_index)
                held, offset = asked[partition]
                # A seek, a pause or another assignment may have come in between.
                if self.assigned.get(partition) is held and held.position == offset:
                    self._arrived(partition, held, offset, part)

    def _arrived(self, partition: TopicPartition, held: Assigned, offset: int, part: Message) -> None:
        error = Error(part.error_code)
        if error is Error.NONE:
            held.high_watermark = part.high_watermark
            if part.records is not None and len(part.records):
                cause = self.trace.cause
                held.fetched = Fetched(offset, items(part.records, offset, self.config["check_crcs"]), cause)
        elif error is Error.OFFSET_OUT_OF_RANGE and self.config["auto_offset_reset"] != "none":
            held.move(None)
            held.why = f'offset {offset} is out of range, and auto_offset_reset is "{self.config["auto_offset_reset"]}"'
        elif error.retriable:
            held.retry_at = self._now + self.retry_backoff_ms
            self.metadata.refresh()
        else:
            self.error = KafkaError(error, f"reading {partition} at offset {offset}: {error.message}")

    def _take_from(
        self, partition: TopicPartition, held: Assigned, fetched: Fetched, max_records: int
    ) -> list[ConsumerRecord]:
        deserializers = (self.config["key_deserializer"], self.config["value_deserializer"])
        records: list[ConsumerRecord] = []
        while len(records) < max_records and (item := fetched.peek()) is not None:
            if item[0] is not None:
                records.append(consumer_record(partition, item, deserializers))
            fetched.drop()
            held.position = item[1]
        _skip_gaps(held, fetched)
        if records and self.trace:
            shown = [[each.offset, text(each.key), text(each.value)] for each in records[:50]]
            self.trace.emit(
                "RecordsPolled",
                cause=fetched.cause, topic=partition.topic, partition=partition.partition, records=shown,
                position=held.position,
            )  # fmt: skip
        return records


def _skip_gaps(held: Assigned, fetched: Fetched) -> None:
    """Go over offsets without records; forget an answer that is used up."""
    while (item := fetched.peek()) is not None and item[0] is None:
        held.position = item[1]
        fetched.drop()
    if fetched.peek() is None:
        held.fetched = None


def _holds_record(held: Assigned) -> bool:
    assert held.fetched is not None
    _skip_gaps(held, held.fetched)
    return held.fetched is not None


def checked(config: dict[str, Any]) -> dict[str, Any]:
    """A consumer's configuration; ValueError in plain words."""
    if config["auto_offset_reset"] not in ("latest", "earliest", "none"):
        raise ValueError(f'auto_offset_reset={config["auto_offset_reset"]!r}: give "latest", "earliest" or "none"')
    if config["group_id"] is not None:
        raise ValueError(
            "group_id: consumer groups are not here yet; without it a consumer reads all partitions of its topics"
        )
    if config["isolation_level"] != "read_uncommitted":
        raise ValueError(f"isolation_level={config['isolation_level']!r}: transactions are not here yet")
    if config["max_poll_records"] < 1:
        raise ValueError("max_poll_records must be at least 1")
    return config
