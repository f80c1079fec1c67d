"""A class: opt-in, over a broker that all reach, and never in the lesson's way."""

import codecs
import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from argparse import Namespace
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from minikafka.__main__ import main
from minikafka.course import lessons, progress
from minikafka.course.classroom import board, command, telling
from minikafka.course.classroom.topic import Reader
from minikafka.course.clusters import reachable
from minikafka.course.connect import Connection as Clients
from minikafka.course.contents import contents
from minikafka.course.judging.verdicts import Verdict
from minikafka.server.embedded import Served
from minikafka.wire.compression import CODECS
from minikafka.wire.records import encode_batch
from tests import strangers
from tests.clients.brokers import until
from tests.conformance.raw import Connection
from tests.kafka import free_ports
from tests.wire.bombs import BOMBS, NOW_MS, bomb

pytestmark = pytest.mark.slow


@pytest.fixture
def served():
    with Served() as kafka:
        yield kafka


@pytest.fixture(autouse=True)
def nobody_was_told_yet(monkeypatch):
    # a thread that a test leaves behind doesn't speak in another one
    monkeypatch.setattr(telling, "_TRY_AGAIN_S", 3600)
    telling._messenger.cache_clear()
    telling._said.clear()


def joins(monkeypatch, broker, name):
    monkeypatch.setenv(telling.BROKER, broker)
    monkeypatch.setenv(telling.NAME, name)


NOTHING = {
    "predictions": {},
    "solved": [],
    "wrong": {},
    "hints": {},
    "rungs": {},
    "ticket": None,
    "question": "",
}


def done(**what):
    return NOTHING | what


def value(**what):
    return json.dumps(done(**what)).encode()


NEWCOMER = value()


def record(key=b"ada/1/05", value=NEWCOMER, timestamp=0):
    return SimpleNamespace(key=key, value=value, timestamp=timestamp)


def board_of(*records):
    seen = board.Board()
    seen.take(records)
    return seen


def arrived(broker, count):
    """Waits until so many messages are in the topic."""
    consumer = Clients(broker).consumer(telling.TOPIC, auto_offset_reset="earliest")
    for _ in range(count):
        next(consumer)
    consumer.close()


def rows_of(text):
    """The table's rows, as lists of words."""
    return [row.split() for row in text.partition("\n\n")[0].splitlines()[1:]]


def test_the_teacher_sees_the_latest_of_each_learner_and_who_is_behind_first(
    served, monkeypatch, capsys
):
    for name, learner, lesson, solved in [
        ("ada", "1", "05", [1]),
        ("grace", "2", "02", []),
        ("ada", "1", "06", [1]),
    ]:
        joins(monkeypatch, served.bootstrap, name)
        telling.tell(learner, lesson, done(solved=solved))
    arrived(served.bootstrap, 3)
    assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("name   lesson  predictions  exercises")
    assert [row[:2] for row in rows_of(out)] == [["grace", "02"], ["ada", "06"]]


def test_a_raised_hand_comes_first_then_who_is_stuck():
    seen = board_of(
        record(b"behind/1/01"),
        record(b"stuck/2/05", value(wrong={"1": 4}, hints={"1": 3})),
        record(b"asks/3/07", value(question="What is lag?")),
        record(b"through/4/05", value(wrong={"1": 4}, solved=[1])),
    )
    head, *rows = seen.text(unreadable=0).splitlines()
    assert head.endswith("needs help")
    assert [row.split()[0] for row in rows] == ["asks", "stuck", "behind", "through"]
    assert rows[0].endswith("asks: What is lag?")
    assert rows[1].endswith("exercise 1: 4 wrong, 3 hints read")


