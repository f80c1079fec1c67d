"""RabbitMQ, the oracle of the model queue: one node on loopback, started and ended by
the tests.

Debian's package has a wrapper that changes user and wants to be a service; the script
behind it wants neither.
"""

import os
import shutil
import signal
import subprocess
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Self

from tests.kafka import free_ports

BEHIND_THE_WRAPPER = "/usr/lib/rabbitmq/bin/rabbitmq-server"
READY = "Server startup complete"


def server_script() -> str | None:
    if Path(BEHIND_THE_WRAPPER).exists():
        return BEHIND_THE_WRAPPER
    return shutil.which("rabbitmq-server")


def rabbitmq_missing() -> str | None:
    """Why tests that need RabbitMQ can't run here, or None."""
    if find_spec("pika") is None:
        return "pika is not installed"
    if os.name != "posix" or server_script() is None or shutil.which("epmd") is None:
        return "no RabbitMQ (Debian: sudo apt install rabbitmq-server)"
    return None


class RabbitMQ:
    """A node, while the `with` lasts. connection(): a new one of pika's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self._epmd_port, self._node_port = free_ports(3)
        self._processes: list[subprocess.Popen] = []

    def __enter__(self) -> Self:
        # the port mapper is a child of ours; else the node starts one that outlives it
        self._start("epmd", "-port", str(self._epmd_port), "-address", "127.0.0.1")
        script = server_script()
        assert script
        server = self._start(script)
        assert server.stdout
        said = []
        for line in server.stdout:
            said.append(line)
            if READY in line:
                break
        else:
            self.__exit__()
            raise RuntimeError("RabbitMQ did not start:\n" + "".join(said[-30:]))
        threading.Thread(target=drain, args=(server.stdout,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Its data is thrown away, so nothing needs a goodbye. What the node has
        started itself ends with it.
        """
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def connection(self) -> Any:
        import pika

        where = pika.ConnectionParameters("127.0.0.1", self.port, heartbeat=0)
        return pika.BlockingConnection(where)

    def _start(self, *command: str) -> subprocess.Popen:
        process = subprocess.Popen(
            command,
            env=self._environment(),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        folder = self.folder
        names = {
            "HOME": folder,
            "ERL_EPMD_PORT": self._epmd_port,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"oracle-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": self._node_port,
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}"
            ),
            "RABBITMQ_MNESIA_BASE": folder / "mnesia",
            "RABBITMQ_LOG_BASE": folder / "log",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": folder / "pid",
            # what an administrator has set up for the machine's own RabbitMQ is not
            # for this one
            "RABBITMQ_CONF_ENV_FILE": folder / "no-environment",
            "RABBITMQ_CONFIG_FILE": folder / "no-config",
            "RABBITMQ_ADVANCED_CONFIG_FILE": folder / "no-advanced-config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "no-plugins",
        }
        return {**os.environ, **{name: str(value) for name, value in names.items()}}


def drain(lines: IO[str]) -> None:
    for _ in lines:
        pass
