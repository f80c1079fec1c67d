"""The command lines that an incident understands.

A usage line is the grammar and the help at once:

    kafka-topics --describe [--topic TOPIC] [--under-replicated-partitions]

Words in capitals are values; what stands in brackets may be left out; a word that ends
in "..." takes all that follows. `.sh` and `--bootstrap-server` are allowed everywhere.
"""

import difflib
import re
import shlex
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Given = dict[str, str]  # an option or a positional word -> its value, "" for a flag


class Refused(Exception):
    """A line that nobody understands, or that can't be meant. Nothing has happened."""


class Usage:
    """What one usage line allows."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.program, *rest = re.findall(r"\[[^\]]+\]|\S+", line)
        self.values: dict[str, bool] = {}  # option -> whether a value follows
        self.required: set[str] = set()
        self.words: list[str] = []
        while rest:
            token = rest.pop(0)
            optional = token.startswith("[")
            name, *value = token.strip("[]").split()
            if not name.startswith("--"):
                self.words.append(name)
                continue
            if not optional and rest and _is_value(rest[0]):
                value = [rest.pop(0)]
            self.values[name] = bool(value)
            if not optional:
                self.required.add(name)

    def fixed(self) -> set[str]:
        """What tells this usage from the program's others."""
        words = {word for word in self.words if not _is_value(word)}
        return words | {name for name in self.required if not self.values[name]}

    def given(self, words: list[str]) -> Given:
        """What a line gives. Raises Refused."""
        found: Given = {}
        positional = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if not word.startswith("--"):
                positional.append(word)
                continue
            name, equals, value = word.partition("=")
            if name not in self.values:
                raise Refused(self._unknown(name))
            if self.values[name] and not equals:
                if not rest:
                    raise Refused(f"{name} lacks its value. {self._how()}")
                value = rest.pop(0)
            found[name] = value
        missing = [name for name in self.values if name in self.required - set(found)]
        if missing:
            raise Refused(f"{' and '.join(missing)} is missing. {self._how()}")
        return found | self._positional(positional)

    def _positional(self, words: list[str]) -> Given:
        """The words that are no options, in their order."""
        found: Given = {}
        rest = list(words)
        for wanted in self.words:
            if wanted.endswith("..."):
                found[wanted.removesuffix("...")] = " ".join(rest)
                rest = []
                continue
            if not rest:
                raise Refused(f"{wanted} is missing. {self._how()}")
            word = rest.pop(0)
            prefix, slash, name = wanted.partition("/")
            if slash and word.startswith(f"{prefix}/"):
                found[name] = word.removeprefix(f"{prefix}/")
            elif _is_value(wanted) and not slash:
                found[wanted] = word
            elif word != wanted:
                raise Refused(f"{word!r} is not understood. {self._how()}")
        if rest:
            raise Refused(f"{' '.join(rest)!r} is too much. {self._how()}")
        return found

    def _unknown(self, name: str) -> str:
        """A sentence on an option that isn't there."""
        near = difflib.get_close_matches(
            name,
            self.values,
            1,
        )
        hint = f"did you mean {near[0]}? " if near else ""
        return f"{self.program} has no {name} here; {hint}{self._how()}"

    def _how(self) -> str:
        """The usage line, as a hint."""
        return f"It goes so:\n  {self.line}"


def _is_value(word: str) -> bool:
    """Whether a word of a usage line stands for something else."""
    return any(letter.isupper() for letter in word) and word[0] not in "-["


class Tool(NamedTuple):
    """run(world, given) returns what the tool prints. acts: it changes something."""

    usage: Usage
    run: Callable[[Any, Given], str]
    acts: bool


def found(tools: Iterable[Tool], line: str) -> tuple[Tool, Given]:
    """The tool that a line means, and what it gives. Raises Refused."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise Refused(f"{line!r} can't be read: {error}") from None
    if not words:
        raise Refused("The line is empty.")
    program = words[0].rsplit("/")[-1].removesuffix(".sh")
    rest = _without_server(words[1:])
    mine = [tool for tool in tools if tool.usage.program == program]
    if not mine:
        known = sorted({tool.usage.program for tool in tools})
        near = difflib.get_close_matches(
            program,
            known,
            1,
        )
        hint = f"Did you mean {near[0]}? " if near else ""
        raise Refused(f"There is no {program!r}. {hint}There are {', '.join(known)}.")
    names = {word.partition("=")[0] for word in rest}
    fitting = [tool for tool in mine if tool.usage.fixed() <= names]
    if not fitting:
        lines = "\n".join(f"  {tool.usage.line}" for tool in mine)
        raise Refused(f"{program} goes so here:\n{lines}")
    best = max(fitting, key=lambda tool: len(tool.usage.fixed()))
    return best, best.usage.given(rest)


def _without_server(words: list[str]) -> list[str]:
    """The words without the address of the cluster."""
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--bootstrap-server", "--bootstrap-controller"):
            skip = True
        elif not word.startswith("--bootstrap-server="):
            kept.append(word)
    return kept


def whole(given: Given, name: str, least: int = 0) -> int:
    """A value that must be a whole number."""
    text = given[name]
    try:
        number = int(text)
    except ValueError:
        raise Refused(f"{name} is a whole number, not {text!r}.") from None
    if number < least:
        raise Refused(f"{name} is {least} or more, not {number}.")
    return number
