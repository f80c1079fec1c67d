"""The doctor: what this machine has, what is missing, and the exact fix.

`minikafka doctor` prints it; a notebook shows the same with `from
minikafka.course.doctor import examine; examine()`. Everything the lessons without Spark
need is needed; the rest is said once and stops nobody.
"""

import argparse
import json
import operator
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from minikafka.course import connect
from minikafka.course.classroom import telling
from minikafka.course.clusters import compose, reachable
from minikafka.course.places import IS_INSTALLED
from minikafka.course.spark import SparkMissing, packages, require_java, require_pyspark

PORT = 9092
GIGABYTE = 1_000_000_000
OLDEST, NEWEST = (3, 11), (3, 14)
# what happens in lessons 17 to 20 on another line of Spark than theirs
WITH_ANOTHER_SPARK = {
    "4.1": "a batch is read, a stream ends with NoSuchMethodError (HDFSMetadataLog)",
    "4.0": "nothing is read (NoSuchFieldError TASK_ATTEMPT_ID), and its time is over",
}
ASK = 'Error from a Kafka client? Look it up:  minikafka error "its message"'
_TO_LAB = "minikafka lab" if IS_INSTALLED else "make lab (Windows: py tasks.py lab)"


@dataclass(frozen=True)
class Fact:
    """One thing looked at. needed: by the lessons without Spark. fix: the exact command
    or step when it is not good.
    """

    what: str
    found: str
    good: bool = True
    needed: bool = True
    fix: str = ""

    def __str__(self) -> str:
        mark = "ok     " if self.good else "MISSING" if self.needed else "note   "
        line = f"{mark}  {self.what}: {self.found}"
        if self.good:
            return line
        steps = "\n".join(
            f"{'':12}{step.strip()}" if step.strip() else ""
            for step in self.fix.splitlines()[1:]
        )
        return "\n".join(
            filter(None, [line, f"{'':9}-> {self.fix.splitlines()[0]}", steps])
        )


class Report(tuple[Fact, ...]):
    """The facts, readable: one line each, and a last line that says what can be run."""

    @property
    def ready(self) -> bool:
        """Can the lessons without Spark run?"""
        return all(fact.good for fact in self if fact.needed)

    def __str__(self) -> str:
        last = "All lessons can run here."
        if not self.ready:
            last = "Do what the arrows say, then run the doctor again."
        elif not all(fact.good for fact in self):
            last = (
                "The lessons without Spark can run here. The notes say what else you"
                " may want to do."
            )
        return "\n".join([*map(str, self), "", last])

    __repr__ = __str__


def examine() -> Report:
    """Looks at this machine: takes a second, changes nothing."""
    looks: list[Callable[[], Iterator[Fact]]] = [
        _python,
        _packages,
        _kernel,
        _browser,
        _memory,
        _disk,
        _port,
        _java,
        _pyspark,
        _beside_pyspark,
        _connector,
        _docker,
        _three_ports,
        _cluster,
        _class,
    ]
    return Report(fact for look in looks for fact in look())


def main(args: argparse.Namespace) -> int:
    """`minikafka doctor`: exit code 0 when the lessons without Spark can run."""
    report = examine()
    print(f"{report}\n\n{ASK}")
    return 0 if report.ready else 1


def _python() -> Iterator[Fact]:
    fits = OLDEST <= sys.version_info[:2] <= NEWEST
    fix = f"install Python 3.14, remove .venv, then: {_TO_LAB}"
    yield Fact(
        "Python", f"{platform.python_version()} ({sys.executable})", fits, fix=fix
    )


def _packages() -> Iterator[Fact]:
    """One line a group: the core's packages, and JupyterLab with its own."""
    for extra, what in {
        "": "packages of minikafka",
        "lab": "packages of the lessons",
    }.items():
        wanted = [name for name, group in _requirements() if group == extra]
        missing = [name for name in wanted if not _version(name)]
        present = ", ".join(f"{name} {_version(name)}" for name in wanted)
        found = f"{', '.join(missing)} not installed" if missing else present
        named = '"minikafka[lab]"' if IS_INSTALLED and extra else " ".join(missing)
        yield Fact(
            what, found, not missing, fix=f'"{sys.executable}" -m pip install {named}'
        )


