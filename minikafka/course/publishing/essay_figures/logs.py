"""The brokers' copies of a partition when a run ends, and the records they cut off."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minikafka.course.publishing.essay_figures.frame import LOST
from minikafka.trace import Event

TOPIC = "orders"
# The words over what was cut off, and their colour: by whether it is lost.
CUT_OFF = {True: ("cut off: lost", LOST), False: ("cut off, sent again", "quiet")}


class Arrival(NamedTuple):
    """A broker has these values, from an offset on."""

    broker: int
    at_ms: int
    offset: int
    values: list[str]


class Cut(NamedTuple):
    """A broker's log ends here now."""

    broker: int
    offset: int


class Copy(NamedTuple):
    """The values that a broker keeps, and those that it cut off."""

    kept: tuple[str, ...]
    cut: tuple[str, ...]


def number_of(node: str) -> int:
    """2 for "broker 2"."""
    return int(node.removeprefix("broker "))


def changes(trace: Sequence[Event]) -> Iterator[Arrival | Cut]:
    """What happens to the copies of orders-0. A follower's event may name its first
    records only; the others are those of the leader.
    """
    leaders_log: list[str] = []
    for event in trace:
        d = event.detail
        if d.get("topic") != TOPIC:
            continue
        if event.kind == "RecordsAppended":
            values = [value for _, _, value, _ in d["records"]]
            leaders_log[d["base_offset"] :] = values
            yield Arrival(number_of(event.node), event.at, d["base_offset"], values)
        elif event.kind == "RecordsReplicated":
            values = leaders_log[d["base_offset"] : d["last_offset"] + 1]
            yield Arrival(number_of(event.node), event.at, d["base_offset"], values)
        elif event.kind == "LogTruncated":
            yield Cut(number_of(event.node), d["log_end_offset"])


def copies(trace: Sequence[Event]) -> dict[int, Copy]:
    """By broker, at the end."""
    kept: dict[int, list[str]] = {}
    cut: dict[int, list[str]] = {}
    for change in changes(trace):
        log = kept.setdefault(change.broker, [])
        if isinstance(change, Cut):
            cut.setdefault(change.broker, []).extend(log[change.offset :])
            del log[change.offset :]
        else:
            log += change.values
    return {
        broker: Copy(tuple(log), tuple(cut.get(broker, ())))
        for broker, log in sorted(kept.items())
    }
