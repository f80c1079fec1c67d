"""What a consumer can be told: kafka-python's names and units, the Java client's defaults."""

from __future__ import annotations

from typing import Any

from minikafka.clients.assigning import chosen_assignors

DEFAULTS: dict[str, Any] = {
    "group_id": None,
    "group_instance_id": None,
    "group_protocol": "classic",
    "group_remote_assignor": None,
    "partition_assignment_strategy": ("range", "cooperative-sticky"),
    "auto_offset_reset": "latest",
    "enable_auto_commit": True,
    "auto_commit_interval_ms": 5000,
    "session_timeout_ms": 45000,
    "heartbeat_interval_ms": 3000,
    "max_poll_interval_ms": 300000,
    "max_poll_records": 500,
    "processing_ms": 0,
    "fetch_min_bytes": 1,
    "fetch_max_wait_ms": 500,
    "fetch_max_bytes": 52428800,
    "max_partition_fetch_bytes": 1048576,
    "check_crcs": True,
    "isolation_level": "read_uncommitted",
    "key_deserializer": None,
    "value_deserializer": None,
    "consumer_timeout_ms": None,
    "retry_backoff_ms": 100,
    "reconnect_backoff_ms": 50,
    "request_timeout_ms": 30000,
    "metadata_max_age_ms": 300000,
    "allow_auto_create_topics": True,
    "client_id": None,
}

# These mean something in a group only.
OF_A_GROUP = ("group_instance_id", "group_remote_assignor")
TIMES = ("auto_commit_interval_ms", "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms")


def checked(config: dict[str, Any]) -> dict[str, Any]:
    """A consumer's configuration; ValueError in plain words."""
    if config["auto_offset_reset"] not in ("latest", "earliest", "none"):
        raise ValueError(f'auto_offset_reset={config["auto_offset_reset"]!r}: give "latest", "earliest" or "none"')
    if config["isolation_level"] != "read_uncommitted":
        raise ValueError(f"isolation_level={config['isolation_level']!r}: transactions are not here yet")
    if config["max_poll_records"] < 1:
        raise ValueError("max_poll_records must be at least 1")
    if config["processing_ms"] < 0:
        raise ValueError("processing_ms must not be negative")
    for name in TIMES:
        if isinstance(config[name], bool) or not isinstance(config[name], int) or config[name] < 1:
            raise ValueError(f"{name}={config[name]!r}: give a number of milliseconds from 1 on")
    _check_group(config)
    return config


def _check_group(config: dict[str, Any]) -> None:
    if config["group_protocol"] not in ("classic", "consumer"):
        raise ValueError(f'group_protocol={config["group_protocol"]!r}: give "classic" or "consumer" (KIP-848)')
    if config["group_id"] is None:
        for name in OF_A_GROUP:
            if config[name] is not None:
                raise ValueError(f"{name} needs a group_id")
        return
    if not isinstance(config["group_id"], str) or not config["group_id"]:
        raise ValueError(f"group_id={config['group_id']!r}: a group's name is a text")
    if config["group_protocol"] == "classic":
        chosen_assignors(config["partition_assignment_strategy"])
        if config["heartbeat_interval_ms"] >= config["session_timeout_ms"]:
            raise ValueError(
                f"heartbeat_interval_ms={config['heartbeat_interval_ms']} must be lower than session_timeout_ms="
                f"{config['session_timeout_ms']}: usually a third of it, so that two may get lost"
            )
