"""The rebalance with its levers on the stage: each member's card can be frozen, slowed, closed or crashed by a click,
and there is an empty place for one more.

A change takes the run back to the moment that the picture shows, does it, and lets the run go on; what had been changed
later is undone, and what was changed at the same moment stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minikafka.course.live import Stage
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape
from minikafka.trace import Event


class Change(NamedTuple):
    """what: "add", "leave", "crash", "freeze" or "slow"; who: a member's name (for "add": the new one's)."""

    at_ms: int
    what: str
    who: str


class RebalanceLive:
    """rerun(changes) returns the trace of the run with these changes, in order of time.

    code(change): the line that does a change. members: the names there are at first. ValueErrors of rerun are shown.
    """

    def __init__(self, rerun: Callable[[Sequence[Change]], Sequence[Event]], code: Callable[[Change], str],
                 members: Sequence[str], *, seed: int | None = None, **options: Any) -> None:  # fmt: skip
        import ipywidgets

        self.rerun, self.code, self.seed, self.options = rerun, code, seed, options
        self.changes: list[Change] = []
        self.first = list(members)
        self.line, self.stage = ipywidgets.HTML(), Stage(self._clicked)
        reset = ipywidgets.Button(description="as it was", layout=ipywidgets.Layout(width="auto"))
        reset.on_click(lambda _: self.reset())
        self.box = ipywidgets.VBox([ipywidgets.HBox([reset]), self.line])
        self._show([])

    def press(self, what: str, who: str = "", at_ms: float = 0) -> None:
        """What a click does: to whom, and at which moment of the run (virtual ms)."""
        at_ms = round(at_ms)
        change = Change(at_ms, what, self._new_name() if what == "add" else who)
        self._show([*(each for each in self.changes if each.at_ms <= at_ms), change])

    def reset(self) -> None:
        """Undo all changes."""
        self._show([])

    def _clicked(self, act: str, at_ms: float) -> None:
        what, _, who = act.partition(" ")
        self.press(what, who, at_ms)

    def _show(self, changes: list[Change]) -> None:
        from minikafka.theatre import picture

        try:
            trace = self.rerun(changes)
        except (ValueError, RuntimeError) as error:  # it can't be done at this moment: say so and keep the picture
            self.line.value = f"<b>{escape(str(error))}</b>"
            self.stage.say(str(error))
            return
        self.changes = changes
        self.picture: Picture = picture("rebalance", trace, seed=self.seed, live=True, **self.options)
        lines = [(change.at_ms, self.code(change)) for change in changes]
        self.line.value = "<br>".join(f"<code>{ms / 1000:.3f} s&nbsp; {escape(line)}</code>" for ms, line in lines)
        self.stage.show(self.picture, at_ms=changes[-1].at_ms if changes else None, flags=lines)

    def _new_name(self) -> str:
        """The next letter, where names end in letters: consumer C after consumer A and consumer B."""
        names = self.first + [change.who for change in self.changes if change.what == "add"]
        last = max(names)
        if last[-1:].isalpha() and last[-1] not in "zZ":
            return last[:-1] + chr(ord(last[-1]) + 1)
        return f"new {len(names) + 1}"

    def __repr__(self) -> str:
        lines = [f"{change.at_ms / 1000:.3f} s  {self.code(change)}" for change in self.changes]
        return "\n".join(["live", *lines, repr(self.picture)])

    def _ipython_display_(self) -> None:
        self.stage.display(self.box, repr(self))
