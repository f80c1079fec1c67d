"""Brokers whose clients log in."""

import confluent_kafka
import pytest
from confluent_kafka import KafkaError

from minikafka.testing import Answer, Kafka

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def producer(kafka, mechanism, password):
    return confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": kafka.username,
            "sasl.password": password,
            "log_level": 0,
        }
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_logs_in_may_write_and_meets_faults_as_anybody(mechanism):
    with Kafka(sasl=mechanism) as kafka:
        topic, told = kafka.topic(), []
        with_it = producer(kafka, mechanism, kafka.password)
        with kafka.fault(Answer("Produce", "NOT_LEADER_OR_FOLLOWER")) as fault:
            with_it.produce(topic, b"paid", on_delivery=lambda *each: told.append(each))
            assert with_it.flush(60) == 0
        assert fault.hits == 1
        assert kafka.records(topic).values == [b"paid"]


def test_a_wrong_password_is_told():
    with Kafka(sasl="SCRAM-SHA-512") as kafka:
        told = []
        conf = {
            "bootstrap.servers": kafka.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": kafka.username,
            "sasl.password": "guessed",
            "error_cb": told.append,
            "log_level": 0,
        }
        with_it = confluent_kafka.Producer(conf)
        while not told:
            with_it.poll(0.05)
        assert told[0].code() == KafkaError._AUTHENTICATION


def test_a_mechanism_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="not 'KERBEROS'"):
        Kafka(sasl="KERBEROS")


def test_after_a_restart_they_log_in_again():
    with Kafka(sasl="PLAIN") as kafka:
        topic = kafka.topic()
        with_it = producer(kafka, "PLAIN", kafka.password)
        kafka.broker(1).kill()
        kafka.broker(1).restart()
        with_it.produce(topic, b"paid")
        assert with_it.flush(60) == 0
        assert kafka.records(topic).values == [b"paid"]
