"""The values that a learner may give as key or value: bytes, text (as UTF-8), other
plain values (as JSON), None (as null).
"""

import json
from typing import Any


def serialize(data: Any) -> bytes | None:
    """The bytes of a key or value. Raises TypeError for anything that is neither bytes,
    text nor JSON.
    """
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
            f"a {type(data).__name__} can't be a key or value: give bytes, text, or"
            f" what JSON knows ({error})"
        ) from None
