"""The brokers of docker/compose.yaml, read as Docker Compose reads them: what else
starts them asks here.

It knows as much of the format as that file uses: merged mappings, `${NAME:-default}`,
one volume a broker.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minikafka.course.places import COMPOSE

FILE = COMPOSE
IMAGE = "apache/kafka"
OUTSIDE = "HOST"  # the listener that programs on the host use


@dataclass(frozen=True)
class Broker:
    """One service of the image apache/kafka. environment: as the container gets it.
    volume: the folder it is mounted at. health: the command of its health check, as
    words.
    """

    name: str
    version: str
    environment: dict[str, str]
    volume: str
    health: tuple[str, ...]

    @property
    def ports(self) -> dict[str, int]:
        """The port of each listener, by the listener's name."""
        return {
            name: int(port)
            for name, _, port in _listeners(self.environment["KAFKA_LISTENERS"])
        }

    @property
    def address(self) -> str:
        """host:port for programs on the host."""
        advertised = _listeners(self.environment["KAFKA_ADVERTISED_LISTENERS"])
        return next(
            f"{host}:{port}" for name, host, port in advertised if name == OUTSIDE
        )


def _listeners(text: str) -> list[tuple[str, str, str]]:
    """(name, host, port) of each."""
    return re.findall(r"(\w+)://([^:,]*):(\d+)", text)


def document(
    variables: Mapping[str, str] | None = None, text: str | None = None
) -> dict[str, Any]:
    """The whole file. variables: the values of `${NAME}`, by default this process's
    environment.
    """
    import yaml

    given = os.environ if variables is None else variables
    text = FILE.read_text(encoding="utf-8") if text is None else text
    filled = re.sub(
        r"\$\{(\w+):-([^}]*)\}", lambda found: given.get(found[1]) or found[2], text
    )
    read: dict[str, Any] = yaml.safe_load(filled)
    return read


def brokers(variables: Mapping[str, str] | None = None) -> tuple[Broker, ...]:
    """All brokers, in the file's order."""
    found = []
    for name, service in document(variables)["services"].items():
        image, _, version = service["image"].partition(":")
        if image == IMAGE:
            environment = {
                key: str(value) for key, value in service["environment"].items()
            }
            volume = service["volumes"][0].partition(":")[2]
            found.append(
                Broker(
                    name,
                    version,
                    environment,
                    volume,
                    tuple(service["healthcheck"]["test"][1:]),
                )
            )
    return tuple(found)


def bootstrap(variables: Mapping[str, str] | None = None) -> str:
    """host:port,host:port,host:port: where programs on the host reach the brokers."""
    return ",".join(broker.address for broker in brokers(variables))
