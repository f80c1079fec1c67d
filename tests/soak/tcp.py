"""The hostile day over TCP against `minikafka serve`, with a witness who measures how
long an honest client waits.

Which requests are made still follows the seed, but answers come when they come: a seed
gives much the same day again, not exactly the same.
"""

import selectors
import socket
import struct
import threading
import time
from collections import deque
from pathlib import Path
from random import Random
from typing import NamedTuple

from minikafka.server.embedded import Served
from minikafka.wire.messages import decode_response
from tests.bench.measures import resident_megabytes
from tests.clients.brokers import overrides
from tests.conformance.raw import Connection
from tests.soak.core import KEPT_STEPS, PROPERTIES
from tests.soak.frames import meaning
from tests.soak.traffic import Drop, Pass, Restart, Send, Step, Traffic
from tests.soak.witness import Failure, Witness

PATIENCE_SECONDS = 30  # for an answer that waits for nothing
MOST_RESIDENT_MEGABYTES = 300
# of the server, while one honest request waits: other processes on the machine don't
# count
MOST_CPU_SECONDS = 1.0
MOST_COPIES = 4


class Expected(NamedTuple):
    """One answer that is to come. first: its request is the one that the client's
    script waits for.
    """

    api: str
    version: int
    correlation_id: int
    until: float
    first: bool


class Wire:
    """One client's connection."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection(
            (host, int(port)), timeout=PATIENCE_SECONDS
        )
        self.expected: deque[Expected] = deque()
        self._inbox = bytearray()

    def frames(self) -> tuple[list[bytes], bool]:
        """The answers that have come, and whether the broker has closed the
        connection.
        """
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionError:
            data = b""
        self._inbox += data
        found = []
        while len(self._inbox) >= 4 and len(self._inbox) >= (
            end := 4 + int.from_bytes(self._inbox[:4], "big")
        ):
            found.append(bytes(self._inbox[4:end]))
            del self._inbox[:end]
        return found, not data


class Tcp:
    """One server under one seed's traffic."""

    def __init__(self, seed: int) -> None:
        self.traffic = Traffic(seed, restarts=False)
        self.steps: deque[tuple[float, Step]] = deque(maxlen=KEPT_STEPS)
        self.served = Served(options=overrides(PROPERTIES))
        self.watch = Watch(self.served)
        self._wires: dict[int, Wire] = {}
        self._selector = selectors.DefaultSelector()
        self._random = Random(seed)
        self._began = time.monotonic()
        self._most_megabytes = 0.0

    def run(self, requests: int) -> None:
        """So many requests, with the witness beside them; then the server must still
        stop cleanly.
        """
        with self.watch:
            while self.traffic.sent < requests:
                self.step(self.traffic.next())
                if self.traffic.sent % 200 == 0:
                    self._check_health()
        self._check_health()
        if self.served.stop() != 0:
            raise Failure(
                f"the server did not stop cleanly: {self.served.said()[-500:]}"
            )

    def close(self) -> None:
        for wire in self._wires.values():
            wire.socket.close()
        self._selector.close()
        if self.served.process.poll() is None:
            self.served.kill()

    def summary(self) -> str:
        return (
            f"the server held at most {self._most_megabytes:.0f} MB;"
            f" {self.watch.summary()}"
        )

    def step(self, step: Step) -> None:
        self.steps.append((round(time.monotonic() - self._began, 3), step))
        match step:
            case Send():
                self._send(step)
                self._read(0)
            case Drop(client):
                self._drop(client)
            case Pass(ms):
                self._read(min(ms, 50) / 1000)
            case Restart():
                raise AssertionError("kill.py restarts servers")

    def _send(self, send: Send) -> None:
        wire = self._wires.get(send.client) or self._connect(send.client)
        meant = meaning(send.ask, send.frame, send.intact)
        wait_seconds = float("inf") if meant.of_a_group else meant.wait_ms / 1000
        until = time.monotonic() + PATIENCE_SECONDS + wait_seconds
        # pipelined
        copies = (
            self._random.randint(2, MOST_COPIES) if self._random.random() < 0.05 else 1
        )
        for number in range(0 if meant.silent else copies):
            wire.expected.append(
                Expected(
                    send.ask.api, meant.version, send.correlation_id, until, number == 0
                )
            )
        try:
            wire.socket.sendall(
                (struct.pack(">i", len(send.frame)) + send.frame) * copies
            )
        except ConnectionError:
            self._closed(send.client)
            return
        if meant.silent:
            self.traffic.answered(send.client, None)

    def _connect(self, client: int) -> Wire:
        wire = self._wires[client] = Wire(self.served.bootstrap)
        self._selector.register(wire.socket, selectors.EVENT_READ, client)
        return wire

    def _drop(self, client: int) -> None:
        """The client hangs up, sometimes within a request."""
        wire = self._wires.get(client)
        if wire is not None and self._random.random() < 0.3:
            try:
                wire.socket.sendall(
                    struct.pack(">i", self._random.choice([100, 10**6, 10**8, -1, 0]))
                    + bytes(50)
                )
            except ConnectionError:
                pass
        self._closed(client)

    def _closed(self, client: int) -> None:
        wire = self._wires.pop(client, None)
        if wire is not None:
            self._selector.unregister(wire.socket)
            wire.socket.close()
        self.traffic.dropped(client)

    def _read(self, seconds: float) -> None:
        """Take in what the server has sent; wait so long for something to come."""
        for key, _ in self._selector.select(seconds):
            client = key.data
            wire = self._wires[client]
            frames, closed = wire.frames()
            for frame in frames:
                self._answered(client, wire, frame)
            if closed:
                self._closed(client)

    def _answered(self, client: int, wire: Wire, frame: bytes) -> None:
        if not wire.expected:
            raise Failure(
                f"client {client} was sent an answer that it waits for no more"
            )
        expected = wire.expected.popleft()
        correlation_id, answer = decode_response(expected.api, expected.version, frame)
        if correlation_id != expected.correlation_id:
            raise Failure(
                f"{expected} was answered with correlation id {correlation_id}"
            )
        if expected.first:
            self.traffic.answered(client, answer)

    def _check_health(self) -> None:
        for client, wire in self._wires.items():
            if wire.expected and wire.expected[0].until < time.monotonic():
                raise Failure(f"{wire.expected[0]} of client {client} has no answer")
        said = self.served.said()
        if (
            self.served.process.poll() is not None
            or "met a bug" in said
            or "Traceback" in said
        ):
            raise Failure(f"the server said:\n{said[-3000:]}")
        self._most_megabytes = max(
            self._most_megabytes, resident_megabytes(self.served.process.pid)
        )
        if self._most_megabytes > MOST_RESIDENT_MEGABYTES:
            raise Failure(f"the server holds {self._most_megabytes:.0f} MB")
        self.watch.check()


