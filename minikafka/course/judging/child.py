"""A check in a child process, which may be killed.

The watchdog ends Python code. It can't end a single call of a built-in that runs
forever: `sum(range(10**11))` holds the interpreter's lock, and ignores signals. Nor can
it give back the memory of `list(range(10**9))`. So a check of somebody's code runs in a
forked copy of the kernel, and its verdict comes back through a pipe: the code needs no
source and no pickle, and the check takes a few milliseconds longer. The copy has a
limit on its memory, and a timer of the operating system's, which runs while the
learner's code does (watchdog.py sets it) and ends the copy. Interrupting the kernel
ends it, too.

Changes that the answer makes to the notebook's variables stay in the copy.

Only Linux (WSL, Docker and Codespaces are Linux): macOS has fork and no limit on
memory, and its libraries don't like it; Windows and a browser's tab have no fork.
There, and in a kernel that has a JVM behind it (two processes would talk over one
connection), the check runs in the kernel itself, and such a call ends when the kernel
is restarted.
"""

import contextlib
import faulthandler
import gc
import linecache
import os
import pickle
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO

from minikafka.course.judging import checks, watchdog
from minikafka.course.judging.verdicts import Verdict

_MORE_MEMORY_BYTES = 1 << 30  # than the kernel has
_SHOWN = 4  # lines of the learner's code
_FRAME = re.compile(r'File "(.+)", line (\d+) in (\S+)')


def can_fork() -> bool:
    """Whether a copy of this process is good for anything."""
    spark = sys.modules.get("pyspark")
    has_a_jvm = spark is not None and spark.SparkContext._gateway is not None
    return sys.platform == "linux" and not has_a_jvm


def in_a_child(judge: Callable[[], Verdict], seconds: float) -> Verdict:
    """The result of `judge()` in a child; or why the child is dead. seconds: the limit
    for one call of the learner's code.
    """
    with tempfile.TemporaryFile("w+") as last_words:
        reads, writes = os.pipe()
        with warnings.catch_warnings():
            # other threads of the kernel aren't needed in the child
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _judge_and_exit(judge, writes, last_words)
        os.close(writes)
        try:
            with open(reads, "rb") as pipe:
                said = pipe.read()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        if not said:
            return _died(status, seconds, _learners_lines(last_words))
    found: Verdict | None = pickle.loads(said)
    return judge() if found is None else found


def _judge_and_exit(
    judge: Callable[[], Verdict], writes: int, last_words: IO[str]
) -> None:
    """In the child. It says None where its verdict can't be sent: but it came to its
    end, so the kernel will.
    """
    try:
        gc.freeze()  # what the kernel has thrown away is not ours to close
        _limit_memory()
        faulthandler.register(watchdog.KILLS, file=last_words, chain=True)
        watchdog.kills_after_seconds = watchdog.GRACE_SECONDS
        found = judge()
        try:
            said = pickle.dumps(found)
            pickle.loads(said)
        except Exception:
            said = pickle.dumps(None)
        with open(writes, "wb") as pipe:
            pipe.write(said)
    finally:
        os._exit(0)


def _limit_memory() -> None:
    import resource  # Windows has none

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + _MORE_MEMORY_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _learners_lines(last_words: IO[str]) -> list[str]:
    """Where the child was when the timer ended it, outermost first; not the cell that
    asked for the check.
    """
    last_words.seek(0)
    lines = []
    for path, number, name in _FRAME.findall(last_words.read()):
        if path == checks.__file__:
            break
        if checks.is_the_learners(path):
            text = linecache.getline(path, int(number)).strip()
            lines.append(f"line {number}, in {name}:  {text}")
    return lines[:_SHOWN][::-1]


def _died(status: int, seconds: float, where: list[str]) -> Verdict:
    """The verdict for a child that left none."""
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    if number == watchdog.KILLS:
        why = (
            f"it had not come back after {seconds:g} s, and nothing could stop it. One"
            " call that runs forever, such as sum(range(10**11))?"
        )
    elif number == signal.SIGKILL:
        why = "the operating system ended it. Does it take all the memory there is?"
    elif number is not None:
        name = signal.Signals(number).name
        why = f"it brought Python down ({name}). A recursion without end?"
    else:
        why = "it ended the process that it ran in."
    lines = ["your code stopped at", *(f"  {line}" for line in where)] if where else []
    return Verdict(f"Not yet: {why}", False, lines=tuple(lines))
