"""A bad network before a good broker: a proxy that loses Produce requests, or their
answers, on purpose.

It listens on another loopback address than the broker, on the same port, and the broker
advertises that address. So any client, the Java client too, comes through it.
"""

import socket
import struct
import threading

HOST = "127.0.0.2"
PRODUCE = 0


class Lossy:
    """swallow: so many Produce requests disappear, with the connection of the last one.
    lose_answers: so many are written, and their answers lost with the connection.
    answers: while it is cleared, answers to them wait.

    requests counts them, in_flight those that are not answered yet, most_in_flight the
    most at once.
    """

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server((HOST, port))
        self.bootstrap = f"{HOST}:{port}"
        self.lock = threading.Lock()
        self.swallow = self.lose_answers = self.requests = self.in_flight = (
            self.most_in_flight
        ) = 0
        self.answers = threading.Event()
        self.answers.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            broker = socket.create_connection(self.target)
            # a Produce request's correlation id -> does its answer get lost?
            lost: dict[int, bool] = {}
            for way in (self._to_the_broker, self._to_the_client):
                threading.Thread(
                    target=quietly, args=(way, client, broker, lost), daemon=True
                ).start()

    def _to_the_broker(self, client, broker, lost):
        while True:
            frame = read_frame(client)
            api, _, correlation_id = struct.unpack(">hhi", frame[4:12])
            with self.lock:
                if api == PRODUCE:
                    self.requests += 1
                    if self.swallow:
                        self.swallow -= 1
                        if self.swallow == 0:
                            raise OSError("the connection is gone")
                        continue
                    lost[correlation_id] = self.lose_answers > 0
                    self.lose_answers -= lost[correlation_id]
                    self.in_flight += 1
                    self.most_in_flight = max(self.most_in_flight, self.in_flight)
            broker.sendall(frame)

    def _to_the_client(self, client, broker, lost):
        while True:
            frame = read_frame(broker)
            is_lost = lost.pop(struct.unpack(">i", frame[4:8])[0], None)
            if is_lost is not None:  # an answer to Produce
                self.answers.wait()
                with self.lock:
                    self.in_flight -= 1
            if is_lost:
                raise OSError("the answer is lost, and the connection with it")
            client.sendall(frame)


def quietly(way, client, broker, lost):
    """Carries frames one way until either side has gone; then both are."""
    try:
        way(client, broker, lost)
    except OSError:
        pass
    for side in (client, broker):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def read_frame(side):
    """The next frame with its size; OSError at the end."""
    frame = b""
    while len(frame) < 4 or len(frame) < 4 + struct.unpack(">i", frame[:4])[0]:
        wanted = 4 if len(frame) < 4 else 4 + struct.unpack(">i", frame[:4])[0]
        more = side.recv(wanted - len(frame))
        if not more:
            raise OSError("hung up")
        frame += more
    return frame
