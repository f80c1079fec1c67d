"""How Faust's agents take it when a broker misbehaves, or the worker dies: they go on by
themselves, and at least once is what they promise.
"""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from minikafka.testing import Lose
from tests.client_bugs.fetching import Missing, command_with, fetched
from tests.clients.brokers import until

pytestmark = pytest.mark.nightly

SHOP = Path(__file__).with_name("faust_shop.py")
FAUST = "pypi-with-all:faust-streaming", "0.15.3"


class Shop:
    """Faust's worker on this Kafka, with its topics."""

    def __init__(self, kafka, faust, folder):
        self.kafka, self.faust, self.folder = kafka, faust, folder
        self.orders, self.bills = kafka.topic(), kafka.topic()
        self._producer = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}
        )
        self.start()

    def start(self):
        servers = self.kafka.bootstrap_servers.replace(",", ";")
        options = ["--datadir", str(self.folder), "worker", "--without-web"]
        self._worker = subprocess.Popen(
            [*command_with(self.faust, SHOP), *options],
            env=os.environ
            | {
                "BOOTSTRAP": f"kafka://{servers}",
                "ORDERS": self.orders,
                "BILLS": self.bills,
            },
            stderr=subprocess.DEVNULL,
        )

    def order(self, *numbers):
        for number in numbers:
            self._producer.produce(self.orders, f"order {number}")
        assert self._producer.flush(60) == 0

    def bills_are(self, *numbers):
        """Returns once these bills are written, and no others."""
        until(lambda: self.written() == [*numbers])

    def written(self):
        """The numbers on the bills."""
        bills = self.kafka.records(self.bills).values
        return [int(bill.removeprefix(b"bill ")) for bill in bills]

    def has_committed(self, offset):
        """Returns once it has."""
        group = self.kafka.group("shop")
        until(lambda: group.committed(self.orders) == {0: offset})

    def end(self, how=signal.SIGTERM):
        self._worker.send_signal(how)
        self._worker.wait()


@pytest.fixture(scope="module")
def faust():
    try:
        return fetched(*FAUST)
    except Missing as error:
        pytest.skip(str(error))


@pytest.fixture
def open_shop(faust, tmp_path):
    opened = []

    def open_shop(kafka):
        opened.append(Shop(kafka, faust, tmp_path))
        return opened[-1]

    yield open_shop
    for shop in opened:
        shop.end(signal.SIGKILL)


def test_the_agent_goes_on_when_its_broker_is_back(kafka, open_shop):
    shop = open_shop(kafka)
    shop.order(1)
    shop.has_committed(1)
    kafka.broker(1).kill()
    kafka.broker(1).restart()
    shop.order(2)
    shop.has_committed(2)
    assert {*shop.written()} == {1, 2}


def test_the_agent_follows_to_the_new_leader(kafka_cluster, open_shop):
    shop = open_shop(kafka_cluster)
    shop.order(1)
    shop.has_committed(1)
    kafka_cluster.broker(kafka_cluster.leader(shop.orders)).kill()
    shop.order(2)
    shop.has_committed(2)
    assert {*shop.written()} == {1, 2}


def test_a_lost_answer_to_what_the_agent_sends_makes_a_second_bill(kafka, open_shop):
    """Its producer is not idempotent, unless processing_guarantee is exactly_once."""
    shop = open_shop(kafka)
    with kafka.fault(Lose("Produce", topic=shop.bills, answer=True)) as fault:
        shop.order(1)
        shop.bills_are(1, 1)
    assert fault.hits == 1


def test_a_worker_that_dies_before_it_commits_bills_again(kafka, open_shop):
    shop = open_shop(kafka)
    with kafka.fault(Lose("OffsetCommit", times=None)):
        shop.order(1)
        shop.bills_are(1)
        shop.end(signal.SIGKILL)
    kafka.clock.advance(seconds=3600)  # the group doesn't wait for it
    shop.start()
    shop.bills_are(1, 1)
    shop.has_committed(1)
