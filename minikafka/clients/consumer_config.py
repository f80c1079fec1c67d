"""A consumer's configuration: kafka-python's names and units, the Java client's
defaults.
"""

from typing import Any

from minikafka.clients import connection
from minikafka.clients.assigning import chosen_assignors

ISOLATION_LEVELS = ("read_uncommitted", "read_committed")  # their numbers in requests

DEFAULTS: dict[str, Any] = {
    **connection.DEFAULTS,
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
    "allow_auto_create_topics": True,
}


def checked(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration if its values fit together; otherwise raises ValueError
    in plain words.
    """
    if config["auto_offset_reset"] not in ("latest", "earliest", "none"):
        raise ValueError(
            f'auto_offset_reset={config["auto_offset_reset"]!r}: give "latest",'
            ' "earliest" or "none"'
        )
    if config["isolation_level"] not in ISOLATION_LEVELS:
        raise ValueError(
            f"isolation_level={config['isolation_level']!r}: give one of"
            f" {', '.join(ISOLATION_LEVELS)}"
        )
    if config["group_protocol"] not in ("classic", "consumer"):
        raise ValueError(
            f'group_protocol={config["group_protocol"]!r}: give "classic" or "consumer"'
            " (KIP-848)"
        )
    if config["group_id"] is None:
        for name in ("group_instance_id", "group_remote_assignor"):
            if config[name] is not None:
                raise ValueError(f"{name} needs a group_id")
    elif not config["group_id"]:
        raise ValueError("group_id='': a group's name is a text")
    elif config["group_protocol"] == "classic":
        chosen_assignors(config["partition_assignment_strategy"])
        if config["heartbeat_interval_ms"] >= config["session_timeout_ms"]:
            raise ValueError(
                f"heartbeat_interval_ms={config['heartbeat_interval_ms']} must be lower"
                f" than session_timeout_ms={config['session_timeout_ms']}: usually a"
                " third of it, so that two may get lost"
            )
    return config
