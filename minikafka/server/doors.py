"""Where `serve` listens to clients: by --host and --port on one listener without a lock,
and by Kafka's `listeners` on any others. Their locks are in locks.py.
"""

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from minikafka.broker.config import BrokerConfig
from minikafka.broker.listeners import (
    PLAINTEXT,
    SASL_PLAINTEXT,
    SSL,
    Listener,
    listeners_in,
)
from minikafka.cluster.metadata import Endpoint
from minikafka.server.addresses import (
    CannotServe,
    is_loopback,
    named,
    port_to_listen_on,
)
from minikafka.server.log import log
from minikafka.trace import printable
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    import argparse

LISTENER = PLAINTEXT  # the only one, unless others are named
LISTENERS, ADVERTISED = "listeners", "advertised.listeners"
NODE_ID = "node.id"


def wanted(args: "argparse.Namespace", at: int) -> list[Listener]:
    """Where one broker is to listen to clients. at: 0 for the first broker of this
    process; each further one takes the next port.
    """
    text = dict(args.override).get(LISTENERS)
    if text is None:
        return [Listener(LISTENER, args.host, args.port + at if args.port else 0)]
    found = []
    for name, host, port in parsed(LISTENERS, text):
        found.append(Listener(name, host or args.host, port + at if port else 0))
    return found


def parsed(option: str, text: str) -> list[Listener]:
    try:
        return listeners_in(text)
    except KafkaError as error:
        raise CannotServe(f"--override {option}: {error.message}.") from error


def client_sockets(
    args: "argparse.Namespace", nodes: Sequence[int]
) -> dict[int, dict[str, socket.socket]]:
    """The sockets where clients will reach each node, by the listener's name."""
    found = {}
    option = LISTENERS if LISTENERS in dict(args.override) else "--host"
    for at, node in enumerate(nodes):
        found[node] = {
            name: port_to_listen_on(host, port, args.kept_ports, option)
            for name, host, port in wanted(args, at)
        }
    return found


def told(
    args: "argparse.Namespace", at: int, sockets: Mapping[str, socket.socket]
) -> dict[str, Endpoint]:
    """What clients of each listener of a broker are told: where it listens, unless
    something in between, such as a proxy, is in another place.
    """
    text = dict(args.override).get(ADVERTISED)
    if text is None:
        first = args.advertised_port
        found = {}
        for name, host, _ in wanted(args, at):
            port = sockets[name].getsockname()[1]
            host = args.advertised_host or host
            found[name] = (host, first + at if first else port)
        return found
    found = {}
    for name, host, port in parsed(ADVERTISED, text):
        if name not in sockets:
            raise CannotServe(f"{ADVERTISED}: there is no listener {printable(name)}.")
        own_port: int = sockets[name].getsockname()[1]
        found[name] = (host or args.host, port + at if port else own_port)
    return found


def warn_of_open_doors(
    config: BrokerConfig, sockets: Mapping[str, socket.socket]
) -> None:
    """Warn where anybody comes in, or listens in, who reaches a listener from another
    machine.
    """
    for name, sock in sockets.items():
        if is_loopback(sock):
            continue
        where = named(sock.getsockname())
        protocol = config.protocol(name)
        if protocol == PLAINTEXT or (
            protocol == SSL
            and config.of_listener(name, "ssl.client.auth").lower() != "required"
        ):
            log(
                f"there is no authentication: anybody who reaches {where} may read and"
                " write."
            )
        if protocol == SASL_PLAINTEXT:
            log(
                f"there is no encryption: anybody on the way to {where} may read along."
            )
