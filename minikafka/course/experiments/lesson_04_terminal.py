"""A terminal in a notebook: kafka-python's command line on the lesson's cluster.

    terminal = Terminal(kafka) terminal.run("python -m kafka.admin -b H topics create -t
    orders --num-partitions 3")

It runs in this process, which saves starting a Python for each line. H is the cluster's
address. Names of topics and groups get an ending of this terminal's own, which is taken
away again from what is shown: a cell that is run twice meets no topic of its first run.
`close()` deletes them.
"""

import builtins
import contextlib
import io
import shlex
import sys
import uuid
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from minikafka.course.data import replayer

if TYPE_CHECKING:
    from minikafka.course.connect import Connection

_NAMED_BY = {"-t": "topic", "-n": "topic", "-g": "group"}  # what follows is a name
_PROGRAMS = ("kafka.admin", "kafka.consumer", "kafka.producer")


class Terminal:
    """One for each experiment. Errors: ValueError for what is no command of
    kafka-python's.
    """

    def __init__(self, kafka: "Connection") -> None:
        self._kafka = kafka
        self._ending = f"-{uuid.uuid4().hex[:8]}"
        self._topics: set[str] = set()

    def __repr__(self) -> str:
        return "Terminal: .run(line, typed='')"

    def name(self, plain: str) -> str:
        """The name on the cluster of what the lines here call `plain`."""
        return plain + self._ending

    def run(self, line: str, typed: str = "", quiet: bool = False) -> list[str]:
        """Shows the line and what it prints; returns that, line by line. typed: what
        somebody types into it. quiet: shows the line alone.
        """
        words = shlex.split(line)
        if words[:2] != ["python", "-m"] or words[2] not in _PROGRAMS:
            raise ValueError(
                f"{line!r} does not begin with python -m and one of"
                f" {', '.join(_PROGRAMS)}"
            )
        print(f"$ {line}")
        said = io.StringIO()
        command = import_module(f"kafka.cli.{words[2].removeprefix('kafka.')}")
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            _keyboard(typed),
        ):
            try:
                command.run_cli(self._ours(words[3:]), prog=" ".join(words[:3]))
            except SystemExit:  # argparse, of what it doesn't know
                pass
        lines = said.getvalue().replace(self._ending, "").splitlines()
        if lines and not quiet:
            print("\n".join(lines))
        return lines

    def _ours(self, words: list[str]) -> list[str]:
        made = []
        for before, word in zip(["", *words], words, strict=False):
            kind = _NAMED_BY.get(before)
            if kind == "topic":
                self._topics.add(self.name(word))
            made.append(
                self._kafka.bootstrap
                if word == "H"
                else self.name(word)
                if kind
                else word
            )
        return made

    def topics(self) -> list[str]:
        """The existing topics of this terminal, by their plain names."""
        admin = self._kafka.admin()
        found = [name for name in admin.list_topics() if name.endswith(self._ending)]
        admin.close()
        return sorted(name.removesuffix(self._ending) for name in found)

    def close(self) -> None:
        """Delete the topics that this terminal created."""
        admin = self._kafka.admin()
        there = [name for name in admin.list_topics() if name.endswith(self._ending)]
        if there:
            admin.delete_topics(there)
        admin.close()


def through_kafka(kafka: "Connection", events: Sequence[Any]) -> list[Any]:
    """Sends events of a data set to a new topic with three partitions, and returns its
    records as a consumer reads them. The topic keeps them: their dates are of 2001.
    """
    terminal = Terminal(kafka)
    topic = terminal.name("customers")
    shown = "python -m kafka.admin -b H topics create -t customers --num-partitions 3"
    terminal.run(shown, quiet=True)
    kept = "configs alter -r topic -n customers -c retention.ms=-1"
    terminal.run(f"python -m kafka.admin -b H {kept}", quiet=True)
    producer = kafka.producer()
    replayer().send(producer, events, topic, partitions=3)
    producer.close()
    consumer = kafka.consumer(
        topic, auto_offset_reset="earliest", consumer_timeout_ms=120_000
    )
    records = [next(consumer) for _ in events]
    consumer.close()
    terminal.close()
    return records


@contextlib.contextmanager
def _keyboard(typed: str) -> Iterator[None]:
    """Type lines, one by one, and then Ctrl-D. A notebook's own `input` asks the
    browser.
    """
    rest = io.StringIO(typed)

    def line(prompt: object = "") -> str:
        read = rest.readline()
        if not read:
            raise EOFError
        return read.rstrip("\n")

    asks, sys.stdin, builtins.input = (sys.stdin, builtins.input), rest, line
    try:
        yield
    finally:
        sys.stdin, builtins.input = asks
