"""Three brokers of which one dies, stands still, or is cut off."""

import socket

import confluent_kafka
import pytest

from minikafka.testing import Crash, Freeze, Kafka
from tests.clients.brokers import until

pytestmark = pytest.mark.slow

SESSION_S = 2  # broker.session.timeout.ms of several brokers


@pytest.fixture(scope="module")
def cluster():
    with Kafka(brokers=3) as one:
        yield one


@pytest.fixture
def whole(cluster):
    """All brokers are up, before and after."""
    yield cluster
    cluster.mend_all()


def write(cluster, topic, *values):
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "log_level": 0,
            "enable.idempotence": True,
            "reconnect.backoff.max.ms": 100,
        }
    )
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def test_a_topic_has_a_replica_on_each_broker(whole):
    topic = whole.topic()
    write(whole, topic, b"paid")
    assert whole.records(topic).values == [b"paid"]
    for to in (1, 2, 3):
        whole.move_leader(topic, to=to)
        assert whole.leader(topic) == to
    with pytest.raises(ValueError, match="has no replica"):
        whole.move_leader(topic, to=4)


def test_another_broker_leads_when_the_leader_dies_and_nothing_is_lost(whole):
    topic = whole.topic()
    write(whole, topic, b"before")
    dead = whole.leader(topic)
    whole.broker(dead).kill()
    whole.clock.advance(seconds=SESSION_S + 1)
    until(lambda: whole.leader(topic) not in (dead, -1))
    write(whole, topic, b"after")
    assert whole.records(topic).values == [b"before", b"after"]
    whole.broker(dead).restart()
    until(lambda: whole.broker(dead).state == "up")
    whole.move_leader(topic, to=dead)
    assert whole.records(topic).values == [b"before", b"after"]


def test_a_broker_that_is_up_is_killed_and_comes_back_with_what_it_had(whole):
    topic = whole.topic()
    write(whole, topic, b"paid")
    with socket.create_connection(whole.broker(1).address.split(":")) as connection:
        whole.broker(1).restart()
        connection.settimeout(60)
        assert connection.recv(1) == b""
    until(lambda: whole.broker(1).state == "up")
    assert whole.records(topic).values == [b"paid"]


def test_what_was_not_flushed_is_gone_after_a_power_loss_but_for_the_replicas(whole):
    topic = whole.topic()
    write(whole, topic, b"paid")
    dead = whole.leader(topic)
    whole.broker(dead).kill(power=True)
    whole.clock.advance(seconds=SESSION_S + 1)
    whole.broker(dead).restart()
    whole.move_leader(topic, to=dead)
    assert whole.records(topic).values == [b"paid"]


def test_a_frozen_broker_leads_no_more_and_goes_on_where_it_stood(whole):
    topic = whole.topic()
    write(whole, topic, b"before")
    frozen = whole.leader(topic)
    whole.broker(frozen).freeze()
    assert whole.broker(frozen).state == "frozen"
    whole.clock.advance(seconds=SESSION_S + 1)
    whole.broker(frozen).thaw()
    until(lambda: whole.leader(topic) != frozen)
    write(whole, topic, b"after")
    assert whole.records(topic).values == [b"before", b"after"]


def test_one_of_two_that_are_cut_off_from_each_other_is_in_sync_no_more(whole):
    topic = whole.topic()
    # which both can reach: it takes the follower out of the set
    controller = whole.controller()
    leader, follower = {1, 2, 3} - {controller}
    whole.move_leader(topic, to=leader)
    whole.cut(leader, follower)
    write(whole, topic, b"paid")
    assert whole.in_sync(topic) == sorted([leader, controller])
    whole.mend(leader, follower)
    until(lambda: whole.in_sync(topic) == [1, 2, 3])
    assert whole.records(topic).values == [b"paid"]


def test_there_is_no_fourth_of_three(whole):
    with pytest.raises(LookupError, match="no broker 4"):
        whole.broker(4)


def test_a_leader_that_dies_before_it_answers_has_written_and_nobody_writes_twice(
    whole,
):
    topic = whole.topic()
    leader = whole.leader(topic)
    with whole.fault(Crash("Produce", topic=topic, answer=True)) as fault:
        write(whole, topic, b"paid")
    assert fault.hits == 1
    assert whole.broker(leader).state == "down"
    assert whole.leader(topic) != leader
    assert whole.records(topic).values == [b"paid"]


def test_a_leader_that_dies_before_it_has_the_record_is_replaced(whole):
    topic = whole.topic()
    with whole.fault(Crash("Produce", topic=topic, power=True)) as fault:
        write(whole, topic, b"paid")
    assert fault.hits == 1
    assert whole.records(topic).values == [b"paid"]


def test_a_leader_that_stands_still_at_a_request_does_it_when_it_goes_on(whole):
    topic = whole.topic()
    with whole.fault(Freeze("Produce", topic=topic)) as fault:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": whole.bootstrap_servers, "log_level": 0}
        )
        producer.produce(topic, b"paid")
        while not fault.hits:
            producer.poll(0.01)
        [frozen] = [each for each in (1, 2, 3) if whole.broker(each).state == "frozen"]
        whole.broker(frozen).thaw()
        assert producer.flush(60) == 0
    assert whole.records(topic).values == [b"paid"]
