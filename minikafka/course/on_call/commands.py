"""The command lines that an incident understands: which tool a line means. `.sh` is
allowed everywhere, and what `habits.py` has.
"""

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from minikafka.course.on_call import elsewhere
from minikafka.course.on_call.habits import plain
from minikafka.course.on_call.shell import Said
from minikafka.course.on_call.usage import Given, Refused, Usage

ALIASES = {"k": "kubectl", "netcat": "nc"}  # that nearly everybody has


class Tool(NamedTuple):
    """run(world, given) returns what the tool prints. acts: it changes something."""

    usage: Usage
    run: Callable[[Any, Given], str | Said]
    acts: bool


def found(
    tools: Iterable[Tool], words: list[str], host: str = ""
) -> tuple[Tool, Given]:
    """The tool that the words of a line mean, and what they give. host: the machine on
    which it is run. Raises Refused.
    """
    program = words[0].rsplit("/")[-1].removesuffix(".sh")
    program = ALIASES.get(program, program)
    known = list(tools)
    mine = [tool for tool in known if tool.usage.program == program]
    if not mine:
        raise Refused(_no_program(program, known))
    _check_options(program, words)
    options = {name for tool in mine for name in tool.usage.options}
    rest = plain(program, words[1:], options, host)
    return _best(program, mine, rest)


def _check_options(program: str, words: list[str]) -> None:
    """Refuse what the real program has, and this one hasn't, with what to type."""
    answers = elsewhere.OPTIONS.get(program, {})
    for word in words:
        name, _, _ = word.partition("=")
        if name in answers:
            raise Refused(answers[name])


def _no_program(program: str, tools: list[Tool]) -> str:
    """A sentence on a program that isn't there."""
    if program in elsewhere.NOT_HERE:
        return elsewhere.NOT_HERE[program]
    known = sorted({tool.usage.program for tool in tools})
    hint = ""
    for near in difflib.get_close_matches(program, known, 1):
        hint = f"Did you mean {near}? "
    names = ", ".join(known)
    return f"There is no {program!r}. {hint}There are {names}."


def _best(program: str, tools: list[Tool], words: list[str]) -> tuple[Tool, Given]:
    """The tool whose usage fits best. Raises Refused, with what the first of them has
    against the line.
    """
    refusals = []
    for tool in _fitting(program, tools, words):
        try:
            return tool, tool.usage.given(words)
        except Refused as refused:
            refusals.append(refused)
    raise refusals[0]


def _fitting(program: str, tools: list[Tool], words: list[str]) -> list[Tool]:
    """The tools whose fixed words are all there, and that have most of them. Raises
    Refused if there are none.
    """
    names = set()
    for word in words:
        name, _, _ = word.partition("=")
        names.add(name)
    fitting = [tool for tool in tools if tool.usage.fixed() <= names]
    if not fitting:
        raise Refused(_how_it_goes(program, tools))
    most = max(map(_weight, fitting))
    return [tool for tool in fitting if _weight(tool) == most]


def _weight(tool: Tool) -> int:
    """How many words tell it from the program's other tools."""
    return len(tool.usage.fixed())


def _how_it_goes(program: str, tools: list[Tool]) -> str:
    """All usages of a program, as a hint."""
    lines = [f"Here {program} takes:"]
    for tool in tools:
        lines.append(f"  {tool.usage.line}")
    return "\n".join(lines)
