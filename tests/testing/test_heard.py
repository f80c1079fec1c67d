"""What a test that fails tells of the requests that its brokers heard."""

import confluent_kafka

from minikafka.testing import Answer, Lose


def send(kafka, topic, value=b"paid"):
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "client.id": "till"}
    producer = confluent_kafka.Producer({**settings, "log_level": 0})
    producer.produce(topic, value)
    assert producer.flush(60) == 0


def told(kafka):
    """Without the times."""
    return [line.split("s  ", 1)[1] for line in str(kafka.heard).splitlines()]


def test_requests_are_told_with_their_errors_and_faults(kafka):
    topic = kafka.topic()
    refuse = Answer("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic)
    lose = Lose("Produce", topic=topic)
    with kafka.fault(refuse), kafka.fault(lose):
        send(kafka, topic)
    assert told(kafka) == [
        f"till: Produce {topic}-0: NOT_LEADER_OR_FOLLOWER, met {refuse}",
        f"till: Produce {topic}-0: no answer, met {lose}",
        f"till: Produce {topic}-0",
    ]


def test_what_the_test_itself_asks_is_left_out(kafka):
    topic = kafka.topic()
    assert kafka.records(topic) == []
    kafka.group("billing").describe()
    assert told(kafka) == []


def test_a_request_that_is_too_large_to_be_kept_is_told_by_its_name(kafka):
    topic = kafka.topic()
    send(kafka, topic, bytes(100_000))
    assert told(kafka) == ["Produce: too large to be shown, or no request"]


def test_what_was_before_is_forgotten(kafka):
    topic = kafka.topic()
    send(kafka, topic)
    kafka.heard.begin()
    assert told(kafka) == []
