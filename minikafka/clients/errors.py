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
