"""The handshake on the nodes' listener: only nodes that prove that they know the
cluster's secret come in.

Anybody who reached that listener could vote, become the controller, or pretend to be a
follower that has all records. Apache Kafka leaves the protection to TLS or SASL; here
it is three messages of a fixed size, before the first frame of Kafka's protocol:

    who listens   ->  GREETING, a nonce
    who connects  ->  GREETING, a nonce, and the proof of who connects
    who listens   ->  the proof of who listens

A proof is the HMAC (RFC 2104) of its side and of both nonces, with the secret as key;
the secret itself never travels. The nonces are new for each connection, so a recorded
handshake is useless on another one, and because a proof names its side, it can't be
sent back to its sender. The connecting side proves itself first: a stranger learns
nothing that depends on the secret.

After the handshake nothing is encrypted: see SECURITY.md. The simulation has no such
handshake.
"""

import asyncio
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable

from minikafka.server.log import log

GREETING = b"minikafka node 1"  # the last letter is the version of this handshake
NONCE_BYTES = 32
PROOF_BYTES = 32  # of SHA-256
CONNECTS, LISTENS = b"who connects", b"who listens"
GREETING_SECONDS = 5.0
MOST_WAITING = 64  # handshakes at a time; the one that has taken longest gives way
# a stranger may come back a thousand times within this time, and is reported once
ONCE_SECONDS = 1.0


class HandshakeError(Exception):
    """The other side doesn't know the secret. str(): what it did, as the rest of a
    sentence about it.
    """


def made_secret() -> bytes:
    """A new secret, for a cluster whose nodes are all started by us."""
    return secrets.token_hex(NONCE_BYTES).encode()


def proof(
    secret: bytes, side: bytes, listener_nonce: bytes, connector_nonce: bytes
) -> bytes:
    """The proof for these two nonces, which only a node that knows the secret can
    compute.
    """
    return hmac.digest(secret, side + listener_nonce + connector_nonce, "sha256")


async def exactly(sock: socket.socket, size: int) -> bytes:
    """Read exactly this many bytes, and none after them. Errors: EOFError if the other
    side hangs up before.
    """
    got = b""
    while len(got) < size:
        more = await asyncio.get_running_loop().sock_recv(sock, size - len(got))
        if not more:
            raise EOFError
        got += more
    return got


async def handshake_as_listener(sock: socket.socket, secret: bytes) -> None:
    """The listening side. Returns when the other side has proved itself. Errors:
    HandshakeError.
    """
    send = asyncio.get_running_loop().sock_sendall
    ours = secrets.token_bytes(NONCE_BYTES)
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            await send(sock, GREETING + ours)
            if await exactly(sock, len(GREETING)) != GREETING:
                raise HandshakeError(
                    "does not greet as a node with --cluster-secret does"
                )
            theirs = await exactly(sock, NONCE_BYTES)
            claimed = await exactly(sock, PROOF_BYTES)
            if not hmac.compare_digest(claimed, proof(secret, CONNECTS, ours, theirs)):
                raise HandshakeError("does not know the cluster's secret")
            await send(sock, proof(secret, LISTENS, ours, theirs))
    except TimeoutError:
        why = (
            f"has not proved within {GREETING_SECONDS:.0f} s that it knows the"
            " cluster's secret"
        )
        raise HandshakeError(why) from None
    except (EOFError, OSError):
        raise HandshakeError(
            "hung up before it had proved that it knows the cluster's secret"
        ) from None


async def handshake_as_connector(sock: socket.socket, secret: bytes) -> None:
    """The connecting side. Returns when both sides have proved themselves. Errors:
    HandshakeError; EOFError and OSError if the other side hangs up before it has sent
    anything, as a node does that is shutting down.
    """
    send = asyncio.get_running_loop().sock_sendall
    ours = secrets.token_bytes(NONCE_BYTES)
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            if await exactly(sock, len(GREETING)) != GREETING:
                raise HandshakeError("is no node with --cluster-secret")
            theirs = await exactly(sock, NONCE_BYTES)
            await send(sock, GREETING + ours + proof(secret, CONNECTS, theirs, ours))
            await answered(sock, proof(secret, LISTENS, theirs, ours))
    except TimeoutError:
        why = (
            f"has not greeted within {GREETING_SECONDS:.0f} s: was it started with the"
            " same --cluster-secret?"
        )
        raise HandshakeError(why) from None


async def answered(sock: socket.socket, expected: bytes) -> None:
    """Check the listening side's proof, which follows ours."""
    try:
        claimed = await exactly(sock, PROOF_BYTES)
    except (EOFError, ConnectionError):  # not a TimeoutError: the deadline is not ours
        raise HandshakeError(
            "hung up on our greeting: was it started with the same --cluster-secret?"
        ) from None
    if not hmac.compare_digest(claimed, expected):
        raise HandshakeError(
            "does not know the cluster's secret: nothing was sent to it"
        )


class NodeHandshakes:
    """The handshakes in progress on one node's listener. on_node(sock): called for a
    node that has proved itself.

    A stranger that sends nothing keeps its place for GREETING_SECONDS, or loses it
    sooner if others need it.
    """

    def __init__(
        self,
        secret: bytes,
        most_waiting: int,
        on_node: Callable[[socket.socket], Awaitable[None]],
    ) -> None:
        self._secret = secret
        self._most_waiting = max(1, min(most_waiting, MOST_WAITING))
        self._on_node = on_node
        # their addresses, first come first
        self._waiting: dict[asyncio.Task[None], str] = {}
        self._untold = 0
        self._telling: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self, sock: socket.socket, who: str) -> None:
        """Somebody has connected: start the handshake."""
        if len(self._waiting) >= self._most_waiting:
            slowest = next(iter(self._waiting))
            self._tell(
                self._waiting.pop(slowest), "had to make room for others that greet"
            )
            slowest.cancel()
        task = asyncio.create_task(self._greet(sock, who))
        self._waiting[task] = who
        task.add_done_callback(lambda done: self._waiting.pop(done, None))

    def close(self) -> None:
        """Stop all handshakes: nobody comes in any more."""
        for task in self._waiting:
            task.cancel()
        if self._telling is not None:
            self._telling.cancel()

    async def _greet(self, sock: socket.socket, who: str) -> None:
        try:
            await handshake_as_listener(sock, self._secret)
        except HandshakeError as failed:
            sock.close()
            self._tell(who, str(failed))
        except BaseException:  # cancelled, to make room or because the node stops
            sock.close()
            raise
        else:
            await self._on_node(sock)

    def _tell(self, who: str, why: str) -> None:
        if self._telling is not None:
            self._untold += 1
            return
        log(f"closed the connection of {who} to the nodes' listener, which {why}.")
        self._telling = asyncio.get_running_loop().call_later(
            ONCE_SECONDS, self._tell_the_rest
        )

    def _tell_the_rest(self) -> None:
        self._telling = None
        untold, self._untold = self._untold, 0
        if untold:
            log(
                f"closed {untold} more connection(s) to the nodes' listener, of who did"
                " not prove to be a node."
            )
