"""Stops a learner's endless loop, on every platform.

A second thread raises StillRunning inside the thread that runs the answer, with CPython's PyThreadState_SetAsyncExc. A
trace function would slow every line down and misses loops inside greenlets; a signal needs Unix and the main thread.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

_LOOK_EVERY_SECONDS = 0.05


class StillRunning(BaseException):
    """The answer still ran at its deadline. Not an Exception: `except Exception` in the answer must not hold it up."""


class Watchdog:
    """Gives each call a deadline: `with Watchdog(seconds=2.0) as watchdog: watchdog.call(function)`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline: float | None = None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watched = ctypes.c_ulong(threading.get_ident())

    def __enter__(self) -> Watchdog:
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()

    def call(self, function: Callable[[], Any]) -> Any:
        """What function returns. Raises StillRunning when it does not return in time."""
        self._deadline = time.monotonic() + self.seconds
        try:
            return function()
        finally:
            self._call_off()

    def _call_off(self) -> None:
        while True:
            try:
                with self._lock:
                    self._deadline = None
                    # one that is on its way comes too late
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(self._watched, None)
                return
            except StillRunning:
                continue  # it came while we waited for the lock: once more

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK_EVERY_SECONDS):
            with self._lock:
                if self._deadline is not None and time.monotonic() > self._deadline:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(self._watched, ctypes.py_object(StillRunning))
