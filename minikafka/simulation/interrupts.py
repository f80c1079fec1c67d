"""Ctrl-C, or a notebook's stop button: ends a run that would never end by itself.

Python raises KeyboardInterrupt wherever it happens to be, even in the middle of a
broker's append, which no cluster survives. So while time passes in a cluster, the
signal does something else. In the learner's own code, which may be a loop that never
gives the cluster a turn, it is raised at once. In our code the run ends at the next
moment between two events, with everything as it was then. If you press again because
nothing happens, you get Python's behaviour, and a cluster that says that it is broken.

Signals reach only the main thread, and a browser tab has none; there everything works
as in plain Python.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import CodeType, FrameType

_OURS = str(Path(__file__).parents[1])  # the package: all code in it is ours

_GOES_ON = "The cluster is as it was then, and goes on with the next call."
BROKEN = (
    "this cluster was interrupted in the middle of something, and can't be trusted any"
    " more. Make a new one: cluster = Cluster(...)."
)


class Interrupted(KeyboardInterrupt):
    """Somebody interrupted a run; the message says what is left of it."""

    def _render_traceback_(self) -> list[str]:  # IPython shows this: only the message
        return [str(self)]


class Interrupts:
    """The interrupts of one cluster. asked: somebody wants the run to end. broken: the
    run was ended at a point where that isn't safe.

    calls_theirs: those of our functions that call the learner's code.
    """

    def __init__(self, calls_theirs: set[CodeType], now_ms: Callable[[], int]) -> None:
        self.asked = False
        self.broken = False
        self._calls_theirs = calls_theirs
        self._now_ms = now_ms
        self._listening = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signal while this is entered, unless somebody else already does.
        It may be entered again.
        """
        if self._listening or not _is_pythons():
            yield
            return
        before = signal.signal(signal.SIGINT, self._heard)
        self._listening, self.asked = True, False
        try:
            yield
            if self.asked:
                self.check()
        except KeyboardInterrupt as error:
            if isinstance(error, Interrupted):
                raise
            raise Interrupted(f"interrupted {_where(error)}. {_GOES_ON}") from None
        finally:
            self._listening = False
            signal.signal(signal.SIGINT, before)

    def check(self) -> None:
        """Called between two events. Raises Interrupted if somebody asked for that."""
        if self.broken:
            raise RuntimeError(BROKEN)
        if self.asked:
            self.asked = False
            raise Interrupted(
                f"interrupted at {self._now_ms() / 1000:,.3f} virtual seconds."
                f" {_GOES_ON}"
            )

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self._is_theirs(frame):
            raise KeyboardInterrupt
        if self.asked:
            self.broken = True
            raise Interrupted(f"interrupted: {BROKEN}")
        self.asked = True

    def _is_theirs(self, frame: FrameType | None) -> bool:
        """Whether the learner's code is running, or code that it called, with none of
        ours in between.
        """
        while frame is not None and not _is_ours(frame):
            frame = frame.f_back
        return frame is None or frame.f_code in self._calls_theirs


def in_program(name: str, error: KeyboardInterrupt) -> Interrupted:
    """A program ends where the interrupt found it."""
    if isinstance(error, Interrupted):
        return error
    why = (
        "A loop in a program gives the cluster a turn by a call that waits, such as"
        " consumer.poll()."
    )
    return Interrupted(
        f"interrupted in the program {name!r}, {_where(error)}: it ends there."
        f" {_GOES_ON} {why}"
    )


def _where(error: KeyboardInterrupt) -> str:
    """The innermost line of the learner's code, in words."""
    theirs = [each for each in walk_tb(error.__traceback__) if not _is_ours(each[0])]
    if not theirs:
        return "in your own code"
    frame, line = theirs[-1]
    return f"at line {line} of {frame.f_code.co_name}"


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OURS)


def _is_pythons() -> bool:
    """Whether the signal would raise KeyboardInterrupt at once."""
    if (
        sys.platform == "emscripten"
        or threading.current_thread() is not threading.main_thread()
    ):
        return False
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler
