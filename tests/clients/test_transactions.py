"""Transactions of four real clients (KIP-98): what is committed is read whole, what is
aborted by nobody who asks for committed records, and an old producer can do no harm.
Every test holds on Apache Kafka as on minikafka.
"""

import itertools
from contextlib import ExitStack

import pytest

from tests.clients.brokers import fresh_name, until
from tests.clients.java_tools import JavaTools
from tests.clients.nodes import node
from tests.clients.transactors import CLIENTS, Java, take
from tests.conformance.raw import Connection, batch
from tests.kafka import BOTH

pytestmark = pytest.mark.slow

LONGEST_MS = 900_000
JAVA = pytest.param("java", marks=pytest.mark.java)
UNSTABLE_OFFSET_COMMIT = 88
READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


@pytest.fixture(scope="module", params=BOTH)
def kafka(request, tmp_path_factory):
    with node(request.param, tmp_path_factory.mktemp("data")) as broker:
        yield broker


@pytest.fixture(scope="module", params=[*CLIENTS, JAVA])
def client(request):
    if request.param != "java":
        yield CLIENTS[request.param]
        return
    with JavaTools() as java:
        yield Java(java)


class Stage:
    """One topic, and whoever writes and reads there with this client; all are closed in
    the end.
    """

    def __init__(self, kafka, client):
        self.kafka, self.client, self.closing = kafka, client, ExitStack()
        self.name, self.partitions = fresh_name("transfers"), 3
        with Connection(kafka.bootstrap) as broker:
            self.topic = broker.create_topic(self.name, self.partitions)

    def producer(self, name=None, **options):
        return self.open(
            self.client.Producer(self.kafka.bootstrap, name or self.name, **options)
        )

    def reader(self, isolation=READ_COMMITTED, **options):
        return self.open(
            self.client.Reader(self.kafka.bootstrap, self.topic, isolation, **options)
        )

    def open(self, opened):
        self.closing.callback(opened.close)
        return opened

    def read(self, count, isolation=READ_COMMITTED, **options):
        return take(self.reader(isolation, **options), count)

    def write_without_transaction(self, *values):
        with Connection(self.kafka.bootstrap) as broker:
            assert broker.produce(self.topic, batch(*values)).error_code == 0

    def refusal(self, call):
        """What the client raises, in small letters."""
        with pytest.raises(self.client.refusal) as refused:
            call()
        return f"{refused.value!r} {refused.value}".lower()

    def committed(self, group, require_stable=False):
        """(error code, offset) that the coordinator tells of partition 0; -1 when
        nothing is committed.
        """
        asked = {
            "group_id": group,
            "topics": [{"name": self.topic, "partition_indexes": [0]}],
        }
        with Connection(self.kafka.bootstrap) as broker:
            [found] = broker.ask(
                "OffsetFetch", 8, groups=[asked], require_stable=require_stable
            ).groups
        partition = found.topics[0].partitions[0]
        return partition.error_code, partition.committed_offset


@pytest.fixture
def stage(kafka, client):
    one = Stage(kafka, client)
    with one.closing:
        yield one


def test_kip_98_the_records_of_a_committed_transaction_are_read_in_order(stage):
    producer = stage.producer()
    for first in (0, 50):
        producer.begin()
        producer.send(
            stage.topic, *(b"%d" % number for number in range(first, first + 50))
        )
        producer.commit()
    assert stage.read(100) == [b"%d" % number for number in range(100)]


def test_kip_98_the_records_of_an_aborted_transaction_are_read_by_read_uncommitted_only(
    stage,
):
    producer = stage.producer()
    for value, end in (
        (b"first", producer.commit),
        (b"taken back", producer.abort),
        (b"last", producer.commit),
    ):
        producer.begin()
        producer.send(stage.topic, value)
        end()
    assert stage.read(2) == [b"first", b"last"]
    assert stage.read(3, READ_UNCOMMITTED) == [b"first", b"taken back", b"last"]


def test_kip_98_readers_of_all_clients_see_the_same_records(stage):
    producer = stage.producer()
    for number in range(20):
        producer.begin()
        producer.send(stage.topic, b"%d" % number, b"and %d" % number)
        (producer.commit if number % 3 == 0 else producer.abort)()
    committed = [
        word % number for number in range(0, 20, 3) for word in (b"%d", b"and %d")
    ]
    for other in CLIENTS.values():
        reader = stage.open(other.Reader(stage.kafka.bootstrap, stage.topic))
        assert take(reader, len(committed)) == committed


def test_kip_98_a_transaction_covers_all_its_partitions(stage):
    producer = stage.producer()
    for word, end in ((b"aborted", producer.abort), (b"committed", producer.commit)):
        producer.begin()
        for partition in range(stage.partitions):
            producer.send(
                stage.topic, b"%s %d" % (word, partition), partition=partition
            )
        end()
    assert sorted(stage.read(3, partitions=3)) == [
        b"committed 0",
        b"committed 1",
        b"committed 2",
    ]


