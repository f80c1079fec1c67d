"""A share consumer's subscription: its topics, the partitions that it may fetch from,
and the records that have arrived. An error for the program's next poll is kept here,
too, and the brokers' results for its next commit.
"""

from collections import deque

from minikafka.clients.share_deliveries import Delivery
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import KafkaError


class ShareSubscription:
    """topics: subscribed to. assigned: the partitions that it may fetch from. arrived:
    records that were not returned yet; renewed: those to be returned again. error:
    raised by the next take(). remarks: hints for the person at the screen. outcome:
    each partition's result from the brokers since begin_commit().
    """

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.topic_ids: dict[str, bytes] = {}
        self.assigned: list[TopicPartition] = []
        self.in_poll = False
        self.arrived: deque[Delivery] = deque()
        self.renewed: deque[Delivery] = deque()
        self.error: Exception | None = None
        self.remarks: list[str] = []
        self.outcome: dict[TopicPartition, KafkaError | None] = {}

    @property
    def has_records(self) -> bool:
        return bool(self.error or self.renewed or self.arrived)

    @property
    def wants_records(self) -> bool:
        return self.in_poll and not self.has_records

    def renew(self, delivery: Delivery) -> None:
        """Its lock was renewed: the program gets the record again, to say more."""
        delivery.said = None
        self.renewed.append(delivery)
