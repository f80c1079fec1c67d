"""What is told of a trace file while it grows."""

import json

import confluent_kafka
import pytest

from minikafka.server.embedded import Served
from minikafka.trace import Event
from minikafka.watching.following import MOST_TOLD, Following
from minikafka.watching.problems import problems
from minikafka.watching.seen import Place
from minikafka.watching.watched import Watched

ORDERS = Place("orders", 0)


def line(number, kind, node="broker 1", **detail):
    event = Event((node, number), number, node, kind, None, detail)
    return json.dumps(event.to_json()) + "\n"


CREATED = line(1, "TopicCreated", topic="orders", partitions=1)
APPENDED = line(
    2, "RecordsAppended", topic="orders", partition=0, base_offset=0, last_offset=4
)
COMMITTED = line(
    3, "OffsetCommitted", group="billing", topic="orders", partition=0, offset=1
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "trace.jsonl"


def told(following):
    return [each.words for each in following.told]


def test_a_file_that_is_not_there_yet_is_said_to_be_missing(file):
    with pytest.raises(FileNotFoundError, match="no file"):
        Following(file).read_on()


def test_events_are_folded_into_what_is_seen(file):
    file.write_text(CREATED + APPENDED + COMMITTED)
    following = Following(file)
    following.read_on()
    seen = following.seen(0.0)
    assert [*seen.brokers] == [1]
    assert seen.parts[ORDERS].leader == 1
    assert seen.lag(seen.groups["billing"], ORDERS) == 4
    assert told(following) == ["topic orders created with 1 partition(s)"]


def test_a_partition_of_which_nothing_is_told_is_not_called_leaderless(file):
    file.write_text(CREATED)
    following = Following(file)
    following.read_on()
    watched = Watched("trace")
    watched.saw(following.seen(0.0))
    assert problems(watched, 0.0) == []


def test_a_line_that_is_half_written_is_read_when_it_is_whole(file):
    following = Following(file)
    file.write_text(CREATED + APPENDED[:30])
    following.read_on()
    assert following.seen(0.0).parts[ORDERS].end == 0
    with file.open("a") as more:
        more.write(APPENDED[30:])
    following.read_on()
    assert following.seen(0.0).parts[ORDERS].end == 5


def test_lines_that_no_node_has_written_are_passed_over(file):
    no_detail = '{"id":["a",1],"at":1,"node":"a","kind":"TopicCreated","cause":null,"detail":{}}\n'
    file.write_text(f"hello\n[1]\n\xff\n{no_detail}{CREATED}")
    following = Following(file)
    following.read_on()
    assert len(told(following)) == 1


def test_a_server_that_starts_anew_begins_a_new_story(file):
    file.write_text(CREATED + APPENDED + COMMITTED)
    following = Following(file)
    following.read_on()
    file.write_text(line(1, "TopicCreated", topic="payments", partitions=1))
    following.read_on()
    assert [*following.seen(0.0).parts] == [Place("payments", 0)]
    assert following.seen(0.0).groups == {}


def test_with_a_file_for_each_broker_all_are_followed(file):
    for broker in (1, 2):
        path = file.with_name(f"{file.name}.{broker}")
        topic = f"of-{broker}"
        name = f"broker {broker}"
        path.write_text(line(1, "TopicCreated", name, topic=topic, partitions=1))
    following = Following(file)
    following.read_on()
    assert [*following.seen(0.0).brokers] == [1, 2]


def test_a_long_story_is_not_kept_whole(file):
    file.write_text(CREATED * 5 * MOST_TOLD)
    following = Following(file)
    following.read_on()
    assert len(following.told) == MOST_TOLD


def test_a_large_file_is_read_bit_by_bit(file, monkeypatch):
    monkeypatch.setattr("minikafka.watching.following.MOST_BYTES", len(CREATED))
    file.write_text(CREATED + APPENDED)
    following = Following(file)
    assert following.read_on()
    while following.read_on():
        pass
    assert following.seen(0.0).parts[ORDERS].end == 5


@pytest.mark.slow
def test_a_member_of_a_real_group_is_seen_in_the_trace_of_a_server(file):
    with Served(trace=file) as server:
        settings = {"bootstrap.servers": server.bootstrap, "log_level": 0}
        producer = confluent_kafka.Producer(settings)
        producer.produce("orders", "paid")
        assert producer.flush(60) == 0
        consumer = confluent_kafka.Consumer(
            settings
            | {"group.id": "billing", "client.id": "till"}
            | {"auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["orders"])
        assert consumer.poll(60) is not None
        consumer.commit(asynchronous=False)
        following = Following(file)
        while following.read_on():
            pass
        consumer.close()
    seen = following.seen(0.0)
    [member] = seen.groups["billing"].members
    assert (member.client, member.parts) == ("till", (ORDERS,))
    assert seen.lag(seen.groups["billing"], ORDERS) == 0
    assert any("till is a member now" in words for words in told(following))
