"""Which answers a Kafka may give: the state that its clients have brought it to, as far
as their conversation shows, and each answer compared with that.

The rules don't depend on the client. So the same rules judge the answers to our own
questions, and those to real clients.
"""

from collections.abc import Callable
from typing import NamedTuple

from minikafka.course.judging.conversation import Exchange
from minikafka.course.judging.kafka_answers import (
    HERE,
    Answer,
    Fields,
    Place,
    Wrong,
    name_of,
    partitions_in,
)
from minikafka.course.judging.kafka_group_rules import GroupRules
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import API
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import BatchHeader, batches, crc_matches, read_header
from minikafka.wire.schema import Message
from minikafka.wire.schema_text import snake_case

_AFTER_EPOCH = 16  # in a batch: base offset, length and leader epoch lie before
_EARLIEST, _LATEST = -2, -1  # timestamps of ListOffsets
# what requests call their partitions, and what answers do
_PRODUCE = Fields("topic_data", "partition_data", number="index")
_PRODUCED = Fields("responses", "partition_responses", number="index")
_FETCH = Fields(topic="topic", number="partition")
_FETCHED = Fields("responses", topic="topic")
_LIST_OFFSETS = Fields()


class Rules:
    """Goes through a conversation."""

    def __init__(self) -> None:
        self._parts = (RecordRules(), GroupRules())

    def hear(self, exchange: Exchange, port: int) -> None:
        """The next frame. port: the broker's own, which its answers must name; it has
        another one in another life. Errors: Wrong.
        """
        api = snake_case(exchange.asked.api)
        request = exchange.asked.body
        if not exchange.is_request:
            answer = Answer(exchange)
            for part in self._parts:
                part.port = port
                _rule(part, f"_answered_{api}")(answer, request)
        elif request is not None:
            for part in self._parts:
                _rule(part, f"_asked_{api}")(exchange, request)


def _rule(part: object, name: str) -> Callable[..., None]:
    """One that does nothing where this part has none for that."""
    found: Callable[..., None] = getattr(part, name, _no_rule)
    return found


def _no_rule(*_: object) -> None:
    """An API that another part, or nobody, judges."""


class Stored(NamedTuple):
    """A batch that was acknowledged."""

    base_offset: int
    next_offset: int
    batch: bytes


