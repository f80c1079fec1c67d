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
_MOST_NAMES = 3  # that one word brings near
_SHORTEST_WORD = 6  # letters of a rare word: shorter ones are in any sentence
_SHORTEST_PHRASE = 12  # with its spaces: "Connect to" is in any sentence, too
_TOPIC = "orders"  # in the page's phrases: others have other topics
# A stack trace's calls name classes and functions, which are no words of a message.
_CALLS = re.compile(
    r"\bat [\w.$/@<>]+\([^()]*\)"  # of Java
    r'|\bFile "[^"]*", line \d+, in \S+'  # of Python
)
# An error's number: alone ("3", "error code: 3"), or as Java prints an answer.
_NUMBER = re.compile(
    r"^\W*?(?:error[ _]?)?(?:code)?\W*?(-?\b\d{1,3})\W*$|\berrorCode=(-?\d{1,3})\b",
    re.ASCII | re.IGNORECASE,
)
NEXT = (
    "Try the line that has ERROR, FATAL or Caused by: in it, without the calls below."
)


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
    """The broker that the message needs. minikafka: the command, none where minikafka
    has no such broker. properties: the lines of server.properties that make Apache
    Kafka such a one. keys: the commands that make its certificates. kill: the command
    that ends a broker of it.
    """

    minikafka: str = ""
    properties: tuple[str, ...] = ()
    keys: str = ""
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
    its provocation prints. symptom: other messages beside it say more. needs: the
    package that says it, where it isn't the newest. see: the KIP. asks: whom, if
    anybody, its provocation asks. server: the broker, where not any will do.
    on_minikafka: where minikafka says it in words of its own.
    """

    id: str
    name: str
    says: str
    others: tuple[Words, ...]
    means: str
    lesson: str
    symptom: bool
    see: str
    needs: str
    asks: str
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
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple(_entry(each, found["locks"]) for each in found["error"])


def nearest(text: str) -> Entry | None:
    """The entry that a pasted message is about, or None. It is the one whose longest
    phrase occurs in the message; a symptom's phrase counts only if no other does. If
    another of Kafka's errors is named there at greater length, it is none. If no phrase
    occurs, it is the one that has two of the message's rare words.
    """
    found = _named(text)
    if found is None:
        return _with_rare_words(text)
    return found if isinstance(found, Entry) else None


def beside(text: str) -> list[Entry]:
    """Entries that share one rare word with a message: too little to be told as its
    entry, but perhaps worth a look.
    """
    pasted = set(_pasted(text))
    return [each for each in entries() if pasted & rare_words(each)][:_MOST_NAMES]


def main(args: argparse.Namespace) -> int:
    """`minikafka error WORDS`: exit code 1 when no entry is near."""
    text = " ".join(args.words)
    if not text:
        for entry in entries():
            print(f"  {entry.name}")
        return 0
    found = nearest(text)
    if found is None:
        print(_none_is_like(text), file=sys.stderr)
        return 1
    print(found)
    return 0


def _none_is_like(text: str) -> str:
    """What is said instead of a guess: Kafka's own words for an error that is named,
    the names that one word brings near, and what to do next.
    """
    named, names = _named(text), [entry.name for entry in beside(text)]
    lines = ["No message here is like that one."]
    if isinstance(named, Error):
        lines.append(f"{named.name} is error {named.value}: {named.message}")
    elif names:
        lines += ["One word of it is in these:", *(f"  {name}" for name in names)]
    lines.append(f"{NEXT} `minikafka error` alone lists all {len(entries())}.")
    return "\n".join(lines)


def words(text: str) -> list[str]:
    """CommitFailedException -> commit, failed, exception; without numbers and single
    letters, which differ each time.
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    return [part.lower() for part in parts if len(part) > 1]


@cache
def squeezed(phrase: str) -> str:
    """The words of a phrase, so that UNKNOWN_TOPIC_OR_PARTITION and
    UnknownTopicOrPartitionError are equal. In a text the words are separated by two
    spaces.
    """
    found = words(phrase)
    if len(found) > 2 and found[-1] in ("error", "exception"):
        found.pop()
    return f" {' '.join(found)} "


@cache
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


@cache
def numbers() -> dict[str, str]:
    """The names of Kafka's errors by their numbers."""
    return {str(code.value): code.name for code in Error if code}


def codes(entry: Entry) -> list[Error]:
    """The errors of Kafka's table that the entry is about: it has their names."""
    known = set(map(squeezed, entry.phrases))
    return [code for code in Error if squeezed(code.name) in known]


def _named(text: str) -> Entry | Error | None:
    """The entry or error whose phrase occurs in a text; the longest phrase wins, and
    a symptom's only if it is alone.
    """
    phrases = _known()
    pasted = f" {' '.join(_pasted(text))} "
    inside = [
        phrase
        for phrase in phrases
        if phrase in pasted and len(phrase) > _SHORTEST_PHRASE
    ]

    def weight(phrase: str) -> tuple[bool, int]:
        found = phrases[phrase]
        return not (isinstance(found, Entry) and found.symptom), len(phrase)

    return phrases[max(inside, key=weight)] if inside else None


@cache
def _known() -> dict[str, Entry | Error]:
    """Whose phrase is which."""
    found: dict[str, Entry | Error] = {**other_errors()}
    for entry in entries():
        found |= dict.fromkeys(all_phrases(entry), entry)
    return found


def _pasted(text: str) -> list[str]:
    """The words of a pasted message, without the calls of a stack trace. An error's
    number stands for its name.
    """
    return words(_NUMBER.sub(_name, _CALLS.sub(" ", text)))


def _name(number: re.Match[str]) -> str:
    return numbers().get(number[1] or number[2], "")


def _with_rare_words(text: str) -> Entry | None:
    pasted = set(_pasted(text))
    best = max(entries(), key=lambda entry: len(pasted & rare_words(entry)))
    enough = len(pasted & rare_words(best)) >= _ENOUGH_RARE_WORDS
    return best if enough else None


def _vocabulary(phrases: Iterable[str]) -> set[str]:
    found = {word for phrase in phrases for word in phrase.split()}
    return {word for word in found if len(word) >= _SHORTEST_WORD}


def _entry(found: dict[str, Any], locks: dict[str, str]) -> Entry:
    server, ours = found.get("server"), found.get("on_minikafka")
    language, asks = found["language"], found.get("asks", "a broker")
    if asks == "a broker with locks":
        lines = locks["properties"].strip().splitlines()
        server = {"keys": locks["keys"].strip(), "properties": lines}
    return Entry(
        id=found["id"],
        name=found["name"],
        says=found["says"],
        others=tuple(Words(**each) for each in found["others"]),
        means=found["means"],
        lesson=found["lesson"],
        symptom=found.get("symptom", False),
        see=found.get("see", ""),
        needs=found.get("needs", ""),
        asks=asks,
        server=_server(**server) if server else None,
        provocation=_provocation(language, found["provoke"], found["printed"]),
        on_minikafka=_provocation(language, **ours) if ours else None,
        causes=tuple(Cause(**each) for each in found["cause"]),
    )


def _server(properties: Iterable[str] = (), **found: str) -> Server:
    return Server(properties=tuple(properties), **found)


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
