"""What a Kafka may answer: the state that its clients have brought it to, as far as
their conversation tells, and each answer compared with that.

The rules know nothing of how a client was made. So the same ones judge what our own
questions are answered, and what real clients are.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from minikafka.course.judging.conversation import Exchange
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import encode_response
from minikafka.wire.records import batches, crc_matches, read_header
from minikafka.wire.schema import Message

_FROM_LENGTH, _AFTER_EPOCH = 8, 16  # in a batch; the leader epoch lies between
_EARLIEST, _LATEST = -2, -1  # timestamps of ListOffsets

Place = tuple[str, int]  # topic and partition


class Wrong(Exception):
    """What is wrong with an answer, in a line."""


class Stored(NamedTuple):
    """A batch that was acknowledged."""

    base_offset: int
    next_offset: int
    batch: bytes


class GroupSeen:
    """A group, as its members' requests and the answers to them show it."""

    def __init__(self) -> None:
        self.generation = 0
        self.leaders: dict[int, str] = {}  # generation -> member id
        self.joined: dict[str, int] = {}  # member id -> its generation
        self.assigned: dict[int, dict[str, bytes]] = {}  # what the leader has sent
        self.committed: dict[Place, int] = {}


class Rules:
    """Goes through a conversation. port: the broker's own, which its answers must name;
    it has another one in another life.
    """

    def __init__(self) -> None:
        self.port = 0
        self.topics: dict[str, int] = {}  # name -> how many partitions
        self.logs: dict[Place, list[Stored]] = {}
        self._sent: dict[Place, int] = {}  # records in all Produce requests
        self._groups: dict[str, GroupSeen] = {}
        # what a request could know of when it was sent
        self._ends_at: dict[tuple[int, int], dict[Place, int]] = {}
        self._generation_at: dict[tuple[int, int], int] = {}

    def end(self, place: Place) -> int:
        """The offset after the last record that was acknowledged."""
        log = self.logs.get(place)
        return log[-1].next_offset if log else 0

    def hear(self, exchange: Exchange) -> None:
        """The next frame. Errors: Wrong."""
        name = _snake(exchange.asked.api)
        if exchange.is_request:
            self._ends_at[exchange.of] = {place: self.end(place) for place in self.logs}
            heard = getattr(self, f"_asked_{name}", None)
            if heard and exchange.asked.body is not None:
                heard(exchange, exchange.asked.body)
            return
        answer = Answer(exchange)
        judge = getattr(self, f"_answered_{name}", None)
        if judge:
            judge(answer, exchange.asked.body)

    # -- what is where

    def _answered_api_versions(self, answer: "Answer", request: Message | None) -> None:
        listed = {each.api_key: each for each in answer.body.api_keys}
        own = listed.get(18)
        if own is None:
            raise Wrong("ApiVersions, answer: its own entry, key 18, isn't in the list")
        asked = answer.exchange.asked.version
        known = own.min_version <= asked <= own.max_version
        expected = 0 if known else Error.UNSUPPORTED_VERSION
        answer.expect(answer.body, "error_code", int(expected))

    def _answered_metadata(self, answer: "Answer", request: Message) -> None:
        if not answer.body.brokers:
            raise Wrong("Metadata, answer: brokers is empty, and should have one")
        brokers = {each.node_id: each for each in answer.body.brokers}
        found = {topic.name: topic for topic in answer.body.topics}
        for asked in request.topics or ():
            topic = found.get(asked.name)
            if topic is None:
                raise Wrong(f"Metadata, answer: the topic {asked.name} isn't in it")
            may_be_made = request.allow_auto_topic_creation
            is_there = asked.name in self.topics or may_be_made
            code = Error.NONE if is_there else Error.UNKNOWN_TOPIC_OR_PARTITION
            answer.expect(topic, "error_code", int(code), asked.name)
            if is_there and not topic.partitions:
                raise Wrong(f"Metadata, answer: {asked.name} has no partitions")
        for topic in found.values():
            for number, partition in enumerate(topic.partitions):
                where = f"{topic.name}-{number}"
                answer.expect(partition, "partition_index", number, where)
                answer.expect(partition, "error_code", 0, where)
                if partition.leader_id not in brokers:
                    answer.expect(partition, "leader_id", min(brokers), where)
            if topic.partitions:
                self.topics[topic.name] = len(topic.partitions)
        for broker in brokers.values():
            answer.expect(broker, "port", self.port, f"broker {broker.node_id}")

    # -- records

    def _asked_produce(self, exchange: Exchange, request: Message) -> None:
        for place, asked in _partitions(request.topic_data, "partition_data", "index"):
            batch = bytes(asked.records)
            count = _records_in(batch)
            self._sent[place] = self._sent.get(place, 0) + count
            if request.acks == 0 and count:
                self._store(place, batch)

    def _answered_produce(self, answer: "Answer", request: Message) -> None:
        found = _found(answer, "responses", "partition_responses", "index")
        for place, asked in _partitions(request.topic_data, "partition_data", "index"):
            partition, where = answer.at(found, place)
            batch = bytes(asked.records)
            expected = Error.NONE
            if not self._has(place):
                expected = Error.UNKNOWN_TOPIC_OR_PARTITION
            elif not _records_in(batch):
                expected = Error.CORRUPT_MESSAGE
            answer.expect(partition, "error_code", int(expected), where)
            if not expected:
                answer.expect(partition, "base_offset", self.end(place), where)
                self._store(place, batch)

    def _store(self, place: Place, batch: bytes) -> None:
        base_offset = self.end(place)
        next_offset = base_offset + _records_in(batch)
        stored = Stored(base_offset, next_offset, batch)
        self.logs.setdefault(place, []).append(stored)

    def _has(self, place: Place) -> bool:
        return place[1] in range(self.topics.get(place[0], 0))

    def _answered_fetch(self, answer: "Answer", request: Message) -> None:
        before = self._ends_at[answer.exchange.of]
        found = _found(answer, "responses", "partitions", "partition_index", "topic")
        waiting, given = 0, 0
        for place, asked in _partitions(
            request.topics, "partitions", "partition", "topic"
        ):
            partition, where = answer.at(found, place)
            expected = self._error_of_fetch(place, asked.fetch_offset)
            answer.expect(partition, "error_code", int(expected), where)
            if expected:
                given += 1  # an error is an answer, too
                continue
            answer.expect_between(
                partition,
                "high_watermark",
                (before.get(place, 0), max(self._sent.get(place, 0), self.end(place))),
                where,
            )
            waiting += asked.fetch_offset < before.get(place, 0)
            given += len(partition.records or b"")
            self._same_batches(answer, place, asked.fetch_offset, partition)
        if waiting and not given:
            raise Wrong("Fetch, answer: records is empty, and there are some to read")

    def _error_of_fetch(self, place: Place, offset: int) -> Error:
        if not self._has(place):
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        newest = max(self._sent.get(place, 0), self.end(place))
        if not 0 <= offset <= newest:
            return Error.OFFSET_OUT_OF_RANGE
        return Error.NONE

    def _same_batches(
        self, answer: "Answer", place: Place, offset: int, partition: Message
    ) -> None:
        """What comes back is what was stored, from the batch with this offset on."""
        where = f"{place[0]}-{place[1]}"
        data = bytes(partition.records or b"")
        log = {each.base_offset: each for each in self.logs.get(place, ())}
        wanted = offset
        try:
            for header, view in batches(data):
                batch = bytes(view)
                first = header.base_offset
                if not (first <= wanted <= header.last_offset):
                    raise Wrong(
                        f"Fetch, answer: {where} should go on with offset {wanted}, and"
                        f" there is a batch with {first} to {header.last_offset}"
                    )
                if not crc_matches(batch, header):
                    raise Wrong(
                        f"Fetch, answer: the batch at offset {first} of {where} does not"
                        f" match its checksum{_difference(log.get(first), batch)}"
                    )
                stored = log.get(first)
                if stored and _content(stored.batch) != _content(batch):
                    raise Wrong(
                        f"Fetch, answer: the batch at offset {first} of {where} is not"
                        f" the one that was produced{_difference(stored, batch)}"
                    )
                wanted = header.next_offset
        except KafkaError as error:
            raise Wrong(f"Fetch, answer: {where} has no record batch: {error}") from None

    def _answered_list_offsets(self, answer: "Answer", request: Message) -> None:
        before = self._ends_at[answer.exchange.of]
        found = _found(answer, "topics", "partitions", "partition_index")
        for place, asked in _partitions(request.topics, "partitions", "partition_index"):
            partition, where = answer.at(found, place)
            if not self._has(place):
                code = int(Error.UNKNOWN_TOPIC_OR_PARTITION)
                answer.expect(partition, "error_code", code, where)
            elif asked.timestamp == _EARLIEST:
                answer.expect(partition, "error_code", 0, where)
                answer.expect(partition, "offset", 0, where)
            elif asked.timestamp == _LATEST:
                answer.expect(partition, "error_code", 0, where)
                newest = max(self._sent.get(place, 0), self.end(place))
                between = before.get(place, 0), newest
                answer.expect_between(partition, "offset", between, where)

    # -- groups

    def _group(self, group_id: str) -> GroupSeen:
        return self._groups.setdefault(group_id, GroupSeen())

    def _answered_find_coordinator(self, answer: "Answer", request: Message) -> None:
        answer.expect(answer.body, "error_code", 0)
        answer.expect(answer.body, "port", self.port)

    def _answered_offset_commit(self, answer: "Answer", request: Message) -> None:
        group = self._group(request.group_id)
        found = _found(answer, "topics", "partitions", "partition_index")
        for place, asked in _partitions(request.topics, "partitions", "partition_index"):
            partition, where = answer.at(found, place)
            if request.generation_id_or_member_epoch < 0:  # no member
                answer.expect(partition, "error_code", 0, where)
            if not partition.error_code:
                group.committed[place] = asked.committed_offset

    def _answered_offset_fetch(self, answer: "Answer", request: Message) -> None:
        committed = self._group(request.group_id).committed
        found = _found(answer, "topics", "partitions", "partition_index")
        places = list(found)
        if request.topics is not None:
            places = [
                (topic.name, number)
                for topic in request.topics
                for number in topic.partition_indexes
            ]
        for place in places:
            partition, where = answer.at(found, place)
            answer.expect(partition, "error_code", 0, where)
            expected = committed.get(place, -1)
            answer.expect(partition, "committed_offset", expected, where)

    def _answered_join_group(self, answer: "Answer", request: Message) -> None:
        group, body = self._group(request.group_id), answer.body
        if not request.member_id:
            answer.expect(body, "error_code", 0)
        if body.error_code:
            return
        before = group.joined.get(body.member_id)
        if before is not None and body.generation_id <= before:
            answer.expect(body, "generation_id", before + 1)
        if body.generation_id < group.generation:
            answer.expect(body, "generation_id", group.generation)
        group.generation = body.generation_id
        group.joined[body.member_id] = body.generation_id
        leader = group.leaders.setdefault(body.generation_id, body.leader)
        answer.expect(body, "leader", leader)
        if body.member_id == leader:
            listed = [each.member_id for each in body.members]
            if leader not in listed:
                raise Wrong("JoinGroup, answer: the leader is not among the members")

    def _asked_sync_group(self, exchange: Exchange, request: Message) -> None:
        group = self._group(request.group_id)
        if group.leaders.get(request.generation_id) == request.member_id:
            group.assigned[request.generation_id] = {
                each.member_id: bytes(each.assignment) for each in request.assignments
            }

    def _answered_sync_group(self, answer: "Answer", request: Message) -> None:
        group, body = self._group(request.group_id), answer.body
        if body.error_code:
            return
        assigned = group.assigned.get(request.generation_id)
        if assigned is None:
            raise Wrong("SyncGroup was answered before the leader had said who reads what")
        theirs = bytes(body.assignment)
        if theirs != assigned.get(request.member_id, b""):
            others = [name for name, said in assigned.items() if said == theirs]
            of = "another member's" if others else "not what the leader has sent"
            answer.expect(
                body, "assignment", assigned.get(request.member_id, b""), why=of
            )

    def _asked_heartbeat(self, exchange: Exchange, request: Message) -> None:
        self._generation_at[exchange.of] = self._group(request.group_id).generation

    def _answered_heartbeat(self, answer: "Answer", request: Message) -> None:
        group, code = self._group(request.group_id), answer.body.error_code
        if request.member_id not in group.joined:
            answer.expect(answer.body, "error_code", int(Error.UNKNOWN_MEMBER_ID))
        elif not code and request.generation_id < self._generation_at[answer.exchange.of]:
            answer.expect(answer.body, "error_code", int(Error.ILLEGAL_GENERATION))

    def _answered_leave_group(self, answer: "Answer", request: Message) -> None:
        group = self._group(request.group_id)
        known = request.member_id in group.joined
        expected = Error.NONE if known else Error.UNKNOWN_MEMBER_ID
        answer.expect(answer.body, "error_code", int(expected))
        group.joined.pop(request.member_id, None)


