"""A shell that drives a simulated client's core on real sockets, to try it on Apache
Kafka.
"""

import selectors
import socket
import time
from typing import NamedTuple

from minikafka.clients.connection import Connect, Send


class Now(NamedTuple):
    monotonic_ms: int
    wall_ms: int


def now():
    return Now(time.monotonic_ns() // 1_000_000, time.time_ns() // 1_000_000)


class SocketShell:
    """One consumer's core, without a thread: time passes in poll() only. listener: as a
    program's.
    """

    def __init__(self, core, listener=None):
        self.core, self.listener = core, listener
        self._sockets, self._buffers = {}, {}
        self._selector = selectors.DefaultSelector()

    def poll(self, seconds):
        """[(topic, partition, offset)] of what came."""
        self.core.begin_poll(now())
        try:
            self._run(seconds, self.core.has_records)
            taken = self.core.take(500, now())
        finally:
            self.core.end_poll()
            self._turn()
        return [
            (record.topic, record.partition, record.offset)
            for some in taken.values()
            for record in some
        ]

    def wait(self, future, seconds=60):
        self._turn()
        self._run(seconds, lambda: future.is_done)
        return future.get()

    def close(self):
        self.core.leave("the test is over", now())
        self._run(10, lambda: not self.core.membership.leaving)
        self.core.close(now())
        self._turn()
        self._selector.close()

    def _run(self, seconds, condition):
        until = time.monotonic() + seconds
        self._turn()
        while True:
            self._do_tasks()
            if condition() or time.monotonic() >= until:
                return
            self._wait(until)

    def _wait(self, until):
        due = self.core.next_deadline()
        wait_s = until - time.monotonic()
        if due is not None:
            wait_s = min(wait_s, due / 1000 - time.monotonic())
        ready = self._selector.select(max(0.0, wait_s)) if self._sockets else []
        for key, _ in ready:
            self._receive(key.data)
        self.core.tick(now())
        self._turn()

    def _do_tasks(self):
        while (task := self.core.begin_task(now())) is not None:
            if task.run is not None:
                task.run()
            elif self.listener is not None:
                self.listener(task.kind, sorted(task.partitions))
            self.core.end_task(task, None, now(), in_poll=self.core.waiting > 0)
            self._turn()

    def _turn(self):
        outbox, self.core.outbox = self.core.outbox, []
        for item in outbox:
            if isinstance(item, Connect):
                self._sockets[item.connection] = made = socket.create_connection(
                    item.address
                )
                self._buffers[item.connection] = bytearray()
                self._selector.register(made, selectors.EVENT_READ, item.connection)
            elif isinstance(item, Send):
                frame = b"".join(item.frame)
                self._sockets[item.connection].sendall(
                    len(frame).to_bytes(4, "big") + frame
                )
            else:
                self._forget(item.connection)

    def _receive(self, connection):
        buffer = self._buffers[connection]
        data = self._sockets[connection].recv(1 << 16)
        if not data:
            self._forget(connection)
            self.core.connection_lost(connection, now())
            return
        buffer += data
        while len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "big"):
            size = 4 + int.from_bytes(buffer[:4], "big")
            frame = bytearray(buffer[4:size])
            del buffer[:size]
            self.core.receive_reply(connection, frame, now())
            self._turn()

    def _forget(self, connection):
        gone = self._sockets.pop(connection)
        self._selector.unregister(gone)
        gone.close()
