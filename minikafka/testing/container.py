"""`pytest --kafka=testcontainers`: Apache Kafka in a container, for all tests of a
session.
"""

import contextlib
import socket
from collections.abc import Iterator

from minikafka.server.addresses import named
from minikafka.server.checks import new_cluster_id
from minikafka.testing.client import Client, until

IMAGE = "apache/kafka:4.4.0"
CONTROLLER_PORT, DATA = 9093, "/var/lib/kafka/data"  # inside
START_SECONDS = 120.0


class NoContainer(Exception):
    """It can't be started; str() says why, and what to do."""


@contextlib.contextmanager
def apache_kafka() -> Iterator[str]:
    """Its address, host:port, once it answers. Errors: NoContainer."""
    try:
        from docker.errors import DockerException
        from testcontainers.core.container import DockerContainer
    except ImportError as error:
        raise NoContainer(
            f"it needs the package testcontainers: pip install testcontainers ({error})"
        ) from error
    port = free_port()
    try:
        container = DockerContainer(IMAGE).with_bind_ports(port, port)
        address = named((container.get_container_host_ip(), port))
        container.with_envs(**environment(address)).start()
    except (DockerException, OSError) as error:
        raise NoContainer(
            f"no container engine has started {IMAGE}. Does `docker info` answer here?"
            f" ({error})"
        ) from error
    try:
        wait_for(address)
        yield address
    finally:
        container.stop()


def environment(address: str) -> dict[str, str]:
    """The container's: one broker, which clients find at this address, and which listens
    on the same port inside.
    """
    port = address.rpartition(":")[2]
    inside = f"HOST://:{port},CONTROLLER://:{CONTROLLER_PORT}"
    return {
        "CLUSTER_ID": new_cluster_id(),
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": f"1@localhost:{CONTROLLER_PORT}",
        "KAFKA_LISTENERS": inside,
        "KAFKA_ADVERTISED_LISTENERS": f"HOST://{address}",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "HOST",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "HOST:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_LOG_DIRS": DATA,
    }


def free_port() -> int:
    """Clients are told the port before the container can be asked for one."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


def wait_for(address: str) -> None:
    """Returns once it answers. Errors: NoContainer."""
    client = Client(lambda: [address])
    try:
        until(lambda: client.brokers() or None, START_SECONDS, f"{IMAGE} is silent")
    except AssertionError as error:
        raise NoContainer(str(error)) from error
    finally:
        client.close()
