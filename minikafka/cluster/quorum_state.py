"""What a node must remember about the metadata quorum across a restart.

`quorum-state` has the epoch and the vote. It is synced before another node learns of
either, because a voter that forgets its vote could vote twice. The high watermark is in
Kafka's `replication-offset-checkpoint` beside the log: it isn't synced, so a power loss
may set it back, but below it the log must be whole (recovery.py says how a torn end is
told from damage).
"""

import json

from minikafka.cluster.election import HIGHEST_EPOCH, Vote
from minikafka.cluster.metadata import METADATA_TOPIC, NO_LEADER
from minikafka.cluster.snapshots import SNAPSHOT_NAME
from minikafka.storage.checkpoints import HIGH_WATERMARKS, read_offsets, write_offsets
from minikafka.storage.data_folder import META_PROPERTIES, METADATA_LOG, contents
from minikafka.storage.disk import Disk, as_storage_errors, unusable
from minikafka.storage.file_names import LOG

_STATE = f"{METADATA_LOG}/quorum-state"
_HIGH_WATERMARK = f"{METADATA_LOG}/{HIGH_WATERMARKS}"
_PARTITION = (METADATA_TOPIC, 0)
_NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"
_GOOD_COPY = "Put a good copy back, or remove it"


class QuorumState:
    """The files beside the metadata log on one node's disk."""

    def __init__(self, disk: Disk, voters: tuple[int, ...]) -> None:
        self._disk = disk
        self._voters = voters

    def check_folder(self) -> None:
        """Refuse a folder whose metadata is missing or can't be read: its logs would
        look as if they belonged to nobody.
        """
        beside = [
            name
            for name in contents(self._disk)
            if name not in (META_PROPERTIES, METADATA_LOG)
        ]
        if beside and not self._has_metadata():
            why = f"holds no metadata, and beside it is {beside[0]}."
            raise unusable(METADATA_LOG, f"{why} Put a good copy back")

    def _has_metadata(self) -> bool:
        if not self._disk.exists(METADATA_LOG):
            return False
        names = self._disk.listdir(METADATA_LOG)
        if any(SNAPSHOT_NAME.fullmatch(name) for name in names):
            return True
        logs = [name for name in names if name.endswith(LOG)]
        return any(self._disk.open(f"{METADATA_LOG}/{name}").size for name in logs)

    # -- the vote

    def vote(self) -> Vote:
        """The vote on disk; the initial one if there is none. Errors:
        KAFKA_STORAGE_ERROR.
        """
        if not self._disk.exists(_STATE):
            return Vote()
        try:
            state = json.loads(self._disk.read(_STATE))
            epoch = int(state["leaderEpoch"])
            leader = int(state["leaderId"])
            voted = int(state.get("votedId", NO_LEADER))
            if epoch < 0:
                raise ValueError("an epoch that can't be")
        except (ValueError, KeyError, TypeError, OverflowError, AttributeError):
            why = f"is not what was written there. {_GOOD_COPY}"
            raise unusable(_STATE, why) from None
        if leader not in self._voters:
            leader = NO_LEADER
        return Vote(epoch, voted, leader)

    def checked(self, vote: Vote, log_epoch: int) -> Vote:
        """The vote on disk, checked against the log. log_epoch: the latest epoch in the
        log. Errors: KAFKA_STORAGE_ERROR for an epoch that can't have existed.
        """
        named = METADATA_LOG if log_epoch >= vote.epoch else _STATE
        if log_epoch > vote.epoch:
            if self._disk.exists(_STATE):
                # The vote is written before any record of its epoch. (A batch's epoch
                # is the one field that its checksum doesn't cover.)
                why = f"names epoch {log_epoch}, and this node has come to"
                raise unusable(METADATA_LOG, f"{why} {vote.epoch}. {_GOOD_COPY}")
            vote = Vote(log_epoch)
        if vote.epoch > HIGHEST_EPOCH:
            why = f"names epoch {vote.epoch}, which no election leads to."
            raise unusable(named, f"{why} {_GOOD_COPY}")
        return vote

    def keep_vote(self, vote: Vote) -> None:
        """Write the vote to disk, synced."""
        state = {
            "leaderId": vote.leader,
            "leaderEpoch": vote.epoch,
            "votedId": vote.voted,
            "votedDirectoryId": _NO_DIRECTORY,
            "data_version": 1,
        }
        with as_storage_errors(_STATE):
            self._disk.write_atomic(_STATE, json.dumps(state).encode())

    # -- the high watermark

    def high_watermark(self) -> int:
        """The high watermark on disk; 0 if there is none."""
        try:
            return read_offsets(self._disk, _HIGH_WATERMARK).get(_PARTITION, 0)
        except ValueError:  # torn by a power loss
            return 0

    def keep_high_watermark(self, offset: int) -> None:
        """Write the high watermark to disk, not synced."""
        with as_storage_errors(_HIGH_WATERMARK):
            write_offsets(self._disk, _HIGH_WATERMARK, {_PARTITION: offset}, sync=False)
