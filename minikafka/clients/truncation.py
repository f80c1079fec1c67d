"""After a change of leader: does the log still have the records that were read
(KIP-320)?

An unclean election may replace the log by a shorter one, in which offsets are used a
second time. So before a consumer fetches from a leader with a later epoch than that of
its last record, it asks where the record's epoch ends there (OffsetForLeaderEpoch). If
that is before its position, the log was truncated there, and the consumer goes back to
that offset. With auto_offset_reset "none" the program gets a LogTruncationError
instead.
"""

from minikafka.clients.connection import Client
from minikafka.clients.request_state import Question
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested


class EndOfEpoch(Question):
    """Where the records of a leader epoch end at the partition's leader.

    Its value is the offset after the last of them, or None if the leader has no record
    of this epoch or an earlier one.
    """

    def __init__(
        self, client: Client, partition: TopicPartition, leader_epoch: int
    ) -> None:
        super().__init__(client, client.metadata)
        self._client = client
        self._partition = partition
        self._leader_epoch = leader_epoch

    def attempt(self) -> None:
        for node, _ in self._client.leaders([self._partition]):
            part = {
                "partition": self._partition.partition,
                "current_leader_epoch": (
                    self._client.metadata.partition(*self._partition).leader_epoch
                ),
                "leader_epoch": self._leader_epoch,
            }
            body = {
                "replica_id": -1,
                "topics": nested([(self._partition.topic, part)], "topic"),
            }
            self._client.request(
                node, "OffsetForLeaderEpoch", body, self.state.sent(self._answered)
            )

    def _answered(self, response: Message) -> None:
        [topic] = response.topics
        [part] = topic.partitions
        error = Error(part.error_code)
        if error is Error.NONE:
            self.succeed(part.end_offset if part.leader_epoch >= 0 else None)
        elif not self.state.refused(error):
            self.fail(KafkaError(error))
