"""A node's work for share groups (KIP-932), apart from coordinating their members: it
keeps the share partitions of the partitions that it leads, the sessions of the members
that read them, and its part of their states.
"""

from dataclasses import dataclass

from minikafka.broker.dead_letters import DeadLetters
from minikafka.broker.effects import Connection
from minikafka.broker.share_partitions import SharePartitions
from minikafka.broker.share_sessions import ShareSessions
from minikafka.clock import Now
from minikafka.cluster.metadata import PartitionChange, TopicChange
from minikafka.coordinators.share_coordinator import ShareCoordinator
from minikafka.coordinators.share_persister import SharePersister


@dataclass(eq=False, repr=False)
class Sharing:
    """coordinator: its part of the states. persister: what it asks others of theirs."""

    coordinator: ShareCoordinator
    persister: SharePersister
    partitions: SharePartitions
    letters: DeadLetters
    sessions: ShareSessions

    def start(self, now: Now) -> None:
        """The node is part of the cluster."""
        self.coordinator.start(now)

    def close(self) -> None:
        """The node stops: close the share coordinator."""
        self.coordinator.close()

    def disconnected(self, connection: Connection) -> None:
        """The records of the member on this connection come back; and without members
        nothing is kept of a group here, so that its offsets may be reset.
        """
        session = self.sessions.disconnected(connection)
        if session is None:
            return
        if self.sessions.is_open(session):
            self.sessions.end(session.key)
            self.partitions.session_ended(session)
        group_id = session.key.group_id
        if not self.sessions.has_member_of(group_id):
            self.partitions.group_has_gone(group_id)

    def tick(self, now: Now, budget_bytes: int) -> None:
        """Loading, questions that were to be asked later, locks that end."""
        self.coordinator.tick(now, budget_bytes)
        self.persister.tick(now)
        self.partitions.tick(now)
        self.letters.tick(now)

    def partition_changed(self, change: PartitionChange) -> None:
        """A partition may have another leader: start or stop to keep its share
        partitions.
        """
        self.coordinator.partition_changed(change)
        self.partitions.partition_changed(change)

    def topic_changed(self, change: TopicChange) -> None:
        """Topics may go, with all that is kept of them."""
        self.coordinator.topic_changed(change)
        self.partitions.topic_changed(change)
