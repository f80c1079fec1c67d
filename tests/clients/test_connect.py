"""The real Kafka Connect on both kinds of broker: its worker, a source and a sink of
files, and kill -9 (KIP-618: exactly-once sources).
"""

from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaAdminClient

from tests.clients.connect_worker import Worker
from tests.clients.nodes import QUICK, node
from tests.clients.test_confluent_kafka import finish
from tests.kafka import BOTH

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.java]

LINES = [f"line {number}" for number in range(10_000)]


def read(bootstrap, topic, isolation="read_committed"):
    """(key, value) of all records of partition 0."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "isolation.level": isolation,
            "enable.auto.commit": False,
        }
    )
    place = TopicPartition(topic, 0, 0)
    consumer.assign([place])
    _, end = consumer.get_watermark_offsets(place, timeout=60)
    found = []
    while consumer.position([place])[0].offset < end:
        for message in consumer.consume(500, 0.2):
            if not message.error():
                found.append((message.key(), message.value()))
    consumer.close()
    return found


def values(bootstrap, topic):
    return [value.decode() for _, value in read(bootstrap, topic)]


@pytest.fixture(params=BOTH)
def bootstrap(request, tmp_path):
    with node(request.param, tmp_path / "data", QUICK) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        finish(admin.create_topics([NewTopic("lines", 1, 1)]))
        yield broker.bootstrap


@pytest.fixture
def worker(bootstrap, tmp_path):
    made = []

    def start(**properties):
        made.append(Worker(bootstrap, tmp_path, **properties))
        return made[-1]

    yield start
    for each in made:
        each.kill()


@pytest.mark.timeout(900)
def test_kip_618_ten_thousand_lines_go_from_a_file_to_a_file_in_order_though_the_worker_is_killed(
    bootstrap, worker, tmp_path
):
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{line}\n" for line in LINES[:4000]))
    connect = worker(
        exactly_once_source_support="enabled", offset_flush_interval_ms="500"
    )
    connect.run("sink", "Sink", topics="lines", file=str(sink))
    connect.run("source", "Source", topic="lines", file=str(source), batch_size="100")
    connect.until(lambda: sink.exists() and sink.read_text().count("\n") > 1000)
    connect.kill()
    with source.open("a") as more:
        more.write("".join(f"{line}\n" for line in LINES[4000:]))
    connect.start()
    connect.until(lambda: sink.read_text().endswith(f"{LINES[-1]}\n"))

    assert (
        values(bootstrap, "lines") == LINES
    )  # each once, for who reads committed ones
    written = sink.read_text().splitlines()
    assert list(dict.fromkeys(written)) == LINES  # the sink may write some again
    offsets = read(bootstrap, "connect-offsets")
    assert offsets[-1][0] == b'["source",{"filename":"%s"}]' % str(source).encode()
    assert offsets[-1][1] == b'{"position":%d}' % source.stat().st_size


@pytest.mark.timeout(900)
def test_what_a_source_sent_since_its_offsets_were_stored_comes_again_after_a_kill_and_that_is_a_minute_by_default(
    bootstrap, worker, tmp_path
):
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{line}\n" for line in LINES[:500]))
    connect = worker()
    connect.run("source", "Source", topic="lines", file=str(source))
    connect.until(lambda: len(values(bootstrap, "lines")) == 500)
    connect.kill()
    connect.start()
    connect.until_runs("source")
    connect.until(lambda: len(values(bootstrap, "lines")) >= 1000)
    assert values(bootstrap, "lines") == 2 * LINES[:500]


@pytest.mark.timeout(900)
def test_workers_are_a_group_of_their_own_kind_and_a_sink_is_a_consumer_group(
    bootstrap, worker, tmp_path
):
    connect = worker()
    connect.run("sink", "Sink", topics="lines", file=str(tmp_path / "out.txt"))
    connect.until_runs("sink")
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:

        def groups():
            return {
                each["group_id"]: each["protocol_type"] for each in admin.list_groups()
            }

        connect.until(lambda: {"connect-cluster", "connect-sink"} <= groups().keys())
        found = groups()
    assert found["connect-cluster"] == "connect"
    assert found["connect-sink"] == "consumer"
