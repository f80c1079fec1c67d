"""What consumers of real clients make of a log with transactions (KIP-98), on minikafka
as on Apache Kafka.

The log is written by hand: batches of many producers' transactions in any order, and
markers as a coordinator writes them. What committed records there are, and in what
order, the test knows before it asks.
"""

import random
from contextlib import closing, suppress

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from minikafka.wire.errors import Error
from tests.clients.brokers import KEPT, fresh_name
from tests.clients.java_tools import JavaTools
from tests.clients.nodes import QUICK, node
from tests.clients.test_confluent_kafka import finish
from tests.clients.transactors import CLIENTS, Java, take
from tests.conformance.raw import Connection, batch
from tests.kafka import BOTH
from tests.soak.failover import REPLICATED, running, wait_until_in_sync
from tests.soak.kill import RECONNECT

pytestmark = pytest.mark.slow

# These transactions have no coordinator that could say that they are open (KIP-890).
BY_HAND = {"transaction.partition.verification.enable": "false"}
PRODUCERS, FIRST_ID, STEPS, SEED = 5, 1000, 300, 98
SEGMENT_BYTES, KILLS, NOBODY = 3000, 3, -1
NOT_YET = {
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.NOT_ENOUGH_REPLICAS,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Error.REQUEST_TIMED_OUT,
}


@pytest.fixture(scope="module", params=BOTH)
def kafka(request, tmp_path_factory):
    with node(
        request.param, tmp_path_factory.mktemp("data"), QUICK | BY_HAND
    ) as broker:
        yield broker


class Log:
    """One partition. offsets: value -> offset, in order; committed: the values that may
    be read.
    """

    def __init__(self, bootstrap):
        self.bootstrap, self.topic = bootstrap, fresh_name("log")
        self.offsets, self.open, self.decided, self.sequences = {}, {}, {}, {}
        self.begin()
        self.live(random.Random(SEED))
        self.broker.close()

    def begin(self):
        self.broker = Connection(self.bootstrap)
        self.broker.create_topic(self.topic, internal_segment_bytes=SEGMENT_BYTES)

    def before_step(self, number):
        """Of STEPS; for those to whom something happens in between."""

    def live(self, dice):
        for number in range(STEPS):
            self.before_step(number)
            producer = dice.randrange(PRODUCERS)
            if dice.random() < 0.1:
                self.append(None)
            elif producer in self.open and dice.random() < 0.2:
                self.end(producer, committed=dice.random() < 0.5)
            else:
                self.append(producer)
        for producer in list(self.open):
            self.end(producer, committed=producer % 2 == 0)

    def append(self, producer):
        """One record, of a transaction or of none."""
        value = b"%d" % len(self.offsets)
        if producer is None:
            fields = self.plain()
        else:
            fields = self.numbered(FIRST_ID + producer) | {"transactional": True}
            self.open.setdefault(producer, []).append(value)
        records = batch(value, **fields)
        told = self.told(
            lambda: self.broker.produce(self.topic, records, transactional_id="by hand")
        )
        assert told.error_code == 0
        self.offsets[value] = told.base_offset

    def plain(self):
        """The producer's fields of a record of no transaction."""
        return {}

    def numbered(self, producer_id):
        """The producer's fields of a record that is written once though it is sent
        twice.
        """
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + 1
        return {
            "producer_id": producer_id,
            "producer_epoch": 0,
            "base_sequence": sequence,
        }

    def told(self, ask):
        """The partition's answer."""
        return ask()

    def end(self, producer, committed):
        topics = [{"name": self.topic, "partition_indexes": [0]}]
        marker = {
            "producer_id": FIRST_ID + producer,
            "producer_epoch": 0,
            "transaction_result": committed,
        }
        marker |= {"coordinator_epoch": 0, "topics": topics}

        def write():
            [told] = self.broker.ask("WriteTxnMarkers", 1, markers=[marker]).markers
            return told.topics[0].partitions[0]

        assert self.told(write).error_code == 0
        self.decided |= dict.fromkeys(self.open.pop(producer), committed)

    def delete_before(self, value):
        partition = {"partition_index": 0, "offset": self.offsets[value]}
        topics = [{"name": self.topic, "partitions": [partition]}]
        with Connection(self.bootstrap) as broker:
            [told] = broker.ask(
                "DeleteRecords", 1, topics=topics, timeout_ms=30_000
            ).topics
        assert told.partitions[0].error_code == 0

    @property
    def all(self):
        return list(self.offsets)

    @property
    def committed(self):
        return [value for value in self.all if self.decided.get(value, True)]