class RecordRules:
    """The records that were written, and where."""

    def __init__(self) -> None:
        self.port = 0
        self._topics: dict[str, int] = {}  # name -> how many partitions
        self._producer_ids: set[int] = set()  # in all lives
        self._logs: dict[Place, list[Stored]] = {}
        self._sent: dict[Place, int] = {}  # records in all Produce requests
        # what a request could know of when it was sent
        self._ends_at: dict[tuple[int, int], dict[Place, int]] = {}

    def _end(self, place: Place) -> int:
        """The offset after the last record that was acknowledged."""
        log = self._logs.get(place)
        if not log:
            return 0
        return log[-1].next_offset

    def _newest(self, place: Place) -> int:
        """The highest offset that the end may have: a record that was sent may be
        stored before its producer is told.
        """
        return max(self._sent.get(place, 0), self._end(place))

    def _note_ends(self, exchange: Exchange, request: Message) -> None:
        """Note what the broker could know when the request came."""
        ends = {place: self._end(place) for place in self._logs}
        self._ends_at[exchange.of] = ends

    _asked_fetch = _asked_list_offsets = _note_ends

    def _end_when_asked(self, answer: Answer, place: Place) -> int:
        """The end of the log when the request was sent."""
        ends = self._ends_at[answer.exchange.of]
        return ends.get(place, 0)

    # -- what is where

    def _answered_api_versions(self, answer: Answer, request: Message | None) -> None:
        """An error for an unknown version of this very API, and for no other."""
        listed = {each.api_key: each for each in answer.body.api_keys}
        own = listed.get(API["ApiVersions"].key)
        if own is None:
            raise answer.wrong("its own entry, key 18, isn't in the list")
        asked = answer.exchange.asked.version
        expected = Error.UNSUPPORTED_VERSION
        if own.min_version <= asked <= own.max_version:
            expected = Error.NONE
        answer.expect(answer.body, "error_code", expected)

    def _answered_metadata(self, answer: Answer, request: Message) -> None:
        """The topics that were asked for, led by brokers that are there."""
        brokers = {each.node_id: each for each in answer.body.brokers}
        topics = {each.name: each for each in answer.body.topics}
        if not brokers:
            raise answer.wrong("brokers is empty, and should have one")
        for asked in request.topics or ():
            name = asked.name
            if name not in topics:
                raise answer.wrong(f"the topic {name} isn't in it")
            is_there = name in self._topics or request.allow_auto_topic_creation
            self._same_topic(answer, topics[name], is_there)
        for topic in topics.values():
            if topic.partitions:
                self._topics[topic.name] = len(topic.partitions)
                self._led(answer, topic, leaders=sorted(brokers))
        for broker in brokers.values():
            where = f"broker {broker.node_id}"
            answer.expect(broker, "port", self.port, where)
            if broker.host not in HERE:
                answer.expect(broker, "host", HERE[0], where)
        if answer.exchange.answer_version and answer.body.controller_id not in brokers:
            answer.expect(
                answer.body,
                "controller_id",
                min(brokers),
                because="Java's admin client waits for it until it times out",
            )

    def _same_topic(self, answer: Answer, topic: Message, is_there: bool) -> None:
        """One that was asked for."""
        expected = Error.NONE if is_there else Error.UNKNOWN_TOPIC_OR_PARTITION
        answer.expect(topic, "error_code", expected, topic.name)
        if is_there and not topic.partitions:
            raise Wrong(f"Metadata, answer: {topic.name} has no partitions")
        if not is_there and topic.partitions:
            raise Wrong(
                f"Metadata, answer: {topic.name} isn't there, and has partitions"
            )

    def _led(self, answer: Answer, topic: Message, leaders: list[int]) -> None:
        """Its partitions count from 0, and a broker leads each of them."""
        for number, partition in enumerate(topic.partitions):
            where = f"{topic.name}-{number}"
            answer.expect(partition, "partition_index", number, where)
            answer.expect(partition, "error_code", Error.NONE, where)
            if partition.leader_id not in leaders:
                answer.expect(partition, "leader_id", leaders[0], where)
            for name, what in (
                ("replica_nodes", "copy"),
                ("isr_nodes", "in-sync copy"),
            ):
                answer.expect(
                    partition,
                    name,
                    [partition.leader_id],
                    where,
                    because=f"clients that list topics would show no {what}, and a"
                    " monitor would sound the alarm",
                )

    def _answered_init_producer_id(self, answer: Answer, request: Message) -> None:
        """A number that nobody else has, also not before a restart."""
        given = answer.body.producer_id
        answer.expect(answer.body, "error_code", Error.NONE)
        if given < 0:
            raise answer.wrong(
                f"producer_id is {given}, which is none: kafka-python's producer is"
                " idempotent, and sends nothing before it has one"
            )
        if given in self._producer_ids:
            raise answer.wrong(
                f"producer_id is {given}, and another producer has it already: a broker"
                " that looks for repeats takes one's records for the other's"
            )
        self._producer_ids.add(given)
        answer.expect(answer.body, "producer_epoch", 0)

    # -- records

    def _asked_produce(self, exchange: Exchange, request: Message) -> None:
        """From now on its records may be read. Without acks they count at once."""
        for place, asked in partitions_in(request, _PRODUCE):
            count = _records_in(asked.records)
            sent = self._sent.get(place, 0)
            self._sent[place] = sent + count
            if request.acks == 0 and count:
                self._store(place, asked.records)

    def _answered_produce(self, answer: Answer, request: Message) -> None:
        """Each batch has the next offsets of its partition, or an error."""
        pairs = answer.pairs(request, asked_in=_PRODUCE, said_in=_PRODUCED)
        for place, asked, said, where in pairs:
            expected = self._error_of_produce(place, asked.records)
            answer.expect(said, "error_code", expected, where)
            if expected == Error.NONE:
                answer.expect(said, "base_offset", self._end(place), where)
                self._store(place, asked.records)
            else:
                answer.expect(said, "base_offset", -1, where)

    def _error_of_produce(self, place: Place, batch: Buffer) -> Error:
        """There must be such a partition, and the batch must be whole."""
        if not self._has(place):
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if not _records_in(batch):
            return Error.CORRUPT_MESSAGE
        return Error.NONE

    def _store(self, place: Place, batch: Buffer) -> None:
        """It is acknowledged: it must be there from now on."""
        base_offset = self._end(place)
        next_offset = base_offset + _records_in(batch)
        stored = Stored(base_offset, next_offset, bytes(batch))
        self._logs.setdefault(place, []).append(stored)

    def _has(self, place: Place) -> bool:
        """Whether Metadata has spoken of this partition."""
        topic, partition = place
        return partition < self._topics.get(topic, 0)

    def _answered_fetch(self, answer: Answer, request: Message) -> None:
        """Whole batches from the offset on, as they were produced, and the end of the
        log.
        """
        unread = ""  # where there are records to read
        has_some = False
        pairs = answer.pairs(request, asked_in=_FETCH, said_in=_FETCHED)
        for place, asked, said, where in pairs:
            offset = asked.fetch_offset
            where = f"{where} from offset {offset}"
            expected = self._error_of_fetch(place, offset)
            answer.expect(said, "error_code", expected, where)
            if expected != Error.NONE:
                has_some = True  # an error is an answer, too
                continue
            end = self._end_when_asked(answer, place)
            newest = self._newest(place)
            for name in ("high_watermark", "last_stable_offset"):
                answer.expect_between(said, name, end, newest, where)
            if offset < end:
                unread = where
            if said.records:
                has_some = True
                data = bytes(said.records)
                self._same_batches(data, place, offset)
                _fits(data, asked.partition_max_bytes, where)
        if unread and not has_some:
            raise answer.wrong(
                f"records of {unread} is empty, and there are some to read"
            )

    def _error_of_fetch(self, place: Place, offset: int) -> Error:
        """The end itself is in range."""
        if not self._has(place):
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if not 0 <= offset <= self._newest(place):
            return Error.OFFSET_OUT_OF_RANGE
        return Error.NONE

    def _same_batches(self, data: bytes, place: Place, offset: int) -> None:
        """Check that the records in an answer are those that were stored, from the
        batch with this offset on.
        """
        where = name_of(place)
        stored = {}
        for each in self._logs.get(place, ()):
            stored[each.base_offset] = each.batch
        try:
            for header, view in batches(data):
                _goes_on(header, offset, where)
                produced = stored.get(header.base_offset)
                _same_batch(header, bytes(view), produced, where)
                offset = header.next_offset
        except KafkaError as error:
            why = f"Fetch, answer: {where} has no record batch: {error}"
            raise Wrong(why) from None

    def _answered_list_offsets(self, answer: Answer, request: Message) -> None:
        """The beginning is 0: nothing is ever deleted. The end is as in Fetch."""
        pairs = answer.pairs(request, asked_in=_LIST_OFFSETS, said_in=_LIST_OFFSETS)
        for place, asked, said, where in pairs:
            if not self._has(place):
                expected = Error.UNKNOWN_TOPIC_OR_PARTITION
                answer.expect(said, "error_code", expected, where)
                continue
            answer.expect(said, "error_code", Error.NONE, where)
            if asked.timestamp == _EARLIEST:
                answer.expect(said, "offset", 0, where)
            elif asked.timestamp == _LATEST:
                end = self._end_when_asked(answer, place)
                newest = self._newest(place)
                answer.expect_between(said, "offset", end, newest, where)


