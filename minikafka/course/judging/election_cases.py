"""Elections of lesson 11: single questions to a voter, and histories with several."""

from collections.abc import Iterator
from random import Random

from minikafka.course.experiments.lesson_11_votes import History, Log, State

Voters = tuple[int, ...]
Step = tuple[str, int, Voters]  # what a voter does, who it is, whom it reaches


def voter(epoch: int, log: Log, voted_for: int | None = None) -> State:
    """A voter's state when it is asked."""
    return {"epoch": epoch, "voted_for": voted_for, "log": log}


def asks(epoch: int, candidate: int, log: Log) -> State:
    """A candidate asks for a vote."""
    return {"epoch": epoch, "candidate": candidate, "log": log}


# logs: the epoch of the last record, and the offset after it
TEN = (4, 10)
ELEVEN = (4, 11)
NINE = (4, 9)
NONE = (0, 0)

ME = voter(4, TEN)
HAS_VOTED_FOR_0 = voter(4, TEN, voted_for=0)
HAS_VOTED_FOR_2 = voter(4, TEN, voted_for=2)
HAS_VOTED_FOR_3 = voter(4, TEN, voted_for=3)

VOTES = {
    "the first example": (ME, asks(5, 2, TEN)),
    "the second example": (ME, asks(5, 2, (3, 12))),
    "an epoch that is over": (ME, asks(3, 2, (4, 12))),
    "the same epoch, and no vote yet": (ME, asks(4, 2, TEN)),
    "it has voted for another": (HAS_VOTED_FOR_3, asks(4, 2, ELEVEN)),
    "it has voted for candidate 0": (HAS_VOTED_FOR_0, asks(4, 2, ELEVEN)),
    "the same candidate asks again": (HAS_VOTED_FOR_2, asks(4, 2, TEN)),
    "a new epoch after a vote": (HAS_VOTED_FOR_3, asks(5, 2, TEN)),
    "fewer records, but later ones": (ME, asks(5, 2, (5, 3))),
    "one record less": (ME, asks(5, 2, NINE)),
    "ten records and nine": (voter(4, NINE), asks(7, 12, TEN)),
    "nobody has a record": (voter(0, NONE), asks(1, 0, NONE)),
}


def told(voters: str, *lines: str) -> History:
    """A history from words. voters: "1 2 3". lines: "stand 1 -> 2 3": what a voter
    does, and which voters it reaches.
    """
    steps = [_step(line) for line in lines]
    return History(_numbers(voters), tuple(steps))


def _step(line: str) -> Step:
    who, reached = line.split("->")
    what, number = who.split()
    return what, int(number), _numbers(reached)


def _numbers(words: str) -> Voters:
    return tuple(map(int, words.split()))


HISTORIES = {
    "two stand for one epoch": told(
        "1 2 3",
        "stand 1 -> 3",
        "stand 2 -> 3",
    ),
    "a candidate lacks a committed record": told(
        "1 2 3",
        "stand 1 -> 2 3",
        "write 1 -> 2",
        "stand 3 -> 2",
    ),
    "a log with more records, but older ones": told(
        "1 2 3",
        "stand 1 -> 2 3",
        "write 1 ->",
        "write 1 ->",
        "write 1 ->",
        "stand 2 -> 3",
        "write 2 -> 3",
        "stand 1 -> 3",
        "stand 1 -> 3",
    ),
    "a refused candidate stands again": told(
        "0 1 2",
        "stand 0 -> 1 2",
        "write 0 -> 1",
        "stand 2 -> 1",
        "stand 2 -> 1",
    ),
}


def a_history(source: Random) -> History:
    """Three or five voters that stand and write; chance decides which voters are
    reached.
    """
    count = source.choice((3, 3, 5))
    voters = tuple(source.sample(range(12), count))
    steps = []
    for _ in range(source.randint(3, 14)):
        steps.append(_a_step(source, voters))
    return History(voters, tuple(steps))


def _a_step(source: Random, voters: Voters) -> Step:
    actor = source.choice(voters)
    others = [each for each in voters if each != actor]
    count = source.randint(0, len(others))
    reached = tuple(source.sample(others, count))
    what = source.choice(("stand", "write"))
    return what, actor, reached


def a_request(source: Random) -> tuple[State, State]:
    """A voter's state, and the request it gets."""
    epoch = source.randint(0, 12)
    log = _a_log(source, epoch)
    later = source.choice((-1, 0, 0, 1, 1, 5))
    asked_epoch = max(0, epoch + later)
    theirs = _a_log(source, asked_epoch)
    candidate = source.choice((0, 1, 2, 12))
    voted_for = source.choice((None, 0, 1, 2, 12))
    asked_log = source.choice((theirs, log))
    is_again = asked_epoch == epoch and candidate == voted_for
    if is_again and asked_log < log:
        # Kafka doesn't compare logs again, and Raft does: neither is asked for
        asked_log = log
    asked = asks(asked_epoch, candidate, asked_log)
    return voter(epoch, log, voted_for), asked


def _a_log(source: Random, epoch: int) -> Log:
    """A log whose last record is of this epoch at most."""
    last_epoch = source.randint(0, epoch)
    end_offset = source.randint(0, 12)
    return last_epoch, end_offset


def fewer_steps(history: History) -> Iterator[History]:
    """The history without one of its steps, whichever it is."""
    for at in range(len(history.steps)):
        before, after = history.steps[:at], history.steps[at + 1 :]
        yield history._replace(steps=before + after)
