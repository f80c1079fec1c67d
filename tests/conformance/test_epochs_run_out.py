"""A producer id has 32,767 epochs (KIP-360, KIP-890). What comes when they run out:
minikafka and Apache Kafka say the same, whatever ends them.

A transactional id is put near the end by a record in `__transaction_state`, which a
restarted coordinator loads. Apache Kafka is asked at night (tests/recording.py).
"""

import itertools
import re
import time

import pytest

from minikafka.wire.errors import Error
from minikafka.wire.internal_records import encode_coordinator_record
from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.records import encode_batch
from tests.clients.nodes import QUICK, node, ours_and_theirs
from tests.conformance.raw import Connection
from tests.conformance.test_transactions_v2 import Producer
from tests.kafka import BOTH, java_tool
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

LAST = 32_766  # that a producer may have
ONE_PARTITION = {
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
COMPLETE_COMMIT = 4
A_DAY_MS = 86_400_000
SHORT_MS = 300


class Aged(Producer):
    """A transactional id whose producer has few epochs left. told: producer ids are
    numbered as they appear.
    """

    def __init__(self, broker, name, told, producer_id, epoch):
        super().__init__(broker, name, told)
        self._ids = {}
        self.number(producer_id)
        self.producer = producer_id, epoch

    def number(self, producer_id):
        return (
            self._ids.setdefault(producer_id, len(self._ids))
            if producer_id >= 0
            else -1
        )

    def tell(self, what, *answer):
        if isinstance(answer[0], list):  # of DescribeProducers: those of all stories
            return
        what = re.sub(
            r"(?<=\()\d+", lambda found: f"id {self.number(int(found[0]))}", what
        )
        if " sends " in what:
            answer = answer[:1]  # where depends on the other stories
        elif len(answer) >= 3:  # of InitProducerId, EndTxn and DescribeTransactions
            answer = answer[0], self.number(answer[1]), *answer[2:]
        self.told.append((what, *answer))

    def asks_again(self, producer):
        """InitProducerId of one that may not have heard the answer. At its last epoch
        Apache Kafka meets an exception of its own (UNKNOWN_SERVER_ERROR); minikafka
        answers the same again.
        """
        asked = self.broker.ask(
            "DescribeTransactions", 0, transactional_ids=[self.transactional_id]
        )
        [one] = asked.transaction_states
        if one.producer_id == producer[0] and one.producer_epoch == LAST != producer[1]:
            return self.init()
        return self.init(expected=producer)

    def ended(self, producer, committed, version=5):
        """An end, and the same again."""
        after = self.end(producer, committed, version)
        self.end(producer, committed, version)
        self.end(producer, not committed, version)
        self.look("ended")
        self.end(producer, committed, version)
        return after if version >= 5 else producer


def commits(one):
    producer = one.producer
    for _ in range(4):
        one.send(producer, 0)
        one.look("begun")
        producer = one.ended(producer, True)
        if producer[0] < 0:
            return  # a commit with the fence's epoch: no producer has it


def aborts_of_nothing(one):
    producer = one.producer
    for _ in range(4):
        producer = one.ended(producer, False)
    one.send(producer, 0)
    one.ended(producer, True)


def begins_anew_with_its_epoch(one):
    producer = one.producer
    for _ in range(4):
        before, producer = producer, one.init(expected=producer)
        one.look("begun anew")
        producer = one.asks_again(before)
    one.send(producer, 0)
    one.ended(producer, True)


def others_come(one):
    for _ in range(4):
        producer = one.init()
        one.look("another one")
    one.end(one.producer, False)
    one.init(expected=one.producer)
    one.send(producer, 0)
    one.ended(producer, False)


def is_fenced_again_and_again(one):
    producer = one.producer
    for _ in range(3):
        one.send(producer, 0)
        one.init(waits=False)
        one.look("fenced")
        one.end(producer, True)
        one.end(producer, False)
        one.asks_again(producer)
        producer = one.init()


def is_too_slow(one):
    producer = one.producer
    for _ in range(3):
        producer = one.init(expected=producer, timeout_ms=SHORT_MS)
        one.send(producer, 0)
        while one.look("open") == "Ongoing":
            del one.told[-1:]
        one.end(producer, True)
        one.end(producer, False)
        one.send(producer, 1)
        producer = one.asks_again(producer)


def of_the_first_version(one):
    producer = one.producer
    for _ in range(3):
        one.add_offsets(producer)
        producer = one.ended(producer, True, version=4)
        producer = one.init(expected=producer)


STORIES = (
    commits,
    aborts_of_nothing,
    begins_anew_with_its_epoch,
    others_come,
    is_fenced_again_and_again,
    is_too_slow,
    of_the_first_version,
)
EPOCHS = (LAST - 2, LAST - 1, LAST, LAST + 1)
CASES = [(story.__name__, epoch) for story, epoch in itertools.product(STORIES, EPOCHS)]


def put(broker, epochs):
    """Write down of each transactional id which producer id and epoch it has. As its
    admin client, Apache Kafka lets one write to an internal topic.
    """
    while broker.ask("FindCoordinator", 3, key="any", key_type=1).error_code:
        pass
    now_ms = int(time.time() * 1000)  # else they expire
    of_all = {
        "transaction_timeout_ms": A_DAY_MS // 100,
        "transaction_status": COMPLETE_COMMIT,
    }
    of_all |= {
        "transaction_partitions": [],
        "transaction_last_update_timestamp_ms": now_ms,
    }
    of_all |= {
        "transaction_start_timestamp_ms": now_ms,
        "client_transaction_version": 2,
    }
    records = []
    for producer_id, (name, epoch) in enumerate(epochs.items(), 500_000):
        value = of_all | {
            "producer_id": producer_id,
            "producer_epoch": epoch,
            "previous_producer_id": producer_id,
        }
        record = encode_coordinator_record(
            "TransactionLog", {"transactional_id": name}, value
        )
        records.append((now_ms, *record, []))
    data = {"index": 0, "records": bytearray(encode_batch(records))}
    topics = [{"name": "__transaction_state", "partition_data": [data]}]
    asked = {
        "transactional_id": None,
        "acks": -1,
        "timeout_ms": 10_000,
        "topic_data": topics,
    }
    error = Error.NOT_LEADER_OR_FOLLOWER
    while error == Error.NOT_LEADER_OR_FOLLOWER:  # it is named before it leads
        broker.send_frame(
            b"".join(encode_request("Produce", 8, 7, "__admin_client", asked))
        )
        _, answer = decode_response("Produce", 8, broker.read_frame())
        error = answer.responses[0].partition_responses[0].error_code
    assert error == Error.NONE, answer


def told(kind, folder):
    """Each story from each epoch."""
    found = {}
    names = {case: f"{case[0]} {case[1]}" for case in CASES}
    with node(kind, folder, QUICK | ONE_PARTITION) as kafka:
        with Connection(kafka.bootstrap) as broker:
            put(broker, {name: case[1] for case, name in names.items()})
        kafka.restart()
        with Connection(kafka.bootstrap) as broker:
            broker.create_topic("orders")
            while broker.ask(
                "InitProducerId", 1, transactional_id=None, transaction_timeout_ms=1
            ).error_code:
                pass
            while broker.ask(
                "FindCoordinator", 3, key="billing", key_type=0
            ).error_code:
                pass
            for number, ((story, epoch), name) in enumerate(names.items(), 500_000):
                steps = found[story, epoch] = []
                globals()[story](Aged(broker, name, steps, number, epoch))
    return found


ours, theirs = ours_and_theirs(told)


of_each_case = pytest.mark.parametrize(("story", "epoch"), CASES)


@of_each_case
def test_the_end_of_the_epochs_is_as_recorded(ours, story, epoch):
    RECORDING.check(f"{story}, {epoch}", ours[story, epoch])


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
@of_each_case
def test_kip_890_the_end_of_the_epochs_is_apache_kafkas(ours, theirs, story, epoch):
    steps = ours[story, epoch]
    for number, (here, there) in enumerate(
        zip(steps, theirs[story, epoch], strict=True)
    ):
        assert here == there, f"step {number} after {steps[:number]}"
    RECORDING.confirm(f"{story}, {epoch}", steps)


@pytest.mark.java
@pytest.mark.parametrize("kind", BOTH)
def test_javas_transactional_producer_goes_on_over_the_end_of_the_epochs(
    kind, tmp_path
):
    with node(kind, tmp_path / "data", QUICK | ONE_PARTITION) as kafka:
        with Connection(kafka.bootstrap) as broker:
            put(broker, {"performance": LAST - 3})
        kafka.restart()
        with Connection(kafka.bootstrap) as broker:
            broker.create_topic("orders")
            how = (
                "--num-records",
                "3000",
                "--record-size",
                "10",
                "--throughput",
                "500",
            )
            how += (
                "--transactional-id",
                "performance",
                "--transaction-duration-ms",
                "50",
            )
            of = ("--topic", "orders", "--bootstrap-server", kafka.bootstrap)
            done = java_tool("org.apache.kafka.tools.ProducerPerformance", *of, *how)
            assert (
                done.returncode == 0 and "Exception" not in done.stdout + done.stderr
            ), done.stdout + done.stderr
            described = broker.ask(
                "DescribeTransactions", 0, transactional_ids=["performance"]
            )
            [one] = described.transaction_states
            assert one.producer_id < 500_000, f"it has another id by now: {one}"
            assert broker.fetch("orders", isolation_level=1).last_stable_offset > 3000
