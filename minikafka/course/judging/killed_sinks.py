"""A program between a consumer and a database that is killed at any of its calls, for
checks of exactly-once at the edges.

There is no cluster: records are handed out from the committed offsets on, and a life
ends before or after a call of the database or of the consumer. What both hold then
stays for the next life.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from minikafka.course.experiments.lesson_14_runs import Accounts
from minikafka.course.judging.killed_programs import as_a_process

# commits: the end of the database's transaction; commit: the consumer's
CALLS = ("add", "note", "commits", "commit")

# "before", "after" or "in" the n-th call of a name; "back": it is not killed, and then
# the group's offsets are set back to that number
Moment = tuple[str, str, int]
Order = tuple[str, int, int, str, int]  # topic, partition, offset, account, cents
Place = tuple[str, int]  # topic and partition


class Killed(BaseException):
    """The program is killed as by kill -9: its later actions have no effect."""


class DatabaseDown(Exception):
    """Raised by an add that fails."""


class Life:
    """Ends at its moment; after that every call ends it again."""

    def __init__(self, moment: Moment | None) -> None:
        self.moment = moment
        self.count: Counter[str] = Counter()
        self.over = False
        self.failed = False

    def around(self, name: str, effect: Callable[[], Any]) -> Any:
        """A call, which this life may not survive."""
        self.alive()
        self.count[name] += 1
        nth = self.count[name]
        if self.moment == ("in", name, nth):
            self.failed = True
            raise DatabaseDown(
                "the database is down for a moment, and nothing was added"
            )
        self.dies(("before", name, nth))
        done = effect()
        self.dies(("after", name, nth))
        return done

    def alive(self) -> None:
        if self.over:
            raise Killed

    def dies(self, here: Moment) -> None:
        if self.moment == here:
            self.over = True
            raise Killed


class Database(Accounts):
    """Tells the life of its calls; it stays when the life is over. most: the most notes
    that it ever had.
    """

    def __init__(self) -> None:
        super().__init__()
        self.life = Life(None)
        self.most = 0

    def add(self, account: str, cents: int) -> None:
        self.life.around("add", lambda: Accounts.add(self, account, cents))

    def note(self, name: str, value: str | int) -> None:
        self.life.around("note", lambda: Accounts.note(self, name, value))
        self.most = max(self.most, len(self._notes))

    def commits(self) -> None:
        self.life.around("commits", lambda: Accounts.commits(self))

    def noted(self, name: str) -> Any:
        self.life.alive()
        return super().noted(name)


class Consumer:
    """Returns each partition's records from its committed offset on, and ends when
    there are no more.
    """

    def __init__(
        self, given: Sequence[Order], committed: dict[Place, int], life: Life
    ) -> None:
        self._committed = committed
        self._life = life
        self._position = dict(committed)
        self._left = iter(_not_committed(given, committed))

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return self

    def __next__(self) -> SimpleNamespace:
        self._life.alive()
        topic, partition, offset, account, cents = next(self._left)
        self._position[topic, partition] = offset + 1
        return SimpleNamespace(
            topic=topic, partition=partition, offset=offset, key=account, value=cents
        )

    def commit(self) -> None:
        self._life.around("commit", lambda: self._committed.update(self._position))


def _not_committed(given: Sequence[Order], committed: dict[Place, int]) -> list[Order]:
    """Those that come after the committed offset of their partition."""
    left = []
    for order in given:
        topic, partition, offset, *_ = order
        if offset >= committed.get((topic, partition), 0):
            left.append(order)
    return left


def lives(
    answer: Any, given: Sequence[Order], moments: Sequence[Moment]
) -> tuple[Database, dict[Place, int]]:
    """The database in the end, and what is committed; each moment ends a life of the
    learner's program.
    """
    database = Database()
    committed: dict[Place, int] = {}
    program = as_a_process(answer.__wrapped__, answer.guard)
    for moment in (*moments, None):
        life = database.life = Life(moment)
        try:
            program(Consumer(given, committed, life), database)
        except Killed:
            pass
        except (Exception, SystemExit):  # as it came, or told in other words
            if not life.failed:
                raise
        finally:
            database.rolls_back()
        if moment is not None and moment[0] == "back":
            for place, offset in committed.items():
                committed[place] = min(offset, moment[2])
    return database, committed
