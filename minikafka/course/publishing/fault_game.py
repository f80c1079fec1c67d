"""The game's runs, in the browser's tab: lose an order that was acknowledged, with the
fewest tries. What is asked, and how the run ends.

Everything is the story of lesson 09's exercise 2, five orders: the same plan run by
hand ends in the same way. A solution is a list of faults, so a link can hold it, and
whoever opens it runs it again.
"""

import json
from collections.abc import Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

from minikafka.course.experiments.lesson_09_runs import (
    fared,
    five_orders,
    lost,
)
from minikafka.course.levers.fault_strip import in_words, played
from minikafka.course.publishing import game_reasons
from minikafka.faults import Crash, Cut, Fault, Freeze
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.fault_map import (
    Outcome,
    Place,
    Striking,
    named,
    struck,
    wanted,
)
from minikafka.theatre import picture
from minikafka.theatre.page import Data
from minikafka.theatre.picture import Picture
from minikafka.theatre.strip import Ended, Mark, strip

PICTURE = "replica-set"
ACKS = ("1", "all")
LASTS_MS = (5, 20, 100, 1000, 12_000)
BACK_MS = 20_000  # until a broker that was killed is started again
COLUMNS = 20
FIRST_MS, COARSE_MS, FINE_MS = 4980, 5, 1
MOST_FAULTS = 4
EARLIEST_MS, LATEST_MS = 4000, 6000
MARKED = 4  # every fourth moment is written under the map
KINDS = {"lost": "orders lost", "nothing": "no harm"}
BROKERS = (1, 2, 3)


class Settings(NamedTuple):
    """acks: of the shop. lasts_ms: of a freeze or a cut on the map. first_ms, step_ms:
    its moments. also: the faults of every run, as a link has them. cuts: the map has
    nothing but cuts, between all brokers.
    """

    acks: str = "1"
    lasts_ms: int = 12_000
    first_ms: int = FIRST_MS
    step_ms: int = COARSE_MS
    also: Sequence[str] = ()
    cuts: bool = False

    @property
    def moments(self) -> range:
        last_ms = self.first_ms + COLUMNS * self.step_ms
        return range(self.first_ms, last_ms, self.step_ms)

    @property
    def faults(self) -> list[Striking]:
        """The faults that are the rows of the map."""
        lasts = {"at_ms": 0, "for_ms": self.lasts_ms}
        if self.cuts:
            return [Cut(*ends, **lasts) for ends in combinations(BROKERS, 2)]
        return [
            Crash(1, restart_after_ms=BACK_MS),
            Crash(2, restart_after_ms=BACK_MS),
            Freeze(1, **lasts),
            Freeze(2, **lasts),
            Freeze(3, **lasts),
            Cut(1, 2, **lasts),
        ]


def answer(question: str) -> str:
    """JSON in, JSON out; do: what is asked."""
    asked = json.loads(question)
    try:
        settings = checked(asked.get("settings", {}))
        found = DOES[asked["do"]](settings, asked)
    except (ValueError, TypeError, KeyError) as error:
        found = {"error": str(error)}
    return json.dumps(found)


def checked(given: dict[str, Any]) -> Settings:
    """ValueError: settings of a link that make no sense."""
    settings = Settings(**given)
    if settings.acks not in ACKS:
        raise ValueError("acks is 1 or all")
    if settings.lasts_ms not in LASTS_MS or settings.step_ms not in (
        COARSE_MS,
        FINE_MS,
    ):
        raise ValueError("the map has no such faults or moments")
    if len(settings.also) > MOST_FAULTS:
        raise ValueError(f"{MOST_FAULTS} faults are enough")
    if not EARLIEST_MS <= settings.first_ms <= LATEST_MS:
        raise ValueError("the map begins between 4 and 6 s")
    return settings


# -- faults as a link has them


def read(word: str) -> Striking:
    """The fault that a word such as freeze~1~5030~12000 means. Errors: ValueError."""
    what, where, *numbers = word.split("~")
    brokers = [int(each) for each in where.split("-")]
    at_ms, *for_ms = map(int, numbers)
    is_known = set(brokers) <= set(BROKERS) and len(set(brokers)) == len(brokers)
    if not is_known or not EARLIEST_MS <= at_ms <= LATEST_MS:
        raise ValueError(f"{word}: brokers are 1 to 3, and faults strike from 4 to 6 s")
    if what == "kill" and len(brokers) == 1 and not for_ms:
        return Crash(brokers[0], at_ms, restart_after_ms=BACK_MS)
    if len(for_ms) == 1 and for_ms[0] in LASTS_MS:
        if what == "freeze" and len(brokers) == 1:
            return Freeze(brokers[0], at_ms, for_ms[0])
        if what == "cut" and len(brokers) == 2:
            return Cut(brokers[0], brokers[1], at_ms, for_ms[0])
    raise ValueError(f"{word} is no fault of this game")


def written(fault: Striking) -> str:
    """A fault as a link has it."""
    match fault:
        case Crash():
            return f"kill~{fault.node}~{fault.at_ms}"
        case Freeze():
            return f"freeze~{fault.node}~{fault.at_ms}~{fault.for_ms}"
        case Cut():
            return f"cut~{fault.one}-{fault.other}~{fault.at_ms}~{fault.for_ms}"
    raise ValueError(f"{fault!r} is no fault of this game")


