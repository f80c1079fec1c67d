"""Lesson 15's real share group: a broker over TCP, jobs by kafka-python, and a member
that is confluent-kafka's ShareConsumer, a preview in librdkafka 2.16.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from minikafka.server.embedded import Served

TOPIC, GROUP, JOBS = "jobs", "workers", 20
NEEDED = (2, 16)  # of confluent-kafka
MISSING = (
    'This cell needs confluent-kafka 2.16 or newer: pip install "confluent-kafka>=2.16"'
)


def over_tcp(work: Callable[[str, int], Sequence[Any]]) -> None:
    """Twenty jobs in one partition, and a member of a share group: work(bootstrap,
    count) returns what it was given. Prints what came of it, or what is missing here.
    """
    if _found() < NEEDED:
        print(MISSING)
        return
    with Served() as served:
        _prepare(served.bootstrap)
        jobs = work(served.bootstrap, JOBS)
    numbers = sorted(job.offset() for job in jobs)
    each_once = numbers == list(range(JOBS))
    print(f"{len(jobs)} jobs over TCP, each delivered once: {each_once}")


def _found() -> tuple[int, ...]:
    try:
        installed = version("confluent-kafka")
    except PackageNotFoundError:
        return ()
    return tuple(map(int, installed.split(".")[:2]))


def _prepare(bootstrap: str) -> None:
    """The group's config, the topic and its jobs."""
    from kafka import KafkaAdminClient, KafkaProducer
    from kafka.admin import ConfigResource, NewTopic

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    begins = {"share.auto.offset.reset": "earliest"}
    admin.alter_configs([ConfigResource("GROUP", GROUP, begins)])
    admin.create_topics([NewTopic(TOPIC, 1, 1)])
    admin.close()
    shop = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(JOBS):
        shop.send(TOPIC, value=b"job %d" % number)
    shop.flush()
    shop.close()
