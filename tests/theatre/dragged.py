"""Pictures in which an answer is dragged: a length, an offset, a time of the orders' own."""

from functools import cache

from minikafka.course.experiments.lesson_06_runs import newcomer, unread
from minikafka.course.experiments.lesson_07_runs import at_work, start, waiting
from minikafka.course.experiments.lesson_10_runs import two_leaders_meet
from minikafka.course.experiments.lesson_18_event_time import (
    RECORDED,
    begins,
    trace,
)
from minikafka.prediction import Dragged
from minikafka.theatre import picture


def asked(name, events, answer, surprise, options, **more):
    question = {"question": "How far?", "options": options}
    question["because"] = [f"It is {option}." for option in options]
    return picture(
        name, events, prediction=question, surprise=surprise, answer=answer, **more
    )


@cache
def rebalance(places=(0, 3000, 8000), on="P0"):
    """For how long nobody reads A's partitions: 8.0 s."""
    return asked(
        "rebalance",
        newcomer(busy_s=12).trace,
        Dragged(unread(0), places, on),
        lambda event: event.kind == "RebalanceStarted" and event.at > 22_000,
        ["not at all", "3 s", "8 s"],
        since_ms=20_000,
    )


def cut_at(events):
    cuts = [event for event in events if event.kind == "LogTruncated"]
    return cuts[0].detail["log_end_offset"] if cuts else None


@cache
def fork():
    """At which offset the log is cut: 1."""
    return asked(
        "fork",
        two_leaders_meet().trace,
        Dragged(cut_at, [0, 1, 2]),
        lambda event: event.kind == "LogTruncated",
        ["offset 0", "offset 1", "offset 2"],
    )


def last_watermark(events):
    """With which micro-batch 4 works, in minutes."""
    return next(
        (event.detail["watermark"] for event in events if begins(4)(event)), None
    )


@cache
def watermark():
    """Where it stands when all orders were read: 08:27."""
    return asked(
        "watermark",
        trace(RECORDED),
        Dragged(last_watermark, [27, 37]),
        begins(4),
        ["08:27", "08:37"],
    )


@cache
def lag():
    """How long a member needs for 20 orders: 4.0 s."""
    cluster = waiting(orders=20, partitions=1, seed=1)
    start(cluster, "A", processing_ms=200, max_poll_records=5)
    cluster.run(seconds=12)
    return asked(
        "lag",
        cluster.trace,
        Dragged(at_work, [2000, 4000]),
        lambda event: event.kind == "RecordsPolled",
        ["2 s", "4 s"],
    )


EVERY = (rebalance, lag, fork, watermark)
