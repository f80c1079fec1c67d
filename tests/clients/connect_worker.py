"""The real Kafka Connect: a worker of Apache Kafka's jars as a process that tests may
kill, with the connectors that are Kafka's own, from a file and to a file.
"""

import json
import os
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from tests.clients.brokers import until
from tests.kafka import compiled, free_ports, java_command

MOVED = Path(__file__).with_name("AppInfoParser.java")
FILE = "org.apache.kafka.connect.file.FileStream"
PLAIN = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    **{
        f"{each}.storage.replication.factor": "1"
        for each in ("config", "offset", "status")
    },
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    # a worker that was killed is missed soon
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "rebalance.timeout.ms": "10000",
    "scheduled.rebalance.max.delay.ms": "0",
}


class Worker:
    """A distributed worker: the same group and topics each time that it is started."""

    def __init__(self, bootstrap: str, folder: Path, **properties: str) -> None:
        self.port = free_ports(1)[0]
        self.said = folder / "worker"
        config = {
            "bootstrap.servers": bootstrap,
            "group.id": "connect-cluster",
            "listeners": f"http://127.0.0.1:{self.port}",
            "plugin.discovery": "service_load",
            **PLAIN,
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        path = folder / "worker.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
        self._command = java_command(
            "org.apache.kafka.connect.cli.ConnectDistributed", str(path)
        )
        jars = self._command.index("-cp") + 1
        self._command[jars] += f"{os.pathsep}{compiled(MOVED)}"
        self.start()

    def start(self) -> None:
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def kill(self) -> None:
        """End the process as kill -9 does."""
        self.process.kill()
        self.process.wait()

    def run(self, name: str, kind: str, **config: str) -> None:
        """Creates a connector, or changes it. kind: Source or Sink."""
        wanted = {
            "connector.class": f"{FILE}{kind}Connector",
            "tasks.max": "1",
            **{key.replace("_", "."): value for key, value in config.items()},
        }
        self.until(lambda: self._ask("PUT", f"connectors/{name}/config", wanted))

    def runs(self, name: str) -> bool:
        """Whether the connector's task is at work."""
        status = self._ask("GET", f"connectors/{name}/status") or {"tasks": []}
        return [task["state"] for task in status["tasks"]] == ["RUNNING"]

    def until_runs(self, name: str) -> None:
        self.until(lambda: self.runs(name))

    def until(self, holds) -> None:
        """Waits, as long as the worker lives."""

        def now() -> bool:
            assert self.process.poll() is None, self.said.read_text()[-3000:]
            return holds()

        until(now, f"it is so; the worker said: {self.said.read_text()[-3000:]}")

    def _ask(self, method: str, path: str, body=None):
        """What the worker answers; None while it doesn't, or not yet."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{path}",
            data,
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None
