"""A class: opt-in, over a broker that all reach, and never in the lesson's way."""

import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from minikafka.__main__ import main
from minikafka.course import classroom
from minikafka.course.class_topic import Reader
from minikafka.server.embedded import Served
from minikafka.wire.compression import CODECS
from minikafka.wire.records import encode_batch
from tests.conformance.raw import Connection
from tests.wire.bombs import BOMBS, NOW_MS, bomb

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served():
    with Served() as kafka:
        yield kafka


@pytest.fixture(autouse=True)
def nobody_was_told_yet():
    classroom._messenger.cache_clear()
    classroom._say_once.cache_clear()


def joins(monkeypatch, broker, name):
    monkeypatch.setenv(classroom.BROKER, broker)
    monkeypatch.setenv(classroom.NAME, name)


TOLD = (
    b'{"lesson": "05", "predictions": "1 of 4", "exercises": "0 of 2", "ticket": "not'
    b' yet"}'
)


def record(key=b"ada", value=TOLD, timestamp=0):
    return SimpleNamespace(key=key, value=value, timestamp=timestamp)


def arrived(broker, count):
    """Waits until so many messages are in the topic."""
    consumer = classroom.Connection(broker).consumer(
        classroom.TOPIC, auto_offset_reset="earliest"
    )
    for _ in range(count):
        next(consumer)
    consumer.close()


