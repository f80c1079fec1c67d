"""Every message of the page "error, cause, command" is provoked by the page's own
program, on minikafka and on Apache Kafka, and every command is run.
"""

import os
import shlex
import subprocess
import sys
from contextlib import ExitStack

import pytest

from minikafka.course.errors import entries, nearest
from minikafka.course.experiments.lesson_24_rules import AUTHORIZER
from minikafka.server.embedded import Served
from tests.clients.brokers import until
from tests.course import processes
from tests.course.errors_brokers import AUDIT, one_broker, with_locks
from tests.course.provoking import Elsewhere, python, says, shell
from tests.kafka import BOTH, SMALL_JVM, ApacheKafka, free_ports

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ENTRIES = {entry.id: entry for entry in entries()}
# what a broker must be like that does not die
ALONE = [
    entry.id
    for entry in entries()
    if not (entry.server and entry.server.kill)
    and not entry.on_minikafka
    and entry.asks == "a broker"
]
# the broker or the controller that starts by these lines
STARTING = [
    entry.id for entry in entries() if "server.properties" in entry.provocation.code
]
UNASKED = [
    entry.id
    for entry in entries()
    if entry.asks == "nobody" and entry.id not in STARTING
]
IN_ITS_LOG = "Apache Kafka's broker"
LOCKED = [
    entry.id
    for entry in entries()
    if entry.asks == "a broker with locks" and entry.says != IN_ITS_LOG
]
# what a broker with locks writes into its log, and no client hears
LOGGED = {
    entry.id: entry.provocation.printed
    for entry in entries()
    if entry.asks == "a broker with locks" and entry.says == IN_ITS_LOG
} | {
    entry.id: other.words
    for entry in entries()
    for other in entry.others
    if other.says == "Apache Kafka's authorizer"
}
# What Python 3.12 has dropped, so that it is not there on 3.11 either: finders as old as
# six's had only find_module (https://docs.python.org/3.12/whatsnew/3.12.html#removed).
AS_PYTHON_3_12 = """
import importlib._bootstrap as bootstrap
bootstrap._find_spec_legacy = lambda *finder_and_name: None
"""
# On a busy machine its program gives up before the broker has told it an address.
IMPATIENT = ("connection-to-node",)


def case(id):
    return pytest.param(id, marks=[pytest.mark.nightly] if id in IMPATIENT else [])


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
            return running[server].address

        yield start


@pytest.fixture(scope="module", params=BOTH)
def locked(request, tmp_path_factory):
    with with_locks(request.param, tmp_path_factory.mktemp("locks")) as here:
        yield here


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

    def output():
        return provoked(entry, Elsewhere(brokers(entry.server), tmp_path), older)

    if id in IMPATIENT:
        until(lambda: says(entry.provocation.printed, output()), seconds=900)
        return
    said = output()
    assert says(entry.provocation.printed, said), said[-3000:]


def provoked(entry, here, older):
    """What the program beside the entry prints."""
    code = here.here(entry.provocation.code)
    if entry.provocation.language == "shell":
        output = shell(code, here.folder)
    else:
        paths = [older(entry.needs)] if entry.needs else ()
        first = AS_PYTHON_3_12 if entry.id == "six-moves" else ""
        output = python(code, paths=paths, first=first, folder=here.folder)
    return here.there(output)


def of_a_program(id):
    """Its marks: what it needs besides Python."""
    code = ENTRIES[id].provocation.code
    marks = [pytest.mark.java] if ENTRIES[id].provocation.language == "shell" else []
    if "pyspark" in code:
        marks += [pytest.mark.spark, pytest.mark.nightly]
    return pytest.param(id, marks=marks)


@pytest.mark.parametrize("id", [*map(of_a_program, UNASKED)])
def test_a_message_comes_from_a_program_that_asks_nobody(id, older, tmp_path):
    output = provoked(ENTRIES[id], Elsewhere("localhost:9092", tmp_path), older)
    assert says(ENTRIES[id].provocation.printed, output), output[-3000:]


@pytest.mark.parametrize("id", [*map(of_a_program, LOCKED)])
def test_a_message_about_locks_comes_from_the_program_beside_it(id, locked, older):
    """Java's TLS and OpenSSL call some alerts by different names: the entry has both."""
    entry = ENTRIES[id]
    output = provoked(entry, locked, older)
    words = [entry.provocation.printed, *(each.words for each in entry.others)]
    assert any(says(each, output) for each in words), output[-3000:]


@pytest.mark.parametrize("locked", BOTH[1:], indirect=True)
@pytest.mark.parametrize("id", LOGGED)
def test_a_message_about_locks_is_in_the_log_of_apache_kafka(id, locked, older):
    provoked(ENTRIES[id], locked, older)
    until(lambda: says(LOGGED[id], locked.log()))


@pytest.mark.java
@pytest.mark.nightly
def test_a_broker_that_is_not_in_super_users_may_not_register():
    """As the last cause of cluster-authorization-failed says."""
    properties = {
        "authorizer.class.name": AUTHORIZER,
        "initial.broker.registration.timeout.ms": "9000",
    }
    kafka = ApacheKafka(properties, jvm=("-Xmx512m", *SMALL_JVM, AUDIT))
    with pytest.raises(RuntimeError, match="did not start") as raised, kafka:
        pass
    refused = "Principal = User:ANONYMOUS is Denied operation = CLUSTER_ACTION"
    lines = [line for line in str(raised.value).splitlines() if refused in line]
    assert any("for request = BrokerRegistration" in line for line in lines)
    assert {nearest(line).id for line in lines} == {"cluster-authorization-failed"}


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
@pytest.mark.parametrize("id", STARTING)
def test_a_message_of_a_start_comes_from_its_commands(id, tmp_path):
    provocation = ENTRIES[id].provocation
    port, controller_port, *others = free_ports(4)
    ports = dict(zip((9192, 9193), others, strict=True))
    here = Elsewhere(f"localhost:{port}", tmp_path, ports)
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{controller_port}",
        "listeners": f"PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(tmp_path / "data"),
    }
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    (tmp_path / "server.properties").write_text(text, encoding="utf-8")
    code = here.here(provocation.code).replace("localhost 9092", f"localhost {port}")
    output = here.there(shell(code, tmp_path))
    assert says(provocation.printed, output), output[-3000:]


@pytest.mark.parametrize("id", TOOLS_SPEAK)
def test_minikafka_says_it_in_its_own_words(id, tmp_path, monkeypatch):
    """The first command of two has been ended by Ctrl-C, or goes on."""
    monkeypatch.chdir(tmp_path)
    provocation = ENTRIES[id].on_minikafka
    first, second = provocation.code.replace("9092", str(free_ports(1)[0])).splitlines()
    goes_on = first.endswith(" &")
    words = shlex.split(first.removesuffix(" &"), comments=True)[2:]
    port = ["--port", "0"] if "--port" not in second else []
    with Served(options=tuple(words)) as served:
        assert served.bootstrap
        if goes_on:
            done = starts_again(second, port)
    if not goes_on:
        done = starts_again(second, port)
    assert done.returncode == 1 and says(provocation.printed, done.stderr), done.stderr


def starts_again(command, port):
    words = [*shlex.split(command)[1:], *port]
    return subprocess.run(
        [sys.executable, "-m", "minikafka", *words],
        capture_output=True,
        text=True,
        check=False,
    )
