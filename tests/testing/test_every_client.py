"""Each fault, and how each client gets over it: a record that was sent once is there
once, because an idempotent producer (KIP-98) numbers what it sends.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from minikafka.testing import Answer, Crash, Delay, Freeze, Lose, Throttle
from tests.testing.senders import CLIENTS

pytestmark = pytest.mark.slow


# with what the test does meanwhile
FAULTS = [
    (Lose("Produce"), None),
    (Lose("Produce", answer=True), None),
    (Answer("Produce", "NOT_LEADER_OR_FOLLOWER"), None),
    (Answer("Produce", "REQUEST_TIMED_OUT", done=True), None),
    (Delay("Produce", 100), None),
    (Delay("Produce", 100, answer=True), None),
    (Throttle("Produce", 100), None),
    (Crash("Produce"), "restart"),
    (Crash("Produce", answer=True), "restart"),
    (Freeze("Produce"), "thaw"),
    (Freeze("Produce", answer=True), "thaw"),
]


@pytest.mark.parametrize("by", CLIENTS)
@pytest.mark.parametrize(("fault", "then"), FAULTS, ids=repr)
def test_kip_98_what_was_sent_once_is_there_once(kafka, by, fault, then):
    topic = kafka.topic()
    with kafka.fault(fault) as active, ThreadPoolExecutor() as threads:
        sent = threads.submit(by, kafka.bootstrap_servers, topic)
        active.wait(timeout=120)
        if then is not None:
            getattr(kafka.broker(1), then)()
        sent.result()
    assert active.hits == 1
    assert kafka.records(topic).values == [b"paid"]
