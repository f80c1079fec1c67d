"""The brokers of docker/compose.yaml without Docker: Apache Kafka on the JVM, with the
same settings.

`make kafka` starts them. The environment of each service goes through the image's own
translator (`kafka.docker.KafkaDockerWrapper`, in Kafka's jar), as it does in the
container; then Kafka runs as it does there. Names of containers become an address of
this machine (`jdk.net.hosts.file`), a volume becomes a temporary folder.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minikafka.course.clusters import compose
from minikafka.course.places import cache
from minikafka.course.spark import java_version

OLDEST_JAVA = 17
START_SECONDS = 600.0
_LOOK_SECONDS = 0.2
_LOG_LINES = 12
_SHORT_LIVED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# The translator merges the image's logging settings with those asked for by the
# environment; ours ask for nothing.
_LOGGING = "Configuration:\n  Loggers:\n    Root:\n      level: WARN\n    Logger: []\n"

_NO_JAVA = """Apache Kafka runs on Java {oldest} or newer, and {found}.
  conda:          conda install -c conda-forge openjdk=17
  Debian, WSL2:   sudo apt install openjdk-17-jre-headless
  macOS:          brew install openjdk@17"""

_NO_JARS = """the jars of Apache Kafka {version} are not in {folder}.
  make kafka   fetches them, with Maven (56 MB; Debian, WSL2: sudo apt install maven)"""

_TAKEN = """port {port} of {address}, which {name} wants, is taken by another program.
  Is the cluster running already, from another terminal or in Docker? Then use it: MINIKAFKA_BOOTSTRAP={bootstrap}
  Else stop the other program. It tells its name:  lsof -i :{port}   (Windows: netstat -abno)"""

_DIED = """{name} has stopped (exit code {code}). Its last words:
{lines}"""

_GOES_ON = """{died}
  The others go on: with two of three brokers everything that has replication 3 can be read and written, with one it
  can't be written. To have all three again: Ctrl-C, then make kafka."""

_UNTIL = "Ctrl-C stops all three and removes their data."


class NotStarted(RuntimeError):
    """The cluster can't start; the message says why, and what to do."""