def test_kip_98_an_open_transaction_holds_up_the_last_stable_offset_for_every_record_behind_it(
    stage,
):
    producer = stage.producer()
    stage.write_without_transaction(b"before")
    producer.begin()
    producer.send(stage.topic, b"open")
    stage.write_without_transaction(b"behind")
    committed = stage.reader()
    assert (committed.end(), stage.reader(READ_UNCOMMITTED).end()) == (1, 3)
    assert take(committed, 1) == [b"before"]
    producer.commit()
    assert take(committed, 2) == [b"open", b"behind"]


def test_kip_98_transactions_that_interleave_in_a_partition_are_told_apart(stage):
    names = [f"{stage.name}-{number}" for number in range(4)]
    producers = [stage.producer(name) for name in names]
    for turn, producer in itertools.product(range(3), producers):
        if turn == 0:
            producer.begin()
        producer.send(stage.topic, b"%d of %d" % (turn, producers.index(producer)))
    for producer, end in zip(
        producers, ("abort", "commit", "commit", "abort"), strict=True
    ):
        getattr(producer, end)()
    assert stage.read(6) == [
        b"%d of %d" % (turn, number) for turn in range(3) for number in (1, 2)
    ]


def test_kip_98_a_new_producer_aborts_what_the_one_before_it_left_open_and_fences_it(
    stage,
):
    zombie = stage.producer()
    zombie.begin()
    zombie.send(stage.topic, b"of the zombie")
    successor = stage.producer()
    reader = stage.reader()
    until(lambda: reader.end() == 2, "the transaction is over")
    assert "fenced" in stage.refusal(zombie.commit)
    successor.begin()
    successor.send(stage.topic, b"of the successor")
    successor.commit()
    assert stage.read(1) == [b"of the successor"]


def test_kip_98_a_transaction_that_takes_longer_than_its_timeout_is_aborted(stage):
    producer, reader = stage.producer(timeout_ms=5000), stage.reader()
    producer.begin()
    producer.send(stage.topic, b"too late")
    until(lambda: reader.end() == 2, "the transaction is over")
    assert stage.refusal(producer.commit)
    again = stage.producer()
    again.begin()
    again.send(stage.topic, b"in time")
    again.commit()
    assert stage.read(1) == [b"in time"]


def test_kip_98_a_producer_may_not_ask_for_more_time_than_transaction_max_timeout_ms(
    stage,
):
    assert stage.refusal(lambda: stage.producer(timeout_ms=LONGEST_MS + 1))


def test_kip_98_offsets_in_a_transaction_count_when_it_commits(stage):
    stage.write_without_transaction(b"one", b"two")
    group = fresh_name("copier")
    reader = stage.reader(group=group)
    assert take(reader, 2) == [b"one", b"two"]
    producer = stage.producer()
    producer.begin()
    producer.send_offsets(reader.progress())
    assert stage.committed(group) == (0, -1)
    producer.abort()
    assert stage.committed(group) == (0, -1)
    producer.begin()
    producer.send_offsets(reader.progress())
    producer.commit()
    until(
        lambda: stage.committed(group, require_stable=True) == (0, 2),
        "the commit is done",
    )


def test_kip_98_a_crash_of_the_broker_changes_no_transaction_decided_or_open(stage):
    producer = stage.producer(timeout_ms=LONGEST_MS)
    for value, end in (
        (b"first", producer.commit),
        (b"taken back", producer.abort),
        (b"last", producer.commit),
    ):
        producer.begin()
        producer.send(stage.topic, value)
        end()
    reader = stage.reader()
    until(lambda: reader.end() == 6, "the markers are written")
    producer.begin()
    producer.send(stage.topic, b"before the crash")
    stage.kafka.restart(crash=True)
    reader = stage.reader()
    assert take(reader, 2) == [b"first", b"last"]
    producer.send(stage.topic, b"after it")
    producer.commit()
    assert take(reader, 2) == [b"before the crash", b"after it"]


def test_kip_447_while_offsets_are_undecided_who_asks_for_stable_ones_is_told_to_ask_again(
    stage,
):
    stage.write_without_transaction(b"one")
    group = fresh_name("copier")
    reader = stage.reader(group=group)
    assert take(reader, 1) == [b"one"]
    producer = stage.producer()
    producer.begin()
    producer.send_offsets(reader.progress())
    assert stage.committed(group, require_stable=True) == (UNSTABLE_OFFSET_COMMIT, -1)
    producer.commit()
    until(
        lambda: stage.committed(group, require_stable=True) == (0, 1),
        "the commit is done",
    )


# aiokafka tells no more than the name of the group.
@pytest.mark.parametrize("client", ["librdkafka", "kafka-python", JAVA], indirect=True)
def test_kip_447_a_member_that_has_left_the_group_can_not_commit_offsets(stage):
    stage.write_without_transaction(b"one")
    group = fresh_name("copier")
    reader = stage.reader(group=group)
    assert take(reader, 1) == [b"one"]
    progress = reader.progress()
    reader.close()
    producer = stage.producer()
    producer.begin()
    assert "member" in stage.refusal(lambda: producer.send_offsets(progress))
    producer.abort()
    assert stage.committed(group, require_stable=True) == (0, -1)
