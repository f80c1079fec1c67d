"""Lesson 23's file to go on with, and what the lesson shows."""

import socket
import threading
from contextlib import suppress

import pytest

from minikafka.course.experiments import lesson_23_kafka as lesson_23
from minikafka.course.experiments.lesson_23_picture import RECORDED
from minikafka.course.judging.conversation import fields as told_fields
from minikafka.course.judging.kafka_trial import VERSION
from minikafka.server.proxy import read_frame
from minikafka.wire.messages import API, encode_response
from minikafka.wire.schema import Message
from tests.course.answers import verdict


def test_start_writes_the_file_beside_the_notebook_and_never_over_another(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(lesson_23, "my", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    assert lesson_23.start() == "my_kafka.py"
    path = tmp_path / "my_kafka.py"
    assert path.read_text() == lesson_23.START.read_text()
    assert not verdict("23", 1, "my_kafka.py").attempted
    path.write_text(path.read_text() + "\n# mine\n")
    lesson_23.start()
    assert path.read_text().endswith("# mine\n")
    assert "beside this notebook" in capsys.readouterr().out


def test_in_the_courses_own_folder_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert lesson_23.start() == str(lesson_23.START)
    said = capsys.readouterr().out
    assert "is the file as it is given" in said and "isn't to be edited" in said
    assert list(tmp_path.iterdir()) == []


def test_the_file_as_it_was_given_begins_with_stage_1(tmp_path):
    path = tmp_path / "my_kafka.py"
    path.write_text(lesson_23.START.read_text() + "\n# begun\n")
    found = str(verdict("23", 1, path))
    assert "ApiVersions 0 was not answered: your Kafka hung up" in found
    assert "NotImplementedError: stage 1" in found


@pytest.mark.parametrize("api", VERSION)
def test_the_fields_that_are_shown_are_those_of_the_version(api):
    lines = list(lesson_23.fields(api, VERSION[api]))
    answer = lines[lines.index("->") + 1 :]
    shown = {line.strip().split(":")[0] for line in answer if line.startswith("  ")}
    frame = b"".join(encode_response(api, VERSION[api], 1, {}))
    body, _ = API[api].response.decode(VERSION[api], memoryview(frame), 4)
    top = {line.strip().split(":")[0] for line in answer if line[2:3] not in (" ", "")}
    assert top == set(body.to_dict()) and top <= shown


def test_what_is_told_of_a_frame_is_short():
    message = Message(name="orders", records=b"12345", numbers=[1, 2, 3, 4, 5])
    said = told_fields(message)
    assert said == "name=orders records=<5 bytes> numbers=[1 2 3 ... 5 in all]"


def test_a_real_client_knocks_as_it_was_recorded():
    """The title picture's first frame, from kafka-python; its version may be another
    one (KIP-511).
    """
    kafka = pytest.importorskip("kafka")

    def connect(address):
        with suppress(kafka.errors.KafkaError):  # nobody answers it
            kafka.KafkaProducer(
                bootstrap_servers=address, client_id="shop", bootstrap_timeout_ms=1000
            )

    with socket.create_server(("127.0.0.1", 0)) as door:
        host, port = door.getsockname()
        client = threading.Thread(target=connect, args=(f"{host}:{port}",))
        client.start()
        with door.accept()[0] as connection:
            frame = read_frame(connection)
    client.join()
    version = kafka.__version__.encode()
    now = bytes([len(version) + 1]) + version
    assert frame == RECORDED.replace(b"\x073.0.12", now)
