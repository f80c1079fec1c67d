"""One incident, as somebody on call has it: ask, say what it is, act, wait, report."""

from minikafka.course.on_call import again, fates, screen, tools
from minikafka.course.on_call.plans import Plan
from minikafka.course.on_call.report import Outcome, Report
from minikafka.course.on_call.usage import Refused
from minikafka.course.on_call.wellness import still_wrong
from minikafka.course.on_call.world import SAMPLE_MS, World

LOOKING_S = 30  # what it takes to type a line, and to read what it prints
LONGEST_MIN = 60  # one wait
SHIFT_MIN = 240  # all of them


class Incident:
    """Nothing runs before the first question, so that a notebook can be run whole."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.said: int | None = None
        self.told: list[str] = []
        self._world: World | None = None
        self._heard = 0  # of what people wrote

    def __repr__(self) -> str:
        return f"<incident {self.plan.name}: ask, cause, act, wait, report>"

    @property
    def is_begun(self) -> bool:
        """Whether anything has been asked or done."""
        return self._world is not None

    @property
    def world(self) -> World:
        """The cluster, from the moment on when somebody was called."""
        if self._world is None:
            self._world = World(self.plan)
            called_s = (self.plan.called_ms - self._world.now_ms) / 1000
            self._world.run(called_s)
        return self._world

    def opening(self) -> str:
        """What one gets, and what it might be."""
        lines = [self.plan.opens, "", "What is it?"]
        for number, cause in enumerate(self.plan.causes, 1):
            lines.append(f"  {number}  {cause.text}")
        return "\n".join(lines)

    def ask(self, line: str = "") -> None:
        """Shows what a command prints that only looks. Without one: what there is."""
        if not line:
            self._say(f"You can ask:\n{tools.help_of(acts=False)}")
            return
        self._run(line, acts=False)

    def act(self, line: str = "") -> None:
        """Runs a command that changes something. Without one: what there is."""
        if not line:
            self._say(f"You can do:\n{tools.help_of(acts=True)}")
            return
        self._run(line, acts=True)

    def cause(self, number: int) -> None:
        """Says what it is: the number of a cause. The last word counts."""
        count = len(self.plan.causes)
        is_one = type(number) is int and 1 <= number <= count
        if not is_one:
            self._say(f"The causes have the numbers 1 to {count}, not {number!r}.")
            return
        self.said = number
        text = self.plan.causes[number - 1].text
        self._say(f"You say: {text}. Whether that is so, the report will tell.")

    def wait(self, minutes: float = 5) -> None:
        """Time goes on."""
        is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
        is_one = is_number and 0 < minutes <= LONGEST_MIN
        if not is_one:
            self._say(f"wait(minutes=...) takes up to {LONGEST_MIN}, not {minutes!r}.")
            return
        if self._is_over():
            return
        self.world.run(minutes * 60)
        later = "minute later" if minutes == 1 else "minutes later"
        self._say(f"{self.world.clock()}  {minutes:g} {later}", *self._news())

    def report(self) -> None:
        """Shows the score board, as things stand."""
        Report(self.outcome(), list(self.world.samples)).show()

    def outcome(self) -> Outcome:
        """How it stands."""
        world = self.world
        newest = world.samples[-1] if world.samples else None
        if newest is None or newest.at_ms < world.now_ms - SAMPLE_MS:
            world.sample()
        outages = [sample.at_ms for sample in world.samples if sample.is_outage]
        before = [at_ms for at_ms in outages if at_ms <= self.plan.called_ms]
        readers = world.readers()
        return Outcome(
            plan=self.plan,
            clock=world.clock(),
            said=self.said,
            accepted=len(world.orders.accepted),
            lost=self._lost(),
            twice=sum(len(world.orders.twice(app.name)) for app in readers),
            again=tuple(again.lines(world)),
            false=len(fates.false_payouts(world)),
            refused=len(world.orders.refused),
            minutes=_minutes(outages),
            before=_minutes(before),
            wrong=tuple(still_wrong(world)),
        )

    # inside

    def _lost(self) -> int:
        """Orders that a leader has cut off, whoever had read them, count once; those
        that a group will never handle, for each group.
        """
        readers = self.world.readers()
        cut_off: set[int] = set()
        for app in readers:
            cut_off |= fates.cut_off(self.world, app)
        count = len(cut_off)
        for app in readers:
            count += len(fates.lost(self.world, app) - cut_off)
        return count

    def _run(self, line: str, acts: bool) -> None:
        """One line, after the time that it takes to look. One that nobody understands
        takes none.
        """
        if self._is_over():
            return
        try:
            call = tools.understood(str(line), acts)
            self.world.run(LOOKING_S)
            said = tools.printed(call, self.world)
        except Refused as refused:
            self._say(f"{line}: {refused}")
            return
        asked = f"{self.world.clock()} $ {line}"
        screen.show(self._told(asked, said, *self._news()))

    def _news(self) -> list[str]:
        """What people have written since."""
        messages = self.world.messages[self._heard :]
        self._heard += len(messages)
        return messages

    def _is_over(self) -> bool:
        """Whether nobody is on call any more; says so."""
        called_ms = self.plan.called_ms
        over = self.is_begun and self.world.now_ms > called_ms + SHIFT_MIN * 60_000
        if over:
            self._say("Your shift is over: incident.report().")
        return over

    def _say(self, *lines: str) -> None:
        """Print it, and keep it."""
        print(self._told(*lines))

    def _told(self, *lines: str) -> str:
        """Lines as one text, which is kept."""
        text = "\n".join(line.rstrip() for line in lines if line)
        self.told.append(text)
        return text


def _minutes(samples: list[int]) -> float:
    """How long so many samples are."""
    return len(samples) * SAMPLE_MS / 60_000