def _requirements() -> Iterator[tuple[str, str]]:
    """(name, extra) of what pyproject.toml asks for."""
    for line in requires("minikafka") or []:
        group = re.search(r"extra == ['\"](\w+)['\"]", line)
        yield re.split(r"[^\w.-]", line)[0], group[1] if group else ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _kernel() -> Iterator[Fact]:
    """The kernel that notebooks start here, with the option that keeps a JVM's log
    lines out of cells.

    `minikafka lab` brings one with it.
    """
    if IS_INSTALLED:
        return
    spec = Path(sys.prefix, "share", "jupyter", "kernels", "python3", "kernel.json")
    arguments = (
        json.loads(spec.read_text(encoding="utf-8"))["argv"] if spec.exists() else []
    )
    good = "--IPKernelApp.capture_fd_output=False" in arguments
    found = (
        "set up by make lab"
        if good
        else "the plain one: Spark's log lines would land in your cells"
    )
    yield Fact("Jupyter kernel", found, good, needed=False, fix=_TO_LAB)


def _browser() -> Iterator[Fact]:
    try:
        webbrowser.get()
        yield Fact("browser", "found")
    except webbrowser.Error:
        fix = (
            f"open the address that {_TO_LAB} prints in a browser that reaches this"
            " machine"
        )
        yield Fact(
            "browser", "none that Python can start", False, needed=False, fix=fix
        )


def _memory() -> Iterator[Fact]:
    free = _free_memory()
    if free is None:
        return
    fix = (
        "close other programs: the lessons take about 0.5 GB, those with Spark about"
        " 1.5 GB more"
    )
    yield Fact(
        "free memory",
        f"{free / GIGABYTE:.1f} GB",
        free > 2 * GIGABYTE,
        needed=False,
        fix=fix,
    )


def _free_memory() -> int | None:
    """In bytes; None where the system doesn't say without more packages."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        return int(match[1]) * 1024 if match else None
    return None


def _disk() -> Iterator[Fact]:
    free = shutil.disk_usage(Path.cwd()).free
    fix = "make room: the lessons write up to 0.2 GB, PySpark takes 0.5 GB"
    yield Fact(
        "free disk space",
        f"{free / GIGABYTE:.1f} GB",
        free > GIGABYTE,
        needed=free < GIGABYTE // 5,
        fix=fix,
    )


def _port() -> Iterator[Fact]:
    """Notebooks take any free port; only a `minikafka serve` without --port wants this
    one.
    """
    with socket.socket() as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
            yield Fact(f"port {PORT}", "free")
        except OSError:
            fix = (
                "the notebooks don't mind; for the command line: minikafka serve"
                " --port 0"
            )
            yield Fact(
                f"port {PORT}",
                "in use by another program",
                False,
                needed=False,
                fix=fix,
            )


def _java() -> Iterator[Fact]:
    try:
        yield Fact("Java", f"version {require_java()}")
    except SparkMissing as missing:
        yield Fact(
            "Java",
            "not one that Spark can use",
            False,
            needed=False,
            fix=f"for lessons 17-20. {missing}",
        )


def _pyspark() -> Iterator[Fact]:
    try:
        require_pyspark()
    except SparkMissing as missing:
        yield Fact(
            "PySpark",
            "not installed",
            False,
            needed=False,
            fix=f"for lessons 17-20. {missing}",
        )
        return
    version, wish = _version("pyspark"), _sparks_packages()["pyspark"]
    if _fits(version, wish):
        yield Fact("PySpark", f"version {version}")
        return
    happens = WITH_ANOTHER_SPARK.get(_line(version), "nobody has tried it here")
    yield Fact(
        "PySpark",
        f"version {version}; the lessons run on {_line(packages())}: {happens}",
        False,
        needed=False,
        fix=f'for lessons 17-20. "{sys.executable}" -m pip install "pyspark{wish}"',
    )


def _line(version: str) -> str:
    """4.2 of 4.2.1, or of the connector's coordinates."""
    return ".".join(version.rpartition(":")[2].split(".")[:2])


