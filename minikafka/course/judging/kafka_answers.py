"""One answer of somebody's Kafka: decoded, and its fields compared with what they should
be. What is wrong is told by the field, and by the first byte that shows it.
"""

from collections.abc import Iterable
from typing import Any

from minikafka.course.judging.conversation import Exchange
from minikafka.wire.errors import Error
from minikafka.wire.messages import encode_response
from minikafka.wire.schema import Message

Place = tuple[str, int]  # topic and partition
_SHOWN = 4  # bytes
LAST = -1


class Wrong(Exception):
    """What is wrong with somebody's Kafka, in a line.

    frame: the number of the frame that shows it; LAST is the last one so far.
    """

    def __init__(self, line: str, frame: int | None = None) -> None:
        super().__init__(line)
        self.frame = frame


class NoAnswer(Wrong):
    """A question that has none."""


def same(what: str, given: Any, expected: Any, frame: int | None = None) -> None:
    """Errors: Wrong."""
    if given != expected:
        raise Wrong(f"{what} is {given}, and should be {expected}", frame)


class Answer:
    """One answer, decoded. Errors of everything here: Wrong."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.api = exchange.asked.api
        if not exchange.asked.wants_an_answer:
            raise Wrong(
                "Produce with acks=0 was answered: its producer wants no answer"
            )
        given = int.from_bytes(exchange.data[:4], "big", signed=True)
        asked = exchange.asked.correlation_id
        if given != asked:
            raise Wrong(
                f"{self.api}, answer: correlation_id is {given}, and the request's was"
                f" {asked}{_bytes_at(0, exchange.data[:4], _as_int32(asked))}"
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
        """The answer as its fields are now."""
        parts = encode_response(
            self.api,
            self.exchange.answer_version,
            self.exchange.asked.correlation_id,
            self.body,
        )
        return b"".join(parts)

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
        should_be = f"{_value(name, found)}, and should be {_value(name, value)}"
        if why:
            should_be = f"{why}: {should_be}"
        of = f" of {where}" if where else ""
        raise Wrong(
            f"{self.api}, answer: {name}{of} is {should_be}"
            f"{self._in_bytes(owner, name, found, value)}"
            f"{because and f'; {because}'}"
        )

    def _in_bytes(self, owner: Message, name: str, found: Any, value: Any) -> str:
        """The field's own bytes: of a number all of them, of bytes from the first other
        one on. A text can be read as it is.
        """
        if isinstance(value, bytes):
            at = _first_other(found, value)
            mine, right = found[at : at + _SHOWN], value[at : at + _SHOWN]
            return _bytes_at(at, mine, right, of=" of it")
        if not isinstance(found, int):
            return ""
        before = self._encoded()
        setattr(owner, name, not found if isinstance(found, bool) else ~found)
        turned = self._encoded()  # each bit of the field is another one now
        setattr(owner, name, value)
        after = self._encoded()
        field = [at for at, byte in enumerate(before) if turned[at] != byte]
        first, end = field[0], field[-1] + 1
        return _bytes_at(first, before[first:end], after[first:end])

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


def partitions_in(
    topics: Iterable[Message], inside: str, number: str, name: str = "name"
) -> list[tuple[Place, Any]]:
    """(topic and partition, what is said of it) of a request or an answer."""
    return [
        ((getattr(topic, name), getattr(each, number)), each)
        for topic in topics or ()
        for each in getattr(topic, inside)
    ]


def found_of(
    answer: Answer, topics: str, inside: str, number: str, name: str = "name"
) -> dict[Place, Message]:
    """What an answer says of each partition."""
    return dict(partitions_in(getattr(answer.body, topics), inside, number, name))


def _first_other_byte(found: bytes, expected: bytes) -> str:
    """(from byte 12: 00 01, should be 00 02)"""
    at = _first_other(found, expected)
    return _bytes_at(at, found[at : at + _SHOWN], expected[at : at + _SHOWN])


def _first_other(found: bytes, expected: bytes) -> int:
    """Where they begin to differ."""
    shared = min(len(found), len(expected))
    return next((n for n in range(shared) if found[n] != expected[n]), shared)


def _bytes_at(at: int, found: bytes, expected: bytes, of: str = "") -> str:
    """In brackets, below what was said of a field."""
    mine, right = found.hex(" ") or "nothing", expected.hex(" ") or "nothing"
    return f" (from byte {at}{of}: {mine}, should be {right})"


def _as_int32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def _value(name: str, value: Any) -> str:
    """As it is shown: an error code with its name, bytes by their count."""
    if name == "error_code" and value in iter(Error):
        return f"{value} ({Error(value).name})"
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