class ReplicatedLog(Log):
    """On three brokers, of which the leader is killed now and then.

    On a busy machine one that is not killed may seem gone, too. What was not
    acknowledged is sent again.
    """

    def __init__(self, cluster):
        self.cluster = cluster
        super().__init__(cluster.bootstrap)

    def begin(self):
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, **RECONNECT})
        config = REPLICATED | {"internal.segment.bytes": str(SEGMENT_BYTES)}
        finish(self.admin.create_topics([NewTopic(self.topic, 1, 3, config=config)]))
        self.find_leader(but_not=None)

    def before_step(self, number):
        if number % (STEPS // KILLS) == STEPS // KILLS // 2:
            wait_until_in_sync(self.bootstrap, [self.topic])
            self.cluster.kill(self.leader)
            self.broker.close()
            self.find_leader(but_not=self.leader)

    def plain(self):
        return self.numbered(FIRST_ID + PRODUCERS)

    def told(self, ask):
        while (told := ask()).error_code in NOT_YET:
            self.broker.close()
            self.find_leader(but_not=None)
        return told

    def find_leader(self, but_not):
        """A connection to the leader, when another than that one is, and knows it."""
        while True:
            try:
                found = self.admin.list_topics(self.topic, 30)
            except KafkaException:
                continue
            partition = found.topics[self.topic].partitions.get(0)
            self.leader = partition.leader if partition else NOBODY
            if self.leader == but_not or self.leader not in found.brokers:
                continue
            node = found.brokers[self.leader]
            with suppress(OSError, EOFError):
                self.broker = Connection(f"{node.host}:{node.port}")
                if self.broker.fetch(self.topic).error_code == 0:
                    return
                self.broker.close()


@pytest.fixture(scope="module")
def log(kafka):
    return Log(kafka.bootstrap)


@pytest.fixture(
    scope="module",
    params=[*CLIENTS, pytest.param("java", marks=pytest.mark.java)],
)
def client(request):
    if request.param != "java":
        yield CLIENTS[request.param]
        return
    with JavaTools() as java:
        yield Java(java)


def read(client, log, values, isolation="read_committed"):
    with closing(client.Reader(log.bootstrap, log.topic, isolation)) as reader:
        return take(reader, len(values))


def test_kip_98_of_many_transactions_that_interleave_the_committed_ones_are_read(
    log, client
):
    assert 0 < len(log.committed) < len(log.all)
    assert read(client, log, log.committed) == log.committed


def test_kip_98_who_asks_for_uncommitted_records_reads_all_of_them(log, client):
    assert read(client, log, log.all, "read_uncommitted") == log.all


def test_kip_98_where_the_beginning_of_the_log_was_deleted_the_rest_is_read_as_before(
    kafka, client
):
    """Also the rest of transactions that began before it."""
    log = Log(kafka.bootstrap)
    first_kept = log.all[len(log.all) // 2]
    log.delete_before(first_kept)
    left = [value for value in log.committed if int(value) >= int(first_kept)]
    assert read(client, log, left) == left


def test_kip_98_after_a_crash_of_the_broker_the_same_is_read(kafka, log):
    kafka.restart(crash=True)
    for client in CLIENTS.values():
        assert read(client, log, log.committed) == log.committed


def test_kip_98_a_new_leader_knows_the_transactions_of_the_one_before_it():
    """Decided and open ones. On minikafka only: the three Apache Kafkas ask the
    coordinator of every transaction.
    """
    with running(apache=False, properties=BY_HAND | KEPT) as cluster:
        log = ReplicatedLog(cluster)
        for client in CLIENTS.values():
            assert read(client, log, log.committed) == log.committed
