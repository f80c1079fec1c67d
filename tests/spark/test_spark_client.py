"""Spark's own Kafka connector against `minikafka serve` with no other option, and
against Apache Kafka.

What lesson 17 claims of Spark, as one check each: the ledger (`notebooks/claims.toml`)
names these tests.
"""

import itertools
import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from minikafka.course.connect import Connection
from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_17_batches import how_cut
from minikafka.course.spark import Lab, rows_read
from tests.clients.brokers import until
from tests.kafka import ApacheKafka

pytestmark = pytest.mark.spark

NUMBERS = itertools.count()
DAY = 1_000_000_000_000  # ms: a record's timestamp


@pytest.fixture
def topic(admin):
    name = f"orders-{next(NUMBERS)}"
    create(admin, name)
    return name


@pytest.fixture
def batch(spark, bootstrap):
    return lambda topic, **options: (
        kafka_source(spark.read, bootstrap, topic).options(**options).load()
    )


@pytest.fixture
def stream(spark, bootstrap, tmp_path):
    """Runs an availableNow query to its end and returns it; its rows go to
    `stream.rows`.
    """

    def run(topic, checkpoint="checkpoint", **options):
        def keep(frame, _):
            run.rows += [
                (row.partition, row.offset, bytes(row.value)) for row in frame.collect()
            ]

        source = (
            kafka_source(spark.readStream, bootstrap, topic).options(**options).load()
        )
        sink = source.writeStream.option(
            "checkpointLocation", str(tmp_path / checkpoint)
        ).foreachBatch(keep)
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    run.rows = []
    return run


def kafka_source(reader, bootstrap, topic):
    return (
        reader.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
    )


def create(admin, name, partitions=3):
    admin.create_topics(
        {name: {"num_partitions": partitions, "configs": {"retention.ms": "-1"}}}
    )
    admin.wait_for_topics([name], 120_000)


def grow(admin, topic, partitions):
    """Apache Kafka's broker learns of them a moment after the controller has
    answered.
    """
    admin.create_partitions({topic: partitions})
    until(lambda: len(admin.describe_topics([topic])[0]["partitions"]) >= partitions)
    admin.wait_for_topics([topic], 120_000)


