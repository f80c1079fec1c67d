"""The game's puzzles: what is to be lost, with what, and in how many tries somebody who
reads the lines above the board needs to find it.

A puzzle is data; its runs are those of fault_game. Each has a solution, which a test
runs and the page never sees, but for the last level: nothing loses an order there.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from minikafka.course.experiments.lesson_09_runs import ORDERS
from minikafka.course.publishing.game_reasons import orders

DAYS_SEED = 966  # KIP-966: eligible leader replicas


class Puzzle(NamedTuple):
    """lost: which orders exactly; None: one or more. faults: how many are allowed,
    including the ones that are given (also); only a run with all of them is a try. par:
    in tries. lasts_ms: the length of a freeze or a cut. solution: faults as a link has
    them, the given ones first. cuts: nothing but cuts. hint: for those who need more
    tries.
    """

    goal: str
    lost: tuple[int, ...] | None
    faults: int
    par: int
    lasts_ms: int
    solution: tuple[str, ...]
    also: tuple[str, ...] = ()
    acks: str = "1"
    cuts: bool = False
    hint: str = ""

    def shown(self) -> dict[str, Any]:
        """What the page may know."""
        known = self._asdict()
        del known["solution"]
        return known


LEVELS = (
    Puzzle(
        "Lose an order with a single fault.",
        None,
        1,
        2,
        12_000,
        ("freeze~1~5030~12000",),
        hint="What does a leader do that wakes up and doesn’t know it was replaced?",
    ),
    Puzzle(
        "Brokers 1 and 2 are cut off from each other at 5.000 s, for one second. With"
        " one more fault, lose orders 1 to 3 and no other.",
        (1, 2, 3),
        2,
        1,
        1000,
        ("cut~1-2~5000~1000", "kill~1~5050"),
        ("cut~1-2~5000~1000",),
        hint="If broker 1 dies, broker 2 takes over with what it has. Which orders are"
        " “done” by then?",
    ),
    Puzzle(
        "Nobody is killed or frozen. With two cuts, lose orders 3 and 4 and no other:"
        " choose the first cut, keep it, choose the second.",
        (3, 4),
        2,
        2,
        12_000,
        ("cut~1-2~5040~12000", "cut~1-3~5040~12000"),
        cuts=True,
        hint="The shop still reaches a leader that no other broker can hear.",
    ),
    Puzzle(
        "Freezes and cuts last one second, too short for anybody to be replaced. With"
        " two faults, lose order 2 and no other.",
        (2,),
        2,
        2,
        1000,
        ("freeze~2~5025~1000", "kill~1~5040"),
        hint="A follower that has an order asks for the next one right away. What it has"
        " asked for still reaches it when it wakes.",
    ),
    Puzzle(
        "Freezes and cuts last 20 ms, in which the shop sends two orders. With two"
        " faults, lose orders 1 and 2 and no other.",
        (1, 2),
        2,
        3,
        20,
        ("freeze~2~5020~20", "kill~1~5040"),
        hint="When broker 2 wakes it asks for all it has missed. Broker 1 must be dead"
        " by then, and the shop must have heard “done” twice more."
        " A fault comes before all that happens in its millisecond.",
    ),
    Puzzle(
        "The same shop with acks=all, and min.insync.replicas is 2. Lose an order, with"
        " up to four faults.",
        None,
        4,
        0,
        12_000,
        (),
        acks="all",
    ),
)

KILLED_2 = "kill~2~5000"
SECOND = "Freezes and cuts last one second."
MS_20 = "Freezes and cuts last 20 ms."


class Kind(NamedTuple):
    """Puzzles that are alike. begin: of the goal. faults: the two that are to be found,
    as a link has them, without their moments. moments: for the orders that are lost,
    when the two strike, in ms after 5 s.
    """

    begin: str
    lasts_ms: int
    faults: tuple[str, str]
    moments: dict[tuple[int, ...], tuple[int, int]]
    also: tuple[str, ...] = ()
    cuts: bool = False


KINDS = (
    Kind(
        f"{SECOND} With two faults,",
        1000,
        ("freeze~2~{}~1000", "kill~1~{}"),
        {
            (1,): (5, 30),
            (3,): (30, 50),
            (4,): (40, 60),
            (1, 2): (5, 40),
            (2, 3): (25, 50),
            (3, 4): (30, 60),
            (1, 2, 3): (5, 50),
            (2, 3, 4): (25, 60),
            (1, 2, 3, 4): (5, 60),
        },
    ),
    Kind(
        f"{MS_20} With two faults,",
        20,
        ("cut~1-2~{}~20", "kill~1~{}"),
        {
            (1,): (15, 30),
            (2,): (25, 40),
            (3,): (35, 50),
            (4,): (45, 60),
            (3, 4): (40, 60),
        },
    ),
    Kind(
        "Nobody is killed or frozen. With two cuts of 12 s,",
        12_000,
        ("cut~1-2~{}~12000", "cut~1-3~{}~12000"),
        {
            (4,): (50, 15),
            (2, 3, 4): (30, 15),
            (1, 2, 3, 4): (25, 15),
            (0, 1, 2, 3, 4): (15, 15),
        },
        cuts=True,
    ),
    Kind(
        f"{SECOND} Broker 2 is killed at 5.000 s. With two more faults,",
        1000,
        ("freeze~3~{}~1000", "kill~1~{}"),
        {
            (1,): (5, 30),
            (2,): (20, 40),
            (3,): (30, 50),
            (4,): (40, 60),
            (1, 2): (5, 40),
            (2, 3): (20, 50),
            (3, 4): (30, 60),
            (1, 2, 3): (5, 50),
            (2, 3, 4): (20, 60),
            (1, 2, 3, 4): (5, 60),
        },
        (KILLED_2,),
    ),
    Kind(
        f"{MS_20} Broker 2 is killed at 5.000 s. With two more faults,",
        20,
        ("freeze~3~{}~20", "kill~1~{}"),
        {(2,): (25, 40), (3,): (35, 50), (4,): (45, 60)},
        (KILLED_2,),
    ),
)


def days() -> list[Puzzle]:
    """A month of puzzles, a day each, in an order that is the same for everybody."""
    found = [puzzle for kind in KINDS for puzzle in _of(kind)]
    random.Random(DAYS_SEED).shuffle(found)
    return found


def _of(kind: Kind) -> Iterator[Puzzle]:
    for lost, moments in kind.moments.items():
        strike = zip(kind.faults, moments, strict=True)
        solution = (*kind.also, *(fault.format(5000 + ms) for fault, ms in strike))
        names = orders([f"order {number}" for number in lost])
        only = "" if len(lost) == ORDERS else " and no other"
        yield Puzzle(
            f"{kind.begin} lose {names}{only}.",
            lost,
            len(solution),
            2,
            kind.lasts_ms,
            solution,
            kind.also,
            cuts=kind.cuts,
        )
