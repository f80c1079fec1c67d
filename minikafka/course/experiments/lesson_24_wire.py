"""Lesson 24's wire: a broker with a lock on its listener, somebody who listens between
it and a client, and certificates for one name or another.
"""

import contextlib
import logging
import re
import socket
import tempfile
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minikafka.server import keys
from minikafka.server.embedded import Served
from minikafka.server.proxy import LOOPBACK, hang_up

TOPIC, KEY, VALUE = "orders", "alice", "one bicycle, 480 euros"
CLIENT_ID = "till-7"
MECHANISM = "SCRAM-SHA-256"
PATIENCE_S, IMPATIENCE_S = 60, 3
ALL_BYTES = 65_536


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Wiretap:
    """Passes on all bytes between clients and a port, and keeps them. port: where
    clients connect. heard: the bytes of both directions.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.heard = bytearray()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def __enter__(self) -> "Wiretap":
        return self

    def __exit__(self, *error: object) -> None:
        for each in [self._listener, *self._sockets]:
            hang_up(each)
            each.close()

    def _start(self, run: Any, *args: Any) -> None:
        threading.Thread(target=run, args=args, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection((LOOPBACK, self._target))
                self._sockets += [client, broker]
                self._start(self._carry, client, broker)
                self._start(self._carry, broker, client)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(ALL_BYTES):
                with self._lock:
                    self.heard += data
                target.sendall(data)
        hang_up(target)


@contextlib.contextmanager
def broker(
    protocol: str,
    port: int,
    *,
    advertised: str = "",
    configs: Mapping[str, str] = MappingProxyType({}),
    users: Mapping[str, str] = MappingProxyType({}),
    data: Path | None = None,
) -> Iterator[None]:
    """A broker with one listener, on this port. advertised: host:port, if that's
    another place. users: their passwords, for SCRAM. data: a folder to keep.
    """
    here = f"{LOOPBACK}:{port}"
    found = {
        "listeners": f"{protocol}://{here}",
        "advertised.listeners": f"{protocol}://{advertised or here}",
        "sasl.enabled.mechanisms": MECHANISM,
        **configs,
    }
    words = [f"--override={name}={value}" for name, value in found.items()]
    for name, password in users.items():
        words.append(f"--add-scram={MECHANISM}=[name={name},password={password}]")
    with Served(data, options=tuple(words)):
        yield


def broker_keys(folder: Path) -> dict[str, str]:
    """The configs of a broker whose key is in this folder."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
    }


@contextlib.contextmanager
def made_keys(*hosts: str) -> Iterator[Path]:
    """A folder as `minikafka keys DIR` makes it, for these hosts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys"
        keys.make(path, hosts)
        yield path


def overheard(protocol: str) -> bytes:
    """A till sends one order over a listener of this protocol. Returns all bytes that
    passed on the way, in both directions.
    """
    port = free_port()
    with made_keys("localhost") as folder, Wiretap(port) as tap:
        address = f"localhost:{tap.port}"
        with broker(protocol, port, advertised=address, configs=broker_keys(folder)):
            send_one(address, protocol, folder)
        return bytes(tap.heard)


def send_one(address: str, protocol: str, folder: Path) -> None:
    from kafka import KafkaProducer

    till = KafkaProducer(
        bootstrap_servers=address,
        security_protocol=protocol,
        ssl_cafile=str(folder / "ca.pem"),
        client_id=CLIENT_ID,
    )
    till.send(TOPIC, key=KEY.encode(), value=VALUE.encode()).get(PATIENCE_S)
    till.close()


def searched(heard: bytes, *words: str) -> list[str]:
    """The words that are among these bytes; prints which are and which are not."""
    for word in words:
        found = "found" if word.encode() in heard else "not found"
        print(f"{word:12} {found}")
    return [word for word in words if word.encode() in heard]


def order_over_tls(names: Sequence[str], advertised: str) -> int:
    """A till that is told localhost sends one order to a broker whose certificate is
    for these names, and which advertises this one. Returns at which connection the till
    gives up; 0 if its order is stored. Prints what it says.
    """
    port = free_port()
    address = f"{advertised}:{port}"
    with (
        made_keys(*names) as folder,
        heard_errors() as said,
        broker("SSL", port, advertised=address, configs=broker_keys(folder)),
    ):
        refused_at = one_order(f"localhost:{port}", folder)
    print(in_lines(in_short(said[0])) if refused_at else "the order is stored")
    return refused_at


def one_order(address: str, folder: Path) -> int:
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    wait_ms = 1000 * IMPATIENCE_S
    try:
        till: Any = KafkaProducer(
            bootstrap_servers=address,
            bootstrap_timeout_ms=wait_ms,
            max_block_ms=wait_ms,
            security_protocol="SSL",
            ssl_cafile=str(folder / "ca.pem"),
        )
    except KafkaError:
        return 1
    try:
        till.send(TOPIC, key=KEY.encode(), value=VALUE.encode()).get(IMPATIENCE_S)
        return 0
    except KafkaError:
        return 2
    finally:
        till.close(timeout=0)


@contextlib.contextmanager
def heard_errors() -> Iterator[list[str]]:
    """What kafka-python logs as an error meanwhile."""
    said: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    log, handler = logging.getLogger("kafka"), Heard(logging.ERROR)
    log.addHandler(handler)
    try:
        yield said
    finally:
        log.removeHandler(handler)


def in_short(said: str) -> str:
    """Without the line of OpenSSL's source."""
    return re.sub(r" \(_ssl\.c:\d+\)", "", said)


def in_lines(said: str) -> str:
    """Broken between words: a notebook breaks a long line anywhere."""
    return textwrap.fill(said, 88, subsequent_indent="  ", break_on_hyphens=False)
