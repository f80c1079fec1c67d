"""A server as a child process: a Kafka for tests and lessons that needs no set-up and
leaves nothing behind.

with Served() as kafka:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

# a healthy machine needs one second; a busy one may take its time
START_SECONDS = 180.0
STOP_SECONDS = 60.0


class Served:
    """`minikafka serve` as a child process: accepts clients when the constructor
    returns, dies with its parent.

    data: a folder to keep, or None for a temporary one. trace: a file for the events.
    log: a file for the server's messages (appended to), or None for a temporary one.
    port: 0 picks a free one. options: more arguments for `serve`. ready: what it says
    when clients may come (`serve --ready json`).
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        trace: str | Path | None = None,
        log: str | Path | None = None,
        port: int = 0,
        options: tuple[str, ...] = (),
    ) -> None:
        command = [
            sys.executable,
            "-m",
            "minikafka",
            "serve",
            "--port",
            str(port),
            "--exit-with-parent",
            "--ready",
            "json",
            *options,
        ]
        if data is not None:
            command += ["--data", str(data)]
        if trace is not None:
            command += ["--trace", str(trace)]
        self._log: IO[bytes] = nameless_file() if log is None else open(log, "ab+")  # noqa: SIM115
        # A session of its own: Jupyter's interrupt goes to the kernel's whole process
        # group, not to the cluster.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self.ready = self._wait_until_ready()
        self.bootstrap: str = self.ready["bootstrap_servers"]

    def _wait_until_ready(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        alarm = threading.Timer(START_SECONDS, self.process.kill)
        alarm.start()
        try:
            line = self.process.stdout.readline().decode()
        finally:
            alarm.cancel()
        try:
            ready: dict[str, Any] = json.loads(line)
        except ValueError:
            self.kill()
            raise RuntimeError(
                "minikafka serve did not start (exit code"
                f" {self.process.returncode}):\n{self.said()}"
            ) from None
        return ready

    def said(self) -> str:
        """The messages that the server has written to its log so far."""
        if self._log.closed:
            return ""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()

    def stop(self) -> int:
        """Stop it cleanly, as SIGTERM does. Returns its exit code."""
        self._close_stdin()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return self._reap()

    def kill(self) -> None:
        """Kill it with kill -9: it sends no answer, flushes nothing, says no
        goodbye.
        """
        self.process.kill()
        self._close_stdin()
        self._reap()

    def _close_stdin(self) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except OSError:  # it was dead already
            pass

    def _reap(self) -> int:
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait()

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self._log.close()


def nameless_file() -> IO[bytes]:
    """A temporary file. It is opened for appending, so that the child writes at its end
    wherever the parent reads.
    """
    handle, path = tempfile.mkstemp(prefix="minikafka-", suffix=".log")
    os.close(handle)
    file = open(path, "ab+")  # noqa: SIM115
    try:
        os.remove(path)
    except PermissionError:  # Windows can't remove the name while the file is open
        pass
    return file
