"""The notebooks' terminal: kafka-python's command line, on names of its own."""

import builtins
import sys

import pytest

from minikafka.course.connect import Connection
from minikafka.course.experiments.lesson_04_terminal import Terminal
from minikafka.server.embedded import Served

pytestmark = pytest.mark.slow

CREATE = "python -m kafka.admin -b H topics create -t orders --num-partitions 2"
READ = (
    "python -m kafka.consumer -b H -t orders -C auto_offset_reset=earliest -C"
    " consumer_timeout_ms=15000"
)


@pytest.fixture(scope="module")
def kafka():
    with Served() as served:
        yield Connection(served.bootstrap)


def test_it_shows_the_line_and_what_the_program_prints(kafka, capsys):
    terminal = Terminal(kafka)
    assert any(
        "'num_partitions': 2" in line for line in terminal.run(CREATE, quiet=True)
    )
    terminal.run("python -m kafka.producer -b H -t orders", typed="created\n")
    assert terminal.run(READ) == ["created"]
    shown = capsys.readouterr().out.splitlines()
    assert shown == [
        f"$ {CREATE}",
        "$ python -m kafka.producer -b H -t orders",
        f"$ {READ}",
        "created",
    ]
    terminal.close()


def test_two_terminals_meet_no_topic_of_each_other_and_leave_none(kafka):
    first, second = Terminal(kafka), Terminal(kafka)
    first.run(CREATE, quiet=True)
    assert (first.topics(), second.topics()) == (["orders"], [])
    first.close()
    first.close()  # once more does no harm
    assert first.topics() == []


def test_a_wrong_option_is_said_by_the_program_itself(kafka, capsys):
    said = Terminal(kafka).run("python -m kafka.admin -b H topics create")
    assert any("the following arguments are required: -t" in line for line in said)


def test_the_keyboard_is_given_back(kafka):
    before = builtins.input, sys.stdin
    Terminal(kafka).run("python -m kafka.producer -b H -t orders", typed="")
    assert (builtins.input, sys.stdin) == before


@pytest.mark.parametrize("line", ["ls", "python -m json.tool", "python kafka.admin"])
def test_only_kafka_pythons_programs_run(kafka, line):
    with pytest.raises(ValueError, match="does not begin with python -m"):
        Terminal(kafka).run(line)
