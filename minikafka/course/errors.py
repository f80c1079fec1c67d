"""Error, cause, command: the messages that people paste into a search box, from
`notebooks/errors.toml`.

`minikafka error WORDS` finds the entry that is nearest to a pasted message; the site
shows them all (publishing/site_errors.py).
"""

import argparse
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from minikafka.course.places import NOTEBOOKS
from minikafka.wire.errors import Error

FILE = NOTEBOOKS / "errors.toml"
YOURS = (
    "Commands ask a broker at localhost:9092 about the topic orders and the group"
    " billing: put in your own."
)
_WIDTH = 96
# Two of an entry's own words name it where no phrase does; one may be chance.
_ENOUGH_RARE_WORDS = 2
_SHORTEST_WORD = 6  # letters of a rare word: shorter ones are in any sentence
_SHORTEST_PHRASE = 12  # with its spaces: "Connect to" is in any sentence, too
_TOPIC = "orders"  # in the page's phrases: others have other topics


@dataclass(frozen=True)
class Words:
    """The same trouble in the words of another client."""

    says: str
    words: str


@dataclass(frozen=True)
class Cause:
    """shows: the command that tells whether it is this one. look: what to look for in
    its answer. mends: a command, and `then` a second one. sets: a line of a
    configuration. note: what else to know.
    """

    why: str
    shows: str
    look: str
    mends: str = ""
    then: str = ""
    sets: str = ""
    note: str = ""


@dataclass(frozen=True)
class Server:
    """The broker that the message needs. properties: the lines of server.properties
    that make Apache Kafka such a one. kill: the command that ends a broker of it.
    """

    minikafka: str
    properties: tuple[str, ...] = ()
    kill: str = ""


@dataclass(frozen=True)
class Provocation:
    """How to provoke a message. printed: the text one sees; … marks parts that differ
    each time.
    """

    language: str
    code: str
    printed: str


@dataclass(frozen=True)
class Entry:
    """One message. name: the words that people search for. says: whose words are what
    its provocation prints. needs: the package that says
    it, where it isn't the newest. see: the KIP. on_minikafka: where minikafka says it
    in words of its own.
    """

    id: str
    name: str
    says: str
    others: tuple[Words, ...]
    means: str
    lesson: str
    see: str
    needs: str
    server: Server | None
    provocation: Provocation
    on_minikafka: Provocation | None
    causes: tuple[Cause, ...]

    @property
    def phrases(self) -> list[str]:
        """The error's names: Kafka's own, and those that other clients print."""
        return [self.name, *(other.words for other in self.others)]

    def __str__(self) -> str:
        """The entry as somebody on call reads it in a terminal."""
        lines = [self.name, f"   {self.says}: {self.provocation.printed}"]
        lines += [*_wrapped(self.means), ""]
        for number, cause in enumerate(self.causes, 1):
            lines += [*_numbered(number, cause), ""]
        lines.append(f"{YOURS}\nLesson {self.lesson} explains it.")
        return "\n".join(lines)


@cache
def entries() -> tuple[Entry, ...]:
    """All of them, in the file's order."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))["error"]
    return tuple(map(_entry, found))


def nearest(text: str) -> Entry | None:
    """The entry that a pasted message is about, or None. It is the one whose longest
    phrase occurs in the message, unless another of Kafka's errors is named there at
    greater length. If no phrase occurs, it is the one that has two of the message's
    rare words.
    """
    found = _named(text)
    if found is None:
        return _with_rare_words(text)
    return found if isinstance(found, Entry) else None


def main(args: argparse.Namespace) -> int:
    """`minikafka error WORDS`: exit code 1 when no entry is near."""
    text = " ".join(args.words)
    found = nearest(text) if text else None
    if found is not None:
        print(found)
        return 0
    if text:
        named = _named(text)
        if isinstance(named, Error):
            print(f"{named.name} is error {named.value}: {named.message}")
        print("No message here is like that one. There are:", file=sys.stderr)
    for entry in entries():
        print(f"  {entry.name}")
    return 1 if text else 0


def words(text: str) -> list[str]:
    """CommitFailedException -> commit, failed, exception; without numbers and single
    letters, which differ each time.
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return [part.lower() for part in parts if len(part) > 1]


