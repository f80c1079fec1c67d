"""One incident, as somebody on call has it: ask, say what it is, act, wait, report."""

import sys
from typing import Any, NamedTuple

from minikafka.course import cards
from minikafka.course.on_call import tools
from minikafka.course.on_call.commands import Refused
from minikafka.course.on_call.plans import Limits, Plan
from minikafka.course.on_call.strip import strip
from minikafka.course.on_call.wellness import still_wrong
from minikafka.course.on_call.world import SAMPLE_MS, World

LOOKING_S = 30  # what it takes to type a line, and to read what it prints
LONGEST_MIN = 60  # one wait
SHIFT_MIN = 240  # all of them


class Outcome(NamedTuple):
    """How it ended. said: the number of the cause that was named, None for none.

    false: payouts that were never committed, and were booked all the same. before:
    minutes of outage until somebody was called. wrong: what is still not well.
    """

    plan: Plan
    clock: str
    said: int | None
    accepted: int
    lost: int
    twice: int
    false: int
    refused: int
    minutes: float
    before: float
    wrong: tuple[str, ...]

    @property
    def limits(self) -> Limits:
        """What a good play stays within."""
        return self.plan.limits

    def lines(self) -> list[str]:
        """The score board."""
        said = "nothing yet"
        if self.said is not None:
            said = self.plan.causes[self.said - 1].text
        gone = "yes"
        if self.wrong:
            gone = f"no: {'; '.join(self.wrong)}"
        rows = {
            "orders accepted": str(self.accepted),
            "of these lost": str(self.lost),
            "handled twice": str(self.twice + self.false),
            "orders refused": str(self.refused),
            "minutes of outage": f"{self.minutes:.1f}, {self.before:.1f} of them before"
            " you were called",
            "you said": said,
            "the cause is gone": gone,
        }
        return [f"{name:18}  {value}" for name, value in rows.items()]


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
        if type(number) is not int or not 1 <= number <= count:
            self._say(f"The causes have the numbers 1 to {count}, not {number!r}.")
            return
        self.said = number
        text = self.plan.causes[number - 1].text
        self._say(f"You say: {text}. Whether that is so, the report will tell.")

    def wait(self, minutes: float = 5) -> None:
        """Time goes on."""
        is_number = isinstance(minutes, int | float) and not isinstance(minutes, bool)
        if not is_number or not 0 < minutes <= LONGEST_MIN:
            self._say(f"wait(minutes=...) takes up to {LONGEST_MIN}, not {minutes!r}.")
            return
        if self._is_over():
            return
        self.world.run(minutes * 60)
        self._say(f"{self.world.clock()}  {minutes:g} minutes later", *self._news())

    def report(self) -> None:
        """Shows the score board, as things stand."""
        report = Report(self)
        if "ipykernel" in sys.modules:
            from IPython.display import display

            display(report)
        else:
            print(report)

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
            twice=sum(world.orders.twice(app.name) for app in readers),
            false=len(world.false_payouts()),
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
            cut_off |= self.world.cut_off(app)
        count = len(cut_off)
        for app in readers:
            count += len(self.world.lost(app) - cut_off)
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
        self._say(f"{self.world.clock()} $ {line}", said, *self._news())

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
        text = "\n".join(line.rstrip() for line in lines if line)
        self.told.append(text)
        print(text)


def _minutes(samples: list[int]) -> float:
    """How long so many samples are."""
    return len(samples) * SAMPLE_MS / 60_000


class Report:
    """The score board, and the strip of metrics."""

    def __init__(self, incident: Incident) -> None:
        self.outcome = incident.outcome()
        self._called_ms = incident.plan.called_ms
        self._samples = list(incident.world.samples)

    def __repr__(self) -> str:
        return "\n".join([self._head(), *self._lines()])

    def _head(self) -> str:
        """The title, and the time."""
        return f"{self.outcome.plan.title}, {self.outcome.clock}"

    def _lines(self) -> list[str]:
        """The score board, indented."""
        return [f"  {line}" for line in self.outcome.lines()]

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, str]:
        body = "".join(map(cards.line, self._lines()))
        mark = "open" if self.outcome.wrong else "right"
        card = cards.card(mark, self._head(), body)
        picture = strip(self._samples, self._called_ms)
        return cards.bundle(repr(self), card + picture)
