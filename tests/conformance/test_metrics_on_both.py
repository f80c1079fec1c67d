"""Metrics of three brokers, of minikafka (`serve --metrics`) and of Apache Kafka (its
MBeans, by the names that Prometheus' JMX exporter gives them): healthy, without one
broker, and with a min.insync.replicas that nobody can keep.

What a broker says is summed over the brokers that live; what a controller says of the
cluster must be the same on each.
"""

import os
import re
import signal
from collections import namedtuple
from contextlib import closing, contextmanager

import pytest

from minikafka.broker.metrics import METRICS
from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides, until
from tests.kafka import BOTH, MINIKAFKA, ROOT, SMALL_JVM, an_address, java_tool
from tests.metrics import Scrape

pytestmark = pytest.mark.slow

kafka = pytest.importorskip("kafka")

MBEANS = str(ROOT / "tests/conformance/MBeans.java")
# As docker/compose.yaml has them; one partition for all groups' offsets.
LIKE_THEIRS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    **STEADY,
}
RECORDS, VALUE = 60, b"x" * 100
BATCH_BYTES = 170  # of one record with this value
DEAD = 3

REPLICAS = "kafka_server_replicamanager_"
CONTROLLER = "kafka_controller_kafkacontroller_"
TOPICS = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"
ORDERS = {"topic": "orders"}
PRODUCE = {"request": "Produce"}

# Of the brokers: name, labels.
SUMMED = {
    "partitions": (REPLICAS + "partitioncount", {}),
    "leaders": (REPLICAS + "leadercount", {}),
    "under replicated": (REPLICAS + "underreplicatedpartitions", {}),
    "under min ISR": (REPLICAS + "underminisrpartitioncount", {}),
    "at min ISR": (REPLICAS + "atminisrpartitioncount", {}),
    "offline replicas": (REPLICAS + "offlinereplicacount", {}),
    "in-sync replicas of orders": (
        "kafka_cluster_partition_insyncreplicascount",
        ORDERS,
    ),
    "log end offsets of orders": ("kafka_log_log_logendoffset", ORDERS),
    "committed offsets": (
        "kafka_coordinator_group_groupmetadatamanager_numoffsets",
        {},
    ),
    "active controllers": (CONTROLLER + "activecontrollercount", {}),
}
# Of the cluster, as each controller has them.
SAME = {
    "active brokers": CONTROLLER + "activebrokercount",
    "fenced brokers": CONTROLLER + "fencedbrokercount",
    "topics": CONTROLLER + "globaltopiccount",
    "all partitions": CONTROLLER + "globalpartitioncount",
    "offline partitions": CONTROLLER + "offlinepartitionscount",
}
# Of brokers that have all lived since the first record.
COUNTED = {
    "records": (TOPICS + "messagesin_total", ORDERS),
    "bytes": (TOPICS + "bytesin_total", ORDERS),
    "bytes of all topics": (TOPICS + "bytesin_total", None),
    "bytes followers wrote": (TOPICS + "replicationbytesin_total", {}),
    "bytes followers were sent": (TOPICS + "replicationbytesout_total", {}),
    "Produce requests": (REQUESTS + "requests_total", PRODUCE),
    "Produce requests with a time": (REQUESTS + "totaltimems_count", PRODUCE),
}

NAMES = {each.name for each in METRICS if each.name.startswith("kafka_")}

HEALTHY = {
    "partitions": 18,
    "leaders": 6,
    "under replicated": 0,
    "under min ISR": 0,
    "at min ISR": 0,
    "offline replicas": 0,
    "in-sync replicas of orders": 18,
    "log end offsets of orders": 3 * RECORDS,
    "committed offsets": 0,
    "active controllers": 1,
    "active brokers": 3,
    "fenced brokers": 0,
    "topics": 1,
    "all partitions": 6,
    "offline partitions": 0,
}
WRITTEN = {
    "records": RECORDS,
    "bytes": RECORDS * BATCH_BYTES,
    "bytes of all topics": RECORDS * BATCH_BYTES,
    "bytes followers wrote": 2 * RECORDS * BATCH_BYTES,
    "bytes followers were sent": 2 * RECORDS * BATCH_BYTES,
    "Produce requests": RECORDS,
    "Produce requests with a time": RECORDS,
}
# The offsets topic is the seventh partition.
COMMITTED = HEALTHY | {
    "partitions": 21,
    "leaders": 7,
    "committed offsets": 6,
    "topics": 2,
    "all partitions": 7,
}
WITHOUT_ONE = COMMITTED | {
    "partitions": 14,
    "under replicated": 7,
    "at min ISR": 7,
    "in-sync replicas of orders": 12,
    "log end offsets of orders": 2 * RECORDS,
    "active brokers": 2,
    "fenced brokers": 1,
}
MIN_ISR_3 = WITHOUT_ONE | {"under min ISR": 6, "at min ISR": 1}


class Minikafka:
    """Three processes that tell their metrics."""

    def __init__(self, served, folder):
        self.bootstrap = served.bootstrap.split(",")
        self.folder = folder
        told = re.findall(r"broker (\d) are at (http://\S+)\.$", served.said(), re.M)
        self.pages = {int(node): page for node, page in told}

    def kill(self, node):
        os.kill(int((self.folder / f"broker-{node}.pid").read_text()), signal.SIGKILL)
        del self.pages[node]

    def scrapes(self):
        return [Scrape.of(page) for page in self.pages.values()]


Told = namedtuple("Told", "name labels value")


class MBeans(Scrape):
    """The MBeans of one broker, as the JMX exporter names them."""

    def __init__(self):
        self.samples = []

    def add(self, mbean, attribute, value):
        self.samples.append(Told(*exported(mbean, attribute), value))


