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
from dataclasses import dataclass
from functools import cache
from typing import Any

from minikafka.course.places import NOTEBOOKS

FILE = NOTEBOOKS / "errors.toml"
YOURS = (
    "Commands ask a broker at localhost:9092 about the topic orders and the group"
    " billing: put in your own."
)
_WIDTH = 96
# A pasted line has dates, hosts and threads, too: so much of what is rare in the
# entries must be in it.
_LEAST_IN_COMMON = 0.9
_SHORTEST_PHRASE, _SHORTEST_WORD = 8, 4  # letters: shorter ones are in too much


@dataclass(frozen=True)
class Words:
    """The same trouble as another client tells it."""

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
    """What brings a message about. printed: what one sees; … stands for what differs
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
        """Whatever it is called."""
        return [self.name, *(other.words for other in self.others)]

    def __str__(self) -> str:
        """What somebody on call reads in a terminal."""
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
    """The entry that a pasted message is about: the one whose longest phrase is in it,
    or else the one that shares most rare words with it.
    """
    best = max(entries(), key=lambda entry: _likeness(entry, text))
    phrase, in_common = _likeness(best, text)
    return best if phrase or in_common >= _LEAST_IN_COMMON else None


def main(args: argparse.Namespace) -> int:
    """`minikafka error WORDS`: exit code 1 when no entry is near."""
    text = " ".join(args.words)
    found = nearest(text) if text else None
    if found is not None:
        print(found)
        return 0
    if text:
        print("No message here is like that one. There are:", file=sys.stderr)
    for entry in entries():
        print(f"  {entry.name}")
    return 1 if text else 0


def _likeness(entry: Entry, text: str) -> tuple[int, float]:
    """(letters of the longest phrase that they share, weight of the words)."""
    pasted = squeezed(text)
    shared = [
        min(len(phrase), len(pasted))
        for phrase in map(squeezed, entry.phrases)
        if min(len(phrase), len(pasted)) >= _SHORTEST_PHRASE
        and (phrase in pasted or pasted in phrase)
    ]
    rarity = _rarity()
    common = vocabulary(entry) & set(words(text))
    # in a fixed order, so that the sum is the same each time
    return max(shared, default=0), sum(rarity[word] for word in sorted(common))


def words(text: str) -> list[str]:
    """CommitFailedException -> commit, failed: no word says that it is an error."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)
    found = [part.lower() for part in parts if len(part) >= _SHORTEST_WORD]
    return [word for word in found if word not in ("error", "exception")]


def squeezed(text: str) -> str:
    """UNKNOWN_TOPIC_OR_PARTITION and UnknownTopicOrPartitionError are one, as they are
    in the site's errors.js.
    """
    return "".join(words(text))


def vocabulary(entry: Entry) -> set[str]:
    """The words of all its phrases."""
    return {word for phrase in entry.phrases for word in words(phrase)}


@cache
def _rarity() -> dict[str, float]:
    """Of each word: 1 when one entry alone has it, less the more have it."""
    used = [word for entry in entries() for word in vocabulary(entry)]
    return {word: 1 / used.count(word) for word in used}


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
