"""What librdkafka makes of an answer that leaves open whether it was done: a proxy puts
an error into the answer to something that the broker has done. Brokers say so when a
record is not replicated in time, and is replicated a little later.

A batch. The broker knows a batch that is sent again, and answers with the offset that
it has (KIP-98). But librdkafka doesn't always ask: if the next batch, which was in
flight too, is acknowledged first, then the one before it must be there, and librdkafka
reports it as delivered, with no offset (rd_kafka_dr_implicit_ack). So a program that
compares offsets must pass over a message that has none.

A commit. Librdkafka takes an error of EndTxn that it doesn't know for one of the
transaction's, and tells the program to abort it. The coordinator has committed it: to
abort it is INVALID_TXN_STATE (TransactionCoordinator.endTransaction), which librdkafka
takes for fatal. A new producer with the same transactional id goes on.
"""

import threading
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from minikafka.course.experiments.lesson_12_real import stay_behind
from minikafka.server.proxy import Proxy
from minikafka.wire.errors import Error
from minikafka.wire.messages import decode_request, decode_response, encode_response
from minikafka.wire.records import batches, decode_batch
from tests.clients.brokers import fresh_name
from tests.clients.nodes import node
from tests.conformance.raw import Connection, batch
from tests.kafka import BOTH

pytestmark = pytest.mark.slow

PATIENCE_S = 60


@pytest.fixture(scope="module", params=BOTH)
def kafka(request, tmp_path_factory):
    with node(request.param, tmp_path_factory.mktemp("data")) as broker:
        yield broker


@contextmanager
def unclear(kafka, api, break_it):
    """The address of a way to the broker on which break_it(request, answer) changes the
    first answer of an API.
    """
    proxies, left = [], [api]
    stay = stay_behind(lambda: proxies[0].port)

    def change(request, answer):
        asked = decode_request(request)
        if asked.api.name not in left:
            return stay(request, answer)
        left.remove(asked.api.name)
        correlation_id, body = decode_response(asked.api.name, asked.version, answer)
        break_it(asked.body, body)
        return b"".join(
            encode_response(asked.api.name, asked.version, correlation_id, body)
        )

    with Proxy(kafka.bootstrap, change) as proxy:
        proxies.append(proxy)
        yield proxy
        assert not left, f"nobody asked for {api}"


def written(broker, topic):
    return [
        record.value
        for header, encoded in batches(broker.fetch(topic).records)
        for record in decode_batch(encoded)
        if not header.control
    ]


def test_kip_98_a_batch_that_a_later_one_acknowledges_is_reported_without_an_offset(
    kafka,
):
    topic, both_asked, delivered = fresh_name(), threading.Event(), {}
    with Connection(kafka.bootstrap) as broker:
        broker.create_topic(topic)

    def time_out(asked, answer):
        """When the second batch is in flight, too."""
        both_asked.wait(PATIENCE_S)
        [one] = answer.responses[0].partition_responses
        assert (one.error_code, one.base_offset) == (0, 0)
        one.error_code, one.base_offset = Error.REQUEST_TIMED_OUT, -1

    with unclear(kafka, "Produce", time_out) as way:
        one_by_one = {"linger.ms": 0, "batch.num.messages": 1, "log_level": 0}
        producer = Producer(
            {"bootstrap.servers": way.address, "enable.idempotence": True} | one_by_one
        )

        def note(error, message):
            delivered[message.value()] = (error, message.offset())

        for value in (b"first", b"second"):
            producer.produce(topic, value, partition=0, on_delivery=note)
        while [each.api for each in way.requests()].count("Produce") < 2:
            producer.poll(0)
        both_asked.set()
        assert producer.flush(PATIENCE_S) == 0
    assert delivered == {b"first": (None, None), b"second": (None, 1)}
    with Connection(kafka.bootstrap) as broker:
        assert written(broker, topic) == [b"first", b"second"]


def test_the_same_batch_sent_again_is_answered_with_its_offset(kafka):
    topic = fresh_name()
    with Connection(kafka.bootstrap) as broker:
        broker.create_topic(topic)
        producer_id = broker.ask(
            "InitProducerId", 1, transactional_id=None, transaction_timeout_ms=1000
        ).producer_id
        sent = {"producer_id": producer_id, "producer_epoch": 0}
        for sequence in (0, 1, 2, 3, 4):
            one = batch(b"%d" % sequence, base_sequence=sequence, **sent)
            assert broker.produce(topic, one).base_offset == sequence
        for sequence in (0, 4, 2):
            one = batch(b"%d" % sequence, base_sequence=sequence, **sent)
            again = broker.produce(topic, one)
            assert (again.error_code, again.base_offset) == (0, sequence)


def test_a_transaction_that_was_committed_can_not_be_aborted_and_librdkafka_dies_of_it(
    kafka,
):
    topic = fresh_name()
    with Connection(kafka.bootstrap) as broker:
        broker.create_topic(topic)

    def time_out(asked, answer):
        assert answer.error_code == 0 and asked.committed
        answer.error_code = Error.REQUEST_TIMED_OUT

    def transactional(way):
        options = {"transactional.id": topic, "log_level": 0}
        producer = Producer({"bootstrap.servers": way, **options})
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        producer.produce(topic, b"paid", partition=0)
        return producer

    with unclear(kafka, "EndTxn", time_out) as way:
        producer = transactional(way.address)
        with pytest.raises(KafkaException) as unclear_commit:
            producer.commit_transaction(PATIENCE_S)
        error = unclear_commit.value.args[0]
        assert error.code() == Error.REQUEST_TIMED_OUT
        assert error.txn_requires_abort() and not error.retriable()
        with pytest.raises(KafkaException) as refused:
            producer.abort_transaction(PATIENCE_S)
        error = refused.value.args[0]
        assert error.code() == KafkaError.INVALID_TXN_STATE and error.fatal()
        asked = [
            decode_request(each.data) for each in way.requests() if each.api == "EndTxn"
        ]
    # the abort comes again while the commit's markers are written
    assert [each.body.committed for each in asked[:2]] == [True, False]
    assert max(each.version for each in asked) < 5
    transactional(kafka.bootstrap).commit_transaction(PATIENCE_S)
    with Connection(kafka.bootstrap) as broker:
        assert written(broker, topic) == [b"paid", b"paid"]