def _goes_on(header: BatchHeader, offset: int, where: str) -> None:
    """The batch must have this offset."""
    first, last = header.base_offset, header.last_offset
    if not first <= offset <= last:
        raise Wrong(
            f"Fetch, answer: {where} should go on with offset {offset}, and there is a"
            f" batch with {first} to {last}"
        )


def _fits(data: bytes, most_bytes: int, where: str) -> None:
    """One batch comes in any case, however long it is (KIP-74)."""
    first_bytes = read_header(data).size_bytes
    if len(data) > max(most_bytes, first_bytes):
        raise Wrong(
            f"Fetch, answer: records of {where} has {len(data)} bytes, and"
            f" partition_max_bytes was {most_bytes}"
        )


def _same_batch(
    header: BatchHeader, batch: bytes, stored: bytes | None, where: str
) -> None:
    """stored: what the producer sent, as far as we know it."""
    which = f"the batch at offset {header.base_offset} of {where}"
    other = ""
    if stored is not None:
        other = _difference(stored, batch)
    if not crc_matches(batch, header):
        raise Wrong(f"Fetch, answer: {which} does not match its checksum{other}")
    if other:
        raise Wrong(f"Fetch, answer: {which} is not the one that was produced{other}")


def _records_in(batch: Buffer) -> int:
    """How many offsets a producer's batch takes; 0 if it is damaged."""
    try:
        header = read_header(batch)
    except KafkaError:
        return 0
    if not crc_matches(batch, header):
        return 0
    return header.last_offset_delta + 1


def _difference(stored: bytes, batch: bytes) -> str:
    """The first byte that is another one, of those that the broker doesn't write."""
    for at in range(_AFTER_EPOCH, min(len(stored), len(batch))):
        found, expected = batch[at], stored[at]
        if found != expected:
            return f" (byte {at} of the batch: {found:02x}, should be {expected:02x})"
    if len(stored) != len(batch):
        return f" (it has {len(batch)} bytes, and should have {len(stored)})"
    return ""
