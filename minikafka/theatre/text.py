"""The names of clients, groups and records are arbitrary text: this is the only place
where they enter a picture.

Names come in through readable(): one line, nothing invisible, not too long. They go out
through escape() into HTML and SVG, and through script_json() into the page's data.
"""

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.trace import Event, printable

MOST = 200  # characters of one name, key or value that a picture holds

# XML 1.0, Char: not even escaped
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HAS_NO_TEXT = (int, bool, float, type(None))
# may end the script element, or can't be written as UTF-8
IN_SCRIPT = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def readable(value: Any) -> Any:
    """Events, or any plain data, with every text in them printable. Equal texts stay
    equal, so joins by name hold.
    """
    if isinstance(value, str):
        return value if _is_a_name(value) else printable(value, MOST)
    if isinstance(value, Event):
        given = value.id, value.node, value.cause, value.detail
        if all(map(_is_readable, given)):
            return value
        number, node, cause, detail = map(readable, given)
        return Event(number, value.at, node, value.kind, cause, detail)
    if isinstance(value, dict):
        return {readable(key): readable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(readable(each) for each in value)
    return value


def _is_readable(value: Any) -> bool:
    """Whether readable() would leave it as it is. No new text is made, because a trace
    may have 100,000 events and more.
    """
    kind = type(value)
    if kind is str:
        return _is_a_name(value)
    if kind is dict:
        return all(map(_is_readable, value)) and all(map(_is_readable, value.values()))
    if kind in (list, tuple):
        return all(map(_is_readable, value))
    return kind in _HAS_NO_TEXT


def _is_a_name(text: str) -> bool:
    """Whether a text can be on a page as it is."""
    return len(text) <= MOST and text.isprintable()


def escape(text: str) -> str:
    """Text as HTML and XML hold it, in an element or in a quoted attribute."""
    return html.escape(NOT_XML.sub("\ufffd", text))


def script_json(data: Any) -> str:
    """Data as JSON that no script element ends before its end."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return IN_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def key_part(name: str) -> str:
    """A name as one part of a shape's key, whose parts are divided by slashes."""
    return name.replace("%", "%25").replace("/", "%2F")


def capital(words: str) -> str:
    """The words at the beginning of a sentence."""
    return words[:1].upper() + words[1:]


def in_words(count: int) -> str:
    """A count that isn't to be taken for a record's number: "one lost", "12 lost"."""
    names = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")
    return names[count] if count < len(names) else str(count)


def counted(count: int, noun: str, one: str = "1") -> str:
    """1 record · 2 records; one: the word for it in a sentence"""
    if count == 1:
        return f"{one} {noun}"
    return f"{count} {noun}s"


def ordinal(times: int) -> str:
    """2nd, 3rd, 11th"""
    is_teen = 10 < times % 100 < 20
    end = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(times % 10, "th")
    return f"{times}{end}"


def listed(names: Iterable[object], most: int = 8) -> str:
    """A, B and C; of many the first ones"""
    *words, last = map(str, names or [""])
    if len(words) >= most:
        words, last = words[: most - 1], f"{len(words) - most + 2} more"
    if words:
        return f"{', '.join(words)} and {last}"
    return last


def span_of(offsets: Sequence[int]) -> str:
    """offset 4 · offsets 4 to 6"""
    if not offsets:
        return "nothing"
    first = offsets[0]
    last = offsets[-1]
    if len(offsets) == 1:
        return f"offset {first}"
    return f"offsets {first} to {last}"


def dotted(*parts: str) -> str:
    """The non-empty parts, in one line."""
    return " · ".join(filter(None, parts))


def spoken(sentence: str) -> str:
    """A sentence as a picture says it: it begins with a capital, unless its first word
    is code: send(“created”), orders-0.
    """
    first = sentence.split(" ", 1)[0]
    is_code = "(" in first or any(letter.isdigit() for letter in first)
    return sentence if is_code else capital(sentence)


def lasting(ms: int) -> str:
    """A duration in words: 400 ms, 12 s, 1.5 s."""
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:g} s"


def quoted(value: str, most: int) -> str:
    """A value for a sentence, cut to at most this many characters."""
    shown = value if len(value) <= most else value[: most - 1] + "…"
    return f"“{shown}”"
