"""Clients' regular expressions, in RE2's syntax, as in Apache Kafka. There is no
backtracking, so the time for a match is bounded by the lengths of the name and the
expression.

That can still be long: 10 ms for one name. So the topics that an expression matches are
remembered, and looked for a bit at a time: each heartbeat looks at some names, and its
member gets COORDINATOR_LOAD_IN_PROGRESS until the group's expressions have been matched
against all names. When a topic is created, only its name is looked at. Apache Kafka
matches in another thread, and until that is done the expression matches nothing.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from minikafka.wire.errors import Error, KafkaError

MOST_COMPILED = 200
MOST_BYTES = 1 << 18  # memory for one expression; Apache Kafka accepts larger ones
MOST_OF_GROUP = 500  # different expressions in one group
MOST_REMEMBERED = 1500

# Work is counted in instructions of an expression's program times bytes of a name: each
# takes about 6 ns, and twice that the first time. A call and a compilation count for
# more.
MOST_WORK = 20_000_000  # for one heartbeat
MOST_WORK_ONCE = 60_000_000  # for a request that needs its answer at once
CALL, COMPILE_INSTRUCTION = 500, 100


def compiled_once(pattern: str) -> Any:
    """Compile an expression that is needed only once. Errors:
    INVALID_REGULAR_EXPRESSION.
    """
    try:
        # imported with the first expression, so that a broker starts without these
        # megabytes
        import re2
    except ImportError:
        why = (
            "subscriptions by regular expression need the package google-re2: pip"
            " install google-re2"
        )
        raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, why) from None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_BYTES
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = (
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression:"
            f" {error.args[0].decode()}."
        )
        raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, why) from None


@lru_cache(MOST_COMPILED)
def compiled(pattern: str) -> Any:
    """Compile an expression, or return the one compiled before. Errors:
    INVALID_REGULAR_EXPRESSION.
    """
    return compiled_once(pattern)


class NeededOnce:
    """An expression that one request matches against names. All methods raise
    INVALID_REGULAR_EXPRESSION.
    """

    def __init__(self, pattern: str) -> None:
        self._expression = compiled_once(pattern)
        self._work = 0

    def matches(self, name: str) -> bool:
        """Whether the whole name matches. Refused if all names so far were too much
        work.
        """
        self._work += self._expression.programsize * len(name.encode()) + CALL
        if self._work > MOST_WORK_ONCE:
            why = "The regular expression is too much work with so many names."
            raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, why)
        return bool(self._expression.fullmatch(name))


def check_room(pattern: str | None, known: Collection[str]) -> None:
    """Check whether a group that has these expressions may have this one, too. Errors:
    INVALID_REGULAR_EXPRESSION.
    """
    if pattern and pattern not in known and len(known) >= MOST_OF_GROUP:
        why = f"The group has {MOST_OF_GROUP} different regular expressions already."
        raise KafkaError(Error.INVALID_REGULAR_EXPRESSION, why)


class Expressions:
    """The topics that the expressions of all groups of a node match."""

    def __init__(self) -> None:
        self._remembered: dict[str, Found] = {}  # the most recently used comes last

    def find(self, patterns: Iterable[str], names: frozenset[str]) -> None:
        """Match these expressions against all names. Errors:
        COORDINATOR_LOAD_IN_PROGRESS if that is too much for one call; the next call
        continues.
        """
        left = MOST_WORK
        for pattern in patterns:
            found = self._remembered.pop(pattern, None) or Found(pattern)
            self._remembered[pattern] = found
            left -= found.look(names, left)
            if left <= 0:
                break
        while len(self._remembered) > MOST_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        if left <= 0:
            why = "The group's regular expressions are being matched with all topics."
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS, why)

    def matching(self, pattern: str | None) -> Collection[str]:
        """The topics whose whole name matches, as far as they have been found."""
        if not pattern or pattern not in self._remembered:
            return ()
        return self._remembered[pattern].topics


class Found:
    """topics: those that an expression matches. A stored expression that can't be
    compiled here matches nothing.
    """

    def __init__(self, pattern: str) -> None:
        self.topics: list[str] = []
        self._pattern = pattern
        self._names: frozenset[str] = frozenset()
        self._unseen: list[str] = []  # of the current names

    def look(self, names: frozenset[str], most: int) -> int:
        """Look at names that haven't been seen yet. Returns the work done: at most
        `most`, plus that of one name.
        """
        if names is not self._names:
            came, went = changes(self._names, names)
            self._names = names
            if went:
                self._unseen = [each for each in self._unseen if each not in went]
                self.topics = [each for each in self.topics if each not in went]
            self._unseen += came
        if not self._unseen:
            return 0
        try:
            expression = compiled(self._pattern)
        except KafkaError:
            self._unseen = []
            return 0
        work: int = expression.programsize * COMPILE_INSTRUCTION
        while self._unseen and work < most:
            name = self._unseen.pop()
            work += expression.programsize * len(name) + CALL
            if expression.fullmatch(name):
                self.topics.append(name)
        return work


@lru_cache(2)
def changes(
    before: frozenset[str], after: frozenset[str]
) -> tuple[list[str], frozenset[str]]:
    """The names that were added, and those that were removed."""
    return sorted(after - before), before - after
