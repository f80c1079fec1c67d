"""Programs on the virtual clock: plain functions, each in a greenlet, that give way at every blocking call.

A blocking call begins with enter(), before it has any effect: there a program can be crashed at its n-th call. If it
must wait, it leaves through wait() and comes back when its condition holds or its time is up: there a crash ends it at
any time. A crash is a kill -9: the function is never resumed, no `finally` runs. Should one run later after all, when
what is left of the function is freed, its calls have no effect.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import greenlet

from minikafka.simulation.clock import Clock
from minikafka.trace import Trace

# Of one program without time passing; then a virtual ms passes, so that an endless loop ends with the run.
CALLS_AT_ONCE = 1000
Condition = Callable[[], bool]


class Program:
    """A function that runs in the cluster.

    state: "running", "frozen", "ended", "failed" or "crashed". calls: its blocking calls so far, by name.
    result: what it returned. error: what it raised; the next run raises it.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], trace: Trace
    ) -> None:
        self.name = name
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.trace = trace
        self.state = "running"
        self.calls: list[str] = []
        self.result: Any = None
        self.error: BaseException | None = None
        self.made: list[Any] = []  # clients that the function made itself
        self.crash_at_call: int | None = None
        self.waits_for: tuple[Condition, int | None] | None = None
        self.greenlet: Any = None
        self.calls_since, self.calls_at_once = -1, 0

    @property
    def alive(self) -> bool:
        return self.state in ("running", "frozen")

    def __repr__(self) -> str:
        at = f", waits in {self.calls[-1]}" if self.alive and self.calls else ""
        return f"<program {self.name}: {self.state}{at}>"


class Programs:
    """All programs of a cluster. `crash` is called for a program that reaches the call it is to crash at."""

    def __init__(self, clock: Clock, crash: Callable[[Program], None]) -> None:
        self.all: list[Program] = []
        self._clock = clock
        self._crash = crash
        self._dead: list[Any] = []  # what crashes left of functions: kept, since freeing it would run their `finally`
        self._errors: list[BaseException] = []

    def begin(self, program: Program) -> None:
        """From its first line; it runs at the next turn."""
        program.state, program.calls, program.made = "running", [], []
        program.waits_for, program.error, program.result = None, None, None
        self._dead.append(program.greenlet)
        program.greenlet = greenlet.greenlet(lambda: self._run(program))
        if program not in self.all:
            self.all.append(program)
        self._tell(program, "ProgramStarted", program=program.name)

    def current(self) -> Program | None:
        """The program that makes this call, or None at top level. A dead program's call ends here."""
        here = greenlet.getcurrent()
        for program in self.all:
            if program.greenlet is here and program.alive:
                return program
        if getattr(here, "is_program", False):
            self._end_dead_call(here)
        return None

    def enter(self, what: str) -> None:
        """A call that may block begins, at top level or in a program; nothing of it has happened yet."""
        program = self.current()
        if program is None:
            return
        program.calls.append(what)
        if program.crash_at_call is not None and len(program.calls) >= program.crash_at_call:
            self._crash(program)
            self.leave()

    def wait(self, program: Program, condition: Condition, deadline_ms: int | None) -> bool:
        """Called in the program: give way until the condition holds or the time is up. Whether it holds."""
        if program.calls_since != self._clock.now_ms:
            program.calls_since, program.calls_at_once = self._clock.now_ms, 0
        program.calls_at_once += 1
        if program.calls_at_once > CALLS_AT_ONCE:
            program.waits_for = (lambda: False), self._clock.now_ms + 1
            program.greenlet.parent.switch()
        program.waits_for = (condition, deadline_ms)
        program.greenlet.parent.switch()
        return condition()

    def turn(self) -> None:
        """Let every program go on that can, until none can: one may have done what another waits for."""
        moved = True
        while moved:
            moved = False
            for program in list(self.all):
                while program.state == "running" and self._can_go_on(program):
                    moved = True
                    program.waits_for = None
                    program.greenlet.parent = greenlet.getcurrent()
                    program.greenlet.switch()

    def next_deadline(self) -> int | None:
        deadlines = [
            each.waits_for[1]
            for each in self.all
            if each.state == "running" and each.waits_for and each.waits_for[1] is not None
        ]
        return min(deadlines) if deadlines else None

    def raise_error(self) -> None:
        """Raise, once, what a program raised."""
        if self._errors:
            raise self._errors.pop(0)

    def close(self) -> None:
        """Free what is left of all functions. What their `finally` may print is of no use any more."""
        left = [*self._dead, *(program.greenlet for program in self.all)]
        self._dead = []
        for program in self.all:
            if program.alive:
                program.state = "ended"
        with contextlib.redirect_stdout(io.StringIO()):
            for function in left:
                if function:
                    function.throw()

    def _can_go_on(self, program: Program) -> bool:
        if program.waits_for is None:
            return True
        condition, deadline_ms = program.waits_for
        return condition() or (deadline_ms is not None and deadline_ms <= self._clock.now_ms)

    def _run(self, program: Program) -> None:
        greenlet.getcurrent().is_program = True
        try:
            program.result = program.function(*program.args, **program.kwargs)
        except Exception as error:
            if self._is_on(program):
                error.add_note(
                    f"raised by the program {program.name!r} at {self._clock.now_ms / 1000:.3f} virtual seconds"
                )
                program.state, program.error = "failed", error
                self._errors.append(error)
                self._tell(program, "ProgramFailed", program=program.name, error=f"{type(error).__name__}: {error}")
        except BaseException:  # somebody interrupts the whole run; or Python frees a dead program
            if self._is_on(program):
                program.state = "failed"
            raise
        else:
            if self._is_on(program):
                program.state = "ended"
                self._tell(program, "ProgramEnded", program=program.name)

    @staticmethod
    def _is_on(program: Program) -> bool:
        """Whether the caller is this program, alive. (A local variable with the greenlet would keep it for ever.)"""
        return program.alive and program.greenlet is greenlet.getcurrent()

    def _tell(self, program: Program, kind: str, /, **detail: Any) -> None:
        program.trace.now = self._clock.now_ms
        if program.trace:
            program.trace.emit(kind, **detail)

    @staticmethod
    def leave() -> None:
        """End the calling program where it is, without unwinding it."""
        here = greenlet.getcurrent()
        while True:
            here.parent.switch()

    def leave_if_dead(self) -> None:
        """A program that has crashed itself goes no further."""
        here = greenlet.getcurrent()
        if any(program.greenlet is here and not program.alive for program in self.all):
            self.leave()

    def _end_dead_call(self, here: Any) -> None:
        """Python frees a dead program, and a `finally` of it calls us: end it, also one that catches everything."""
        here.dead_calls = getattr(here, "dead_calls", 0) + 1
        if here.dead_calls > CALLS_AT_ONCE:
            self.leave()
        raise greenlet.GreenletExit
