"""The producer: records go in, batches go out, answers go back through the futures.

In order: a partitioner chooses the partition (partitioners.py), records wait in batches
(accumulator.py), and whenever something happens the ready batches for each leader are
sent in one Produce request, with up to max_in_flight_requests_per_connection requests
at a time.

With enable_idempotence (the default, as in Java) each batch carries producer id, epoch
and the sequence number of its first record (producer_sequences.py): the broker
recognizes a retry of a batch it already has, and refuses a gap. After a gap the
producer starts numbering at 0 again, once nothing is in flight.

A record is acknowledged or has failed at the latest delivery_timeout_ms after send(),
whatever it is waiting for by then: a full batch, a connection, an answer, the end of a
backoff (KIP-91). Until then retriable failures are retried, each time after a longer
backoff (KIP-580). Without idempotence a retry may write a record twice, if only the
answer was lost, and batches that are in flight together may change their order.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from minikafka.clients.accumulator import (
    Accumulator,
    Batch,
    Headers,
    Placed,
    record_size,
)
from minikafka.clients.connection import Client, Node
from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.clients.metadata import Address
from minikafka.clients.partitioners import (
    Choice,
    DefaultPartitioner,
    Partitioner,
    Partitions,
    Unplaced,
)
from minikafka.clients.producer_config import checked
from minikafka.clients.producer_sequences import Sequences
from minikafka.clients.request_state import RequestState, exponential_backoff_ms
from minikafka.clients.structs import TopicPartition, text
from minikafka.clients.transactions import Transactions
from minikafka.clock import Now
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import encode_batch
from minikafka.wire.schema import Message, nested

IN_THE_TRACE = (
    "acks",
    "enable_idempotence",
    "linger_ms",
    "batch_size",
    "max_in_flight_requests_per_connection",
)


class Producer(Client):
    """config: as in producer_config.py. random: 0 <= random() < 1."""

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[Address],
        trace: Trace,
        random: Callable[[], float],
        **config: Any,
    ) -> None:
        given = checked(config)
        super().__init__(name, bootstrap, trace, given)
        self.accumulator = Accumulator(
            given["batch_size"], given["linger_ms"], given["buffer_memory"]
        )
        partitioner = given["partitioner"]
        if partitioner is None:
            partitioner = DefaultPartitioner(random, given["batch_size"])
        self.partitioner: Partitioner = partitioner
        self._random = random
        self.idempotent: bool = given["enable_idempotence"]
        self._sequences = Sequences()
        self.transactions: Transactions | None = None
        transactional_id = given["transactional_id"]
        if transactional_id:
            timeout_ms = given["transaction_timeout_ms"]
            self.transactions = Transactions(
                self, self._sequences, self._renumber, transactional_id, timeout_ms
            )
        self.flushing = 0
        self._id_request = RequestState(self)
        self._in_flight: dict[Batch, None] = {}
        if self.trace:
            shown = {name: self.config[name] for name in IN_THE_TRACE}
            if self.transactions:
                shown["transaction_timeout_ms"] = self.config["transaction_timeout_ms"]
            self.trace.emit("ClientStarted", client="producer", topics=[], config=shown)

    @property
    def producer_id(self) -> int:
        """The producer id; -1 before it has one."""
        return self._sequences.producer_id

    @property
    def producer_epoch(self) -> int:
        """The producer epoch; -1 before it has one."""
        return self._sequences.producer_epoch

    @property
    def has_gap(self) -> bool:
        """Whether a numbered batch was given up, and the epoch hasn't grown since."""
        return self._sequences.has_gap

    # called by programs, through the shell

    def left_out(self, error: KafkaError) -> None:
        """A record was refused before it was in the buffer, so its transaction can't be
        committed.
        """
        if self.transactions is not None and self.transactions.is_open:
            self.transactions.refused(error.error, error.message)

    def size_of(
        self, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> int:
        """The number of bytes that a record takes in the buffer. Raises
        MESSAGE_TOO_LARGE if no request could hold it.
        """
        size = record_size(0, 0, key, value, headers)
        limit = self.config["max_request_size"]
        if size > limit:
            why = f"the record has {size} bytes; max_request_size is {limit}"
            raise KafkaError(Error.MESSAGE_TOO_LARGE, why)
        return size

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
        now: Now,
        original: tuple[Any, Any] = (None, None),
    ) -> Future:
        """Choose a partition and put the record into the buffer.

        The topic's metadata must be known, and the buffer must have room.
        """
        self._check_may_send()
        self._enter(now)
        partitions = self._partitions(topic)
        record = Unplaced(key, value, original)
        choice = self._choose(partitions, record, partition)
        timestamp = now.wall_ms if timestamp_ms is None else timestamp_ms
        target = TopicPartition(topic, choice.partition)
        closed = self.accumulator.make_room(target, timestamp, key, value, headers)
        if closed and partition is None:
            choice = self.partitioner.no_room(choice, record, partitions)
            target = TopicPartition(topic, choice.partition)
        placed = self.accumulator.append(
            target, self.now_ms, timestamp, key, value, headers
        )
        self.partitioner.appended(choice.partition, placed.size_bytes, partitions)
        if self.trace:
            self._partition_chosen(choice, record, partitions, placed)
            for full in closed + placed.filled:
                detail = full.described()
                self.trace.emit("BatchFilled", **detail, size_bytes=full.size_bytes)
        self._do_what_is_due()
        return placed.future

    def ask(self, question: Callable[[], Any], now: Now) -> Any:
        """Start the next request of a transaction. Returns it, or None if none is
        needed.
        """
        self._enter(now)
        asked = question()
        self._do_what_is_due()
        return asked

    def abort(self, now: Now) -> None:
        """Give up records that haven't been sent yet."""
        self._enter(now)
        why = "the transaction was aborted before it was sent"
        for batch in list(self.accumulator.incomplete):
            if batch not in self._in_flight:
                self.accumulator.drop(batch)
                self._fail(batch, KafkaError(Error.TRANSACTION_ABORTABLE, why))

    def close(self, now: Now) -> None:
        """Close the connections. Records that are not acknowledged yet fail."""
        self._enter(now)
        why = f"{self.name} was closed before the record was acknowledged"
        for batch in list(self.accumulator.incomplete):
            self._fail(batch, KafkaTimeoutError(why))
        super().close(now)

    # what happens automatically

    def work(self) -> None:
        super().work()
        self._expire()
        if not self.accumulator.incomplete or not self._has_producer_id():
            return
        ready = self._ready_partitions()
        if self.transactions is not None:
            self.transactions.join()
        most_in_flight = self.config["max_in_flight_requests_per_connection"]
        for node, partitions in self.leaders(ready):
            if len(node.in_flight) >= most_in_flight:
                continue
            self._send_batches(node, partitions)
            if any(self.accumulator.queues[partition] for partition in partitions):
                self.wake(self.now_ms)  # the others go in the next request

    # from record to batch

    def _check_may_send(self) -> None:
        if self.closed:
            raise IllegalStateError(f"{self.name} is closed")
        if self.transactions is not None and not self.transactions.is_open:
            raise IllegalStateError(
                "a producer with a transactional_id writes in transactions:"
                " begin_transaction()"
            )
        if self.transactions is not None:
            self.transactions.raise_if_unclear("send")

    def _partitions(self, topic: str) -> Partitions:
        """What the partitioner may know about the topic."""
        known = self.metadata.partitions(topic)
        assert known, "the shell waits for metadata first"
        with_leader = []
        for number, partition in known.items():
            if partition.leader is not None:
                with_leader.append(number)
        return Partitions(
            topic=topic,
            all=list(known),
            available=with_leader,
            is_filling=partial(self.accumulator.is_filling, topic),
        )

    def _choose(
        self, partitions: Partitions, record: Unplaced, given: int | None
    ) -> Choice:
        if given is None:
            return self.partitioner.choose(record, partitions)
        if given not in partitions.all:
            highest = partitions.all[-1]
            raise ValueError(
                f"{partitions.topic} has no partition {given!r}: its partitions are 0"
                f" to {highest}"
            )
        return Choice(given, Reason("program", "the program said so"))

    def _partition_chosen(
        self, choice: Choice, record: Unplaced, partitions: Partitions, placed: Placed
    ) -> None:
        self.trace.emit(
            "PartitionChosen",
            topic=partitions.topic,
            partition=choice.partition,
            partitions=len(partitions.all),
            key=text(record.key),
            value=text(record.value),
            why=choice.why,
            hash=choice.hash,
            rule=choice.rule,
            batch=placed.batch.number,
            size_bytes=placed.size_bytes,
            sent_bytes=choice.sent_bytes,
            batch_size=self.config["batch_size"],
        )

    # from batch to leader

    def _ready_partitions(self) -> list[TopicPartition]:
        """The partitions with a batch to send now, the one that has waited longest
        first.
        """
        has_room = self.accumulator.has_room(self.config["batch_size"])
        at_once = bool(self.flushing) or not has_room
        found = []
        for partition, queue in self.accumulator.queues.items():
            if not queue or not self._may_go(queue[0]):
                continue
            ready_at = self.accumulator.ready_at(queue, at_once)
            if ready_at <= self.now_ms:
                found.append((queue[0].created_ms, partition))
            else:
                self.wake(ready_at)
        return [partition for _, partition in sorted(found)]

    def _may_go(self, batch: Batch) -> bool:
        """Whether a batch may be sent now, considering its transaction and its sequence
        number.
        """
        # checked before the transaction, which would add the partition
        if self.has_gap:
            return False
        transactions = self.transactions
        if transactions is not None and not transactions.may_send(batch.partition):
            return False
        most_in_flight = self.config["max_in_flight_requests_per_connection"]
        return self._sequences.may_go(batch, most_in_flight)

    def _send_batches(self, node: Node, partitions: list[TopicPartition]) -> None:
        batches = self._take_what_fits(partitions)
        body = self._produce_body(batches)
        wants_no_answer = self.config["acks"] == 0
        if wants_no_answer:
            self.request(node, "Produce", body, None)
        else:
            self._in_flight.update(dict.fromkeys(batches))
            answered = partial(self._answered, list(batches))
            self.request(node, "Produce", body, answered)
        if self.trace:
            for batch, why in batches.items():
                self._batch_sent(batch, why, node)
        if wants_no_answer:
            for batch in batches:
                self._succeed(batch, -1, -1)

    def _take_what_fits(self, partitions: list[TopicPartition]) -> dict[Batch, Reason]:
        """The first batch of each partition, as many as fit into one request, and the
        reason why each is sent now.
        """
        room = self.config["max_request_size"]
        taken: dict[Batch, Reason] = {}
        for partition in partitions:
            first = self.accumulator.queues[partition][0]
            if taken and first.size_bytes > room:
                break
            room -= first.size_bytes
            why = self._why_now(partition)
            batch = self.accumulator.take(partition)
            if self.idempotent:
                self._sequences.number(batch)
            batch.sent_ms = self.now_ms
            taken[batch] = why
        return taken

    def _produce_body(self, batches: Iterable[Batch]) -> dict[str, Any]:
        parts = []
        for batch in batches:
            producer_id, producer_epoch = batch.producer
            records = encode_batch(
                batch.records,
                compression=self.config["compression_type"],
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                base_sequence=batch.base_sequence,
                transactional=self.transactions is not None,
            )
            topic, number = batch.partition
            parts.append((topic, {"index": number, "records": records}))
        acks = self.config["acks"]
        return {
            "transactional_id": self.config["transactional_id"],
            "acks": -1 if acks == "all" else acks,
            "timeout_ms": self.request_timeout_ms,
            "topic_data": nested(parts, partitions="partition_data"),
        }

    def _batch_sent(self, batch: Batch, why: Reason, node: Node) -> None:
        detail = batch.described()
        self.trace.emit(
            "BatchSent",
            **detail,
            size_bytes=batch.size_bytes,
            base_sequence=batch.base_sequence,
            attempt=batch.attempts + 1,
            acks=self.config["acks"],
            why=why,
            connection=node.connection,
            correlation_id=self._correlation_id,
        )

    def _why_now(self, partition: TopicPartition) -> Reason:
        """The reason why a partition's first batch is sent."""
        queue = self.accumulator.queues[partition]
        first = queue[0]
        linger_ms = self.config["linger_ms"]
        if first.attempts:
            waited_ms = self.now_ms - first.failed_ms
            return Reason("retry", f"tried again after {waited_ms} ms")
        if first.closed or len(queue) > 1:
            return Reason("full", "it is full")
        if self.now_ms - first.created_ms >= linger_ms:
            if linger_ms == 0:
                return Reason("linger_ms", "linger_ms=0")
            return Reason("linger_ms", f"linger_ms={linger_ms} has passed")
        if self.flushing:
            return Reason("flush", "the program flushes")
        return Reason("buffer_memory", "buffer_memory is used up")

    def _answered(self, batches: list[Batch], response: Message | None) -> None:
        # the others have expired
        open_batches = [batch for batch in batches if batch in self._in_flight]
        for batch in open_batches:
            del self._in_flight[batch]
        if response is None:
            for batch in open_batches:
                why = self._why_no_answer(batch)
                self._retry_or_fail(batch, Error.NETWORK_EXCEPTION, None, why)
            return
        answers = _by_partition(response)
        for batch in open_batches:
            self._batch_answered(batch, answers[batch.partition])

    def _why_no_answer(self, batch: Batch) -> Reason:
        waited_ms = self.now_ms - batch.sent_ms
        if waited_ms >= self.request_timeout_ms:
            sentence = f"no answer for {waited_ms / 1000:g} s"
            return Reason("request_timeout_ms", sentence)
        return Reason("connection_lost", "the connection was lost")

    def _batch_answered(self, batch: Batch, answer: Message) -> None:
        error = Error(answer.error_code)
        if error is Error.NONE:
            self._succeed(batch, answer.base_offset, answer.log_append_time_ms)
        # the broker has it, but its offset is unknown
        elif error is Error.DUPLICATE_SEQUENCE_NUMBER:
            self._succeed(batch, -1, -1)
        else:
            why = Reason("refused", f"the broker said {error.name}")
            self._retry_or_fail(batch, error, answer.error_message, why)

    def _retry_or_fail(
        self, batch: Batch, error: Error, message: str | None, why: Reason
    ) -> None:
        batch.attempts += 1
        has_tries = batch.attempts <= self.config["retries"]
        is_over = not has_tries or self._expired(batch)
        if is_over or not self._may_pass(batch, error):
            self._fail(batch, KafkaError(error, message))
            return
        batch.failed_ms = self.now_ms
        backoff_ms = exponential_backoff_ms(
            batch.attempts,
            self.retry_backoff_ms,
            self.config["retry_backoff_max_ms"],
            self._random,
        )
        batch.retry_at = self.now_ms + backoff_ms
        self.accumulator.put_back(batch)
        self.metadata.refresh()
        if self.trace:
            detail = batch.described()
            detail |= {"attempt": batch.attempts, "backoff_ms": backoff_ms}
            self.trace.emit("BatchRetried", **detail, why=why)

    def _may_pass(self, batch: Batch, error: Error) -> bool:
        """Whether a retry may succeed. A gap because an earlier batch is being retried
        is no reason to give up (KIP-98).
        """
        if error.retriable:
            return True
        is_out_of_order = error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        return is_out_of_order and self._sequences.waits_for_earlier(batch)

    # the producer id

    def _has_producer_id(self) -> bool:
        """Whether batches may be sent as far as the producer id is concerned; requests
        one if it is missing. A transactional producer gets it from init_transactions().
        """
        if not self.idempotent or self.transactions is not None:
            return True
        if self.has_gap and not self._in_flight:
            self._sequences.begin_next_epoch(self.accumulator.incomplete)
        if self.producer_id >= 0:
            return True
        if self.is_due(self._id_request):
            self._ask_for_producer_id()
        return False

    def _renumber(self, producer_id: int, producer_epoch: int) -> None:
        """The coordinator has assigned an id and an epoch: sequence numbers
        begin at 0.
        """
        self._sequences.begin_next_epoch(self.accumulator.incomplete)
        self._sequences.producer_id = producer_id
        self._sequences.producer_epoch = producer_epoch

    def _ask_for_producer_id(self) -> None:
        node = self.any_node()
        if node is not None:
            body = {"transactional_id": None, "transaction_timeout_ms": 60000}
            answered = self._id_request.sent(self._take_producer_id)
            self.request(node, "InitProducerId", body, answered)

    def _take_producer_id(self, response: Message) -> None:
        if response.error_code == Error.NONE:
            self._sequences.producer_id = response.producer_id
            self._sequences.producer_epoch = response.producer_epoch
        else:
            self._id_request.back_off()

    # the end of a batch

    def _expired(self, batch: Batch) -> bool:
        return self.now_ms >= batch.created_ms + self.config["delivery_timeout_ms"]

    def _expire(self) -> None:
        """Give up the batches whose delivery timeout is over, wherever they are. The
        answer for one in flight is ignored.
        """
        timeout_ms = self.config["delivery_timeout_ms"]
        why = f"not acknowledged within delivery_timeout_ms ({timeout_ms / 1000:g} s)"
        while self.accumulator.incomplete:
            oldest = next(iter(self.accumulator.incomplete))
            if not self._expired(oldest):
                self.wake(oldest.created_ms + timeout_ms)
                return
            self._in_flight.pop(oldest, None)
            self.accumulator.drop(oldest)
            self._fail(oldest, KafkaTimeoutError(why))

    def _succeed(self, batch: Batch, base_offset: int, log_append_time_ms: int) -> None:
        self._forget(batch)
        if self.trace and self.config["acks"] != 0:
            detail = batch.described()
            self.trace.emit("RecordsAcknowledged", **detail, base_offset=base_offset)
        batch.succeed(base_offset, log_append_time_ms)

    def _fail(self, batch: Batch, error: KafkaError) -> None:
        self._sequences.given_up(batch)
        if self.transactions is not None:
            why = f"a record of the transaction failed: {error.message}"
            self.transactions.refused(error.error, why)
        self._forget(batch)
        if self.trace:
            self.trace.emit(
                "SendFailed",
                **batch.described(),
                error=error.error.name,
                message=error.message,
            )
        batch.fail(error)

    def _forget(self, batch: Batch) -> None:
        self.accumulator.finished(batch)
        batch.done = True
        self._sequences.forget_done(batch.partition)


def _by_partition(response: Message) -> dict[TopicPartition, Message]:
    """The results in a Produce answer, by partition."""
    answers = {}
    for topic in response.responses:
        for said in topic.partition_responses:
            answers[TopicPartition(topic.name, said.index)] = said
    return answers
