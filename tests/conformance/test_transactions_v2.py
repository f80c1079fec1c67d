"""Transactions v2 (KIP-890), step by step: minikafka's coordinator and leaders answer
as Apache Kafka's do. Apache Kafka is asked at night (tests/recording.py).
"""

import re

import pytest

from minikafka.wire.errors import Error
from tests.clients.nodes import QUICK, node, ours_and_theirs
from tests.conformance.raw import Connection, batch
from tests.recording import Recording
from tests.storage.test_apache_kafka import dump

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

# Of one that loads still, or has the next step on its way.
SOON = {
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
}
BUSY = {Error.CONCURRENT_TRANSACTIONS, Error.NOT_ENOUGH_REPLICAS}
OF_A_PRODUCER = (
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "coordinator_epoch",
    "current_txn_start_offset",
)


class Producer:
    """A transactional id on the wire. told: what was done, and how it was answered."""

    def __init__(self, broker, transactional_id, told):
        self.broker, self.transactional_id, self.told = broker, transactional_id, told
        while broker.ask(
            "FindCoordinator", 3, key=transactional_id, key_type=1
        ).error_code:
            pass

    def tell(self, what, *answer):
        self.told.append((self.transactional_id, what, *answer))

    def again_while(self, errors, ask):
        """The first answer with another code."""
        while True:
            error, *answer = ask()
            if error not in errors:
                return Error(error).name, *answer

    def init(self, expected=(-1, -1), timeout_ms=60_000, waits=True):
        of = {
            "transactional_id": self.transactional_id,
            "transaction_timeout_ms": timeout_ms,
        }
        of |= {"producer_id": expected[0], "producer_epoch": expected[1]}

        def ask():
            answer = self.broker.ask("InitProducerId", 5, **of)
            return answer.error_code, answer.producer_id, answer.producer_epoch

        answer = self.again_while(SOON | (BUSY if waits else set()), ask)
        self.tell(f"init of {expected}", *answer)
        return answer[1:]

    def end(self, producer, committed, version=5, waits=True):
        of = {
            "transactional_id": self.transactional_id,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
        }

        def ask():
            answer = self.broker.ask("EndTxn", version, committed=committed, **of)
            return answer.error_code, answer.producer_id, answer.producer_epoch

        answer = self.again_while(BUSY if waits else set(), ask)
        self.tell(f"{producer} ends, v{version}, committed {committed}", *answer)
        return answer[1:]

    def send(
        self,
        producer,
        sequence,
        version=12,
        partition=0,
        topic="orders",
        transactional_id=None,
    ):
        fields = {
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "base_sequence": sequence,
        }
        data = {
            "index": partition,
            "records": batch(b"x", transactional=True, **fields),
        }
        asked = {
            "transactional_id": transactional_id or self.transactional_id,
            "acks": -1,
            "timeout_ms": 5000,
        }

        def ask():
            topics = [{"name": topic, "partition_data": [data]}]
            answer = self.broker.ask("Produce", version, topic_data=topics, **asked)
            one = answer.responses[0].partition_responses[0]
            return one.error_code, one.base_offset

        answer = self.again_while(BUSY, ask)
        self.tell(f"{producer} sends {sequence} to {partition}, v{version}", *answer)

    def add_offsets(self, producer, group="billing"):
        of = {
            "transactional_id": self.transactional_id,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
        }
        answer = self.again_while(
            SOON | BUSY,
            lambda: [
                self.broker.ask("AddOffsetsToTxn", 3, group_id=group, **of).error_code
            ],
        )
        self.tell(f"{producer} adds offsets", *answer)

    def commit_offset(
        self, producer, version=5, group="billing", transactional_id=None
    ):
        at = {"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}
        of = {
            "transactional_id": transactional_id or self.transactional_id,
            "group_id": group,
        }
        of |= {"producer_id": producer[0], "producer_epoch": producer[1]}

        def ask():
            topics = [{"name": "orders", "partitions": [at]}]
            answer = self.broker.ask("TxnOffsetCommit", version, topics=topics, **of)
            return (answer.topics[0].partitions[0].error_code,)

        self.tell(
            f"{producer} commits an offset, v{version}",
            *self.again_while(SOON | BUSY, ask),
        )

    def look(self, what):
        """When no marker is on its way: the state, and the producers of a partition."""
        while True:
            one = self.broker.ask(
                "DescribeTransactions", 0, transactional_ids=[self.transactional_id]
            )
            one = one.transaction_states[0]
            if not one.transaction_state.startswith("Prepare"):
                break
        topics = [(topic.topic, topic.partitions) for topic in one.topics]
        self.tell(
            what, one.transaction_state, one.producer_id, one.producer_epoch, topics
        )
        asked = [{"name": "orders", "partition_indexes": [0]}]
        found = (
            self.broker.ask("DescribeProducers", 0, topics=asked)
            .topics[0]
            .partitions[0]
            .active_producers
        )
        self.tell(
            what,
            sorted(
                tuple(getattr(each, name) for name in OF_A_PRODUCER) for each in found
            ),
        )
        return one.transaction_state


def offsets_whose_topic_is_not_made_yet(pay):
    """The first story of all."""
    producer = pay.init()
    pay.add_offsets(producer)
    pay.look("offsets have joined")
    pay.end(producer, True, version=4)
    pay.look("committed")
    pay.add_offsets(producer)
    while pay.broker.ask("FindCoordinator", 3, key="billing").error_code:
        pass
    pay.commit_offset(producer, version=3)
    pay.end(producer, True, version=4)
    pay.look("committed in the topic")


def an_end_of_nothing(pay):
    producer = pay.init()
    pay.end(producer, True)
    pay.look("a commit of nothing")
    pay.end(producer, False)
    pay.look("an abort of nothing")
    pay.end(producer, False)
    pay.end(producer, True)
    assert pay.init(expected=producer) == (
        producer[0],
        producer[1] + 1,
    ), "as the end had said"
    pay.look("begun anew")


def each_transaction_has_an_epoch(pay):
    first = pay.init()
    pay.send(first, 0)
    pay.look("a partition has joined of itself")
    second = pay.end(first, True)
    pay.look("committed")
    pay.end(first, True)
    pay.end(first, False)
    pay.end((first[0], first[1] + 5), True)
    pay.send(first, 1)
    pay.send(second, 0)
    pay.send(second, 0, partition=1)
    pay.end(first, True)
    pay.end(first, False)
    third = pay.end(second, False)
    pay.look("aborted")
    pay.end(third, False)
    pay.look("aborted with nothing")


def producers_of_both_versions(pay):
    producer = pay.init()
    pay.send(producer, 0)
    pay.end(producer, True, version=4)
    pay.look("a v1 commit")
    pay.end(producer, True, version=4)
    for version in (9, 10, 11):
        pay.send(producer, 1, version)
    pay.look("nothing has joined")
    pay.send(producer, 1)
    pay.send(producer, 2, version=9)
    pay.look("joined by a v2 batch")
    producer = pay.end(producer, True)
    pay.commit_offset(producer, version=3)
    pay.commit_offset(producer, version=4)
    pay.look("no offsets have joined")


def strangers(pay):
    producer = pay.init()
    pay.send(producer, 0, transactional_id="nobody")
    pay.send((producer[0] + 500, 0), 0)
    pay.send((producer[0], producer[1] + 3), 0)
    pay.commit_offset((producer[0], producer[1] + 3))
    pay.commit_offset(producer, transactional_id="nobody")
    pay.commit_offset(producer)
    pay.look("offsets have joined")
    pay.end(producer, True)
    pay.look("committed")


def too_slow(pay):
    producer = pay.init(timeout_ms=5000)
    pay.send(producer, 0)
    while pay.look("open") == "Ongoing":
        del pay.told[-2:]
    pay.end(producer, True)
    pay.end(producer, False)
    pay.send(producer, 1)
    pay.init(expected=producer)
    pay.look("goes on")


def fenced_by_another(pay):
    producer = pay.init()
    pay.send(producer, 0)
    pay.init(waits=False)
    pay.look("fenced")
    pay.end(producer, True)
    pay.end(producer, False)
    pay.send(producer, 1)
    other = pay.init()
    pay.init(expected=producer)
    pay.end(producer, False)
    pay.send(other, 0)
    pay.end(other, True)
    pay.look("the other one's")


STORIES = (
    offsets_whose_topic_is_not_made_yet,
    an_end_of_nothing,
    each_transaction_has_an_epoch,
    producers_of_both_versions,
    strangers,
    too_slow,
    fenced_by_another,
)


def told(kind, folder):
    """Each story; and the folder of the data, when the broker has stopped."""
    found = {}
    with node(kind, folder, QUICK) as kafka, Connection(kafka.bootstrap) as broker:
        broker.create_topic("orders", 2)
        for story in STORIES:
            steps = found[story.__name__] = []
            story(Producer(broker, story.__name__, steps))
    return found, folder


ours, theirs = ours_and_theirs(told)


of_each_story = pytest.mark.parametrize("story", [story.__name__ for story in STORIES])


@of_each_story
def test_each_step_is_answered_as_recorded(ours, story):
    RECORDING.check(story, ours[0][story])


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
@of_each_story
def test_kip_890_each_step_is_answered_as_by_apache_kafka(ours, theirs, story):
    assert ours[0][story] == theirs[0][story]
    RECORDING.confirm(story, ours[0][story])


def decoded(data):
    """What Apache Kafka's tool reads in __transaction_state: of each transactional id
    its records, without times.
    """
    files = [str(path) for path in sorted(data.glob("**/__transaction_state-*/*.log"))]
    text = dump("--files", ",".join(files), "--transaction-log-decoder")
    found = {}
    for line in re.findall(r"^\| offset.* key: .*", text, re.MULTILINE):
        key, value = re.search(r" key: (.*) payload: (.*)", line).groups()
        found.setdefault(key, []).append(
            re.sub(r'("transaction[A-Za-z]*TimestampMs":)\d+', r"\1(ms)", value)
        )
    return found


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
def test_apache_kafkas_tool_decodes_the_same_records_of_both(ours, theirs):
    here, there = decoded(ours[1]), decoded(theirs[1])
    assert len(there) >= len(STORIES)
    assert here == there
