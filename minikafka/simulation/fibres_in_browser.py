"""Fibres in WebAssembly, each on a stack of its own (JavaScript Promise Integration,
JSPI).

pyodide.ffi.run_sync sets the whole call stack aside until a future has a result. Only a
stack that JavaScript started with a promise can be set aside: that holds for a
notebook's cell, for everything that Pyodide runs asynchronously, and for each fibre.

The garbage collector must not start by itself then: when it walks the stacks (CPython
3.14's second generation), it finds remains of those set aside, and damages Python's
memory (Pyodide's issue 6464). A full collection doesn't walk them.
"""

import gc
from collections.abc import Callable, Iterator
from typing import Any

from pyodide.code import run_js
from pyodide.ffi import can_run_sync, run_sync

NEEDS = (
    "this browser can't set a running function aside (WebAssembly's stack switching,"
    " JSPI), which programs of a cluster need: Chrome and Edge can from version 137 on."
    " What runs without cluster.start() works."
)
COLLECT_EVERY = 500  # this many resumptions: a few seconds of work
# It begins when the caller's stack is set aside, and the caller of resume() goes on
# when nothing of it is left on a stack.
_begin = run_js("(run, end) => run.callPromising().then(() => end())")
gc.disable()


class Freed(BaseException):
    """Raised in a fibre that is freed; the caller of free() doesn't see it."""


class Signal:
    """The thing that a stack waits for while it is set aside.

    It has the attributes that Pyodide expects of an asyncio future. A real future, or a
    JavaScript promise, goes through the event loop up to five times before the waiter
    is told, which takes ten times as long as the switch itself.
    """

    _asyncio_future_blocking = False  # asyncio recognizes a future by this name

    def __init__(self) -> None:
        self._given = False
        self._callback: Callable[[Signal], None] | None = None

    def __await__(self) -> Iterator[None]:
        yield

    def add_done_callback(self, callback: "Callable[[Signal], None]") -> None:
        self._callback = callback
        if self._given:
            callback(self)

    def result(self) -> None:
        """Nothing: it carries no value."""

    def give(self) -> None:
        """Let the waiter, present or future, go on as soon as the stack that calls this
        ends or is set aside.
        """
        self._given = True
        if self._callback is not None:
            self._callback(self)


class Fibre:
    """Fibre(function) runs function() from the first resume() on."""

    programs: Any = None  # the programs it belongs to
    dead_calls = 0  # how often it has called us after its end
    resumed = 0  # resumptions of all fibres since the last garbage collection

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._state = "new"  # then "begun", then "ended"
        self._outside = Signal()  # given when the function gives way or ends
        self._inside = Signal()  # given when it is resumed
        self._raised: BaseException | None = None
        self._freed = False

    def resume(self) -> None:
        """Called from outside: returns when the function gives way or ends, and raises
        what the function raises.
        """
        global _current
        if not can_run_sync():
            raise RuntimeError(NEEDS)
        Fibre.resumed += 1
        if Fibre.resumed >= COLLECT_EVERY:
            collect()
        outer, _current = _current, self
        self._outside = Signal()
        if self._state == "new":
            self._state = "begun"
            _begin(self._run, self._end)
        else:
            self._inside.give()
        run_sync(self._outside)
        _current = outer
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def give_way(self) -> None:
        """Called in the function: return to the caller of resume()."""
        self._inside = Signal()
        self._outside.give()
        run_sync(self._inside)
        if self._freed:
            raise Freed

    def free(self) -> None:
        """End the function where it is, if it has begun: Freed is raised there."""
        if self._state == "begun":
            self._freed = True
            self.resume()

    def _run(self) -> None:
        try:
            self._function()
        except Freed:
            pass
        except BaseException as error:
            self._raised = error

    def _end(self) -> None:
        self._state = "ended"
        self._outside.give()


_current: Fibre | None = None


def collect() -> None:
    """Collect garbage. It is due every COLLECT_EVERY resumptions, preferably at a
    moment when nobody waits.
    """
    Fibre.resumed = 0
    gc.collect()


def current() -> Fibre | None:
    """The fibre that makes this call; None outside of all fibres."""
    return _current
