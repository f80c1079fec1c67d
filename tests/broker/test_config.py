"""What a property may be: Apache Kafka's bounds; where we are stricter or more lenient,
the table says so.
"""

import pytest

from minikafka.broker.config import BrokerConfig
from minikafka.wire.errors import KafkaError
from tests.clients.java_tools import JavaTools

BOTH_TAKE, BOTH_REFUSE = "both take it", "both refuse it"
# and then nobody can connect, join, commit or create
STRICTER = "Apache Kafka takes it"

# properties, verdict, words of our refusal
CASES = [
    ("connections.max.idle.ms=-1", BOTH_TAKE, ""),
    ("connections.max.idle.ms=101", BOTH_TAKE, ""),
    (
        "connections.max.idle.ms=100",
        BOTH_REFUSE,
        "Value must be negative or more than 100",
    ),
    (
        "connections.max.idle.ms=0",
        BOTH_REFUSE,
        "Value must be negative or more than 100",
    ),
    ("socket.request.max.bytes=0", BOTH_REFUSE, "Value must be at least 1024"),
    ("socket.request.max.bytes=1", STRICTER, "Value must be at least 1024"),
    ("max.connections=1", BOTH_TAKE, ""),
    ("max.connections=0", STRICTER, "Value must be at least 1"),
    ("fetch.max.bytes=1023", BOTH_REFUSE, "Value must be at least 1024"),
    (
        "group.min.session.timeout.ms=1000 group.max.session.timeout.ms=1000",
        BOTH_TAKE,
        "",
    ),
    (
        "group.min.session.timeout.ms=1001 group.max.session.timeout.ms=1000",
        STRICTER,
        "must be at most",
    ),
    (
        "group.max.session.timeout.ms=5999",
        STRICTER,
        "group.min.session.timeout.ms (6000) must be at most",
    ),
    ("group.max.session.timeout.ms=0", STRICTER, "Value must be at least 1"),
    ("group.min.session.timeout.ms=-1", STRICTER, "Value must be at least 0"),
    ("group.initial.rebalance.delay.ms=-1", STRICTER, "Value must be at least 0"),
    ("offset.metadata.max.bytes=-1", STRICTER, "Value must be at least 0"),
    ("group.consumer.assignors=range", BOTH_TAKE, ""),
    ("group.consumer.assignors=", BOTH_REFUSE, "must not be empty"),
    ("group.consumer.assignors=uniform,,range", BOTH_REFUSE, "String must be one of"),
    ("group.consumer.assignors=nobody", BOTH_REFUSE, "String must be one of"),
    (
        (
            "group.consumer.session.timeout.ms=45000"
            " group.consumer.heartbeat.interval.ms=15000"
        ),
        BOTH_TAKE,
        "",
    ),
    (
        "group.consumer.heartbeat.interval.ms=45000",
        BOTH_REFUSE,
        "must be less than group.consumer.session.timeout.ms",
    ),
    ("log.cleaner.dedupe.buffer.size=1048577", BOTH_TAKE, ""),
    (
        "log.cleaner.dedupe.buffer.size=1048576",
        BOTH_REFUSE,
        "Value must be at least 1048577",
    ),
    ("log.retention.ms=1", BOTH_TAKE, ""),
    ("log.retention.ms=-1", BOTH_TAKE, ""),
    ("log.retention.ms=0", BOTH_REFUSE, "Value must be -1 or at least 1"),
    ("log.retention.bytes=-1", BOTH_TAKE, ""),
    ("log.roll.ms=0", BOTH_REFUSE, "Value must be at least 1"),
    ("log.segment.bytes=1048576", BOTH_TAKE, ""),
    ("log.segment.bytes=1048575", BOTH_REFUSE, "Value must be at least 1048576"),
    # no topic may have such a one
    ("offsets.topic.segment.bytes=20000", STRICTER, "Value must be at least 1048576"),
    ("offsets.topic.num.partitions=0", BOTH_REFUSE, "Value must be at least 1"),
    ("offsets.retention.minutes=0", BOTH_REFUSE, "Value must be at least 1"),
    ("default.replication.factor=32768", STRICTER, "Value must be no more than 32767"),
    ("num.partitions=0", BOTH_REFUSE, "Value must be at least 1"),
    ("num.partitions=2147483648", BOTH_REFUSE, "Not a number of type INT"),
    ("num.partitions=1_0", BOTH_REFUSE, "Not a number of type INT"),
    ("num.partitions=1.5", BOTH_REFUSE, "Not a number of type INT"),
    ("num.partitions=", BOTH_REFUSE, "Not a number of type INT"),
    ("num.partitions=+3", BOTH_TAKE, ""),
    (
        "log.cleaner.min.cleanable.ratio=1.5",
        BOTH_REFUSE,
        "Value must be no more than 1",
    ),
    ("log.cleaner.min.cleanable.ratio=NaN", STRICTER, "Not a number of type DOUBLE"),
    (
        "log.cleaner.min.compaction.lag.ms=5 log.cleaner.max.compaction.lag.ms=5",
        BOTH_TAKE,
        "",
    ),
    ("log.cleanup.policy=compact,delete", BOTH_TAKE, ""),
    ("log.cleanup.policy=shred", BOTH_REFUSE, "String must be one of"),
    ("log.message.timestamp.type=", BOTH_REFUSE, "String must be one of"),
    ("log.index.size.max.bytes=3", BOTH_REFUSE, "Value must be at least 4"),
    ("auto.create.topics.enable=TRUE", BOTH_TAKE, ""),
    (
        "auto.create.topics.enable=yes",
        BOTH_REFUSE,
        "Expected value to be either true or false",
    ),
    ("my.plugin.setting=1", BOTH_TAKE, ""),
    ("cleanup.policy=compact", BOTH_TAKE, ""),  # a topic's, not a broker's
    ("listener.name.plaintext.my.setting=1", BOTH_TAKE, ""),
    ("message.max.bytes=-1", BOTH_REFUSE, "Value must be at least 0"),
    # Apache Kafka refuses it as a log's config, a moment later.
    (
        "log.cleaner.min.compaction.lag.ms=6 log.cleaner.max.compaction.lag.ms=5",
        STRICTER,
        "must be at most",
    ),
]


def properties(text):
    return dict(pair.split("=") for pair in text.split(" "))


@pytest.mark.parametrize(("given", "verdict", "words"), CASES)
def test_a_property_that_makes_no_sense_is_refused_when_it_is_given(
    given, verdict, words
):
    if verdict is BOTH_TAKE:
        assert BrokerConfig(properties=properties(given))
    else:
        with pytest.raises(KafkaError, match="INVALID_CONFIG") as refused:
            BrokerConfig(properties=properties(given))
        assert words in refused.value.message
        assert given.partition("=")[0] in refused.value.message or " (" in words


def test_a_refusal_repeats_no_more_than_a_line_of_what_was_given():
    with pytest.raises(KafkaError) as refused:
        BrokerConfig(properties={"num.partitions": "9\n" * 20_000})
    assert len(refused.value.message) < 400
    assert "\n" not in refused.value.message


@pytest.mark.java
@pytest.mark.nightly
def test_apache_kafka_says_the_same_of_each_property():
    needed = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
    }
    with JavaTools() as java:
        from py4j.protocol import Py4JJavaError

        for given, verdict, _ in CASES:
            config = java.gateway.jvm.java.util.HashMap()
            for name, value in (needed | properties(given)).items():
                config.put(name, value)
            try:
                java.gateway.jvm.kafka.server.KafkaConfig(config)
                taken = True
            except Py4JJavaError:
                taken = False
            assert taken == (verdict is not BOTH_REFUSE), given
