"""A Kafka in one Python file that somebody else has written, as a process of its own,
behind a proxy that notes what is said.

The process ends when its standard input does, so it never outlives who started it.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path
from types import TracebackType

from minikafka.course.experiments.lesson_12_real import stay_behind
from minikafka.course.judging.conversation import Exchange, exchanges
from minikafka.server.proxy import Frame, Proxy

START_SECONDS = 60.0
_PRINTED_LINES = 6
_THERE = """
import os, runpy, sys, threading

def end_with_the_parent():
    while os.read(0, 4096):
        pass
    os._exit(1)

threading.Thread(target=end_with_the_parent, daemon=True).start()
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
    print("the file came to its end, and nothing listens: does it run main()?")
except Exception as error:
    import traceback
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == sys.argv[0]:
            print(f"line {frame.lineno}, in {frame.name}:  {frame.line}")
    print(*traceback.format_exception_only(error), flush=True)
    os._exit(1)
"""


class NotStarted(Exception):
    """The file did not print `ready HOST:PORT`; the message says what it did."""


class LearnersKafka:
    """`with LearnersKafka(path) as kafka:` has a data folder, and a process when it is
    started. frames: what was said through the proxy, over all its lives.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = tempfile.TemporaryDirectory(
            prefix="somebodys-kafka-", ignore_cleanup_errors=True
        )
        self.data = Path(self._temporary.name)
        self.printed: list[str] = []
        self.ports: dict[int, int] = {}  # first connection of a life -> its own port
        self._frames: list[Frame] = []
        self._raw: dict[tuple[bytes, bytes], bytes] = {}
        self.first_connection = 0  # of this life: earlier ones had those before
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._proxy: Proxy | None = None

    def __enter__(self) -> "LearnersKafka":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self._temporary.cleanup()

    @property
    def bootstrap(self) -> str:
        """The proxy's address, which clients use to bootstrap."""
        assert self._proxy is not None
        return self._proxy.address

    def start(self) -> None:
        """Returns when it accepts clients. Errors: NotStarted."""
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-c", _THERE, str(self.path)]
        command += ["--data", str(self.data), "--port", "0"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,  # a kernel's interrupt is not meant for it
        )
        port = self._wait_until_ready(self._process)
        self.ports[self.first_connection] = port
        proxies: list[Proxy] = []
        stay = stay_behind(lambda: proxies[0].port)

        def change(request: bytes, answer: bytes) -> bytes:
            changed = answer
            with contextlib.suppress(Exception):  # an answer that can't be read
                changed = stay(request, answer)
            self._raw[request, changed] = answer
            return changed

        self._proxy = Proxy(f"127.0.0.1:{port}", change)
        proxies.append(self._proxy)

    def _wait_until_ready(self, process: "subprocess.Popen[str]") -> int:
        """The port that it prints. All other lines are kept."""
        ready, said = threading.Event(), list[str]()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("ready ") and not said:
                    said.append(line)
                    ready.set()
                else:
                    self.printed.append(line.rstrip())
            ready.set()

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()
        is_over = ready.wait(START_SECONDS)  # it is ready, or prints nothing any more
        port = said[0].strip().rpartition(":")[2] if said else ""
        if not port.isdecimal():
            self.kill()
            if not is_over:
                waited = f"after {START_SECONDS:.0f} s"
                raise NotStarted(f"it has not printed ready HOST:PORT {waited}")
            raise NotStarted("it ended before it printed ready HOST:PORT")
        return int(port)

    def kill(self) -> None:
        """kill -9: it isn't told, and nothing of it is left but its files."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            assert self._reader is not None
            self._reader.join()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None
        if self._proxy is not None:
            self._proxy.close()
            self._frames += self._noted(self._proxy)
            self.first_connection = 1 + max(
                (frame.connection for frame in self._frames), default=-1
            )
            self._proxy = None

    def _noted(self, proxy: Proxy) -> list[Frame]:
        """Connections of a later life have higher numbers."""
        return [
            frame._replace(connection=frame.connection + self.first_connection)
            for frame in list(proxy.frames)
        ]

    def conversation(self) -> list[Exchange]:
        """All that was said, with the answers as they left the process: before the
        proxy put its own address into them.
        """
        frames = list(self._frames)
        if self._proxy is not None:
            frames += self._noted(self._proxy)
        requests: dict[tuple[int, bytes], bytes] = {}
        found = []
        for frame in frames:
            place = frame.connection, frame.data[:4]
            if frame.is_request:
                requests[frame.connection, frame.data[4:8]] = frame.data
            elif place in requests:
                sent = requests[place], frame.data
                frame = frame._replace(data=self._raw.get(sent, frame.data))
            found.append(frame)
        return list(exchanges(found))

    def port_of(self, connection: int) -> int:
        """The process's own port, in the life that this connection is of."""
        return self.ports[max(first for first in self.ports if first <= connection)]

    def last_words(self) -> list[str]:
        """The last lines that it printed; of a traceback those that are about the file,
        and the error.
        """
        printed = [line for line in self.printed if line.strip()]
        begins = [at for at, line in enumerate(printed) if line.startswith("Traceback")]
        if not begins:
            return printed[-_PRINTED_LINES:]
        trace = printed[begins[-1] :]
        theirs = []
        for line, code in pairwise(trace):
            if str(self.path) in line:
                where = line.partition(", ")[2]  # line 7, in fetch
                theirs.append(f"{where}:  {code.strip()}")
        return [*theirs[-_PRINTED_LINES:], trace[-1]]
