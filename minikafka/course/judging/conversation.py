"""The conversation of a client and a broker, decoded: each frame that passed a proxy,
together with the request that it is or answers.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from minikafka.server.proxy import Frame
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    UnsupportedVersion,
    api_name,
    decode_request,
    decode_response,
)
from minikafka.wire.schema import Message

_UNSUPPORTED = Error.UNSUPPORTED_VERSION.to_bytes(2, "big")
_MOST_CHARACTERS = 96  # of a line
_MOST_ITEMS = 3  # of a list


class Asked(NamedTuple):
    """The content of a request's header. body: None if the version is newer than ours,
    as a client's first ApiVersions may be (KIP-511).
    """

    api: str
    version: int
    correlation_id: int
    client_id: str | None
    body: Message | None

    @property
    def answer_version(self) -> int:
        """A version that the broker doesn't know is answered in the oldest one."""
        return 0 if self.body is None else self.version

    @property
    def wants_an_answer(self) -> bool:
        """Only a producer with acks=0 does not."""
        return self.api != "Produce" or self.body is None or self.body.acks != 0


class Exchange(NamedTuple):
    """A frame, and the request that it is, or that it answers."""

    connection: int
    is_request: bool
    data: bytes
    asked: Asked

    @property
    def of(self) -> tuple[int, int]:
        """Connection and correlation id: a request and its answer have the same."""
        return self.connection, self.asked.correlation_id

    @property
    def answer_version(self) -> int:
        """The version that an answer is written in. The one API whose unknown versions
        are answered, too, says by its error code that this is such an answer.
        """
        error_code = self.data[4:6]
        if self.asked.api == "ApiVersions" and error_code == _UNSUPPORTED:
            return 0
        return self.asked.answer_version

    @property
    def answer(self) -> Message:
        """The decoded answer, if it is one. Raises DecodeError."""
        _, body = decode_response(self.asked.api, self.answer_version, self.data)
        return body


def asked_by(frame: bytes) -> Asked:
    """The request in a frame, also if its version is unknown. Raises DecodeError."""
    try:
        read = decode_request(frame)
    except UnsupportedVersion as newer:
        return Asked(
            api=api_name(frame),
            version=newer.version,
            correlation_id=newer.correlation_id,
            client_id=None,
            body=None,
        )
    return Asked(
        api=read.api.name,
        version=read.version,
        correlation_id=read.correlation_id,
        client_id=read.client_id,
        body=read.body,
    )


def exchanges(frames: Iterable[Frame]) -> Iterator[Exchange]:
    """Each frame beside its request. An answer whose correlation id nobody has sent
    belongs to the oldest request of its connection that waits for one.
    """
    open_: dict[int, dict[int, Asked]] = {}  # connection -> correlation id -> request
    silent: dict[tuple[int, int], Asked] = {}  # those that want no answer
    for connection, is_request, data in frames:
        waiting = open_.setdefault(connection, {})
        if is_request:
            asked = asked_by(data)
            if asked.wants_an_answer:
                waiting[asked.correlation_id] = asked
            else:
                silent[connection, asked.correlation_id] = asked
        else:
            named = int.from_bytes(data[:4], "big", signed=True)
            if (connection, named) in silent:
                asked = silent[connection, named]
            elif waiting:
                asked = waiting.pop(named if named in waiting else next(iter(waiting)))
            else:
                continue  # an answer to nothing
        yield Exchange(connection, is_request, data, asked)


# -- as lines to read


class Mark(NamedTuple):
    """Something that was done to the process. connection: the first one that came after
    it.
    """

    connection: int
    what: str


def as_lines(conversation: Sequence[Exchange], marks: Iterable[Mark]) -> list[str]:
    """A line for each frame and each mark, in order, repeats folded."""
    lines, coming = [], list(marks)
    for exchange in conversation:
        while coming and coming[0].connection <= exchange.connection:
            lines.append(f"--- {coming.pop(0).what} ---")
        lines.append(_in_full(exchange))
    return folded([*lines, *(f"--- {each.what} ---" for each in coming)])


def folded(lines: Sequence[str]) -> list[str]:
    """The lines with repetitions folded: a question that comes again and again, with
    the same answer each time, appears once with its count. All lines are cut then,
    because their ends may differ.
    """
    shown: list[str] = []
    at = 0
    while at < len(lines):
        pair, times = lines[at : at + 2], 1
        while lines[at + 2 * times : at + 2 * times + 2] == pair:
            times += 1
        if times == 1:
            shown.append(_cut(lines[at]))
            at += 1
        else:
            shown += [_cut(pair[0]), f"{_cut(pair[1])}   ({times} times)"]
            at += 2 * times
    return shown


def _in_full(exchange: Exchange) -> str:
    """> for a request, < for its answer, and their fields."""
    asked = exchange.asked
    if exchange.is_request:
        body = "" if asked.body is None else fields(asked.body)
        return f"> {asked.api} {asked.version}  {body}"
    try:
        return f"< {asked.api}  {fields(exchange.answer)}"
    except ValueError as error:
        return f"< {asked.api}  {exchange.data.hex(' ')} ({error})"


def fields(message: Message) -> str:
    """The fields of a message, shortened."""
    found = []
    for name, value in message.to_dict().items():
        if name == "throttle_time_ms" and not value:
            continue
        found.append(f"{name}={_short(value)}")
    return " ".join(found)


def _short(value: Any) -> str:
    """A field's value: of lists the first items, of bytes their count."""
    if isinstance(value, dict):
        inside = (f"{name}={_short(each)}" for name, each in value.items())
        return f"({' '.join(inside)})"
    if isinstance(value, list):
        some = " ".join(map(_short, value[:_MOST_ITEMS]))
        more = f" ... {len(value)} in all" if len(value) > _MOST_ITEMS else ""
        return f"[{some}{more}]"
    if isinstance(value, bytes | memoryview):
        return f"<{len(value)} bytes>"
    return str(value)


def _cut(line: str) -> str:
    line = line.rstrip()
    if len(line) <= _MOST_CHARACTERS:
        return line
    return f"{line[: _MOST_CHARACTERS - 4]} ..."
