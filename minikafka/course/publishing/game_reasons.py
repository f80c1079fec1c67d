"""Why a run of the game ended as it did, in a sentence or two that are read off its
trace: who led, who had an order when the shop was told that it's done, and what a log
had to drop.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from minikafka.course.experiments.lesson_09_runs import (
    BEGINS_MS,
    EVERY_MS,
    ORDERS,
    acknowledged,
    lost,
)
from minikafka.simulation.cluster import Cluster
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import capital
from minikafka.trace import Event

NO_HARM = "No harm done: every order was confirmed, and is still there."
NOBODY = "No broker leads, so nobody can read the orders. None of them is known lost."
NO_MAJORITY = (
    "Two of three brokers were away, and they are the controllers, too: without a"
    " majority nobody could name a leader until one was back."
)
MAJORITY = 2  # of the three controllers
LONG_MS = 2000  # a leader is replaced after 9 s: what is shorter delays nothing
NOTICED_MS = 500  # a shorter wait isn't noticed

Holders = dict[str, dict[int, str]]  # broker -> the orders in its log, by offset


class Story:
    """What the trace says about the orders. came_ms: when each came to a broker first.
    done_ms: when it was confirmed. had: which brokers had it then. written: which
    leader's log it came into, and where in the trace. elected: all leaders after the
    first one, and where in the trace.
    """

    def __init__(self, trace: Sequence[Event]) -> None:
        self.trace = trace
        self.came_ms: dict[str, dict[str, int]] = defaultdict(dict)
        self.done_ms: dict[str, int] = {}
        self.done_at: dict[str, int] = {}
        self.had: dict[str, list[str]] = {}
        self.written: dict[str, tuple[str, int]] = {}
        self.elected: list[tuple[str, int]] = []
        self.first = "the leader"
        logs: Holders = {}
        leading: dict[int, str] = {}  # offset -> the order that was written there last
        for at, event in enumerate(trace):
            self._see(at, event, logs, leading)

    def _see(
        self, at: int, event: Event, logs: Holders, leading: dict[int, str]
    ) -> None:
        d = event.detail
        if event.kind == "LeaderElected" and d["leader_epoch"] > 0:
            self.elected.append((event.node, at))
        elif event.kind in ("RecordsAppended", "RecordsReplicated"):
            told = {offset: order for offset, _, order, *_ in d["records"]}
            if event.kind == "RecordsAppended":
                leading |= told
                self.written |= dict.fromkeys(told.values(), (event.node, at))
                if not self.elected:
                    self.first = event.node
            log = logs.setdefault(event.node, {})
            # of several batches that are copied together, the event tells the first
            for offset in range(d["base_offset"], d["last_offset"] + 1):
                log[offset] = order = told.get(offset, leading[offset])
                self.came_ms[event.node].setdefault(order, event.at)
        elif event.kind == "LogTruncated":
            log = logs.get(event.node, {})
            logs[event.node] = {
                offset: order
                for offset, order in log.items()
                if offset < d["log_end_offset"]
            }
        elif event.kind == "RecordsAcknowledged":
            begins = d["base_offset"]
            for offset in range(begins, begins + d["count"]):
                order = leading[offset]
                self.done_ms[order] = event.at
                self.done_at[order] = at
                self.had[order] = [
                    node for node, log in logs.items() if order in log.values()
                ]

    def leader_after(self, at: int) -> str | None:
        """The broker that was elected next."""
        return next((node for node, there in self.elected if there > at), None)

    def leader_before(self, at: int) -> str | None:
        """The broker that was elected last, unless it's the first leader."""
        before = [node for node, there in self.elected if there < at]
        return before[-1] if before else None

    def woke(self, node: str, until: int) -> bool:
        """Whether it had stood still before this place of the trace."""
        return any(
            event.kind == "NodeThawed" and event.node == node
            for event in self.trace[: until + 1]
        )


