"""Errors that clients raise by themselves; a broker's refusals are KafkaError with the broker's code."""

from __future__ import annotations

from minikafka.wire.errors import Error, KafkaError


class KafkaTimeoutError(KafkaError):
    """Time ran out: in the simulation, virtual time."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.REQUEST_TIMED_OUT, message)


class IllegalStateError(KafkaError):
    """The client is not in a state for this call: closed, or the partition is not assigned."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.UNKNOWN_SERVER_ERROR, message)


class NoOffsetForPartitionError(KafkaError):
    """auto_offset_reset is "none" and there is no position to start from."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.OFFSET_OUT_OF_RANGE, message)


class CommitFailedError(KafkaError):
    """The offsets can't be committed any more: the group has gone on without this member."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.UNKNOWN_MEMBER_ID, message)


class RebalanceInProgressError(KafkaError):
    """The offsets can't be committed now: poll() must finish the rebalance first."""

    def __init__(self, message: str) -> None:
        super().__init__(Error.REBALANCE_IN_PROGRESS, message)


class UnknownMemberIdError(KafkaError):
    """The coordinator doesn't know this member (any more)."""


class IllegalGenerationError(KafkaError):
    """The group is in another generation than the member."""


class FencedInstanceIdError(KafkaError):
    """Another consumer has joined with the same group_instance_id: this one is out for good."""


class GroupMaxSizeReachedError(KafkaError):
    """The group has as many members as group.max.size allows."""


class InconsistentGroupProtocolError(KafkaError):
    """The group's members have no assignor in common."""


REFUSALS: dict[Error, type[KafkaError]] = {
    Error.UNKNOWN_MEMBER_ID: UnknownMemberIdError,
    Error.ILLEGAL_GENERATION: IllegalGenerationError,
    Error.FENCED_INSTANCE_ID: FencedInstanceIdError,
    Error.GROUP_MAX_SIZE_REACHED: GroupMaxSizeReachedError,
    Error.INCONSISTENT_GROUP_PROTOCOL: InconsistentGroupProtocolError,
}


def refusal(error: Error, message: str | None = None) -> KafkaError:
    """The exception for a coordinator's refusal, named as in kafka-python where a program may want to catch it."""
    return REFUSALS.get(error, KafkaError)(error, message)
