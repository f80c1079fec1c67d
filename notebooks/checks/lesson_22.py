"""Lesson 22, on call: twelve incidents, each judged by what became of the orders."""

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
        "lag of one partition grows, the others have none",
        right=2,
        why=(
            "2. More members share the other partitions. First see what lies in this"
            " one: a hot key, or a record that nobody can read."
        ),
    ),
    Question(
        "no lag, no alert, and orders were not handled",
        right=3,
        why=(
            "3. Lag counts from the committed offset to the end. What was committed and"
            " not done is before it."
        ),
    ),
    Question(
        "two of three voters are gone: what still works",
        right=1,
        why=(
            "1. A leader whose partition needs no decision still serves reads. Topics,"
            " configs, leaders and ISR are decisions, and nobody decides."
        ),
    ),
    Question(
        "who may be elected, if the only replica in sync is down",
        right=1,
        why=(
            "1. Kafka waits for it: the other one lacks what was acknowledged since."
            " An unclean election takes it, and loses that."
        ),
        lesson="10",
    ),
    Question(
        "max.poll.interval.ms is over",
        right=2,
        why=(
            "2. The member leaves the group, its partitions go to others, and they"
            " begin at the committed offset."
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
            raise NotAttempted("you have not asked anything.")
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
        return "you have not said what it is: incident.cause(1), say."
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
    return exercise("rebalance-loop")


def exercise_2():
    return exercise("poison")


def exercise_3():
    return exercise("hot-key")


def exercise_4():
    return exercise("commits-first")


def exercise_5():
    return exercise("rolling-restart")


def exercise_6():
    return exercise("acks-1")


def exercise_7():
    return exercise("unclean-election")


def exercise_8():
    return exercise("full-disk")


def exercise_9():
    return exercise("open-transaction")


def exercise_10():
    return exercise("retention")


def exercise_11():
    return exercise("made-anew")


def exercise_12():
    return exercise("voters-lost")
