"""What lesson 03 reads from a producer's trace, and the day on which nothing is
lost.
"""

from collections.abc import Callable, Iterable
from typing import Any

from minikafka.faults import Delay
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event

HOW_OFTEN = ("never", "once", "twice", "three times")


def written(trace: Iterable[Event]) -> list[str]:
    """The values in the log, in the order in which the broker wrote them."""
    appended = [event for event in trace if event.kind == "RecordsAppended"]
    return [
        value
        for event in appended
        for offset, key, value, time in event.detail["records"]
    ]


def in_order(trace: Iterable[Event]) -> str:
    """The numbers of the orders in the log: "0 1 2" for the values "order 0", "order
    1", "order 2".
    """
    return " ".join(value.removeprefix("order ") for value in written(trace))


def producer_ids(trace: Iterable[Event]) -> list[int]:
    """The ids that brokers gave to producers, in their order."""
    given = [event for event in trace if event.kind == "ProducerIdAssigned"]
    return [event.detail["producer_id"] for event in given]


def after_the_loss(event: Event) -> bool:
    """A condition: in this event a producer, which misses an answer, puts a batch back
    into its queue.
    """
    return event.kind == "BatchRetried"


def heard_after(at_ms: int) -> Callable[[Event], bool]:
    """A condition on an event: later than at_ms, a program learns whether its records
    were sent.
    """
    return lambda event: (
        event.at > at_ms
        and event.kind
        in (
            "RecordsAcknowledged",
            "SendFailed",
        )
    )


def how_often(value: str, sent: int) -> Callable[[Iterable[Event]], str | None]:
    """How often the log has this value, in a word; None until this many batches are
    acknowledged.
    """

    def count(trace: Iterable[Event]) -> str | None:
        trace = list(trace)
        acknowledged = sum(event.kind == "RecordsAcknowledged" for event in trace)
        return HOW_OFTEN[written(trace).count(value)] if acknowledged >= sent else None

    return count


def heard_and_written(value: str) -> Callable[[Iterable[Event]], str]:
    """What a program's future says about its only record that may fail, and whether the
    log has this value.
    """

    def outcome(trace: Iterable[Event]) -> str:
        trace = list(trace)
        heard = (
            "failed" if any(event.kind == "SendFailed" for event in trace) else "done"
        )
        return f"{heard}, {'in' if value in written(trace) else 'not in'} the log"

    return outcome


def waits(trace: Iterable[Event]) -> list[int]:
    """For each acknowledged record, the ms from send() to the acknowledgement."""
    sent: dict[int, list[int]] = {}
    found: list[int] = []
    for event in trace:
        if event.kind == "PartitionChosen":
            sent.setdefault(event.detail["batch"], []).append(event.at)
        elif event.kind == "RecordsAcknowledged":
            found += [event.at - at for at in sent[event.detail["batch"]]]
    return found


def a_good_day(**config: Any) -> int:
    """Twenty orders in requests of their own, nothing lost, 22 ms for a message: ms
    until all are acknowledged.
    """
    with Cluster(seed=3, faults=[Delay("shop", 1, extra_ms=20)]) as cluster:
        cluster.create_topic("orders", partitions=1)
        # room for one order
        shop = cluster.producer(client_id="shop", linger_ms=0, batch_size=100, **config)
        shop.send("orders", key="shop", value="hello").get()
        began = cluster.now_ms
        for number in range(20):
            shop.send("orders", key="alice", value=f"order {number}".ljust(50))
        shop.flush()
        return cluster.now_ms - began
