"""The map of all faults under a picture: each cell is a run, and the picture shows the
one that is pointed at. A fault that is pinned happens in every run then, and the map
shows what one fault more does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from minikafka.course.levers.controls import Stage, placed
from minikafka.faults import Fault
from minikafka.simulation.fault_map import (
    NOTHING,
    Ahead,
    Cell,
    FaultMap,
    Place,
    Striking,
    named,
)
from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.page import Data
from minikafka.theatre.picture import Picture, text_only
from minikafka.theatre.strip import Ended, Mark, key, packed_run, strip

NAME = "One fault, at each moment: how does the run end?"
NAME_OF_SECOND = "One fault more, at each moment: how does the run end?"


class FaultsLive:
    """found: the map. name: of the picture of its runs; options: the picture's own.
    marks: what happens in every run, by its moment in virtual ms.
    """

    def __init__(
        self,
        found: FaultMap,
        name: str,
        marks: Mapping[int, str] | None = None,
        **options: Any,
    ) -> None:
        self.found = found
        self.name = name
        self.marks = [Mark(at_ms, words) for at_ms, words in (marks or {}).items()]
        self.options = options
        self.stage = Stage(self._clicked)
        self._ahead: Ahead | None = None
        first = self._first()
        row, column = map(int, first.split("/"))
        self.picture = self._picture(found.rows[row][column])
        self.picture.strip = self._strip(found, first)
        self.stage.show(self.picture, at_end=True)

    def press(self, act: str) -> None:
        """What is asked on the strip: "cell 0/3" shows a run, "pin 0/3" lets its fault
        happen in every run, "unpin 0" takes it out again.
        """
        what, _, which = act.partition(" ")
        if what == "cell":
            cell = self._tried(which)
            play = played(self._picture(cell), cell.plan, self.stage.widths)
            self.stage.send({**play, "cell": which, "ended": {which: ended(cell)}})
        elif what == "pin":
            self._ask(self._cell(which).plan)
        else:
            also = list(self.found.also)
            del also[int(which)]
            self._ask(also)

    def _clicked(self, act: str, at_ms: float, onto: str) -> None:
        self.press(act)

    def _ask(self, also: Sequence[Fault]) -> None:
        """The map with these faults in every run, as it becomes known."""
        self._stop_ahead()
        self.found = self.found.with_others(also, watch=self._tell)
        self._tell(self.found)
        self._run_ahead()

    def _tell(self, found: FaultMap) -> None:
        self.stage.send({"strip": self._strip(found)})

    def _cell(self, which: str) -> Cell:
        row, column = map(int, which.split("/"))
        return self.found.rows[row][column]

    def _tried(self, which: str) -> Cell:
        """A cell of the map with a run of its own."""
        row, column = map(int, which.split("/"))
        cell = self.found.rows[row][column]
        place = Place(row, column)
        tried = self._ahead.tried(place, cell) if self._ahead else cell.tried()
        self.found.rows[row][column] = tried
        return tried

    def _run_ahead(self) -> None:
        """While somebody looks."""
        if not text_only():
            self._ahead = Ahead(self.found)

    def _stop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def _first(self) -> str:
        """The cell to begin with: of those that were run and differ from most, the
        first.
        """
        *_, worst = [NOTHING.kind, *self._kinds()]
        for row, cells in enumerate(self.found.rows):
            for column, cell in enumerate(cells):
                if cell.is_run and cell.outcome.kind == worst:
                    return key(row, column)
        return key(0, 0)

    def _kinds(self) -> list[str]:
        """How runs ended in which something happened, the rarest last."""
        return [kind for kind in self.found.counts() if kind != NOTHING.kind]

    def _picture(self, cell: Cell) -> Picture:
        return picture(self.name, cell.trace, **self.options)

    def _strip(self, found: FaultMap, chosen: str | None = None) -> Data:
        rows = []
        for cells in found.rows:
            rows.append([ended(cell) for cell in cells])
        return strip(
            NAME_OF_SECOND if found.also else NAME,
            faults=[named(cells[0].fault) for cells in found.rows],
            moments_ms=found.moments,
            rows=rows,
            chosen=chosen,
            also=[in_words(fault) for fault in found.also],
            marks=self.marks,
        )

    def alone(self) -> Picture:
        """The picture for a page without a kernel: it holds what all runs look like
        that were made.
        """
        runs = {}
        for row, cells in enumerate(self.found.rows):
            for column, cell in enumerate(cells):
                if cell.is_run:
                    play = played(self._picture(cell), cell.plan)
                    runs[key(row, column)] = packed_run(play)
        found = self.picture
        found.strip = {**(found.strip or {}), "runs": runs}
        return found

    def __repr__(self) -> str:
        return f"live\n{self.found}\n{self.picture!r}"

    def _ipython_display_(self) -> None:
        import ipywidgets

        self.stage.display(ipywidgets.HBox([]), repr(self))
        self._run_ahead()


def ended(cell: Cell) -> Ended:
    """As the strip shows a cell."""
    outcome = cell.outcome
    return Ended(outcome.kind, outcome.sign, str(outcome), cell.is_run)


def played(
    shown: Picture, plan: Sequence[Fault], widths: Sequence[int] = LAYOUTS
) -> Data:
    """What the player plays of a run, from its last fault on. widths: of the layouts
    that it needs.
    """
    struck = []
    begins_ms = None
    for fault in plan:
        if isinstance(fault, Striking) and fault.at_ms is not None:
            begins_ms = fault.at_ms - 1
            struck.append((fault.at_ms, named(fault)))
    play = shown.data(at_ms=begins_ms, widths=widths)
    return {**play, "flags": placed(shown, struck)}


def in_words(fault: Fault) -> str:
    """ "broker 1 is killed at 5.030 s"."""
    if isinstance(fault, Striking) and fault.at_ms is not None:
        return f"{named(fault)} at {fault.at_ms / 1000:.3f} s"
    return repr(fault)
