"""`python -m tests.sessions.capture [CLIENT ...]`: writes the sessions anew, from the
clients that are installed here: kafka-python, librdkafka, aiokafka, java, franz-go.

Each does the same: it makes a topic, writes three orders, and a member of a group reads
them, commits and leaves.
"""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from minikafka.course.experiments.lesson_12_real import stay_behind
from minikafka.server.embedded import Served
from minikafka.server.proxy import Proxy
from tests.kafka import VERSION, java_tool
from tests.sessions.session import FOLDER, write

TOPIC, GROUP, PARTITIONS = "orders", "billing", 2
ORDERS = {b"alice": b"order 0", b"bob": b"order 1", b"carol": b"order 2"}
STORY = (
    "Makes a topic and writes three orders; a group's member reads and commits them."
)


def kafka_python(bootstrap: str) -> str:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import KafkaAdminClient, NewTopic

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    admin.close()
    shop = KafkaProducer(bootstrap_servers=bootstrap)
    for key, value in ORDERS.items():
        shop.send(TOPIC, key=key, value=value).get(60)
    shop.close()
    billing = KafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    for _ in ORDERS:
        next(billing)
    billing.commit()
    billing.close()
    return f"kafka-python {version('kafka-python')}"


def librdkafka(bootstrap: str) -> str:
    from confluent_kafka import Consumer, Producer, libversion
    from confluent_kafka.admin import AdminClient, NewTopic

    servers = {"bootstrap.servers": bootstrap}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(60)
    shop = Producer(servers)
    for key, value in ORDERS.items():
        shop.produce(TOPIC, key=key, value=value)
        shop.flush(60)
    billing = Consumer(
        servers
        | {
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    billing.subscribe([TOPIC])
    read = 0
    while read < len(ORDERS):
        read += len(billing.consume(1, 60))
    billing.commit(asynchronous=False)
    billing.close()
    return (
        f"librdkafka {libversion()[0]} (confluent-kafka {version('confluent-kafka')})"
    )


def aiokafka(bootstrap: str) -> str:
    asyncio.run(_aiokafka(bootstrap))
    return f"aiokafka {version('aiokafka')}"


async def _aiokafka(bootstrap: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as shop:
        for key, value in ORDERS.items():
            await shop.send_and_wait(TOPIC, key=key, value=value)
    billing = AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id=GROUP,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with billing:
        for _ in ORDERS:
            await billing.getone()
        await billing.commit()


def java(bootstrap: str) -> str:
    server = ("--bootstrap-server", bootstrap)
    java_tool(
        "org.apache.kafka.tools.TopicCommand",
        *server,
        *("--create", "--topic", TOPIC, "--partitions", str(PARTITIONS)),
    ).check_returncode()
    lines = b"\n".join(key + b":" + value for key, value in ORDERS.items())
    java_tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *server,
        *("--topic", TOPIC, "--reader-property", "parse.key=true"),
        *("--reader-property", "key.separator=:"),
        input=lines + b"\n",
    ).check_returncode()
    java_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *server,
        *("--topic", TOPIC, "--group", GROUP, "--from-beginning"),
        *("--max-messages", str(len(ORDERS))),
    ).check_returncode()
    return f"Apache Kafka {VERSION}'s topics tool, console producer, console consumer"


def franz_go(bootstrap: str) -> str:
    folder = FOLDER / "franz_go"
    subprocess.run(["go", "run", ".", bootstrap], cwd=folder, check=True)
    listed = (folder / "go.mod").read_text().split()
    at = listed.index("github.com/twmb/franz-go")
    return f"franz-go {listed[at + 1]}"


CLIENTS: dict[str, Callable[[str], str]] = {
    "kafka-python": kafka_python,
    "librdkafka": librdkafka,
    "aiokafka": aiokafka,
    "java": java,
    "franz-go": franz_go,
}


def capture(name: str) -> Path:
    """The session of a client with a new broker, behind a proxy."""
    proxies: list[Proxy] = []
    change = stay_behind(lambda: proxies[0].port)
    with tempfile.TemporaryDirectory() as data, Served(data) as served:
        with Proxy(served.bootstrap, change) as proxy:
            proxies.append(proxy)
            what = CLIENTS[name](proxy.address)
        frames = proxy.frames
    path = FOLDER / f"{name}.txt"
    write(path, [what, STORY], frames)
    return path


if __name__ == "__main__":
    for wanted in sys.argv[1:] or CLIENTS:
        if wanted not in CLIENTS:
            sys.exit(f"{wanted} is none of {', '.join(CLIENTS)}")
        written = capture(wanted)
        print(written.name, written.stat().st_size, "bytes", flush=True)
