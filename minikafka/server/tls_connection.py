"""A client's connection with TLS: what the socket brings is opened here, and what goes to
it is sealed. All else is as in connection.py: TLS never keeps more than one record back,
so the socket's own brakes and the budgets hold as without it.

asyncio's TLS has buffers of its own, which no budget sees. Python's ssl works without a
socket as well (SSLObject): bytes in, bytes out.
"""

import ssl
import time
from collections.abc import Callable
from typing import Any

from minikafka.cluster.principals import Principal
from minikafka.server.connection import Connection, Shared
from minikafka.server.frames import Scratch
from minikafka.server.newcomers import Newcomers

SEALED_BYTES = 256 * 1024  # of an answer, at once

_scratch = Scratch()

# reasons that OpenSSL gives when a client's first bytes are no TLS
NO_TLS = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "HTTPS_PROXY_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "BAD_RECORD_TYPE",
    "UNSUPPORTED_PROTOCOL",
    "UNEXPECTED_MESSAGE",
)

# a fatal alert of TLS 1.2, as Java's TLS sends it then: some clients recognize it
INTERNAL_ERROR = bytes.fromhex("15 0303 0002 02 50")


class NoPrincipal(Exception):
    """No rule says who the client is. str(): what is wrong with its certificate."""


class TlsConnection(Connection):
    """context: the listener's. principal_of(certificate): who the client is; None: it
    has shown no certificate. logs_in: it says so itself afterwards (SASL).
    """

    def __init__(
        self,
        shared: Shared,
        listener: str,
        newcomers: Newcomers,
        max_frame_bytes: int | None,
        context: ssl.SSLContext,
        principal_of: Callable[[Any], Principal],
        logs_in: bool,
    ) -> None:
        super().__init__(shared, listener, newcomers, max_frame_bytes)
        self._principal_of = principal_of
        self._logs_in = logs_in
        self._came = ssl.MemoryBIO()
        self._goes = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._came, self._goes, server_side=True)

    def _begin(self) -> None:
        """Nothing: the handshake comes first."""

    # --- in ---

    def get_buffer(self, sizehint: int) -> memoryview:
        return _scratch.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.closed:
            return
        self.active_at = time.monotonic()
        self._came.write(_scratch.buffer[:nbytes])
        try:
            if not self._is_known:
                self._shake_hands()
            self._read()
        except ssl.SSLWantReadError:
            self._post()
        except ssl.SSLZeroReturnError:  # the client says goodbye
            self.close()
        except NoPrincipal as error:
            self.refuse(str(error))
        except ssl.SSLError as error:
            if not self._goes.pending:  # OpenSSL has no word for who speaks no TLS
                self.transport.write(INTERNAL_ERROR)
            self._post()  # its last word to the client: what is wrong
            self.refuse(what_failed(error, self._is_known))

    def _shake_hands(self) -> None:
        """Errors: SSLWantReadError until the client has said all of it."""
        self._tls.do_handshake()
        self._post()
        principal = self._principal_of(self._tls.getpeercert())
        if not self._logs_in:
            self.admitted()
        self._let_in(principal)

    def _read(self) -> None:
        """Take out what is whole. Errors: SSLWantReadError, when there is no more, and
        SSLZeroReturnError, when there will be no more.
        """
        frames: list[bytearray] = []
        try:
            while self._frames.bad is None:
                # a frame can't grow while somebody holds a view of it
                with self._frames.buffer() as view:
                    size: Any = self._tls.read(len(view), view)
                if not size:
                    raise ssl.SSLZeroReturnError
                frames += self._frames.came(size)
        finally:
            self._take(frames)

    # --- out ---

    def _send(self, part: Any) -> None:
        view = memoryview(part)
        try:
            for at in range(0, len(view), SEALED_BYTES):
                self._tls.write(view[at : at + SEALED_BYTES])
                self._post()
        except ssl.SSLError:  # it has broken down, and reading will say why
            self.abort()

    def _post(self) -> None:
        """Give the socket what TLS has to send."""
        if self._goes.pending:
            self.transport.write(self._goes.read())

    def _say_goodbye(self) -> None:
        if self._is_known:
            try:
                self._tls.unwrap()
            except ssl.SSLError:  # we don't wait for the client's own goodbye
                pass
        self._post()


def what_failed(error: ssl.SSLError, is_open: bool) -> str:
    """What the client did, as the rest of a sentence about it."""
    reason = error.reason or ""
    if is_open:
        return f"sent what is no TLS record: {in_words(reason)}"
    if reason in NO_TLS:
        return (
            "began no TLS handshake, which this listener wants (security.protocol=SSL,"
            f" or SASL_SSL): {in_words(reason)}"
        )
    return f"failed its TLS handshake: {in_words(reason)}"


def in_words(reason: str) -> str:
    return reason.lower().replace("_", " ") or "no reason given"
