"""What somebody who looks after a Kafka should know, worst first. It holds for one
moment; what is told is computed anew from each look.
"""

from collections.abc import Iterator

from minikafka.theatre.text import counted, listed
from minikafka.watching.seen import NOBODY, Group, Place, Seen
from minikafka.watching.watched import Watched

# groups in these states have all that they are to have
SETTLED = {"Stable", "Empty", "Dead", "NotReady"}


def problems(watched: Watched, now_s: float) -> list[str]:
    """A sentence for each; none, if all is well."""
    return [*_problems(watched, now_s)]


def _problems(watched: Watched, now_s: float) -> Iterator[str]:
    if watched.missed is not None:
        since_s, why = watched.missed
        yield (
            f"Nobody answers at {watched.name}, for {now_s - since_s:.0f} s: {why}. It's"
            " asked again every second; below is what was seen last."
        )
        return
    seen = watched.seen
    if seen is None:
        return
    for broker in watched.away:
        yield f"Broker {broker} is away: the others don't count it any more."
    yield from of_partitions(seen)
    for group in seen.groups.values():
        yield from of_group(watched, seen, group)
    yield from seen.errors


def of_partitions(seen: Seen) -> Iterator[str]:
    leaderless = [place for place, part in seen.parts.items() if part.leader == NOBODY]
    if leaderless:
        words = "has" if len(leaderless) == 1 else "have"
        yield f"{listed(leaderless)} {words} no leader: nobody can write or read there."
    behind = {
        str(place): part for place, part in seen.parts.items() if part.out_of_sync
    }
    if behind:
        out = sorted({each for part in behind.values() for each in part.out_of_sync})
        brokers = f"broker{'' if len(out) == 1 else 's'} {listed(out)}"
        yield f"Not in sync on {brokers}: {listed(behind, 5)}."


def of_group(watched: Watched, seen: Seen, group: Group) -> Iterator[str]:
    if group.state not in SETTLED:
        yield f"Group {group.name} rebalances: {group.state}."
    unread: list[Place] = []
    slow: dict[str, list[Place]] = {}
    for place in group.places:
        reader, lag = group.reader(place), seen.lag(group, place)
        if reader is None and lag:
            unread.append(place)
        elif reader is not None and watched.grows(group, place):
            slow.setdefault(reader.client, []).append(place)
    if unread:
        lag = sum(seen.lag(group, place) or 0 for place in unread)
        grows = any(watched.grows(group, place) for place in unread)
        yield (
            f"Group {group.name}: nobody reads {listed(unread, 5)}. The lag is {lag:,}"
            f"{', and grows' if grows else ''}."
        )
    for client, places in slow.items():
        yield (
            f"Group {group.name}: {client} reads {listed(places, 5)} more slowly than"
            " producers write; the lag grows."
        )


def all_is_well(seen: Seen) -> str:
    """Where there is no problem."""
    return (
        f"All is well: {counted(len(seen.brokers), 'broker')},"
        f" {counted(len(seen.parts), 'partition')},"
        f" {counted(len(seen.groups), 'group')}, and no lag grows."
    )
