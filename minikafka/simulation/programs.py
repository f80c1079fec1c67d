"""Programs on the virtual clock: plain functions, each in a fibre, that give way at
every blocking call.

A blocking call begins with enter(), before it has any effect: that is where a program
can be crashed at its n-th call. If it must wait, it leaves through wait() and comes
back when its condition holds or its time is up: there a crash can end it at any time. A
crash is a kill -9: the function is never resumed, and no `finally` runs. If one does
run later, when the rest of the function is freed, its calls have no effect.
"""

import contextlib
import heapq
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from minikafka.simulation import fibres
from minikafka.simulation.clock import Clock
from minikafka.simulation.interrupts import Interrupts, in_program
from minikafka.trace import Trace

# Calls of one program without time passing; then a virtual ms passes, so that an
# endless loop ends with the run.
CALLS_AT_ONCE = 1000
Condition = Callable[[], bool]


def never() -> bool:
    """The condition of a program that waits only for time to pass."""
    return False


@dataclass(eq=False, repr=False)
class Program:
    """A function that runs in the cluster.

    state: "running", "frozen", "ended", "failed" or "crashed". calls: its blocking
    calls so far, by name. result: its return value. error: the exception it raised; the
    next run raises it.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    trace: Trace
    state: str = "running"
    calls: list[str] = field(default_factory=list)
    result: Any = None
    error: BaseException | None = None
    made: list[Any] = field(default_factory=list)  # clients that the function made
    crash_at_call: int | None = None
    number: int = 0  # in the order of their first start
    waits_for: tuple[Condition, int | None] | None = None
    # the only process that can make the condition hold, if there is one
    waits_on: Any = None
    fibre: Any = None
    calls_since: int = -1
    calls_at_once: int = 0

    @property
    def alive(self) -> bool:
        return self.state in ("running", "frozen")

    def __repr__(self) -> str:
        at = f", waits in {self.calls[-1]}" if self.alive and self.calls else ""
        return f"<program {self.name}: {self.state}{at}>"


GIVE_THE_CLUSTER = (
    "Give it its cluster as an argument: cluster.start(program, cluster)."
)


class Programs:
    """All programs of a cluster. `crash` is called for a program that reaches the call
    at which it is to crash.
    """

    def __init__(
        self, clock: Clock, crash: Callable[[Program], None], interrupts: Interrupts
    ) -> None:
        self.all: list[Program] = []
        self._clock = clock
        self._crash = crash
        self._interrupts = interrupts
        # functions left by crashes: kept, because freeing them would run their
        # `finally`
        self._dead: list[Any] = []
        self._errors: list[BaseException] = []
        self._to_ask: dict[Program, None] = {}  # programs whose condition may hold now
        # a heap; some entries may be outdated
        self._deadlines: list[tuple[int, int, Program]] = []

    def begin(self, program: Program) -> None:
        """Start it from its first line; it runs at the next turn."""
        program.state, program.calls, program.made = "running", [], []
        program.waits_for, program.error, program.result = None, None, None
        self._watch(program, None)
        self._dead.append(program.fibre)
        program.fibre = fibres.Fibre(lambda: self.run_theirs(program))
        if program not in self.all:
            self.all.append(program)
            program.number = len(self.all)
        self._to_ask[program] = None
        self._emit(program, "ProgramStarted", program=program.name)

    def current(self) -> Program | None:
        """The program that makes this call, or None at top level. A call of a dead
        program ends here.
        """
        here = fibres.current()
        if here is None:
            return None
        for program in self.all:
            if program.fibre is here and program.alive:
                return program
        # for example a replayed program that still has the first run's cluster
        if here.programs is not self:
            raise RuntimeError(
                f"this program runs on another cluster. {GIVE_THE_CLUSTER}"
            )
        return self._end_dead_call(here)

    def enter(self, what: str) -> None:
        """A call that may block begins, at top level or in a program; it has had no
        effect yet.
        """
        program = self.current()
        if program is None:
            return
        # a program that calls again and again without waiting gives way here, before
        # the call
        if self._interrupts.asked:
            self._give_way(program, never, self._clock.now_ms)
        program.calls.append(what)
        if (
            program.crash_at_call is not None
            and len(program.calls) >= program.crash_at_call
        ):
            self._crash(program)
            self.leave()

    def wait(
        self,
        program: Program,
        condition: Condition,
        deadline_ms: int | None,
        on: Any = None,
    ) -> bool:
        """Called in the program: give way until the condition holds or the time is up.
        Returns whether it holds.

        on: the only process that can make it hold, so that the condition isn't checked
        after each event of the others.
        """
        if program.calls_since != self._clock.now_ms:
            program.calls_since, program.calls_at_once = self._clock.now_ms, 0
        program.calls_at_once += 1
        if program.calls_at_once > CALLS_AT_ONCE:
            self._give_way(program, never, self._clock.now_ms + 1)
        self._give_way(program, condition, deadline_ms, on)
        return condition()

    def _give_way(
        self,
        program: Program,
        condition: Condition,
        deadline_ms: int | None,
        on: Any = None,
    ) -> None:
        program.waits_for = (condition, deadline_ms)
        self._watch(program, on)
        if deadline_ms is not None:
            heapq.heappush(self._deadlines, (deadline_ms, program.number, program))
        program.fibre.give_way()

    def _watch(self, program: Program, process: Any) -> None:
        """Check this program's condition again only when the process has changed; None:
        always.
        """
        if process is not program.waits_on:
            if program.waits_on is not None:
                program.waits_on.watchers.pop(program, None)
            if process is not None:
                process.watchers[program] = lambda: self._to_ask.update({program: None})
            program.waits_on = process

    def turn(self) -> None:
        """Let every program go on that can, until none can: one may have done something
        that another waits for.
        """
        while self._round():
            self._interrupts.check()

    def _round(self) -> bool:
        """Check each program that needs it once, in the order of their first start.
        Returns whether one of them went on.
        """
        moved = False
        self._ask_who_is_late()
        asked = [(program.number, program) for program in self._to_ask]
        heapq.heapify(asked)
        self._to_ask.clear()
        later: dict[Program, None] = {}
        try:
            while asked:
                number, program = heapq.heappop(asked)
                later[program] = None
                while program.state == "running" and self.can_go_on(program):
                    moved = True
                    program.waits_for = None
                    program.fibre.resume()
                    self._interrupts.check()
                if not self._is_asked_always(program):
                    del later[program]
                # A program later in the order that has just become able to go on does
                # so in the same round.
                for other in list(self._to_ask):
                    if other.number > number and (other.number, other) not in asked:
                        heapq.heappush(asked, (other.number, other))
                        del self._to_ask[other]
        finally:  # an interrupt must not leave anybody waiting forever
            self._to_ask.update(later)
            self._to_ask.update((program, None) for _, program in asked)
        return moved

    def next_deadline(self) -> int | None:
        while self._deadlines:
            deadline_ms, _, program = self._deadlines[0]
            if (
                program.state == "running"
                and program.waits_for
                and program.waits_for[1] == deadline_ms
            ):
                return deadline_ms
            heapq.heappop(self._deadlines)
        return None

    def thaw(self, program: Program) -> None:
        """Let a frozen program go on."""
        program.state = "running"
        self._to_ask[program] = None
        if program.waits_for is not None and program.waits_for[1] is not None:
            heapq.heappush(
                self._deadlines, (program.waits_for[1], program.number, program)
            )

    def raise_error(self) -> None:
        """Raise an error of a program, once."""
        if self._errors:
            raise self._errors.pop(0)

    def close(self) -> None:
        """Free what is left of all functions. Output of their `finally` blocks is of no
        use any more.
        """
        left = [*self._dead, *(program.fibre for program in self.all)]
        self._dead = []
        for program in self.all:
            if program.alive:
                program.state = "ended"
        with contextlib.redirect_stdout(io.StringIO()):
            for fibre in left:
                if fibre is not None:
                    fibre.free()

    def _ask_who_is_late(self) -> None:
        while self._deadlines and self._deadlines[0][0] <= self._clock.now_ms:
            self._to_ask[heapq.heappop(self._deadlines)[2]] = None

    @staticmethod
    def _is_asked_always(program: Program) -> bool:
        if program.state != "running" or program.waits_for is None:
            return False
        return program.waits_on is None and program.waits_for[0] is not never

    def can_go_on(self, program: Program) -> bool:
        """Whether its condition holds, or its time is up."""
        if program.waits_for is None:
            return True
        condition, deadline_ms = program.waits_for
        return condition() or (
            deadline_ms is not None and deadline_ms <= self._clock.now_ms
        )

    def run_theirs(self, program: Program) -> None:
        """Run the learner's function in its fibre, from its first line to its end."""
        program.fibre.programs = self
        try:
            program.result = program.function(*program.args, **program.kwargs)
        except Exception as error:
            if self._is_on(program):
                error.add_note(
                    f"raised by the program {program.name!r} at"
                    f" {self._clock.now_ms / 1000:.3f} virtual seconds"
                )
                program.state, program.error = "failed", error
                self._errors.append(error)
                self._emit(
                    program,
                    "ProgramFailed",
                    program=program.name,
                    error=f"{type(error).__name__}: {error}",
                )
        except (
            BaseException
        ) as error:  # somebody interrupts the whole run, or Python frees a dead program
            if self._is_on(program):
                program.state = "failed"
                if isinstance(error, KeyboardInterrupt):
                    raise in_program(program.name, error) from None
            raise
        else:
            if self._is_on(program):
                program.state = "ended"
                self._emit(program, "ProgramEnded", program=program.name)

    @staticmethod
    def _is_on(program: Program) -> bool:
        """Whether the caller is this program and it is alive. (A local variable with
        the fibre would keep it forever.)
        """
        return program.alive and program.fibre is fibres.current()

    def _emit(self, program: Program, kind: str, /, **detail: Any) -> None:
        program.trace.now = self._clock.now_ms
        if program.trace:
            program.trace.emit(kind, **detail)

    @staticmethod
    def leave() -> NoReturn:
        """End the calling program where it is, without unwinding it."""
        here = fibres.current()
        assert here is not None
        while True:
            here.give_way()

    def leave_if_dead(self) -> None:
        """End the call of a program that has crashed itself."""
        here = fibres.current()
        if any(program.fibre is here and not program.alive for program in self.all):
            self.leave()

    def _end_dead_call(self, here: fibres.Fibre) -> NoReturn:
        """Python frees a dead program, and a `finally` in it calls us: end it, even if
        it catches everything.
        """
        here.dead_calls += 1
        if here.dead_calls > CALLS_AT_ONCE:
            self.leave()
        raise fibres.Freed
