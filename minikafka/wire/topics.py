"""Requests and answers name a topic once and list its partitions under it; code works with one partition at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def nested(
    parts: Iterable[tuple[Any, Any]], topic: str = "name", partitions: str = "partitions"
) -> list[dict[str, Any]]:
    """Nest what is said of partitions under their topics. parts: (topic, one partition's). The order stays.

    topic, partitions: what the API calls these two fields.
    """
    found: dict[Any, list[Any]] = {}
    for name, part in parts:
        found.setdefault(name, []).append(part)
    return [{topic: name, partitions: theirs} for name, theirs in found.items()]
