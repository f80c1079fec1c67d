"""A producer's transactions: the requests to its coordinator, and when they are sent
(KIP-98, KIP-360, KIP-447).

    init()      InitProducerId: an id and an epoch. The previous holder of the transactional id is fenced.
    begin()     nothing is sent: the coordinator hears of a transaction when a partition joins it.
    joins       AddPartitionsToTxn, before the first batch to a partition leaves.
    offsets     AddOffsetsToTxn and TxnOffsetCommit: a group's offsets, committed if the transaction is.
    end()       EndTxn, when every batch is acknowledged (commit) or given up (abort).

After a refusal that concerns only this transaction, abort it and go on. After a fatal
one, such as PRODUCER_FENCED, another producer has this transactional id, and this one
can't be used any more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.clients.commits import topics_of
from minikafka.clients.connection import Client
from minikafka.clients.coordinator import KEY_TYPE_TRANSACTION, Coordinator
from minikafka.clients.errors import IllegalStateError
from minikafka.clients.producer_sequences import Sequences
from minikafka.clients.request_state import Question
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

FATAL = (
    Error.PRODUCER_FENCED,
    Error.INVALID_PRODUCER_EPOCH,
    Error.INVALID_PRODUCER_ID_MAPPING,
    Error.INVALID_TXN_STATE,
    Error.INVALID_TRANSACTION_TIMEOUT,
)


class GroupMetadata(NamedTuple):
    """The identity of the consumer whose records a transaction processes (KIP-447): a
    member that was replaced can't commit its offsets.
    """

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class Step(Question):
    """One request of a transaction, retried while the error is retriable. Its value is
    the response. errors: the response's error codes.
    """

    def __init__(
        self,
        transactions: "Transactions",
        coordinator: Coordinator,
        api: str,
        body: Mapping[str, Any],
        errors: Callable[[Message], list[int]],
    ) -> None:
        super().__init__(transactions.client, coordinator)
        self._transactions, self._coordinator = transactions, coordinator
        self._api, self._body, self._errors = api, dict(body), errors

    def attempt(self) -> None:
        if self._coordinator.error is not None:
            self.fail(self._coordinator.error)
        elif self._coordinator.ready():
            self._coordinator.request(
                self._api, self._body, self.state.sent(self._answered)
            )

    def _answered(self, response: Message) -> None:
        error = Error(
            next((code for code in self._errors(response) if code), Error.NONE)
        )
        if error is Error.NONE:
            self.succeed(response)
        elif error in FATAL or not self.state.refused(error):
            self.fail(
                self._transactions.refused(error, f"{self._api}: {error.message}")
            )


@dataclass(eq=False, repr=False)
class Transactions:
    """error: why this transaction can't be committed. is_fatal: no other one can be,
    either. joined: its partitions.

    sequences: the numbers of the producer's batches. renumber(producer id, epoch):
    called when the coordinator has said who the producer is.
    """

    client: Client
    _sequences: Sequences
    _renumber: Callable[[int, int], None]
    transactional_id: str
    _timeout_ms: int
    is_open: bool = False
    error: KafkaError | None = None
    is_fatal: bool = False
    # the call that timed out, whose outcome is unknown
    unclear: str | None = None
    joined: set[TopicPartition] = field(default_factory=set)
    _offsets_joined: bool = False
    # groups whose offsets it has committed
    _groups: dict[str, Coordinator] = field(default_factory=dict)
    _joining: Step | None = None
    # partitions that are to join
    _wanted: dict[TopicPartition, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._coordinator = Coordinator(
            self.client, self.transactional_id, KEY_TYPE_TRANSACTION
        )

    # -- called by programs, through the shell

    def init(self) -> Step:
        """Get an id and an epoch; if it names those that it has, it stays the same
        producer (KIP-360).
        """
        asked = self._ids() | {"transaction_timeout_ms": self._timeout_ms}
        step = self._step(
            "InitProducerId", asked, lambda response: [response.error_code]
        )
        step.add_callback(
            lambda response: self._renumber(
                response.producer_id, response.producer_epoch
            )
        )
        return step

    def begin(self) -> None:
        """From here on records belong to a transaction."""
        if self._sequences.producer_id < 0:
            raise IllegalStateError("init_transactions() comes first")
        if self.is_open:
            raise IllegalStateError(
                "a transaction is open: commit_transaction() or abort_transaction()"
                " ends it"
            )
        self.raise_error()
        self.is_open = True

    def join_group(self, group: GroupMetadata) -> Step:
        """Commit a group's offsets within the transaction: the first of two
        requests.
        """
        self._offsets_joined = True
        asked = self._ids() | {"group_id": group.group_id}
        return self._step(
            "AddOffsetsToTxn", asked, lambda response: [response.error_code]
        )

    def commit_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> Step:
        """The second request, to the group's coordinator."""
        member = {
            "group_id": group.group_id,
            "generation_id_or_member_epoch": group.generation_id,
            "member_id": group.member_id,
            "group_instance_id": group.group_instance_id,
        }
        asked = self._ids() | member | {"topics": topics_of(offsets)}
        if group.group_id not in self._groups:
            self._groups[group.group_id] = Coordinator(self.client, group.group_id)
        of_group = self._groups[group.group_id]
        step = Step(
            self,
            of_group,
            "TxnOffsetCommit",
            asked,
            codes("topics", "partitions", "error_code"),
        )
        self.client.questions.ask(step)
        return step

    def end(self, committed: bool) -> Step | None:
        """Commit or abort. None if no partition has joined, so that no request is
        needed.
        """
        if not self.joined and not self._offsets_joined:
            self.ended()
            return None
        asked = self._ids() | {"committed": committed}
        step = self._step("EndTxn", asked, lambda response: [response.error_code])
        step.add_callback(lambda _: self.ended())
        return step

    def ended(self) -> None:
        """The transaction has ended."""
        self.is_open = self._offsets_joined = False
        self.unclear = None
        self.joined.clear()
        self._wanted.clear()
        if not self.is_fatal:
            self.error = None

    # -- what happens automatically

    def may_send(self, partition: TopicPartition) -> bool:
        """Whether a partition has joined; if it hasn't, it will be added."""
        if partition not in self.joined:
            self._wanted[partition] = None
        return partition in self.joined and self.error is None

    def join(self) -> None:
        """Add the partitions that are to join, with one request at a time."""
        if (
            not self._wanted
            or self.error is not None
            or (self._joining is not None and not self._joining.is_done)
        ):
            return
        asked = [
            partition for partition in self._wanted if partition not in self.joined
        ]
        self._wanted.clear()
        if not asked:
            return
        body = self._ids() | {"topics": nested(asked)}
        of_partitions = codes(
            "results_by_topic_v3_and_below",
            "results_by_partition",
            "partition_error_code",
        )
        named = {f"v3_and_below_{name}": value for name, value in body.items()}
        self._joining = self._step("AddPartitionsToTxn", named, of_partitions)
        self._joining.add_callback(lambda _: self.joined.update(asked))

    def refused(self, error: Error, message: str) -> KafkaError:
        """The transaction can't be committed any more. Returns the error to raise."""
        self.is_fatal = self.is_fatal or error in FATAL
        self.error = (
            self.error if self.is_fatal and self.error else KafkaError(error, message)
        )
        self.unclear = None
        return self.error

    def raise_if_unclear(self, call: str) -> None:
        """After a commit or abort that timed out, only the same call may follow."""
        if self.unclear not in (None, call):
            raise IllegalStateError(
                f"{call}: {self.unclear}() timed out, and may have been decided:"
                " call it again"
            )

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def _ids(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self._sequences.producer_id,
            "producer_epoch": self._sequences.producer_epoch,
        }

    def _step(
        self, api: str, body: Mapping[str, Any], errors: Callable[[Message], list[int]]
    ) -> Step:
        step = Step(self, self._coordinator, api, body, errors)
        self.client.questions.ask(step)
        return step


def codes(topics: str, partitions: str, code: str) -> Callable[[Message], list[int]]:
    """All error codes of an answer that lists partitions by topic."""
    return lambda response: [
        getattr(part, code)
        for topic in getattr(response, topics)
        for part in getattr(topic, partitions)
    ]
