"""The simulated share consumer is a good member of a share group on Apache Kafka
(KIP-932), as it is on minikafka (tests/course/test_claims_15_on_both.py).
"""

from random import Random

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from minikafka.clients.share_consumer import ShareConsumer
from minikafka.trace import Trace
from tests.clients_sim.sockets import SocketShell, now
from tests.kafka import CONFIG_COMMAND, ApacheKafka, java_tool

pytestmark = [pytest.mark.java, pytest.mark.nightly]

RECORDS = 60
CHANCE = Random(7)  # one for all, so that no two make the same member id


@pytest.fixture(scope="module")
def kafka():
    with ApacheKafka() as running:
        yield running.bootstrap


@pytest.fixture
def queue(kafka, request):
    """A topic with records, and a group by its name that reads from the beginning."""
    name = request.node.name
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result()
    asked = ["--alter", "--entity-type", "groups", "--entity-name", name]
    reset = ["--add-config", "share.auto.offset.reset=earliest"]
    done = java_tool(CONFIG_COMMAND, "--bootstrap-server", kafka, *asked, *reset)
    assert done.returncode == 0, done.stderr
    producer = Producer({"bootstrap.servers": kafka})
    for number in range(RECORDS):
        producer.produce(name, str(number))
    assert producer.flush(60) == 0
    return name


class ShareShell(SocketShell):
    """One share consumer's core; a group asks nothing of its program."""

    def _do_tasks(self):
        pass

    def poll(self, seconds):
        """Poll for this long. Returns the records that arrived."""
        self.core.begin_poll(now())
        try:
            self._run(seconds, self.core.has_records)
            taken = self.core.take(RECORDS, now())
        finally:
            self.core.end_poll()
            self._turn()
        return [record for records in taken.values() for record in records]

    def commit(self):
        self.core.begin_commit(now())
        self._run(60, lambda: not self.core.is_telling)
        return self.core.subscription.outcome

    def close(self):
        self.core.begin_leaving(now())
        self._run(10, lambda: not self.core.is_telling)
        super().close()


def ours(kafka, queue, **config):
    host, port = kafka.split(":")
    core = ShareConsumer(
        "ours",
        [(host, int(port))],
        Trace("ours"),
        queue,
        random=CHANCE.random,
        group_id=queue,
        **config,
    )
    return ShareShell(core)


def until_all(member, said, wanted):
    """Polls until so many records came, and says of each what said(record) gives."""
    came = []
    for _ in range(120):
        for record in member.poll(1):
            came.append((record.offset, record.delivery_count))
            what = said(record)
            member.core.acknowledge(record.topic, record.partition, record.offset, what)
        if len(came) >= wanted:
            break
    return came


def polled(member):
    """The records of the first poll that brings some."""
    for _ in range(60):
        records = member.poll(1)
        if records:
            return records
    raise AssertionError("no records came")


def test_what_is_released_comes_again_and_what_is_rejected_never(kafka, queue):
    member = ours(kafka, queue, share_acknowledgement_mode="explicit")

    def said(record):
        if record.delivery_count > 1:
            return "accept"
        return ("accept", "release", "reject")[record.offset % 3]

    came = until_all(member, said, RECORDS + RECORDS // 3)
    assert member.commit() == {(queue, 0): None}
    again = [offset for offset, count in came if count == 2]
    assert again == list(range(1, RECORDS, 3))
    member.close()


def test_a_renewed_lock_is_no_delivery_more(kafka, queue):
    a = ours(kafka, queue, share_acknowledgement_mode="explicit")
    renewed = set()

    def said(record):
        if record.offset in renewed:
            return "accept"
        renewed.add(record.offset)
        return "renew"

    came = until_all(a, said, 2 * RECORDS)
    assert {count for _, count in came} == {1}
    assert a.commit() == {(queue, 0): None}
    a.close()


def test_a_member_that_closes_accepts_nothing_and_gives_back_all(kafka, queue):
    a, b = ours(kafka, queue), ours(kafka, queue)
    had = polled(a)
    a.close()
    again = polled(b)
    assert [each.offset for each in again] == [each.offset for each in had]
    assert {each.delivery_count for each in again} == {2}
    b.close()
