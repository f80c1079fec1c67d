"""One answer of a learner's Kafka: decoded, and its fields compared with what they
should be. A fault is reported with the field, and with the first byte that shows it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from minikafka.course.judging.conversation import Exchange
from minikafka.wire.errors import Error
from minikafka.wire.messages import encode_response
from minikafka.wire.schema import Message

Place = tuple[str, int]  # topic and partition
HERE = ("127.0.0.1", "localhost")  # where a client finds the broker
_SHOWN = 4  # bytes
LAST = -1


class Wrong(Exception):
    """A fault of a learner's Kafka, in one line.

    frame: the number of the frame that shows it; LAST is the last one so far.
    """

    def __init__(self, line: str, frame: int | None = None) -> None:
        super().__init__(line)
        self.frame = frame


class NoAnswer(Wrong):
    """A question that has none."""


def same(what: str, given: Any, expected: Any, frame: int | None = None) -> None:
    """Raise Wrong unless a value is the expected one."""
    if given != expected:
        raise Wrong(f"{what} is {given}, and should be {expected}", frame)


class Fields(NamedTuple):
    """The names that a message uses for its list of topics, a topic's list of
    partitions, and the name and the number in them.
    """

    topics: str = "topics"
    partitions: str = "partitions"
    topic: str = "name"
    number: str = "partition_index"


class Pair(NamedTuple):
    """The part of a request about a partition, and the answer's part about it. where:
    the partition's name.
    """

    place: Place
    asked: Any
    said: Any
    where: str


class Answer:
    """One answer, decoded. Errors of everything here: Wrong."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.api = exchange.asked.api
        if not exchange.asked.wants_an_answer:
            raise Wrong(
                "Produce with acks=0 was answered: its producer wants no answer"
            )
        self._expect_correlation_id(exchange.asked.correlation_id)
        try:
            self.body: Any = exchange.answer
        except ValueError as error:
            raise self.wrong(f"it can't be read: {error}") from None
        self._expect_version()

    def _expect_correlation_id(self, asked: int) -> None:
        """The answer begins with that of its request."""
        first = self.exchange.data[:4]
        given = int.from_bytes(first, "big", signed=True)
        if given == asked:
            return
        right = asked.to_bytes(4, "big", signed=True)
        in_bytes = _bytes_at(0, first, right)
        raise self.wrong(
            f"correlation_id is {given}, and the request's was {asked}{in_bytes}"
        )

    def _expect_version(self) -> None:
        """Check that encoding its fields again gives the same bytes; otherwise it has
        another version.
        """
        found = self.exchange.data
        again = self._encoded()
        if again == found:
            return
        version = self.exchange.answer_version
        in_bytes = _first_other_bytes(found, again)
        raise self.wrong(f"not of version {version}{in_bytes}")

    def _encoded(self) -> bytes:
        """The answer as its fields are now."""
        parts = encode_response(
            self.api,
            self.exchange.answer_version,
            self.exchange.asked.correlation_id,
            self.body,
        )
        return b"".join(parts)

    def wrong(self, what: str) -> Wrong:
        """An error that names the API."""
        return Wrong(f"{self.api}, answer: {what}")

    # -- fields

    def expect(
        self,
        owner: Message,
        name: str,
        value: Any,
        where: str = "",
        why: str = "",
        because: str = "",
    ) -> None:
        """This field of the answer, or of something in it, should have this value. why:
        what it has instead; because: the reason for the right one.
        """
        found = getattr(owner, name)
        if isinstance(value, bytes):
            found = bytes(found)
        if found == value:
            return
        field = f"{name} of {where}" if where else name
        should_be = f"{_value(name, found)}, and should be {_value(name, value)}"
        if why:
            should_be = f"{why}: {should_be}"
        in_bytes = self._in_bytes(owner, name, found, value)
        reason = f"; {because}" if because else ""
        raise self.wrong(f"{field} is {should_be}{in_bytes}{reason}")

    def expect_between(
        self, owner: Message, name: str, low: int, high: int, where: str
    ) -> None:
        """Where the answer may have overtaken what a producer heard."""
        found = getattr(owner, name)
        if found < low:
            self.expect(owner, name, low, where)
        elif found > high:
            self.expect(owner, name, high, where)

    def _in_bytes(self, owner: Message, name: str, found: Any, value: Any) -> str:
        """The field's own bytes: of a number all of them, of bytes from the first other
        one on. A text can be read as it is.
        """
        if isinstance(value, bytes):
            return _first_other_bytes(found, value, inside=" of it")
        if not isinstance(found, int):
            return ""
        first, end = self._bytes_of_number(owner, name)
        before = self._encoded()
        setattr(owner, name, value)
        after = self._encoded()
        return _bytes_at(first, before[first:end], after[first:end])

    def _bytes_of_number(self, owner: Message, name: str) -> tuple[int, int]:
        """The first byte of this field, and the one after its last. They are those that
        change when each bit of the field is turned.
        """
        value = getattr(owner, name)
        turned = not value if isinstance(value, bool) else ~value
        before = self._encoded()
        setattr(owner, name, turned)
        after = self._encoded()
        setattr(owner, name, value)
        changed = [at for at, byte in enumerate(before) if after[at] != byte]
        return changed[0], changed[-1] + 1

    # -- partitions

    def partitions(self, fields: Fields) -> dict[Place, Any]:
        """The fields that the answer gives for each partition."""
        return dict(partitions_in(self.body, fields))

    def said_of(self, place: Place, partitions: dict[Place, Any]) -> Any:
        """The answer's part about a partition that was asked for."""
        if place not in partitions:
            raise self.wrong(f"{name_of(place)} was asked for, and isn't in it")
        return partitions[place]

    def pairs(
        self, request: Message, asked_in: Fields, said_in: Fields
    ) -> Iterator[Pair]:
        """Each partition that was asked for, and what is said of it."""
        partitions = self.partitions(said_in)
        for place, asked in partitions_in(request, asked_in):
            said = self.said_of(place, partitions)
            yield Pair(place, asked, said, name_of(place))


