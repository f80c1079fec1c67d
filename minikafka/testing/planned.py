"""Faults as data, for programs that aren't Python: in a plan that `minikafka serve
--faults FILE` reads, and in what the control endpoint is asked for.

    [[faults]]
    fault = "Lose"
    api = "Produce"
    topic = "orders"
    answer = true

The words are those of faults.py. TOML and JSON have another way to say times=None: "all".
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from types import NoneType
from typing import NamedTuple, get_args, get_type_hints

from minikafka.testing.faults import (
    Answer,
    Crash,
    Delay,
    Freeze,
    Lose,
    Throttle,
    WireFault,
)
from minikafka.wire.messages import API

KINDS: dict[str, type[WireFault]] = {
    kind.__name__: kind for kind in (Lose, Answer, Delay, Throttle, Crash, Freeze)
}
KIND, SEED, ALL = "fault", "seed", "all"
TYPES = {str: "a text", int: "a whole number", bool: "true or false"}
LIST = "faults"
BEGINS = re.compile(rf"^\s*\[\[\s*{LIST}\s*\]\]", re.MULTILINE)


class Planned(NamedTuple):
    """A fault, and the seed of its chance_percent."""

    fault: WireFault
    seed: int = 0


def planned(entry: object) -> Planned:
    """The fault that an entry names. Errors: ValueError, in a sentence that says what is
    allowed.
    """
    if not isinstance(entry, Mapping):
        raise ValueError(f"a fault is a table of words and values, not {entry!r}")
    words = dict(entry)
    name = words.pop(KIND, None)
    if not isinstance(name, str) or name not in KINDS:
        given = f"{KIND} is missing" if name is None else f"{KIND} is {name!r}"
        raise ValueError(f"{given}: say one of {', '.join(KINDS)}")
    kind = KINDS[name]
    seed = words.pop(SEED, 0)
    if type(seed) is not int:
        raise ValueError(f"{SEED}: {TYPES[int]}, not {seed!r}")
    types = get_type_hints(kind)
    known = [each for each in fields(kind) if each.name != "_"]
    allowed = ", ".join(sorted([SEED, *(each.name for each in known)]))
    for word in words:
        if word not in {each.name for each in known}:
            raise ValueError(f"{name} has no {word!r}; it takes {allowed}")
    for each in known:
        if each.name not in words and each.default is MISSING:
            raise ValueError(f"{name} needs {each.name}; it takes {allowed}")
    if words.get("times") == ALL:
        words["times"] = None
    for word, value in words.items():
        types_of = get_args(types[word]) or (types[word],)
        if type(value) not in types_of:
            wanted = " or ".join(TYPES[each] for each in types_of if each != NoneType)
            if word == "times":
                wanted += f', or "{ALL}"'
            raise ValueError(f"{word}: {wanted}, not {value!r}")
    if words["api"] not in API:
        near = get_close_matches(words["api"], API, 3) or ["Produce", "Fetch"]
        raise ValueError(
            f"api: {words['api']!r} is no API of Kafka's; is it {' or '.join(near)}?"
        )
    return Planned(kind(**words), seed)


def plan(text: str) -> list[Planned]:
    """The faults of a plan in TOML. Errors: ValueError, which names the line."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"this is no TOML: {error}") from error
    others = sorted(whole.keys() - {LIST})
    entries = whole.get(LIST)
    if others or not isinstance(entries, list) or not entries:
        there = f"has {others[0]!r}" if others else "has none"
        raise ValueError(f"a plan is a list of [[{LIST}]], and this one {there}")
    lines = [text.count("\n", 0, at.end()) + 1 for at in BEGINS.finditer(text)]
    found = []
    for number, entry in enumerate(entries, 1):
        try:
            found.append(planned(entry))
        except ValueError as error:
            # a list in one line is TOML as well
            where = f"fault {number}"
            if len(lines) == len(entries):
                where = f"line {lines[number - 1]}, {where}"
            raise ValueError(f"{where}: {error}") from error
    return found
