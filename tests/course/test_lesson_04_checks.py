"""Lesson 04's checks, beside test_every_exercise.py and wrong_answers/: when the
program is killed, and the same function on kafka-python.
"""

import inspect
import itertools

import nbformat
import pytest
from kafka import KafkaConsumer, KafkaProducer

from minikafka.course import editions, lessons
from minikafka.course.experiments.lesson_04_runs import Payments
from minikafka.course.judging import killed_programs
from minikafka.course.places import NOTEBOOKS
from minikafka.faults import Crash, Lose
from minikafka.server.embedded import Served
from tests.course.answers import hears, solution, verdict

pytestmark = pytest.mark.slow

LESSON = lessons.lesson("04")._module
SOLUTION = solution("04", 1)


def repeats(consumer, payments):
    for record in consumer:
        payments.add(record, record.value)
        consumer.commit()


SEEN = set()


def remembers_outside(consumer, payments):
    for record in consumer:
        if record.key not in SEEN:
            payments.add(record, record.value)
            SEEN.add(record.key)
        consumer.commit()


def remembers_in_a_default(consumer, payments, seen=[]):  # noqa: B006
    for record in consumer:
        if record.key not in seen:
            payments.add(record, record.value)
            seen.append(record.key)
        consumer.commit()


def goes_home(consumer, payments):
    for record in consumer:
        payments.add(record, record.value)
        consumer.commit()
        break


def test_it_is_killed_around_every_effect_and_every_commit():
    rung = LESSON.exercise_1().rungs[1]
    moments = {moment for _, (moment,) in rung.cases.values()}
    calls = killed_programs.run(SOLUTION, LESSON.SIX[:3]).lives[0]
    assert calls.count("add") == calls.count("commit") == 3
    assert {(m.name, m.nth, m.when) for m in moments} == set(
        itertools.product(("add", "commit"), (1, 2, 3), ("before", "after"))
    )


def test_a_program_that_ends_hears_that_a_service_runs_on():
    found = verdict("04", 1, goes_home)
    assert not found.right, found
    assert "The program has ended; a service keeps running" in str(found)


def test_the_stub_is_calm():
    notebook = nbformat.read(editions.notebooks()["04"], as_version=4)
    names = {}
    exec(next(cell.source for cell in notebook.cells if cell.id == "pay-stub"), names)
    assert (
        str(verdict("04", 1, names["pay"]))
        == "Not attempted yet: pay is still the stub."
    )


def test_the_smallest_schedule_is_a_line_to_paste_and_a_picture_to_play():
    found = verdict("04", 1, repeats)
    assert "smallest case: orders o-0, killed after add 1" in str(found)
    assert (
        'life 1: poll add | killed after add 1\n  faults=[Crash("pay", call=3)]'
        in str(found)
    )
    assert "it is there twice" in str(found.picture.table())


def test_a_new_life_remembers_nothing_that_the_old_one_kept_outside_its_function():
    assert not SEEN
    killed_programs.run(
        remembers_outside, LESSON.SIX, [killed_programs.Moment("after", "add", 1)]
    )
    assert not SEEN and remembers_in_a_default.__defaults__ == ([],)


# --- exercise 2 ---


def test_the_shortest_schedule_is_found_by_trying_all():
    best = LESSON.shortest()
    calls = LESSON.calls_of_careful()
    assert best.call == 3 and calls[:2] == ("poll", "commit")
    skipped = [
        len(LESSON.break_it([Crash("careful", call=call)]).never)
        for call in range(1, len(calls) + 1)
    ]
    assert max(skipped) == 3 and skipped[:3] == [0, 0, 3]


def test_the_notebook_shows_the_program_that_the_check_breaks():
    extra = NOTEBOOKS / "04_extra_committed_offsets.ipynb"
    notebook = nbformat.read(extra, as_version=4)
    cell = next(cell.source for cell in notebook.cells if cell.id == "break-program")
    assert inspect.getsource(LESSON.careful).strip() in cell


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([Crash("careful", call=8)], "there is an earlier moment"),
        ([Lose("billing", "broker 1", "OffsetCommit")], "a Lose is of no use here"),
        ([Crash("pay", call=3)], "'pay' can't be: it is 'careful'"),
    ],
)
def test_a_schedule_that_is_not_the_shortest_hears_why(faults, words):
    hears("04", 2, faults, words)


def test_the_broken_run_can_be_played():
    assert "are lost: committed, and never done" in str(
        verdict("04", 2, [Crash("careful", call=4)]).picture.table()
    )


# --- the same function over TCP ---


@pytest.fixture(scope="module")
def served():
    with Served() as kafka:
        yield kafka.bootstrap


NUMBERS = itertools.count()


@pytest.mark.parametrize(
    ("program", "rows"), [(SOLUTION, [0, 1, 2, 3]), (repeats, [0, 1, 1, 2, 3])]
)
def test_the_same_function_runs_unchanged_on_kafka_python_and_dies_between_writing_and_committing(
    served, program, rows
):
    topic = f"orders-{next(NUMBERS)}"
    producer = KafkaProducer(bootstrap_servers=served)
    for number in range(4):
        producer.send(topic, key=b"o-%d" % number, value=b"20 euros").get(timeout=120)
    producer.close()
    payments = Payments(fuse=2)
    for _life in (1, 2):
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=served,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=20_000,
        )
        try:
            program(consumer, payments)
        except SystemExit:
            pass
        consumer.close(autocommit=False)
    assert payments.numbers() == [b"o-%d" % number for number in rows]
