"""The grammar of command lines.

A usage line is the grammar and the help at once:

    kafka-topics --describe [--topic TOPIC] [--under-replicated-partitions]

Words in capitals are values; parts in brackets may be left out; a word that ends in
"..." takes the rest of the line; an option with one of REPEATED may come more than
once.
"""

import difflib
import re
from typing import NamedTuple

from minikafka.trace import printable

Given = dict[str, str]  # an option or a positional word -> its value, "" for a flag

SHORT_MAX, INT_MAX, LONG_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1
NUMBER = re.compile("-?[0-9]{1,19}")  # which is as long as Kafka's numbers get
REPEATED = ("PAIRS", "GROUPS")
TOKEN = re.compile(r"\[[^\]]+\]|\S+")


class Refused(Exception):
    """A line that nobody understands, or that can't be meant. Nothing has happened."""


class Word(NamedTuple):
    """A word of a usage line that is no option."""

    name: str
    optional: bool


class Option(NamedTuple):
    """An option of a usage line."""

    takes_value: bool
    required: bool
    repeats: bool


class Usage:
    """The command lines that one usage line allows."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.program, *tokens = TOKEN.findall(line)
        self.options: dict[str, Option] = {}
        self.words: list[Word] = []
        while tokens:
            self._learn(tokens)

    def _learn(self, tokens: list[str]) -> None:
        """Take the next word or option from the tokens."""
        token = tokens.pop(0)
        optional = token.startswith("[")
        name, _, value = token.strip("[]").partition(" ")
        if not name.startswith("-"):
            self.words.append(Word(name, optional))
            return
        if not optional and tokens and _is_value(tokens[0]):
            value = tokens.pop(0)
        self.options[name] = Option(
            takes_value=bool(value),
            required=not optional,
            repeats=value in REPEATED,
        )

    def fixed(self) -> set[str]:
        """The words that distinguish this usage from the program's others."""
        found = set()
        for word in self.words:
            if not _is_value(word.name):
                found.add(word.name)
        for name, option in self.options.items():
            if option.required and not option.takes_value:
                found.add(name)
        return found

    def given(self, words: list[str]) -> Given:
        """The values in a line. Raises Refused."""
        given: Given = {}
        positional = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if not word.startswith("-"):
                positional.append(word)
                continue
            name, value = self._option(word, rest)
            if name in given and self.options[name].repeats:
                value = f"{given[name]},{value}"
            given[name] = value
        self._check_complete(given)
        return given | self._positional(positional)

    def _option(self, word: str, rest: list[str]) -> tuple[str, str]:
        """Its name and its value, which may be the next of the rest."""
        name, equals, value = word.partition("=")
        if name not in self.options:
            raise Refused(self._unknown(name))
        if equals or not self.options[name].takes_value:
            return name, value
        if not rest:
            raise Refused(f"{name} needs a value. {self._how()}")
        return name, rest.pop(0)

    def _check_complete(self, given: Given) -> None:
        """Refuse a line that lacks an option."""
        required = [name for name, option in self.options.items() if option.required]
        missing = [name for name in required if name not in given]
        if not missing:
            return
        names = " and ".join(missing)
        raise Refused(f"{names} is missing. {self._how()}")

    def _positional(self, words: list[str]) -> Given:
        """The words that are no options, in their order."""
        given: Given = {}
        rest = list(words)
        for word in self.words:
            if word.name.endswith("..."):
                given[word.name.removesuffix("...")] = " ".join(rest)
                rest = []
            elif rest:
                given |= self._matched(word.name, rest.pop(0))
            elif not word.optional:
                raise Refused(f"{word.name} is missing. {self._how()}")
        if rest:
            surplus = " ".join(rest)
            raise Refused(f"{surplus!r} doesn't belong there. {self._how()}")
        return given

    def _matched(self, wanted: str, word: str) -> Given:
        """The value that a word gives where this one is wanted."""
        kind, slash, name = wanted.partition("/")
        prefix = f"{kind}/"
        if slash and word.startswith(prefix):
            return {name: word.removeprefix(prefix)}
        if not slash and _is_value(wanted):
            return {wanted: word}
        if word == wanted:
            return {}
        raise Refused(f"{word!r} is not understood. {self._how()}")

    def _unknown(self, name: str) -> str:
        """A sentence on an option that isn't there."""
        hint = ""
        for near in difflib.get_close_matches(name, self.options, 1):
            hint = f"Did you mean {near}? "
        return f"{self.program} has no {name} here. {hint}{self._how()}"

    def _how(self) -> str:
        """The usage line, as a hint."""
        return f"Usage:\n  {self.line}"


def _is_value(word: str) -> bool:
    """Whether a word of a usage line stands for a value."""
    has_capitals = any(map(str.isupper, word))
    return has_capitals and word[0] not in "-["


def number_in(text: str, most: int = INT_MAX) -> int | None:
    """The whole number that a text is, if it is one and neither it nor its negative is
    more than that.
    """
    if not NUMBER.fullmatch(text) or abs(int(text)) > most:
        return None
    return int(text)


def whole(given: Given, name: str, least: int = 0, most: int = INT_MAX) -> int:
    """A value that must be a whole number. Raises Refused."""
    number = number_in(given[name], most)
    if number is None:
        shown = printable(given[name], 40)
        raise Refused(f"{name} is a whole number of at most {most}, not {shown!r}.")
    if number < least:
        raise Refused(f"{name} is {least} or more, not {number}.")
    return number


def whole_or(
    given: Given, name: str, other: int, least: int = 0, most: int = INT_MAX
) -> int:
    """The same where it may be left out; then the value is `other`."""
    if name not in given:
        return other
    return whole(given, name, least, most)


class Setting(NamedTuple):
    """A value and its name, as a line gives them."""

    name: str
    value: str


def setting_of(pair: str) -> Setting:
    """NAME=VALUE. Raises Refused."""
    name, equals, value = pair.partition("=")
    if not equals:
        raise Refused(f"{pair!r} isn't NAME=VALUE.")
    return Setting(name.strip(), value.strip())


def pairs(text: str) -> dict[str, str]:
    """a=1,b=2. Raises Refused."""
    found = {}
    for pair in filter(None, text.split(",")):
        setting = setting_of(pair)
        found[setting.name] = setting.value
    return found
