"""The fates of the records of one partition in one group: handed over, done, done
again, or skipped.

A record is skipped when it was handed over and never will be done, or when the group
goes past it without reading it.
"""

from collections.abc import Collection, Iterable, Sequence

from minikafka.theatre.play import Detail


class Fates:
    """By offset. furthest: the group has read up to here."""

    def __init__(self) -> None:
        self.furthest: int | None = None
        self.given: set[int] = set()  # handed over to anyone of the group
        self.again: set[int] = set()  # those of them that were more than once
        # those of them whose effect isn't there, and that may come yet
        self.undone: set[int] = set()
        # numbers of the events that wrote the record's effect
        self.effects: dict[int, list[int]] = {}
        # number of the event after which nobody will read it
        self.skipped: dict[int, int] = {}

    def space(self) -> Detail:
        """The fates as a scene stores them."""
        effects = {}
        for offset, numbers in sorted(self.effects.items()):
            effects[str(offset)] = list(numbers)
        skipped = {}
        for offset, number in sorted(self.skipped.items()):
            skipped[str(offset)] = number
        again = sorted(self.again)
        return {"effects": effects, "skipped": skipped, "again": again}

    def worth_showing(self) -> list[int]:
        """The offsets that were skipped or processed twice."""
        repeated = []
        for offset, numbers in self.effects.items():
            if len(numbers) > 1:
                repeated.append(offset)
        return [*self.skipped, *repeated]

    def hand_over(self, offsets: Sequence[int], position: int) -> list[int]:
        """Returns those that had been handed over before."""
        again = []
        for offset in offsets:
            if offset in self.given:
                again.append(offset)
        self.given.update(offsets)
        self.again.update(again)

        new = self.not_done(offsets)
        self.undone.update(new)
        furthest = self.furthest or 0
        self.furthest = max(furthest, position)
        return again

    def do(self, offset: int, number: int) -> int:
        """Its effect is there; returns how often. number: of the event."""
        numbers = self.effects.setdefault(offset, [])
        numbers.append(number)
        self.skipped.pop(offset, None)
        self.undone.discard(offset)
        return len(numbers)

    def not_done(self, offsets: Iterable[int]) -> list[int]:
        """Those of these records whose effect is not there."""
        return [offset for offset in offsets if offset not in self.effects]

    def undone_before(self, offset: int) -> list[int]:
        """Records before an offset that were handed over and aren't done."""
        return [each for each in self.undone if each < offset]

    def give_up(self, passed: int, held: Collection[int], number: int) -> list[int]:
        """Records before an offset that are not done, and in nobody's memory."""
        given_up = []
        for offset in sorted(self.undone_before(passed)):
            if offset not in held:
                given_up.append(offset)
        return self._skip(given_up, number)

    def jump(self, offset: int, known: Collection[int], number: int) -> list[int]:
        """A reader skips records that the group hasn't read. known: the records that
        are in the log.
        """
        if self.furthest is None or offset <= self.furthest:
            return []
        passed = range(self.furthest, offset)
        self.furthest = offset
        there = [each for each in passed if each in known]
        return self._skip(there, number)

    def _skip(self, offsets: Sequence[int], number: int) -> list[int]:
        """Nobody will read these; returns those that this is news of."""
        new = []
        for offset in self.not_done(offsets):
            if offset not in self.skipped:
                new.append(offset)
                self.skipped[offset] = number
        self.undone.difference_update(new)
        return new
