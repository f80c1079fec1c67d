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
        "jobs of 4 s, a lock of 30 s: how many in one poll",
        right=2,
        why=(
            "2. A poll's jobs are accepted together, by the next poll, so all of them"
            " must be done within 30 s: 7 take 28 s, and 8 would take 32 s."
        ),
    ),
    Question(
        "0, 1 and 4 acknowledged, 2 acquired, 3 archived, 5 available: the SPSO",
        right=1,
        why=(
            "1. The group is done with 0 and 1, but not with 2, which a member still"
            " has. The SPSO passes 3 and 4 as soon as 2 is done, too."
        ),
    ),
    Question(
        "a service is down for ten minutes, and its job is released each time",
        right=3,
        why=(
            "3. A release makes the job available at once, and each delivery counts. So"
            " its five deliveries are used up in a few seconds, and it's archived."
        ),
    ),
    Question(
        "41 and 42 are finished, 40 isn't: the largest offset to commit",
        right=1,
        why=(
            "1. A commit names the next record to read, and says that all before it are"
            " done. After a crash, 43 would skip record 40. A share group keeps a state"
            " for each record instead."
        ),
        lesson="04",
    ),
    Question(
        "four partitions, seven members, two of those at work crash: how many idle",
        right=2,
        why=(
            "2. Five members are left for four partitions, and each partition has one"
            " reader."
        ),
        lesson="05",
    ),
)


# --- 1: write a piece ---

FORM = "a list of pairs, such as [(0, 2), (3, 1)]"


def exercise_1():
    """What a share-partition may hand out next, in four rungs."""
    return Exercise(
        name="my_share_partition",
        right="after each history, you would hand out the same records as Kafka.",
        hints=(
            (
                "A record is available, or a member has it, or the group is done with"
                " it. Which steps move a record from one state to another, and which"
                " member may say something about it?"
            ),
            (
                "For each record, keep how often it was acquired. For those that a"
                " member has, keep which one it is and when the lock expires. Three"
                " things bring a record back: a release, a lock that expires, and a"
                " member that is gone. All three do the same, so write that code once."
            ),
            (
                "On acquire, take the smallest available offset, count the delivery,"
                " and note the member and the time now + lock_s. On wait, move the"
                " clock, and then bring back each record whose lock expires at that time"
                " or before. A record that comes back is available only if it was acquired"
                " fewer than `most` times. At the end, your list has the available ones,"
                " sorted, each with its count + 1."
            ),
        ),
        rungs=(
            rung(
                "records are acquired, accepted, rejected and released",
                HELD,
                a_history(),
                True,
            ),
            rung(
                "only the member that has a record can say something about it",
                SAID,
                a_history(says_of="any"),
            ),
            rung(
                "locks expire, and members are gone",
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
            return f"record {offset} may be handed out, but isn't in your list."
        if mine[offset] != count:
            return (
                f"record {offset} would have delivery number {count}, but you say"
                f" {mine[offset]}."
            )
    for offset in mine:
        if offset not in kafkas_own:
            return f"record {offset} is in your list, but may not be handed out."
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
