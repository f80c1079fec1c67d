"""The map of all faults under a picture: each cell is a run, and the picture shows the
one that is pointed at. A fault that is pinned happens in every run then, and the map
shows what one fault more does.
"""

from collections.abc import Iterable, Mapping, Sequence
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
        first = self._first(asks=not text_only())
        self.picture = self._picture(self._cell(first))
        self.picture.strip = self._strip(found, chosen=first)
        self.stage.show(self.picture, at_end=True)

    def press(self, act: str) -> None:
        """Carry out a request from the strip: "cell 0/3" shows a run, "pin 0/3" lets
        its fault happen in every run, "unpin 0" removes it again.
        """
        what, _, which = act.partition(" ")
        if what == "cell":
            self._show(which)
        elif what == "pin":
            cell = self._cell(place_of(which))
            self._ask(cell.plan)
        else:
            also = list(self.found.also)
            del also[int(which)]
            self._ask(also)

    def _show(self, which: str) -> None:
        """The picture becomes this run, and the strip learns how it ended."""
        cell = self._tried(place_of(which))
        play = played(self._picture(cell), cell.plan, self.stage.widths)
        self.stage.send({**play, "cell": which, "ended": {which: ended(cell)}})

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

    def _cell(self, place: Place) -> Cell:
        return self.found.rows[place.row][place.column]

    def _cells(self) -> Iterable[tuple[Place, Cell]]:
        """All of them, row by row."""
        for row, cells in enumerate(self.found.rows):
            for column, cell in enumerate(cells):
                yield Place(row, column), cell

    def _tried(self, place: Place) -> Cell:
        """A cell of the map with a run of its own, which may have been made ahead."""
        cell = self._cell(place)
        if self._ahead is None:
            tried = cell.tried()
        else:
            tried = self._ahead.tried(place, cell)
        self.found.rows[place.row][place.column] = tried
        return tried

    def _run_ahead(self) -> None:
        """Run the assumed cells in advance, while the learner looks at the map."""
        if not text_only():
            self._ahead = Ahead(self.found)

    def _stop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def _first(self, asks: bool) -> Place:
        """The cell to begin with: the first that was run and ended as fewest do; where
        that is asked, the first that ended otherwise.
        """
        rarest = self._rarest_kind()
        for place, cell in self._cells():
            if cell.is_run and (cell.outcome.kind != rarest) == asks:
                return place
        return Place(0, 0)

    def _rarest_kind(self) -> str:
        """How fewest runs ended in which something happened."""
        rarest = NOTHING.kind
        for kind in self.found.counts():  # the commonest first
            if kind != NOTHING.kind:
                rarest = kind
        return rarest

    def _picture(self, cell: Cell) -> Picture:
        return picture(self.name, cell.trace, **self.options)

    def _strip(self, found: FaultMap, chosen: Place | None = None) -> Data:
        """The data that the page draws of a map. chosen: the cell whose run is
        shown; where one ends as fewest do is asked first.
        """
        asks = "" if chosen is None else self._rarest_kind()
        faults = []
        rows = []
        for cells in found.rows:
            faults.append(named(cells[0].fault))
            rows.append([ended(cell) for cell in cells])
        return strip(
            NAME_OF_SECOND if found.also else NAME,
            faults=faults,
            moments_ms=found.moments,
            rows=rows,
            chosen=None if chosen is None else key(*chosen),
            also=[in_words(fault) for fault in found.also],
            marks=self.marks,
            asks="" if asks == NOTHING.kind else asks,
        )

    def alone(self) -> Picture:
        """The picture for a page without a kernel: it holds what all runs look like
        that were made.
        """
        runs = {}
        for place, cell in self._cells():
            if cell.is_run:
                play = played(self._picture(cell), cell.plan)
                runs[key(*place)] = packed_run(play)
        first = self._first(asks=True)
        alone = self._picture(self._cell(first))
        alone.strip = {**self._strip(self.found, chosen=first), "runs": runs}
        return alone

    def __repr__(self) -> str:
        return f"live\n{self.found}\n{self.picture!r}"

    def _ipython_display_(self) -> None:
        import ipywidgets

        self.stage.display(ipywidgets.HBox([]), repr(self))
        self._run_ahead()


def place_of(which: str) -> Place:
    """The cell that the page calls so: the inverse of key()."""
    row, _, column = which.partition("/")
    return Place(int(row), int(column))


def ended(cell: Cell) -> Ended:
    """A cell as the strip shows it."""
    return Ended(
        kind=cell.outcome.kind,
        sign=cell.outcome.sign,
        words=str(cell.outcome),
        is_run=cell.is_run,
    )


def played(
    shown: Picture, plan: Sequence[Fault], widths: Sequence[int] = LAYOUTS
) -> Data:
    """The part of a run that the player plays, from its last fault on. widths: of the
    layouts that it needs.
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
