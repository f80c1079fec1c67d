"""A picture with its levers on the stage: a member's card that is frozen, slowed,
closed or crashed by a click, an empty place for one more, a wire that is cut, a reader
or a rate that is dragged.

A change takes the run back to the moment that the picture shows, does it, and lets the
run go on; what had been changed later is undone, and what was changed at the same
moment stays.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, NamedTuple

from minikafka.course.levers.controls import Stage
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import escape
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

CANT = ValueError, RuntimeError, KafkaError  # a change isn't possible at this moment


class Change(NamedTuple):
    """what: "add", "leave", "crash", "freeze", "slow", "cut", "heal", "seek" or "rate";
    who: a client's name (for "add": the new one's). to: "0/7" for a seek to offset 7 of
    partition 0; "A/200" for a rate of 200 ms a record.
    """

    at_ms: int
    what: str
    who: str
    to: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """The partition and offset, or the member and rate, to which it was dragged."""
        thing, _, where = self.to.rpartition("/")
        return thing, int(where or 0)


class Reruns:
    """A run with its changes, and its picture; it needs no notebook.

    name: of the picture. rerun(changes) returns the trace of the run with these
    changes, in order of time, and raises a ValueError for what can't be done.
    code(change): the line that does a change. members: the names there are at first.
    """

    def __init__(
        self,
        name: str,
        rerun: Callable[[Sequence[Change]], Sequence[Event]],
        code: Callable[[Change], str],
        members: Sequence[str],
        *,
        live: Any = True,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        self.name = name
        self.rerun = rerun
        self.code = code
        self.seed = seed
        self.options = {**options, "live": live}
        self.changes: list[Change] = []
        self.opens_ms: int | None = None  # where the picture of the run plays on
        self.first = list(members)

    def press(self, what: str, who: str = "", at_ms: float = 0, to: str = "") -> None:
        """Carry out a click or a drag: on whom, at which moment of the run (virtual
        ms), and where to.
        """
        self.opens_ms = round(at_ms)
        self.show(self._with(what, who, self.opens_ms, to))

    def _with(self, what: str, who: str, at_ms: int, to: str) -> list[Change]:
        """The changes, once this has been pressed, too."""
        if what == "move":
            return self._moved(int(who), at_ms)
        if what == "add":
            who = self._new_name()
        earlier = [each for each in self.changes if each.at_ms <= at_ms]
        return [*earlier, Change(at_ms, what, who, to)]

    def _moved(self, number: int, at_ms: int) -> list[Change]:
        """A change happens at another moment; all others stay."""
        changes = list(self.changes)
        changes[number] = changes[number]._replace(at_ms=at_ms)
        return sorted(changes, key=attrgetter("at_ms"))

    def reset(self) -> None:
        """Undo all changes, and show the original run."""
        self.opens_ms = None
        self.show([])

    def show(self, changes: list[Change]) -> None:
        """Run with these changes instead."""
        self.picture = self.run(changes)
        self.changes = changes

    def run(self, changes: Sequence[Change]) -> Picture:
        """The picture of the run with these changes."""
        from minikafka.theatre import picture

        trace = self.rerun(changes)
        return picture(self.name, trace, seed=self.seed, **self.options)

    @property
    def lines(self) -> list[tuple[int, str]]:
        """When something was changed, and the line that did it."""
        return self.lines_of(self.changes)

    def lines_of(self, changes: Sequence[Change]) -> list[tuple[int, str]]:
        return [(change.at_ms, self.code(change)) for change in changes]

    def _new_name(self) -> str:
        """The next letter, where names end in letters: consumer C after consumer A and
        consumer B.
        """
        added = [change.who for change in self.changes if change.what == "add"]
        names = self.first + added
        last = max(names)
        front, letter = last[:-1], last[-1:]
        if letter.isalpha() and letter not in "zZ":
            return front + chr(ord(letter) + 1)
        return f"new {len(names) + 1}"


class LiveRun(Reruns):
    """In a notebook: the stage, and under it the lines. What can't be done is said, and
    the picture stays. The run of a lever that is pointed at is made before it is
    clicked.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        import ipywidgets

        super().__init__(*args, **options)
        self.line = ipywidgets.HTML()
        self.stage = Stage(self._clicked, self._pointed)
        self._ahead: tuple[list[Change], Picture] | None = None
        narrow = ipywidgets.Layout(width="auto")
        reset = ipywidgets.Button(description="as it was", layout=narrow)
        reset.on_click(lambda _: self.reset())
        self.box = ipywidgets.VBox([ipywidgets.HBox([reset]), self.line])
        self.show([])

    def _clicked(self, act: str, at_ms: float, onto: str) -> None:
        what, _, who = act.partition(" ")
        self.press(what, who, at_ms, onto)

    def _pointed(self, act: str, at_ms: float, onto: str) -> None:
        what, _, who = act.partition(" ")
        opens_ms = round(at_ms)
        changes = self._with(what, who, opens_ms, onto)
        with suppress(*CANT):  # a click will say so
            picture = self.run(changes)
            self._ahead = changes, picture
            flags = self.lines_of(changes)
            self.stage.show_ahead(picture, at_ms=opens_ms, flags=flags)

    def run(self, changes: Sequence[Change]) -> Picture:
        if self._ahead is not None:
            known, picture = self._ahead
            if known == changes:
                return picture
        return super().run(changes)

    def show(self, changes: list[Change]) -> None:
        try:
            super().show(changes)
        except CANT as error:
            self.line.value = f"<b>{escape(str(error))}</b>"
            self.stage.say(str(error))
            return
        lines = []
        for ms, line in self.lines:
            lines.append(f"<code>{ms / 1000:.3f} s&nbsp; {escape(line)}</code>")
        self.line.value = "<br>".join(lines)
        self.stage.show(self.picture, at_ms=self.opens_ms, flags=self.lines)

    def __repr__(self) -> str:
        lines = [f"{ms / 1000:.3f} s  {line}" for ms, line in self.lines]
        return "\n".join(["live", *lines, repr(self.picture)])

    def _ipython_display_(self) -> None:
        self.stage.display(self.box, repr(self))
