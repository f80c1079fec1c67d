"""Serializers and deserializers, as kafka-python takes them."""

from __future__ import annotations

from typing import Any


def apply(serializer: Any, topic: str, headers: Any, data: Any) -> Any:
    """serializer: a function of the data, or an object with serialize() or deserialize()."""
    for method in ("serialize", "deserialize"):
        if hasattr(serializer, method):
            return getattr(serializer, method)(topic, headers, data)
    return serializer(data)