def said(cluster: Cluster) -> str:
    """What became of the orders."""
    gone = lost(cluster)
    if gone is None:
        return NOBODY
    if gone:
        verb, are = ("was", "is") if len(gone) == 1 else ("were", "are")
        return f"{capital(orders(gone))} {verb} confirmed, and {are} gone."
    confirmed = acknowledged(cluster)
    missing = [order for order in all_orders() if order not in confirmed]
    if missing:
        verb = "was" if len(missing) == 1 else "were"
        return f"Nothing lost: {orders(missing)} {verb} never confirmed."
    story = Story(list(cluster.trace))
    late = [order for order in all_orders() if _waited_ms(story, order) >= NOTICED_MS]
    if not late:
        return NO_HARM
    waited_s = round(max(_waited_ms(story, order) for order in late) / 1000)
    for_whom = "for a new leader" if story.elected else f"for {story.first}"
    are = "is" if len(late) == 1 else "are"
    waited = f"{capital(orders(late))} waited {waited_s} s {for_whom}"
    return f"Nothing lost. {waited}, and {are} safe."


def why(cluster: Cluster) -> str:
    """How that came."""
    story = Story(list(cluster.trace))
    gone = lost(cluster)
    if gone is None:
        return ""
    reasons = list(_why_lost(story, gone)) if gone else [_why_safe(story)]
    if story.elected and without_majority_ms(story.trace) >= LONG_MS:
        reasons.append(NO_MAJORITY)
    return " ".join(reasons)


def without_majority_ms(trace: Sequence[Event]) -> int:
    """How long at least two of the three brokers stood still or were dead. All three
    are controllers, too.
    """
    away: set[str] = set()
    found_ms = before_ms = 0
    for event in trace:
        if len(away) >= MAJORITY:
            found_ms += event.at - before_ms
        before_ms = event.at
        if event.kind in ("NodeCrashed", "NodeFrozen"):
            away.add(event.node)
        elif event.kind in ("NodeRestarted", "NodeThawed"):
            away.discard(event.node)
    return found_ms


def _why_lost(story: Story, gone: Sequence[str]) -> Iterator[str]:
    for (writer, taker, knew_nothing), some in groupby(
        gone, lambda order: _how_lost(story, order)
    ):
        group = list(some)
        what, them = orders(group), "it" if len(group) == 1 else "them"
        if knew_nothing:
            at = story.written[group[0]][1]
            begins = (
                f"{capital(writer)} woke after {taker} had taken over"
                if story.woke(writer, at)
                else f"{capital(taker)} had taken over, and {writer} didn’t know"
            )
            yield f"{begins}: it accepted {what}, said “done”, and had to drop {them}."
        else:
            yield (
                f"{capital(writer)} said “done” before {taker} had {what}. Then"
                f" {taker} took over, and what it doesn’t have is dropped."
            )


def _how_lost(story: Story, order: str) -> tuple[str, str, bool]:
    """Who wrote a lost order into its log, who took over, and whether it had done so
    before.
    """
    writer, at = story.written[order]
    before = story.leader_before(at)
    if before is not None and before != writer:
        return writer, before, True
    return writer, story.leader_after(at) or "another broker", False


def _why_safe(story: Story) -> str:
    if not story.elected:
        if story.woke(story.first, len(story.trace)):
            return f"{capital(story.first)} led again before anybody had replaced it."
        return f"{capital(story.first)} led all the time, and kept every order."
    taker, at = story.elected[0]
    before = [order for order in story.done_at if story.done_at[order] < at]
    if not before:
        return (
            f"Nothing had been confirmed when {taker} took over: the shop sent its"
            " orders again."
        )
    had = all(taker in story.had[order] for order in before)
    if had:
        already = f"already had {orders(before)} when the shop was told"
        return f"{capital(taker)} took over, and {already}."
    return f"By the time {taker} took over, it had {orders(before)}."


def _waited_ms(story: Story, order: str) -> int:
    number = int(order.split()[-1])
    return story.done_ms[order] - (BEGINS_MS + number * EVERY_MS)


def all_orders() -> list[str]:
    return [f"order {number}" for number in range(ORDERS)]


def orders(names: Sequence[str]) -> str:
    """ "order 3", "orders 2 and 3", "orders 1 to 4"."""
    numbers = sorted(int(name.split()[-1]) for name in names)
    if len(numbers) == 1:
        return f"order {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"orders {numbers[0]} to {numbers[-1]}"
    *most, last = map(str, numbers)
    return f"orders {', '.join(most)} and {last}"


def decides(shown: Picture) -> int | None:
    """The step of a picture at which a log drops a confirmed order, or at least the one
    at which it's lost; None where nothing is lost.
    """
    found = [scene for scene in shown.scenes if scene["trouble"] and "light" in scene]
    cuts = [scene for scene in found if scene["kind"] == "LogTruncated"]
    return next((scene["step"] for scene in [*cuts, *found]), None)
