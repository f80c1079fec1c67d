"""Where a consumer reads on: each partition's position, and how it is found where there is none yet.

First the offset that the group has committed; if there is none, or no group, what auto_offset_reset says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minikafka.clients.errors import NoOffsetForPartitionError
from minikafka.clients.fetching import Assigned
from minikafka.clients.offsets import EARLIEST, LATEST, Lookups
from minikafka.clients.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

if TYPE_CHECKING:
    from minikafka.clients.consumer import Consumer

AT_THE_END = 'auto_offset_reset is "latest"'


class Positions:
    """The positions of one consumer's partitions."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.lookups = Lookups(consumer)

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit without offsets commits: every position there is."""
        return {
            partition: OffsetAndMetadata(held.position, "", held.leader_epoch)
            for partition, held in self._consumer.assigned.items()
            if held.position is not None
        }

    def find(self) -> None:
        """Ask for what is missing."""
        missing = {
            partition: held
            for partition, held in self._consumer.assigned.items()
            if held.position is None and not held.resetting and not held.stopped
        }
        if not missing:
            return
        if self._consumer.commits is not None:
            unknown = [each for each, held in missing.items() if held.reset is None and not held.why]
            to_reset = {each: held for each, held in missing.items() if each not in unknown}
            if unknown:
                self._ask_committed(unknown)
            missing = to_reset
        self._reset(missing)

    def _ask_committed(self, partitions: list[TopicPartition]) -> None:
        consumer = self._consumer
        asked = {each: (consumer.assigned[each], consumer.assigned[each].seeks) for each in partitions}
        for held, _ in asked.values():
            held.resetting = True

        def found(offsets: dict[TopicPartition, OffsetAndMetadata | None]) -> None:
            none = {}
            for partition, committed in offsets.items():
                held, seeks = asked[partition]
                if consumer.assigned.get(partition) is not held or held.seeks != seeks:
                    continue
                held.resetting = False
                if committed is None:
                    none[partition] = held
                else:
                    held.move(committed.offset)
                    why = f"group {consumer.config['group_id']} has committed it"
                    self._tell(partition, committed.offset, why)
            self._reset(none)

        assert consumer.commits is not None
        consumer.commits.committed(partitions).add_callback(found).add_errback(self._failed(asked))

    def _reset(self, missing: dict[TopicPartition, Assigned]) -> None:
        questions: dict[TopicPartition, int] = {}
        asked: dict[TopicPartition, tuple[Assigned, int]] = {}
        whys: dict[TopicPartition, str] = {}
        for partition, held in missing.items():
            where = held.reset or self._consumer.config["auto_offset_reset"]
            if where == "none":
                self._consumer.error = NoOffsetForPartitionError(
                    f'there is no position for {partition}, and auto_offset_reset is "none": seek() to one'
                )
                return
            questions[partition] = EARLIEST if where == "earliest" else LATEST
            why = f"the program asked for the {where} offset" if held.reset else f'auto_offset_reset is "{where}"'
            asked[partition], whys[partition] = (held, held.seeks), held.why or why
        for held, _ in asked.values():
            held.resetting = True

        def found(partition: TopicPartition, answer: OffsetAndTimestamp) -> None:
            held, seeks = asked[partition]
            if self._consumer.assigned.get(partition) is held and held.seeks == seeks:
                held.move(answer.offset)
                held.started_at_end = whys[partition] == AT_THE_END
                self._tell(partition, answer.offset, whys[partition])

        if questions:
            self.lookups.begin(questions, found).add_errback(self._failed(asked))
            self.lookups.work(self._consumer.now_ms)

    def _failed(self, asked: dict[TopicPartition, tuple[Assigned, int]]) -> Callable[[Exception], None]:
        def failed(error: Exception) -> None:
            self._consumer.error = error
            for held, _ in asked.values():
                held.resetting = False

        return failed

    def _tell(self, partition: TopicPartition, offset: int, why: str) -> None:
        if self._consumer.trace:
            topic, number = partition
            self._consumer.trace.emit("PositionReset", topic=topic, partition=number, offset=offset, why=why)
