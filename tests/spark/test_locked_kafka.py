"""Spark's own Kafka source and sink at listeners with locks: they write, read and stream,
and what the source says where it doesn't come in is the same of Apache Kafka. Spark
brings a Java client of its own, of Apache Kafka 3.9.
"""

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.locked import (
    CONNECTING,
    FAILING,
    PATIENCE_S,
    Try,
    locked_apache_kafka,
    locked_minikafka,
    make_keys,
)
from tests.clients.locked_clients import of_java, plainly, words_of
from tests.kafka import BOTH, MINIKAFKA

pytestmark = [pytest.mark.first, pytest.mark.spark, pytest.mark.nightly]

HOW = Try("SASL_SSL", mechanism="SCRAM-SHA-512")
WRONG = Try("SASL_SSL", mechanism="SCRAM-SHA-512", password="no")
ORDERS = [("alice", "order 0"), ("bob", "order 1"), ("carol", "order 2")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("locked")
    make_keys(made)
    return made


@pytest.fixture(scope="module")
def minikafka(folder):
    with locked_minikafka(folder) as made:
        create_topic(made)
        yield made


@pytest.fixture(scope="module")
def apache_kafka(folder):
    with locked_apache_kafka(folder) as made:
        create_topic(made)
        yield made


@pytest.fixture(params=BOTH)
def broker(request):
    name = "minikafka" if request.param == MINIKAFKA else "apache_kafka"
    return request.getfixturevalue(name)


def create_topic(broker):
    admin = AdminClient({"bootstrap.servers": broker.at("PLAINTEXT")})
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(PATIENCE_S)


def options(broker, how):
    """A client's configs, as Spark hands them on."""
    given = of_java(broker, how)
    if how.patience_ms < 10_000:
        given |= {"default.api.timeout.ms": "8000", "request.timeout.ms": "4000"}
    return {f"kafka.{name}": value for name, value in given.items()}


def read(spark, broker, how=HOW):
    """The batch source's keys and values."""
    reader = spark.read.format("kafka").options(**options(broker, how))
    reader = reader.options(**{"subscribe": "orders", "fetchOffset.numRetries": "1"})
    rows = reader.load()
    return rows.selectExpr("string(key)", "string(value)")


def found(rows):
    return sorted(map(tuple, rows.collect()))


def test_spark_writes_and_reads_through_tls_and_scram(spark, broker, tmp_path):
    rows = spark.createDataFrame(ORDERS, "key string, value string")
    sink = rows.write.format("kafka").options(**options(broker, HOW))
    sink.option("topic", "orders").save()
    assert found(read(spark, broker)) == ORDERS
    source = spark.readStream.format("kafka").options(**options(broker, HOW))
    stream = source.options(subscribe="orders", startingOffsets="earliest").load()
    table = str(tmp_path / "table")
    query = (
        stream.selectExpr("string(key) as key", "string(value) as value")
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .format("parquet")
        .start(table)
    )
    assert query.awaitTermination(240)
    assert found(spark.read.parquet(table).select("key", "value")) == ORDERS


def words(spark, broker, how):
    """ "" if the source reads, else what is said."""
    from py4j.protocol import Py4JJavaError

    try:
        read(spark, broker, how).collect()
    except Py4JJavaError as error:
        return words_of(error.java_exception)
    return ""


def test_spark_says_that_the_password_is_wrong(spark, broker):
    expected = (
        "SaslAuthenticationException: Authentication failed during authentication due"
        " to invalid credentials with SASL mechanism SCRAM-SHA-512"
    )
    assert expected in words(spark, broker, WRONG)


@pytest.mark.parametrize("what", CONNECTING)
def test_spark_comes_in_by_each_protocol_and_mechanism(spark, broker, what):
    assert words(spark, broker, CONNECTING[what]) == ""


@pytest.mark.java
@pytest.mark.parametrize("what", FAILING)
def test_spark_says_the_same_of_apache_kafka(spark, minikafka, apache_kafka, what):
    ours, theirs = (
        plainly(words(spark, each, FAILING[what])) for each in (minikafka, apache_kafka)
    )
    assert ours and ours == theirs
