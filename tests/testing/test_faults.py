"""Faults on the wire, as real clients meet them."""

import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka import KafkaError

from minikafka.testing import Answer, Delay, Lose, Throttle
from tests.clients.brokers import until


@pytest.fixture
def producer(kafka):
    return confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "enable.idempotence": True,
            "client.id": "till",
            "linger.ms": 0,
            "log_level": 0,
        }
    )


def delivered(producer, topic, value):
    """None, or the error with which the producer gives up."""
    told = []
    producer.produce(topic, value, on_delivery=lambda error, _: told.append(error))
    assert producer.flush(60) == 0
    return told[0]


def test_what_brokers_ask_each_other_meets_no_fault(three):
    topic = three.topic()
    with three.fault(Lose("Fetch", times=None)) as fault:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": three.bootstrap_servers, "acks": "all"}
        )
        producer.produce(topic, b"paid")
        assert producer.flush(60) == 0
    assert fault.seen == 0
    assert three.in_sync(topic) == [1, 2, 3]


def test_a_lost_request_is_sent_again(kafka, producer):
    topic = kafka.topic()
    with kafka.fault(Lose("Produce")) as fault:
        assert delivered(producer, topic, b"paid") is None
    assert (fault.hits, fault.seen) == (1, 2)
    assert kafka.records(topic).values == [b"paid"]


def test_kip_98_a_lost_answer_makes_no_second_record_of_an_idempotent_producer(
    kafka, producer
):
    topic = kafka.topic()
    with kafka.fault(Lose("Produce", topic=topic, answer=True)) as fault:
        assert delivered(producer, topic, b"paid") is None
    assert (fault.hits, fault.seen) == (1, 2)
    assert kafka.records(topic).values == [b"paid"]


def test_a_lost_answer_makes_a_second_record_without_idempotence(kafka):
    topic = kafka.topic()
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, enable_idempotence=False, retries=5
    )
    with kafka.fault(Lose("Produce", answer=True)) as fault:
        producer.send(topic, b"paid").get(60)
    assert fault.hits == 1
    assert kafka.records(topic).values == [b"paid", b"paid"]
    producer.close()


def test_an_error_that_passes_is_tried_again_and_nothing_was_written_before(
    kafka, producer
):
    topic = kafka.topic()
    with kafka.fault(Answer("Produce", "NOT_ENOUGH_REPLICAS", times=2)) as fault:
        assert delivered(producer, topic, b"paid") is None
    assert (fault.hits, fault.seen) == (2, 3)
    assert kafka.records(topic).values == [b"paid"]


def test_an_error_that_does_not_pass_is_told_to_the_program(kafka, producer):
    topic = kafka.topic()
    with kafka.fault(Answer("Produce", "MESSAGE_TOO_LARGE", topic=topic)) as fault:
        error = delivered(producer, topic, b"paid")
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert fault.hits == 1
    assert kafka.records(topic) == []


def test_who_wants_no_answer_hears_of_no_error(kafka):
    topic = kafka.topic()
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, enable_idempotence=False, acks=0
    )
    with kafka.fault(Answer("Produce", "NOT_ENOUGH_REPLICAS")) as fault:
        producer.send(topic, b"lost").get(60)
        fault.wait()
        producer.send(topic, b"written").get(60)
        producer.close()
    assert until_there(kafka, topic) == [b"written"]


def until_there(kafka, topic):
    until(lambda: kafka.records(topic), "something is written")
    return kafka.records(topic).values


def test_an_answer_may_say_that_something_failed_which_was_done(kafka):
    topic = kafka.topic()
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, enable_idempotence=False, retries=0
    )
    timed_out = Answer("Produce", "REQUEST_TIMED_OUT", done=True)
    with (
        kafka.fault(timed_out),
        pytest.raises(kafka_python.errors.RequestTimedOutError),
    ):
        producer.send(topic, b"paid").get(60)
    assert kafka.records(topic).values == [b"paid"]
    producer.close()


def test_only_the_topic_the_partition_and_the_client_that_are_named_are_hit(
    kafka, producer
):
    one, other = kafka.topic(partitions=2), kafka.topic()
    too_large = "MESSAGE_TOO_LARGE"
    with (
        kafka.fault(Answer("Produce", too_large, topic=other)) as of_topic,
        kafka.fault(Answer("Produce", too_large, topic=one, partition=1)) as of_part,
        kafka.fault(Answer("Produce", too_large, client_id="safe")) as of_client,
        kafka.fault(Answer("Produce", too_large, broker=2)) as of_broker,
    ):
        producer.produce(one, b"paid", partition=0)
        producer.flush(60)
        seen = [each.seen for each in (of_topic, of_part, of_client, of_broker)]
        assert seen == [0, 0, 0, 0]
        producer.produce(one, b"paid", partition=1)
        producer.flush(60)
    assert (of_part.hits, of_topic.hits) == (1, 0)
    assert kafka.records(one).values == [b"paid"]