def test_the_teacher_sees_the_latest_of_each_learner_and_who_is_behind_first(
    served, monkeypatch, capsys
):
    for name, lesson, solved in [
        ("ada", "05", "1 of 2"),
        ("grace", "02", "0 of 3"),
        ("ada", "06", "2 of 2"),
    ]:
        joins(monkeypatch, served.bootstrap, name)
        classroom.tell(lesson, "1 of 4", solved, "not yet")
    arrived(served.bootstrap, 3)
    assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "name",
        "lesson",
        "predictions",
        "exercises",
        "exit",
        "ticket",
        "last",
        "seen",
    ]
    assert [row.split()[:2] for row in rows] == [["grace", "02"], ["ada", "06"]]


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix")
def test_the_table_comes_again_when_somebody_gets_on_until_ctrl_c(served, monkeypatch):
    command = [
        sys.executable,
        "-m",
        "minikafka",
        "class",
        "--bootstrap",
        served.bootstrap,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as teacher:
        assert teacher.stdout.readline().startswith("name")
        joins(monkeypatch, served.bootstrap, "emmy")
        classroom.tell("07", "1 of 4", "0 of 2", "not yet")
        assert any(line.split()[:2] == ["emmy", "07"] for line in teacher.stdout)
        teacher.send_signal(signal.SIGINT)
        teacher.stdout.read()
    assert teacher.returncode == 0


def test_nobody_is_in_a_class_unasked(monkeypatch, capsys):
    monkeypatch.delenv(classroom.BROKER, raising=False)
    monkeypatch.setattr(classroom, "_messenger", None)
    classroom.tell("05", "1 of 4", "0 of 2", "not yet")
    monkeypatch.setenv(classroom.BROKER, "127.0.0.1:1")
    monkeypatch.delenv(classroom.NAME, raising=False)
    for _ in range(3):
        classroom.tell("05", "1 of 4", "0 of 2", "not yet")
    assert capsys.readouterr().err.count("your class can't see how far you are") == 1


def test_a_broker_that_is_not_there_is_said_once_and_stops_nothing(monkeypatch):
    said = []
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr(classroom, "_DELIVER_WITHIN_MS", 200)
    monkeypatch.setattr(classroom, "_say_once", said.append)
    messages = iter([("ada", {}), ("ada", {})])
    with pytest.raises(StopIteration):  # the messages are all there are
        classroom._carry(address, SimpleNamespace(get=lambda: next(messages)))
    assert len(said) == 2 and all(
        address in sentence and "The lesson goes on." in sentence for sentence in said
    )


def test_the_command_says_when_nobody_answers(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr("minikafka.course.connect._ANSWER_WITHIN_MS", 200)
    assert main(["class", "--bootstrap", address]) == 1
    assert f"nobody answers at {address}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "strange",
    [
        record(key=None),
        record(value=None),
        record(value=b"\xff"),
        record(value=b"[]"),
        record(value=b"{}"),
        record(
            value=b'{"lesson": 5, "predictions": "", "exercises": "", "ticket": ""}'
        ),
        record(
            value=(
                b'{"lesson": ["05"], "predictions": "", "exercises": "", "ticket": ""}'
            )
        ),
        record(value=b"[" * 100_000),
        record(value=b'{"lesson":' * 100_000),
        record(value=b"9" * 100_000),
    ],
)
def test_a_record_that_no_kernel_wrote_is_passed_over(strange):
    assert classroom.place_of(strange) is None


def test_a_time_that_no_calendar_has_ends_nothing(monkeypatch):
    """Which times it refuses, and how, differs between platforms."""
    for refusal in (OverflowError, OSError, ValueError):
        monkeypatch.setattr(classroom.time, "localtime", Mock(side_effect=refusal))
        assert classroom.place_of(record(timestamp=-(1 << 62))) is None


def test_a_name_cannot_move_the_terminals_cursor():
    place = classroom.place_of(record(key=b"\x1b[2Jada\n" + b"x" * 500))
    assert place.name.isprintable() and len(place.name) == 24


def told(name, **options):
    """A batch as a learner's kernel sends it."""
    return encode_batch([(NOW_MS, name.encode(), TOLD, [])], **options)


@pytest.fixture
def topic():
    """The class's topic on a broker of its own."""
    with (
        Served(options=("--override", "message.max.bytes=4194304")) as kafka,
        Connection(kafka.bootstrap) as raw,
    ):
        raw.create_topic(classroom.TOPIC)
        yield (
            kafka.bootstrap,
            lambda batch: raw.produce(classroom.TOPIC, bytearray(batch)),
        )


def table_of(bootstrap, capsys):
    """The learners in the table, and what stands below it."""
    assert main(["class", "--bootstrap", bootstrap, "--once"]) == 0
    rows, _, below = capsys.readouterr().out.partition("\n\n")
    return [row.split()[0] for row in rows.splitlines()[1:]], below.strip()


def test_the_class_reads_every_codec(topic, capsys):
    bootstrap, produce = topic
    for codec in CODECS:
        assert produce(told(codec, compression=codec)).error_code == 0
    assert table_of(bootstrap, capsys) == (sorted(CODECS), "")


def test_what_no_learners_kernel_wrote_is_passed_over_and_counted_at_each_start(
    topic, capsys
):
    bootstrap, produce = topic
    for key, value in ((b"deep", b"[" * 100_000), (b"ada", b"\xff"), (None, None)):
        produce(encode_batch([(NOW_MS, key, value, [])]))
    produce(told("grace"))
    for _ in range(2):
        below = "Passed over: 3 records that no learner's kernel wrote."
        assert table_of(bootstrap, capsys) == (["grace"], below)


def test_no_batch_however_made_ends_the_class_or_hides_what_comes_after_it(
    topic, capsys
):
    """A broker does not decode what it appends, so any client can send these."""
    bootstrap, produce = topic
    taken = 0
    for what in BOMBS:
        for codec in CODECS:
            if len(bomb(what, codec)) < 4 << 20:
                taken += produce(bomb(what, codec)).error_code == 0
    assert taken > 50
    produce(told("ada", compression="zstd"))
    names, below = table_of(bootstrap, capsys)
    assert names == ["ada"]
    assert below.startswith("Passed over: ") and below.endswith(
        "batches of records that are damaged."
    )


def test_the_class_goes_on_when_its_broker_comes_back(tmp_path):
    with Served(tmp_path) as kafka:
        with Connection(kafka.bootstrap) as raw:
            raw.create_topic(classroom.TOPIC)
            raw.produce(classroom.TOPIC, told("ada"))
        bootstrap = kafka.bootstrap
        reader = Reader(bootstrap, classroom.TOPIC)
        assert [each.key for each in reader.read()] == [b"ada"]
    with pytest.raises(OSError):
        reader.read()
    with (
        Served(tmp_path, port=int(bootstrap.rpartition(":")[2])),
        Connection(bootstrap) as raw,
    ):
        raw.produce(classroom.TOPIC, told("grace"))
        assert [each.key for each in reader.read()] == [b"grace"]
    reader.close()


def test_a_class_has_so_many_learners_and_no_more():
    board = classroom.Board()
    board.take(
        record(key=b"%d" % number) for number in range(classroom._MOST_PLACES + 5)
    )
    assert board.text(unreadable=1).endswith(
        "Passed over: 5 records that no learner's kernel wrote and 1 batch of records"
        " that is damaged."
    )
