"""Servers that take TCP connections and aren't Kafka."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent() -> Iterator[str]:
    """host:port of one that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def http() -> Iterator[str]:
    """host:port of one that calls every request a bad one, as a web server does."""
    with _Server(("127.0.0.1", 0), _BadRequest) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


class _BadRequest(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        if self.request.recv(1000):
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
