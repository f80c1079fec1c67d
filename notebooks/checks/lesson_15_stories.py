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
                "Ask the same questions about each story. Must related records stay in"
                " order, or with one worker? Does anybody need records that others"
                " have already consumed? Which records wait behind one that takes"
                " long, or that nobody can process?"
            ),
            (
                "In a consumer group, only one member reads a partition, in order."
                " Members of a share group and consumers of a queue take the next"
                " record, one at a time. A topic keeps records that were read, and a"
                " queue forgets messages that were acknowledged."
            ),
            (
                "Order for each key, or a count for each key: only one tool gives all of"
                " a key's records to one worker. Reading again with more workers than"
                " partitions: only one tool can do that. An answer for one caller:"
                " nobody should have to join a group. A delay: one of the three tools"
                " hands out a released record again at once."
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
            raise WrongKind(
                f"{short(name)} isn't one of the stories: {', '.join(STORIES)}."
            )
        if tool is not None and not (isinstance(tool, str) and tool in TOOLS):
            raise WrongKind(
                f"{name} has {short(tool)}, which isn't one of the three tools: {known}."
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
        f"{piece.work.value} takes {s(SMALL_MS)}, and waited for {s(piece.began_ms)} behind"
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


# --- mails, one of which kills its reader ---

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
        f"the new team saw {len(seen[LATE])} of {len(ALL_EVENTS)} events, and none from"
        " before it came.",
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
            f"none of the {len(ORDERS)} orders came again: they were acknowledged, so"
            " the queue had removed them."
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
                f"{name} waited {s(waited)} for its answer, because it had to join a"
                f" group first. {len(left)} groups are left over from callers that"
                " have gone.",
                run,
            )
    if left:
        return Wrong(
            f"{len(left)} groups are left over from callers that have gone.", run
        )
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
            f"{FAILING} was tried {len(tries)} times within {within}, and then never"
            f" again: a released record comes back at once, and the limit is"
            f" {len(tries)} deliveries.",
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
            "all mails but the poison one are sent, and that one is put aside",
            emails,
        ),
        Story("audit", "each team has seen all events, even the new one", audit),
        Story(
            "reprocessing",
            f"all invoices are made again within {AGAIN_BY_S} s",
            reprocessing,
        ),
        Story(
            "prices",
            f"each caller has its answer within {s(ANSWER_BY_MS)}, and leaves nothing"
            " behind",
            prices,
        ),
        Story(
            "retries",
            f"the job that failed is done {RETRY_S} s later, and no other job waited",
            retries,
        ),
        Story("clicks", "each user's clicks are counted by one worker", clicks),
    )
}
