"""What brokers have heard from clients, for the report of a test that fails: a line for
each request, with what was answered, and the fault that it met.

Frames are kept as they are, and read only if somebody wants to see them.
"""

import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from minikafka.testing.answers import Names, places
from minikafka.testing.client import CLIENT_ID
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    Request,
    UnsupportedVersion,
    api_name,
    decode_request,
    decode_response,
)
from minikafka.wire.primitives import DecodeError

MOST_LINES = 20
MOST_KEPT = 500
MOST_BYTES = 1 << 13  # of a frame
# left out, unless something is wrong
QUIET = {
    "ApiVersions",
    "ConsumerGroupHeartbeat",
    "Fetch",
    "Heartbeat",
    "Metadata",
    "SaslAuthenticate",
    "SaslHandshake",
}


class Asked:
    """A request. names: the topics that its broker knows."""

    def __init__(self, frame: bytearray, names: Names) -> None:
        self.at = time.monotonic()
        self.fault: object = None
        self._frame = frame[:MOST_BYTES]
        self._names = names
        self._is_answered = False
        self._answer = b""

    def answered(self, frame: list[Any] | None) -> None:
        """None: without an answer, as with acks=0."""
        self._is_answered = True
        if frame is not None and sum(map(len, frame)) <= MOST_BYTES:
            self._answer = b"".join(frame)

    def __str__(self) -> str:
        """Empty, if it is of no interest."""
        try:
            request = decode_request(self._frame)
        except (DecodeError, UnsupportedVersion):
            return f"{api_name(self._frame)}: too large to be shown, or no request"
        if request.client_id == CLIENT_ID:
            return ""
        api = request.api.name
        wrong = self._wrong(request)
        if api in QUIET and not wrong:
            return ""
        said = [f"{request.client_id}: {api}"]
        for topic, number in places(api, request.body, self._names):
            said.append(topic if number is None else f"{topic}-{number}")
        return " ".join(said) + (f": {', '.join(wrong)}" if wrong else "")

    def _wrong(self, request: Request) -> list[str]:
        """The errors of its answer, and its fault."""
        wrong = [] if self._is_answered else ["no answer"]
        if self._answer:
            answer = decode_response(request.api.name, request.version, self._answer)
            wrong = sorted({Error(code).name for code in codes(answer[1].to_dict())})
        return wrong if self.fault is None else [*wrong, f"met {self.fault!r}"]


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


class Heard:
    """What the brokers of a cluster have heard since `begin`. str(): the last lines."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget what was heard until now."""
        self._began = time.monotonic()
        self._asked: deque[Asked] = deque(maxlen=MOST_KEPT)

    def add(self, frame: bytearray, names: Names) -> Asked:
        new = Asked(frame, names)
        self._asked.append(new)
        return new

    def __str__(self) -> str:
        said = [(each.at - self._began, str(each)) for each in self._asked.copy()]
        lines = [f"{at:7.3f} s  {what}" for at, what in said if what]
        return "\n".join(lines[-MOST_LINES:])
