"""Lesson 12's checks, beside test_every_exercise.py and wrong_answers/: they agree with
what producers and brokers write. And what the lesson looks at is what it says.
"""

import random

import pytest

from minikafka.course import lessons
from minikafka.course.experiments import lesson_12_runs as runs
from minikafka.course.experiments.lesson_12_real import broker_with
from minikafka.wire.messages import decode_request, decode_response
from minikafka.wire.records import decode_batch
from tests.course.answers import solution
from tests.seeds import seeds

pytestmark = pytest.mark.slow

checks = lessons.lesson("12")._module


def test_the_examples_of_exercise_1_are_what_its_task_says():
    decode = solution("12", 1)
    time_ms = 1_700_000_000_000
    assert decode(runs.ONE_RECORD) == [runs.Record(3, time_ms, b"alice", b"paid", [])]
    assert decode(runs.TWO_RECORDS) == [
        runs.Record(700, time_ms, b"alice", b"paid", [("till", b"7")]),
        runs.Record(701, time_ms - 5, b"bob", None, []),
    ]


def test_the_examples_of_exercise_2_are_what_its_task_says():
    api_versions = solution("12", 2)
    apis = [(0, 0, 13), (18, 0, 4)]
    request = bytes.fromhex("0012 0000 00000007 0004 73686f70")
    answer = "0000 0007 0000 0000 0002 0000 0000 000d 0012 0000 0004"
    assert api_versions(request, apis).hex(" ", -2) == answer
    request = bytes.fromhex("0012 0063 00000007 0004 73686f70 00")
    answer = "0000 0007 0023 0000 0001 0012 0000 0004"
    assert api_versions(request, apis).hex(" ", -2) == answer


@pytest.mark.parametrize("seed", seeds(range(50)))
def test_the_solutions_agree_with_the_broker_s_own_reader_and_schema(seed):
    source = random.Random(seed)
    batch = checks.drawn(source, most=20, nulls=True, headers=True)
    expected = [runs.Record(*record) for record in decode_batch(batch)]
    assert solution("12", 1)(batch) == expected
    frame, apis = checks.asked(source, (0, 1, 2, 3, 4))
    answer = solution("12", 2)(frame, apis)
    request = decode_request(frame)
    correlation_id, body = decode_response("ApiVersions", request.version, answer)
    assert correlation_id == request.correlation_id
    assert apis == [
        (each.api_key, each.min_version, each.max_version) for each in body.api_keys
    ]


def test_kafka_python_goes_on_after_the_solution_s_answer(capsys):
    broker_with(solution("12", 2))
    said = capsys.readouterr().out
    assert said == (
        "the last order has offset 9\n"
        "requests: ApiVersions Metadata InitProducerId Produce\n"
    )


def test_what_kafka_python_says_to_other_answers_is_told(capsys):
    right = solution("12", 2)

    def without_produce(frame, apis):
        return right(frame, [api for api in apis if api[0] != 0])

    broker_with(without_produce)
    assert "the client gives up: [Error 35]" in capsys.readouterr().out

    def raises(frame, apis):
        raise KeyError(18)

    broker_with(raises)
    said = capsys.readouterr().out
    assert "the last order has offset 9" in said
    assert "api_versions raised KeyError: 18" in said


def test_the_layout_of_the_request_has_all_its_bytes_and_fields():
    request = runs.order_request()
    assert sum(size for _, size in runs.LAYOUT) == len(request)
    found = {name: data for name, _, data in runs.fields(request)}
    assert found["topic"] == b"orders" and found["client id"] == b"shop"
    assert found["record: key"] == b"alice" and found["record: value"] == b"paid"
    assert int.from_bytes(found["batch: length"], "big") == len(request) - 58
    assert found["batch: magic"] == b"\x02"


def test_with_acks_1_a_flipped_bit_may_take_the_answer_away():
    cluster = runs.shop()
    found = runs.flip_each(cluster, runs.order_request(acks=1))
    assert found[17] == runs.NO_ANSWER
    stored = sum(what.startswith(runs.STORED) for what in found)
    assert len(cluster.records(runs.TOPIC, 0)) == stored + 1