def _beside_pyspark() -> Iterator[Fact]:
    """Further packages for the lessons with Spark, in versions that fit: PySpark itself
    doesn't ask for them.
    """
    if not _version("pyspark"):
        return
    wanted = {
        name: wish for name, wish in _sparks_packages().items() if name != "pyspark"
    }
    lacking = [name for name, wish in wanted.items() if not _fits(_version(name), wish)]
    told = ((name, _version(name)) for name in lacking or wanted)
    found = ", ".join(
        f"{name} {version}" if version else f"{name} not installed"
        for name, version in told
    )
    named = " ".join(f'"{name}{wanted[name]}"' for name in lacking)
    fix = f'for lessons 17-20. "{sys.executable}" -m pip install {named}'
    yield Fact("packages beside PySpark", found, not lacking, needed=False, fix=fix)


def _sparks_packages() -> dict[str, str]:
    """name -> versions, as pyproject.toml asks for: "protobuf" -> "<6,>=5.28.3"."""
    lines = [line.partition(";") for line in requires("minikafka") or []]
    ours = [
        wish.strip()
        for wish, _, group in lines
        if re.search(r"""extra == ['"]spark['"]""", group)
    ]
    return {
        name: wish[len(name) :]
        for wish in ours
        for name in re.findall(r"^[\w.-]+", wish)
    }


def _fits(found: str, wish: str) -> bool:
    """Is 5.29.3 one of "<6,>=5.28.3"? Our extras use these two signs."""
    if not found:
        return False
    here = _numbers(found)
    signs = {"<": operator.lt, ">=": operator.ge}
    return all(
        signs[sign](here, _numbers(text))
        for sign, text in re.findall(r"(<|>=)([\d.]+)", wish)
    )


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _connector() -> Iterator[Fact]:
    """The connector that Spark would load: of PySpark's own line (4.2), and for its
    Scala (2.13).
    """
    pyspark = _version("pyspark")
    if not pyspark:
        return
    jars = Path(_folder_of("pyspark"), "jars").glob("*spark-sql-kafka-0-10_*.jar")
    text = packages() or " ".join(sorted(jar.name for jar in jars))
    found = [
        " ".join(each)
        for each in re.findall(r"(spark-sql-kafka-0-10_[\d.]+)[:-]([\d.]*\d)", text)
    ]
    line = pyspark.rpartition(".")[0]
    fix = (
        "unset MINIKAFKA_SPARK_PACKAGES: the course then takes the connector that fits"
    )
    if not found:
        yield Fact(
            "Spark's Kafka connector",
            "none in PySpark's folder jars",
            False,
            needed=False,
            fix=fix,
        )
        return
    good = all(
        re.fullmatch(rf"spark-sql-kafka-0-10_2\.13 {re.escape(line)}\.\d+", each)
        for each in found
    )
    what = (
        ", ".join(found)
        if good
        else f"{', '.join(found)}, and PySpark is {pyspark} with Scala 2.13"
    )
    yield Fact("Spark's Kafka connector", what, good, needed=False, fix=fix)


def _folder_of(package: str) -> str:
    spec = find_spec(package)
    assert spec and spec.submodule_search_locations
    return spec.submodule_search_locations[0]


_WITHOUT_DOCKER = (
    "or without Docker, the same brokers: make kafka (Windows: py tasks.py kafka)"
)


def _docker() -> Iterator[Fact]:
    """The program alone is not enough: its engine must run, and know Compose."""
    docker = shutil.which("docker")
    if docker is None:
        yield Fact(
            "Docker",
            "none, and no lesson needs it: make kafka starts Apache Kafka without",
        )
    elif not _runs(docker, "version"):
        fix = (
            "start Docker Desktop (Linux: sudo systemctl start"
            f" docker),\n{_WITHOUT_DOCKER}"
        )
        yield Fact(
            "Docker",
            f"{docker} is installed, but its engine isn't responding",
            False,
            needed=False,
            fix=fix,
        )
    elif not _runs(docker, "compose", "version"):
        fix = (
            "install Docker Compose (Debian, Ubuntu: sudo apt install"
            f" docker-compose-v2),\n{_WITHOUT_DOCKER}"
        )
        yield Fact(
            "Docker",
            f"{docker} runs, and knows no Compose",
            False,
            needed=False,
            fix=fix,
        )
    else:
        yield Fact("Docker", f"runs ({docker})")


