"""The state of partitions in the lag's story: each as its group sees it, and all of
them together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.theatre.play import Space, picked


class Lags(NamedTuple):
    """In records. waits: what no reader has been handed."""

    lag: int
    waits: int


@dataclass
class Followed:
    """One partition as the group sees it. start, end: of the log. position: of the
    member that reads it now, or None. handed: the highest position that any member had.
    lost: records that were gone before. behind_since, done_at: while it catches up,
    when that began and the offset with which it is over; began_end, began_committed:
    the offsets at its beginning.
    """

    start: int = 0
    end: int = 0
    committed: int | None = None
    position: int | None = None
    owner: str = ""
    handed: int = 0
    lost: int = 0
    behind_since: int | None = None
    done_at: int | None = None
    began_end: int = 0
    began_committed: int = 0

    def lags(self) -> Lags:
        """From the committed offset to the end, and from the position to the end;
        without either they count from the log's start.
        """
        committed = position = self.start
        if self.committed is not None:
            committed = position = max(self.committed, self.start)
        if self.position is not None:
            position = max(self.position, self.start)
        return Lags(lag=max(self.end - committed, 0), waits=max(self.end - position, 0))

    @property
    def is_behind(self) -> bool:
        """Whether it catches up now."""
        return self.behind_since is not None

    def begins_to_catch_up(self, at_ms: int) -> None:
        self.behind_since = at_ms
        self.done_at = None
        self.began_end = self.end
        self.began_committed = self.committed or self.start

    def to_json(self, number: int, is_unread: bool) -> Space:
        told = picked(self, "start", "end", "committed", "position", "owner")
        told["partition"] = number
        told["unread"] = is_unread
        told["lags"] = list(self.lags())
        return told


class Partitions(dict[int, Followed]):
    """All partitions of the topic, by number."""

    def lag_of(self, numbers: Iterable[int]) -> int:
        """The sum of these partitions' lags, in records."""
        return sum(self[number].lags().lag for number in numbers)

    @property
    def lag(self) -> int:
        return self.lag_of(self)

    @property
    def waiting(self) -> int:
        """Records that a member could be handed and isn't yet."""
        return sum(each.lags().waits for each in self.values() if each.owner)

    @property
    def written(self) -> int:
        return sum(each.end for each in self.values())

    @property
    def committed(self) -> int:
        return sum(each.committed or 0 for each in self.values())

    @property
    def lost(self) -> int:
        """Records that were gone before anybody read them."""
        return sum(each.lost for each in self.values())

    @property
    def behind(self) -> list[int]:
        """The partitions that are catching up."""
        return [number for number, each in self.items() if each.is_behind]

    def held_by(self, node: str) -> list[int]:
        return [number for number, each in self.items() if each.owner == node]

    def late(self, behind: Sequence[int]) -> list[int]:
        """Those of these partitions, which catch up, in which records wait."""
        late = [number for number in behind if self[number].lags().lag]
        return late or list(behind)

    def readers(self, numbers: Iterable[int]) -> list[str]:
        """The members that read these partitions, each once."""
        owners = dict.fromkeys(self[number].owner for number in numbers)
        return [owner for owner in owners if owner]

    def idle(self) -> list[str]:
        """Members that have nothing to read, if there are several."""
        readers = sorted(self.readers(self))
        if len(readers) < 2:
            return []
        return [name for name in readers if not self.lag_of(self.held_by(name))]
