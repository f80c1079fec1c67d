"""A consumer group, as its coordinator describes it: of the classic protocol and of
KIP-848's.
"""

from typing import NamedTuple

from minikafka.testing.client import Client, until
from minikafka.testing.records import EARLIEST, LATEST, offset
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

STABLE, RECONCILING = "Stable", "Reconciling"
# it waits for its members
UNSETTLED = {"PreparingRebalance", "CompletingRebalance", RECONCILING, "Assigning"}
NOBODY = ("Dead", 0)  # a group that nobody has ever joined
WAIT_SECONDS = 30.0


class Described(NamedTuple):
    """state: as the protocol names it, Stable where all members have what they are to
    have. members: how many.
    """

    state: str
    members: int


class Group:
    """One group of a cluster. It need not exist yet."""

    def __init__(self, client: Client, group_id: str) -> None:
        self.group_id = group_id
        self._client = client

    def wait_stable(self, members: int, timeout: float = WAIT_SECONDS) -> None:
        """Returns once the group has this many members and all have their partitions.
        Members go on only while their programs poll. Errors: AssertionError, after
        `timeout` seconds.
        """
        last = Described(*NOBODY)

        def look() -> bool | None:
            nonlocal last
            last = self._described()
            return last == Described(STABLE, members) or None

        try:
            until(look, timeout, "")
        except AssertionError:
            hint = ""
            if last.state in UNSETTLED:
                hint = ". A member goes on only while its program polls"
            raise AssertionError(
                f"group {self.group_id} has {last.members} member(s) and is"
                f" {last.state} after {timeout:g} s; wanted: {members}, and"
                f" {STABLE}{hint}"
            ) from None

    def describe(self) -> Described:
        """Its state, as soon as its coordinator has loaded it. Errors: KafkaError;
        AssertionError, after half a minute.
        """
        return until(
            self._described, WAIT_SECONDS, f"group {self.group_id} isn't known"
        )

    def _described(self) -> Described:
        where = self._client.coordinator(self.group_id)
        body = {"group_ids": [self.group_id], "include_authorized_operations": False}
        [found] = self._client.ask("ConsumerGroupDescribe", body, where).groups
        if found.error_code not in (
            Error.GROUP_ID_NOT_FOUND,
            Error.UNSUPPORTED_VERSION,
        ):
            check(found, f"group {self.group_id}")
            is_settled = all(
                each.assignment == each.target_assignment for each in found.members
            )
            state = found.group_state
            if state == STABLE and not is_settled:
                state = RECONCILING
            return Described(state, len(found.members))
        [found] = self._client.ask(
            "DescribeGroups", {"groups": [self.group_id]}, where
        ).groups
        check(found, f"group {self.group_id}")
        return Described(found.group_state, len(found.members))

    def committed(self, topic: str) -> dict[int, int]:
        """The committed offset of each partition that has one."""
        found = {}
        for (of, partition), committed in self._all_committed().items():
            if of == topic:
                found[partition] = committed
        return found

    def lag(self, topic: str | None = None) -> int:
        """How many records are behind the committed offsets, up to the last stable
        offset. topic: only of this one, and of its partitions without a committed
        offset all records. Errors: AssertionError if nothing is committed and no topic
        is named.
        """
        committed = self._all_committed()
        if topic is not None:
            for each in self._client.metadata(topic).partitions:
                place = (topic, each.partition_index)
                if place not in committed:
                    committed[place] = offset(self._client, *place, EARLIEST)
        elif not committed:
            raise AssertionError(
                f"group {self.group_id} has committed nothing; lag(topic) counts all"
                " records of a topic then"
            )
        return sum(
            offset(self._client, of, partition, LATEST) - at
            for (of, partition), at in committed.items()
            if topic in (None, of)
        )

    def _all_committed(self) -> dict[tuple[str, int], int]:
        def look() -> Message:
            where = self._client.coordinator(self.group_id)
            body = {"group_id": self.group_id, "topics": None, "require_stable": False}
            answer = self._client.ask("OffsetFetch", body, where)
            check(answer, f"the offsets of {self.group_id}")
            return answer

        found = {}
        for topic in until(look, WAIT_SECONDS, f"no offsets of {self.group_id}").topics:
            for part in topic.partitions:
                found[topic.name, part.partition_index] = part.committed_offset
        return found


def check(answer: Message, what: str) -> None:
    if answer.error_code:
        raise KafkaError(Error(answer.error_code), what)
