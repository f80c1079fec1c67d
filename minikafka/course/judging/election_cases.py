"""Elections of lesson 11: single questions to a voter, and histories with several."""

from collections.abc import Iterator
from random import Random

from minikafka.course.experiments.lesson_11_votes import History, State

ME: State = {"epoch": 4, "voted_for": None, "log": (4, 10)}


def asks(epoch: int, candidate: int, log: tuple[int, int]) -> State:
    """A candidate asks for a vote."""
    return {"epoch": epoch, "candidate": candidate, "log": log}


VOTES = {
    "the first example": (ME, asks(5, 2, (4, 10))),
    "the second example": (ME, asks(5, 2, (3, 12))),
    "an epoch that is over": (ME, asks(3, 2, (4, 12))),
    "the same epoch, and no vote yet": (ME, asks(4, 2, (4, 10))),
    "it has voted for another": (ME | {"voted_for": 3}, asks(4, 2, (4, 11))),
    "it has voted for candidate 0": (ME | {"voted_for": 0}, asks(4, 2, (4, 11))),
    "the same candidate asks again": (ME | {"voted_for": 2}, asks(4, 2, (4, 10))),
    "a new epoch after a vote": (ME | {"voted_for": 3}, asks(5, 2, (4, 10))),
    "fewer records, but later ones": (ME, asks(5, 2, (5, 3))),
    "one record less": (ME, asks(5, 2, (4, 9))),
    "ten records and nine": (ME | {"log": (4, 9)}, asks(7, 12, (4, 10))),
    "nobody has a record": (
        {"epoch": 0, "voted_for": None, "log": (0, 0)},
        asks(1, 0, (0, 0)),
    ),
}
HISTORIES = {
    "two stand for one epoch": History(
        (1, 2, 3), (("stand", 1, (3,)), ("stand", 2, (3,)))
    ),
    "an old controller lacks what counted": History(
        (1, 2, 3),
        (("stand", 1, (2, 3)), ("write", 1, (2,)), ("stand", 3, (2,))),
    ),
    "more records, and older ones": History(
        (1, 2, 3),
        (
            ("stand", 1, (2, 3)),
            *[("write", 1, ())] * 3,
            ("stand", 2, (3,)),
            ("write", 2, (3,)),
            ("stand", 1, (3,)),
            ("stand", 1, (3,)),
        ),
    ),
    "one who was refused stands again": History(
        (0, 1, 2),
        (
            ("stand", 0, (1, 2)),
            ("write", 0, (1,)),
            ("stand", 2, (1,)),
            ("stand", 2, (1,)),
        ),
    ),
}


def a_history(source: Random) -> History:
    """Three or five voters that stand and write; who is reached is chance."""
    voters = tuple(source.sample(range(12), source.choice((3, 3, 5))))
    steps: list[tuple[str, int, tuple[int, ...]]] = []
    for _ in range(source.randint(3, 14)):
        voter = source.choice(voters)
        others = [each for each in voters if each != voter]
        reached = source.sample(others, source.randint(0, len(others)))
        steps.append((source.choice(("stand", "write")), voter, tuple(reached)))
    return History(voters, tuple(steps))


def a_request(source: Random) -> tuple[State, State]:
    epoch = source.randint(0, 12)
    log = source.randint(0, epoch), source.randint(0, 12)
    asked = max(0, epoch + source.choice((-1, 0, 0, 1, 1, 5)))
    theirs = source.randint(0, asked), source.randint(0, 12)
    candidate = source.choice((0, 1, 2, 12))
    note = source.choice((None, 0, 1, 2, 12))
    state = {"epoch": epoch, "voted_for": note, "log": log}
    return state, asks(asked, candidate, source.choice((theirs, log)))


def fewer_steps(history: History) -> Iterator[History]:
    for at in range(len(history.steps)):
        yield history._replace(steps=history.steps[:at] + history.steps[at + 1 :])
