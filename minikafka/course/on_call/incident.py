"""One incident for the person on call: ask, name the cause, act, wait, report."""

from collections.abc import Sequence
from functools import partial

from minikafka.course.on_call import again, fates, screen, tools
from minikafka.course.on_call.live import Curves
from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.monitoring import SAMPLE_MS, Sample
from minikafka.course.on_call.plans import Plan
from minikafka.course.on_call.report import Outcome, Report
from minikafka.course.on_call.usage import Refused
from minikafka.course.on_call.wellness import still_wrong
from minikafka.course.on_call.world import World

LOOKING_S = 30  # to type a line, and to read what it prints
LONGEST_MIN = 60  # one wait
SHIFT_MIN = 240  # the whole night


class Incident:
    """Nothing runs before the first question, so that a notebook can be run whole."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.said: int | None = None
        self.told: list[str] = []
        self.curves = Curves(plan.called_ms)
        self._world: World | None = None
        self._heard = 0  # messages shown so far

    def __repr__(self) -> str:
        return f"<incident {self.plan.name}: ask, cause, act, wait, report>"

    @property
    def is_begun(self) -> bool:
        """Whether anything has been asked or done."""
        return self._world is not None

    @property
    def world(self) -> World:
        """The cluster. It begins at the moment of the call."""
        if self._world is None:
            self._world = world = World(self.plan)
            world.watch = partial(self.curves.follow, world)
            for step in self.plan.steps:
                world.schedule(step.at_ms, partial(tools.do, world, step.line))
            world.run((self.plan.called_ms - world.now_ms) / 1000)
        return self._world

    def opening(self) -> str:
        """The message that starts the night, and the possible causes."""
        if not self.plan.causes:
            return self.plan.opens
        lines = [self.plan.opens, "", "What is it?"]
        for number, cause in enumerate(self.plan.causes, 1):
            lines.append(f"  {number}  {cause.text}")
        return "\n".join(lines)

    def ask(self, line: str = "") -> None:
        """Run a command that only looks. Without one, list these commands."""
        if not line:
            self._say(f"You can ask:\n{tools.help_of(acts=False)}")
            return
        self._run(line, acts=False)

    def act(self, line: str = "") -> None:
        """Run a command that changes something. Without one, list these commands."""
        if not line:
            self._say(f"You can do:\n{tools.help_of(acts=True)}")
            return
        self._run(line, acts=True)

    def cause(self, number: int) -> None:
        """Name the cause, by its number. The last call counts."""
        causes = self.plan.causes
        if not causes:
            self._say("On this night there is no cause to name.")
            return
        has_number = type(number) is int and 1 <= number <= len(causes)
        if not has_number:
            self._say(
                f"The causes have the numbers 1 to {len(causes)}, not {number!r}."
            )
            return
        self.said = number
        cause = causes[number - 1]
        self._say(f"You say: {cause.text}. Name another if you change your mind.")

    def wait(self, minutes: float = 5) -> None:
        """Let this many minutes pass."""
        if not _can_wait(minutes):
            self._say(f"wait(minutes=...) takes up to {LONGEST_MIN}, not {minutes!r}.")
            return
        if self._is_over():
            return
        self.world.run(minutes * 60)
        self.curves.draw(self.world)
        later = "minute later" if minutes == 1 else "minutes later"
        self._say(f"{clock(self.world.now_ms)}  {minutes:g} {later}", *self._news())

    def report(self) -> None:
        """Show the curves, and the score board with the current state."""
        outcome = self.outcome()
        self.curves.draw(self.world)
        Report(outcome).show()

    def outcome(self) -> Outcome:
        """The state of the night so far: what is still wrong, and what it has cost."""
        world = self.world
        self._look_at_it_now()
        outages = [sample for sample in world.samples if sample.is_outage]
        before = [sample for sample in outages if sample.at_ms <= self.plan.called_ms]
        return Outcome(
            plan=self.plan,
            clock=clock(world.now_ms),
            said=self.said,
            accepted=len(world.orders.accepted),
            lost=self._lost(),
            twice=self._twice(),
            again=tuple(again.lines(world)),
            false=len(fates.false_payouts(world.apps.values(), world.orders)),
            refused=len(world.orders.refused),
            minutes=_minutes(outages),
            before=_minutes(before),
            wrong=tuple(still_wrong(world)),
        )

    # inside

    def _look_at_it_now(self) -> None:
        """One more sample, unless the newest is as good."""
        world = self.world
        oldest_ms = world.now_ms - SAMPLE_MS
        if not world.samples or world.samples[-1].at_ms < oldest_ms:
            world.measure()

    def _twice(self) -> int:
        """Orders that were handled more than once, for each group."""
        count = 0
        for app in self.world.readers:
            count += len(self.world.orders.twice(app.name))
        return count

    def _lost(self) -> int:
        """Orders that a leader has truncated, even if somebody had read them, count
        once; those that a group will never handle count for each group.
        """
        readers = self.world.readers
        brokers = self.world.brokers
        cut_off: set[int] = set()
        for app in readers:
            cut_off |= fates.cut_off(app, brokers)
        count = len(cut_off)
        for app in readers:
            count += len(fates.lost(app, brokers) - cut_off)
        return count

    def _run(self, line: str, acts: bool) -> None:
        """Run one line, half a minute later. A line that isn't understood takes no
        time.
        """
        if self._is_over():
            return
        try:
            call = tools.understood(str(line), acts)
            if call.tool.usage.program not in tools.AT_ONCE:
                self.world.run(LOOKING_S)
            if acts:
                self.curves.mark(self.world.now_ms, line)
            said = tools.printed(call, self.world)
        except Refused as refused:
            self._say(f"{line}: {refused}")
            return
        self.curves.draw(self.world)
        asked = f"{clock(self.world.now_ms)} $ {line}"
        screen.show(self._told(asked, said, *self._news()))

    def _news(self) -> list[str]:
        """The messages that people have written since."""
        messages = self.world.messages[self._heard :]
        self._heard += len(messages)
        return messages

    def _is_over(self) -> bool:
        """Whether the shift is over; prints so if it is."""
        if not self.is_begun:
            return False
        ends_ms = self.plan.called_ms + SHIFT_MIN * 60_000
        if self.world.now_ms <= ends_ms:
            return False
        self._say("Your shift is over: incident.report().")
        return True

    def _say(self, *lines: str) -> None:
        """Print the lines, and keep them for the report."""
        print(self._told(*lines))

    def _told(self, *lines: str) -> str:
        """Lines as one text, which is kept."""
        text = "\n".join(line.rstrip() for line in lines if line)
        self.told.append(text)
        return text


def _can_wait(minutes: float) -> bool:
    """Whether it is a number, and not too long."""
    is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
    return is_number and 0 < minutes <= LONGEST_MIN


def _minutes(samples: Sequence[Sample]) -> float:
    """The length of this many samples, in minutes."""
    return len(samples) * SAMPLE_MS / 60_000
