"""The clients that a learner holds: kafka-python's methods, which let the cluster move on while they wait."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from minikafka.clients import consumer as consumers
from minikafka.clients import producer as producers
from minikafka.clients.connection import Client
from minikafka.clients.consumer import Consumer
from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.clients.offsets import EARLIEST, LATEST
from minikafka.clients.producer import Producer
from minikafka.clients.serializers import apply, serialize
from minikafka.clients.structs import ConsumerRecord, OffsetAndTimestamp, TopicPartition
from minikafka.simulation.calls import recorded
from minikafka.simulation.processes import ClientProcess
from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.simulation.cluster import Cluster

PATIENCE_MS = 60_000  # how long iterating at top level waits for one more record
NO_LIMIT_MS = 300_000  # what "for ever" means at top level


class Handle:
    """What producer and consumer have in common."""

    def __init__(self, cluster: Cluster, process: ClientProcess, new_core: Callable[[], Client]) -> None:
        self._cluster = cluster
        self._process = process
        self._new_core = new_core
        self.name = self.call_name = process.name
        self.book = cluster.book

    def __repr__(self) -> str:
        return f"<{self.name}: {self._state()}>"

    def _state(self) -> str:
        if self._process.state != "up":
            return {"down": "crashed", "frozen": "frozen"}[self._process.state]
        return "closed" if self._process.core.closed else "up"

    def _wait(self, condition: Callable[[], bool], limit_ms: float | None) -> bool:
        """As Kernel.wait; a frozen client waits on, whatever comes."""
        if limit_ms is None and self._cluster.kernel.program() is None:
            limit_ms = NO_LIMIT_MS
        limit = None if limit_ms is None else int(limit_ms)
        return self._cluster.kernel.wait(lambda: self._process.state == "up" and condition(), limit)

    def _begin(self, call: str | None = None) -> None:
        """A call begins; call: its name if it may block. Raises unless the client is up; programs wait for a thaw."""
        if call is not None:
            self._cluster.kernel.programs.enter(call)
        in_program = self._cluster.kernel.program() is not None
        if self._process.state == "frozen" and in_program:
            self._cluster.kernel.wait(lambda: self._process.state != "frozen", None)
        if self._process.state != "up":
            verb = "thaw" if self._process.state == "frozen" else "restart"
            raise IllegalStateError(f"{self.name} is {self._state()}: cluster.{verb}(...) lets it go on")
        if self._process.core.closed:
            raise IllegalStateError(f"{self.name} is closed")

    def _turn(self) -> None:
        self._process.turn()

    @property
    def _now(self) -> Any:
        return self._process.now()

    def _partition(self, given: Any) -> TopicPartition:
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], int):
            return TopicPartition(*given)
        raise TypeError(f'{given!r} is no partition: give TopicPartition("orders", 0) or ("orders", 0)')

    def _restart(self) -> None:
        self._process.restart(self._new_core())
        self._turn()

    @recorded
    def close(self, timeout: float | None = None) -> None:
        """Leave. A producer sends what it holds first."""
        if self._process.core.closed:
            return
        self._begin("close")
        self._before_close(timeout)
        self._process.core.close(self._now)  # type: ignore[attr-defined]
        self._turn()
        self._process.deadline = None

    def _before_close(self, timeout: float | None) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class ProducerHandle(Handle):
    """A producer, used as kafka-python's KafkaProducer. Keys and values may be text, bytes, or what JSON knows."""

    @property
    def core(self) -> Producer:
        assert isinstance(self._process.core, Producer)
        return self._process.core

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.core.config)

    def _state(self) -> str:
        waiting = self.waiting_records() if self._process.state == "up" else 0
        return super()._state() + (f", {counted(waiting, 'record')} waiting" if waiting else "")

    def waiting_records(self) -> int:
        """Records that have not left yet."""
        return 0 if self.core.closed else self.core.accumulator.waiting_records()

    @recorded
    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Future:
        """Put a record into the producer's buffer; it leaves linger_ms later, or with a full batch.

        Waits only for the topic's metadata the first time, and while the buffer is full. The future's get() gives
        RecordMetadata.
        """
        self._begin("send")
        if not isinstance(topic, str):
            raise TypeError(f"the topic is a text, not {topic!r}")
        sent_headers = checked_headers(headers)
        config = self.core.config
        key_bytes = self._bytes("key", config["key_serializer"], topic, sent_headers, key)
        value_bytes = self._bytes("value", config["value_serializer"], topic, sent_headers, value)
        future = self._refused(topic, key_bytes, value_bytes, sent_headers)
        if future is None:
            original = (key, value)
            now = self._now
            future = self.core.send(topic, value_bytes, key_bytes, sent_headers, partition, timestamp_ms, now, original)
            self._turn()
        future.wait = self._wait_for_future
        self._cluster.futures.append(future)
        return future

    def _bytes(self, what: str, serializer: Any, topic: str, headers: Any, data: Any) -> bytes | None:
        if serializer is None:
            return serialize(data)
        serialized = apply(serializer, topic, headers, data)
        if serialized is not None and not isinstance(serialized, (bytes, bytearray, memoryview)):
            raise TypeError(f"the {what}_serializer returned {type(serialized).__name__}, not bytes")
        return None if serialized is None else bytes(serialized)

    def _refused(self, topic: str, key: bytes | None, value: bytes | None, headers: Any) -> Future | None:
        """Wait until the record can be buffered; a failed future if it can't.

        As in kafka-python, send() itself doesn't raise then.
        """
        future = Future()
        try:
            size = self.core.size_of(key, value, headers)
            self._wait_for_metadata(topic)
            patience_ms = self.core.config["max_block_ms"]
            if not self.core.accumulator.has_room(size) and not self._wait(
                lambda: self.core.accumulator.has_room(size), patience_ms
            ):
                raise KafkaTimeoutError(f"the buffer (buffer_memory) stayed full for {patience_ms / 1000:g} s")
        except KafkaError as error:
            future.fail(error)
            return future
        return None

    def _wait_for_metadata(self, topic: str) -> None:
        metadata = self.core.metadata
        if not metadata.want(topic):
            self.core.tick(self._now)
            self._turn()

            def settled() -> bool:
                error = self.core.metadata.errors.get(topic, Error.NONE)
                return bool(self.core.metadata.partitions(topic)) or not (error is Error.NONE or error.retriable)

            self._wait(settled, self.core.config["max_block_ms"])
            if not self.core.metadata.partitions(topic):
                error = self.core.metadata.errors.get(topic, Error.NONE)
                metadata.wanted.pop(topic, None)
                if error is Error.NONE or error.retriable:
                    seconds = self.core.config["max_block_ms"] / 1000
                    raise KafkaTimeoutError(f"no metadata for topic {topic!r} within max_block_ms ({seconds:g} s)")
                raise KafkaError(error, f"topic {topic!r}: {error.message}")

    def _wait_for_future(self, future: Future, timeout: float | None) -> None:
        self._begin("get")
        self._cluster.wait_for_future(future, timeout)

    @recorded
    def flush(self, timeout: float | None = None) -> None:
        """Send everything now and wait until all of it is acknowledged or has failed; timeout: seconds."""
        self._begin("flush")
        self._flush(timeout)

    def _flush(self, timeout: float | None) -> None:
        core = self.core
        batches = core.unfinished()
        core.flushing += 1
        core.tick(self._now)
        self._turn()
        try:
            limit_ms = None if timeout is None else timeout * 1000
            done = self._wait(lambda: all(batch.done for batch in batches), limit_ms)
        finally:
            core.flushing -= 1
        if not done:
            raise KafkaTimeoutError("flush: not everything was acknowledged in time")

    def _before_close(self, timeout: float | None) -> None:
        try:
            self._flush(timeout)
        except KafkaTimeoutError:
            pass  # the futures that are left fail with the close

    def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic as this producer knows them."""
        self._begin("partitions_for")
        self._wait_for_metadata(topic)
        return set(self.core.metadata.partitions(topic) or {})


class ConsumerHandle(Handle):
    """A consumer, used as kafka-python's KafkaConsumer."""

    @property
    def core(self) -> Consumer:
        assert isinstance(self._process.core, Consumer)
        return self._process.core

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.core.config)

    # what it reads

    @recorded
    def subscribe(self, topics: Iterable[str] | str = ()) -> None:
        """Read all partitions of these topics (there are no groups yet)."""
        self._begin()
        names = [topics] if isinstance(topics, str) else list(topics)
        self.core.subscribe(names)

    @recorded
    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others."""
        self._begin()
        self.core.assign([self._partition(each) for each in partitions])

    @recorded
    def unsubscribe(self) -> None:
        self._begin()
        self.core.assign([])

    def assignment(self) -> set[TopicPartition]:
        return set(self.core.assigned)

    def subscription(self) -> set[str] | None:
        return set(self.core.topics) or None

    # reading

    @recorded
    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, list[ConsumerRecord]]:
        """What came since the last poll, {TopicPartition: [ConsumerRecord]}; waits for some up to timeout_ms."""
        self._begin("poll")
        if timeout_ms < 0:
            raise ValueError("timeout_ms must not be negative")
        if max_records is not None and max_records < 1:
            raise ValueError("max_records must be at least 1")
        records = self._poll(timeout_ms, max_records or self.core.config["max_poll_records"])
        if not records and self._cluster.kernel.program() is None:
            self._cluster.say_why_nothing_came(self, timeout_ms)
        return records

    def _poll(self, timeout_ms: float | None, max_records: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        if not self.core.assigned and not self.core.topics:
            raise IllegalStateError(f"{self.name} reads nothing yet: subscribe() or assign() first")
        core = self.core  # a restart puts another one in its place; a dead program's `finally` must not touch that
        core.begin_poll(self._now)
        self._turn()
        try:
            # An empty poll takes a ms, even with a time-out of 0: so a program that polls in a loop lets time pass.
            self._wait(core.has_records, None if timeout_ms is None else max(1, timeout_ms))
            return core.take(max_records, self._now)
        finally:
            core.end_poll()
            if self._process.core is core and self._process.state == "up":
                self._turn()

    def __iter__(self) -> ConsumerHandle:
        return self

    def __next__(self) -> ConsumerRecord:
        """One record after the other.

        In a program it waits for ever; at top level it ends after 60 virtual seconds without one.
        """
        return self._next_record()

    @recorded
    def _next_record(self) -> ConsumerRecord:
        if self._process.core.closed and self._process.state == "up":
            raise StopIteration
        self._begin("poll")
        patience_ms = self.core.config["consumer_timeout_ms"]
        at_top_level = self._cluster.kernel.program() is None
        if patience_ms is None and at_top_level:
            patience_ms = PATIENCE_MS
        records = self._poll(patience_ms, 1)
        for found in records.values():
            return found[0]
        if at_top_level and self.core.config["consumer_timeout_ms"] is None:
            print(f"{self.name}: no record for {PATIENCE_MS // 1000} virtual seconds, so the loop ends here.")
        raise StopIteration

    # positions

    @recorded
    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from this offset."""
        self._begin()
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ValueError(f"an offset is a number from 0 on, not {offset!r}")
        self._at_time()
        self._assigned([partition])
        self.core.seek(self._partition(partition), offset)

    @recorded
    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the oldest record there is; without partitions, in all."""
        self._begin()
        self.core.seek_to("earliest", self._assigned(partitions))

    @recorded
    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read only what comes from the next poll on; without partitions, in all."""
        self._begin()
        self.core.seek_to("latest", self._assigned(partitions))

    @recorded
    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int:
        """The offset of the next record that poll() gives."""
        self._begin("position")
        asked = self._partition(partition)
        self._assigned([asked])
        core = self.core
        held = core.held(asked)
        if held.position is None:
            core.begin_poll(self._now)
            self._turn()
            try:
                limit_ms = core.request_timeout_ms if timeout_ms is None else timeout_ms
                self._wait(lambda: held.position is not None or core.error is not None, limit_ms)
                core.raise_error()
            finally:
                core.end_poll()
        if held.position is None:
            raise KafkaTimeoutError(f"the position in {asked} could not be found in time")
        return held.position

    def _assigned(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The partitions, all if none are given.

        A subscription has none before metadata came: then this waits for it.
        """
        wanted = [self._partition(each) for each in partitions]
        missing = [topic for topic in self.core.topics if not self.core.metadata.partitions(topic)]
        if missing:
            self.core.begin_poll(self._now)
            self._turn()
            self._wait(lambda: not any(not self.core.metadata.partitions(topic) for topic in missing), 30_000)
            self.core.end_poll()
        return wanted or list(self.core.assigned)

    @recorded
    def pause(self, *partitions: TopicPartition) -> None:
        """poll() gives nothing of these partitions until resume()."""
        self._begin()
        self._at_time()
        self.core.pause(self._assigned(partitions) if partitions else [])

    @recorded
    def resume(self, *partitions: TopicPartition) -> None:
        self._begin()
        self._at_time()
        self.core.pause(self._assigned(partitions) if partitions else [], paused=False)

    def paused(self) -> set[TopicPartition]:
        return {partition for partition, held in self.core.assigned.items() if held.paused}

    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark as the last fetch saw it."""
        return self.core.held(self._partition(partition)).high_watermark

    def _at_time(self) -> None:
        self.core.trace.now = self._cluster.kernel.clock.now_ms

    # asking without moving

    @recorded
    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The oldest offset of each partition."""
        return {partition: each.offset for partition, each in self._ask(dict.fromkeys(partitions, EARLIEST)).items()}

    @recorded
    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition will get."""
        return {partition: each.offset for partition, each in self._ask(dict.fromkeys(partitions, LATEST)).items()}

    @recorded
    def offsets_for_times(
        self, timestamps: dict[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each partition the first record at or after a time (ms since the epoch), None if there is none."""
        for partition, timestamp in timestamps.items():
            if timestamp < 0:
                raise ValueError(f"the time for {partition} is {timestamp}: it can't be negative")
        answers = self._ask({partition: int(timestamp) for partition, timestamp in timestamps.items()})
        return {partition: None if each.offset < 0 else each for partition, each in answers.items()}

    def _ask(self, timestamps: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetAndTimestamp]:
        self._begin("offsets")
        wanted = {self._partition(partition): timestamp for partition, timestamp in timestamps.items()}
        lookup = self.core.ask_offsets(wanted, self._now)
        self._turn()
        if not self._wait(lambda: lookup.is_done, self.core.request_timeout_ms):
            self.core.lookups.give_up(lookup)
            raise KafkaTimeoutError(f"no answer about {', '.join(map(str, wanted))} in time: do they exist?")
        answers: dict[TopicPartition, OffsetAndTimestamp] = lookup.get()
        return {partition: answers[partition] for partition in wanted}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The partitions of a topic, as this consumer learns them now; None if there is no such topic."""
        self._begin("partitions_for_topic")
        self.core.metadata.want(topic)
        self._cluster.check_topic(topic)
        self.core.begin_poll(self._now)
        self._turn()
        self._wait(lambda: bool(self.core.metadata.partitions(topic)), 30_000)
        self.core.end_poll()
        found = self.core.metadata.partitions(topic)
        return set(found) if found else None

    def commit(self, *args: Any, **kwargs: Any) -> None:
        raise IllegalStateError("commit() needs a consumer group (group_id), and groups are not here yet")

    committed = commit_async = commit


def checked_headers(headers: Any) -> list[tuple[str, bytes | None]]:
    """Headers as (text, bytes) pairs; text values become UTF-8."""
    if headers is None:
        return []
    pairs = headers.items() if isinstance(headers, dict) else headers
    found = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f'headers are (name, value) pairs such as ("source", b"shop"), not {pair!r}')
        found.append((pair[0], serialize(pair[1])))
    return found


def checked_config(kind: str, config: dict[str, Any]) -> None:
    """Refuse a name that the client does not have, with the nearest one."""
    known = producers.DEFAULTS if kind == "producer" else consumers.DEFAULTS
    for name in config:
        if name not in known:
            near = difflib.get_close_matches(name.replace(".", "_"), known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it knows {', '.join(known)}"
            raise TypeError(f"a {kind} has no config {name!r}{hint}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def name_of(function: Any) -> str:
    """A program's name."""
    return getattr(function, "__name__", None) or type(function).__name__
