"""A producer's configuration: kafka-python's names, the Java client's defaults, and
values that follow from other values.
"""

from typing import Any

from minikafka.clients import connection
from minikafka.wire.compression import CODECS

DEFAULTS: dict[str, Any] = {
    **connection.DEFAULTS,
    "acks": "all",
    # None: if acks, retries and max_in_flight allow it, as in Java
    "enable_idempotence": None,
    "linger_ms": 5,  # 0 before 4.0 (KIP-1030)
    "batch_size": 16384,
    "buffer_memory": 33554432,
    "compression_type": None,
    "max_in_flight_requests_per_connection": 5,
    "max_request_size": 1048576,
    "partitioner": None,  # None: DefaultPartitioner
    "key_serializer": None,
    "value_serializer": None,
    "retries": 2147483647,
    "retry_backoff_max_ms": 1000,
    "delivery_timeout_ms": 120000,
    "max_block_ms": 60000,
    "transactional_id": None,
    "transaction_timeout_ms": 60000,
}


def _acks(given: Any) -> int | str:
    """acks as 0, 1 or "all". Errors: ValueError."""
    if given in ("all", -1, "-1"):
        return "all"
    if isinstance(given, bool) or given not in (0, 1, "0", "1"):
        raise ValueError(f'acks={given!r}: give 0, 1 or "all"')
    return int(given)


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """The given values and the defaults, with values filled in that follow from others.
    Errors: ValueError in plain words.
    """
    config = {**DEFAULTS, **given}
    config["acks"] = _acks(config["acks"])
    config["compression_type"] = _compression(config["compression_type"])
    config["enable_idempotence"] = _idempotence(config)
    # the time for one attempt (KIP-91)
    shortest_ms = config["linger_ms"] + config["request_timeout_ms"]
    if config["delivery_timeout_ms"] >= shortest_ms:
        return config
    if "delivery_timeout_ms" in given:
        raise ValueError(
            f"delivery_timeout_ms={config['delivery_timeout_ms']} is less than"
            f" linger_ms + request_timeout_ms ({shortest_ms}): there would be no"
            " time for one try"
        )
    config["delivery_timeout_ms"] = shortest_ms
    return config


def _compression(given: str | None) -> str:
    """The name of a compression codec. Errors: ValueError."""
    name = given or "none"
    if name not in CODECS:
        raise ValueError(f"compression_type={name!r}: give one of {', '.join(CODECS)}")
    return name


def _idempotence(config: dict[str, Any]) -> bool:
    """Whether batches get sequence numbers: as requested, or by default if possible."""
    wanted = config["enable_idempotence"]
    is_possible = (
        config["acks"] == "all"
        and config["max_in_flight_requests_per_connection"] <= 5
        and config["retries"] > 0
    )
    if wanted and not is_possible:
        raise ValueError(
            'enable_idempotence needs acks="all", at most 5 requests in flight, and'
            " retries"
        )
    has_numbers = is_possible and wanted is not False
    if config["transactional_id"] is not None and not has_numbers:
        raise ValueError(
            'transactional_id needs idempotence: acks="all", at most 5 requests in'
            " flight, and retries"
        )
    return is_possible if wanted is None else bool(wanted)
