"""Step by step through the same transactions, minikafka and Apache Kafka say the same
(KIP-98, KIP-664). Apache Kafka is asked at night (tests/recording.py).
"""

import pytest

from tests.clients.nodes import QUICK, node, ours_and_theirs
from tests.clients.test_read_committed import BY_HAND, Log
from tests.conformance.raw import Connection
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

READ_COMMITTED = 1
OF_A_PRODUCER = (
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "coordinator_epoch",
    "current_txn_start_offset",
)


class Told(Log):
    """states: before each step the last stable offset, as Fetch and ListOffsets tell
    it, and the producers. aborted: in the end, offset -> the aborted transactions that
    a reader from there on must know.
    """

    def __init__(self, bootstrap):
        self.states, self.aborted = [], {}
        super().__init__(bootstrap)
        with Connection(bootstrap) as broker:
            for offset in range(broker.fetch(self.topic).high_watermark):
                answer = broker.fetch(
                    self.topic, offset, isolation_level=READ_COMMITTED
                )
                told = sorted(
                    (each.producer_id, each.first_offset)
                    for each in answer.aborted_transactions
                )
                self.aborted[offset] = told, len(answer.records)

    def before_step(self, number):
        fetched = self.broker.fetch(self.topic, isolation_level=READ_COMMITTED)
        topics = [
            {
                "name": self.topic,
                "partitions": [{"partition_index": 0, "timestamp": -1}],
            }
        ]
        asked = {"replica_id": -1, "isolation_level": READ_COMMITTED, "topics": topics}
        listed = self.broker.ask("ListOffsets", 5, **asked).topics[0].partitions[0]
        asked = [{"name": self.topic, "partition_indexes": [0]}]
        described = (
            self.broker.ask("DescribeProducers", 0, topics=asked)
            .topics[0]
            .partitions[0]
        )
        producers = sorted(
            tuple(getattr(one, name) for name in OF_A_PRODUCER)
            for one in described.active_producers
        )
        self.states.append(
            (
                fetched.last_stable_offset,
                fetched.high_watermark,
                listed.offset,
                producers,
            )
        )


def told(kind, folder):
    with node(kind, folder, QUICK | BY_HAND) as kafka:
        return Told(kafka.bootstrap)


ours, theirs = ours_and_theirs(told)


def test_each_step_and_each_offset_is_answered_as_recorded(ours):
    RECORDING.check("states", ours.states)
    RECORDING.check("aborted", list(ours.aborted.items()))


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
def test_kip_664_the_last_stable_offset_and_the_producers_are_apache_kafkas_after_every_step(
    ours, theirs
):
    assert ours.states == theirs.states
    RECORDING.confirm("states", ours.states)


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
def test_kip_98_from_every_offset_on_a_reader_is_told_of_the_aborted_transactions_of_apache_kafka(
    ours, theirs
):
    assert ours.aborted == theirs.aborted
    assert len({tuple(told) for told, _ in theirs.aborted.values()}) > 10
    RECORDING.confirm("aborted", list(ours.aborted.items()))
