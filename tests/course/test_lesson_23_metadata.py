"""What lesson 23 asks of Metadata and of InitProducerId, and no client notices at once."""

import pytest

from minikafka.course.judging import kafka_clients
from tests.course.test_lesson_23_checks import verdict_on_changed

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def without_java(monkeypatch):
    monkeypatch.setattr(kafka_clients, "java", lambda: None)


# (stage, how the minimal Kafka is broken, what is told)
BROKEN = {
    "nobody is in sync": (
        2,
        [(', "isr_nodes": [NODE_ID]', "")],
        [
            "isr_nodes of orders-0 is [], and should be [1]; clients that list topics"
            " would show no in-sync copy"
        ],
    ),
    "nobody is in sync where records are written": (
        3,
        [(', "isr_nodes": [NODE_ID]', "")],
        ["isr_nodes of orders-0 is [], and should be [1]"],
    ),
    "another broker is in sync": (
        2,
        [('"isr_nodes": [NODE_ID]', '"isr_nodes": [NODE_ID, 2]')],
        ["isr_nodes of orders-0 is [1, 2], and should be [1]"],
    ),
    "a partition without replicas": (
        3,
        [('"replica_nodes": [NODE_ID], ', '"replica_nodes": [], ')],
        ["replica_nodes of orders-0 is [], and should be [1]"],
    ),
    "nobody is the controller": (
        2,
        [('"controller_id": NODE_ID, ', "")],
        [
            "controller_id is -1, and should be 1 (from byte",
        ],
    ),
    "an address where nobody is": (
        2,
        [('"host": HOST, "port": self.port}', '"host": "kafka-1", "port": self.port}')],
        ["host of broker 1 is kafka-1, and should be 127.0.0.1"],
    ),
    "all producers have one number": (
        2,
        [("random.getrandbits(62)", "7")],
        ["producer_id is 7, and another producer has it already: a broker that"],
    ),
    "all producers that write have one number": (
        3,
        [("random.getrandbits(62)", "4000")],
        ["producer_id is 4000, and another producer has it already"],
    ),
    "each connection's producers have one number": (
        2,
        [("random.getrandbits(62)", "asyncio.current_task().__hash__()")],
        ["and another producer has it already"],
    ),
    "no number": (
        2,
        [('return {"producer_id": random.getrandbits(62)}', "return {}")],
        ["producer_id is -1, which is none: kafka-python's producer is idempotent"],
    ),
    "InitProducerId is left for later": (
        2,
        [('return {"producer_id"', 'raise NotImplementedError\n        return {"p"')],
        ["InitProducerId 1 was not answered: your Kafka hung up"],
    ),
    "a counter that begins again": (
        5,
        [
            ("random.getrandbits(62)", "self.next_id()"),
            (
                "    async def produce(self",
                "    last_id = 0\n\n    def next_id(self):\n"
                "        self.last_id += 1\n        return self.last_id\n\n"
                "    async def produce(self",
            ),
        ],
        ["producer_id is 1, and another producer has it already"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_broker_hears_what_is_wrong(name, tmp_path):
    stage, changes, words = BROKEN[name]
    found = verdict_on_changed(stage, changes, tmp_path)
    assert not found.right and any(each in found.headline for each in words), found


@pytest.mark.parametrize("stage", [2, 3])
@pytest.mark.parametrize(
    "numbers", ["next(ids)", "uuid.uuid4().int >> 66", "random.randrange(2**40)"]
)
def test_producers_may_be_counted_or_have_any_large_number(numbers, stage, tmp_path):
    counts = "import itertools\n\nids = itertools.count()\n\n\nclass Log:"
    changes = [("class Log:", counts), ("random.getrandbits(62)", numbers)]
    assert verdict_on_changed(stage, changes, tmp_path).right