# -- what is asked


def mapped(settings: Settings, asked: dict[str, Any]) -> Data:
    """The map before anybody has tried anything, with the run that has only the given
    faults. The lines above the map say what happens in that run. given: how many of
    the faults stay. draws: with the end of that run.
    """
    plan = [read(word) for word in settings.also]
    cluster = five_orders(plan, acks=int_or_all(settings.acks))
    found: Data = {
        "strip": strip(
            title(settings),
            faults=[named(fault) for fault in settings.faults],
            moments_ms=settings.moments,
            rows=[[None] * COLUMNS] * len(settings.faults),
            also=[in_words(fault) for fault in plan],
            given=asked.get("given", 0),
            keeps=False,
            marks=[Mark(ms, f"{ms / 1000:.3f}") for ms in settings.moments[::MARKED]],
            tracks=tracks(cluster),
            kinds=KINDS,
        )
    }
    if asked.get("draws"):
        play = played(picture(PICTURE, cluster.trace), plan)
        found |= {**play, "begin": len(play["steps"]) - 1}
    cluster.close()
    return found


def tracks(cluster: Cluster) -> dict[str, list[Mark]]:
    """When each order came to a broker, and when the shop heard of it."""
    story = game_reasons.Story(list(cluster.trace))
    leader, *others = [f"broker {node}" for node in BROKERS]
    found = {f"on {leader}": story.came_ms[leader], "shop hears “done”": story.done_ms}
    for broker in others:
        found[f"on {broker}"] = story.came_ms[broker]
    return {name: together(moments) for name, moments in found.items()}


def together(moments: dict[str, int]) -> list[Mark]:
    """A mark for all orders that came at the same moment; they come in their order."""
    marks = []
    for ms, some in groupby(moments, moments.__getitem__):
        numbers = [order.split()[-1] for order in some]
        words = numbers[0] if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
        marks.append(Mark(ms, words))
    return marks


def title(settings: Settings) -> str:
    return f"acks={settings.acks}: a cell’s moment is its left edge"


def tried(settings: Settings, asked: dict[str, Any]) -> Data:
    """The run of one cell, or, without a cell, of the faults alone. draws: with what
    its picture plays.
    """
    plan = [read(word) for word in settings.also]
    if "cell" in asked:
        plan.append(fault_of(settings, asked))
    cluster = five_orders(plan, acks=int_or_all(settings.acks))
    gone = lost(cluster) or []
    found: Data = {
        "ended": told(fared(cluster), len(gone)),
        "plan": [written(fault) for fault in plan],
        "said": game_reasons.said(cluster),
        "why": game_reasons.why(cluster),
        "lost": [int(order.split()[-1]) for order in gone],
        "code": program(settings.acks, plan),
    }
    if asked.get("draws"):
        shown = picture(PICTURE, cluster.trace)
        found["play"] = played(shown, plan)
        decided = game_reasons.decides(shown)
        if decided is not None:
            found["play"]["begin"] = decided
    cluster.close()
    return found


def pinned(settings: Settings, asked: dict[str, Any]) -> Data:
    """A cell's fault as a link has it."""
    return {"fault": written(fault_of(settings, asked))}


def fault_of(settings: Settings, asked: dict[str, Any]) -> Striking:
    """That of the cell which is asked for: [row, column]."""
    row, column = asked["cell"]
    return struck(settings.faults[row], settings.moments[column])


def program(acks: str, plan: Sequence[Fault]) -> list[str]:
    """The lines that run the same, wherever minikafka is."""
    return [
        "from minikafka.course.experiments.lesson_09_runs import fared, five_orders",
        "from minikafka.faults import Crash, Cut, Freeze",
        "",
        "plan = [",
        *[f"    {fault!r}," for fault in plan],
        "]",
        f"cluster = five_orders(plan, acks={int_or_all(acks)!r})",
        "print(fared(cluster))",
        f'cluster.play("{PICTURE}")',
    ]


def next_cells(settings: Settings, asked: dict[str, Any]) -> Data:
    """Which cells to run next, from coarse to fine; known: [row, column, kind, words]
    of each so far.
    """
    known = {}
    for row, column, kind, words in asked["known"]:
        known[Place(row, column)] = Outcome(kind, words)
    return {"cells": wanted(len(settings.faults), COLUMNS, known)}


def told(outcome: Outcome, lost: int) -> Ended:
    """A run's outcome in the form that the strip shows. lost: how many orders."""
    return Ended(outcome.kind, f"−{lost}" if lost else outcome.sign, str(outcome))


def int_or_all(acks: str) -> int | str:
    return acks if acks == "all" else int(acks)


def first_picture() -> Picture:
    """The run in which nothing goes wrong, over a map that nobody has tried."""
    shown = picture(PICTURE, five_orders([], acks=1).trace)
    shown.strip = mapped(Settings(), {})["strip"]
    return shown


DOES = {"map": mapped, "try": tried, "pin": pinned, "next": next_cells}
