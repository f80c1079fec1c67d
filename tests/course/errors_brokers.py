"""The brokers that the messages of the page "error, cause, command" come from, of both
kinds.
"""

import shlex
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from minikafka.course.errors import entries
from minikafka.server.embedded import Served
from tests.clients.brokers import overrides
from tests.course.provoking import Elsewhere
from tests.kafka import MINIKAFKA, SMALL_JVM, ApacheKafka, free_ports

LOCKED_PORTS = (9093, 9094, 9095, 9096, 9097)
# What was refused, and to whom: in a file of its own where the broker is no test's.
AUDIT = "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=info"


class Running(NamedTuple):
    """log: what Apache Kafka has written so far; minikafka writes nothing."""

    address: str
    log: Callable[[], str]


@contextmanager
def one_broker(kind, server, folder=None, ports=MappingProxyType({})):
    """folder: where the keys are. ports: of other listeners, by the page's port."""
    if kind == MINIKAFKA:
        words = shlex.split(server.minikafka)[2:] if server and server.minikafka else ()
        if server and server.keys:
            [port] = free_ports(1)
            mine = dict(_here(server, folder, {**ports, 9092: port}))
            words = overrides(mine | {"listeners": _of_clients(mine["listeners"])})
        with Served(options=tuple(words)) as served:
            port = served.bootstrap.rpartition(":")[2]
            yield Running(f"127.0.0.1:{port}", str)
        return
    apache = ApacheKafka(jvm=("-Xmx512m", *SMALL_JVM, AUDIT))
    mine = {9091: apache.controller_port, 9092: apache.port, **ports}
    apache.properties.update(_here(server, folder, mine))
    with apache:
        yield Running(apache.bootstrap, apache.log)


def _here(server, folder, ports):
    """The page's properties, with the ports and the folder of this test."""
    for line in server.properties if server else ():
        name, value = line.split("=", 1)
        for shown, port in ports.items():
            value = value.replace(f"localhost:{shown}", f"127.0.0.1:{port}")
            value = value.replace(f":{shown}", f":{port}")
        yield name, str(folder / value) if value.endswith(".pem") else value


def _of_clients(listeners):
    """Without the nodes' own, which a minikafka of one node has not."""
    return ",".join(
        each for each in listeners.split(",") if not each.startswith("CONTROLLER:")
    )


@contextmanager
def with_locks(kind, folder):
    """The broker with TLS, SASL and ACLs. Yields the page's names as they are here,
    with its log; its keys are in the folder.
    """
    server = next(e.server for e in entries() if e.server and e.server.keys)
    subprocess.run(server.keys, shell=True, cwd=folder, check=True, capture_output=True)
    ports = dict(zip(LOCKED_PORTS, free_ports(len(LOCKED_PORTS)), strict=True))
    with one_broker(kind, server, folder, ports) as broker:
        yield Elsewhere(broker.address, folder, ports, broker.log)
