"""The map of all faults: what happens to a program if this fault strikes at that
moment?

The program is run once for each fault and each moment. Every run is the whole program,
from the same seed; only the fault differs, so each run can be repeated and looked at
step by step.

    found = fault_map(run, [Crash(1), Freeze(2, at_ms=0, for_ms=3000)], outcome, range(5000, 5100, 5))
    print(found)                 # a line a fault, a letter a moment
    found.cell(0, 5030).rerun()  # the cluster of that run

The search goes from coarse to fine: first every eighth moment, then the middle one
between two that ended differently, until neighbours end alike or nothing lies between
them. Moments between two that ended alike are assumed to end like them, and `is_run`
says so.

    found.with_others(found.cell(1, 5005).plan)  # what does a second fault do?
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.faults import Crash, Cut, Fault, Freeze, Reset, node_name
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event

# faults that strike at a moment
Striking = Crash | Freeze | Cut | Reset
Run = Callable[[list[Fault]], Cluster]

COARSE = 8  # the step between moments that are run first


class Place(NamedTuple):
    """A cell on the map, counted from 0."""

    row: int
    column: int


class Outcome(NamedTuple):
    """How a run ended. kind: a word; the map shows its first letter, or a dot for
    "nothing". detail: more about it, such as how long somebody waited.
    """

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.detail}".rstrip()

    @property
    def sign(self) -> str:
        return "." if self.kind == NOTHING.kind else self.kind[0]


NOTHING = Outcome("nothing")
Known = Mapping[Place, Outcome]


class Ran(NamedTuple):
    """How a run ended, and its trace if traces are kept."""

    outcome: Outcome
    trace: list[Event] | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of fault_map(), for each cell."""

    run: Run
    faults: Sequence[Striking]
    outcome: Callable[[Cluster], Outcome]
    moments: Sequence[int]
    also: tuple[Fault, ...]
    processes: int | None
    keeps_traces: bool
    coarse: int

    def fault(self, place: Place) -> Striking:
        """The fault that strikes in a cell."""
        return struck(self.faults[place.row], self.moments[place.column])

    def ends(self, place: Place) -> Ran:
        """Run a cell, and return how that ends."""
        cluster = self.run([*self.also, self.fault(place)])
        trace = list(cluster.trace) if self.keeps_traces else None
        return Ran(self.outcome(cluster), trace)


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault at one moment. is_run: whether it was run; if not, the runs before and
    after it both ended like this.
    """

    fault: Striking
    outcome: Outcome
    is_run: bool
    _asked: Asked
    _trace: list[Event] | None = None

    @property
    def plan(self) -> list[Fault]:
        """The faults of this run, ready to paste."""
        return [*self._asked.also, self.fault]

    def rerun(self) -> Cluster:
        """Run it once more, and return the cluster."""
        return self._asked.run(self.plan)

    @property
    def trace(self) -> list[Event]:
        """The events of its run, which is repeated if the map keeps no traces."""
        return self._trace or list(self.rerun().trace)

    def tried(self) -> "Cell":
        """The same cell with a run of its own, so that nothing is assumed from its
        neighbours.
        """
        if self.is_run and self._trace is not None:
            return self
        cluster = self.rerun()
        return self._ended(Ran(self._asked.outcome(cluster), list(cluster.trace)))

    def _ended(self, ran: Ran) -> "Cell":
        return replace(self, outcome=ran.outcome, is_run=True, _trace=ran.trace)


@dataclass(frozen=True, slots=True)
class FaultMap:
    """moments: in virtual ms. rows: for each fault one cell per moment. runs: how many
    were made. also: faults that happen in every run.
    """

    moments: list[int]
    rows: list[list[Cell]]
    runs: int
    _asked: Asked

    @property
    def also(self) -> tuple[Fault, ...]:
        return self._asked.also

    def with_others(
        self, also: Sequence[Fault], watch: "Watch | None" = None
    ) -> "FaultMap":
        """The same map with these faults in every run, and no other extra ones. With a
        cell's plan it shows what one more fault does.
        """
        return _found(replace(self._asked, also=tuple(also)), watch)

    def cell(self, row: int, at_ms: int) -> Cell:
        """The cell in this row, counted from 0, at this moment. Errors: KeyError if the
        map doesn't have the moment.
        """
        if at_ms not in self.moments:
            raise KeyError(f"the map has no moment {at_ms}: {_range(self.moments)}")
        return self.rows[row][self.moments.index(at_ms)]

    def cells(self, kind: str) -> list[Cell]:
        """The cells that ended in this way, row by row."""
        return [cell for cell in self._all() if cell.outcome.kind == kind]

    def counts(self) -> dict[str, int]:
        """kind -> how many cells, the most frequent first."""
        found: dict[str, int] = {}
        for cell in self._all():
            kind = cell.outcome.kind
            found[kind] = found.get(kind, 0) + 1
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def _all(self) -> Iterator[Cell]:
        for row in self.rows:
            yield from row

    def __str__(self) -> str:
        """One line per fault, one character per moment, and what the characters
        mean.
        """
        names = [named(row[0].fault) for row in self.rows]
        width = max(map(len, names))
        lines = [f"{'':{width}}  {_range(self.moments)}"]
        for name, row in zip(names, self.rows, strict=True):
            signs = "".join(cell.outcome.sign for cell in row)
            lines.append(f"{name:{width}}  {signs}")
        counted = []
        for kind, count in self.counts().items():
            counted.append(f"{Outcome(kind).sign} {kind}: {count}")
        lines.append(f"{'':{width}}  {'   '.join(counted)}   ({self.runs} runs)")
        return "\n".join(lines)


Watch = Callable[[FaultMap], object]


def fault_map(
    run: Run,
    faults: Sequence[Striking],
    outcome: Callable[[Cluster], Outcome],
    moments: Sequence[int],
    also: Sequence[Fault] = (),
    processes: int | None = None,
    keeps_traces: bool = False,
    coarse: int = COARSE,
    watch: Watch | None = None,
) -> FaultMap:
    """Run a program with each of these faults at each of these moments.

    run: runs the program with a plan, from the same seed each time, and returns the
    cluster. faults: they strike at the map's moments, whatever their at_ms says.
    outcome: computes how a run ended. moments: virtual ms, ascending. also: faults that
    happen in every run, so that the map shows the effect of a second one. processes:
    how many at a time; None: one per core, where processes can be forked. keeps_traces:
    for pictures, which then need no second run. coarse: the step between moments that
    are run first; 1 runs each of them, for outcomes that change from moment to moment.
    watch: called with the map as far as it is known, after each round from coarse to
    fine.

    Errors: ValueError without a fault or a moment, or for a fault that has no moment.
    """
    _check(faults, moments)
    asked = Asked(
        run, faults, outcome, moments, tuple(also), processes, keeps_traces, coarse
    )
    return _found(asked, watch)


def _found(asked: Asked, watch: Watch | None) -> FaultMap:
    """The map, round by round."""
    rows, columns = len(asked.faults), len(asked.moments)
    known: dict[Place, Ran] = {}
    with _Runner(asked.ends, asked.processes) as runner:
        while places := wanted(rows, columns, _outcomes(known), asked.coarse):
            known.update(zip(places, runner.run(places), strict=True))
            if watch is not None:
                watch(_map(asked, known))
    return _map(asked, known)


def _outcomes(known: Mapping[Place, Ran]) -> Known:
    return {place: ran.outcome for place, ran in known.items()}


def _map(asked: Asked, known: Mapping[Place, Ran]) -> FaultMap:
    """The map of everything that is known; a cell between two known ones gets the
    outcome of the one before it.
    """
    rows = []
    for row in range(len(asked.faults)):
        cells = []
        last = NOTHING
        for column in range(len(asked.moments)):
            place = Place(row, column)
            ran = known.get(place)
            last = ran.outcome if ran else last
            cells.append(_cell(asked, place, last, ran))
        rows.append(cells)
    return FaultMap(list(asked.moments), rows, len(known), asked)


def struck(fault: Striking, at_ms: int) -> Striking:
    """The same fault at this moment."""
    return replace(fault, at_ms=at_ms)


def named(fault: Striking) -> str:
    """The fault in a few words, without its moment."""
    match fault:
        case Crash():
            what = "loses power" if fault.power else "is killed"
            return f"{node_name(fault.node)} {what}"
        case Freeze():
            return f"{node_name(fault.node)} freezes for {_long(fault.for_ms)}"
        case Cut():
            ends = "" if fault.for_ms is None else f" for {_long(fault.for_ms)}"
            return f"{node_name(fault.one)} - {node_name(fault.other)} cut{ends}"
        case Reset():
            return f"{node_name(fault.one)} - {node_name(fault.other)} reset"


def _long(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:g} s"


def _check(faults: Sequence[Striking], moments: Sequence[int]) -> None:
    if not faults or not moments:
        raise ValueError("a map has at least one fault and one moment")
    for fault in faults:
        if not isinstance(fault, Striking):
            raise ValueError(
                f"{fault!r} has no moment at which it strikes: give Crash, Freeze, Cut"
                " or Reset"
            )
    if list(moments) != sorted(set(moments)):
        raise ValueError("moments are in ascending order, each once")


def _cell(asked: Asked, place: Place, outcome: Outcome, ran: Ran | None) -> Cell:
    return Cell(
        fault=asked.fault(place),
        outcome=outcome,
        is_run=ran is not None,
        _asked=asked,
        _trace=ran.trace if ran else None,
    )


def wanted(rows: int, columns: int, known: Known, coarse: int = COARSE) -> list[Place]:
    """The cells to run next, in a map of this size: first every coarse-th moment and
    the last one of each row, then the middles between neighbours in a row that ended
    differently.
    """
    if not known:
        at = sorted({*range(0, columns, coarse), columns - 1})
        return [Place(row, column) for row in range(rows) for column in at]
    found = []
    for left, right in pairwise(sorted(known)):
        has_room = left.row == right.row and right.column - left.column > 1
        if has_room and known[left] != known[right]:
            middle = (left.column + right.column) // 2
            found.append(Place(left.row, middle))
    return found


def _range(moments: Sequence[int]) -> str:
    if len(moments) == 1:
        return f"at {moments[0]} ms"
    steps = {after - before for before, after in pairwise(moments)}
    every = f", every {steps.pop()} ms" if len(steps) == 1 else ""
    return f"{moments[0]} to {moments[-1]} ms{every}"


Ends = Callable[[Place], Ran]


class _Runner:
    """Runs many cells, in forked processes where possible: a forked process needs no
    name to find the function by, and a learner's function has none.
    """

    def __init__(self, ends: Ends, processes: int | None) -> None:
        self._ends = ends
        self._processes = _cores() if processes is None else processes
        self._pool: Any = None

    def __enter__(self) -> "_Runner":
        if self._processes > 1:
            self._pool = _forked(self._processes, self._ends)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()

    def run(self, places: Sequence[Place]) -> list[Ran]:
        """The outcomes, in the order of the places."""
        if self._pool is None:
            return [self._ends(place) for place in places]
        found: list[Ran] = self._pool.map(_run_one, places, chunksize=1)
        return found


class Ahead:
    """While somebody looks at the map, runs the cells whose outcome was assumed, in
    processes with a low priority. Where nothing can be forked it does nothing.
    """

    def __init__(self, found: FaultMap) -> None:
        self._running: dict[Place, Any] = {}
        self._pool: Any = None
        places = []
        for row, cells in enumerate(found.rows):
            for column, cell in enumerate(cells):
                if not cell.is_run:
                    places.append(Place(row, column))
        if not places or _cores() == 1:
            return
        ends = replace(found._asked, keeps_traces=True).ends
        self._pool = _forked(_cores() - 1, ends, niceness=10)
        for place in places:
            self._running[place] = self._pool.apply_async(_run_one, (place,))
        self._pool.close()

    def tried(self, place: Place, cell: Cell) -> Cell:
        """The cell with a run of its own, which is made now if it isn't there yet."""
        running = self._running.get(place)
        if running is None or not running.ready() or not running.successful():
            return cell.tried()
        return cell._ended(running.get())

    def stop(self) -> None:
        """Nobody looks at this map any more."""
        self._running.clear()
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()


def _forked(processes: int, ends: Ends, niceness: int = 0) -> Any:
    """A pool of forked processes that run such cells."""
    import multiprocessing  # not available in a browser's Python

    forking = multiprocessing.get_context("fork")
    return forking.Pool(processes, initializer=_begin, initargs=(ends, niceness))


_in_this_process: list[Ends] = []  # the function that a forked process runs


def _begin(ends: Ends, niceness: int) -> None:
    """Runs first in a forked process, which inherits the function."""
    _in_this_process.append(ends)
    os.nice(niceness)


def _run_one(place: Place) -> Ran:
    """Run one cell. Errors: RuntimeError for anything that would end the process, such
    as SystemExit: otherwise nobody would ever answer for this cell.
    """
    [ends] = _in_this_process
    try:
        return ends(place)
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"the run was ended by {error!r}") from error


def _cores() -> int:
    """How many cores can be used; 1 where forking doesn't work well: on macOS, Windows
    and in WebAssembly.
    """
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
