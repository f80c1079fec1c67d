"""A data set goes to Kafka as its producers would have sent it: keys, tombstones,
poison, partitions and timestamps.
"""

import json
from itertools import islice

import pytest
from kafka import KafkaConsumer

from datasets import replay
from datasets.__main__ import of
from datasets.events import Event
from tests.clients.brokers import fresh_name, minikafka

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bootstrap():
    with minikafka() as found:
        yield found


def read(bootstrap, topic):
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=1000,
        group_id=None,
    )
    found = list(consumer)
    consumer.close()
    return found


@pytest.mark.parametrize(
    ("name", "count"), [("orders", 50), ("customers_cdc", 50), ("metrics", 2)]
)
def test_what_arrives_is_what_was_made(name, count, bootstrap, capsys):
    topic, made = fresh_name(name), list(of(name, count=count))
    given = ["--bootstrap", bootstrap, "--topic", topic, "--count", str(count)]
    assert replay.main([name, *given]) == 0
    assert f"sent {len(made)} records to {topic}" in capsys.readouterr().out
    found = read(bootstrap, topic)
    arrived = [
        (each.key, each.value, list(each.headers), each.timestamp) for each in found
    ]
    assert sorted(arrived, key=repr) == sorted(
        ((e.key, e.value, e.headers, e.ingest_ms) for e in made), key=repr
    )
    if name == "metrics":
        assert {each.partition: json.loads(each.value)["site"] for each in found} == {
            0: "harbour",
            1: "mill",
            2: "station",
            3: "tower",
        }


def test_each_stream_has_a_topic_of_its_name(bootstrap):
    assert replay.main(["orders", "--bootstrap", bootstrap, "--count", "3"]) == 0
    for stream in ("orders", "payments", "shipments"):
        assert len(read(bootstrap, stream)) == len(
            [event for event in of("orders", count=3) if event.stream == stream]
        )


def test_with_a_speed_of_60_an_hour_of_the_data_takes_a_minute():
    now, waited = [100.0], []

    def sleep(seconds):
        waited.append(seconds)
        now[0] += seconds

    made = [Event("s", None, b"", [], ms) for ms in (0, 0, 60_000, 3_600_000)]
    assert list(replay.paced(made, 60, clock=lambda: now[0], sleep=sleep)) == made
    assert now[0] == pytest.approx(160) and waited == pytest.approx([1, 59])


def test_who_is_late_does_not_wait():
    def sleep(seconds):
        raise AssertionError

    ticks = iter(range(0, 1000, 100))
    made = [Event("s", None, b"", [], ms) for ms in (0, 1000)]
    assert (
        len(
            list(
                islice(replay.paced(made, 1, clock=lambda: next(ticks), sleep=sleep), 2)
            )
        )
        == 2
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["orders", "--bootstrap", "127.0.0.1:1"],
            "nobody answers at 127.0.0.1:1: start a Kafka there",
        ),
        (["orders", "--speed", "0"], "--speed 0 is not above 0"),
        (["orders", "--stream", "returns"], "orders has no stream 'returns'"),
    ],
)
def test_what_can_t_be_done_is_said_in_a_line(given, said, capsys, monkeypatch):
    monkeypatch.setattr(replay, "ANSWER_WITHIN_MS", 1000)
    try:
        code = replay.main(given)
    except SystemExit as end:
        code = end.code
    assert code != 0
    assert said in capsys.readouterr().err
