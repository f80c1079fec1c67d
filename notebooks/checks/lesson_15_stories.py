"""Lesson 15, queue or log, exercise 2: which tool for which story. Each choice is run,
and what went wrong is read out of the run.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import NamedTuple

from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.judging.tool_readers import (
    ALL_EVENTS,
    LATE,
    calls,
    seen_by_teams,
)
from minikafka.course.judging.tool_runs import (
    LATER,
    RETRY_S,
    TOOLS,
    Plan,
    Work,
    lanes,
    pieces,
)
from minikafka.simulation.model_queue_worker import ACK, DIE


def exercise_2():
    """A tool for each of eight stories. More than one may be right for a story: what is
    judged is its run.
    """
    return Exercise(
        name="my_tools",
        takes=choices,
        right="each story ends well with the tool that you chose.",
        hints=(
            (
                "Ask the same of each story. Must what belongs together stay in its"
                " order, or with one worker? Does somebody need what others have"
                " consumed already? Who waits behind a record that takes long, or that"
                " nobody can process?"
            ),
            (
                "In a consumer group one member reads a partition, in order, and nobody"
                " helps it. Members of a share group and consumers of a queue take what"
                " is next, one by one. A topic keeps what was read, and a queue forgets"
                " what was acknowledged."
            ),
            (
                "Order for each key, or a count for each key: only one tool gives a key"
                " to one worker. Read once more, by many workers and few partitions:"
                " only one tool can do both. An answer for one caller: nobody should"
                " have to join a group. A delay: one of the three hands out again at"
                " once what it gets back."
            ),
        ),
        rungs=tuple(map(rung, STORIES)),
    )


def rung(name):
    story = STORIES[name]
    return Rung(
        holds=f"{name}: {story.asks}",
        broken=went_wrong,
        cases={name: name},
        describe=asked,
        needs=(name,),
    )


def asked(name):
    return STORIES[name].asks


def choices(answer):
    """What was chosen, as attributes; what is None is not chosen yet. Raises WrongKind
    for what is no story and no tool.
    """
    if not isinstance(answer, Mapping):
        raise WrongKind(
            'should be a dictionary, such as {"thumbnails": "queue"}, and this is'
            f" {short(answer)}."
        )
    try:
        chosen = dict(answer)
    except Exception as error:
        raise WrongKind(f"can't be read: {type(error).__name__}: {error}") from None
    known = " or ".join(f'"{tool}"' for tool in TOOLS)
    for name, tool in chosen.items():
        if name not in STORIES:
            raise WrongKind(f"{short(name)} is no story: {', '.join(STORIES)}.")
        if tool is not None and not (isinstance(tool, str) and tool in TOOLS):
            raise WrongKind(
                f"{name} has {short(tool)}, which is none of the three: {known}."
            )
    made = {name: tool for name, tool in chosen.items() if tool is not None}
    return SimpleNamespace(**made)


def went_wrong(answer, name):
    tool = getattr(answer, name)
    wrong = outcome(name, tool)
    if wrong is None:
        return None
    return "\n".join([f"{name} with a {tool}: {wrong.line}", *wrong.run])


MOST_LINES = 6  # of a run, under what went wrong


class Wrong(NamedTuple):
    """line: what went wrong. run: the lines of the run that show it."""

    line: str
    run: tuple[str, ...] = ()


class Story(NamedTuple):
    """asks: what must hold, said when it does. judged(tool): what went wrong, or
    None.
    """

    name: str
    asks: str
    judged: Callable[[str], Wrong | None]


@cache
def outcome(name, tool):
    """What went wrong in the story of this name with this tool; None: nothing."""
    return STORIES[name].judged(tool)


def about(done, *names):
    """The lines of the run about these works."""
    return tuple(str(piece) for piece in done if piece.work.value in names)[:MOST_LINES]


def s(ms):
    return f"{ms / 1000:.3g} s"


# --- thumbnails of very different sizes ---

SMALL_MS, LARGE_MS, PICTURES_BY_S = 1_000, 20_000, 10
LARGE = (1, 6)
PICTURES = tuple(
    Work(f"{number}", f"picture {number}", LARGE_MS if number in LARGE else SMALL_MS)
    for number in range(1, 13)
)


def thumbnails(tool):
    done = pieces(tool, Plan(PICTURES, workers=4, partitions=4, seconds=45))
    small = [piece for piece in done if piece.work.takes_ms == SMALL_MS]
    late = [piece for piece in small if piece.ended_ms > PICTURES_BY_S * 1000]
    if not late:
        return None
    piece = late[0]
    before = [
        each
        for each in done
        if each.worker == piece.worker and each.began_ms < piece.began_ms
    ]
    longest = max(before, key=lambda each: each.work.takes_ms).work
    return Wrong(
        f"{piece.work.value} takes {s(SMALL_MS)}, and waited {s(piece.began_ms)} behind"
        f" {longest.value} in its partition, while other workers had nothing to do.",
        lanes(done, workers=4),
    )


# --- transfers, in order for each account ---


def transfer(account, number, takes_ms):
    return Work(account, f"{account} {number}", takes_ms)


TRANSFERS = (
    transfer("alice", 1, 1_500),
    transfer("bob", 1, 300),
    transfer("alice", 2, 200),
    transfer("carol", 1, 900),
    transfer("bob", 2, 1_200),
    transfer("alice", 3, 200),
    transfer("bob", 3, 200),
    transfer("carol", 2, 200),
)


def transfers(tool):
    plan = Plan(TRANSFERS, workers=3, partitions=3, seconds=12, by_key=True)
    done = pieces(tool, plan)
    for account in dict.fromkeys(work.key for work in TRANSFERS):
        sent = [work.value for work in TRANSFERS if work.key == account]
        booked = [piece.work.value for piece in done if piece.work.key == account]
        for wanted, found in zip(sent, booked, strict=True):
            if wanted != found:
                return Wrong(
                    f"order broken: {found} was booked before {wanted}.",
                    about(done, wanted, found),
                )
    return None


# --- mails, one of which kills who reads it ---

POISON, MOST_KILLED = "mail 3", 5
MAILS = tuple(Work(f"{each}", f"mail {each}", 1_000) for each in range(1, 13))


def emails(tool):
    def result(work, at_ms):
        return DIE if work.value == POISON else ACK

    plan = Plan(MAILS, workers=4, partitions=4, seconds=90, outcome=result)
    done = pieces(tool, plan)
    sent = {piece.work.value for piece in done if piece.outcome == ACK}
    killed = sum(piece.outcome == DIE for piece in done)
    unsent = [work.value for work in MAILS if work.value not in {*sent, POISON}]
    if unsent or killed > MOST_KILLED:
        return Wrong(
            f"{POISON} has killed a worker {killed} times in {plan.seconds} s;"
            f" {' and '.join(unsent)}, behind it in its partition, were never sent.",
            about(done, POISON),
        )
    return None


# --- an audit by three teams ---


def audit(tool):
    seen = seen_by_teams(tool)
    if all(events == ALL_EVENTS for events in seen.values()):
        return None
    return Wrong(
        f"the new team saw {len(seen[LATE])} of {len(ALL_EVENTS)} events: it has nothing"
        " of what was before it came.",
        tuple(
            f"{team}: {len(events)} events, from {events[0]} on"
            for team, events in seen.items()
        ),
    )


# --- all once more, after a bug ---

ORDERS = tuple(Work(f"{each}", f"order {each}", 2_000) for each in range(1, 25))
AGAIN_BY_S = 15


def reprocessing(tool):
    plan = Plan(
        ORDERS,
        workers=8,
        partitions=2,
        partitions_shared=2,
        seconds=AGAIN_BY_S,
        again=True,
    )
    done = pieces(tool, plan)
    workers = {piece.worker for piece in done}
    if len(done) == len(ORDERS):
        return None
    if not done:
        return Wrong(
            f"none of the {len(ORDERS)} orders came again: they were acknowledged, and"
            " with that they were removed."
        )
    idle = plan.workers - len(workers)
    return Wrong(
        f"{len(done)} of {len(ORDERS)} invoices are ready after {AGAIN_BY_S} s: {idle}"
        f" of {plan.workers} workers have no partition, and read nothing.",
        lanes(done, plan.workers),
    )


# --- request and reply ---

ANSWER_BY_MS = 1_000


def prices(tool):
    waited_ms, left = calls(tool)
    run = tuple(
        f"{name} waited " + ("in vain" if waited is None else s(waited))
        for name, waited in waited_ms.items()
    )
    for name, waited in waited_ms.items():
        if waited is None:
            return Wrong(f"no answer came to {name}.", run)
        if waited > ANSWER_BY_MS:
            return Wrong(
                f"{name} waited {s(waited)} for its answer: first it had to join a"
                f" group. {len(left)} groups are left of callers that have gone.",
                run,
            )
    if left:
        return Wrong(f"{len(left)} groups are left of callers that have gone.", run)
    return None


# --- jobs that are tried again later ---

AWAY_MS, OTHERS_BY_S, FAILING = 40_000, 10, "job 3"
JOBS = tuple(Work(f"{each}", f"job {each}", 1_000) for each in range(1, 9))


def retries(tool):
    def result(work, at_ms):
        return LATER if work.value == FAILING and at_ms < AWAY_MS else ACK

    plan = Plan(JOBS, workers=4, partitions=4, seconds=90, outcome=result, retries=True)
    done = pieces(tool, plan)
    tries = [piece for piece in done if piece.work.value == FAILING]
    late = [
        piece.work.value
        for piece in done
        if piece.work.value != FAILING and piece.ended_ms > OTHERS_BY_S * 1000
    ]
    run = about(done, FAILING, *late)
    if tries[-1].outcome != ACK:
        first, last = tries[0], tries[-1]
        within = s(last.ended_ms - first.ended_ms)
        return Wrong(
            f"{FAILING} was tried {len(tries)} times within {within}, and then no more:"
            f" what is released comes again at once, and {len(tries)} deliveries are"
            " the limit.",
            run,
        )
    if late:
        return Wrong(f"{late[0]} waited for {FAILING}.", run)
    return None


# --- clicks, counted for each user ---

USERS = ("ada", "bo", "cem", "dana", "eli", "fay")
CLICKS = tuple(
    Work(user, f"{user}, click {number}", 100 + 40 * at)
    for number in range(1, 5)
    for at, user in enumerate(USERS)
)


def clicks(tool):
    plan = Plan(CLICKS, workers=4, partitions=16, seconds=12, by_key=True)
    done = pieces(tool, plan)
    for user in USERS:
        counts = {}
        for piece in done:
            if piece.work.key == user:
                counts[piece.worker] = counts.get(piece.worker, 0) + 1
        if len(counts) > 1:
            counted = ", ".join(
                f"{count} by {worker}" for worker, count in counts.items()
            )
            return Wrong(
                f"the {sum(counts.values())} clicks of {user} were counted by"
                f" {len(counts)} workers ({counted}): nobody has the number."
            )
    return None


STORIES = {
    story.name: story
    for story in (
        Story(
            "thumbnails",
            f"each small picture is done within {PICTURES_BY_S} s",
            thumbnails,
        ),
        Story(
            "transfers", "each account's transfers are booked in their order", transfers
        ),
        Story(
            "emails",
            "all mails but the poisonous one are sent, and that is put aside",
            emails,
        ),
        Story("audit", "each team has seen all events, the new one too", audit),
        Story(
            "reprocessing",
            f"all invoices are made once more within {AGAIN_BY_S} s",
            reprocessing,
        ),
        Story(
            "prices",
            f"each caller has its answer within {s(ANSWER_BY_MS)}, and nothing is left"
            " of those that have gone",
            prices,
        ),
        Story(
            "retries",
            f"the job that failed is done {RETRY_S} s later, and no other has waited",
            retries,
        ),
        Story("clicks", "each user's clicks are counted by one worker", clicks),
    )
}