def test_a_rung_that_holds_is_shown_and_is_no_call_for_help(monkeypatch):
    """Rungs 1 and 2 of an exercise, and then on, as a run sheet has it."""
    heard = []
    monkeypatch.setattr(progress, "_in_this_kernel", {})
    monkeypatch.setattr(telling, "tell", lambda *words: heard.append(words))
    lesson = lessons.lesson.__wrapped__("05")
    for held in (0, 0, 1, 1, 2):
        verdict = Verdict("Not yet", False, rungs=(held, 3))
        monkeypatch.setattr(lesson, "_judge", lambda *_, said=verdict: said)
        lesson.check(1, print)
    seen = board_of(record(value=json.dumps(heard[-1][-1]).encode()))
    [row] = seen.text(unreadable=0).splitlines()[1:]
    assert "0 of 1, 1: rung 2 of 3" in row and "wrong" not in row
    for _ in range(3):
        lesson.check(1, print)
    seen = board_of(record(value=json.dumps(heard[-1][-1]).encode()))
    [row] = seen.text(unreadable=0).splitlines()[1:]
    assert row.endswith("exercise 1: 3 wrong, 0 hints read")


def test_an_older_copy_of_the_course_tells_of_no_rungs():
    told = {what: of for what, of in NOTHING.items() if what != "rungs"}
    assert board.place_of(record(value=json.dumps(told).encode())).rungs == {}


def test_two_learners_of_one_name_have_a_row_each():
    same = "x" * 70
    seen = board_of(
        record(b"ada/1/05"),
        record(b"ada/2/02"),
        record(f"{same}1/3/05".encode()),
        record(f"{same}2/4/06".encode()),
    )
    names = [row[:-1] for row in rows_of(seen.text(unreadable=0))]
    assert len(names) == 4
    shown = {line[:68].strip() for line in seen.text(unreadable=0).splitlines()[1:]}
    assert shown == {"ada", "ada (2)", "x" * 64, "x" * 64 + " (2)"}


def test_who_has_done_less_comes_first_however_often_the_others_are_heard_of():
    records = [
        record(b"ada/1/05", value(predictions={"1": 2}), timestamp=1_000),
        record(b"bob/2/05", timestamp=2_000),
        record(b"cem/3/05", timestamp=3_000),
    ]
    again = record(b"bob/2/05", timestamp=4_000)
    names = [row[0] for row in board_of(*records).rows()]
    assert names == ["bob", "cem", "ada"]
    assert [row[0] for row in board_of(*records, again).rows()] == names


def test_a_name_with_a_number_stays_with_the_one_who_chose_it():
    seen = board_of(
        *(record(key) for key in (b"ada/1/05", b"ada (2)/2/05", b"ada/3/05"))
    )
    assert {name for name, _ in seen.rows()} == {"ada", "ada (2)", "ada (3)"}


def test_the_rows_for_a_spreadsheet_have_the_names_of_the_table_in_its_order():
    seen = board_of(
        record(b"ada/9/05", timestamp=1_000),
        record(b"ada/1/05", value(question="What is lag?"), timestamp=2_000),
        record(b"ada/9/04", timestamp=3_000),
        record(b"ada/1/04", timestamp=4_000),
    )
    file = io.StringIO()
    board.write_csv(seen.every_row(), file)
    written = [
        (row["name"], row["learner"], row["lesson"])
        for row in csv.DictReader(file.getvalue().splitlines())
    ]
    assert [name for name, _ in seen.rows()] == ["ada (2)", "ada"]
    assert written == [
        ("ada (2)", "1", "04"),
        ("ada (2)", "1", "05"),
        ("ada", "9", "04"),
        ("ada", "9", "05"),
    ]


def test_a_message_that_was_tried_again_and_comes_late_changes_nothing():
    """The producer of a kernel may still have it when the broker is back."""
    seen = board_of(
        record(b"ada/1/05", value(solved=[1], question=""), timestamp=2_000),
        record(b"ada/1/05", value(question="What is lag?"), timestamp=1_000),
    )
    assert "lag" not in seen.text(unreadable=0)


