"""The cast of the share partition's picture: its members by name, and the records by
their values.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from minikafka.theatre.casting import Letters, letters
from minikafka.trace import Event

# what clients tell of themselves, and what brokers tell of members
BY_NAME = ("ShareRecordsPolled", "SharePartitionsAssigned")
BY_ID = ("ShareRecordsAcquired", "ShareRecordsAcknowledged", "ShareLocksRenewed")


def names_of(trace: Iterable[Event], group: str) -> dict[str, str]:
    """Member id -> the client's name; where no client speaks, its place among them."""
    found: dict[str, str] = {}
    told: dict[str, None] = {}
    for event in trace:
        if event.detail.get("group") != group:
            continue
        if event.kind in BY_NAME:
            found[event.detail["member"]] = event.node
        elif event.kind in BY_ID:
            told[event.detail["member"]] = None
    unknown = [member for member in told if member not in found]
    return found | {each: f"member {n}" for n, each in enumerate(unknown, 1)}


def most_frequent(names: Iterable[str]) -> str:
    """The name that is told most often, or ""."""
    times = Counter(names)
    return max(times, key=lambda name: times[name], default="")


def members_of(groups: Mapping[str, str], group: str) -> list[str]:
    """The clients of a group; groups: client -> its group."""
    if not group:
        return []
    return [name for name, its in groups.items() if its == group]


def readers_in(mine: Iterable[Event], members: Collection[str]) -> Iterator[str]:
    """Which of these members each poll was of."""
    for event in mine:
        if event.kind == "RecordsPolled" and event.node in members:
            yield event.node


def other_group(mine: Iterable[Event], groups: Mapping[str, str], group: str) -> str:
    """The consumer group that polls most, or ""."""
    found = (groups.get(name, "") for name in readers_in(mine, groups))
    return most_frequent(each for each in found if each not in ("", group))


def busiest_members(times: Counter[str], most: int) -> list[str]:
    """Those that got records most often, in order of their names."""
    by_use = sorted(times, key=lambda name: (-times[name], name))
    return sorted(by_use[:most])


class Values(NamedTuple):
    """by_offset: what is in each record. letters: of each value a short form. end: of
    the log, after all.
    """

    by_offset: Mapping[int, str | None]
    letters: Letters
    end: int


def values_of(mine: Iterable[Event], partition: int) -> Values:
    """The values of a partition's records."""
    values: dict[int, str | None] = {}
    end = 0
    for event in mine:
        if event.kind != "RecordsAppended" or event.detail["partition"] != partition:
            continue
        end = max(end, event.detail["last_offset"] + 1)
        for offset, key, value, *_ in event.detail.get("records", ()):
            values[offset] = value or key
    return Values(values, letters(values.values()), end)
