"""Lesson 22, on call: thirteen incidents, each judged by what became of the orders."""

from minikafka.course.judging.checks import (
    Exercise,
    NotAttempted,
    Rung,
    WrongKind,
    short,
)
from minikafka.course.lessons import Question
from minikafka.course.on_call import plans
from minikafka.course.on_call.incident import Incident

EXIT_TICKET = (
    Question(
        "one partition's committed offset stands still while the log grows",
        right=3,
        why=(
            "3. With a hot key, or with too few members, the offset would move, only too"
            " slowly. It stands at 2207, so look at what lies there."
        ),
    ),
    Question(
        "a poll of 50 was committed, 20 were handled, and the pod was killed",
        right=1,
        why=(
            "1. The group has passed all 50, so nothing is lag. The 20 were done before"
            " the kill; 30 were not, and nobody will read them again."
        ),
    ),
    Question(
        "two of five brokers are gone: what should wake you",
        right=3,
        why=(
            "3. Three voters of five are a majority, and three replicas in sync are what"
            " min.insync.replicas asks for. A third dead machine would stop writes and"
            " decisions both, so don't leave it for long."
        ),
    ),
    Question(
        "what an unclean election of broker 3 loses",
        right=2,
        why=(
            "2. Broker 3 leads with what it has. What was acknowledged after 02:10 is"
            " only on broker 2, which drops it when it comes back. Orders sent after"
            " 02:40 had no leader, so nobody was told yes."
        ),
        lesson="10",
    ),
    Question(
        "the largest max.poll.records that keeps the member in its group",
        right=2,
        why=(
            "2. 400 orders of 0.7 s take 280 s. 600 take 420 s, and after 300 s without"
            " a poll the member leaves the group."
        ),
        lesson="05",
    ),
)


def ended(name):
    """Takes the incident, and gives how it stands."""

    def takes(answer):
        if not isinstance(answer, Incident):
            raise WrongKind(
                f'should be on_call("{name}"), and this is {short(answer)}.'
            )
        if answer.plan.name != name:
            raise WrongKind(f'this is "{answer.plan.name}"; here it is "{name}".')
        if not answer.is_begun and answer.said is None:
            raise NotAttempted("you haven't asked anything yet.")
        return answer.outcome()

    return takes


def exercise(name):
    """An incident as an exercise."""
    plan = plans.read(name)
    return Exercise(
        name="incident",
        right=f"you can go back to sleep. {plan.best}",
        hints=plan.hints,
        takes=ended(name),
        rungs=(Rung("it is over", judged, cases={"": None}),),
    )


def judged(outcome, case):
    """The first thing that could have gone better, and the score board."""
    for broken in (not_named, not_gone, lost, twice, too_long):
        line = broken(outcome)
        if line is not None:
            board = [f"  {row}" for row in outcome.lines()]
            return "\n".join([line, *board])
    return None


def not_named(outcome):
    if outcome.said is None:
        return "you haven't named the cause yet, for example with incident.cause(1)."
    if outcome.said != outcome.plan.right:
        because = outcome.plan.causes[outcome.said - 1].because
        return f"what you said doesn't explain it. {because}"
    return None


def not_gone(outcome):
    if not outcome.wrong:
        return None
    return f"it isn't over: {'; '.join(outcome.wrong)}."


def lost(outcome):
    return more("orders are lost", outcome.lost, outcome.limits.lost)


def twice(outcome):
    count = outcome.twice + outcome.false
    return more("orders are handled twice", count, outcome.limits.twice)


def too_long(outcome):
    most = outcome.limits.minutes
    return more("minutes of outage", outcome.minutes, most, ".1f")


def more(what, count, most, form="d"):
    if count <= most:
        return None
    return f"{count:{form}} {what}; it can be done with at most {most:{form}}."


def exercise_1():
    return exercise("night-01")


def exercise_2():
    return exercise("night-02")


def exercise_3():
    return exercise("night-03")


def exercise_4():
    return exercise("night-04")


def exercise_5():
    return exercise("night-05")


def exercise_6():
    return exercise("night-06")


def exercise_7():
    return exercise("night-07")


def exercise_8():
    return exercise("night-08")


def exercise_9():
    return exercise("night-09")


def exercise_10():
    return exercise("night-10")


def exercise_11():
    return exercise("night-11")


def exercise_12():
    return exercise("night-12")


def exercise_13():
    return exercise("night-13")
