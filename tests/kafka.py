"""Apache Kafka, the oracle of the tests: its jars, its tools and a broker of one node,
without Docker.

`make test` fetches the jars (tests/pom.xml) into .cache/kafka-4.4.0;
MINIKAFKA_KAFKA_JARS names another folder. MINIKAFKA_KAFKA_VERSION is another version:
tests that run with it ask that one (tests/conformance/test_previous_version.py).
"""

import atexit
import hashlib
import itertools
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Self

import pytest

VERSION = os.environ.get("MINIKAFKA_KAFKA_VERSION") or "4.4.0"
PREVIOUS = "4.3.1"
# since 4.4 in the package of the other tools
CONFIG_COMMAND = "org.apache.kafka.tools.ConfigCommand"
if VERSION == PREVIOUS:
    CONFIG_COMMAND = "kafka.admin.ConfigCommand"
ROOT = Path(__file__).resolve().parent.parent
# On a port that the system chooses.
SERVE = [sys.executable, "-m", "minikafka", "serve", "--port", "0"]
FIRST_PORT, PORTS, PORTS_EACH = 10_000, 22_000, 100
_ports = itertools.count()


def kafka_jars() -> Path:
    """The folder with Apache Kafka's jars; FileNotFoundError says how to get them."""
    folder = Path(
        os.environ.get("MINIKAFKA_KAFKA_JARS") or ROOT / ".cache" / f"kafka-{VERSION}"
    )
    if not (folder / f"kafka-tools-{VERSION}.jar").exists():
        raise FileNotFoundError(
            f"no jars of Apache Kafka {VERSION} in {folder}: `make test` fetches them,"
            " by Maven"
        )
    return folder


def java_missing() -> str | None:
    """Why tests that need Apache Kafka can't run here, or None."""
    if shutil.which("java") is None:
        return "no java on the PATH"
    try:
        kafka_jars()
    except FileNotFoundError as error:
        return str(error)
    return None


def class_archive() -> Path | None:
    """Where the classes of these jars are, or will be, as this Java reads them fastest
    (tests/class_archive.py makes it); None without Java or the jars. A JVM refuses what
    another Java made or other jars went into, so both are in the name.
    """
    java = shutil.which("java")
    if java is None or java_missing():
        return None
    jars = sorted(kafka_jars().glob("*.jar"))
    parts = [Path(java).resolve().parent.parent / "lib" / "modules", *jars]
    seen = [(str(part), *_age_and_size(part)) for part in parts]
    name = hashlib.sha256(repr(seen).encode()).hexdigest()[:16]
    return ROOT / ".cache" / f"kafka-{VERSION}-{name}.jsa"


def _age_and_size(file: Path) -> tuple[int, int]:
    found = file.stat() if file.exists() else None
    return (found.st_mtime_ns, found.st_size) if found else (0, 0)


