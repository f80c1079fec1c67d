"""A client for which the system keeps little of an answer that it does not read."""

import socket

from tests.conformance.raw import Connection


class SmallWindow(Connection):
    """receive_bytes: what the system may keep on the client's side."""

    def __init__(self, bootstrap, receive_bytes):
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(20)
        self.socket.connect((host, int(port)))
        self.correlation_id = 0
