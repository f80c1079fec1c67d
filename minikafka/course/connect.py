"""The cluster switch: lessons that use a real client ask here which Kafka they talk to.

    from minikafka.course.connect import connect

    kafka = connect()
    kafka.producer().send("orders", key="alice", value={"status": "paid"})

By default it is a small Kafka that belongs to the kernel: `minikafka serve` as a child
process, which ends with the kernel. MINIKAFKA_BOOTSTRAP names any other cluster:
`docker` or `jvm`, the three brokers of docker/compose.yaml in Docker or started by
`make kafka`, or host:port,host:port, such as one for a whole class.
"""

import atexit
import os
from functools import cache
from typing import Any

from minikafka.course.clusters import compose
from minikafka.server.embedded import Served
from minikafka.simulation.serializers import serialize

VARIABLE = "MINIKAFKA_BOOTSTRAP"

OWN = (
    "Cluster: a small Kafka of this notebook's own (minikafka serve), over TCP. It goes"
    " when the kernel goes."
)
NAMED = f"Cluster: the one that {VARIABLE} names, over TCP."
_NOBODY = """minikafka: nobody answers at {bootstrap}, which {variable} names.
  {how}, or unset {variable}: the notebook then starts a small Kafka of its own."""

# Both have the addresses of the compose file; how to start them differs.
STARTED_BY = {
    "docker": "docker compose -f docker/compose.yaml up --detach --wait",
    "jvm": "make kafka   (Windows: py tasks.py kafka)",
}

_ANSWER_WITHIN_MS = 30_000


def choice() -> str:
    """The cluster named in the environment: docker, jvm, addresses, or ""."""
    return os.environ.get(VARIABLE, "").strip()


def named() -> str:
    """The addresses of the cluster that the environment names, or an empty text."""
    return compose.bootstrap() if choice() in STARTED_BY else choice()


def bootstrap() -> str:
    """host:port, or several with commas between. The first call may start the kernel's
    own Kafka.
    """
    return named() or _own().bootstrap


@cache
def _own() -> Served:
    served = Served()
    atexit.register(served.stop)
    return served


def connect() -> "Connection":
    """A connection to the cluster of the switch; says which one it is. Raises
    NobodyAnswers when no broker does.
    """
    connection = Connection(bootstrap())
    connection.check()
    print(NAMED if named() else OWN)
    return connection


class NobodyAnswers(ConnectionError):
    """There is no Kafka where the environment says; the message says what to do."""

    def _render_traceback_(self) -> list[str]:  # IPython shows this: the message alone
        return str(self).splitlines()


class Connection:
    """kafka-python's own clients, which take text and dicts as keys and values as the
    simulation's do (UTF-8, JSON).

    Arguments go to kafka-python; `key_serializer` and `value_serializer` may be given
    too. What is read is bytes.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap = bootstrap_servers

    def __repr__(self) -> str:
        return "Connection with .producer(), .consumer(*topics), .admin()"

    def check(self) -> None:
        """Raises NobodyAnswers when no broker does."""
        from kafka.errors import KafkaError

        try:
            self.admin(bootstrap_timeout_ms=_ANSWER_WITHIN_MS).close()
        except KafkaError as error:
            starts = STARTED_BY.get(choice())
            how = f"Start it:  {starts}" if starts else "Start that cluster"
            raise NobodyAnswers(
                _NOBODY.format(bootstrap=self.bootstrap, variable=VARIABLE, how=how)
            ) from error

    def producer(self, **configs: Any) -> Any:
        """A KafkaProducer connected to this cluster; text and JSON values are
        serialized. configs: kafka-python's.
        """
        from kafka import KafkaProducer, Serializer

        class TextAndJson(Serializer):  # kafka-python 3 deprecates plain functions
            def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:
                return serialize(data)

        ours = {
            "bootstrap_servers": self.bootstrap,
            "key_serializer": TextAndJson(),
            "value_serializer": TextAndJson(),
        }
        return KafkaProducer(**{**ours, **configs})

    def consumer(self, *topics: str, **configs: Any) -> Any:
        """A KafkaConsumer. Without a group_id it reads all partitions of its topics and
        commits nothing.
        """
        from kafka import KafkaConsumer

        given = {
            "bootstrap_servers": self.bootstrap,
            # what it subscribes to while an answer of Metadata is on its way is asked
            # for only when that one is too old: in kafka-python after five minutes
            "metadata_max_age_ms": 5_000,
        }
        return KafkaConsumer(*topics, **{**given, **configs})

    def admin(self, **configs: Any) -> Any:
        """A KafkaAdminClient connected to this cluster. configs: kafka-python's."""
        from kafka import KafkaAdminClient

        return KafkaAdminClient(**{"bootstrap_servers": self.bootstrap, **configs})
