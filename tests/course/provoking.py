"""Runs what a page shows: programs and commands that ask a broker at localhost:9092, of
a broker that is somewhere else.
"""

import re
import shlex
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.clients.brokers import fresh_name, until
from tests.clients.test_tools import CLASSES as NAMED
from tests.kafka import java_command

SHOWN = "localhost:9092"
SHORT = {"broker-api-versions": "api-versions", "consumer-groups": "groups"}
CLASSES = {
    **NAMED,
    "storage": "kafka.tools.StorageTool",
    "server-start": "kafka.Kafka",
}
PROGRAMS = {
    "python3": [sys.executable],
    "javac": ["java", "-m", "jdk.compiler/com.sun.tools.javac.Main"],
}
PATIENCE_S = 240


class Elsewhere:
    """The names of a page as they are here: the broker's address, a topic and a group
    that nobody else uses. ports: where its other listeners are, by the page's port.
    log: what the broker has written so far.
    """

    def __init__(self, address, folder, ports=None, log=str):
        self.address, self.folder, self.ports = address, folder, ports or {}
        self.log = log
        self.port = address.rpartition(":")[2]
        self.topic, self.group = fresh_name("orders"), fresh_name("billing")

    def here(self, text):
        """A page's program or command, with the names of here."""
        text = text.replace(SHOWN, self.address)
        for shown, mine in self.ports.items():
            text = text.replace(f"localhost:{shown}", f"localhost:{mine}")
        text = re.sub(r'(?<=")\w+\.pem(?=")', self._file, text)
        text = re.sub(r'(?<=")orders(?=")|(?<=--topic )orders\b', self.topic, text)
        text = text.replace('"billing"', f'"{self.group}"')
        return text.replace("server.properties", str(self.folder / "server.properties"))

    def _file(self, name):
        return str(self.folder / name[0])

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


def python(code, *, halfway=None, paths=(), first="", folder=None):
    """What a program prints. halfway: what is done when it asks for Enter. paths: where
    it finds packages first. first: what is run before it.
    """
    command = [sys.executable, "-u", "-W", "ignore", "-c", code]
    before = f"import sys; sys.path[:0] = {list(map(str, paths))!r}\n"
    command[-1] = before + first + code
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        command, **pipes, stderr=subprocess.STDOUT, text=True, cwd=folder
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


def shell(lines, folder=None):
    """What commands print, one after the other; what stands before a bar is run, too.
    A line that ends in & goes on until the others have ended.
    """
    said = ""
    with ExitStack() as stack:
        for line in lines.splitlines():
            *before, command = line.split(" | ")
            given = None
            for each in before:
                given = _done(each, None, folder).stdout
            if command.endswith(" &"):
                started = _command(command.removesuffix(" &"))
                stack.enter_context(_in_the_background(started, folder))
                continue
            done = _done(command, given, folder)
            said += done.stdout + done.stderr
    return said


def _done(command, given, folder):
    return subprocess.run(
        _command(command),
        input=given or "",
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def _command(line):
    """The words that run it here."""
    program, *words = shlex.split(line)
    if program.startswith("kafka-"):
        return java_command(java_class(program), *words)
    return [*PROGRAMS.get(program, [program]), *words]


@contextmanager
def _in_the_background(command, folder):
    """Until it is killed. Yields when it listens on the page's port of here, the last
    number in its words or in the file of properties that they name.
    """
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as program:
        try:
            yield until(lambda: _listens(_port(command)))
        finally:
            program.kill()


def _port(command):
    last = Path(command[-1])
    text = last.read_text(encoding="utf-8") if last.is_file() else str(last)
    return int(re.findall(r"(?:PLAINTEXT://localhost:|^)(\d+)", text)[0])


def _listens(port):
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def tool_name(program):
    """kafka-consumer-groups.sh -> groups, as CLASSES has it."""
    name = program.removeprefix("kafka-").removesuffix(".sh")
    return SHORT.get(name, name)


def java_class(program):
    return CLASSES[tool_name(program)]
