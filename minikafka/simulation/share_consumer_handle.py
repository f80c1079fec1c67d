"""The share consumer handle that a learner works with."""

from collections.abc import Iterable
from typing import Any

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.share_consumer import ShareConsumer
from minikafka.clients.share_deliveries import ACCEPT
from minikafka.clients.structs import ConsumerRecord, TopicPartition
from minikafka.simulation.arguments import (
    ACKNOWLEDGEMENT,
    ANY_MS,
    COUNT,
    RECORD,
    TOPICS,
    checked,
)
from minikafka.simulation.calls import recorded
from minikafka.simulation.handles import Handle
from minikafka.wire.errors import KafkaError

PATIENCE_MS = 60_000  # of commit_sync(): Java's default.api.timeout.ms
GOODBYE_MS = 30_000  # of close()
GIVEN_MS = ANY_MS.or_none("the usual time")


class ShareConsumerHandle(Handle):
    """A member of a share group, used like Java's KafkaShareConsumer."""

    @property
    def core(self) -> ShareConsumer:
        assert isinstance(self._process.core, ShareConsumer)
        return self._process.core

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.core.config)

    @checked(topics=TOPICS)
    @recorded
    def subscribe(self, topics: Iterable[str] | str) -> None:
        """Fetch records of these topics, together with the group's other members."""
        self._begin()
        names = [topics] if isinstance(topics, str) else list(topics)
        if not names:
            self.unsubscribe()
            return
        self.core.subscribe(names)
        self._turn()

    @recorded
    def unsubscribe(self) -> None:
        """Give back the records that it has, and leave the group."""
        self._begin()
        self._leave("it unsubscribed", GOODBYE_MS)

    def subscription(self) -> set[str]:
        return set(self.core.subscription.topics)

    @checked(timeout_ms=ANY_MS, max_records=COUNT.or_none("max_poll_records"))
    @recorded
    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records that no other member has now, {TopicPartition: [ConsumerRecord]}.
        Waits for some up to timeout_ms.

        With implicit acknowledgement it accepts the records of the previous poll. With
        share_acknowledgement_mode="explicit" each of those must have been acknowledged.
        """
        self._begin("poll")
        # a restart replaces self.core; a dead program's `finally` must not touch the
        # new one
        core = self.core
        if not core.subscription.topics:
            raise IllegalStateError(f"{self.name} reads nothing yet: subscribe() first")
        try:
            core.begin_poll(self._now)
            self._turn()
            # An empty poll takes a ms, so a program that polls in a loop lets time
            # pass.
            self._wait(core.has_records, max(1, timeout_ms))
            records = core.take(
                max_records or core.config["max_poll_records"], self._now
            )
        finally:
            core.end_poll()
            if self._process.core is core and self._process.state == "up":
                self._turn()
        self._say_remarks(core)
        if not records and self._environment.kernel.program() is None:
            self._say_why_nothing_came()
        return records

    @checked(record=RECORD, type=ACKNOWLEDGEMENT)
    @recorded
    def acknowledge(self, record: ConsumerRecord, type: str = ACCEPT) -> None:
        """Acknowledge a record of the last poll: "accept", "release", "reject", or
        "renew" for more time. The next poll, commit_sync or close tells the broker.
        """
        self._begin()
        self.core.acknowledge(record.topic, record.partition, record.offset, type)

    @checked(timeout_ms=GIVEN_MS)
    @recorded
    def commit_sync(
        self, timeout_ms: float | None = None
    ) -> dict[TopicPartition, KafkaError | None]:
        """Send the acknowledgements to the brokers, and wait until they have stored
        them: {partition: None, or the error if they don't count}.
        """
        self._begin("commit_sync")
        core = self.core
        core.begin_commit(self._now)
        self._turn()
        limit_ms = PATIENCE_MS if timeout_ms is None else timeout_ms
        if not self._wait(lambda: not core.is_telling, limit_ms):
            why = "the broker did not answer the acknowledgements in time"
            raise KafkaTimeoutError(f"{self.name}: {why}")
        self._say_remarks(core)
        return dict(core.subscription.outcome)

    @checked(timeout_ms=GIVEN_MS)
    @recorded
    def close(self, timeout_ms: float | None = None) -> None:
        """Send the acknowledgements, give back the other records, leave the group, and
        close.
        """
        if self._process.core.closed:
            return
        self._begin("close")
        core = self.core
        limit_ms = GOODBYE_MS if timeout_ms is None else timeout_ms
        self._leave("the consumer is being closed", limit_ms)
        core.close(self._now)
        self._turn()
        self._process.deadline = None

    def _leave(self, why: str, patience_ms: float) -> None:
        core = self.core
        until_ms = self._environment.now_ms + patience_ms
        core.begin_leaving(self._now)
        self._turn()
        self._wait(lambda: not core.is_telling, patience_ms)
        core.leave(why, self._now)
        self._turn()
        left_ms = max(0, until_ms - self._environment.now_ms)
        self._wait(lambda: not core.membership.leaving, left_ms)
        self._say_remarks(core)

    def _say_remarks(self, core: ShareConsumer) -> None:
        for remark in core.subscription.remarks:
            print(f"{self.name}: {remark}")
        core.subscription.remarks.clear()