class JvmCluster:
    """The three brokers: `with JvmCluster() as cluster: client(cluster.bootstrap)`.
    They accept clients then.

    host: the name or address of this machine at which programs find them, and the only
    one at which they listen; the compose file's KAFKA_HOST by default. jvm: options of
    the JVM beside the compose file's. Errors: NotStarted.
    """

    def __init__(self, host: str | None = None, jvm: Sequence[str] = ()) -> None:
        self.jvm = jvm
        host = host or os.environ.get("KAFKA_HOST") or "localhost"
        self.address = socket.gethostbyname(host)
        self.brokers = compose.brokers({"KAFKA_HOST": host})
        self.bootstrap = ",".join(broker.address for broker in self.brokers)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.folder: Path | None = None
        self._said_dead: set[str] = set()

    def start(self) -> "JvmCluster":
        """Formats the folders, starts the brokers, and waits until each knows all."""
        jars = self._ready_to_start()
        self.folder = Path(tempfile.mkdtemp(prefix="minikafka-jvm-"))
        try:
            self._hosts()
            self._set_up(jars)
            for broker in self.brokers:
                self._start(broker, jars)
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def _ready_to_start(self) -> Path:
        """Looks for Java, the jars and the ports; returns the folder of the jars."""
        _, java = java_version()
        if java < OLDEST_JAVA:
            found = f"this is Java {java}" if java else "there is none here"
            raise NotStarted(_NO_JAVA.format(oldest=OLDEST_JAVA, found=found))
        version = self.brokers[0].version
        jars = Path(
            os.environ.get("MINIKAFKA_KAFKA_JARS") or cache() / f"kafka-{version}"
        )
        if not (jars / f"kafka-clients-{version}.jar").exists():
            raise NotStarted(_NO_JARS.format(version=version, folder=jars))
        for broker in self.brokers:
            for port in broker.ports.values():
                if is_taken(self.address, port):
                    where = {"address": self.address, "bootstrap": self.bootstrap}
                    raise NotStarted(
                        _TAKEN.format(port=port, name=broker.name, **where)
                    )
        return jars

    def _hosts(self) -> None:
        """The JVM asks this file for every name: those of the containers, and this
        machine's own.
        """
        assert self.folder is not None
        lines = [f"{self.address} {broker.name}" for broker in self.brokers]
        lines += [f"127.0.0.1 localhost\n127.0.0.1 {socket.gethostname()}"]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _java(self, jars: Path, *options: str) -> list[str]:
        java, _ = java_version()
        assert java and self.folder
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [
            java,
            *self.jvm,
            f"-Djdk.net.hosts.file={self.folder / 'hosts'}",
            quiet,
            "-cp",
            str(jars / "*"),
            *options,
        ]

    def _environment(self, broker: compose.Broker) -> dict[str, str]:
        """The same as in the container, but the volume is a folder of ours."""
        volume = str(self._of(broker) / "volume")
        return {
            name: (
                volume + value.removeprefix(broker.volume)
                if value.startswith(broker.volume)
                else value
            )
            for name, value in broker.environment.items()
        }

    def _of(self, broker: compose.Broker) -> Path:
        assert self.folder is not None
        return self.folder / broker.name

    def _set_up(self, jars: Path) -> None:
        """Do what the image does first, for all brokers at once: server.properties from
        the environment, and a formatted volume.
        """
        running = []
        for broker in self.brokers:
            home = self._of(broker)
            for name in ("default", "mounted", "final", "volume"):
                (home / name).mkdir(parents=True)
            for folder in ("default", "final"):
                for name in ("log4j2.yaml", "tools-log4j2.yaml"):
                    (home / folder / name).write_text(_LOGGING, encoding="utf-8")
            (home / "final" / "server.properties").touch()
            folders = ("default", "mounted", "final")
            options = [
                word
                for name in folders
                for word in (f"--{name}-configs-dir", str(home / name))
            ]
            command = self._java(
                jars,
                *_SHORT_LIVED,
                "kafka.docker.KafkaDockerWrapper",
                "setup",
                *options,
            )
            with (home / "log").open("ab") as log:
                running.append(
                    subprocess.Popen(
                        command,
                        env=self._environment(broker),
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
        codes = [process.wait() for process in running]
        for broker, code in zip(self.brokers, codes, strict=True):
            if code:
                raise NotStarted(self._died(broker, code))

    def _start(self, broker: compose.Broker, jars: Path) -> None:
        """Start Kafka as the image does, in a session of its own: Ctrl-C in the
        terminal is for us to handle.
        """
        home = self._of(broker)
        java, *options = self._java(
            jars, "kafka.Kafka", str(home / "final" / "server.properties")
        )
        heap = broker.environment.get("KAFKA_HEAP_OPTS", "").split()
        with (home / "log").open("ab") as log:
            self.processes[broker.name] = subprocess.Popen(
                [java, *heap, *options],
                cwd=home,
                env=self._environment(broker),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not all(
            knows_all(broker.address, len(self.brokers)) for broker in self.brokers
        ):
            if dead := self.newly_dead():
                raise NotStarted("\n".join(dead))
            if time.monotonic() > deadline:
                raise NotStarted(
                    f"the brokers did not find each other within {START_SECONDS:.0f} s."
                )
            time.sleep(_LOOK_SECONDS)

    def newly_dead(self) -> list[str]:
        """A message for each broker that has stopped since the last call."""
        found = []
        for broker in self.brokers:
            process = self.processes.get(broker.name)
            if (
                process is not None
                and process.poll() is not None
                and broker.name not in self._said_dead
            ):
                self._said_dead.add(broker.name)
                found.append(self._died(broker, process.returncode))
        return found

    def _died(self, broker: compose.Broker, code: int) -> str:
        said = (
            (self._of(broker) / "log")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
        lines = "\n".join(f"  {line}" for line in said[-_LOG_LINES:]) or "  (none)"
        return _DIED.format(name=broker.name, code=code, lines=lines)

    def stop(self) -> None:
        """Stop at once and leave nothing behind: the data is deleted too, so no broker
        needs to hand over the partitions it leads.
        """
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
        self.processes.clear()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def __enter__(self) -> "JvmCluster":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


def is_taken(address: str, port: int) -> bool:
    """Does another program listen there?"""
    with socket.socket() as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return True
    return False


def knows_all(address: str, count: int) -> bool:
    """Whether a broker answers at host:port, and knows this many brokers."""
    host, _, port = address.rpartition(":")
    try:
        # kafka-python would wait much longer
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError

    try:
        admin: Any = KafkaAdminClient(
            bootstrap_servers=address, bootstrap_timeout_ms=5000
        )
    except KafkaError:
        return False
    try:
        return len(admin.describe_cluster()["brokers"]) == count
    except KafkaError:
        return False
    finally:
        admin.close()


def main(argv: list[str] | None = None) -> int:
    """Start the brokers as the command line says, and run until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="make kafka", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.epilog = (
        f"{_UNTIL} KAFKA_HOST=ADDRESS lets other machines reach them at that address of"
        " this one."
    )
    parser.parse_args(argv)
    for each in _SIGNALS:
        signal.signal(each, _interrupt)
    try:
        cluster = JvmCluster()
        print(
            f"Apache Kafka {cluster.brokers[0].version}: three brokers start, 10 to 60"
            " seconds ...",
            flush=True,
        )
        with cluster:
            print(f"ready {cluster.bootstrap}", flush=True)
            print(_UNTIL, flush=True)
            while True:
                for died in cluster.newly_dead():
                    print(_GOES_ON.format(died=died), flush=True)
                time.sleep(_LOOK_SECONDS)
    except NotStarted as error:
        print(f"minikafka: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]


def _interrupt(*_: object) -> None:
    """The first one counts: the cluster then stops in peace, however often somebody
    presses Ctrl-C.
    """
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
