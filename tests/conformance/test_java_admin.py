"""Every method of Java's AdminClient 4.4.0 hears the same from minikafka as from Apache
Kafka, from one broker and from three.
"""

import time

import pytest
from confluent_kafka import Producer

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import KEPT, fresh_name, minikafka, overrides
from tests.clients.java_tools import JavaTools
from tests.conformance.conftest import AT_ONCE
from tests.conformance.java_admin_methods import EveryMethod, methods, story
from tests.conformance.test_same_answers_of_three import LIKE_THEIRS
from tests.kafka import SMALL_JVM, ApacheKafka, an_address

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.nightly]


@pytest.fixture(scope="module")
def java():
    with JavaTools() as tools:
        yield tools


# one record is the last by its time
FIRST_MS = int(time.time() * 1000)


def write(bootstrap, topic):
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(5):
        value, then = b"order %d" % number, FIRST_MS + number
        producer.produce(topic, value, partition=0, timestamp=then)
    assert producer.flush(60) == 0


def told(java, bootstrap, name):
    with EveryMethod(java, bootstrap, name) as admin:
        story(admin, lambda topic: write(bootstrap, topic))
    return admin


# What differs on purpose: of which answer, of which of its parts, and why.
DIFFERENT_OF_THREE = {
    ("the quorum", "quorumInfo"): "who leads, and where the nodes listen",
}


def check(java, ours, theirs, different=()):
    name = fresh_name("admin")
    here, there = told(java, ours, name), told(java, theirs, name)
    found = set()
    for what, answer in there.answers.items():
        assert here.answers[what].keys() == answer.keys(), what
        for part, said in answer.items():
            if (what, part) in different and here.answers[what][part] != said:
                found.add((what, part))
            else:
                assert here.answers[what][part] == said, (what, part)
    assert found == set(different), "these no longer differ"
    return here.called


@pytest.mark.compares
def test_of_one_broker(java):
    with minikafka(AT_ONCE) as ours, ApacheKafka(KEPT) as theirs:
        called = check(java, ours, theirs.bootstrap)
    assert methods(java) == called


@pytest.mark.compares
def test_of_three_brokers(java):
    options = ("--brokers", "3", *overrides(LIKE_THEIRS))
    with (
        Served(options=options) as ours,
        JvmCluster(an_address(), jvm=SMALL_JVM) as theirs,
    ):
        check(java, ours.bootstrap, theirs.bootstrap, DIFFERENT_OF_THREE)
