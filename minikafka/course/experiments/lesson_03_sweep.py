"""Lesson 03's sweep: one message is lost, which one is the column, and the settings and
whether it is a request or an answer are the row.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from minikafka import Cluster
from minikafka.course.experiments.lesson_03_runs import written
from minikafka.course.experiments.sweeps import Compared, sweep_of, went_wrong
from minikafka.faults import Lose

ORDERS = 3


def lost_sweep(settings: Mapping[str, Mapping[str, Any]]) -> Any:
    """Three orders at once, each in a request of its own. settings: of the producer, by
    their name.
    """
    runs = []
    for name, config in settings.items():
        for answer in (False, True):
            for number in range(ORDERS):
                runs.append(_run(name, config, number, answer))
    sums = [f"{name} {went_wrong(runs, name)}" for name in settings]
    return sweep_of(
        runs,
        title="One message is lost, and the log in the end",
        across="it is the message of",
        foot="Green: once, and in order. Red: twice. Yellow: overtaken.",
        in_short=(
            "Sent again, a batch comes twice or too late, unless the broker knows its"
            f" number. Wrong: {', '.join(sums)}."
        ),
    )


def _run(name: str, config: Mapping[str, Any], number: int, answer: bool) -> Compared:
    fault = Lose("shop", 1, "Produce", nth=number + 1, answer=answer)
    with Cluster(seed=1, faults=[fault]) as cluster:
        cluster.create_topic("orders", partitions=1)
        shop = cluster.producer(client_id="shop", linger_ms=0, batch_size=1, **config)
        for each in range(ORDERS):
            shop.send("orders", key="alice", value=f"order {each}")
        cluster.run(seconds=1)
        values = written(cluster.trace)
    log = [value.removeprefix("order ") for value in values]
    what = "answer" if answer else "request"
    wrong = _wrong(log)
    found = f"the log holds {' '.join(log)}"
    return Compared(
        row=(name, f"{what} lost"),
        column=f"order {number}",
        records=_records(log),
        says=f"{name.capitalize()}, the {what} of order {number} is lost: {found}.",
        wrong=wrong,
    )


def _records(log: Sequence[str]) -> list[tuple[str, str]]:
    """Each order with its fate: written twice, or after one that was sent later."""
    times = Counter(log)
    records = []
    latest = ""
    for order in log:
        became = "there"
        if times[order] > 1:
            became = "twice"
        elif order < latest:
            became = "late"
        records.append((order, became))
        latest = max(latest, order)
    return records


def _wrong(log: Sequence[str]) -> str:
    if max(Counter(log).values()) > 1:
        return "an order is there twice"
    if list(log) != sorted(log):
        return "orders are overtaken"
    return ""
