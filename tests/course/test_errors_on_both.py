"""Every message of the page "error, cause, command" is provoked by the page's own
program, on minikafka and on Apache Kafka, and every command is run.
"""

import os
import shlex
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest

from minikafka.course.errors import entries
from minikafka.server.embedded import Served
from tests.clients.brokers import until
from tests.course import processes
from tests.course.provoking import Elsewhere, python, says, shell
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ENTRIES = {entry.id: entry for entry in entries()}
# what a broker must be like that does not die
ALONE = [
    entry.id
    for entry in entries()
    if not (entry.server and entry.server.kill) and not entry.on_minikafka
]
LONG = ("connection-to-node",)  # a client gives up after two minutes


def case(id):
    return pytest.param(id, marks=[pytest.mark.nightly] if id in LONG else [])


DYING = [entry.id for entry in entries() if entry.server and entry.server.kill]
TOOLS_SPEAK = [entry.id for entry in entries() if entry.on_minikafka]


@pytest.fixture(scope="module", params=BOTH)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def brokers(kind):
    """Starts the broker that an entry needs; the same one for those that need none in
    particular. Yields where it listens.
    """
    with ExitStack() as stack:
        running = {}

        def start(server):
            if server not in running:
                running[server] = stack.enter_context(one_broker(kind, server))
            return running[server]

        yield start


@contextmanager
def one_broker(kind, server):
    if kind == MINIKAFKA:
        words = shlex.split(server.minikafka)[2:] if server else ()
        with Served(options=tuple(words)) as served:
            yield f"127.0.0.1:{served.bootstrap.rpartition(':')[2]}"
        return
    apache = ApacheKafka()
    for line in server.properties if server else ():
        name, value = line.split("=", 1)
        apache.properties[name] = value.replace(":9092", f":{apache.port}")
    with apache:
        yield apache.bootstrap


@pytest.fixture(scope="module")
def three(kind):
    """Brokers of which one may die. The page has three; two are enough for that."""
    roles = {1: "broker,controller", 2: "broker"}
    with processes.running(kind, roles, offsets_topic_replication_factor=1) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """A package as it was, in a folder of its own."""

    def install(requirement):
        folder = tmp_path_factory.mktemp("older")
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
        done = subprocess.run(
            [*pip, "--target", str(folder), requirement],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and not os.environ.get("CI"):
            pytest.skip(f"pip does not get {requirement} here: {done.stderr[-200:]}")
        return folder

    return install


@pytest.mark.parametrize("id", [*map(case, ALONE)])
def test_a_message_comes_from_the_program_beside_it(id, brokers, older, tmp_path):
    entry = ENTRIES[id]
    here = Elsewhere(brokers(entry.server), tmp_path)
    code = here.here(entry.provocation.code)
    if entry.provocation.language == "shell":
        output = shell(code)
    else:
        output = python(code, paths=[older(entry.needs)] if entry.needs else ())
    output = here.there(output)
    assert says(entry.provocation.printed, output), output[-3000:]


@pytest.mark.parametrize("id", DYING)
def test_a_message_comes_when_a_broker_dies(id, three, tmp_path):
    entry = ENTRIES[id]
    here = Elsewhere(three[1].bootstrap, tmp_path)
    if three[2].process.poll() is not None:
        three.start(2)
    until(three.all_are_there)

    def kill():
        three.kill(2)
        until(lambda: three.live() == [1])

    output = here.there(python(here.here(entry.provocation.code), halfway=kill))
    assert says(entry.provocation.printed, output), output[-3000:]


@pytest.mark.java
@pytest.mark.parametrize("id", TOOLS_SPEAK)
def test_a_message_of_a_start_comes_from_its_commands(id, tmp_path):
    provocation = ENTRIES[id].provocation
    data = tmp_path / "data"
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@localhost:9093",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
    }
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    (tmp_path / "server.properties").write_text(text, encoding="utf-8")
    output = shell(Elsewhere("localhost:9092", tmp_path).here(provocation.code))
    assert says(provocation.printed, output), output


@pytest.mark.parametrize("id", TOOLS_SPEAK)
def test_minikafka_says_it_in_its_own_words(id, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    provocation = ENTRIES[id].on_minikafka
    first, second = provocation.code.splitlines()
    with Served(options=tuple(shlex.split(first, comments=True)[2:])) as served:
        assert served.bootstrap
    words = shlex.split(second)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "minikafka", *words, "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and says(provocation.printed, done.stderr), done.stderr
