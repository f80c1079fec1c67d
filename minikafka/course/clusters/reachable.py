"""Questions to a broker over a plain socket, such as: which brokers are there? A client
would try for minutes; this gives up.

What a broker answers is the address that it advertises (KIP-103), which needn't be the
one it was asked at.
"""

import socket
import struct
from collections.abc import Mapping

from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.schema import Message

PATIENCE_SECONDS = 3.0
_CLIENT_ID = "minikafka-course"
_VERSION = 1  # of Metadata: every Kafka since 0.10 knows it
_MOST_BYTES = 1 << 20  # of an answer that names no topic: more is no Kafka's


def listens(address: str) -> bool:
    """Does anybody take a connection at host:port?"""
    try:
        connected(address).close()
    except OSError:
        return False
    return True


def brokers(address: str) -> list[str] | None:
    """host:port of each broker, as the one at host:port tells its clients; None where
    no Kafka answers.
    """
    try:
        with connected(address) as broker:
            told = ask(broker, "Metadata", _VERSION, {"topics": []}, _MOST_BYTES)
    except (OSError, ValueError, struct.error):
        return None
    return [f"{one.host}:{one.port}" for one in told.brokers]


def ask(
    broker: socket.socket,
    api: str,
    version: int,
    body: Mapping[str, object],
    most_bytes: int,
) -> Message:
    """The answer to one request. Errors: OSError; ValueError if it isn't an answer of
    Kafka's.
    """
    frame = b"".join(encode_request(api, version, 1, _CLIENT_ID, body))
    broker.sendall(struct.pack(">i", len(frame)) + frame)
    (size,) = struct.unpack(">i", _read(broker, 4))
    if not 0 < size < most_bytes:
        raise ValueError(f"an answer of {size} bytes")
    return decode_response(api, version, _read(broker, size))[1]


def connected(address: str) -> socket.socket:
    """A connection to host:port. Errors: OSError, also where it is no host:port."""
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isdecimal():
        raise OSError(f"{address} is no host:port")
    try:
        return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
    except (ValueError, OverflowError) as error:  # no host's name, no port's number
        raise OSError(f"{address} is no host:port") from error


def _read(broker: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = broker.recv(size - len(data))
        if not more:
            raise OSError("the other side hung up")
        data += more
    return bytes(data)
