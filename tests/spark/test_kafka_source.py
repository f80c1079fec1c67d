"""The Kafka source in Python: what Spark asks of it, asked directly; then Spark itself,
beside its own connector.
"""

import itertools
import json

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from minikafka.course.spark import patiently
from tests.clients.brokers import until
from tests.kafka import ApacheKafka
from tests.spark.test_spark_client import create, grow, kafka_source, numbered, write

pytestmark = [pytest.mark.first, pytest.mark.spark]

NUMBERS = itertools.count()


@pytest.fixture
def topic(admin):
    name = f"orders-{next(NUMBERS)}"
    create(admin, name)
    return name


@pytest.fixture
def source(bootstrap, topic):
    from minikafka.course.kafka_source import KafkaSource

    def make(**options):
        given = {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }
        return KafkaSource({**given, **options})

    return make


@pytest.fixture
def stream(source):
    made = []

    def make(**options):
        given = source(**options)
        made.append(given.streamReader(given.schema()))
        return made[-1]

    yield make
    for reader in made:
        reader.stop()


def rows(reader, ranges):
    """(partition, offset, value) of all ranges, sorted."""
    batches = [batch for each in ranges for batch in reader.read(each)]
    return sorted(
        (row["partition"], row["offset"], row["value"])
        for batch in batches
        for row in batch.to_pylist()
    )


