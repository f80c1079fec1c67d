"""What may be given as key or value: text as UTF-8, other plain values as JSON, bytes as they are, None as null."""

from __future__ import annotations

import json
from typing import Any


def serialize(data: Any) -> bytes | None:
    """bytes of a key or value; raises TypeError for what is neither bytes, text nor JSON."""
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode("utf-8")
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    try:
        return json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"a {type(data).__name__} can't be a key or value: give bytes, text, or what JSON knows ({error})"
        ) from None


def apply(serializer: Any, topic: str, headers: Any, data: Any) -> Any:
    """Use a serializer or deserializer as kafka-python does: a function of the data, or an object with (de)serialize.

    None stands for serialize() above when sending, and for nothing when reading.
    """
    for method in ("serialize", "deserialize"):
        if hasattr(serializer, method):
            return getattr(serializer, method)(topic, headers, data)
    return serializer(data)
