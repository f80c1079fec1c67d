"""A class: opt-in, over a broker that all reach, and never in the lesson's way."""

import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from minikafka.__main__ import main
from minikafka.course import classroom
from minikafka.server.embedded import Served


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


def record(key=b"ada", value=b'{"lesson": "05", "predictions": "1 of 4", "exercises": "0 of 2", "ticket": "not yet"}'):
    return SimpleNamespace(key=key, value=value, timestamp=0)


def arrived(broker, count):
    """Waits until so many messages are in the topic."""
    consumer = classroom.Connection(broker).consumer(classroom.TOPIC, auto_offset_reset="earliest")
    for _ in range(count):
        next(consumer)
    consumer.close()


def test_the_teacher_sees_the_latest_of_each_learner_and_who_is_behind_first(served, monkeypatch, capsys):
    for name, lesson, solved in [("ada", "05", "1 of 2"), ("grace", "02", "0 of 3"), ("ada", "06", "2 of 2")]:
        joins(monkeypatch, served.bootstrap, name)
        classroom.tell(lesson, "1 of 4", solved, "not yet")
    arrived(served.bootstrap, 3)
    assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "lesson", "predictions", "exercises", "exit", "ticket", "last", "seen"]
    assert [row.split()[:2] for row in rows] == [["grace", "02"], ["ada", "06"]]


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix")
def test_the_table_comes_again_when_somebody_gets_on_until_ctrl_c(served, monkeypatch):
    command = [sys.executable, "-m", "minikafka", "class", "--bootstrap", served.bootstrap]
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
    assert capsys.readouterr().err.count("your class hears nothing of you") == 1


def test_a_broker_that_is_not_there_is_said_once_and_stops_nothing(monkeypatch):
    said = []
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr(classroom, "_DELIVER_WITHIN_MS", 200)
    monkeypatch.setattr(classroom, "_say_once", said.append)
    messages = iter([("ada", {}), ("ada", {})])
    with pytest.raises(StopIteration):  # the messages are all there are
        classroom._carry(address, SimpleNamespace(get=lambda: next(messages)))
    assert len(said) == 2 and all(address in sentence and "The lesson goes on." in sentence for sentence in said)


def test_the_command_says_when_nobody_answers(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setattr("minikafka.course.connect._ANSWER_WITHIN_MS", 200)
    assert main(["class", "--bootstrap", address]) == 1
    assert f"nobody answers at {address}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "strange",
    [record(key=None), record(value=None), record(value=b"\xff"), record(value=b"[]"), record(value=b"{}"),
     record(value=b'{"lesson": 5, "predictions": "", "exercises": "", "ticket": ""}')],
)  # fmt: skip
def test_a_record_that_no_kernel_wrote_is_passed_over(strange):
    assert classroom.place_of(strange) is None


def test_a_name_cannot_move_the_terminals_cursor():
    place = classroom.place_of(record(key=b"\x1b[2Jada\n" + b"x" * 500))
    assert place.name.isprintable() and len(place.name) == 24
