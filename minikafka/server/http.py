"""As much HTTP/1.1 as our own pages need: a request with a bounded head and body, one
answer, and the connection is closed.

Nobody who stands still, or sends what is no request, holds up another.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from minikafka.server.log import log

if TYPE_CHECKING:
    import socket

MOST_HEAD_BYTES = 8192
PATIENCE_SECONDS = 10.0  # for a client that stands still, as it asks or as it reads
PLAIN = "text/plain; charset=utf-8"
# twice, they could mean one thing to us and another to a proxy
ONCE = {
    "authorization",
    "content-length",
    "content-type",
    "host",
    "origin",
    "transfer-encoding",
}


class Asked(NamedTuple):
    """A request. target: the path, and parameters after a question mark. headers: by
    names in small letters.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    """status: with its reason. more: further lines of the head."""

    status: str
    body: str
    kind: str = PLAIN
    more: str = ""

    def encoded(self) -> bytes:
        body = self.body.encode()
        head = (
            f"HTTP/1.1 {self.status}\r\nContent-Type: {self.kind}\r\nContent-Length:"
            f" {len(body)}\r\n{self.more}Connection: close\r\n\r\n"
        )
        return head.encode() + body


class Refused(Exception):
    """What came can't be read; str() says why."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


BAD_REQUEST = "400 Bad Request"


class Page:
    """Answers requests. most_at_once: others are turned away. most_body_bytes: of a
    request.
    """

    def __init__(
        self,
        answer: Callable[[Asked], Awaitable[Answer]],
        most_at_once: int,
        most_body_bytes: int = 0,
    ) -> None:
        self._answer = answer
        self._most_at_once = most_at_once
        self._most_body_bytes = most_body_bytes
        self._now = 0

    async def serve(self, listener: "socket.socket") -> None:
        """Answer until cancelled."""
        server = await asyncio.start_server(
            self._came, sock=listener, limit=MOST_HEAD_BYTES
        )
        try:
            await server.serve_forever()
        finally:
            server.close()

    async def _came(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """One connection. Whatever goes wrong ends it, and nothing else."""
        self._now += 1
        try:
            if self._now > self._most_at_once:
                writer.close()
            else:
                answer = await self._heard(reader)
                async with asyncio.timeout(PATIENCE_SECONDS):
                    writer.write(answer.encoded())
                    writer.close()
                    await writer.wait_closed()
        # cancelled: the server ends, which asyncio would tell as an error
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._now -= 1

    async def _heard(self, reader: asyncio.StreamReader) -> Answer:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                asked = await self._asked(reader)
        except Refused as error:
            return Answer(error.status, f"{error}\n")
        try:
            return await self._answer(asked)
        except Exception as error:
            log(f"a page met a bug of minikafka's; please report it: {error!r}")
            return Answer("500 Internal Server Error", "a bug of minikafka's\n")

    async def _asked(self, reader: asyncio.StreamReader) -> Asked:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            why = "the head is too large"
            raise Refused("431 Request Header Fields Too Large", why) from None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        if any(end in line for line in (first, *lines) for end in "\r\n\0"):
            raise Refused(BAD_REQUEST, "a line of the head ends with CR and LF")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Refused(BAD_REQUEST, "this is no HTTP request")
        headers = headers_in(lines)
        if "transfer-encoding" in headers:
            why = "say Content-Length: nothing else is understood"
            raise Refused("411 Length Required", why)
        length = headers.get("content-length", "0")
        # isdigit() alone takes other digits than ASCII's
        if not (length.isascii() and length.isdigit()):
            raise Refused(BAD_REQUEST, "Content-Length is a number")
        if len(length) > 9 or int(length) > self._most_body_bytes:
            why = f"a body has {self._most_body_bytes} bytes at most"
            raise Refused("413 Content Too Large", why)
        body = await reader.readexactly(int(length))
        return Asked(words[0], words[1], headers, body)


def headers_in(lines: list[str]) -> dict[str, str]:
    """Errors: Refused."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name != name.strip():
            raise Refused(BAD_REQUEST, "a line of the head is no header")
        if name in ONCE and name in headers:
            raise Refused(BAD_REQUEST, f"{name} comes twice")
        headers[name] = value.strip()
    return headers
