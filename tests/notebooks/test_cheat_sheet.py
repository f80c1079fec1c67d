"""The cheat sheet fits one page, its commands exist, and its defaults are the Java
client's.
"""

import re
import shlex
import subprocess
import sys

import pytest
from kafka import KafkaConsumer

from minikafka.course.client_defaults import settings
from minikafka.course.places import NOTEBOOKS
from minikafka.server.embedded import Served
from tests.chromium import running_chromium
from tests.kafka import CONFIG_COMMAND, java_tool

pytestmark = pytest.mark.slow

SHEET = NOTEBOOKS / "cheat_sheet.html"
TEXT = SHEET.read_text(encoding="utf-8")
TOOLS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-configs.sh": CONFIG_COMMAND,
    "kafka-groups.sh": "org.apache.kafka.tools.GroupsCommand",
    "kafka-consumer-groups.sh": (
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    ),
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}


def commands(kind):
    """The lines of one kind, each as words."""
    lines = re.search(rf'<pre class="{kind}">(.*?)</pre>', TEXT, re.DOTALL)[
        1
    ].splitlines()
    return [shlex.split(line) for line in lines]


@pytest.mark.browser
@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_it_prints_on_one_page(size):

    with running_chromium() as browser:
        page = browser.new_page()
        page.goto(SHEET.as_uri())
        printed = page.pdf(format=size)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


def test_its_commands_of_kafka_python_run_one_after_another():
    """The consumer ends when nothing comes. A group billing has been there, for those
    that ask about a group.
    """
    given = commands("kafka-python")
    in_order = sorted(
        given, key=lambda words: words[2:3] == ["kafka.admin"] and "groups" in words
    )
    assert not any("-g" in words for words in given if "kafka.consumer" in words), (
        "it would commit for that group"
    )
    with Served() as kafka:
        for words in in_order:
            if words == next(each for each in in_order if "groups" in each):
                billing = KafkaConsumer(
                    "orders",
                    bootstrap_servers=kafka.bootstrap,
                    group_id="billing",
                    auto_offset_reset="earliest",
                )
                assert billing.poll(timeout_ms=30_000)
                billing.close()
            ends = (
                ["-C", "consumer_timeout_ms=20000"] if "kafka.consumer" in words else []
            )
            command = [
                sys.executable,
                *(kafka.bootstrap if word == "H" else word for word in words[1:]),
                *ends,
            ]
            done = subprocess.run(
                command, input="hello\n", capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{' '.join(words)}: {done.stderr[-2000:]}"
            if "kafka.consumer" in words:
                assert "hello" in done.stdout


@pytest.mark.java
@pytest.mark.parametrize("tool", TOOLS)
def test_its_options_of_apache_kafkas_tools_exist(tool):
    done = java_tool(TOOLS[tool], "--help")
    known = set(
        re.findall(r"^\s*(--[\w.-]+)", done.stdout + done.stderr, re.MULTILINE)
    ) | {"--bootstrap-server"}
    used = [command for command in commands("apache") if command[0] == tool]
    assert used
    assert {
        word for command in used for word in command if word.startswith("--")
    } <= known


def test_every_command_is_of_a_tool_that_was_looked_at():
    assert {command[0] for command in commands("apache")} == set(TOOLS)


def test_its_defaults_are_javas():
    java = {
        setting.name: re.sub(r" \(.*\)$", "", setting.defaults[0])
        for setting in settings()
    }
    text = TEXT.replace("<wbr>", "")
    rows = re.findall(r"<tr><td><code>([\w.]+)</code><td>([^<]+)<td>", text)
    assert len(rows) >= 12
    assert dict(rows) == {name: java[name] for name, _ in rows}


def test_it_is_dated_and_its_marks_are_balanced():
    assert "Kafka 4.4" in TEXT
    for mark in ("section", "table", "div", "pre", "ul", "code"):
        assert len(re.findall(f"<{mark}[ >]", TEXT)) == TEXT.count(f"</{mark}>"), mark