def _small_jvm() -> tuple[str, ...]:
    options = ("-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    archive = class_archive()
    if archive is None or not archive.exists():
        return options
    # where the archive doesn't fit after all, the JVM reads the jars and says nothing
    return (*options, f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off")


# Most JVMs of the tests live for seconds: their start is what they cost.
SMALL_JVM = _small_jvm()


def java_command(program: str, *args: str, jvm: Sequence[str] = SMALL_JVM) -> list[str]:
    """The command line of one of Kafka's classes, or of a Java program of the tests, by
    the path of its source. Log lines go to standard error, warnings and worse only.
    """
    level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    where = str(kafka_jars() / "*")
    if program.endswith(".java"):
        # after Kafka's jars: those of the archive come first
        where += os.pathsep + str(compiled(Path(program)))
        program = Path(program).stem
    return ["java", *jvm, level, "-cp", where, program, *args]


@cache
def compiled(source: Path) -> Path:
    """The folder with its classes, in a process of the tests for all starts of it:
    a JVM that gets the source compiles it anew, which takes longer than most programs.
    """
    folder = Path(tempfile.mkdtemp(prefix="compiled-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    compiler = ("-m", "jdk.compiler/com.sun.tools.javac.Main")
    jars = os.pathsep.join(map(str, sorted(kafka_jars().glob("*.jar"))))
    where = ("-cp", jars, "-d", str(folder))
    done = subprocess.run(
        ["java", *SMALL_JVM, *compiler, *where, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{source.name} is no Java: {done.stdout}{done.stderr}")
    return folder


def java_tool(
    main_class: str,
    *args: str,
    input: str | bytes | None = None,
    timeout: float = 300,
    jvm: Sequence[str] = SMALL_JVM,
) -> subprocess.CompletedProcess:
    """Runs a tool of Apache Kafka to its end. Output is bytes where the input is; the
    caller looks at the exit code.

    What the JVM says of JAVA_TOOL_OPTIONS is not the tool's and left out.
    """
    command = java_command(main_class, *args, jvm=jvm)
    as_text = not isinstance(input, bytes)
    source = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
    done = subprocess.run(
        command,
        capture_output=True,
        text=as_text,
        timeout=timeout,
        check=False,
        **source,
    )
    if as_text:
        lines = done.stderr.splitlines(keepends=True)
        done.stderr = "".join(
            line for line in lines if not line.startswith("Picked up JAVA_TOOL_OPTIONS")
        )
    return done


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on. A JVM takes seconds until
    it does, so none that a system gives to whoever asks for any: each process of the
    tests has a hundred of its own.
    """
    ports: list[int] = []
    while len(ports) < count:
        port = (
            FIRST_PORT + (os.getpid() * PORTS_EACH + next(_ports) % PORTS_EACH) % PORTS
        )
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        ports.append(port)
    return ports


def an_address(which: int = 0) -> str:
    """One of this machine's own, on Linux nobody else's: the compose file's ports are
    the same for every run.
    """
    if sys.platform != "linux":
        return "127.0.0.1"
    return f"127.{10 + which}.{(os.getpid() >> 8) % 256}.{1 + os.getpid() % 254}"


@cache
def formatted(node_id: str) -> Path:
    """A new data folder of this node, for all clusters of these tests: made once in a
    process, since the tool takes as long as half a broker's start.
    """
    folder = Path(tempfile.mkdtemp(prefix="apache-kafka-formatted-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config, data = folder / "server.properties", folder / "data"
    config.write_text(
        f"process.roles=broker,controller\nnode.id={node_id}\nlog.dirs={data}\n"
        "listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\n"
        "controller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters={node_id}@127.0.0.1:1\n"
    )
    cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"
    done = java_tool(
        "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(config)
    )
    if done.returncode:
        raise RuntimeError(f"StorageTool format failed: {done.stdout}{done.stderr}")
    return data


# Parameters of tests that hold for both. That the real one does the same shows that a test
# is right, and no change of ours can alter it: every night is often enough.
MINIKAFKA, APACHE_KAFKA = "minikafka", "Apache Kafka"
BOTH = [
    MINIKAFKA,
    pytest.param(APACHE_KAFKA, marks=[pytest.mark.java, pytest.mark.nightly]),
]


class ApacheKafka:
    """One combined broker and controller: `with ApacheKafka() as kafka:
    client(kafka.bootstrap)`.

    properties: server properties over the ones here. data: keep the log there (a second
    start on it reads it); otherwise a temporary folder that goes away. port: None: one
    that is free. `.log()` is what the broker wrote on standard error.
    """

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        data: Path | None = None,
        jvm: Sequence[str] = ("-Xmx512m", *SMALL_JVM),
        start_timeout_s: float = 240,
        port: int | None = None,
    ) -> None:
        free_port, self.controller_port = free_ports(2)
        self.port = port or free_port
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.jvm, self.start_timeout_s = jvm, start_timeout_s
        self.folder = Path(tempfile.mkdtemp(prefix="apache-kafka-"))
        self.data = data or self.folder / "data"
        self.errors = self.folder / "stderr"
        self.properties = self._defaults() | dict(properties or {})
        self.process: subprocess.Popen | None = None

    def _defaults(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "listeners": (
                f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}"
            ),
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.num.partitions": "5",
            "share.coordinator.state.topic.num.partitions": "5",
            "group.initial.rebalance.delay.ms": "0",
        }

    def start(self) -> Self:
        """Formats the data folder if it is new, starts the broker and waits until it
        answers.
        """
        config = self.folder / "server.properties"
        config.write_text(
            "".join(f"{name}={value}\n" for name, value in self.properties.items())
        )
        if not self.data.exists() or not any(self.data.iterdir()):
            shutil.copytree(
                formatted(self.properties["node.id"]), self.data, dirs_exist_ok=True
            )
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                java_command("kafka.Kafka", str(config), jvm=self.jvm),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
        self._wait_until_it_answers()
        return self

    def _wait_until_it_answers(self) -> None:
        assert self.process is not None
        deadline = time.monotonic() + self.start_timeout_s
        while not answers("127.0.0.1", self.port):
            try:
                self.process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline:
                    continue
            log = self.log()
            self.stop()
            raise RuntimeError(
                f"Apache Kafka did not start: {log or 'it said nothing'}"
            )

    def log(self) -> str:
        """What the broker has written so far: warnings, errors, stack traces."""
        return self.errors.read_text(errors="replace") if self.errors.exists() else ""

    def stop(self) -> None:
        """A clean stop (SIGTERM), by force after two minutes. Its folder goes; a
        caller's data folder stays.
        """
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exc: object) -> None:
        self.stop()


def answers(host: str, port: int) -> bool:
    """Does a broker answer ApiVersions v0 there? Raises nothing: a refused or a broken
    connection is a no.
    """
    request = struct.pack(">ihhih5s", 15, 18, 0, 1, 5, b"probe")
    try:
        with socket.create_connection((host, port), timeout=10) as connection:
            connection.sendall(request)
            reply = connection.recv(10)
    except OSError:
        return False
    return len(reply) == 10 and struct.unpack(">iih", reply)[1:] == (1, 0)
