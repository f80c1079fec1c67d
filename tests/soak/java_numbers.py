"""Java's producer and consumers beside the others, each a process: Numbers.java."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.kafka import java_command
from tests.soak.kill import GROUP, Reader, Writer


class Process:
    """Ends when its standard input does."""

    def __init__(self, *args: str) -> None:
        command = java_command(str(Path(__file__).with_name("Numbers.java")), *args)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (it lives as long as the process)
        pipes = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": self._errors,
        }
        self._process = subprocess.Popen(command, text=True, **pipes)

    def lines(self) -> Iterator[tuple[str, str]]:
        """The two words of each line it says, until it ends."""
        with self._process.stdout as said:
            for line in said:
                first, _, second = line.rstrip().partition(" ")
                yield first, second

    def end(self) -> None:
        self._process.stdin.close()

    def last_words(self) -> str:
        """What it says when it ends otherwise than it should; nothing when all is
        well.
        """
        if not self._process.wait():
            return ""
        self._errors.seek(0)
        return self._errors.read()[-2000:]


class JavaWriter(Writer):
    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(topic)
        self._process = Process("write", bootstrap, topic)

    def run(self) -> None:
        for first, second in self._process.lines():
            if first == "failed":
                self.failed = second
            else:
                self.acknowledge(int(first), int(second))
        self.failed = self.failed or self._process.last_words()

    def end(self) -> None:
        self._process.end()


class JavaReader(Reader):
    def __init__(self, bootstrap: str, protocol: str) -> None:
        super().__init__(f"{GROUP}-java-{protocol}")
        self._process = Process("read", bootstrap, "plain", self.group, protocol)

    def run(self) -> None:
        for what, offset in self._process.lines():
            {"from": self.reads_from, "committed": self.has_committed}[what](
                int(offset)
            )
        self.failed = self.failed or self._process.last_words()

    def end(self) -> None:
        self._process.end()
