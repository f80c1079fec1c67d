"""The Spark job as a process, from the side of who starts it: its lines are shown, it
is asked to end, and nothing of it stays.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from minikafka.course.pipeline.job import HOLD, Job
from minikafka.server.embedded import nameless_file

_ENDING = "  it ends after this micro-batch (once more Ctrl-C: at once)"


class JobFailed(Exception):
    """The Spark job ended with an error; the message is what it said last."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: the same as Ctrl-C, for a process without a keyboard."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """kill and a closed terminal end it as Ctrl-C does: all is put away first."""

    def raises(number: int, frame: Any) -> None:
        raise Terminated

    with ExitStack() as before:
        for number in (signal.SIGTERM, signal.SIGHUP):
            before.callback(signal.signal, number, signal.signal(number, raises))
        yield


def live(job: Job, scratch: str) -> None:
    """One life of the job, to its end or to where it holds; its lines are shown. Raises
    JobFailed.
    """
    with nameless_file() as errors, _process(job, scratch, errors) as process:
        assert process.stdout is not None
        with ExitStack() as following:
            if job.follow:
                following.enter_context(_asked_to_end(process))
            for line in process.stdout:
                print(f"  {line.rstrip()}", flush=True)
                if line.rstrip() == HOLD:
                    return
        if process.wait() != 0:
            errors.seek(0)
            raise JobFailed(errors.read().decode(errors="replace").strip())


@contextmanager
def _asked_to_end(process: subprocess.Popen[str]) -> Iterator[None]:
    """The first Ctrl-C asks the job to end; the next one is as anywhere else."""
    before: dict[int, Any] = {}

    def as_before() -> None:
        while before:
            signal.signal(*before.popitem())

    def ask(number: int, frame: Any) -> None:
        as_before()
        print(_ENDING, flush=True)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended by itself
            print("end", file=process.stdin, flush=True)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, ask)
    try:
        yield
    finally:
        as_before()


@contextmanager
def _process(
    job: Job, scratch: str, errors: IO[bytes]
) -> Iterator[subprocess.Popen[str]]:
    """The job as a process group of its own, its JVM included: in the end all of it is
    killed, whatever it does.

    What a JVM that is killed can't remove is in `scratch`.
    """
    java = os.environ.get("JAVA_TOOL_OPTIONS", "")
    places = {
        "TMPDIR": scratch,
        "SPARK_LOCAL_DIRS": scratch,
        "JAVA_TOOL_OPTIONS": f"{java} -Djava.io.tmpdir={scratch}".strip(),
    }
    process = subprocess.Popen(
        job.command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env={**os.environ, **places},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, and its JVM too
            pass
        process.communicate()
