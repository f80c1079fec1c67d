"""One question to a broker over a plain socket: which brokers are there? A client would try for minutes; this gives up.

What a broker answers is the address that it advertises (KIP-103), which needn't be the one it was asked at.
"""

import socket
import struct

from minikafka.wire.messages import decode_response, encode_request

PATIENCE_SECONDS = 3.0
_VERSION = 1  # of Metadata: every Kafka since 0.10 knows it
_MOST_BYTES = 1 << 20  # of an answer that names no topic: more is no Kafka's


def listens(address: str) -> bool:
    """Does anybody take a connection at host:port?"""
    try:
        _connected(address).close()
    except OSError:
        return False
    return True


def brokers(address: str) -> list[str] | None:
    """host:port of each broker, as the one at host:port tells its clients; None where no Kafka answers."""
    frame = b"".join(encode_request("Metadata", _VERSION, 1, "minikafka-doctor", {"topics": []}))
    try:
        with _connected(address) as broker:
            broker.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", _read(broker, 4))
            if not 0 < size < _MOST_BYTES:
                return None
            _, told = decode_response("Metadata", _VERSION, _read(broker, size))
    except (OSError, ValueError, struct.error):
        return None
    return [f"{one.host}:{one.port}" for one in told.brokers]


def _connected(address: str) -> socket.socket:
    host, _, port = address.strip().rpartition(":")
    if not port.isdecimal():
        raise OSError(f"{address} is no host:port")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)


def _read(broker: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = broker.recv(size - len(data))
        if not more:
            raise OSError("the other side hung up")
        data += more
    return data
