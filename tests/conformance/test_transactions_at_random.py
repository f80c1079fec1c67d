"""A thousand requests about transactions, right and wrong, in an order from a seed,
answered as by Apache Kafka.

Three producers with several epochs write to two partitions and commit offsets of a
group; markers come early, late, with old epochs of a producer or of the coordinator;
plain commits and deletions come between. Apache Kafka is asked at night
(tests/recording.py).
"""

import random

import pytest

from tests.clients.nodes import QUICK, node
from tests.clients.test_read_committed import BY_HAND
from tests.conformance.raw import Connection, batch
from tests.conformance.test_transactions import OF_A_PRODUCER, READ_COMMITTED
from tests.kafka import APACHE_KAFKA, MINIKAFKA
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

STEPS, SEED = 1000, 447
TOPIC, GROUP, OTHER = "data", "group", "other-group"
PARTITIONS = [0, 1]
EPOCHS = [0, 0, 0, 0, 1, 1, 2]
GENERATIONS, MEMBERS = [-1] * 8 + [3], [""] * 8 + ["nobody"]
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
NOT_THERE_YET = (14, 15, 16)


class Story:
    """told: each request and what became of it."""

    def __init__(self, bootstrap):
        self.dice, self.sequences, self.told = random.Random(SEED), {}, []
        requests = [self.commit_in_transaction] * 3 + [
            self.commit,
            self.fetch_offsets,
            self.delete_offset,
        ]
        requests += [self.end] * 2 + [self.produce] * 2
        with Connection(bootstrap) as self.broker:
            self.broker.create_topic(TOPIC, len(PARTITIONS))
            for group in (GROUP, OTHER):  # both have a coordinator then
                plain = {
                    "generation_id_or_member_epoch": -1,
                    "member_id": "",
                    "topics": self.offset(),
                }
                assert self.of_a_group("OffsetCommit", 8, group_id=group, **plain) == 0
            for _ in range(STEPS):
                request = self.dice.choice(requests)
                self.told.append((request.__name__, request()))

    def producer(self):
        return {
            "producer_id": 500 + self.dice.randrange(3),
            "producer_epoch": self.dice.choice(EPOCHS),
        }

    def offset(self):
        place = {
            "partition_index": self.dice.choice(PARTITIONS),
            "committed_offset": self.dice.randrange(100),
        }
        return [{"name": TOPIC, "partitions": [place | {"committed_metadata": ""}]}]

    def commit_in_transaction(self):
        asked = {
            "transactional_id": "t",
            "group_id": self.dice.choice((GROUP, OTHER)),
            "topics": self.offset(),
        }
        asked |= {
            "generation_id_or_member_epoch": self.dice.choice(GENERATIONS),
            "member_id": self.dice.choice(MEMBERS),
        }
        return self.of_a_group("TxnOffsetCommit", 3, **asked, **self.producer())

    def commit(self):
        asked = {"generation_id_or_member_epoch": self.dice.choice(GENERATIONS)}
        asked |= {
            "member_id": self.dice.choice(MEMBERS),
            "group_id": GROUP,
            "topics": self.offset(),
        }
        return self.of_a_group("OffsetCommit", 8, **asked)

    def of_a_group(self, api, version, **asked):
        """The error; asked again while the coordinator is not there yet."""
        while True:
            found = self.broker.ask(
                "FindCoordinator", 4, key_type=0, coordinator_keys=[asked["group_id"]]
            )
            error = found.coordinators[0].error_code
            if error == 0:
                error = (
                    self.broker.ask(api, version, **asked)
                    .topics[0]
                    .partitions[0]
                    .error_code
                )
            if error not in NOT_THERE_YET:
                return error

    def fetch_offsets(self):
        """Of both groups, stable ones and any, of named partitions and of all. Apache
        Kafka may name one twice.
        """
        told = []
        named = [{"name": TOPIC, "partition_indexes": PARTITIONS}]
        groups = [
            {"group_id": name, "topics": topics}
            for name in (GROUP, OTHER)
            for topics in (named, None)
        ]
        for group in groups:
            for stable in (False, True):
                [answer] = self.broker.ask(
                    "OffsetFetch", 8, groups=[group], require_stable=stable
                ).groups
                places = (each for topic in answer.topics for each in topic.partitions)
                found = {
                    (each.partition_index, each.committed_offset, each.error_code)
                    for each in places
                }
                told.append((answer.error_code, sorted(found)))
        return told

    def delete_offset(self):
        topics = [
            {
                "name": TOPIC,
                "partitions": [{"partition_index": self.dice.choice(PARTITIONS)}],
            }
        ]
        answer = self.broker.ask("OffsetDelete", 0, group_id=GROUP, topics=topics)
        return answer.error_code, [
            each.error_code for topic in answer.topics for each in topic.partitions
        ]

    def end(self):
        """A marker for the partitions, for the groups' offsets or for both."""
        places = [
            (TOPIC, PARTITIONS),
            ("__consumer_offsets", range(int(QUICK["offsets.topic.num.partitions"]))),
        ]
        chosen = self.dice.choice((places, places[:1], places[1:]))
        topics = [
            {"name": name, "partition_indexes": list(numbers)}
            for name, numbers in chosen
        ]
        marker = {
            "transaction_result": self.dice.random() < 0.5,
            "coordinator_epoch": self.dice.choice((0, 0, 0, 1)),
        }
        marker |= self.producer() | {"topics": topics}
        [answer] = self.broker.ask("WriteTxnMarkers", 1, markers=[marker]).markers
        places = (
            (topic.name, each) for topic in answer.topics for each in topic.partitions
        )
        return sorted(
            (name, each.partition_index, each.error_code) for name, each in places
        )

    def produce(self):
        """One record, in a transaction or not; then what a reader and DescribeProducers
        are told.
        """
        partition, producer, in_transaction = (
            self.dice.choice(PARTITIONS),
            self.producer(),
            self.dice.random() < 0.9,
        )
        key = (partition, *producer.values())
        sequence = self.dice.choice([self.sequences.get(key, 0)] * 6 + [0, 5])
        record = batch(
            b"x", base_sequence=sequence, transactional=in_transaction, **producer
        )
        transactional_id = "t" if in_transaction else None
        told = self.broker.produce(
            TOPIC, record, partition=partition, transactional_id=transactional_id
        )
        if told.error_code == 0:
            self.sequences[key] = sequence + 1
        return told.error_code, told.base_offset, self.read(partition), self.described()

    def read(self, partition):
        """The last stable offset, and the aborted transactions before it: Apache Kafka
        may name later ones, too.
        """
        answer = self.broker.fetch(
            TOPIC, partition=partition, isolation_level=READ_COMMITTED
        )
        stable = answer.last_stable_offset
        aborted = (
            (each.first_offset, each.producer_id)
            for each in answer.aborted_transactions
        )
        return stable, sorted(each for each in aborted if each[0] < stable)

    def described(self):
        asked = [{"name": TOPIC, "partition_indexes": PARTITIONS}]
        answer = (
            self.broker.ask("DescribeProducers", 0, topics=asked).topics[0].partitions
        )
        return sorted(
            (each.partition_index, *(getattr(producer, name) for name in OF_A_PRODUCER))
            for each in answer
            for producer in each.active_producers
        )


def told(kind, folder):
    with node(kind, folder, QUICK | BY_HAND) as kafka:
        return Story(kafka.bootstrap).told


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return told(MINIKAFKA, tmp_path_factory.mktemp("data"))


def test_right_and_wrong_requests_are_answered_as_recorded(ours):
    RECORDING.check("a thousand requests", ours)


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
def test_kip_98_and_447_right_and_wrong_requests_are_answered_as_by_apache_kafka(
    ours, tmp_path
):
    theirs = told(APACHE_KAFKA, tmp_path)
    for number, (here, there) in enumerate(zip(ours, theirs, strict=True)):
        assert here == there, f"request {number}"
    refused = {told[0] for name, told in theirs if name == "produce"}
    refused |= {told for name, told in theirs if name == "commit_in_transaction"}
    assert len(refused) > 4, "so many different errors were among them"
    RECORDING.confirm("a thousand requests", ours)