class Answer:
    """One answer, decoded. Errors of everything here: Wrong."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.api = exchange.asked.api
        if not exchange.asked.wants_an_answer:
            raise Wrong("Produce with acks=0 was answered: its producer wants no answer")
        given = int.from_bytes(exchange.data[:4], "big", signed=True)
        asked = exchange.asked.correlation_id
        if given != asked:
            raise Wrong(
                f"{self.api}, answer: correlation_id is {given}, and the request's was"
                f" {asked} (from byte 0)"
            )
        try:
            self.body: Any = exchange.answer
        except ValueError as error:
            raise Wrong(f"{self.api}, answer: it can't be read: {error}") from None
        again = self._encoded()
        if again != exchange.data:
            raise Wrong(
                f"{self.api}, answer: not of version {exchange.answer_version}"
                f"{_first_other_byte(exchange.data, again)}"
            )

    def _encoded(self) -> bytes:
        parts = encode_response(
            self.api,
            self.exchange.answer_version,
            self.exchange.asked.correlation_id,
            self.body,
        )
        return b"".join(parts)

    def expect(
        self, owner: Message, name: str, value: Any, where: str = "", why: str = ""
    ) -> None:
        """This field of the answer, or of something in it, should have this value."""
        found = getattr(owner, name)
        if isinstance(value, bytes):
            found = bytes(found)
        if found == value:
            return
        before = self._encoded()
        setattr(owner, name, value)
        should_be = f"{_value(name, found)}, and should be {_value(name, value)}"
        if why:
            should_be = f"{why}: {should_be}"
        of = f" of {where}" if where else ""
        raise Wrong(
            f"{self.api}, answer: {name}{of} is {should_be}"
            f"{_first_other_byte(before, self._encoded())}"
        )

    def expect_between(
        self, owner: Message, name: str, between: tuple[int, int], where: str
    ) -> None:
        """Where the answer may have overtaken what a producer heard."""
        low, high = between
        if not low <= getattr(owner, name) <= high:
            self.expect(owner, name, low if getattr(owner, name) < low else high, where)

    def at(self, found: dict[Place, Message], place: Place) -> tuple[Any, str]:
        """(what is said of a partition, its name)."""
        where = f"{place[0]}-{place[1]}"
        if place not in found:
            raise Wrong(f"{self.api}, answer: {where} was asked for, and isn't in it")
        return found[place], where


def _partitions(
    topics: Iterable[Message], inside: str, number: str, name: str = "name"
) -> list[tuple[Place, Any]]:
    """(topic and partition, what is said of it) of a request or an answer."""
    return [
        ((getattr(topic, name), getattr(each, number)), each)
        for topic in topics or ()
        for each in getattr(topic, inside)
    ]


def _found(
    answer: Answer, topics: str, inside: str, number: str, name: str = "name"
) -> dict[Place, Message]:
    return dict(_partitions(getattr(answer.body, topics), inside, number, name))


def _records_in(batch: bytes) -> int:
    """How many offsets a producer's batch takes; 0 if it is damaged."""
    try:
        header = read_header(batch)
    except KafkaError:
        return 0
    return header.last_offset_delta + 1 if crc_matches(batch, header) else 0


def _content(batch: bytes) -> bytes:
    """All that the broker doesn't write."""
    return batch[_FROM_LENGTH:12] + batch[_AFTER_EPOCH:]


def _difference(stored: Stored | None, batch: bytes) -> str:
    if stored is None:
        return ""
    shared = min(len(stored.batch), len(batch))
    for at in range(_AFTER_EPOCH, shared):
        if stored.batch[at] != batch[at]:
            return (
                f" (byte {at} of the batch: {batch[at]:02x}, should be"
                f" {stored.batch[at]:02x})"
            )
    return f" (it has {len(batch)} bytes, and should have {len(stored.batch)})"


def _first_other_byte(found: bytes, expected: bytes) -> str:
    """(from byte 12: 00 01, should be 00 02)"""
    shared = min(len(found), len(expected))
    at = next((n for n in range(shared) if found[n] != expected[n]), shared)
    mine, right = found[at : at + 4].hex(" "), expected[at : at + 4].hex(" ")
    return f" (from byte {at}: {mine or 'nothing'}, should be {right or 'nothing'})"


def _value(name: str, value: Any) -> str:
    if name == "error_code" and value in iter(Error):
        return f"{value} ({Error(value).name})"
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def _snake(api: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in api)[1:]
