"""What was seen of a cluster, and what it was like before: brokers that are away, lag
that grows.
"""

from collections import deque
from itertools import pairwise

from minikafka.watching.seen import Group, Place, Seen

REMEMBERED_S = 60.0  # of each lag
# longer than the five seconds between two commits of a consumer that commits by itself
GROWS_FOR_S = 12.0
GROWS_BY = 20  # records; less comes and goes
MOST_SAMPLES = 120  # of each lag
MOST_LAGS = 2000
Samples = deque[tuple[float, int]]  # (when, lag)


class Watched:
    """All that is known of a cluster. name: as the user wrote it. seen: the last look
    that succeeded. missed: since when looks fail, and why; None: they don't.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: Seen | None = None
        self.missed: tuple[float, str] | None = None
        self.brokers: dict[int, str] = {}  # that were ever there
        self._lags: dict[tuple[str, Place], Samples] = {}

    def saw(self, seen: Seen) -> None:
        """A look succeeded."""
        self.seen, self.missed = seen, None
        self.brokers |= seen.brokers
        lags: dict[tuple[str, Place], Samples] = {}
        for group in seen.groups.values():
            for place in group.places:
                lag = seen.lag(group, place)
                if lag is not None and len(lags) < MOST_LAGS:
                    key = group.name, place
                    lags[key] = self._lags.get(key, Samples(maxlen=MOST_SAMPLES))
                    lags[key].append((seen.at_s, lag))
        self._lags = lags  # those of groups that are gone are forgotten

    def missed_it(self, at_s: float, why: str) -> None:
        """A look failed."""
        since_s = at_s if self.missed is None else self.missed[0]
        self.missed = since_s, why

    @property
    def away(self) -> list[int]:
        """Brokers that were there, and aren't any more."""
        there = {} if self.seen is None else self.seen.brokers
        return sorted(self.brokers.keys() - there.keys())

    def lags(self, group: Group, place: Place) -> list[tuple[float, int]]:
        """How far a group was behind in a partition, in the last minute."""
        samples = self._lags.get((group.name, place), Samples())
        if not samples:
            return []
        since_s = samples[-1][0] - REMEMBERED_S
        return [each for each in samples if each[0] >= since_s]

    def grows(self, group: Group, place: Place) -> bool:
        """Whether the lag grows. Where a member reads, it must have grown a good deal, and
        never shrunk for longer than consumers take from one commit to the next.
        """
        samples = self.lags(group, place)
        if not samples:
            return False
        now_s, now = samples[-1]
        recent = [each for each in samples if each[0] >= now_s - GROWS_FOR_S]
        grown_by = now - recent[0][1]
        if group.reader(place) is None:
            return grown_by > 0
        is_long = now_s - samples[0][0] >= GROWS_FOR_S
        shrinks = any(after < before for (_, before), (_, after) in pairwise(recent))
        return grown_by >= GROWS_BY and is_long and not shrinks
