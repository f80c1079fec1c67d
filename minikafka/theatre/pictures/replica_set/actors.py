"""The actors in the replica set's picture: one partition's replicas, and what each
broker believes and says.
"""

from dataclasses import dataclass

from minikafka.theatre.nodes import epoch_at
from minikafka.theatre.pictures.log_copies import Held, LogCopy
from minikafka.theatre.pictures.log_partition import offsets_of
from minikafka.theatre.play import Detail


@dataclass
class Copy(LogCopy):
    """One replica. fenced: as the controller said last. leads, follows, epoch: whether
    it believes to lead, or whom it follows, and in which epoch. says: of its fetches;
    asked_at: number of the event of the last one that is not answered yet.
    """

    fenced: bool = False
    leads: bool = False
    follows: int = -1
    epoch: int = -1
    says: str = ""
    asked_at: int = 0

    def lead(self, epoch: int) -> None:
        self.leads = True
        self.follows = self.broker
        self.epoch = epoch

    def follow(self, leader: int, epoch: int) -> None:
        """It may be told, too, that it leads itself."""
        self.leads = leader == self.broker
        self.follows = leader
        self.epoch = epoch

    def open(self, d: Detail) -> None:
        """Its broker has read the log from its disk."""
        self.fenced = False
        self.end = d["log_end_offset"]
        self.high_watermark = d["high_watermark"]
        self.follow(d["leader"], d["leader_epoch"])
        for offset in list(self.records):
            if offset >= self.end:
                del self.records[offset]

    def take(self, d: Detail, number: int) -> None:
        """Records get into its log."""
        self.fenced = False
        self.end = d["last_offset"] + 1
        for offset in offsets_of(d):
            epoch = epoch_at(d["epochs"], offset)
            self.records[offset] = Held(epoch, number)

    def cut_off(self, end: int) -> None:
        """Records that the leader doesn't have are dropped from its log."""
        self.truncate(end)
        self.high_watermark = min(self.high_watermark, end)

    def forget(self) -> None:
        """It forgets what it knew before it crashed; its log stays."""
        self.leads = False
        self.follows = -1
        self.cut = ()
        self.fenced = False