class Watch:
    """The witness on a thread of its own: writes all the time, and measures each wait.

    waited: the longest, in seconds. cpu: how many CPU seconds the server spent
    meanwhile, at most.
    """

    def __init__(self, served: Served) -> None:
        self.waited = 0.0
        self.cpu = 0.0
        self._served = served
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._connection = Connection(served.bootstrap)
        self._witness = Witness(self._ask)
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._connection.close()

    def check(self) -> None:
        """Failure if it waited too long, or met anything but what it wrote."""
        if self._failed is not None:
            raise Failure("the witness failed") from self._failed
        if self.cpu > MOST_CPU_SECONDS:
            raise Failure(
                f"an honest client waited while the server used {self.cpu:.2f} s of CPU"
                " time"
            )

    def summary(self) -> str:
        return (
            f"the witness wrote {self._witness.written} records and waited at most"
            f" {self.waited:.2f} s ({self.cpu:.2f} s of the server's CPU time)"
        )

    def _write(self) -> None:
        try:
            while not self._over.wait(0.005):
                self._witness.write()
            self._witness.read()
        except Exception as error:
            self._failed = error

    def _ask(self, api, version, body):
        cpu, began = cpu_seconds(self._served), time.monotonic()
        answer = self._connection.ask(api, version, **body)
        self.waited = max(self.waited, time.monotonic() - began)
        self.cpu = max(self.cpu, cpu_seconds(self._served) - cpu)
        return answer


def cpu_seconds(served: Served) -> float:
    """Used by the server so far; 0 where there is no /proc."""
    try:
        fields = (
            Path(f"/proc/{served.process.pid}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100
