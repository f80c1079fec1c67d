"""The rebalance with its levers: add, remove, freeze or slow a member at the moment that the picture shows.

A change takes the run back to that moment, does it, and lets the run go on; what had been changed later is undone. In
JupyterLab the moment follows the picture's cursor (player.js tells it); elsewhere one types it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.live import text_only
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape
from minikafka.trace import Event

SLOW_MS = 400


class Change(NamedTuple):
    """what: "add", "remove", "freeze" or "slow"; who: a member's name (for "add": the new one's)."""

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
        narrow, middle = ipywidgets.Layout(width="150px"), ipywidgets.Layout(width="210px")
        self.moment = ipywidgets.FloatText(value=0.0, description="at second", step=0.1, layout=narrow)
        self.moment.add_class("minikafka-moment")
        self.who = ipywidgets.Dropdown(options=self.first, description="member", layout=middle)
        self.buttons = {
            what: ipywidgets.Button(description=words, layout=ipywidgets.Layout(width="auto"))
            for what, words in (("add", "add one"), ("remove", "remove"), ("freeze", "freeze"), ("slow", "slow down"),
                                ("reset", "as it was"))
        }  # fmt: skip
        for what, button in self.buttons.items():
            button.on_click(lambda _, what=what: self.press(what))
        self.line, self.stage = ipywidgets.HTML(), ipywidgets.HTML(layout=ipywidgets.Layout(width="100%"))
        row = ipywidgets.HBox([self.moment, self.who, *self.buttons.values()],
                              layout=ipywidgets.Layout(flex_flow="row wrap"))  # fmt: skip
        self.box = ipywidgets.VBox([row, self.line, self.stage])
        self.box.add_class("minikafka-live")
        self._show(at_ms=None)

    def press(self, what: str) -> None:
        """What a button does."""
        if what == "reset":
            before, self.changes = self.changes, []
        else:
            at_ms = round(self.moment.value * 1000)
            who = self._new_name() if what == "add" else self.who.value
            before = self.changes
            self.changes = [each for each in before if each.at_ms < at_ms] + [Change(at_ms, what, who)]
        try:
            self._show(self.changes[-1].at_ms if self.changes else None)
        except ValueError as error:  # it can't be done at this moment: say so and keep the picture
            self.changes = before
            self.line.value = f"<b>{escape(str(error))}</b>"

    def _show(self, at_ms: int | None) -> None:
        from minikafka.theatre import picture

        self.picture: Picture = picture("rebalance", self.rerun(self.changes), seed=self.seed, **self.options)
        self.line.value = "<br>".join(
            f"<code>{change.at_ms / 1000:.3f} s&nbsp; {escape(self.code(change))}</code>" for change in self.changes
        )
        names = self.first + [change.who for change in self.changes if change.what == "add"]
        if list(self.who.options) != names:
            self.who.options = names
        self.stage.value = "" if text_only() else self.picture.frame(at_ms=at_ms)

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

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if not text_only():
            bundle |= self.box._repr_mimebundle_(include=include, exclude=exclude) | bundle
        return bundle
