"""Stops a learner's endless loop, on every platform, and never for what the machine
does beside it.

What counts is the CPU time of the learner's own code: its clock runs inside `theirs()`
and rests inside `ours()`. Code that waits instead, in a sleep or for a lock, takes no
CPU time: for that there is a generous limit on the wall.

A second thread raises StillRunning inside the thread that runs the answer, with
CPython's PyThreadState_SetAsyncExc. A trace function would slow every line down and
misses loops inside greenlets. A wait in C code doesn't see the exception: a signal ends
it, where the answer runs in the main thread, as a notebook's cells do.

In a browser's tab there is no second thread: there CPython's monitoring (PEP 669) looks
at every jump and call of the learner's code, and raises in it. A wait that blocks the
whole kernel can only be ended by restarting that.
"""

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_LOOK_EVERY_SECONDS = 0.05
_WALL = 10  # seconds on the wall for each second of CPU time
_IDLE = 0.01  # of the wall: who computes more only waits for a turn on a busy machine
_ALL_CALLS = 5  # CPU time of all calls together, as a multiple of one call's
_THREADS = sys.platform != "emscripten"
_OURS = str(Path(__file__).parents[2])  # where no endless loop of a learner's stands
_WAKE = signal.SIGINT if sys.platform == "win32" else signal.SIGALRM


class StillRunning(BaseException):
    """The answer still ran at its deadline. Not an Exception: `except Exception` in the
    answer must not hold it up.
    """


class Watchdog:
    """Gives the learner's code its time: `with Watchdog(seconds=2.0) as watchdog,
    watchdog.theirs(): function()`.

    seconds: CPU time from one call of ours to the next. over: why it was stopped, or
    None.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.over: str | None = None
        self._spent = 0.0  # CPU seconds before this stretch
        # CPU time and wall time when their clock last began to run
        self._began: tuple[float, float] | None = None
        self._looked = 0.0
        self._is_sent = False
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread = threading.get_ident()
        self._cpu = _cpu_clock(self._thread)
        self._handler: Any = None
        self._wakes = _THREADS and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Watchdog":
        if self._wakes:
            self._handler = signal.signal(_WAKE, self._woken)
        if _THREADS:
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        else:
            _at_every_jump(self._jumped)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        with self._lock:
            self._closed.set()
        if self._wakes:
            signal.signal(_WAKE, self._handler)
        if not _THREADS:
            _at_every_jump(None)

    @contextlib.contextmanager
    def theirs(self) -> Iterator[None]:
        """The learner's code runs here."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """The learner's code has called ours; a program may be killed in here, and
        never come back.
        """
        self._stop()
        try:
            yield
        finally:
            self._start()

    def _start(self) -> None:
        self._began = self._cpu(), time.monotonic()

    def _stop(self) -> None:
        while True:
            try:
                with self._lock:
                    if self._began is not None:
                        self._spent += self._cpu() - self._began[0]
                    self._began = None
                    if not _THREADS:
                        return
                    if self._is_sent:
                        self._meet()
                return
            except StillRunning:
                continue  # it came while we waited for the lock: once more

    def _meet(self) -> None:
        """What was sent may be on its way still, and comes too late: it ends here. To
        take it back isn't enough: then CPython before 3.13 looks for it ever after, which
        slows it down, and hangs when a debugger or a profiler looks on.
        """
        self._is_sent = False
        self._send()
        with contextlib.suppress(StillRunning):
            while True:
                pass

    def _send(self) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._thread), ctypes.py_object(StillRunning)
        )

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK_EVERY_SECONDS):
            with self._lock:
                if self._closed.is_set() or self._began is None:
                    continue
                waits = self._look()
                if self.over is None:
                    continue
                self._is_sent = True
                self._send()
                if waits and self._wakes:
                    _wake(self._thread)

    def _look(self) -> bool:
        """Sets `over` if their time is. Whether they wait for something instead of
        computing.
        """
        assert self._began is not None
        cpu, wall = self._cpu() - self._began[0], time.monotonic() - self._began[1]
        waits = wall > _WALL * self.seconds and cpu < _IDLE * wall
        if cpu > self.seconds:
            self.over = (
                f"it had not come back after {self.seconds:g} s. A loop that never"
                " ends?"
            )
        elif self._spent + cpu > _ALL_CALLS * self.seconds:
            self.over = (
                "it is too slow: all cases together took more than"
                f" {_ALL_CALLS * self.seconds:g} s."
            )
        elif waits:
            self.over = (
                f"it had not come back after {wall:.0f} s, and computed nothing. What"
                " does it wait for?"
            )
        return waits

    def _jumped(self, code: Any, *_: object) -> Any:
        """Called by CPython; what it returns for our own code says: not again here."""
        if code.co_filename.startswith(_OURS):
            return _MONITORING.DISABLE
        if (
            self._began is not None
            and time.monotonic() > self._looked + _LOOK_EVERY_SECONDS
        ):
            self._look()
            # what stands between us and their code has time to stop their clock
            self._looked = time.monotonic()
            if self.over is not None:
                raise StillRunning
        return None

    def _woken(self, *_: object) -> None:
        """Handles the signal: the exception is on its way already; outside their code
        there is nothing to end.
        """
        if self._began is not None:
            raise StillRunning


_MONITORING: Any = getattr(sys, "monitoring", None)  # CPython has it from 3.12 on
_TOOL = 4  # of the six that may look: none of those with a name


def _at_every_jump(look: Callable[..., Any] | None) -> None:
    """Let it be called at every backward jump and call of Python code; None: no
    more.
    """
    events = _MONITORING.events.JUMP | _MONITORING.events.PY_START
    if look is None:
        _MONITORING.free_tool_id(_TOOL)
        return
    _MONITORING.use_tool_id(_TOOL, "watchdog")
    for event in (_MONITORING.events.JUMP, _MONITORING.events.PY_START):
        _MONITORING.register_callback(_TOOL, event, look)
    _MONITORING.restart_events()
    _MONITORING.set_events(_TOOL, events)


def _wake(thread: int) -> None:
    """End a wait in C code: the signal's handler runs in the main thread."""
    if sys.platform == "win32":
        signal.raise_signal(_WAKE)
    else:
        signal.pthread_kill(thread, _WAKE)


def _cpu_clock(thread: int) -> Callable[[], float]:
    """A thread's CPU time in seconds; the process's where a thread's can't be asked for
    by others (macOS, Windows).
    """
    if _THREADS and sys.platform != "win32" and hasattr(time, "pthread_getcpuclockid"):
        clock = time.pthread_getcpuclockid(thread)
        return lambda: time.clock_gettime(clock)
    return time.process_time
