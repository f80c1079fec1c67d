"""Spark's own Kafka source and sink at a listener with TLS and SCRAM, and what they say
with a wrong password. Spark brings a Java client of its own, of Apache Kafka 3.9.
"""

import pytest

from tests.clients.locked import Try, locked_apache_kafka, locked_minikafka, make_keys
from tests.clients.locked_clients import of_java, words_of
from tests.kafka import BOTH, MINIKAFKA

pytestmark = [pytest.mark.first, pytest.mark.spark, pytest.mark.nightly]

HOW = Try("SASL_SSL", mechanism="SCRAM-SHA-512")
WRONG = Try("SASL_SSL", mechanism="SCRAM-SHA-512", password="no")
ORDERS = [("alice", "order 0"), ("bob", "order 1"), ("carol", "order 2")]


@pytest.fixture(scope="module", params=BOTH)
def broker(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    make_keys(folder)
    locked = locked_minikafka if request.param == MINIKAFKA else locked_apache_kafka
    with locked(folder) as made:
        yield made


def options(broker, how):
    """A client's configs, as Spark hands them on."""
    return {f"kafka.{name}": value for name, value in of_java(broker, how).items()}


def read(spark, broker, how=HOW):
    """The batch source's keys and values."""
    reader = spark.read.format("kafka").options(**options(broker, how))
    rows = reader.option("subscribe", "orders").load()
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


def test_spark_says_that_the_password_is_wrong(spark, broker):
    from py4j.protocol import Py4JJavaError

    with pytest.raises(Py4JJavaError) as failed:
        read(spark, broker, WRONG).collect()
    words = (
        "SaslAuthenticationException: Authentication failed during authentication due"
        " to invalid credentials with SASL mechanism SCRAM-SHA-512"
    )
    assert words in words_of(failed.value.java_exception)