def exported(mbean, attribute):
    """(name, labels) by the rules of the exporter's example kafka-kraft-3_0_0.yml."""
    domain, _, properties = mbean.partition(":")
    named = dict(pair.split("=", 1) for pair in properties.split(","))
    if "name" not in named:  # a metric of Kafka's newer kind: its name takes in all
        kind, others = (
            named.pop("type"),
            [word for pair in named.items() for word in pair],
        )
        return exported_name(domain, kind, *others, attribute), {}
    parts = [domain, named.pop("type"), named.pop("name")]
    if attribute == "Count":
        parts[-1], is_rate, _ = parts[-1].partition("PerSec")
        parts.append("total" if is_rate else "count")
    elif attribute != "Value":
        named["quantile"] = f"0.{attribute.removesuffix('thPercentile')}"
    return exported_name(*parts), named


def exported_name(*parts):
    return re.sub(r"\W", "_", "_".join(parts)).lower()


class ApacheKafka:
    """The three brokers of docker/compose.yaml, on the JVM."""

    def __init__(self, cluster):
        self.bootstrap = cluster.bootstrap.split(",")
        names = [broker.name for broker in cluster.brokers]
        self.processes = {
            number: cluster.processes[name] for number, name in enumerate(names, 1)
        }

    def kill(self, node):
        self.processes.pop(node).kill()

    def scrapes(self):
        pids = [str(process.pid) for process in self.processes.values()]
        done = java_tool(MBEANS, *pids)
        assert not done.returncode, done.stderr
        found = {pid: MBeans() for pid in pids}
        for line in done.stdout.splitlines():
            pid, mbean, attribute, value = line.split("\t")
            found[pid].add(mbean, attribute, float(value))
        return list(found.values())


@contextmanager
def minikafka(folder):
    options = ("--brokers", "3", "--processes", "--no-restart", "--metrics", "0")
    with Served(data=folder, options=(*options, *overrides(LIKE_THEIRS))) as served:
        yield Minikafka(served, folder)
        assert "Traceback" not in served.said()


@contextmanager
def apache_kafka():
    cluster = JvmCluster(an_address(), jvm=SMALL_JVM)
    for broker in cluster.brokers:
        broker.environment["KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS"] = "1"
    with cluster:
        yield ApacheKafka(cluster)


@pytest.fixture(scope="module", params=BOTH)
def brokers(request, tmp_path_factory):
    if request.param == MINIKAFKA:
        started = minikafka(tmp_path_factory.mktemp("metrics"))
    else:
        started = apache_kafka()
    with started as brokers:
        yield brokers


def sums(scrapes, metrics):
    found = {}
    for what, (name, labels) in metrics.items():
        if labels is None:  # without any
            found[what] = sum(each.value(name) for each in scrapes)
        else:
            found[what] = sum(each.total(name, **labels) for each in scrapes)
    return found


def of_cluster(scrapes):
    found = sums(scrapes, SUMMED)
    for what, name in SAME.items():
        values = {each.value(name) for each in scrapes}
        found[what] = values.pop() if len(values) == 1 else values
    return found


def becomes(brokers, expected):
    """Metrics follow what happens: soon they are these, and no others."""
    seen = {}

    def is_so():
        seen.update(of_cluster(brokers.scrapes()))
        return seen == expected

    try:
        until(is_so, seconds=120)
    except AssertionError:
        assert seen == expected
    print(seen)


def create_orders(brokers):
    turns = {number: [(number + at) % 3 + 1 for at in range(3)] for number in range(6)}
    with closing(kafka.KafkaAdminClient(bootstrap_servers=brokers.bootstrap)) as admin:
        orders = kafka.admin.NewTopic("orders", replica_assignments=turns)
        admin.create_topics([orders])


def set_min_isr(brokers, replicas):
    with closing(kafka.KafkaAdminClient(bootstrap_servers=brokers.bootstrap)) as admin:
        resource = kafka.admin.ConfigResource(
            kafka.admin.ConfigResourceType.TOPIC,
            "orders",
            {"min.insync.replicas": str(replicas)},
        )
        admin.alter_configs([resource])


def send_records(brokers):
    producer = kafka.KafkaProducer(bootstrap_servers=brokers.bootstrap, acks="all")
    with closing(producer):
        for number in range(RECORDS):
            producer.send("orders", VALUE, partition=number % 6).get(60)


def commit_offsets(brokers):
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=brokers.bootstrap, group_id="billing"
    )
    offsets = {
        kafka.TopicPartition("orders", number): kafka.OffsetAndMetadata(10, "", -1)
        for number in range(6)
    }
    with closing(consumer):
        consumer.assign(list(offsets))
        consumer.commit(offsets)


def test_metrics_follow_the_cluster_from_healthy_to_under_min_isr_and_back(brokers):
    create_orders(brokers)
    becomes(brokers, HEALTHY | {"log end offsets of orders": 0})
    send_records(brokers)
    becomes(brokers, HEALTHY)
    counted = sums(brokers.scrapes(), COUNTED)
    print(counted)
    assert counted == WRITTEN
    commit_offsets(brokers)
    becomes(brokers, COMMITTED)
    assert {each.name for one in brokers.scrapes() for each in one.samples} >= NAMES
    brokers.kill(DEAD)
    becomes(brokers, WITHOUT_ONE)
    set_min_isr(brokers, 3)
    becomes(brokers, MIN_ISR_3)
    set_min_isr(brokers, 2)
    becomes(brokers, WITHOUT_ONE)
