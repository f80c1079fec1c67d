"""The door of the nodes' listener: who comes in has proved that it knows the cluster's
secret.

Whoever reaches that listener could vote, become the controller, or play a follower that
has all records. Apache Kafka leaves the door to TLS or SASL; here it is three messages
of a fixed size, before the first frame of Kafka's protocol:

    who listens   ->  KNOCK, a nonce
    who connects  ->  KNOCK, a nonce, and the proof of who connects
    who listens   ->  the proof of who listens

A proof is the HMAC (RFC 2104) of its side and of both nonces, with the secret as key;
the secret itself never travels. The nonces are new for each connection, so a recorded
greeting opens no other one, and since a proof names its side, none can be sent back to
whoever made it. Who connects proves itself first: a stranger who knocks hears nothing
that depends on the secret.

Behind the door nothing is encrypted: see SECURITY.md. In the simulation there is no
door.
"""

import asyncio
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable

from minikafka.server.log import log

KNOCK = b"minikafka node 1"  # the last letter: the version of this greeting
NONCE_BYTES = 32
PROOF_BYTES = 32  # of SHA-256
CONNECTS, LISTENS = b"who connects", b"who listens"
GREETING_SECONDS = 5.0
MOST_WAITING = 64  # who greet at a time; the one that has taken longest gives way
ONCE_SECONDS = 1.0  # a stranger may come back a thousand times in it, and is told once


class Stranger(Exception):
    """The other side does not know the secret. str(): what it did, the rest of a
    sentence about it.
    """


def made_secret() -> bytes:
    """For a cluster whose nodes are all started by us."""
    return secrets.token_hex(NONCE_BYTES).encode()


def proof(
    secret: bytes, side: bytes, listener_nonce: bytes, connector_nonce: bytes
) -> bytes:
    """What only who knows the secret can say about these two nonces."""
    return hmac.digest(secret, side + listener_nonce + connector_nonce, "sha256")


async def exactly(sock: socket.socket, size: int) -> bytes:
    """So many bytes, and none that come after them. Errors: EOFError if it hangs up
    before.
    """
    got = b""
    while len(got) < size:
        more = await asyncio.get_running_loop().sock_recv(sock, size - len(got))
        if not more:
            raise EOFError
        got += more
    return got


async def let_in(sock: socket.socket, secret: bytes) -> None:
    """Who listens: returns when the other side has proved itself. Errors: Stranger."""
    send = asyncio.get_running_loop().sock_sendall
    ours = secrets.token_bytes(NONCE_BYTES)
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            await send(sock, KNOCK + ours)
            if await exactly(sock, len(KNOCK)) != KNOCK:
                raise Stranger("does not greet as a node with --cluster-secret does")
            theirs = await exactly(sock, NONCE_BYTES)
            claimed = await exactly(sock, PROOF_BYTES)
            if not hmac.compare_digest(claimed, proof(secret, CONNECTS, ours, theirs)):
                raise Stranger("does not know the cluster's secret")
            await send(sock, proof(secret, LISTENS, ours, theirs))
    except TimeoutError:
        why = (
            f"has not proved within {GREETING_SECONDS:.0f} s that it knows the"
            " cluster's secret"
        )
        raise Stranger(why) from None
    except (EOFError, OSError):
        raise Stranger(
            "hung up before it had proved that it knows the cluster's secret"
        ) from None


async def knock(sock: socket.socket, secret: bytes) -> None:
    """Who connects: returns when both sides have proved themselves. Errors: Stranger;
    EOFError and OSError if the other side hangs up before it has said anything, as one
    does that is just ending.
    """
    send = asyncio.get_running_loop().sock_sendall
    ours = secrets.token_bytes(NONCE_BYTES)
    try:
        async with asyncio.timeout(GREETING_SECONDS):
            if await exactly(sock, len(KNOCK)) != KNOCK:
                raise Stranger("is no node with --cluster-secret")
            theirs = await exactly(sock, NONCE_BYTES)
            await send(sock, KNOCK + ours + proof(secret, CONNECTS, theirs, ours))
            await answered(sock, proof(secret, LISTENS, theirs, ours))
    except TimeoutError:
        why = (
            f"has not greeted within {GREETING_SECONDS:.0f} s: was it started with the"
            " same --cluster-secret?"
        )
        raise Stranger(why) from None


async def answered(sock: socket.socket, expected: bytes) -> None:
    """The proof of who listens, after ours."""
    try:
        claimed = await exactly(sock, PROOF_BYTES)
    except (EOFError, ConnectionError):  # not a TimeoutError: the deadline is not ours
        raise Stranger(
            "hung up on our greeting: was it started with the same --cluster-secret?"
        ) from None
    if not hmac.compare_digest(claimed, expected):
        raise Stranger("does not know the cluster's secret: nothing was sent to it")


class Door:
    """Of one node's listener: those who are greeting there. come_in(sock): what happens
    to who has proved itself.

    A stranger that never greets holds its place for GREETING_SECONDS, and gives it up
    sooner when others need it.
    """

    def __init__(
        self,
        secret: bytes,
        most_waiting: int,
        come_in: Callable[[socket.socket], Awaitable[None]],
    ) -> None:
        self._secret = secret
        self._most_waiting = max(1, min(most_waiting, MOST_WAITING))
        self._come_in = come_in
        # who it is; who came first is first
        self._waiting: dict[asyncio.Task[None], str] = {}
        self._untold = 0
        self._telling: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def knocked(self, sock: socket.socket, who: str) -> None:
        """Somebody is there."""
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
        """Nobody comes in any more."""
        for task in self._waiting:
            task.cancel()
        if self._telling is not None:
            self._telling.cancel()

    async def _greet(self, sock: socket.socket, who: str) -> None:
        try:
            await let_in(sock, self._secret)
        except Stranger as stranger:
            sock.close()
            self._tell(who, str(stranger))
        except BaseException:  # cancelled, to make room or since the node stops
            sock.close()
            raise
        else:
            await self._come_in(sock)

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
