"""The state of each reader in the commit point's story, which its picture draws: the
records in its memory, and the commit that is in flight.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.theatre.play import EventId

MOST_TOLD = 12  # records in one reader's memory that are in a scene

# what a record in a reader's memory is: handed over, where no table says more; still
# to be written to the table; written; gone with the process
READ = "read"
TO_DO = "to do"
DONE = "done"
GONE = "gone"


class Held(NamedTuple):
    """A record in a reader's memory. handed, number: of the events that brought it
    there, and that made it what it is.
    """

    offset: int
    state: str
    handed: int
    number: int


class Commit(NamedTuple):
    """A commit that a reader has sent. number: of the event."""

    offset: int
    number: int


class Asked(NamedTuple):
    """The event that last asked to commit an offset: its id, and its number."""

    event: EventId
    number: int


@dataclass
class Hand:
    """A reader's memory: what it was handed and is not done with. A record stays there
    until its effect is written and its offset is committed.
    """

    held: dict[int, Held] = field(default_factory=dict)  # by offset

    def space(self) -> list[list[int | str]]:
        """The latest of them, as a scene has them."""
        latest = list(self.held.values())[-MOST_TOLD:]
        return [list(held) for held in latest]

    def takes(self, offsets: Sequence[int], state: str, number: int) -> None:
        """Records are handed over to it; those from before are below them."""
        for offset in offsets:
            self.held.pop(offset, None)
            self.held[offset] = Held(
                offset=offset, state=state, handed=number, number=number
            )

    def to_do(self) -> list[int]:
        """The records that aren't written yet, in the order in which they came."""
        return [held.offset for held in self.held.values() if held.state == TO_DO]

    def is_done(self, offset: int, number: int) -> None:
        """The effect of a record has been written."""
        held = self.held[offset]
        self.held[offset] = held._replace(state=DONE, number=number)

    def puts_down(self, up_to: int) -> None:
        """Records that are done and committed no longer need memory."""
        kept = {}
        for offset, held in self.held.items():
            if offset >= up_to or held.state == TO_DO:
                kept[offset] = held
        self.held = kept

    def is_lost(self, number: int) -> list[int]:
        """The process is gone; returns what was still to do."""
        to_do = self.to_do()
        for offset, held in self.held.items():
            self.held[offset] = held._replace(state=GONE, number=number)
        return to_do


class Hands:
    """The memory of each reader, by its name."""

    def __init__(self) -> None:
        self.of: dict[str, Hand] = {}

    def hand(self, name: str) -> Hand:
        """A reader's, which may have nothing."""
        return self.of.get(name, Hand())

    def to_do(self) -> list[int]:
        """The records that any reader has and that aren't written yet."""
        found = []
        for hand in self.of.values():
            found += hand.to_do()
        return found

    def oldest(self, writer: str) -> int | None:
        """The record that a writer would process next; if it has none, any reader's."""
        its_own = self.hand(writer).to_do()
        in_hand = [*its_own, *self.to_do()]
        return in_hand[0] if in_hand else None

    def hand_over(
        self,
        name: str,
        offsets: Sequence[int],
        state: str,
        done: Collection[int],
        committed: int,
        number: int,
    ) -> None:
        """A poll brings records. done: whose effects are there already."""
        hand = self.of.setdefault(name, Hand())
        for offset in hand.to_do():
            if offset in done:
                hand.is_done(offset, number)
        hand.puts_down(committed)
        hand.takes(offsets, state, number)

    def is_done(self, offset: int, committed: int, number: int) -> str:
        """The record is done for the reader that holds it; returns that reader."""
        holder = ""
        for name, hand in self.of.items():
            if offset in hand.to_do():
                hand.is_done(offset, number)
                hand.puts_down(committed)
                holder = holder or name
        return holder

    def puts_down(self, up_to: int) -> None:
        """The group has committed an offset."""
        for hand in self.of.values():
            hand.puts_down(up_to)

    def is_gone(self, name: str, number: int) -> list[int]:
        """A process ends; returns what it had to do."""
        return self.hand(name).is_lost(number)

    def forgets(self, name: str) -> None:
        """A process starts again, and has nothing in its hands."""
        self.of.pop(name, None)
