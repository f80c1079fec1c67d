"""Keys as short grey letters: colours belong to actors."""

from __future__ import annotations

from collections.abc import Iterable

NO_KEY = "–"


def letters(keys: Iterable[str | None]) -> dict[str | None, str]:
    """One to three letters for each key, different as far as three letters go: alice -> a, customer-17 -> 17."""
    texts = sorted({key for key in keys if key is not None})
    common = _shared(texts[0], texts[-1]) if len(texts) > 1 else ""
    while common and (common[-1].isdigit() or (common[-1].isalnum() and len(common) < 4)):
        common = common[:-1]
    rests = {text: text[len(common) :] or text for text in texts}
    for length in (1, 2, 3):
        short = {text: rest[:length] for text, rest in rests.items()}
        if len(set(short.values())) == len(short):
            break
    return {None: NO_KEY} | dict(short if texts else {})


def legend(known: dict[str | None, str], most: int = 6) -> str:
    """a alice · b bob, where it says more than the letters do and is short enough to read."""
    pairs = [f"{letter} {key}" for key, letter in known.items() if key is not None and letter != key]
    return "keys: " + " · ".join(pairs) if pairs and len(pairs) <= most else ""


def _shared(first: str, last: str) -> str:
    """What the first and the last of a sorted list begin with, all others begin with too."""
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]
