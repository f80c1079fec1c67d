"""The leader epochs of a log: the offset at which each of them begins (KIP-101,
KIP-279).

Two replicas compare their logs by asking "where does your epoch 5 end?" Up to the
smaller of the two ends the logs are the same, and the follower truncates everything
after it. `leader-epoch-checkpoint` holds the list, one `epoch offset` per line; every
batch also carries its epoch.
"""

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from minikafka.storage.checkpoints import read_lines, write_lines
from minikafka.storage.disk import Disk

CHECKPOINT = "leader-epoch-checkpoint"
NONE = -1


class EpochEntry(NamedTuple):
    """An epoch, and the offset of its first record."""

    epoch: int
    start_offset: int


_epoch, _start = attrgetter("epoch"), attrgetter("start_offset")


class LeaderEpochs:
    """The epochs of one log. entries: ascending by epoch and by offset. latest: the
    newest epoch; -1 if there is none. is_behind: the file still has entries that were
    truncated with the end of the log. Recovery would remove those as well, so the file
    is written only before the next append.
    """

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._path = f"{directory}/{CHECKPOINT}"
        self._synced = True
        self.is_behind = False
        self.damaged = False  # the stored list can't be read: it is rebuilt
        self.entries: list[EpochEntry] = []
        try:
            lines = read_lines(disk, self._path)
            self.entries = [
                EpochEntry(int(epoch), int(start)) for epoch, start in lines
            ]
        except ValueError:
            self.damaged = True
        self._stored = list(self.entries)
        self._note_latest()

    def _note_latest(self) -> None:
        self.latest = self.entries[-1].epoch if self.entries else NONE

    def assign(self, epoch: int, offset: int) -> None:
        """A batch of this epoch begins at this offset. Not synced: until `flush`, the
        list can be rebuilt from the batches.
        """
        if epoch > self.latest:
            while self.entries and self.entries[-1].start_offset >= offset:
                self.entries.pop()
            self.entries.append(EpochEntry(epoch, offset))
            self.latest = epoch
            self.is_behind = True
        # a leader without a record removes an entry at each start, and adds it again
        if self.is_behind:
            if self.entries != self._stored:
                self._write(sync=False)
            self.is_behind = False

    def epoch_at(self, offset: int) -> int:
        """The epoch of the leader that wrote this offset; -1 if unknown."""
        number = bisect_right(self.entries, offset, key=_start)
        return self.entries[number - 1].epoch if number else NONE

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(the largest known epoch up to `epoch`, the offset after its last record);
        (-1, -1) for an epoch from the future.

        This is OffsetForLeaderEpoch's rule. An epoch older than all known ones ends
        where the first known one begins.
        """
        if epoch == NONE or epoch > self.latest:
            return NONE, NONE
        if epoch == self.latest:
            return epoch, log_end_offset
        number = bisect_right(self.entries, epoch, key=_epoch)
        known = self.entries[number - 1].epoch if number else epoch
        return known, self.entries[number].start_offset

    def truncate_from_end(self, offset: int) -> None:
        """The log now ends at `offset`."""
        if self.entries and self.entries[-1].start_offset >= offset:
            self.entries = [each for each in self.entries if each.start_offset < offset]
            self._note_latest()
            self.is_behind = True

    def truncate_from_start(self, offset: int) -> None:
        """The log now begins at `offset`, and so does the epoch that holds it. Synced,
        because recovery compares the two.
        """
        number = bisect_right(self.entries, offset, key=_start)
        if not number:
            return
        first = EpochEntry(self.entries[number - 1].epoch, offset)
        if self.entries[0] != first:
            self.entries[:number] = [first]
            self._write(sync=True)

    def clear(self) -> None:
        """Start over with an empty list."""
        self.entries = []
        self.latest = NONE
        self._write(sync=False)

    def flush(self) -> None:
        """Make the list survive a power loss. This must come before the recovery point
        moves past the batches from which the list could be rebuilt.
        """
        if not self._synced or self.entries != self._stored:
            self._write(sync=True)

    def _write(self, sync: bool) -> None:
        self._synced = False
        lines = [f"{epoch} {start}" for epoch, start in self.entries]
        write_lines(self._disk, self._path, lines, sync)
        self._synced = sync
        self._stored = list(self.entries)
        self.is_behind = False