def name_of(place: Place) -> str:
    """A partition's usual name, such as orders-0."""
    topic, partition = place
    return f"{topic}-{partition}"


def partitions_in(message: Message, fields: Fields) -> Iterator[tuple[Place, Any]]:
    """Each partition that a request or an answer speaks of, and what it says."""
    topics = getattr(message, fields.topics)
    for topic in topics or ():
        name = getattr(topic, fields.topic)
        for partition in getattr(topic, fields.partitions):
            number = getattr(partition, fields.number)
            yield (name, number), partition


# -- bytes


def _first_other_bytes(found: bytes, expected: bytes, inside: str = "") -> str:
    """Where they begin to differ: (from byte 12: 00 01, should be 00 02)"""
    at = _first_other(found, expected)
    end = at + _SHOWN
    return _bytes_at(at, found[at:end], expected[at:end], inside)


def _first_other(found: bytes, expected: bytes) -> int:
    """The number of the first byte that is another one."""
    shared = min(len(found), len(expected))
    for at in range(shared):
        if found[at] != expected[at]:
            return at
    return shared


def _bytes_at(at: int, found: bytes, expected: bytes, inside: str = "") -> str:
    """In brackets, after what was said of a field. inside: of what the bytes are
    counted, where that isn't the answer.
    """
    mine = found.hex(" ") or "nothing"
    right = expected.hex(" ") or "nothing"
    return f" (from byte {at}{inside}: {mine}, should be {right})"


def _value(name: str, value: Any) -> str:
    """The value as it is shown: an error code with its name, bytes by their count."""
    if name == "error_code" and value in iter(Error):
        return f"{value} ({Error(value).name})"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value)
