"""The game's puzzles: what is to be lost, with what, and in how many tries somebody who
knows the story of lesson 09 needs to find it.

A puzzle is data; its runs are those of fault_game. Each has a solution, which a test
runs and the page never sees, but for the last level: nothing loses an order there.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

NUMBERS = ("no order", "one order", "two orders", "three orders", "four orders")
ALL_FIVE = "all five orders"
DAYS_SEED = 966  # KIP-966: eligible leader replicas
LASTS = {20: "20 ms", 100: "100 ms", 1000: "one second", 12_000: "12 seconds"}


class Puzzle(NamedTuple):
    """lost: how many orders exactly; None: one or more. faults: how many are allowed,
    including the ones that are given (also). par: in tries. lasts_ms: the length of a
    freeze or a cut. solution: faults as a link has them, the given ones first. hint: for
    those who need more tries.
    """

    goal: str
    lost: int | None
    faults: int
    par: int
    lasts_ms: int
    solution: tuple[str, ...]
    also: tuple[str, ...] = ()
    acks: str = "1"
    hint: str = ""

    def shown(self) -> dict[str, Any]:
        """What the page may know."""
        known = self._asdict()
        del known["solution"]
        return known


def orders(count: int) -> str:
    return ALL_FIVE if count == 5 else NUMBERS[count]


LEVELS = (
    Puzzle(
        "Lose an order with a single fault.",
        None,
        1,
        3,
        12_000,
        ("freeze~1~5030~12000",),
        hint="What does a leader do that wakes up and doesn’t know it was replaced?",
    ),
    Puzzle(
        "Lose exactly three orders with a single fault.",
        3,
        1,
        2,
        12_000,
        ("freeze~1~5030~12000",),
    ),
    Puzzle(
        "Freezes and cuts last one second, too short for anybody to be declared dead."
        " Lose an order with two faults: choose the first, keep it, choose the second.",
        None,
        2,
        4,
        1000,
        ("freeze~2~5000~1000", "kill~1~5030"),
    ),
    Puzzle(
        "Broker 2 is killed at 5.000 s, and freezes and cuts last 100 ms. Lose exactly"
        " three orders with two more faults.",
        3,
        3,
        4,
        100,
        ("kill~2~5000", "freeze~3~5000~100", "kill~1~5050"),
        ("kill~2~5000",),
    ),
    Puzzle(
        "Freezes and cuts last 20 ms, the time between three orders. Lose exactly two of"
        " them with two faults.",
        2,
        2,
        4,
        20,
        ("freeze~2~5020~20", "kill~1~5040"),
    ),
    Puzzle(
        "The same shop with acks=all, and min.insync.replicas is 2. Lose an order, with"
        " as many faults as you like.",
        None,
        4,
        0,
        12_000,
        (),
        acks="all",
    ),
)

# the fault that is given, or "" -> how long others last, the fault that solves it, and
# how many orders it loses -> when it strikes for that, in ms after 5 s
GIVEN: dict[str, tuple[int, str, dict[int, int]]] = {
    "": (12_000, "freeze~1~{}~12000", {1: 50, 2: 40, 3: 30, 4: 20, 5: 10}),
    "freeze~2~5000~100": (100, "kill~1~{}", {1: 30, 2: 40, 3: 50, 4: 60}),
    "cut~1-2~5000~12000": (20, "kill~1~{}", {1: 20, 2: 30, 3: 40, 4: 50, 5: 60}),
    "freeze~2~5020~20": (20, "kill~1~{}", {1: 30, 2: 40}),
    "cut~1-2~5020~20": (20, "kill~1~{}", {1: 30, 2: 40}),
    "cut~1-2~5010~20": (20, "kill~1~{}", {1: 30}),
    "cut~1-2~5000~1000": (12_000, "freeze~1~{}~12000", {4: 20, 5: 10}),
}
# nothing is given, two faults are to be found: how long they last, the first one
PAIRS = {1000: "freeze~2~5000~1000", 100: "freeze~2~5000~100", 20: "freeze~2~5020~20"}


def days() -> list[Puzzle]:
    """A month of puzzles, a day each, in an order that is the same for everybody."""
    found = [*_one_more(), *_pairs()]
    random.Random(DAYS_SEED).shuffle(found)
    return found


def _one_more() -> Iterator[Puzzle]:
    for given, (lasts_ms, fault, moments) in GIVEN.items():
        also = (given,) if given else ()
        begin = "One fault is given. With one more, lose" if given else "Lose"
        end = "" if given else " with a single fault"
        for lost, ms in moments.items():
            goal = f"{begin} exactly {orders(lost)}{end}."
            solution = (*also, fault.format(5000 + ms))
            yield Puzzle(
                goal, lost, len(solution), 2 + len(also), lasts_ms, solution, also
            )


def _pairs() -> Iterator[Puzzle]:
    for lasts_ms, first in PAIRS.items():
        moments = {1: 30, 2: 40, 3: 50, 4: 60} if lasts_ms > 20 else {1: 30, 2: 40}
        for lost, ms in moments.items():
            goal = (
                f"Lose exactly {orders(lost)} with two faults. Freezes and cuts last"
                f" {LASTS[lasts_ms]}."
            )
            yield Puzzle(goal, lost, 2, 4, lasts_ms, (first, f"kill~1~{5000 + ms}"))
