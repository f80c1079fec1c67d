"""Stops a learner's endless loop, on every platform, and never because the machine is
busy with something else.

It counts the CPU time of the learner's own code: its clock runs inside `theirs()` and
rests inside `ours()`. Code that waits instead, in a sleep or for a lock, takes no CPU
time: for that there is a generous limit of wall time.

A second thread raises StillRunning inside the thread that runs the answer, with
CPython's PyThreadState_SetAsyncExc. A trace function would slow every line down and
misses loops inside greenlets. A wait in C code doesn't see the exception: a signal ends
it, where the answer runs in the main thread, as a notebook's cells do.

In a browser's tab there is no second thread: there CPython's monitoring (PEP 669) looks
at every jump and call of the learner's code, and raises in it. That begins when this
module is loaded, and never ends: whenever it is switched, CPython walks the frames of
all stacks, and those of programs that stand aside can't be walked in WebAssembly (see
fibres_in_browser.py). A wait that blocks the whole kernel can only be ended by
restarting that.
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
_WAKE = signal.SIGINT if sys.platform == "win32" else signal.SIGALRM

# In a process that may be killed (child.py) a timer of the operating system's counts
# the CPU time, too: one call of a built-in can hold up Python and all its threads. It
# ends the process so many seconds after the exception was sent. None: no such timer.
kills_after_seconds: float | None = None
GRACE_SECONDS = 1.0
if sys.platform != "win32":
    KILLS, _TIMER = signal.SIGVTALRM, signal.ITIMER_VIRTUAL


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
            _in_tab.watchdog = self
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        with self._lock:
            self._closed.set()
        if self._wakes:
            signal.signal(_WAKE, self._handler)
        _in_tab.watchdog = None

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
        if kills_after_seconds is not None:
            signal.setitimer(_TIMER, self.seconds + kills_after_seconds)

    def _stop(self) -> None:
        if kills_after_seconds is not None:
            signal.setitimer(_TIMER, 0)
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
        """An exception that was sent may still be on its way, too late: it ends here.
        Taking it back isn't enough: CPython before 3.13 would then look for it forever,
        which slows it down, and hangs when a debugger or a profiler is attached.
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

    def jumped(self) -> None:
        """In a tab: the learner's code has called or jumped back."""
        if self._began is None:
            return
        if time.monotonic() < self._looked + _LOOK_EVERY_SECONDS:
            return
        self._look()
        # the code between us and theirs has time to stop their clock
        self._looked = time.monotonic()
        if self.over is not None:
            raise StillRunning

    def _woken(self, *_: object) -> None:
        """Handles the signal: the exception is on its way already; outside their code
        there is nothing to end.
        """
        if self._began is not None:
            raise StillRunning


def _source(function: Any) -> Path:
    """Its file, as its code calls it: an archive's module has another `__file__`."""
    return Path(function.__code__.co_filename)


class _InTab:
    """Looks at every backward jump and call of Python code; at those that can't be a
    learner's, once each. watchdog: who is told of the others.
    """

    TOOL = 4  # of the six that may look: none of those with a name
    # where a learner's endless loop can't be: our code, Python's own, and code that
    # this generates while it runs (a dataclass's methods)
    OTHERS = (
        str(_source(_source).parents[2]),
        str(_source(contextlib.contextmanager).parent),
        "<string>",
    )

    watchdog: Watchdog | None = None

    def begin(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]  # from 3.12 on
        self.not_again_here = monitoring.DISABLE
        monitoring.use_tool_id(self.TOOL, "watchdog")
        jumps, calls = monitoring.events.JUMP, monitoring.events.PY_START
        for event in (jumps, calls):
            monitoring.register_callback(self.TOOL, event, self._met)
        monitoring.set_events(self.TOOL, jumps | calls)

    def _met(self, code: Any, *_: object) -> Any:
        if code.co_filename.startswith(self.OTHERS):
            return self.not_again_here
        if self.watchdog is not None:
            self.watchdog.jumped()
        return None


_in_tab = _InTab()
if not _THREADS:
    _in_tab.begin()


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
