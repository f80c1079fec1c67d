"""Answers that several lessons read from a trace: the answer to a prediction is
computed from what happened, never typed in.
"""

from collections.abc import Callable, Iterable

from minikafka.trace import Event


def values_read(trace: Iterable[Event]) -> str:
    """The values that consumers got, in the order they got them: "created, then
    paid".
    """
    return ", then ".join(each_value_read(trace))


def each_value_read(trace: Iterable[Event]) -> list[str]:
    """The values that consumers got, in the order they got them."""
    return [
        value
        for event in trace
        if event.kind == "RecordsPolled"
        for _, _, value in event.detail["records"]
    ]


def of_kind(kind: str) -> Callable[[Event], bool]:
    """A condition: an event of this kind."""
    return lambda event: event.kind == kind


def chosen_for(value: str) -> Callable[[Event], bool]:
    """A condition: in this event a producer chooses the partition of the record with
    this value.
    """

    def is_chosen(event: Event) -> bool:
        return event.kind == "PartitionChosen" and event.detail["value"] == value

    return is_chosen


def partition_for(value: str) -> Callable[[Iterable[Event]], int]:
    """The number of the partition that a producer chose for this value, as an option's
    number: the first one is 1.
    """
    is_chosen = chosen_for(value)

    def option(trace: Iterable[Event]) -> int:
        event = next(filter(is_chosen, trace))
        return 1 + event.detail["partition"]

    return option
