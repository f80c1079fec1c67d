"""Runs what a page shows: programs and commands that ask a broker at localhost:9092, of
a broker that is somewhere else.
"""

import re
import shlex
import subprocess
import sys

from tests.clients.brokers import fresh_name
from tests.clients.test_tools import CLASSES as NAMED
from tests.kafka import java_tool

SHOWN = "localhost:9092"
SHORT = {"broker-api-versions": "api-versions", "consumer-groups": "groups"}
CLASSES = {**NAMED, "storage": "kafka.tools.StorageTool"}
PATIENCE_S = 240


class Elsewhere:
    """The names of a page as they are here: the broker's address, a topic and a group
    that nobody else uses.
    """

    def __init__(self, address, folder):
        self.address, self.folder = address, folder
        self.port = address.rpartition(":")[2]
        self.topic, self.group = fresh_name("orders"), fresh_name("billing")

    def here(self, text):
        """A page's program or command, with the names of here."""
        text = text.replace(SHOWN, self.address)
        text = re.sub(r'(?<=")orders(?=")|(?<=--topic )orders\b', self.topic, text)
        text = text.replace('"billing"', f'"{self.group}"')
        return text.replace("server.properties", str(self.folder / "server.properties"))

    def there(self, text):
        """What a program of here says, with the page's names."""
        for mine, shown in (
            (self.address, SHOWN),
            (f":{self.port}", ":9092"),
            (self.topic, "orders"),
            (self.group, "billing"),
        ):
            text = text.replace(mine, shown)
        return text


def says(printed, output):
    """Is each line that the page shows in the output? … stands for anything."""
    pattern = ".*".join(map(re.escape, printed.split("…")))
    return re.search(pattern, output) is not None


def python(code, *, halfway=None, paths=()):
    """What a program prints. halfway: what is done when it asks for Enter. paths: where
    it finds packages first.
    """
    command = [sys.executable, "-u", "-W", "ignore", "-c", code]
    before = f"import sys; sys.path[:0] = {list(map(str, paths))!r}\n"
    command[-1] = before + code
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        command, **pipes, stderr=subprocess.STDOUT, text=True
    ) as program:
        said = ""
        if halfway:
            while not said.endswith("press Enter "):
                letter = program.stdout.read(1)
                assert letter, said
                said += letter
            halfway()
        try:
            rest, _ = program.communicate("\n", timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            program.kill()
            rest, _ = program.communicate()
    return said + rest


def shell(lines):
    """What commands of Apache Kafka print, one after the other; what stands before a
    bar is run, too.
    """
    said = ""
    for line in lines.splitlines():
        *before, command = line.split(" | ")
        given = None
        for each in before:
            words = shlex.split(each)
            words[0] = sys.executable if words[0] == "python3" else words[0]
            given = subprocess.run(
                words, capture_output=True, text=True, check=True
            ).stdout
        tool, *words = shlex.split(command)
        done = java_tool(java_class(tool), *words, input=given, timeout=PATIENCE_S)
        said += done.stdout + done.stderr
    return said


def tool_name(program):
    """kafka-consumer-groups.sh -> groups, as CLASSES has it."""
    name = program.removeprefix("kafka-").removesuffix(".sh")
    return SHORT.get(name, name)


def java_class(program):
    return CLASSES[tool_name(program)]