def _runs(*command: str) -> bool:
    try:
        return (
            subprocess.run(
                command, capture_output=True, timeout=20, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _three_ports() -> Iterator[Fact]:
    """Those at which programs find the brokers of docker/compose.yaml, in Docker or by
    make kafka.
    """
    if find_spec("yaml") is None:  # said above: a package of the lessons
        return
    addresses = [broker.address for broker in compose.brokers()]
    taken = [address for address in addresses if reachable.listens(address)]
    strangers = [address for address in taken if reachable.brokers(address) is None]
    ports = ", ".join(address.rpartition(":")[2] for address in addresses)
    if strangers:
        port = strangers[0].rpartition(":")[2]
        fix = (
            "stop that program, if you want Apache Kafka itself. It tells its name: "
            f" lsof -i :{port}"
        )
        yield Fact(
            f"ports {ports}",
            f"{port} is in use by a program that is no Kafka",
            False,
            needed=False,
            fix=fix,
        )
    else:
        yield Fact(
            f"ports {ports}",
            (
                "Apache Kafka answers there: MINIKAFKA_BOOTSTRAP=jvm uses it"
                if taken
                else "free"
            ),
        )


def _cluster() -> Iterator[Fact]:
    """The cluster of the switch: somebody must answer, and each broker must be where
    the cluster says that it is.
    """
    named = connect.named()
    if not named:
        return
    what = f"cluster {connect.choice()}"
    told = next(filter(None, map(reachable.brokers, named.split(","))), None)
    if told is None:
        start = connect.STARTED_BY.get(connect.choice(), "start it")
        fix = (
            f"{start}, or unset {connect.VARIABLE}: notebooks then start a small Kafka"
            " of their own"
        )
        yield Fact(what, f"nobody answers at {named}", False, fix=fix)
        return
    lost = [address for address in told if not reachable.listens(address)]
    if not lost:
        yield Fact(
            what,
            (
                f"{len(told)} brokers, all within reach"
                if len(told) > 1
                else "one broker, within reach"
            ),
        )
        return
    found = (
        f"it answers, and says that a broker is at {lost[0]}, where nobody is reached"
        " from here"
    )
    fix = (
        "let it advertise an address that means the broker to this machine, too:\n"
        + "\n".join(
            (
                (
                    "docker/compose.yaml, make kafka:  KAFKA_HOST=ADDRESS before the"
                    " command"
                ),
                "minikafka serve:                  --advertised-host ADDRESS",
                (
                    "any other:                        advertised.listeners; or that"
                    " broker is down, or a firewall is between"
                ),
            )
        )
    )
    yield Fact(what, found, False, fix=fix)


def _class() -> Iterator[Fact]:
    """Whether the teacher will see this learner: nothing where nobody joins a class.
    The lessons go on without it.
    """
    address = telling.broker()
    if not address:
        return
    what = f"class {address}"
    if ":" not in address:
        fix = f"set {telling.BROKER} to {address}:9092, or to your teacher's port"
        yield Fact(what, "has no port", False, needed=False, fix=fix)
        return
    listening = list(filter(reachable.listens, address.split(",")))
    told = next(filter(None, map(reachable.brokers, listening)), None)
    if told is None and listening:
        fix = (
            f"compare {telling.BROKER} with the address that your teacher gave you"
            " (host:port). If it's the same, tell your teacher: another program has"
            " the port, or the broker hangs"
        )
        found = f"something is at {listening[0]}, but no Kafka answers"
        yield Fact(what, found, False, needed=False, fix=fix)
        return
    if told is None:
        fix = (
            f"compare {telling.BROKER} with the address that your teacher gave you"
            " (host:port), and look whether you are in the class's network.\n"
            "If both are right, tell your teacher: the broker isn't running, or a"
            " firewall or the Wi-Fi keeps laptops apart"
        )
        yield Fact(what, "doesn't answer", False, needed=False, fix=fix)
        return
    lost = [each for each in told if not reachable.brokers(each)]
    if lost:
        fix = (
            "tell your teacher to start the broker again with --advertised-host and"
            " the address that the class uses"
        )
        found = f"answers, but sends you on to {lost[0]}, where no Kafka answers"
        yield Fact(what, found, False, needed=False, fix=fix)
    elif not telling.name():
        fix = f"set {telling.NAME}, too: your teacher doesn't see you without a name"
        yield Fact(what, "answers", False, needed=False, fix=fix)
    elif telling.cut():
        found = f"answers, and you are in it as {telling.name()}"
        yield Fact(what, found, False, needed=False, fix=telling.cut())
    else:
        yield Fact(what, f"answers, and you are in it as {telling.name()}")
