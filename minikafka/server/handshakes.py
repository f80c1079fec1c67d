"""`serve --verbose`: which clients came, what they can speak, and what they spoke, in
one plain line each.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minikafka.trace import printable
from minikafka.wire.errors import Error
from minikafka.wire.messages import API, BY_KEY, decode_request, decode_response
from minikafka.wire.schema import Message

API_VERSIONS = API["ApiVersions"]
RAW_LOGIN = (API["SaslHandshake"].key, 0)  # what follows it has no header
NAME = 100  # characters of a client's name for itself


class Introduction(NamedTuple):
    """An ApiVersions request without an answer."""

    name: str
    version: int


class Handshakes:
    """Listens in on the connections. It remembers a few words about each, and forgets
    them when it ends.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._came_at: dict[Any, float] = {}
        self._spoken: dict[Any, Counter[tuple[int, int]]] = {}
        # for each request without an answer: whether the client introduced itself in it
        self._unanswered: dict[Any, deque[Introduction | None]] = {}

    def connected(self, connection: Any) -> None:
        self._came_at[connection] = time.monotonic()
        self._spoken[connection] = Counter()
        self._unanswered[connection] = deque()

    def asked(self, connection: Any, frame: bytearray) -> None:
        """A request came."""
        self._unanswered[connection].append(None)
        if len(frame) < 4:
            return
        key = int.from_bytes(frame[:2], "big")
        version = int.from_bytes(frame[2:4], "big")
        spoken = self._spoken[connection]
        spoken[key, version] += 1
        # an old login's bytes may look like any request
        if key == API_VERSIONS.key and RAW_LOGIN not in spoken:
            self._unanswered[connection][-1] = Introduction(who(frame), version)

    def answered(self, connection: Any, frame: Sequence[Any] | None) -> None:
        """The oldest request is finished. The answer to ApiVersions says what both can
        speak.
        """
        introduction = self._unanswered[connection].popleft()
        if introduction is None or frame is None:
            return
        name, version = introduction
        whole = b"".join(frame)
        error_code = int.from_bytes(whole[4:6], "big", signed=True)
        if error_code == Error.UNSUPPORTED_VERSION:
            _, body = decode_response("ApiVersions", 0, whole)
            self._log(
                f"{connection} is {name}: it asked for ApiVersions {version}, we speak"
                f" up to {newest_of(API_VERSIONS.key, body)}."
            )
            return
        _, body = decode_response("ApiVersions", version, whole)
        self._log(
            f"{connection} is {name}, which speaks ApiVersions {version}. It may choose"
            f" from {offered_in(body)}."
        )

    def left(self, connection: Any) -> None:
        seconds = time.monotonic() - self._came_at.pop(connection)
        spoken = self._spoken.pop(connection)
        del self._unanswered[connection]
        chosen = []
        for (key, version), count in spoken.items():
            chosen.append(f"{api_name(key)} {version} ({count} x)")
        what = ", ".join(chosen) or "not a word"
        self._log(f"{connection} left after {seconds:.1f} s. It spoke {what}.")


def newest_of(key: int, body: Message) -> int:
    """The newest version of one API that an ApiVersions answer offers."""
    [newest] = [api.max_version for api in body.api_keys if api.api_key == key]
    return int(newest)


def offered_in(body: Message) -> str:
    """All APIs and versions that an ApiVersions answer offers."""
    offered = []
    for api in body.api_keys:
        name = BY_KEY[api.api_key].name
        offered.append(f"{name} {api.min_version}-{api.max_version}")
    return ", ".join(offered)


def who(frame: bytearray) -> str:
    """The client's software and client id, from an ApiVersions request (the software
    since version 3, KIP-511).
    """
    try:
        request = decode_request(frame)
    # the broker reports what is wrong with it; here it is only a name
    except Exception:
        return "a client that does not say who it is"
    body = request.body
    software = f"{body.client_software_name} {body.client_software_version}".strip()
    client_id = printable(repr(request.client_id), NAME)
    return f"{printable(software, NAME) or 'a client'} (client id {client_id})"


def api_name(key: int) -> str:
    return BY_KEY[key].name if key in BY_KEY else f"unknown API {key}"