def write(bootstrap, topic, values, partition=None, **configs):
    """Values as records with keys k0, k1, ...; timestamps a second apart."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, **configs)
    for number, value in enumerate(values):
        key, when = f"k{number}".encode(), DAY + 1000 * number
        producer.send(
            topic, value=value, key=key, partition=partition, timestamp_ms=when
        )
    producer.close()


def numbered(first, last):
    return [b"order %d" % number for number in range(first, last)]


def values_of(frame):
    return [bytes(row.value) for row in frame.orderBy("partition", "offset").collect()]


def ends(bootstrap, topic):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    offsets = consumer.end_offsets(
        [
            TopicPartition(topic, number)
            for number in consumer.partitions_for_topic(topic)
        ]
    )
    consumer.close()
    return {at.partition: offset for at, offset in offsets.items()}


def test_a_batch_reads_every_record_as_bytes_with_its_address(bootstrap, topic, batch):
    write(bootstrap, topic, [*numbered(0, 300), b"\xff\xfe no text"])
    rows = batch(topic)
    kinds = {
        "key": "binary",
        "value": "binary",
        "topic": "string",
        "partition": "int",
        "offset": "bigint",
    }
    assert dict(rows.dtypes) == {
        **kinds,
        "timestamp": "timestamp",
        "timestampType": "int",
    }
    found = rows.collect()
    assert sorted(bytes(row.value) for row in found) == sorted(
        [*numbered(0, 300), b"\xff\xfe no text"]
    )
    for partition, end in ends(bootstrap, topic).items():
        assert sorted(
            row.offset for row in found if row.partition == partition
        ) == list(range(end))


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read(bootstrap, topic, batch, compression):
    producer = Producer(
        {"bootstrap.servers": bootstrap, "compression.type": compression}
    )
    for value in numbered(0, 500):
        producer.produce(topic, value, partition=1)
    producer.flush()
    assert values_of(batch(topic)) == numbered(0, 500)


def test_null_keys_and_values_and_headers_arrive(bootstrap, topic, batch):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send(
        topic,
        value=b"all",
        partition=0,
        headers=[("schema", b"1"), ("schema", b"2"), ("empty", b"")],
    )
    producer.send(topic, key=b"alice", partition=0)
    producer.close()
    rows = batch(topic, includeHeaders="true").orderBy("offset").collect()
    assert [(row.key, row.value) for row in rows] == [(None, b"all"), (b"alice", None)]
    headers = [(header.key, bytes(header.value)) for header in rows[0].headers]
    assert headers == [("schema", b"1"), ("schema", b"2"), ("empty", b"")]
    assert rows[1].headers is None


def test_a_batch_can_start_and_end_at_a_timestamp(bootstrap, topic, batch):
    write(bootstrap, topic, numbered(0, 60), partition=0)
    write(bootstrap, topic, numbered(0, 60), partition=1)
    write(bootstrap, topic, numbered(0, 60), partition=2)
    since = batch(topic, startingTimestamp=str(DAY + 40_000))
    assert values_of(since) == numbered(40, 60) * 3
    between = batch(
        topic, startingTimestamp=str(DAY + 40_000), endingTimestamp=str(DAY + 45_000)
    )
    assert values_of(between) == numbered(40, 45) * 3


def test_a_partition_without_a_record_since_the_timestamp_fails_the_query_or_starts_at_its_end(
    bootstrap, topic, batch
):
    for partition, count in ((0, 60), (1, 30), (2, 60)):
        write(bootstrap, topic, numbered(0, count), partition=partition)
    since = {"startingTimestamp": str(DAY + 40_000)}
    with pytest.raises(Exception, match=r"(?i)no offset matched"):
        batch(topic, **since).count()
    found = batch(topic, **since, startingOffsetsByTimestampStrategy="latest")
    assert values_of(found) == numbered(40, 60) * 2


def test_a_batch_can_start_and_end_at_offsets_by_partition(bootstrap, topic, batch):
    for partition in range(3):
        write(bootstrap, topic, numbered(0, 20), partition=partition)
    starting, ending = {"0": 15, "1": -2, "2": 20}, {"0": -1, "1": 3, "2": -1}
    rows = batch(
        topic,
        startingOffsets=json.dumps({topic: starting}),
        endingOffsets=json.dumps({topic: ending}),
    )
    assert values_of(rows) == numbered(15, 20) + numbered(0, 3)


def test_a_stream_goes_on_from_its_checkpoint_and_starting_offsets_count_only_on_the_first_start(
    bootstrap, topic, stream
):
    write(bootstrap, topic, numbered(0, 100))
    stream(topic, startingOffsets="earliest")
    assert sorted(value for _, _, value in stream.rows) == sorted(numbered(0, 100))

    write(bootstrap, topic, numbered(100, 130))
    # there is a checkpoint: this is not looked at
    stream(topic, startingOffsets="latest")
    assert sorted(value for _, _, value in stream.rows) == sorted(numbered(0, 130))
    assert len(set(stream.rows)) == 130

    stream.rows.clear()
    stream(topic, checkpoint="another", startingOffsets="latest")
    assert stream.rows == []


def test_a_partition_that_is_added_is_read_from_its_beginning_whatever_starting_offsets_say(
    bootstrap, topic, admin, stream
):
    write(bootstrap, topic, numbered(0, 10), partition=0)
    stream(topic, startingOffsets="latest")
    assert stream.rows == []
    grow(admin, topic, 4)
    write(bootstrap, topic, numbered(10, 15), partition=3)
    stream(topic, startingOffsets="latest")
    assert stream.rows == [
        (3, offset, b"order %d" % (10 + offset)) for offset in range(5)
    ]


def test_the_checkpoint_holds_the_offsets_and_is_written_before_and_after_a_batch(
    bootstrap, topic, stream, tmp_path
):
    write(bootstrap, topic, numbered(0, 50))
    query = stream(topic, startingOffsets="earliest")
    last_line = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
    truth = {
        str(partition): offset for partition, offset in ends(bootstrap, topic).items()
    }
    assert json.loads(last_line) == {topic: truth}
    assert (tmp_path / "checkpoint" / "commits" / "0").exists()
    [source] = json.loads(query.lastProgress.json)["sources"]
    assert source["endOffset"] == {topic: truth}


def test_the_report_of_a_query_that_has_ended_knows_nothing_of_what_came_later(
    bootstrap, topic, stream
):
    write(bootstrap, topic, numbered(0, 50))
    query = stream(topic, startingOffsets="earliest")
    write(bootstrap, topic, numbered(50, 90))
    [source] = json.loads(query.lastProgress.json)["sources"]
    assert source["metrics"]["maxOffsetsBehindLatest"] == "0"
    read = source["endOffset"][topic]
    assert sum(ends(bootstrap, topic).values()) - sum(read.values()) == 40


def test_a_large_backlog_is_cut_into_batches(bootstrap, topic, stream):
    write(bootstrap, topic, numbered(0, 100))
    query = stream(topic, startingOffsets="earliest", maxOffsetsPerTrigger="30")
    read = [
        progress["numInputRows"]
        for progress in query.recentProgress
        if progress["numInputRows"]
    ]
    assert sum(read) == 100 and max(read) <= 33 and len(set(stream.rows)) == 100


@pytest.fixture
def cut(spark, bootstrap):
    """How Spark cuts 316, 113 and 179 records of a topic, or others."""
    lab = Lab("17", Connection(bootstrap))

    def cut(counts=(316, 113, 179), **options):
        topic = lab.topic("orders", partitions=len(counts))
        for partition, count in enumerate(counts):
            write(bootstrap, topic, numbered(0, count), partition=partition)
        stream = kafka_source(spark.readStream, bootstrap, topic)
        stream = stream.option("startingOffsets", "earliest").options(**options)
        return how_cut(lab, stream.load())

    yield cut
    lab.close()


def tasks_of(cuts):
    return [batch.tasks for batch in cuts]


def test_a_limit_is_shared_in_proportion_and_rounded_down_but_to_no_less_than_one(cut):
    limited = cut(maxOffsetsPerTrigger="304")
    assert [batch.records for batch in limited] == [303, 302, 3]
    assert limited[0].tasks == {0: (158,), 1: (56,), 2: (89,)}
    tiny = cut(counts=(300, 1, 1), maxOffsetsPerTrigger="10")
    assert tiny[0].tasks == {0: (9,), 1: (1,), 2: (1,)}  # 11, and not 10


def test_a_partitions_part_is_one_task_unless_it_is_cut(cut):
    assert tasks_of(cut()) == [{0: (316,), 1: (113,), 2: (179,)}]
    at_most = cut(maxRecordsPerPartition="100")
    assert tasks_of(at_most) == [{0: (79,) * 4, 1: (56, 57), 2: (89, 90)}]
    at_least = cut(minPartitions="6")
    assert tasks_of(at_least) == [{0: (105, 105, 106), 1: (113,), 2: (89, 90)}]
    both = cut(maxOffsetsPerTrigger="304", maxRecordsPerPartition="100")
    assert both[0].tasks == {0: (79, 79), 1: (56,), 2: (89,)}
    asked_in_the_exit_ticket = cut(
        counts=(900, 100), maxOffsetsPerTrigger="500", maxRecordsPerPartition="200"
    )
    assert asked_in_the_exit_ticket[0].tasks == {0: (150,) * 3, 1: (50,)}


def test_a_batch_from_the_earliest_to_the_latest_offsets_is_cut_only_with_min_partitions(
    bootstrap, topic, batch
):
    """Spark 4.2 measures its parts before it has looked the offsets up."""
    write(bootstrap, topic, numbered(0, 300), partition=0)
    write(bootstrap, topic, numbered(0, 10), partition=1)
    limit = {"maxRecordsPerPartition": "100"}
    assert batch(topic, **limit).rdd.getNumPartitions() == 3
    assert batch(topic, **limit, minPartitions="4").rdd.getNumPartitions() > 3
    begin = json.dumps({topic: {"0": 0, "1": 0, "2": 0}})
    end = json.dumps({topic: {"0": 300, "1": 10, "2": 0}})
    exact = {"startingOffsets": begin, "endingOffsets": end}
    assert batch(topic, **limit, **exact).rdd.getNumPartitions() == 4


def test_a_pattern_matches_anywhere_in_a_name_and_a_new_topic_is_read_from_its_beginning(
    spark, bootstrap, tmp_path
):
    lab = Lab("17", Connection(bootstrap))
    events = dataset("orders").stream("orders", count=30, seed=7)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribePattern": lab.pattern("orders-.*"),
    }

    def start(starting_offsets):
        stream = spark.readStream.format("kafka").options(**options)
        rows = stream.option("startingOffsets", starting_offsets).load()
        sink = rows.writeStream.format("noop").trigger(availableNow=True)
        query = sink.option("checkpointLocation", str(tmp_path)).start()
        query.awaitTermination()
        return rows_read(query)

    lab.send(lab.topic("orders-eu"), events[:5])
    lab.send(lab.topic("all-orders-eu"), events[:7])
    assert start("earliest") == 5
    lab.send(lab.topic("orders-us"), events[:11])
    assert start("latest") == 11
    whole = lab.pattern("orders")
    for pattern, found in ((whole, 0), (whole.removesuffix("$"), 16)):
        given = {**options, "subscribePattern": pattern}
        assert spark.read.format("kafka").options(**given).load().count() == found
    lab.close()


def test_a_stream_whose_offsets_are_gone_stops_because_data_may_be_lost(
    bootstrap, topic, admin, stream
):
    write(bootstrap, topic, numbered(0, 50), partition=0)
    stream(topic, startingOffsets="earliest")
    write(bootstrap, topic, numbered(50, 60), partition=0)
    admin.delete_records({TopicPartition(topic, 0): 55})
    with pytest.raises(
        Exception, match=r"(?i)data\s?loss|data was lost|failOnDataLoss"
    ):
        stream(topic, startingOffsets="earliest")


@pytest.mark.parametrize("records, found", [(10, None), (60, 10)])
def test_a_checkpoint_does_not_know_a_topic_that_was_made_anew_under_its_name(
    bootstrap, topic, admin, stream, records, found
):
    """Shorter than before: it stops. Longer: it goes on at the old offset, and what
    stands before is never read.
    """
    write(bootstrap, topic, numbered(0, 50), partition=0)
    stream(topic, startingOffsets="earliest")
    admin.delete_topics([topic])
    until(lambda: topic not in admin.list_topics())
    create(admin, topic)
    write(bootstrap, topic, numbered(100, 100 + records), partition=0)
    stream.rows.clear()
    if found is None:
        with pytest.raises(Exception, match=r"(?i)data\s?loss|data was lost"):
            stream(topic)
    else:
        stream(topic)
        assert [value for _, _, value in stream.rows] == numbered(150, 160)


def test_a_batch_is_written_with_keys_headers_and_partitions(
    spark, bootstrap, topic, admin
):
    from pyspark.sql import functions as F

    header = F.array(
        F.struct(
            F.lit("from").alias("key"), F.lit("spark").cast("binary").alias("value")
        )
    )
    rows = spark.range(200).select(
        F.concat(F.lit("k"), "id").alias("key"),
        F.col("id").cast("string").alias("value"),
    )
    sink = (
        rows.withColumn("headers", header)
        .write.format("kafka")
        .option("includeHeaders", "true")
    )
    sink.option("kafka.bootstrap.servers", bootstrap).option("topic", topic).save()

    records = read_all(bootstrap, topic)
    assert {record.key: record.value for record in records} == {
        b"k%d" % n: b"%d" % n for n in range(200)
    }
    assert len(records) == 200 and all(
        record.headers == [("from", b"spark")] for record in records
    )

    again = f"{topic}-again"
    create(admin, again)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    homes = {
        b"k%d" % n: producer.send(again, key=b"k%d" % n).get(timeout=120).partition
        for n in range(200)
    }
    producer.close()
    # both use murmur2
    assert {record.key: record.partition for record in records} == homes


def test_a_batch_that_is_written_again_is_there_twice(spark, bootstrap, topic):
    sink = (
        spark.range(20).selectExpr("cast(id as string) as value").write.format("kafka")
    )
    sink = sink.option("kafka.bootstrap.servers", bootstrap).option("topic", topic)
    sink.save()
    sink.save()
    assert len(read_all(bootstrap, topic)) == 40


def test_a_stream_is_written_to_a_topic(spark, bootstrap, topic, admin, tmp_path):
    copy = f"{topic}-copy"
    create(admin, copy)
    write(bootstrap, topic, numbered(0, 100))
    source = (
        kafka_source(spark.readStream, bootstrap, topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    sink = (
        source.select("key", "value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
    )
    sink = sink.option("topic", copy).option(
        "checkpointLocation", str(tmp_path / "checkpoint")
    )
    sink.trigger(availableNow=True).start().awaitTermination()
    assert sorted(record.value for record in read_all(bootstrap, copy)) == sorted(
        numbered(0, 100)
    )


@pytest.mark.java
def test_spark_joins_no_group_and_commits_nothing(spark, tmp_path):
    """Asked of Apache Kafka: it knows every group that ever committed."""
    with ApacheKafka() as kafka:
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        create(admin, "orders")
        write(kafka.bootstrap, "orders", numbered(0, 10))
        assert kafka_source(spark.read, kafka.bootstrap, "orders").load().count() == 10
        source = (
            kafka_source(spark.readStream, kafka.bootstrap, "orders")
            .option("startingOffsets", "earliest")
            .load()
        )
        sink = source.writeStream.format("noop").option(
            "checkpointLocation", str(Path(tmp_path, "checkpoint"))
        )
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
        assert query.lastProgress["numInputRows"] == 10
        assert not admin.list_groups()
        assert "__consumer_offsets" not in admin.list_topics()
        admin.close()


def read_all(bootstrap, topic):
    consumer = KafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest"
    )
    records = [next(consumer) for _ in range(sum(ends(bootstrap, topic).values()))]
    consumer.close()
    return records


def pay(bootstrap, topic, *values, commits=True):
    """One transaction, in one partition: its marker takes an offset of its own."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    if commits:
        producer.commit_transaction(60)
    else:
        producer.flush()
        producer.abort_transaction(60)


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_markers_of_transactions_are_no_lost_data(
    bootstrap, topic, batch, stream, level
):
    """An offset without a record is no reason to stop, where a batch begins or ends
    there, or has nothing else.
    """
    options = {"failOnDataLoss": "true", "kafka.isolation.level": level}
    written = [b"a", b"b", b"c"]
    pay(bootstrap, topic, *written)
    pay(bootstrap, topic, b"taken back", commits=False)
    pay(bootstrap, topic, b"d")
    if level == "read_uncommitted":
        written.append(b"taken back")
    written.append(b"d")
    assert ends(bootstrap, topic)[0] == 8
    assert values_of(batch(topic, **options)) == written
    for first in (3, 5, 8):
        only = {"startingOffsets": json.dumps({topic: {"0": first, "1": 0, "2": 0}})}
        found = values_of(batch(topic, **options, **only))
        assert found == written[len(written) - len(found) :]
    each = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "3"}
    stream(topic, **options, **each)
    pay(bootstrap, topic, b"e")
    stream(topic, **options, **each)
    assert [value for *_, value in stream.rows] == [*written, b"e"]
