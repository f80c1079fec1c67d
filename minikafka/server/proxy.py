"""A proxy of one broker on the loopback interface that records the frames passing
through, for lessons and tests: what other people's clients say to a broker, byte by
byte.

It can change answers on their way, as a proxy for a real cluster must: the answers to
Metadata and FindCoordinator contain addresses, and a client only stays behind the proxy
if it reads the proxy's there.
"""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import NamedTuple

from minikafka.server.frames import SIZE_BYTES
from minikafka.wire.messages import api_name

LOOPBACK = "127.0.0.1"

# (request, answer) -> the answer that the client gets, all frames without their size
Change = Callable[[bytes, bytes], bytes]


class Frame(NamedTuple):
    """A request or an answer that passed. connection: numbered from 0 on."""

    connection: int
    is_request: bool
    data: bytes  # without its size

    @property
    def api(self) -> str:
        """The name of the API that a request is for."""
        assert self.is_request
        return api_name(self.data)


def as_it_is(request: bytes, answer: bytes) -> bytes:
    """Leaves an answer unchanged."""
    return answer


class Proxy:
    """Listens when the constructor returns; everything sent to it goes to the broker at
    `target`, which is host:port. frames: what has passed so far, in order.

    with Proxy(kafka.bootstrap) as proxy:
        producer = KafkaProducer(bootstrap_servers=proxy.address)
    """

    def __init__(self, target: str, change: Change = as_it_is) -> None:
        host, port = target.rsplit(":", 1)
        self._target = host, int(port)
        self._change = change
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._is_closed = False
        self._connections = 0
        self.frames: list[Frame] = []
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    @property
    def address(self) -> str:
        """host:port, for a client's bootstrap servers."""
        return f"{LOOPBACK}:{self.port}"

    def requests(self) -> list[Frame]:
        """The requests that have passed so far."""
        with self._lock:
            return [frame for frame in self.frames if frame.is_request]

    def close(self) -> None:
        """Close all connections; returns when nothing is running any more."""
        with self._lock:
            self._is_closed = True
            sockets = [self._listener, *self._sockets]
        for each in sockets:
            hang_up(each)
        for thread in self._threads:
            thread.join()
        for each in sockets:
            each.close()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _start(self, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        """A connection to the broker for this connection of a client."""
        try:
            broker = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        with self._lock:
            if self._is_closed:
                client.close()
                broker.close()
                return
            self._sockets += [client, broker]
        number, asked = self._connections, dict[bytes, bytes]()
        self._connections += 1
        self._start(self._carry_requests, number, client, broker, asked)
        self._start(self._carry_answers, number, broker, client, asked)

    def _carry_requests(
        self,
        number: int,
        client: socket.socket,
        broker: socket.socket,
        asked: dict[bytes, bytes],
    ) -> None:
        """asked: correlation id -> request, for those that have no answer yet."""
        with contextlib.suppress(OSError):
            while (frame := read_frame(client)) is not None:
                asked[frame[4:8]] = frame
                self._note(Frame(number, True, frame))
                send_frame(broker, frame)
        hang_up(broker)

    def _carry_answers(
        self,
        number: int,
        broker: socket.socket,
        client: socket.socket,
        asked: dict[bytes, bytes],
    ) -> None:
        try:
            while (frame := read_frame(broker)) is not None:
                request = asked.pop(frame[:4], None)
                if request is not None:
                    frame = self._change(request, frame)
                self._note(Frame(number, False, frame))
                send_frame(client, frame)
        except OSError:
            pass
        finally:
            hang_up(client)  # also if a change fails, so that the client notices

    def _note(self, frame: Frame) -> None:
        with self._lock:
            self.frames.append(frame)


def read_frame(connection: socket.socket) -> bytes | None:
    """The next frame, without its size; None if the other side has hung up."""
    size = _read(connection, SIZE_BYTES)
    return None if size is None else _read(connection, int.from_bytes(size, "big"))


def send_frame(connection: socket.socket, frame: bytes) -> None:
    """Send a frame, with its size in front."""
    connection.sendall(len(frame).to_bytes(SIZE_BYTES, "big") + frame)


def _read(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return None
        data += more
    return bytes(data)


def hang_up(connection: socket.socket) -> None:
    """Shut down both directions, so that a thread that waits for this socket
    goes on.
    """
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
