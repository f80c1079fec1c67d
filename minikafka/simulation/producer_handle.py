"""The producer handle that a learner works with."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.clients.producer import Producer
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition, apply
from minikafka.clients.transactions import GroupMetadata, Step, Transactions
from minikafka.simulation.arguments import (
    COMMITS,
    GROUP,
    HEADERS,
    NUMBER,
    OFFSET,
    TEXT,
    WAIT_S,
    checked,
    shown,
)
from minikafka.simulation.calls import recorded
from minikafka.simulation.handles import Handle, counted
from minikafka.simulation.serializers import serialize
from minikafka.wire.errors import Error, KafkaError


class ProducerHandle(Handle):
    """A producer, used like kafka-python's KafkaProducer. Keys and values may be text,
    bytes, or anything that JSON can represent.
    """

    @property
    def core(self) -> Producer:
        assert isinstance(self._process.core, Producer)
        return self._process.core

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.core.config)

    def _state(self) -> str:
        waiting = self.waiting_records() if self._process.state == "up" else 0
        return super()._state() + (
            f", {counted(waiting, 'record')} waiting" if waiting else ""
        )

    def waiting_records(self) -> int:
        """Records that have not been sent yet."""
        return 0 if self.core.closed else self.core.accumulator.waiting_records()

    @checked(
        topic=TEXT,
        headers=HEADERS,
        partition=NUMBER.or_none("the partitioner's choice"),
        timestamp_ms=OFFSET.or_none("now"),
    )
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
        """Put a record into the producer's buffer; it leaves linger_ms later, or with a
        full batch.

        Waits only for the topic's metadata the first time, and while the buffer is
        full. The future's get() returns RecordMetadata.
        """
        self._begin("send")
        sent_headers = encoded_headers(headers)
        config = self.core.config
        key_bytes = self._bytes(
            "key", config["key_serializer"], topic, sent_headers, key
        )
        value_bytes = self._bytes(
            "value", config["value_serializer"], topic, sent_headers, value
        )
        future = self._refused(topic, key_bytes, value_bytes, sent_headers)
        if future is None:
            original = (key, value)
            now = self._now
            future = self.core.send(
                topic,
                value_bytes,
                key_bytes,
                sent_headers,
                partition,
                timestamp_ms,
                now,
                original,
            )
            self._turn()
        future.wait = self._wait_for_future
        self._environment.futures.append(future)
        return future

    def _bytes(
        self, what: str, serializer: Any, topic: str, headers: Any, data: Any
    ) -> bytes | None:
        if serializer is None:
            try:
                return serialize(data)
            except UnicodeEncodeError:
                raise ValueError(
                    f"{what}={shown(data)}: give a text that UTF-8 can hold, or bytes"
                ) from None
        serialized = apply(serializer, topic, headers, data)
        if serialized is not None and not isinstance(
            serialized, (bytes, bytearray, memoryview)
        ):
            raise TypeError(
                f"the {what}_serializer returned {type(serialized).__name__}, not bytes"
            )
        return None if serialized is None else bytes(serialized)

    def _refused(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Any
    ) -> Future | None:
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
                raise KafkaTimeoutError(
                    "the buffer (buffer_memory) stayed full for"
                    f" {patience_ms / 1000:g} s"
                )
        except KafkaError as error:
            self.core.left_out(error)
            future.fail(error)
            return future
        return None

    def _wait_for_metadata(self, topic: str) -> None:
        metadata = self.core.metadata
        if not metadata.want(topic):
            self.core.tick(self._now)
            self._turn()

            def is_known_or_refused() -> bool:
                if self.core.metadata.partitions(topic):
                    return True
                error = self.core.metadata.errors.get(topic, Error.NONE)
                return error is not Error.NONE and not error.retriable

            self._wait(is_known_or_refused, self.core.config["max_block_ms"])
            if not self.core.metadata.partitions(topic):
                error = self.core.metadata.errors.get(topic, Error.NONE)
                metadata.wanted.pop(topic, None)
                if error is Error.NONE or error.retriable:
                    seconds = self.core.config["max_block_ms"] / 1000
                    raise KafkaTimeoutError(
                        f"no metadata for topic {topic!r} within max_block_ms"
                        f" ({seconds:g} s)"
                    )
                raise KafkaError(error, f"topic {topic!r}: {error.message}")

    def _wait_for_future(self, future: Future, timeout: float | None) -> None:
        self._begin("get")
        self._environment.wait_for_future(future, timeout)

    @checked(timeout=WAIT_S)
    @recorded
    def flush(self, timeout: float | None = None) -> None:
        """Send everything now and wait until all of it is acknowledged or has failed;
        timeout: seconds.
        """
        self._begin("flush")
        self._flush(timeout)

    def _flush(self, timeout: float | None) -> None:
        core = self.core
        batches = list(core.accumulator.incomplete)
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

    # -- transactions (KIP-98), for a producer with a transactional_id

    @recorded
    def init_transactions(self) -> None:
        """Get an id and an epoch from the coordinator. A producer that used this
        transactional_id before is fenced, and its open transaction is aborted.
        """
        self._begin("init_transactions")
        self._ask("init_transactions", self._transactions.init)

    @recorded
    def begin_transaction(self) -> None:
        """Records sent from here on are committed by commit_transaction(), or never."""
        self._begin()
        self._transactions.begin()

    @checked(offsets=COMMITS, group=GROUP)
    @recorded
    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: str | GroupMetadata,
    ) -> None:
        """Commit a group's offsets with the transaction (KIP-447). group:
        consumer.group_metadata(), or its id.
        """
        self._begin("send_offsets_to_transaction")
        transactions = self._in_transaction()
        transactions.raise_if_unclear("send_offsets_to_transaction")
        who = GroupMetadata(group) if isinstance(group, str) else group
        self._ask("send_offsets_to_transaction", lambda: transactions.join_group(who))
        self._ask(
            "send_offsets_to_transaction",
            lambda: transactions.commit_offsets(offsets, who),
        )

    @recorded
    def commit_transaction(self) -> None:
        """Send everything, and commit the transaction."""
        self._begin("commit_transaction")
        transactions = self._in_transaction()
        transactions.raise_if_unclear("commit_transaction")
        self._flush(None)
        transactions.raise_error()
        self._decide("commit_transaction", True)

    @recorded
    def abort_transaction(self) -> None:
        """Abort the transaction. After an error that isn't fatal the next transaction
        may begin.
        """
        self._begin("abort_transaction")
        transactions = self._transactions
        if transactions.is_fatal:
            transactions.raise_error()
        transactions.raise_if_unclear("abort_transaction")
        self.core.abort(self._now)
        self._flush(None)
        self._decide("abort_transaction", False)
        if self.core.has_gap:
            self._ask("abort_transaction", transactions.init)

    @property
    def _transactions(self) -> Transactions:
        if self.core.transactions is None:
            raise IllegalStateError(
                "transactions need a transactional_id:"
                " cluster.producer(transactional_id=...)"
            )
        return self.core.transactions

    def _in_transaction(self) -> Transactions:
        transactions = self._transactions
        if not transactions.is_open:
            raise IllegalStateError(
                "no transaction is open: begin_transaction() opens one"
            )
        transactions.raise_error()
        return transactions

    def _decide(self, call: str, committed: bool) -> None:
        transactions = self._transactions
        try:
            self._ask(call, lambda: transactions.end(committed))
        except KafkaTimeoutError:
            transactions.unclear = call
            raise

    def _ask(self, call: str, question: Callable[[], Step | None]) -> None:
        """Send a transaction's next request, and wait for the answer."""
        core = self.core
        asked = core.ask(question, self._now)
        self._turn()
        if asked is None:
            return
        if not self._wait(lambda: asked.is_done, core.config["max_block_ms"]):
            core.questions.give_up(asked)
            raise KafkaTimeoutError(
                f"{call}: no answer within max_block_ms"
                f" ({core.config['max_block_ms'] / 1000:g} s)"
            )
        asked.get()

    def _before_close(self, timeout: float | None) -> None:
        try:
            self._flush(timeout)
        except KafkaTimeoutError:
            pass  # the remaining futures fail when the producer closes

    @checked(topic=TEXT)
    def partitions_for(self, topic: str) -> set[int]:
        """The partitions of a topic as this producer knows them."""
        self._begin("partitions_for")
        self._wait_for_metadata(topic)
        return set(self.core.metadata.partitions(topic) or {})


def encoded_headers(headers: Any) -> list[tuple[str, bytes | None]]:
    """Headers as (text, bytes) pairs; text values become UTF-8."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return [(name, serialize(value)) for name, value in pairs]
