"""A group as a test waits for it and asks for it, in both protocols."""

import threading

import confluent_kafka
import pytest

from tests.clients.brokers import until

pytestmark = pytest.mark.slow


@pytest.fixture(params=["classic", "consumer"])
def member(request, kafka):
    """Makes members that poll until the test ends."""
    over, threads = threading.Event(), []

    def run(consumer):
        while not over.is_set():
            consumer.poll(0.05)
        consumer.close()

    def make(topic):
        """The partitions that it has, in a set that changes."""
        own = set()
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "billing",
                "group.protocol": request.param,
                "log_level": 0,
            }
        )

        def assigned(consumer, partitions):
            own.update(each.partition for each in partitions)

        def revoked(consumer, partitions):
            own.difference_update(each.partition for each in partitions)

        consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked)
        threads.append(threading.Thread(target=run, args=(consumer,)))
        threads[-1].start()
        return own

    yield make
    over.set()
    for thread in threads:
        thread.join()


def test_kip_848_a_group_is_stable_when_each_member_has_its_partitions(kafka, member):
    topic = kafka.topic(partitions=2)
    one = member(topic)
    kafka.group("billing").wait_stable(members=1)
    until(lambda: one == {0, 1}, "the only member has both")
    other = member(topic)
    kafka.group("billing").wait_stable(members=2)
    until(lambda: len(one) == len(other) == 1, "each member has one")


def test_a_group_that_does_not_get_so_many_members_is_told_by_its_name(kafka):
    with pytest.raises(AssertionError, match="group billing has 0 member") as told:
        kafka.group("billing").wait_stable(members=1, timeout=0)
    assert "Dead" in str(told.value)


def test_a_session_that_ends_is_a_member_less(kafka):
    topic = kafka.topic()
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing"}
    )
    joined = threading.Event()
    consumer.subscribe([topic], on_assign=lambda *_: joined.set())
    while not joined.is_set():
        consumer.poll(0.05)
    kafka.group("billing").wait_stable(members=1)
    kafka.clock.advance(seconds=46)
    # it joins again when it polls
    assert kafka.group("billing").describe().members == 0
    consumer.close()


def test_lag_is_what_is_behind_the_committed_offsets(kafka):
    topic = kafka.topic(partitions=2)
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for partition in (0, 1):
        for value in (b"one", b"two", b"three"):
            producer.produce(topic, value, partition=partition)
    producer.flush(60)
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing"}
    )
    consumer.commit(
        offsets=[
            confluent_kafka.TopicPartition(topic, 0, 1),
            confluent_kafka.TopicPartition(topic, 1, 3),
        ],
        asynchronous=False,
    )
    group = kafka.group("billing")
    assert group.committed(topic) == {0: 1, 1: 3}
    assert group.lag() == group.lag(topic) == 2
    assert group.committed("another") == {}
    consumer.close()


def test_a_group_that_has_committed_nothing_lags_by_the_whole_topic(kafka):
    topic = kafka.topic(partitions=2)
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in (b"one", b"two", b"three"):
        producer.produce(topic, value)
    producer.flush(60)
    assert kafka.group("nobody").lag(topic) == 3
    with pytest.raises(
        AssertionError, match=r"nobody has committed nothing; lag\(topic"
    ):
        kafka.group("nobody").lag()


def test_an_unsettled_group_waits_for_members_that_do_not_poll(kafka):
    topic = kafka.topic()
    where = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing"}
    consumer = confluent_kafka.Consumer(where)
    consumer.subscribe([topic])
    kafka.group("billing").wait_stable(members=1)
    second = confluent_kafka.Consumer(where)
    second.subscribe([topic])
    with pytest.raises(AssertionError, match="only while its program polls"):
        kafka.group("billing").wait_stable(members=2, timeout=5)
    consumer.close()
    second.close()
