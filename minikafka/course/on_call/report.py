"""The score board of an incident, and how it is shown."""

import sys
from typing import Any, NamedTuple

from minikafka.course import cards
from minikafka.course.on_call.plans import Limits, Plan


class Outcome(NamedTuple):
    """How it ended. said: the number of the cause that was named, None for none.

    again: who handled orders twice, and why. false: payouts that were never committed,
    and were booked all the same. minutes: of outage; before: of these, until somebody
    was called. wrong: what is still not well.
    """

    plan: Plan
    clock: str
    said: int | None
    accepted: int
    lost: int
    twice: int
    again: tuple[str, ...]
    false: int
    refused: int
    minutes: float
    before: float
    wrong: tuple[str, ...]

    @property
    def limits(self) -> Limits:
        """The limits within which a good play stays."""
        return self.plan.limits

    def lines(self) -> list[str]:
        """The lines of the score board."""
        said = "nothing yet"
        if self.said is not None:
            said = self.plan.causes[self.said - 1].text
        gone = "yes"
        if self.wrong:
            gone = f"no: {'; '.join(self.wrong)}"
        rows = {
            "orders accepted": str(self.accepted),
            "of these lost": str(self.lost),
            "handled twice": "\n".join([str(self.twice + self.false), *self.again]),
            "orders refused": str(self.refused),
            "minutes of outage": self._outage(),
            "you said": said,
            "the cause is gone": gone,
        }
        lines = []
        for name, value in rows.items():
            first, *more = value.splitlines()
            lines.append(f"{name:18}  {first}")
            lines += [f"    {line}" for line in more]
        return lines

    def _outage(self) -> str:
        """How long it was, and how much of it was before the call."""
        before = f"{self.before:.1f} of them before you were called"
        if self.lost:
            before += "; lost orders don't count here"
        return f"{self.minutes:.1f}, {before}"


class Report:
    """The score board."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def show(self) -> None:
        """Show it as a card in a notebook, anywhere in a cell; elsewhere as text."""
        if "ipykernel" in sys.modules:
            from IPython.display import display

            display(self)
        else:
            print(self)

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
        return cards.bundle(repr(self), cards.card(mark, self._head(), body))
