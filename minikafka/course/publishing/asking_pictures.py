"""Pictures that ask in the gallery, where nothing around them does: runs of lessons
whose own pictures ask nothing, because the text does, or another cell.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from minikafka.course.experiments import lesson_04_runs
from minikafka.course.experiments import lesson_12_frames as frames
from minikafka.course.experiments import lesson_19_checkpoints as checkpoints
from minikafka.theatre import picture
from minikafka.theatre.picture import Picture
from minikafka.trace import Event

CALLS = ("poll", "add", "commit")
ORDERS = 5

TWICE = {
    "question": "Killed at which call does an order count twice?",
    "options": CALLS,
    "because": (
        "Everything that was paid is committed by then, so nothing comes again.",
        "The order is neither paid nor committed, so it comes again and is paid once.",
        "The order is paid and not committed, so it comes again and is paid again.",
    ),
}
NOTICED = {
    "question": "Flip one bit anywhere: does the broker always notice?",
    "options": (
        "always",
        "in about five of six bytes",
        "only in the half that the checksum covers",
    ),
    "because": (
        "Outside the checksum, a value that makes sense is as good as the right one.",
        "It notices what the checksum covers, and elsewhere what makes no sense.",
        "Elsewhere it refuses what makes no sense: a wrong length, an unknown topic.",
    ),
}
IN_THE_SINK = {
    "question": (
        "The query is killed when batch 1 is in the sink, before commits/1, and starts"
        " again. How many rows are in the sink in the end?"
    ),
    "options": (
        "as many as there are records",
        "more: some rows are there twice",
        "fewer: some rows are missing",
    ),
    "because": (
        "Spark knows only that commits/1 is missing, and not what the sink has.",
        "Without commits/1 Spark does batch 1 again, so its rows come a second time.",
        "The sink keeps what it has, and Spark does every plan without a commit again.",
    ),
}


@cache
def killed_at_each_call() -> Picture:
    """Lesson 04: the program that commits after its work."""

    def commit_after(consumer: Any, payments: Any) -> None:
        for record in consumer:
            payments.add(record, record.value)
            consumer.commit()

    def twice_at(trace: Sequence[Event]) -> int | None:
        at = (each.detail["call"] for each in trace if max(each.detail["written"]) > 1)
        first = next(at, None)
        return None if first is None else CALLS.index(first) + 1

    calls = range(1, len(CALLS) * ORDERS + 1)
    runs = [lesson_04_runs.killed_at(commit_after, call) for call in calls]
    asked: Picture = lesson_04_runs.sweep(
        runs, CALLS, ORDERS, prediction=TWICE, answer=twice_at
    )
    return asked


@cache
def each_byte_flipped() -> Picture:
    """Lesson 12: a request, of which one byte after the other is changed."""
    request, *_ = frames.frames()

    def noticed(trace: Sequence[Event]) -> int | None:
        by = [each.detail["by"] for each in trace if each.detail["at"] is not None]
        if len(by) < len(request.data):
            return None
        share = by.count(frames.BROKER) / len(by)
        return 1 if share == 1 else 2 if share > 0.7 else 3

    return picture(
        "bytes",
        frames.flips(request),
        live="flips",
        prediction=NOTICED,
        answer=noticed,
    )


@cache
def three_kills() -> Picture:
    """Lesson 19: a query that is killed before, in and after its sink's work."""

    def in_the_sink(trace: Sequence[Event]) -> int:
        planned: Counter[int] = Counter()
        written: Counter[int] = Counter()
        for each in trace:
            if each.kind == "PlanWritten":
                planned[each.detail["batch"]] += each.detail["records"]
            if each.kind == "RowsWritten":
                written[each.detail["batch"]] += each.detail["rows"]
        more = written - planned
        return 2 if more else 1 if written == planned else 3

    asked: Picture = checkpoints.RECORDED.play(
        IN_THE_SINK,
        surprise=lambda event: (
            (event.kind, event.detail.get("life")) == ("QueryStarted", 2)
        ),
        answer=in_the_sink,
    )
    return asked


# what is shown: lesson and cell
ASKING: dict[str, Callable[[], Picture]] = {
    "04-line-run": killed_at_each_call,
    "12-fields": each_byte_flipped,
    "19-kill": three_kills,
}
