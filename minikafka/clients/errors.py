"""Errors that clients raise themselves; a broker's refusals are KafkaError with the
broker's code.
"""

from typing import ClassVar

from minikafka.wire.errors import Error, KafkaError


class ClientError(KafkaError):
    """An error that a client raises itself. code: the protocol error that comes
    closest.
    """

    code: ClassVar[Error]

    def __init__(self, message: str) -> None:
        super().__init__(self.code, message)


class KafkaTimeoutError(ClientError):
    """Time ran out (in the simulation: virtual time)."""

    code = Error.REQUEST_TIMED_OUT


class IllegalStateError(ClientError):
    """The client's state doesn't allow this call: it is closed, or the partition isn't
    assigned.
    """

    code = Error.UNKNOWN_SERVER_ERROR


class NoOffsetForPartitionError(ClientError):
    """auto_offset_reset is "none" and there is no position to start from."""

    code = Error.OFFSET_OUT_OF_RANGE


class LogTruncationError(ClientError):
    """auto_offset_reset is "none", and the log was truncated before the position
    (KIP-320).
    """

    code = Error.OFFSET_OUT_OF_RANGE


class CommitFailedError(ClientError):
    """The offsets can't be committed any more: the group has gone on without this
    member.
    """

    code = Error.UNKNOWN_MEMBER_ID


class RebalanceInProgressError(ClientError):
    """The offsets can't be committed now: poll() must finish the rebalance first."""

    code = Error.REBALANCE_IN_PROGRESS


class UnknownMemberIdError(KafkaError):
    """The coordinator doesn't know this member (any more)."""


class IllegalGenerationError(KafkaError):
    """The group is in another generation than the member."""


class FencedInstanceIdError(KafkaError):
    """Another consumer has joined with the same group_instance_id: this one is out for
    good.
    """


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
    """The exception for a coordinator's refusal, named as in kafka-python where a
    program may want to catch it.
    """
    return REFUSALS.get(error, KafkaError)(error, message)
