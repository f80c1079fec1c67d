"""A share consumer's configuration: Java's names in snake case, the Java client's
defaults.

Where a group begins, how long a member keeps the records it acquired, and how often a
record is delivered at most, are configs of the group, which the broker stores.
"""

from typing import Any

from minikafka.clients import connection

IMPLICIT, EXPLICIT = "implicit", "explicit"
# their numbers in requests (KIP-1206)
ACQUIRE_MODES = ("batch_optimized", "record_limit")

DEFAULTS: dict[str, Any] = {
    **connection.DEFAULTS,
    "group_id": None,
    "share_acknowledgement_mode": IMPLICIT,
    "share_acquire_mode": "batch_optimized",
    "max_poll_interval_ms": 300000,
    "max_poll_records": 500,
    "fetch_min_bytes": 1,
    "fetch_max_wait_ms": 500,
    "fetch_max_bytes": 52428800,
    "check_crcs": True,
    "key_deserializer": None,
    "value_deserializer": None,
    "allow_auto_create_topics": True,
}


def checked(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration if its values make sense; otherwise raises ValueError
    in plain words.
    """
    if not config["group_id"]:
        raise ValueError(
            f"group_id={config['group_id']!r}: a share consumer is always a member of a"
            ' group: group_id="workers"'
        )
    modes = {
        "share_acknowledgement_mode": (IMPLICIT, EXPLICIT),
        "share_acquire_mode": ACQUIRE_MODES,
    }
    for name, known in modes.items():
        if config[name] not in known:
            wanted = " or ".join(f'"{each}"' for each in known)
            raise ValueError(f"{name}={config[name]!r}: give {wanted}")
    return config
