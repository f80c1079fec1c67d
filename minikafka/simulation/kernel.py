"""The loop: a caller that must wait lets the cluster move on, one due thing at
a time.
"""

from collections.abc import Callable

from minikafka.simulation.clock import Clock
from minikafka.simulation.interrupts import Interrupts
from minikafka.simulation.processes import Agenda, Process
from minikafka.simulation.programs import Condition, Program, Programs


class Kernel:
    """The clock, the processes and the programs together."""

    def __init__(self, clock: Clock, crash: Callable[[Program], None]) -> None:
        self.clock = clock
        self.agenda = Agenda()
        calls_theirs = {
            Programs.run_theirs.__code__,
            Programs.wait.__code__,
            Programs.can_go_on.__code__,
        }
        self.interrupts = Interrupts(
            calls_theirs | {Kernel._holds.__code__}, lambda: clock.now_ms
        )
        self.programs = Programs(clock, crash, self.interrupts)
        self._in_condition = False

    def wait(
        self, condition: Condition, limit_ms: int | None, on: Process | None = None
    ) -> bool:
        """Let time pass until the condition holds, for at most limit_ms (None: no
        limit). Returns whether it holds.

        on: the only process that can make it hold, so that the condition needn't be
        checked after each event of the others.

        In a program: gives way to the others. At top level: runs the cluster. In a
        condition of run_until no time passes.
        """
        if self._in_condition:
            return condition()
        deadline_ms = None if limit_ms is None else self.clock.now_ms + limit_ms
        program = self.programs.current()
        if program is not None:
            return self.programs.wait(program, condition, deadline_ms, on)
        with self.interrupts.listening():
            return self.advance(condition, deadline_ms)

    def advance(self, condition: Condition, deadline_ms: int | None) -> bool:
        """Run until the condition holds, until the deadline, or until nothing is due
        any more.

        Raises whatever a program raised.
        """
        while True:
            self.interrupts.check()
            self.programs.turn()
            self.programs.raise_error()
            if self._holds(condition):
                return True
            if not self._step(deadline_ms):
                self.programs.turn()
                self.programs.raise_error()
                return self._holds(condition)

    def program(self) -> Program | None:
        return self.programs.current()

    def _holds(self, condition: Condition) -> bool:
        self._in_condition = True
        try:
            return condition()
        finally:
            self._in_condition = False

    def _step(self, deadline_ms: int | None) -> bool:
        """Do the next thing that is due. False if there is none before the deadline,
        which has then been reached.
        """
        message_at = self.clock.next_at()
        process = self.agenda.next()
        tick_at = None if process is None else process.deadline
        program_at = self.programs.next_deadline()
        due = [at for at in (message_at, tick_at, program_at) if at is not None]
        if not due or (deadline_ms is not None and min(due) > deadline_ms):
            if deadline_ms is not None:
                self.clock.now_ms = max(self.clock.now_ms, deadline_ms)
            return False
        soonest = max(min(due), self.clock.now_ms)
        if message_at is not None and message_at <= soonest:
            self.clock.run_next()
        elif process is not None and tick_at is not None and tick_at <= soonest:
            self.clock.now_ms = soonest
            process.tick()
        else:
            self.clock.now_ms = soonest
        return True
