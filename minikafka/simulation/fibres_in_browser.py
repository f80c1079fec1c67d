"""Fibres in WebAssembly, each on a stack of its own (JavaScript Promise Integration,
JSPI).

pyodide.ffi.run_sync sets the whole stack of calls aside until a future has a result.
Only a stack that JavaScript has begun with a promise can be set aside: a notebook's
cell and what Pyodide runs asynchronously are, and so is each fibre.

The garbage collector must not come by itself then: where it walks the stacks (CPython
3.14's second generation), it finds what is left of those set aside, and damages
Python's memory (Pyodide's issue 6464). A full collection walks none.
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
COLLECT_EVERY = 500  # times that somebody is resumed: a few seconds of work
# It begins when the caller's stack is set aside, and who has resumed it goes on when
# nothing of it is left on a stack.
_begin = run_js("(run, end) => run.callPromising().then(() => end())")
gc.disable()


class Freed(BaseException):
    """Raised in a fibre that is freed; whoever freed it doesn't hear of it."""


class Signal:
    """What a stack that is set aside waits for.

    It has what Pyodide asks of a future of asyncio. Such a one, or a promise of
    JavaScript, goes through the event loop up to five times before somebody hears of
    it, which takes ten times as long as the switch itself.
    """

    _asyncio_future_blocking = False  # by this name asyncio knows a future

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
        """Nothing: that it came is all there is to say."""

    def give(self) -> None:
        """Who waits, or will wait, goes on as soon as the stack that calls this ends or
        is set aside.
        """
        self._given = True
        if self._callback is not None:
            self._callback(self)


class Fibre:
    """Fibre(function) runs function() from the first resume() on."""

    programs: Any = None  # whose it is
    dead_calls = 0  # how often it has called us after its end
    resumed = 0  # how often, of all fibres, since garbage was collected

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._state = "new"  # then "begun", then "ended"
        self._outside = Signal()  # given when the function gives way or ends
        self._inside = Signal()  # given when it is resumed
        self._raised: BaseException | None = None
        self._freed = False

    def resume(self) -> None:
        """Called from outside: returns when the function gives way or ends, and raises
        what it raises.
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
        """Called in the function: back to who has resumed it."""
        self._inside = Signal()
        self._outside.give()
        run_sync(self._inside)
        if self._freed:
            raise Freed

    def free(self) -> None:
        """End the function where it stands, if it has begun: Freed is raised there."""
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
    """What is due every COLLECT_EVERY times; better at a moment when nobody waits."""
    Fibre.resumed = 0
    gc.collect()


def current() -> Fibre | None:
    """The fibre that makes this call; None outside all of them."""
    return _current
