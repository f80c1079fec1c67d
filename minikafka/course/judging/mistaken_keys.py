"""How a partitioner treats a key that isn't one: as bytes that it made, or as
no key.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from minikafka.clients.partitioners import murmur2, to_positive

# of a key, all partitions, and those that are available
Partition = Callable[[Any, list[int], list[int]], int]


def taken_for(answer: Partition, key: Any, found: int) -> str:
    """How a mistaken key, which went to this partition, was treated."""
    hidden = f"the key {key!r} is a mistake, and it went to {found}"
    made = _hashed_as(answer, key)
    if made is not None:
        return f"{hidden}: {made!r} was hashed. Don't encode it: let it raise."
    if not _goes_with_the_available(answer, key):
        return f"{hidden}, as if it were bytes. Let it raise."
    return f"{hidden} as if there were no key. What hides the error?"


def _hashed_as(answer: Partition, key: Any) -> bytes | None:
    """The bytes that an answer has made of a mistaken key: those that explain where it
    goes, whatever the number of partitions. None if no bytes do.
    """
    made: dict[bytes, list[bool]] = {}
    with contextlib.suppress(Exception):
        for count in (1009, 1013):
            everything = list(range(count))
            found = answer(key, everything, everything)
            for each in _as_bytes(key):
                made.setdefault(each, []).append(
                    found == (to_positive(murmur2(each)) % count)
                )
    return next(
        (each for each, fits in made.items() if len(fits) > 1 and all(fits)), None
    )


def _as_bytes(key: Any) -> Iterator[bytes]:
    """Common ways to make bytes of a text or a number."""
    words = [str(key), repr(key), str(key).lower(), str(key).upper()]
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        yield from (each.encode(encoding) for each in words)
    yield b""
    if isinstance(key, int):
        yield bytes(key)
        yield bytes([key])
        for size in (1, 2, 4, 8):
            yield key.to_bytes(size, "big")
            yield key.to_bytes(size, "little")


def _goes_with_the_available(answer: Partition, key: Any) -> bool:
    """Whether it goes where a record without a key goes: to the one partition that has
    a leader, whichever that is.
    """
    everything = list(range(7))
    try:
        return all(answer(key, everything, [each]) == each for each in everything)
    except Exception:
        return False