def test_a_hand_that_is_up_in_another_lesson_does_not_hide_where_its_owner_is():
    seen = board_of(
        record(b"ada/1/05", value(question="What is lag?"), timestamp=1_000),
        record(b"ada/1/06", value(ticket=[4, 5]), timestamp=2_000),
    )
    [row] = seen.text(unreadable=0).splitlines()[1:]
    assert row.split()[1] == "06" and " 4 of 5 " in row
    assert row.endswith("asks: What is lag? (lesson 05)")


def test_who_climbed_two_rungs_of_four_has_half_an_exercise_in_the_grades():
    """After a run sheet that stops there nobody has a whole one."""
    seen = board_of(
        record(b"none/1/05", value(wrong={"1": 2})),
        record(b"some/2/05", value(rungs={"1": [2, 4]})),
        record(b"whole/3/05", value(rungs={"1": [3, 4]}, solved=[1])),
        record(b"two/4/01", value(rungs={"1": [1, 3], "9": [1, 2]}, solved=[2])),
        record(b"start/5/00"),
    )
    file = io.StringIO()
    board.write_csv(seen.every_row(), file)
    graded = {
        row["name"]: (row["exercises"], row["exercises_percent"], row["rungs"])
        for row in csv.DictReader(file.getvalue().splitlines())
    }
    assert graded == {
        "none": ("0", "0", ""),
        "some": ("0", "50", "1: 2 of 4"),
        "whole": ("1", "100", ""),
        "two": ("1", "67", "1: 1 of 3, 9: 1 of 2"),
        "start": ("0", "", ""),
    }


@pytest.mark.parametrize("strange", [[5, 4], [1, 0]])
def test_rungs_that_no_exercise_has_are_no_more_than_a_whole_one(strange):
    seen = board_of(record(value=value(rungs={"1": strange})))
    file = io.StringIO()
    board.write_csv(seen.every_row(), file)
    [row] = csv.DictReader(file.getvalue().splitlines())
    assert row["exercises_percent"] in ("0", "100")


def test_a_lesson_without_an_exit_ticket_waits_for_none():
    seen = board_of(record(b"ada/1/00"), record(b"bob/2/05"))
    first, second = seen.text(unreadable=0).splitlines()[1:]
    assert " none " in first and " not yet " in second


def test_a_lessons_first_predictions_are_counted_and_what_is_right_is_not_told():
    asked = contents()["05"].predictions[0]
    seen = board_of(
        record(b"a/1/05", value(predictions={"1": 2})),
        record(b"b/2/05", value(predictions={"1": 2})),
        record(b"c/3/05", value(predictions={"1": 1})),
        record(b"d/4/05", value(question="What is an epoch?")),
        record(b"e/5/06", value(predictions={"1": 3})),
    )
    text = seen.text(unreadable=0, lesson="05")
    block = text.splitlines()
    assert block[0] == f"1. {asked.question} (3 of 4 have answered)"
    lengths = [(line.count("#"), line.split()[-1]) for line in block[1:4]]
    assert lengths == [(1, "1"), (2, "2"), (0, "0")]
    assert contents()["05"].predictions[1].question not in text
    assert "epoch?" not in "\n".join(block[1:])


def test_what_was_dragged_and_is_no_option_is_counted_below_the_options():
    asked = contents()["06"].predictions[0]
    records = [record(b"a/1/06", value(predictions={"1": 0}))]
    records += [record(b"b/2/06", value(predictions={"1": 2}))]
    block = board_of(*records).text(unreadable=0, lesson="06").splitlines()
    assert block[0] == f"1. {asked.question} (2 of 2 have answered)"
    counts = [line.split()[-1] for line in block[1:]]
    assert counts == ["0", "1", *["0"] * (len(asked.options) - 2), "1"]
    assert block[-1].split()[0] == "-"


