"""One request as a broker has heard it, and what it answered.

The frames are kept as they are, and read only if somebody wants to see them.
"""

from collections.abc import Iterator
from typing import Any

from minikafka.testing.answers import Names, places, topic_name
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    Request,
    UnsupportedVersion,
    api_name,
    decode_request,
    decode_response,
)
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

MOST_BYTES = 1 << 13  # of a frame
# in the header of a frame
VERSION, CORRELATION_ID, CLIENT_SIZE = slice(2, 4), slice(4, 8), slice(8, 10)
CLIENT_AT = 10


class Asked:
    """A request. number: its place among all that was heard. at_ms: on the brokers'
    clock. broker: its name. names: the topics that the broker knows.
    """

    def __init__(
        self,
        number: int,
        at_ms: int,
        frame: bytearray,
        connection: str,
        broker: str,
        names: Names,
    ) -> None:
        self.number = number
        self.at_ms = at_ms
        self.fault: object = None
        self.frame = frame[:MOST_BYTES]
        self.connection = connection
        self.broker = broker
        self.is_answered = False
        self._names = names
        self._answer = b""

    def answered(self, frame: list[Any] | None) -> None:
        """None: without an answer, as with acks=0."""
        self.is_answered = True
        if frame is not None and sum(map(len, frame)) <= MOST_BYTES:
            self._answer = b"".join(frame)

    @property
    def api(self) -> str:
        """The name of its API."""
        return api_name(self.frame)

    @property
    def version(self) -> int:
        """Of its API."""
        return int.from_bytes(self.frame[VERSION], "big")

    @property
    def client(self) -> str:
        """The client's id; empty, if it has none."""
        size = int.from_bytes(self.frame[CLIENT_SIZE], "big", signed=True)
        end = CLIENT_AT + max(size, 0)
        return self.frame[CLIENT_AT:end].decode("utf-8", "replace")

    @property
    def cause(self) -> tuple[str, int]:
        """What the trace names as the cause of all that happens because of it."""
        return self.connection, int.from_bytes(self.frame[CORRELATION_ID], "big")

    def request(self) -> Request | None:
        """None: it was too large to be kept, or it is no request."""
        try:
            return decode_request(self.frame)
        except (DecodeError, UnsupportedVersion):
            return None

    def places(self, request: Request) -> list[tuple[str, int | None]]:
        """The topics and partitions that it is about."""
        return [*places(request.api.name, request.body, self._names)]

    def topic(self, about: Message) -> str:
        """The name of a topic that a message names, in one way or the other."""
        return topic_name(about, self._names)

    def answer(self, request: Request) -> Message | None:
        """None: there is none yet, or it was too large to be kept."""
        if not self._answer:
            return None
        return decode_response(request.api.name, request.version, self._answer)[1]

    def errors(self, request: Request) -> list[str]:
        """Those in its answer."""
        body = self.answer(request)
        found = () if body is None else codes(body.to_dict())
        return sorted({Error(code).name for code in found})


def codes(body: Any) -> Iterator[int]:
    """The error codes in an answer."""
    if isinstance(body, list):
        for each in body:
            yield from codes(each)
    elif isinstance(body, dict):
        for name, value in body.items():
            if name.endswith("error_code"):
                yield from (value,) if value else ()
            else:
                yield from codes(value)