def squeezed(phrase: str) -> str:
    """The words of a phrase, so that UNKNOWN_TOPIC_OR_PARTITION and
    UnknownTopicOrPartitionError are equal. In a text the words are separated by two
    spaces.
    """
    found = words(phrase)
    if len(found) > 2 and found[-1] in ("error", "exception"):
        found.pop()
    return f" {' '.join(found)} "


def all_phrases(entry: Entry) -> list[str]:
    """Its phrases, and what Kafka says of the errors among them, squeezed."""
    explained = [code.message for code in codes(entry)]
    return list(map(squeezed, [*entry.phrases, *explained]))


@cache
def other_errors() -> dict[str, Error]:
    """Name and message, squeezed, of the errors of Kafka's table that no entry is
    about.
    """
    explained = {code for entry in entries() for code in codes(entry)}
    rest = [code for code in Error if code and code not in explained]
    return {squeezed(text): code for code in rest for text in (code.name, code.message)}


@cache
def rare_words(entry: Entry) -> frozenset[str]:
    """The words that its phrases have, and those of no other entry or error."""
    others = [each for each in entries() if each != entry]
    elsewhere = {word for each in others for word in _vocabulary(all_phrases(each))}
    own = _vocabulary(map(squeezed, entry.phrases))
    return frozenset(own - elsewhere - _vocabulary(other_errors()) - {_TOPIC})


def codes(entry: Entry) -> list[Error]:
    """The errors of Kafka's table that the entry is about: it has their names."""
    known = set(map(squeezed, entry.phrases))
    return [code for code in Error if squeezed(code.name) in known]


def _named(text: str) -> Entry | Error | None:
    """The entry or error whose phrase occurs in a text; the longest phrase wins."""
    phrases: dict[str, Entry | Error] = {**other_errors()}
    for entry in entries():
        phrases |= dict.fromkeys(all_phrases(entry), entry)
    pasted = f" {' '.join(words(text))} "
    inside = [
        phrase
        for phrase in phrases
        if phrase in pasted and len(phrase) > _SHORTEST_PHRASE
    ]
    return phrases[max(inside, key=len)] if inside else None


def _with_rare_words(text: str) -> Entry | None:
    pasted = set(words(text))
    best = max(entries(), key=lambda entry: len(pasted & rare_words(entry)))
    enough = len(pasted & rare_words(best)) >= _ENOUGH_RARE_WORDS
    return best if enough else None


def _vocabulary(phrases: Iterable[str]) -> set[str]:
    found = {word for phrase in phrases for word in phrase.split()}
    return {word for word in found if len(word) >= _SHORTEST_WORD}


def _entry(found: dict[str, Any]) -> Entry:
    server, ours = found.get("server"), found.get("on_minikafka")
    language = found["language"]
    return Entry(
        id=found["id"],
        name=found["name"],
        says=found["says"],
        others=tuple(Words(**each) for each in found["others"]),
        means=found["means"],
        lesson=found["lesson"],
        see=found.get("see", ""),
        needs=found.get("needs", ""),
        server=_server(server) if server else None,
        provocation=_provocation(language, found["provoke"], found["printed"]),
        on_minikafka=_provocation(language, **ours) if ours else None,
        causes=tuple(Cause(**each) for each in found["cause"]),
    )


def _server(found: dict[str, Any]) -> Server:
    return Server(
        minikafka=found["minikafka"],
        properties=tuple(found.get("properties", ())),
        kill=found.get("kill", ""),
    )


def _provocation(language: str, provoke: str, printed: str) -> Provocation:
    return Provocation(language, code=provoke.strip(), printed=printed)


def _numbered(number: int, cause: Cause) -> list[str]:
    """A cause with its commands, each under what it is for."""
    lines = _wrapped(cause.why, first=f"{number}. ", rest="   ")
    lines += [f"   ask   {cause.shows}", *_wrapped(cause.look, "         -> ")]
    lines += [f"   mend  {each}" for each in (cause.mends, cause.then) if each]
    if cause.sets:
        lines.append(f"   set   {cause.sets}")
    if cause.note:
        lines += _wrapped(cause.note, "         ")
    return lines


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
    )