def test_grades_go_out_as_rows_that_a_spreadsheet_does_not_run(
    served, monkeypatch, capsys, tmp_path
):
    joins(monkeypatch, served.bootstrap, "=ada()")
    state = done(
        predictions={"1": 2, "3": 1},
        solved=[1],
        wrong={"1": 0},
        hints={"1": 2},
        ticket=[3, 5],
        question="Why?",
    )
    telling.tell("1", "05", state)
    telling.tell("1", "06", done())
    arrived(served.bootstrap, 2)
    file = tmp_path / "grades.csv"
    command = ["class", "--bootstrap", served.bootstrap, "--csv", str(file)]
    assert main(command) == 0
    assert capsys.readouterr().out == f"{file}: 2 rows\n"
    assert file.read_bytes().startswith(codecs.BOM_UTF8)  # for Excel
    with file.open(newline="", encoding="utf-8-sig") as text:
        five, six = csv.DictReader(text)
    lesson = contents()["05"]
    assert five["name"] == "'=ada()" and five["lesson"] == "05"
    assert five["predictions"] == "1=2 3=1"
    assert five["predictions_of"] == str(len(lesson.predictions))
    assert (five["exercises"], five["exercises_of"]) == ("1", "1")
    assert (five["ticket"], five["ticket_of"], five["hints_read"]) == ("3", "5", "2")
    assert five["question"] == "Why?" and (six["lesson"], six["ticket"]) == ("06", "")
    assert main([*command, "--lesson", "6"]) == 0
    assert capsys.readouterr().out == f"{file}: 1 row\n"


def test_a_lesson_that_is_none_is_said(capsys):
    assert main(["class", "--lesson", "99", "--once"]) == 2
    assert "there is no lesson 99" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix")
def test_the_table_comes_again_when_somebody_gets_on_until_ctrl_c(served, monkeypatch):
    words = ["class", "--bootstrap", served.bootstrap]
    with subprocess.Popen(
        [sys.executable, "-m", "minikafka", *words], stdout=subprocess.PIPE, text=True
    ) as teacher:
        assert teacher.stdout.readline() == "Nobody has joined yet.\n"
        joins(monkeypatch, served.bootstrap, "emmy")
        telling.tell("1", "07", done())
        assert any(line.split()[:2] == ["emmy", "07"] for line in teacher.stdout)
        teacher.send_signal(signal.SIGINT)
        teacher.stdout.read()
    assert teacher.returncode == 0


def test_a_login_is_told_whole_and_a_longer_name_is_said_to_be_cut(monkeypatch, capsys):
    monkeypatch.setattr(telling, "_messenger", Mock())
    login = "katharina.schmidt@uni-example.de"
    joins(monkeypatch, '"127.0.0.1:1"', f'"{login}"')  # as Windows' set keeps it
    assert telling.broker() == "127.0.0.1:1"
    telling.tell("1", "05", done())
    assert f"in a class as {login}." in capsys.readouterr().err
    joins(monkeypatch, "127.0.0.1:1", "x" * 65)
    telling.tell("1", "05", done())
    said = capsys.readouterr().err
    assert f"as {'x' * 64}." in said and "is cut after 64 characters" in said


def test_nobody_is_in_a_class_unasked(monkeypatch, capsys):
    monkeypatch.delenv(telling.BROKER, raising=False)
    monkeypatch.setattr(telling, "_messenger", None)
    telling.tell("1", "05", done())
    monkeypatch.setenv(telling.BROKER, "127.0.0.1:1")
    monkeypatch.delenv(telling.NAME, raising=False)
    for _ in range(3):
        telling.tell("1", "05", done())
    assert capsys.readouterr().err.count("your class can't see how far you are") == 1


