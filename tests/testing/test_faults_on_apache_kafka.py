"""Faults that can happen to Apache Kafka, too: a proxy loses or delays what passes, and
the broker is stopped or killed by signals. Each client gets over them as it does here,
with the same number of tries.
"""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from minikafka.course.experiments.lesson_12_real import stay_behind
from minikafka.server.proxy import Frame, Proxy, hang_up, read_frame, send_frame
from minikafka.testing import Crash, Delay, Freeze, Kafka, Lose
from minikafka.testing.kafka import AnyKafka
from minikafka.wire.messages import api_name
from tests.clients.brokers import until
from tests.kafka import ApacheKafka
from tests.testing.senders import CLIENTS

pytestmark = [pytest.mark.java, pytest.mark.nightly]

ON_THE_WAY = [
    Lose("Produce"),
    Lose("Produce", answer=True),
    Delay("Produce", 100),
    Delay("Produce", 100, answer=True),
]
OF_THE_BROKER = [
    Freeze("Produce"),
    Freeze("Produce", answer=True),
    Crash("Produce"),
    Crash("Produce", answer=True),
]


class Meets(Proxy):
    """The first Produce request, or its answer, meets this fault. strike(): what is
    done to the broker then.
    """

    def __init__(self, target, fault, strike=lambda: None):
        super().__init__(target, self._answered)
        self.hit = threading.Event()
        self._fault, self._strike = fault, strike
        self._stay = stay_behind(lambda: self.port)

    def _happens(self, frame, is_answer):
        """Whether the message is lost."""
        is_met = api_name(frame) == "Produce" and self._fault.answer == is_answer
        if not is_met or self.hit.is_set():
            return False
        if isinstance(self._fault, Delay):
            threading.Event().wait(self._fault.extra_ms / 1000)
        self._strike()
        self.hit.set()
        return isinstance(self._fault, Lose | Crash)

    def _carry_requests(self, number, client, broker, asked):
        try:
            while (frame := read_frame(client)) is not None:
                asked[frame[4:8]] = frame
                self._note(Frame(number, True, frame))
                if self._happens(frame, is_answer=False):
                    break
                send_frame(broker, frame)
        except OSError:
            pass
        hang_up(broker)

    def _answered(self, request, answer):
        if self._happens(request, is_answer=True):
            raise ConnectionAbortedError
        return self._stay(request, answer)

    def tries(self):
        return sum(frame.api == "Produce" for frame in self.requests())


def tries_here(by, fault):
    """How often it sent the record to minikafka."""
    with Kafka() as kafka:
        topic = kafka.topic()
        kafka.heard.begin()
        with kafka.fault(fault) as active:
            by(kafka.bootstrap_servers, topic)
        assert active.hits == 1
        assert kafka.records(topic).values == [b"paid"]
        return sum(each.api == "Produce" for each in kafka.heard.asked())


@contextmanager
def looked_at(bootstrap):
    kafka = AnyKafka(lambda: [bootstrap])
    yield kafka
    kafka.close()


@pytest.fixture(scope="module")
def apache():
    with ApacheKafka() as running:
        yield running


@pytest.mark.parametrize("by", CLIENTS)
@pytest.mark.parametrize("fault", ON_THE_WAY, ids=repr)
def test_kip_98_a_client_tries_as_often_when_the_network_fails(apache, by, fault):
    with looked_at(apache.bootstrap) as kafka:
        topic = kafka.topic()
        with Meets(apache.bootstrap, fault) as proxy:
            by(proxy.address, topic)
        assert proxy.hit.is_set()
        assert kafka.records(topic).values == [b"paid"]
    assert proxy.tries() == tries_here(by, fault)


@pytest.mark.parametrize("by", CLIENTS)
@pytest.mark.parametrize("fault", OF_THE_BROKER, ids=repr)
def test_kip_98_what_was_sent_once_is_there_once_when_the_broker_fails(
    tmp_path, by, fault
):
    first = ApacheKafka(data=tmp_path / "data")
    with first as running, looked_at(first.bootstrap) as kafka:
        topic = kafka.topic()
        pid = running.process.pid
        sent_to_it = signal.SIGSTOP if isinstance(fault, Freeze) else signal.SIGKILL
        with (
            Meets(first.bootstrap, fault, lambda: os.kill(pid, sent_to_it)) as proxy,
            ThreadPoolExecutor() as threads,
        ):
            sent = threads.submit(by, proxy.address, topic)
            until(proxy.hit.is_set, "the record is on its way")
            if isinstance(fault, Freeze):
                os.kill(pid, signal.SIGCONT)
                sent.result()
                assert kafka.records(topic).values == [b"paid"]
                return
            running.process.wait()
            with ApacheKafka(data=tmp_path / "data", port=first.port):
                sent.result()
                assert kafka.records(topic).values == [b"paid"]
