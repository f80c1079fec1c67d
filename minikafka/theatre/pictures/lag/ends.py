"""The last words of the lag's story: everything in one sentence, with the causes and
the numbers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from minikafka.theatre import text
from minikafka.theatre.pictures.lag.followed import Followed, Partitions
from minikafka.theatre.pictures.lag.spells import Spell, lasting
from minikafka.theatre.text import capital, counted, listed

A_FEW = 3  # commits: of fewer one can't say how often they come


class Done(NamedTuple):
    """A partition is caught up with."""

    owner: str
    at_ms: int


@dataclass
class Again:
    """A reader is handed records that it was handed before."""

    reader: str
    records: int
    times: int = 1


class Busy(NamedTuple):
    """A member was out of its group because it polled too late: when it was given its
    records, when it was evicted, and when it polled again.
    """

    handed_ms: int
    out_ms: int
    polled_ms: int

    @property
    def words(self) -> str:
        """How long the program was busy, in words."""
        return _in_seconds(self.polled_ms - self.handed_ms)

    @property
    def allowed(self) -> str:
        """How long it may be silent."""
        return _in_seconds(self.out_ms - self.handed_ms)


@dataclass
class SoFar:
    """Notes for the end. handed_ms: when each member was last given records. out_ms:
    members that are out of the group, and since when. given_up: by members, partitions.
    came, committed: while the group caught up.
    """

    most_lag: int = 0
    most_waiting: int = 0
    commits_ms: list[int] = field(default_factory=list)
    again: Again | None = None
    handed_ms: dict[str, int] = field(default_factory=dict)
    out_ms: dict[str, int] = field(default_factory=dict)
    busy: list[Busy] = field(default_factory=list)
    given_up: Counter[str] = field(default_factory=Counter)
    done: dict[int, Done] = field(default_factory=dict)
    came: int = 0
    committed: int = 0

    def note(self, partitions: Partitions) -> None:
        """How it is after an event."""
        self.most_lag = max(self.most_lag, partitions.lag)
        self.most_waiting = max(self.most_waiting, partitions.waiting)

    def handed_again(self, reader: str, records: int) -> None:
        again = self.again
        if again is None or again.reader != reader:
            again = Again(reader, records)
        again.times += 1
        self.again = again

    def polls_again(self, reader: str, at_ms: int) -> Busy | None:
        """Whoever was out polls again."""
        if reader not in self.out_ms or reader not in self.handed_ms:
            return None
        busy = Busy(
            handed_ms=self.handed_ms[reader],
            out_ms=self.out_ms.pop(reader),
            polled_ms=at_ms,
        )
        self.busy.append(busy)
        return busy

    def caught_up(self, number: int, partition: Followed, at_ms: int) -> None:
        self.done[number] = Done(partition.owner, at_ms)
        came = partition.end - partition.began_end
        self.came += came
        committed = partition.committed or 0
        self.committed += committed - partition.began_committed

    @property
    def commits_every_ms(self) -> int:
        """From one to the next, usually."""
        gaps = [after - before for before, after in pairwise(self.commits_ms)]
        middle = len(gaps) // 2
        return sorted(gaps)[middle]

    @property
    def is_a_saw(self) -> bool:
        """The lag comes from commits, not from a reader that is late."""
        if len(self.commits_ms) < A_FEW:
            return False
        return 0 < 2 * self.most_waiting <= self.most_lag

    @property
    def last(self) -> Done:
        """The last of the partitions that were caught up with."""
        return max(self.done.values(), key=lambda done: done.at_ms)


def nothing_committed(again: Again, so_far: SoFar, lag: int) -> str:
    """The sentence for a group that reads the same records again and again."""
    handed = f"{again.reader} was handed the same {again.records} records"
    words = f"{handed} {again.times} times"
    given_up = so_far.given_up[again.reader]
    if given_up:
        words += f" and lost its partition {given_up} times"
    words += " before it could commit"
    if so_far.busy:
        busy = so_far.busy[-1]
        words += f": they take {busy.words}, and a poll is due within {busy.allowed}"
        return f"{words}. The lag is still {lag:,}."
    return f"{words}: the lag is still {lag:,}."


def _in_seconds(ms: int) -> str:
    return f"{ms / 1000:.0f} s"


def in_short(spells: Sequence[Spell], lasted_ms: int, so_far: SoFar) -> str:
    """After all spells: what each did, and how long it took to catch up."""
    words = []
    for spell in spells:
        end = spell.end or spell.begin
        lasts = lasting(end - spell.begin)
        state = "down" if spell.state == "crashed" else spell.state
        what = f"{spell.who} was {state} for {lasts}"
        words.append(f"{what}: {spell.before} → {spell.after}")
    words.append(f"caught up in {lasting(lasted_ms)}")
    told = f"The lag in short. {'; '.join(words)}"
    if so_far.came:
        told += f", while {so_far.came} came in and {so_far.committed} were committed"
    return f"{told}."


def all_caught_up(group: str, lasted_ms: int, so_far: SoFar) -> str:
    """The member that finished last, and how much earlier all others were done."""
    many = counted(so_far.committed, "record")
    words = f"{capital(group)} has caught up with {many} in {lasting(lasted_ms)}"
    last = so_far.last
    mine = []
    earlier_ms = []
    for number, done in sorted(so_far.done.items()):
        if done.owner == last.owner:
            mine.append(number)
        else:
            earlier_ms.append(last.at_ms - done.at_ms)
    if not earlier_ms:
        return f"{words}."
    earlier = lasting(min(earlier_ms))
    words += f": {last.owner} was last, with {named(mine)}"
    return f"{words}; the others were done {earlier} earlier."


def saw(group: str, so_far: SoFar) -> str:
    """Why the lag goes up and down although nothing waits."""
    every = text.lasting(so_far.commits_every_ms)
    waited = counted(so_far.most_waiting, "record")
    return (
        f"At most {waited} waited for {group}, but {group} commits every {every}: in"
        f" between, the lag grew to {so_far.most_lag}."
    )


def added_up(partitions: Partitions, lasted_ms: int, so_far: SoFar) -> str:
    """Where nothing else is to be said."""
    written = counted(partitions.written, "record")
    words = f"{written} written and {partitions.committed} committed"
    words += f" in {lasting(lasted_ms)}"
    if partitions.lost:
        words += f", {partitions.lost} lost"
    return f"{words}: the lag was {so_far.most_lag} at most, and is {partitions.lag}."


def still_behind(partitions: Partitions, chosen: Sequence[int]) -> str:
    """The members that catch up, and those that have nothing to do meanwhile."""
    late = partitions.late(partitions.behind)
    readers = partitions.readers(late)
    who = listed(readers) if readers else "nobody"
    verb = "is" if len(readers) < 2 else "are"
    words = f"{capital(who)} {verb} catching up with {named(late)}"
    if len(readers) > 2 and late == chosen:
        words = f"All {len(readers)} members are catching up"
    words += f": a lag of {partitions.lag_of(late)} is left."
    idle = partitions.idle()
    if idle:
        has = "has" if len(idle) == 1 else "have"
        words += f" {listed(idle)} {has} nothing to read."
    return words


def counts_in_words(counts: Mapping[str, int], partitions: Partitions) -> str:
    """The totals of the steps that only count."""
    parts = []
    written = counts.get("written", 0)
    if written:
        parts.append(f"{written} more {'record' if written == 1 else 'records'}")
    if counts["committed"]:
        parts.append(f"{counts['committed']} committed")
    total = "total " if len(partitions) > 1 else ""
    lag = f"the {total}lag is {partitions.lag}."
    return f"{', '.join(parts)}: {lag}" if parts else capital(lag)


def named(numbers: Sequence[int]) -> str:
    """partition 2 · partitions 0 and 1"""
    noun = "partitions" if len(numbers) > 1 else "partition"
    return f"{noun} {listed(numbers)}"
