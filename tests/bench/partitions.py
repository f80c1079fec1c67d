"""2,000 partitions with three copies each on three brokers: what they cost while
nothing happens, and how long it takes until the last of those whose leader was killed
has another one.
"""

import time

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.bench import measures
from tests.clients.brokers import until

TOPICS, EACH = 20, 100
IDLE_S = 20
PATIENCE_S = 300
KILLED = 2
LOOK_S = 1  # a look that asks the killed broker ends, and the next one asks another


def create(bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap, **measures.QUIET})
    names = [f"topic-{number}" for number in range(TOPICS)]
    futures = admin.create_topics(
        [NewTopic(name, EACH, 3) for name in names], operation_timeout=60
    )
    for future in futures.values():
        future.result(PATIENCE_S)
    until(lambda: len(leaders(admin)) == TOPICS * EACH, "all have leaders", PATIENCE_S)
    return admin


def leaders(admin):
    """(topic, partition) -> leader, of those that have one; nothing while nobody
    answers.
    """
    try:
        topics = admin.list_topics(timeout=LOOK_S).topics.values()
    except KafkaException:
        return {}
    found = {
        (topic.topic, number): one.leader
        for topic in topics
        for number, one in topic.partitions.items()
    }
    return {
        at: leader
        for at, leader in found.items()
        if leader >= 0 and at[0].startswith("topic-")
    }


def watch(cluster):
    """For a while; nobody may die."""
    processes = [psutil.Process(process.pid) for process in cluster.processes.values()]
    assert psutil.wait_procs(processes, timeout=IDLE_S)[0] == []


def measure(results, name, cluster):
    """cluster: three brokers, each a process that stays dead when it is killed."""
    began = time.perf_counter()
    admin = create(cluster.bootstrap)
    results.add(
        "2,000 partitions: until all have leaders",
        "s",
        False,
        name,
        time.perf_counter() - began,
    )
    watch(cluster)  # replicas come into sync
    before = measures.processor_seconds(cluster)
    watch(cluster)
    idle = 100 * (measures.processor_seconds(cluster) - before) / IDLE_S
    results.add("idle, all three, of one core", "%", False, name, idle)
    led = {at for at, leader in leaders(admin).items() if leader == KILLED}
    cluster.kill(KILLED)
    killed_at = time.perf_counter()

    def moved():
        return sum(
            leader != KILLED for at, leader in leaders(admin).items() if at in led
        )

    until(lambda: moved() > 0, "one has a new leader", PATIENCE_S)
    fenced_at = time.perf_counter()
    until(lambda: moved() == len(led), "all have new leaders", PATIENCE_S)
    last_at = time.perf_counter()
    results.add("killed to first new leader", "s", False, name, fenced_at - killed_at)
    results.add("first to last new leader", "s", False, name, last_at - fenced_at)