def latest(reader, start=None, at_most=None):
    """The end of a micro-batch, as Spark asks for it."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

    limit = ReadAllAvailable() if at_most is None else ReadMaxRows(at_most)
    return reader.latestOffset(start or reader.initialOffset(), limit)


def values(reader, ranges):
    return sorted(value for _, _, value in rows(reader, ranges))


# --- offsets, ranges, records ---


def test_a_batch_is_planned_a_range_for_each_partition_and_read_as_it_is(
    source, bootstrap, topic
):
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send(
        topic,
        b"all",
        b"k",
        [("schema", b"1"), ("schema", b"2")],
        partition=0,
        timestamp_ms=1_000,
    )
    producer.send(topic, None, b"alice", partition=0, timestamp_ms=2_000)
    producer.send(topic, b"\xff", None, partition=2, timestamp_ms=3_000)
    producer.close()
    given = source(includeHeaders="true")
    reader = given.reader(given.schema())
    ranges = reader.partitions()
    assert [(each.partition, each.start, each.end) for each in ranges] == [
        (0, 0, 2),
        (2, 0, 1),
    ]
    first, second, third = (
        row
        for each in ranges
        for batch in reader.read(each)
        for row in batch.to_pylist()
    )
    assert (first["key"], first["value"], first["topic"], first["offset"]) == (
        b"k",
        b"all",
        topic,
        0,
    )
    assert first["timestamp"].timestamp() == 1 and first["timestampType"] == 0
    assert first["headers"] == [
        {"key": "schema", "value": b"1"},
        {"key": "schema", "value": b"2"},
    ]
    assert (second["key"], second["value"], second["headers"]) == (b"alice", None, None)
    assert (third["key"], third["value"], third["partition"]) == (None, b"\xff", 2)


def test_the_same_two_offsets_give_the_same_records_again_whatever_has_come_since(
    stream, bootstrap, topic
):
    write(bootstrap, topic, numbered(0, 100))
    first = stream()
    start = first.initialOffset()
    end = latest(first, start)
    assert values(first, first.partitions(start, end)) == sorted(numbered(0, 100))

    write(bootstrap, topic, numbered(100, 130))
    after_a_crash = stream()  # Spark hands it what the checkpoint says
    start, end = json.loads(json.dumps([start, end]))
    assert values(after_a_crash, after_a_crash.partitions(start, end)) == sorted(
        numbered(0, 100)
    )
    ranges = after_a_crash.partitions(end, latest(after_a_crash, end))
    assert values(after_a_crash, ranges) == sorted(numbered(100, 130))


def test_offsets_have_the_connectors_form_and_equal_ones_are_equal_text(
    stream, bootstrap, topic
):
    write(bootstrap, topic, numbered(0, 5), partition=1)
    reader = stream()
    first, second = latest(reader), latest(reader)
    assert first[topic] == {"0": 0, "1": 5, "2": 0}
    assert json.dumps(first) == json.dumps(second)
    assert reader.partitions(first, second) == []


def test_a_stream_starts_at_the_end_unless_told_otherwise_or_where_it_is_told(
    stream, bootstrap, topic
):
    write(bootstrap, topic, numbered(0, 5), partition=1)
    assert stream(startingOffsets="latest").initialOffset()[topic] == {
        "0": 0,
        "1": 5,
        "2": 0,
    }
    at = json.dumps({topic: {"0": -1, "1": 3, "2": -2}})
    reader = stream(startingOffsets=at)
    assert values(
        reader, reader.partitions(reader.initialOffset(), latest(reader))
    ) == numbered(3, 5)
    with pytest.raises(ValueError, match="must name every partition"):
        stream(startingOffsets=json.dumps({topic: {"0": 3}})).initialOffset()


def test_a_stream_from_the_end_begins_where_it_began_after_a_kill_in_micro_batch_0(
    stream, bootstrap, topic
):
    write(bootstrap, topic, numbered(0, 5), partition=1)
    first = stream(startingOffsets="latest")
    begin = first.initialOffset()
    assert first.partitions(begin, latest(first, begin)) == []

    write(bootstrap, topic, numbered(5, 8), partition=1)
    end = json.loads(json.dumps(latest(first, begin)))
    write(bootstrap, topic, numbered(8, 10), partition=1)
    after_a_kill = stream(startingOffsets="latest")
    ranges = after_a_kill.partitions(after_a_kill.initialOffset(), end)
    assert values(after_a_kill, ranges) == numbered(5, 8)
    ranges = after_a_kill.partitions(end, latest(after_a_kill, end))
    assert values(after_a_kill, ranges) == numbered(8, 10)


def test_what_was_deleted_after_a_kill_in_micro_batch_0_is_missed(
    stream, admin, bootstrap, topic
):
    from minikafka.course.kafka_source import DataLoss

    write(bootstrap, topic, numbered(0, 50), partition=0)
    end = latest(stream())
    admin.delete_records({TopicPartition(topic, 0): 20})
    after_a_kill = stream()
    with pytest.raises(
        DataLoss, match=f"{topic}-0 begins at offset 20; 0 to 19 are gone"
    ):
        after_a_kill.partitions(after_a_kill.initialOffset(), end)


def test_starting_offsets_that_fit_no_more_stop_no_stream_that_goes_on(
    stream, admin, bootstrap, topic
):
    at = json.dumps({topic: {"0": 0, "1": 0, "2": 0}})
    before = latest(stream(startingOffsets=at))
    grow(admin, topic, 4)
    write(bootstrap, topic, numbered(0, 7), partition=3)
    goes_on = stream(startingOffsets=at)
    assert values(
        goes_on, goes_on.partitions(before, latest(goes_on, before))
    ) == numbered(0, 7)


def test_a_monitor_that_no_broker_answers_stops_no_stream():
    from minikafka.course.kafka_source import Settings, Topics

    nobody = {
        "kafka.bootstrap.servers": "localhost:1",
        "kafka.bootstrap.timeout.ms": "100",
        "subscribe": "orders",
    }
    Topics(Settings(nobody)).commit("watch", {"orders": {"0": 5}})


def test_a_limit_is_shared_by_what_waits_and_each_end_is_where_the_next_one_begins(
    stream, bootstrap, topic
):
    """At least one offset of each: else a small partition would wait for ever."""
    write(bootstrap, topic, numbered(0, 80), partition=0)
    write(bootstrap, topic, numbered(80, 100), partition=1)
    write(bootstrap, topic, numbered(100, 101), partition=2)
    reader = stream(maxOffsetsPerTrigger="10")
    assert reader.getDefaultReadLimit().max_rows == 10
    start = reader.initialOffset()
    end = latest(reader, start, at_most=10)
    assert end[topic] == {"0": 7, "1": 1, "2": 1}
    found = values(reader, reader.partitions(start, end))
    while end[topic] != latest(reader, end)[topic]:
        start, end = end, latest(reader, end, at_most=10)
        found += values(reader, reader.partitions(start, end))
    assert sorted(found) == sorted(numbered(0, 101))
    assert latest(reader, end, at_most=10) == end  # nothing new: no micro-batch


def test_what_was_lost_is_missed_with_a_limit_too(stream, admin, bootstrap, topic):
    from minikafka.course.kafka_source import DataLoss

    write(bootstrap, topic, numbered(0, 50), partition=0)
    write(bootstrap, topic, numbered(50, 60), partition=1)
    reader = stream()
    before = latest(reader)
    before[topic]["1"] = 0
    before[topic]["0"] = 70  # as of a longer topic
    end = latest(reader, before, at_most=5)
    with pytest.raises(DataLoss, match="ends at offset 50, and 70 had been reached"):
        reader.partitions(before, end)


def test_a_query_that_ends_with_what_is_there_looks_for_no_more(
    stream, bootstrap, topic
):
    write(bootstrap, topic, numbered(0, 5), partition=1)
    reader = stream()
    reader.prepareForTriggerAvailableNow()
    write(bootstrap, topic, numbered(5, 9), partition=1)
    assert latest(reader)[topic]["1"] == latest(reader, at_most=100)[topic]["1"] == 5


def test_a_partition_that_is_added_is_read_from_its_first_offset(
    stream, admin, bootstrap, topic
):
    reader = stream()
    before = latest(reader)
    grow(admin, topic, 4)
    write(bootstrap, topic, numbered(0, 7), partition=3)
    ranges = reader.partitions(before, latest(reader, before))
    assert values(reader, ranges) == numbered(0, 7)


def test_what_was_deleted_is_missed_when_a_batch_is_planned_and_when_it_is_read(
    stream, admin, bootstrap, topic
):
    from minikafka.course.kafka_source import DataLoss

    write(bootstrap, topic, numbered(0, 50), partition=0)
    reader = stream()
    start, end = reader.initialOffset(), latest(reader)
    planned = reader.partitions(start, end)
    admin.delete_records({TopicPartition(topic, 0): 20})
    with pytest.raises(DataLoss, match=f"{topic}-0 has no offset 0 any more"):
        rows(reader, planned)
    with pytest.raises(
        DataLoss, match=f"{topic}-0 begins at offset 20; 0 to 19 are gone"
    ):
        reader.partitions(start, end)


def test_a_topic_that_was_made_anew_is_noticed_however_long_it_is(
    stream, admin, bootstrap, topic
):
    from minikafka.course.kafka_source import DataLoss

    write(bootstrap, topic, numbered(0, 10), partition=0)
    before = latest(stream())
    admin.delete_topics([topic])
    until(lambda: topic not in admin.list_topics())
    with pytest.raises(DataLoss, match=f"there is no topic {topic}"):
        latest(stream())
    create(admin, topic)
    write(bootstrap, topic, numbered(0, 60), partition=0)
    after = stream()
    with pytest.raises(DataLoss, match=f"{topic} was deleted and created again"):
        after.partitions(before, latest(after, before))


def test_a_reader_that_waits_in_vain_fails(stream, topic):
    from minikafka.course.kafka_source import Range

    reader = stream(**{"kafkaConsumer.pollTimeoutMs": "50"})
    with pytest.raises(TimeoutError, match=f"{topic}-0: nothing came from offset 0 on"):
        rows(reader, [Range(topic, 0, 0, 5)])


def test_what_spark_is_done_with_is_committed_for_those_who_watch(
    stream, admin, bootstrap, topic
):
    write(bootstrap, topic, numbered(0, 5), partition=1)
    reader = stream(monitorGroup=f"watch-{topic}")
    reader.commit(latest(reader))
    [committed] = admin.list_group_offsets({f"watch-{topic}": None}).values()
    assert {at.partition: each.offset for at, each in committed.items()} == {
        0: 0,
        1: 5,
        2: 0,
    }


@pytest.mark.java
def test_read_committed_skips_aborted_records_and_ends_behind_a_transactions_marker(
    tmp_path,
):
    """Asked of Apache Kafka. The last offsets of the range hold no record for us."""
    from confluent_kafka import Producer

    from minikafka.course.kafka_source import KafkaSource

    with ApacheKafka() as kafka:
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        create(admin, "orders", partitions=1)
        admin.close()
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"}
        )
        producer.init_transactions()
        for value, end in (
            (b"paid", producer.commit_transaction),
            (b"taken back", producer.abort_transaction),
        ):
            producer.begin_transaction()
            producer.produce("orders", value)
            producer.flush()
            end()
        options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": "orders"}
        last = KafkaSource({**options, "kafka.isolation.level": "read_committed"})
        while [
            (each.start, each.end) for each in last.reader(last.schema()).partitions()
        ] != [(0, 4)]:
            pass  # Apache Kafka writes the markers after it has answered
        for level, found in (
            ("read_committed", [b"paid"]),
            ("read_uncommitted", [b"paid", b"taken back"]),
        ):
            given = KafkaSource({**options, "kafka.isolation.level": level})
            reader = given.reader(given.schema())
            [planned] = reader.partitions()
            assert (planned.start, planned.end) == (0, 4)
            assert values(reader, [planned]) == found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribe": ""}, "the option subscribe is missing"),
        ({"minPartitions": "5"}, "there is no option minpartitions here"),
        (
            {"kafka.group.id": "mine"},
            "kafka.group.id can't be set: it is the source's own",
        ),
        ({"kafka.no.such": "1"}, "kafka.no.such can't be set: there is no such"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options, words):
    from minikafka.course.kafka_source import KafkaSource

    with pytest.raises(ValueError, match=words):
        KafkaSource(
            {"kafka.bootstrap.servers": "h:1", "subscribe": "orders", **options}
        ).schema()


def test_kafkas_settings_become_kafka_pythons_with_their_types():
    from minikafka.course.kafka_source import Settings

    given = {
        "kafka.bootstrap.servers": "h:1",
        "subscribe": "orders, payments",
        "kafka.Fetch.Min.Bytes": "7",
    }
    settings = Settings({**given, "kafka.check.crcs": "false"})
    assert settings.topics == ["orders", "payments"]
    assert settings.kafka == {
        "bootstrap_servers": "h:1",
        "fetch_min_bytes": 7,
        "check_crcs": False,
    }


# --- Spark itself ---


@pytest.fixture(scope="module")
def spark(spark):
    from minikafka.course.kafka_source import KafkaSource

    spark.dataSource.register(KafkaSource)
    return spark


def test_a_batch_is_row_by_row_what_the_connector_reads(spark, bootstrap, topic):
    write(bootstrap, topic, [*numbered(0, 300), b"\xff\xfe no text"])
    theirs = kafka_source(spark.read, bootstrap, topic).option("includeHeaders", "true")
    ours = (
        kafka_source(spark.read, bootstrap, topic)
        .format("kafka_python")
        .option("includeHeaders", "true")
    )
    assert ours.load().schema == theirs.load().schema
    found, truth = (
        frame.load().orderBy("partition", "offset").collect()
        for frame in (ours, theirs)
    )
    assert found == truth and len(found) == 301


def test_a_stream_goes_on_from_its_checkpoint_and_hears_of_a_done_batch_when_the_next_is_planned(
    spark, bootstrap, admin, topic, tmp_path
):
    read = []

    def keep(frame, _):
        read.append(sorted(bytes(row.value) for row in frame.collect()))

    def run(starting):
        source = kafka_source(spark.readStream, bootstrap, topic).format("kafka_python")
        source = source.options(
            startingOffsets=starting, monitorGroup=f"watch-{topic}"
        ).load()
        sink = source.writeStream.option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        ).foreachBatch(keep)
        patiently(lambda: sink.trigger(availableNow=True).start().awaitTermination())

    def committed():
        [found] = admin.list_group_offsets({f"watch-{topic}": None}).values()
        return sum(each.offset for each in found.values())

    write(bootstrap, topic, numbered(0, 100))
    run("earliest")
    write(bootstrap, topic, numbered(100, 130))
    run("latest")  # the checkpoint decides
    assert read == [sorted(numbered(0, 100)), sorted(numbered(100, 130))]
    assert committed() == 100


def test_a_limit_cuts_what_is_there_into_micro_batches(
    spark, bootstrap, topic, tmp_path
):
    """SPARK-55304; and a trigger that reads what is there ends behind the last one."""
    read = []
    write(bootstrap, topic, numbered(0, 100))
    source = kafka_source(spark.readStream, bootstrap, topic).format("kafka_python")
    source = source.option("startingOffsets", "earliest")
    rows = source.option("maxOffsetsPerTrigger", 40).load()
    sink = rows.writeStream.option("checkpointLocation", str(tmp_path))
    sink = sink.foreachBatch(
        lambda frame, _: read.append([bytes(row.value) for row in frame.collect()])
    )
    patiently(lambda: sink.trigger(availableNow=True).start().awaitTermination())
    assert sorted(value for each in read for value in each) == sorted(numbered(0, 100))
    assert len(read) == 3 and all(len(each) <= 42 for each in read)


def test_a_query_killed_in_micro_batch_0_begins_where_it_began_and_misses_what_is_gone(
    spark, bootstrap, admin, topic, tmp_path
):
    def run(sink):
        source = kafka_source(spark.readStream, bootstrap, topic).format("kafka_python")
        source = source.option("startingOffsets", "earliest").load()
        writer = source.writeStream.option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        ).foreachBatch(sink)
        patiently(lambda: writer.trigger(availableNow=True).start().awaitTermination())

    def killed(frame, _):
        raise RuntimeError("killed")

    write(bootstrap, topic, numbered(0, 50), partition=0)
    with pytest.raises(Exception, match="killed"):
        run(killed)
    admin.delete_records({TopicPartition(topic, 0): 20})
    with pytest.raises(Exception, match="0 to 19 are gone"):
        run(lambda frame, _: frame.count())
