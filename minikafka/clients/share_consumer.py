"""The share consumer (KIP-932): a member of a share group, which has records rather
than partitions.

Several members fetch from one partition, and each record goes to one of them, with a
lock that ends. The member acknowledges it. By default
(share_acknowledgement_mode="implicit") the next poll does that: it accepts all records
of the poll before. With "explicit" the program acknowledges each record itself.

Names, results and defaults are those of Java's KafkaShareConsumer, in the snake case of
our consumer. As there, it fetches only while the program polls; heartbeats go on by
themselves. Its place in the group is share_membership.py, its sessions with brokers are
share_sessions.py, the records that it has share_deliveries.py.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minikafka.clients.connection import Client
from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import IllegalStateError
from minikafka.clients.fetching import consumer_record
from minikafka.clients.metadata import Address
from minikafka.clients.share_config import DEFAULTS, EXPLICIT, checked
from minikafka.clients.share_deliveries import (
    ACCEPT,
    RELEASE,
    Delivery,
)
from minikafka.clients.share_membership import ShareMembership
from minikafka.clients.share_sessions import ShareSessions
from minikafka.clients.share_subscription import ShareSubscription
from minikafka.clients.structs import ConsumerRecord, TopicPartition, text
from minikafka.clock import Now
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError

MOST_SHOWN = 50  # records of a poll, in the trace


class ShareConsumer(Client):
    """config: as share_config.DEFAULTS. random: 0 <= random() < 1, for the member
    id.
    """

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[Address],
        trace: Trace,
        *topics: str,
        random: Callable[[], float],
        **config: Any,
    ) -> None:
        super().__init__(name, bootstrap, trace, checked({**DEFAULTS, **config}))
        self.subscription = ShareSubscription()
        self.is_leaving = False  # waiting until it is out
        self.taken = 0  # records handed over so far
        self.coordinator = Coordinator(self, self.config["group_id"])
        self.membership = ShareMembership(self.subscription, self.coordinator, random)
        self.sessions = ShareSessions(self, self.subscription, self.membership)
        # what the program was given, and has not said everything of
        self._current: dict[tuple[str, int, int], Delivery] = {}
        if self.trace:
            shown = {
                "share_acknowledgement_mode": self.config["share_acknowledgement_mode"]
            }
            self.trace.emit(
                "ClientStarted", client="consumer", topics=list(topics), config=shown
            )
        if topics:
            self.subscribe(topics)

    # called by programs, through the shell

    def subscribe(self, topics: Iterable[str]) -> None:
        self.subscription.topics = list(dict.fromkeys(topics))
        for topic in self.subscription.topics:
            self.metadata.want(topic)

    @property
    def is_explicit(self) -> bool:
        return bool(self.config["share_acknowledgement_mode"] == EXPLICIT)

    def acknowledge(self, topic: str, partition: int, offset: int, said: str) -> None:
        """Acknowledge a record of the last poll. The next poll, commit or close tells
        the broker.
        """
        if not self.is_explicit:
            raise IllegalStateError(
                f"{self.name} acknowledges implicitly: the next poll() accepts what this"
                ' one brought. share_acknowledgement_mode="explicit" lets the program'
                " say it"
            )
        delivery = self._current.get((topic, partition, offset))
        if delivery is None:
            raise IllegalStateError(
                f"{self.name} does not have the record at offset {offset} of"
                f" {topic}-{partition}: it can acknowledge what its last poll() brought,"
                " until it has told the broker"
            )
        delivery.said = said

    def begin_poll(self, now: Now) -> None:
        """From here to end_poll() the consumer works on its own. Errors:
        IllegalStateError.
        """
        self._enter(now)
        self._say_what_is_said()
        if self._current:
            self._do_what_is_due()
            raise IllegalStateError(
                f"{self.name} has said nothing yet of {len(self._current)} record(s)"
                " that its last poll() brought: acknowledge(record) each before the"
                " next"
            )
        self.subscription.in_poll = True
        self.membership.polled()
        self._do_what_is_due()

    def end_poll(self) -> None:
        self._leave_poll()

    def has_records(self) -> bool:
        return self.subscription.has_records

    def take(
        self, max_records: int, now: Now
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to max_records that have arrived, {partition: records}. Records whose
        locks were renewed are returned again, on their own.
        """
        self._enter(now)
        self._leave_poll()
        if self.subscription.error is not None:
            error, self.subscription.error = self.subscription.error, None
            raise error
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        coming = self.subscription.renewed or self.subscription.arrived
        while coming and max_records > 0:
            delivery = coming.popleft()
            record = self._record(delivery)
            taken.setdefault(delivery.partition, []).append(record)
            self._current[(*delivery.partition, delivery.offset)] = delivery
            max_records -= 1
            self.taken += 1
        self._tell_polled(taken)
        self._do_what_is_due()
        return taken

    def begin_commit(self, now: Now) -> None:
        """Send the program's acknowledgements to the brokers; with implicit
        acknowledgement everything is accepted. It is done when `is_telling` is false;
        then `outcome` has the results.
        """
        self._enter(now)
        self.subscription.outcome = {}
        self._say_what_is_said()
        self._do_what_is_due()

    @property
    def is_telling(self) -> bool:
        """Whether brokers still have to answer acknowledgements."""
        return self.sessions.are_busy

    def begin_leaving(self, now: Now) -> None:
        """Send the program's acknowledgements, and give back all other records. It is
        done when `is_telling` is false.
        """
        self._enter(now)
        self.is_leaving = True
        if self.is_explicit:
            self._say_what_is_said()
        self._current.clear()
        self.subscription.arrived.clear()
        self.subscription.renewed.clear()
        self.sessions.end()
        self._do_what_is_due()

    def leave(self, why: str, now: Now) -> None:
        """Leave the group; it is done when membership.leaving is false."""
        self._enter(now)
        self.subscription.topics = []
        self.is_leaving = False
        self.membership.leave(why)
        self._do_what_is_due()

    # what happens automatically

    def busy(self) -> bool:
        return self.subscription.in_poll or self.is_leaving

    def metadata_read(self) -> None:
        super().metadata_read()
        for topic_id, name in self.metadata.topic_names.items():
            self.subscription.topic_ids[name] = topic_id
        self.membership.metadata_changed()
        for topic in self.subscription.topics:
            error = self.metadata.errors.get(topic, Error.NONE)
            if error is not Error.NONE and not error.retriable:
                self.subscription.error = KafkaError(
                    error, f"topic {topic!r}: {error.message}"
                )

    def work(self) -> None:
        self.membership.work()
        super().work()
        self.sessions.work()

    def _leave_poll(self) -> None:
        if self.subscription.in_poll:
            self.subscription.in_poll = False
            self.membership.polled()

    def _say_what_is_said(self) -> None:
        """Start to send the program's acknowledgements."""
        for key, delivery in list(self._current.items()):
            if not self.is_explicit:
                delivery.said = ACCEPT
            if delivery.said is not None:
                del self._current[key]
                self.sessions.say(delivery)

    def _record(self, delivery: Delivery) -> ConsumerRecord:
        """The record as the program gets it. A record that can't be deserialized is
        released.
        """
        deserializers = (
            self.config["key_deserializer"],
            self.config["value_deserializer"],
        )
        try:
            record = consumer_record(delivery.partition, delivery.item, deserializers)
        except Exception:
            delivery.said = RELEASE
            self.sessions.say(delivery)
            raise
        return record._replace(delivery_count=delivery.count)

    def _tell_polled(self, taken: dict[TopicPartition, list[ConsumerRecord]]) -> None:
        for partition, records in taken.items():
            shown = [
                [each.offset, text(each.key), text(each.value), each.delivery_count]
                for each in records[:MOST_SHOWN]
            ]
            if self.trace:
                self.trace.emit(
                    "ShareRecordsPolled",
                    group=self.config["group_id"],
                    member=self.membership.member_id,
                    topic=partition.topic,
                    partition=partition.partition,
                    records=shown,
                )