def test_a_consumer_passes_over_an_error_of_a_fetch(kafka, producer):
    topic = kafka.topic()
    delivered(producer, topic, b"paid")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "billing",
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    moved = Answer("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic)
    with kafka.fault(moved) as fault:
        assert consumer.poll(60).value() == b"paid"
    assert fault.hits == 1
    consumer.close()


def test_a_delayed_answer_leaves_in_its_turn(kafka, producer):
    topic = kafka.topic()
    with kafka.fault(Delay("Produce", extra_ms=50, answer=True)) as fault:
        producer.produce(topic, b"one")
        producer.produce(topic, b"two")
        assert producer.flush(60) == 0
    assert fault.hits == 1
    assert kafka.records(topic).values == [b"one", b"two"]


def test_a_request_that_is_delayed_by_an_hour_comes_when_the_clock_is_moved(kafka):
    topic = kafka.topic()
    producer = kafka_python.KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    with kafka.fault(Delay("Produce", extra_ms=3_600_000)) as fault:
        sent = producer.send(topic, b"paid")
        fault.wait()
        assert kafka.records(topic) == []
        kafka.clock.advance(seconds=3600)
        sent.get(60)
    assert kafka.records(topic).values == [b"paid"]
    producer.close()


def test_kip_219_a_throttled_client_hears_for_how_long(kafka):
    heard = []

    def hear(event):
        heard.append(event.throttle_time)

    topic = kafka.topic()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "throttle_cb": hear}
    )
    with kafka.fault(Throttle("Produce", 50)) as fault:
        producer.produce(topic, b"paid")
        assert producer.flush(60) == 0
    assert (fault.hits, heard) == (1, [0.05])


def test_the_same_seed_hits_the_same_requests(kafka, producer):
    topic = kafka.topic()
    runs = []
    for seed in (7, 7):
        hits = []
        half = Answer("Produce", "MESSAGE_TOO_LARGE", chance_percent=50)
        with kafka.fault(half, seed=seed):
            for _ in range(16):
                hits.append(delivered(producer, topic, b"paid") is not None)
        runs.append(hits)
    assert runs[0] == runs[1]
    assert {*runs[0]} == {True, False}


def test_a_lifted_fault_hits_nobody(kafka, producer):
    topic = kafka.topic()
    fault = kafka.fault(Answer("Produce", "MESSAGE_TOO_LARGE", times=None))
    assert delivered(producer, topic, b"one") is not None
    fault.lift()
    assert delivered(producer, topic, b"two") is None


def test_what_looks_at_the_cluster_for_the_test_meets_no_faults(kafka):
    topic = kafka.topic()
    with kafka.fault(Lose("Fetch", times=None)) as fault:
        assert kafka.records(topic) == []
    assert fault.seen == 0


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: Lose("Produces"), "no API"),
        (lambda: Lose("Heartbeat", topic="orders"), "names no topic"),
        (lambda: Lose("Produce", partition=0), "needs its topic"),
        (lambda: Lose("Produce", nth=0), "counted from 1"),
        (lambda: Lose("Produce", chance_percent=101), "from 0 to 100"),
        (lambda: Answer("Produce", "REBALANCE_IN_PROGRESS"), "never answers"),
        (lambda: Answer("Vote", "NONE"), "not Vote"),
        (lambda: Throttle("Vote", 1), "never throttles"),
    ],
)
def test_a_fault_that_can_not_be_is_refused(wrong, why):
    with pytest.raises(ValueError, match=why):
        wrong()


def test_what_is_no_fault_is_refused(kafka):
    with pytest.raises(TypeError, match="no fault of the wire"):
        kafka.fault("Produce")


@pytest.mark.parametrize(
    "fault",
    [
        Lose("Produce", topic="orders", answer=True),
        Delay("Fetch", 500, times=None),
        Answer("Produce", "NOT_ENOUGH_REPLICAS", chance_percent=10),
        Throttle("Produce", 1000, client_id="till", nth=2),
    ],
    ids=repr,
)
def test_the_repr_of_a_fault_is_the_line_to_paste(fault):
    words = {each.__name__: each for each in (Lose, Delay, Answer, Throttle)}
    assert eval(repr(fault), words) == fault
