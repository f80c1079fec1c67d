"""What lesson 02 and its extra ask of a trace: which partitions producers chose."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from minikafka.clients.partitioners import to_positive
from minikafka.trace import Event


def partition_of(key: str) -> Callable[[Iterable[Event]], str]:
    """The partition that a producer chose for this key, as "partition 4"."""

    def option(trace: Iterable[Event]) -> str:
        chosen = dict(partitions_chosen(trace))
        return f"partition {chosen[key]}"

    return option


def partitions_chosen(
    trace: Iterable[Event], producer: str | None = None
) -> list[tuple[str | None, int]]:
    """(key, partition) of every record, in the order in which producers chose.
    producer: the client_id of one.
    """
    chosen = []
    for event in trace:
        if event.kind == "PartitionChosen" and producer in (None, event.node):
            chosen.append((event.detail["key"], event.detail["partition"]))
    return chosen


def partitions_used(trace: Iterable[Event], key: str | None = None) -> int:
    """To how many partitions records were sent; only those with this key, if one is
    named.
    """
    used = set()
    for chosen_for_key, partition in partitions_chosen(trace):
        if key in (None, chosen_for_key):
            used.add(partition)
    return len(used)


def keys_that_moved(trace: Iterable[Event]) -> list[str | None]:
    """The keys whose records were sent to more than one partition, sorted."""
    partitions = Counter(key for key, _ in set(partitions_chosen(trace)))
    return sorted((key for key in partitions if partitions[key] > 1), key=str)


def for_how_many_both_agree(trace: Sequence[Event]) -> str | None:
    """For how many of twelve keys two producers chose the same partition, in the words
    of lesson 02's options; None until both have sent all twelve.
    """
    if len(partitions_chosen(trace)) < 24:
        return None
    agree = 12 - len(keys_that_moved(trace))
    if agree == 0:
        return "none"
    return "3 to 5" if agree <= 5 else "6 to 9"


def the_topic_grows(event: Event) -> bool:
    """A condition: with this event a topic has more partitions."""
    return event.kind == "PartitionsCreated"


def first_acknowledgement(event: Event) -> bool:
    """A condition: in this event a broker acknowledges a batch."""
    return event.kind == "RecordsAcknowledged"


def partitions_of_all_twelve(trace: Sequence[Event]) -> int | None:
    """How many partitions twelve records went to, which is the option's number; None
    until all are sent.
    """
    return partitions_used(trace) if len(partitions_chosen(trace)) >= 12 else None


def customers_that_move(trace: Iterable[Event]) -> str:
    """How many of twelve customers go elsewhere since the topic grew: "9 of 12"."""
    return f"{len(keys_that_go_elsewhere(trace))} of 12"


def keys_that_go_elsewhere(trace: Iterable[Event]) -> list[str]:
    """The keys that murmur2 sends to another partition since the topic grew, sorted:
    those of the records that were sent before.
    """
    hashes: dict[str, int] = {}
    for event in trace:
        d = event.detail
        if event.kind == "PartitionChosen" and d["hash"] is not None:
            hashes[d["key"]] = to_positive(d["hash"])
        elif event.kind == "PartitionsCreated":
            return sorted(
                key
                for key, hashed in hashes.items()
                if hashed % d["was"] != hashed % d["partitions"]
            )
    return []


def records_in_each(
    trace: Iterable[Event], partitions: int, producer: str | None = None
) -> list[int]:
    """How many records producers sent to partition 0, 1 and so on."""
    chosen = [partition for _, partition in partitions_chosen(trace, producer)]
    return [chosen.count(partition) for partition in range(partitions)]


def the_busiest(counts: Sequence[int]) -> str:
    """How many records the fullest partition has, as the nearest of lesson 02's
    options.
    """
    options = {50: "about 50", 125: "about 125", 225: "about 225"}
    return options[min(options, key=lambda option: abs(option - max(counts)))]


def bars(counts: Sequence[int]) -> str:
    """The numbers of records in partitions, as a line and a bar each."""
    width = 40 / max([1, *counts])
    lines = []
    for number, count in enumerate(counts):
        bar = "█" * round(width * count)
        line = f"  partition {number}  {count:4}  {bar}"
        lines.append(line.rstrip())
    return "\n".join(lines)
