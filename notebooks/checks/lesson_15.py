"""Lesson 15, queue or log: what a right answer does."""

from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.judging.guard import plain
from minikafka.course.judging.share_histories import (
    HELD,
    LOCKS,
    MOST,
    SAID,
    a_history,
    fewer,
    fewer_honest,
    kafkas,
)
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "six workers of a share group, two partitions: how many are busy",
        right=2,
        why=(
            "2. Members share records, and not partitions. Each of the six can have"
            " some, if none of them takes too many at once."
        ),
    ),
    Question(
        "a job of 45 s, a group with its defaults",
        right=2,
        why=(
            "2. The lock ends after 30 s, and another worker gets the job. The first"
            " one is not stopped, and what it says then doesn't count."
        ),
    ),
    Question(
        "five deliveries, and nobody accepted it: where is the record",
        right=3,
        why=(
            "3. It is archived: the group gets it no more. A dead letter is written"
            " only by your program, or, since Kafka 4.4, by a group that is told to."
        ),
    ),
    Question(
        "three partitions, a consumer group of four",
        right=2,
        why=(
            "2. A partition has one reader in a consumer group. With three partitions"
            " the fourth member is a reserve."
        ),
        lesson="05",
    ),
    Question(
        "what takes a record out of a topic",
        right=3,
        why=(
            "3. Retention, by age or size. Reading removes nothing, and neither does"
            " accepting in a share group."
        ),
        lesson="01",
    ),
)


# --- 1: write a piece ---

FORM = "a list of pairs, such as [(0, 2), (3, 1)]"


def exercise_1():
    """What a share partition may hand out next, in four rungs."""
    return Exercise(
        name="my_share_partition",
        right="after each history you would hand out what Kafka does.",
        hints=(
            (
                "A record is free, or a member has it, or it is done with. Which steps"
                " move a record from one to another, and whose word counts?"
            ),
            (
                "Keep for each record how often it was handed out; and for those in"
                " hand, who has it and when its lock ends. Three things bring a record"
                " back: a release, a lock that ends, a member that is gone. They do the"
                " same, so write that once."
            ),
            (
                "acquire: the smallest free offset; count it; note the member and the"
                " time now + lock_s. wait: add to the time, then all locks that end at"
                " or before it come back. What comes back is free only if it was handed"
                " out fewer than `most` times. The last line: the free ones, sorted,"
                " each with its count + 1."
            ),
        ),
        rungs=(
            rung("what is accepted, rejected and released", HELD, a_history(), True),
            rung(
                "who doesn't have a record has no say in it",
                SAID,
                a_history(says_of="any"),
            ),
            rung(
                "locks end, and members go",
                LOCKS,
                a_history(says_of="any", waits=True),
            ),
            rung(
                "no record is delivered too often",
                MOST,
                a_history(says_of="any", waits=True, most=(2, 2, 3, 5)),
            ),
        ),
    )


def rung(holds, cases, scenario, honest=False):
    return Rung(
        holds,
        wrong,
        cases,
        scenario,
        smaller=fewer_honest if honest else fewer,
        describe=as_call,
    )


def as_call(history):
    first, end, steps, lock_s, most = history
    return (
        f"my_share_partition({first}, {end}, {len(steps)} steps, lock_s={lock_s},"
        f" most={most})"
    )


def wrong(answer, history):
    found, right = handed_out(answer, history), kafkas(history)
    line = differs(found, right)
    if line is None:
        return None
    steps = [f"  {step}" for step in history.steps] or ["  no steps"]
    return "\n".join([line, *steps, f"  Kafka: {right}"])


def differs(found, right):
    """What is missing, too much or miscounted."""
    mine, kafkas_own = dict(found), dict(right)
    for offset, count in right:
        if offset not in mine:
            return f"record {offset} may be handed out, and isn't in your list."
        if mine[offset] != count:
            return (
                f"record {offset} would be delivered for time {count}, and you say"
                f" {mine[offset]}."
            )
    for offset in mine:
        if offset not in kafkas_own:
            return f"record {offset} is in your list, and may not be handed out."
    if found != right:
        return "your list should have each record once, in the order of the offsets."
    return None


def handed_out(answer, history):
    """The list in one form. Raises WrongKind for what is none."""
    found = plain(answer(*history._replace(steps=list(history.steps))))
    if not isinstance(found, list) or not all(map(is_pair, found)):
        raise WrongKind(f"it returned {short(found)}, and should return {FORM}")
    return [tuple(pair) for pair in found]


def is_pair(each):
    if not isinstance(each, list) or len(each) != 2:
        return False
    return all(type(number) is int for number in each)