def test_who_joins_is_told_once_what_the_teacher_sees(monkeypatch, capsys):
    joins(monkeypatch, "127.0.0.1:1", "ada")
    monkeypatch.setattr(telling, "_messenger", Mock())
    for lesson in ("05", "05", "06"):
        telling.tell("1", lesson, done())
    assert capsys.readouterr().err.count("Your teacher sees which lesson") == 1


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return closed.getsockname()[1]


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:{closed}", "nonsense", "host:", ":9092", "127.0.0.1:99999", "a..b:1"],
)
def test_a_broker_that_is_not_there_is_said_once_and_stops_nothing(
    address, monkeypatch, capsys
):
    address = address.format(closed=closed_port())
    joins(monkeypatch, address, "ada")
    for solved in ([], [1]):
        telling.tell("1", "05", done(solved=solved))
        assert not telling.heard()
    err = capsys.readouterr().err
    assert err.count("doesn't answer") == 1
    assert f"your class's broker {address} doesn't answer. The lesson goes on" in err


def test_a_broker_that_is_silent_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(reachable, "PATIENCE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        joins(monkeypatch, f"127.0.0.1:{silent.getsockname()[1]}", "ada")
        telling.tell("1", "05", done())
        assert not telling.heard()


def test_a_hand_is_up_once_the_classs_broker_has_it(served, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_in_this_kernel", {})
    lesson = lessons.lesson.__wrapped__("05")
    joins(monkeypatch, f"127.0.0.1:{closed_port()}", "ada")
    assert "can't see your hand yet" in lesson.raise_hand("What is lag?")
    joins(monkeypatch, served.bootstrap, "ada")
    assert lesson.raise_hand("What is lag?").startswith("Your hand is up.")
    assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 0
    assert "asks: What is lag?" in capsys.readouterr().out
    assert "Delete the cell that raised it" in lesson.lower_hand()


def test_the_teacher_takes_down_the_hand_of_a_laptop_that_died(
    served, monkeypatch, capsys
):
    """What it did stays, and so does the other one's hand."""
    joins(monkeypatch, served.bootstrap, "ada")
    far = {"predictions": {"1": 2}, "solved": [1], "wrong": {"2": 1}, "hints": {"2": 3}}
    far |= {"rungs": {"2": [1, 4]}, "ticket": [3, 5]}
    telling.tell("u1", "05", done(question="What is lag?", **far))
    assert telling.heard()
    telling.tell("u2", "05", done(question="And I?"))
    assert telling.heard()

    def rows():
        assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 0
        return capsys.readouterr().out.splitlines()[1:]

    hand, other = sorted(rows())
    assert main(["class", "--bootstrap", served.bootstrap, "--lower", "ada"]) == 0
    assert capsys.readouterr().out == "ada: the hand is down.\n"
    assert sorted(rows()) == sorted([hand.partition("asks:")[0].rstrip(), other])
    assert main(["class", "--bootstrap", served.bootstrap, "--lower", "ada"]) == 0
    assert capsys.readouterr().out == "ada: no hand is up.\n"
    assert main(["class", "--bootstrap", served.bootstrap, "--lower", "bob"]) == 1
    assert "nobody is called 'bob'" in capsys.readouterr().err


_LEARNER = """
from minikafka.course.classroom import telling

done = {what}
for what in ("before", "dead", "still dead"):
    input()
    telling.tell("1", "05", done)
    print(telling.heard(), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix")
def test_a_kernel_ends_without_a_word_about_a_broker_that_died(monkeypatch):
    with Served() as kafka:
        joins(monkeypatch, kafka.bootstrap, "ada")
        program = _LEARNER.format(what=NOTHING)
        with subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as learner:
            learner.stdin.write("\n")
            learner.stdin.flush()
            assert learner.stdout.readline() == "True\n"
            kafka.kill()
            out, err = learner.communicate("\n\n")
    assert out == "False\nFalse\n" and learner.returncode == 0
    joined, silent = err.splitlines()
    assert "you are in a class" in joined and "doesn't answer" in silent


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix")
@pytest.mark.parametrize("keeps", [True, False], ids=["with --data", "without"])
def test_learners_messages_survive_a_broker_that_is_killed(
    keeps, tmp_path, monkeypatch, capsys
):
    """The same kernel before, meanwhile and after. A broker without its data has no
    topic any more.
    """
    monkeypatch.setattr(telling, "_TRY_AGAIN_S", 0.2)
    port = free_port()
    bootstrap = f"127.0.0.1:{port}"
    options = ["--data", str(tmp_path)] if keeps else []
    serve = [sys.executable, "-m", "minikafka", "serve", "--port", str(port), *options]
    joins(monkeypatch, bootstrap, "ada")
    with running(serve) as first:
        telling.tell("1", "01", done(solved=[1]))
        arrived(bootstrap, 1)
        first.kill()
    telling.tell("1", "02", done(solved=[1]))
    with running(serve):
        telling.tell("1", "03", done(solved=[1]))
        lessons = ["01", "02", "03"] if keeps else ["02", "03"]

        def rows():
            file = tmp_path / "grades.csv"
            words = ["class", "--bootstrap", bootstrap, "--csv", str(file)]
            assert main(words) == 0
            with file.open(newline="", encoding="utf-8-sig") as text:
                return [row["lesson"] for row in csv.DictReader(text)]

        until(lambda: rows() == lessons)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextmanager
def running(serve):
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout.readline().startswith("ready")
        try:
            yield broker
        finally:
            broker.kill()


def test_the_command_says_when_the_broker_tells_its_clients_an_old_address(capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        old = str(closed.getsockname()[1])
    [port] = free_ports(1)
    with Served(port=port, options=("--advertised-port", old)):
        assert main(["class", "--bootstrap", f"127.0.0.1:{port}"]) == 1
    assert f"sends its clients to 127.0.0.1:{old}" in capsys.readouterr().err


@pytest.mark.parametrize("stranger", [strangers.silent, strangers.http])
def test_the_command_says_when_another_program_has_the_port(
    stranger, monkeypatch, capsys
):
    monkeypatch.setattr(reachable, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(Clients, "check", Mock(side_effect=AssertionError))
    with stranger() as address:
        assert main(["class", "--bootstrap", address]) == 1
    said = capsys.readouterr().err
    assert f"something is at {address}, but no Kafka answers" in said
    assert "add --port 9093 to minikafka serve" in said


def test_the_command_says_when_the_advertised_address_is_another_programs(
    monkeypatch, capsys
):
    """As behind a captive portal, which takes every connection."""
    monkeypatch.setattr(Clients, "check", Mock(side_effect=AssertionError))
    [port] = free_ports(1)
    with strangers.silent() as elsewhere:
        advertised = elsewhere.rpartition(":")[2]
        with Served(port=port, options=("--advertised-port", advertised)):
            assert main(["class", "--bootstrap", f"127.0.0.1:{port}"]) == 1
    said = capsys.readouterr().err
    assert f"sends its clients to {elsewhere}, where no Kafka answers" in said


def test_a_topic_that_the_broker_does_not_create_is_a_sentence(
    served, monkeypatch, capsys
):
    monkeypatch.setattr(command, "TOPIC", "no topic has this name")
    assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 1
    assert (
        "the topic no topic has this name can't be created" in capsys.readouterr().err
    )


def test_a_class_that_nobody_has_joined_says_so(served, capsys):
    assert main(["class", "--bootstrap", served.bootstrap, "--once"]) == 0
    assert capsys.readouterr().out == "Nobody has joined yet.\n"


def test_the_command_says_when_nobody_answers(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
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
        record(key=b"ada"),
        record(key=b"ada/1/99"),
        record(value=value(predictions=[])),
        record(value=value(predictions={"1": "2"})),
        record(value=value(solved=[-1])),
        record(value=value(solved=[True])),
        record(value=value(wrong={"1": 10**9})),
        record(value=value(ticket=[1])),
        record(value=value(rungs={"1": 2})),
        record(value=value(question=7)),
        record(value=b"[" * 100_000),
        record(value=b'{"lesson":' * 100_000),
        record(value=b"9" * 100_000),
    ],
)
def test_a_record_that_no_kernel_wrote_is_passed_over(strange):
    assert board.place_of(strange) is None


def test_a_time_that_no_calendar_has_ends_nothing(monkeypatch):
    """Which times it refuses, and how, differs between platforms."""
    for refusal in (OverflowError, OSError, ValueError):
        monkeypatch.setattr(board.time, "localtime", Mock(side_effect=refusal))
        assert board.place_of(record(timestamp=-(1 << 62))) is None


def test_a_name_cannot_move_the_terminals_cursor():
    place = board.place_of(record(key=b"\x1b[2Jada\n" + b"x" * 500 + b"/1/05"))
    assert place.name.isprintable() and len(place.name) == 64


def told(name, **options):
    """A batch as a learner's kernel sends it."""
    return encode_batch(
        [(NOW_MS, f"{name}/{name}/05".encode(), value(), [])], **options
    )


@pytest.fixture
def topic():
    """The class's topic on a broker of its own."""
    with (
        Served(options=("--override", "message.max.bytes=4194304")) as kafka,
        Connection(kafka.bootstrap) as raw,
    ):
        raw.create_topic(telling.TOPIC)
        yield (
            kafka.bootstrap,
            lambda batch: raw.produce(telling.TOPIC, bytearray(batch)),
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
            raw.create_topic(telling.TOPIC)
            raw.produce(telling.TOPIC, told("ada"))
        bootstrap = kafka.bootstrap
        reader = Reader(bootstrap, telling.TOPIC)
        assert [each.key for each in reader.read()] == [b"ada/ada/05"]
    with pytest.raises(OSError, match=r"hung up|reset"):
        reader.read()
    with pytest.raises(OSError, match="refused"):
        reader.read()
    with (
        Served(tmp_path, port=int(bootstrap.rpartition(":")[2])),
        Connection(bootstrap) as raw,
    ):
        raw.produce(telling.TOPIC, told("grace"))
        assert [each.key for each in reader.read()] == [b"grace/grace/05"]
    reader.close()


def live(bootstrap):
    """The arguments of the table that comes again."""
    options = {"lesson": None, "once": False, "csv": None, "lower": None}
    return Namespace(bootstrap=bootstrap, **options)


def test_the_table_comes_back_with_its_broker_and_the_silence_is_said_once(
    served, capsys, monkeypatch
):
    """Nobody has got on meanwhile."""
    stopping = threading.Event()
    read, reads = Reader.read, []

    def read_or_fail(reader):
        reads.append(reader)
        if len(reads) in (2, 3):
            raise ConnectionRefusedError("refused")
        if len(reads) == 4:
            stopping.set()
        return read(reader)

    monkeypatch.setattr(Reader, "read", read_or_fail)
    monkeypatch.setattr(command, "_ASK_AGAIN_S", 0)
    args = live(served.bootstrap)
    with Connection(served.bootstrap) as raw:
        raw.create_topic(telling.TOPIC)
    command.watch(args, stopping)
    out, err = capsys.readouterr()
    assert out.count("Nobody has joined yet.") == 2
    assert err.count("does not answer just now (refused)") == 1


def test_a_table_that_did_not_change_is_not_shown_again(served, capsys, monkeypatch):
    """A prediction is several records, and the last ones say nothing new."""
    stopping = threading.Event()
    reads = []

    def read(reader):
        reads.append(reader)
        reader.caught_up = True
        if len(reads) == 4:
            stopping.set()
        return [record(value=value(solved=[1] if len(reads) > 2 else []))]

    monkeypatch.setattr(Reader, "read", read)
    args = live(served.bootstrap)
    command.watch(args, stopping)
    assert capsys.readouterr().out.count("needs help") == 2


def test_a_class_has_so_many_learners_and_no_more():
    seen = board.Board()
    seen.take(
        record(key=b"ada/%d/05" % number) for number in range(board._MOST_LEARNERS + 5)
    )
    assert seen.text(unreadable=1).endswith(
        "Passed over: 5 records that no learner's kernel wrote and 1 batch of records"
        " that is damaged."
    )
