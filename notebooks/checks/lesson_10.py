"""Lesson 10, failover: what a right answer does."""

from minikafka.course.experiments.lesson_10_runs import (
    end_of,
)
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.judging.guard import plain
from minikafka.course.judging.restart_plans import CASES, LONGEST_S, outcome
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "last heartbeat at 10:00:00.0, killed at 10:00:01.9: when is there a new leader",
        right=2,
        why=(
            "2. The controller counts 9 s from the last heartbeat that it got. It looks"
            " about once a second, and it knows nothing of the kill."
        ),
    ),
    Question(
        "a Java producer logs NOT_LEADER_OR_FOLLOWER and retrying, once: what you do",
        right=1,
        why=(
            "1. It retries, as it says, after it has asked for new metadata. Your"
            " program would hear of it only after delivery.timeout.ms."
        ),
    ),
    Question(
        "no leader, and Elr names broker 6, which was stopped cleanly",
        right=2,
        why=(
            "2. Broker 6 has every committed record, and leads when it is up. Kafka"
            " can't be sure of 4 and 5: if it could, one of them would lead by now."
        ),
    ),
    Question(
        "min.insync.replicas=2, one of three is stopped and another one crashes: what"
        " acks=all hears",
        right=2,
        why=(
            "2. About 9 s after the crash broker 1 is alone in the ISR. It refuses the"
            " record with NOT_ENOUGH_REPLICAS, and the producer retries."
        ),
        lesson="09",
    ),
    Question(
        "ILLEGAL_GENERATION: to which broker of this lesson has the same happened",
        right=2,
        why=(
            "2. Both act on an old number, and the other side knows a larger one. The"
            " larger number fences the old boss."
        ),
        lesson="05",
    ),
)


# --- 1: write a piece ---


def exercise_1():
    """How much of its log a replica keeps, in three rungs: nothing wrong; all that is
    right; few questions.
    """
    common = {
        "scenario": a_history,
        "scenarios": 500,
        "smaller": shorter,
        "describe": both_logs,
    }
    return Exercise(
        name="my_keep",
        right=(
            "500 logs that differed from their leader's became equal to it, and none"
            " lost a record that the leader has."
        ),
        hints=(
            (
                "Start at the end of your log: its last record has an epoch. Ask the"
                " leader where that epoch ends there."
            ),
            (
                "If the leader knows the epoch, you have the same records of it up to"
                " the smaller of the two ends. If it answers with a smaller epoch, all"
                " your records of larger epochs are wrong."
            ),
            (
                "After an answer with a smaller epoch you know only what to drop. Drop"
                " it: your records of larger epochs, and those from the leader's end"
                " on. Then your last record has another epoch: ask again, until the"
                " answer names the epoch that you asked for, or nothing is left."
            ),
        ),
        rungs=(
            Rung(
                holds="nothing stays that the leader doesn't have",
                broken=keeps_too_much,
                cases=NAMED,
                **common,
            ),
            Rung(
                holds="nothing goes that the leader has",
                broken=keeps_too_little,
                cases=NAMED,
                **common,
            ),
            Rung(
                holds="each of your epochs is asked for once at most, and no other",
                broken=asks_too_often,
                cases=NAMED,
                **common,
            ),
        ),
    )


# A case is a history: ("write", n) by the leader; ("copy", replica): it cuts its log
# rightly and copies the leader's; ("elect", replica): it leads in the next epoch, with
# what it has. Replicas are 0 to 3, and 0 leads first.
REPLICAS = 4
NAMED = {
    "the first example": [
        ("write", 2),
        ("copy", 1),
        ("write", 1),
        ("elect", 1),
        ("write", 1),
    ],
    "the second example": [
        ("write", 1),
        ("copy", 1),
        ("elect", 0),
        ("write", 2),
        ("elect", 1),
        ("write", 2),
    ],
    "nothing was ever written": [("elect", 1)],
    "only behind": [("write", 2), ("copy", 1), ("write", 1), ("elect", 0)],
    "equal": [("write", 2), ("copy", 1), ("elect", 0)],
    "it led, and was cut off": [
        ("write", 1),
        ("copy", 1),
        ("write", 2),
        ("elect", 1),
        ("write", 1),
    ],
    "the leader is shorter": [("write", 1), ("copy", 1), ("write", 3), ("elect", 1)],
    "the leader is empty": [("write", 2), ("elect", 1)],
    "two led, and neither copied": [
        ("write", 1),
        ("copy", 1),
        ("copy", 2),
        ("elect", 2),
        ("write", 1),
        ("elect", 1),
        ("write", 2),
        ("elect", 2),
        ("elect", 1),
        ("write", 1),
    ],
    "epochs that the other doesn't know": [
        ("write", 1),
        ("copy", 1),
        ("elect", 0),
        ("write", 1),
        ("elect", 1),
        ("write", 1),
        ("elect", 0),
        ("write", 1),
        ("elect", 1),
        ("write", 1),
    ],
    "the next leader's only epoch ends within mine": [
        ("write", 1),
        ("copy", 1),
        ("elect", 0),
        ("write", 2),
        ("elect", 1),
        ("write", 1),
        ("elect", 0),
        ("write", 2),
        ("elect", 1),
        ("write", 2),
    ],
}


def a_history(source):
    """Up to 14 epochs in which leaders write, are copied by some, and are replaced,
    also by replicas that lack much.
    """
    steps = []
    for _ in range(source.randint(1, 14)):
        for _ in range(source.randint(0, 3)):
            steps.append(
                ("write", source.randint(1, 3))
                if source.random() < 0.6
                else ("copy", source.randrange(4))
            )
        steps.append(("elect", source.randrange(REPLICAS)))
    return [*steps, ("write", source.randint(1, 3))] if source.random() < 0.5 else steps


def shorter(steps):
    for number in range(len(steps)):
        yield steps[:number] + steps[number + 1 :]
    for number, (what, count) in enumerate(steps):
        if what == "write" and count > 1:
            yield [*steps[:number], (what, 1), *steps[number + 1 :]]


def played(steps):
    """(the leader's log, the log of the replica that comes back), as lists of (epoch,
    value).
    """
    logs = [[] for _ in range(REPLICAS)]
    epoch, leader, written = 0, 0, 0
    for what, which in steps:
        if what == "write":
            for _ in range(which):
                logs[leader].append((epoch, f"r{written}"))
                written += 1
        elif what == "elect":
            epoch, leader = epoch + 1, which
        elif which != leader:
            logs[which] = list(logs[leader])
    mine = max(
        (replica for replica in range(REPLICAS) if replica != leader),
        key=lambda each: len(logs[each]),
    )
    return logs[leader], logs[mine]


def both_logs(steps):
    leaders, mine = played(steps)
    return f"log = {mine}; the leader's is {leaders}"


def common_length(steps):
    leaders, mine = played(steps)
    same = [one == other for one, other in zip(leaders, mine, strict=False)]
    return same.index(False) if False in same else len(same)


def kept(answer, steps):
    """How many records the answer keeps, and what it asked for. Raises WrongKind for
    what is no number.
    """
    leaders, mine = played(steps)
    told, asked = end_of(leaders), []

    def ask(epoch):
        if isinstance(epoch, bool) or not isinstance(epoch, int):
            raise WrongKind(
                f"end_of({short(epoch)}): an epoch is a whole number. log[offset] is"
                " (epoch, value)"
            )
        asked.append(epoch)
        if len(asked) > 1000:
            raise WrongKind("it has asked the leader 1,000 times, and goes on")
        return told(epoch)

    found = plain(answer(mine, ask))
    if isinstance(found, bool) or not isinstance(found, int):
        raise WrongKind(
            f"it returned {short(found)}, and should return how many records stay: a"
            " whole number"
        )
    if not 0 <= found <= len(mine):
        raise WrongKind(f"it keeps {found} of {len(mine)} records: that can't be")
    return found, asked


def keeps_too_much(answer, steps):
    leaders, mine = played(steps)
    found, asked = kept(answer, steps)
    same = common_length(steps)
    if found <= same:
        return None
    there = f"has {leaders[same]} there" if same < len(leaders) else "has nothing there"
    return (
        f"it keeps {mine[same]} at offset {same}, and the leader"
        f" {there}.\n{answers(leaders, asked)}"
    )


def keeps_too_little(answer, steps):
    leaders, mine = played(steps)
    found, asked = kept(answer, steps)
    if found >= common_length(steps):
        return None
    return (
        f"it drops {mine[found]} at offset {found}, and the leader has the same"
        f" there.\n{answers(leaders, asked)}"
    )


def asks_too_often(answer, steps):
    leaders, mine = played(steps)
    _, asked = kept(answer, steps)
    foreign = [epoch for epoch in asked if epoch not in {each for each, _ in mine}]
    if foreign:
        return (
            f"it asks for epoch {foreign[0]}, of which this log has no"
            f" record.\n{answers(leaders, asked)}"
        )
    if len(asked) > len(set(asked)):
        return f"it asks for one epoch twice.\n{answers(leaders, asked)}"
    return None


def answers(leaders, asked):
    told = end_of(leaders)
    return "you asked " + (
        ", ".join(f"end_of({epoch}) = {told(epoch)}" for epoch in asked) or "nothing"
    )


# --- 2: a rolling restart, judged by the simulator ---

MOST_S = 15  # one ("wait", seconds)
MOST_STEPS = 30


STEPS = 'a step is ("stop", 2), ("start", 2), ("in sync",) or ("wait", seconds)'


def exercise_2():
    """A plan for a rolling restart, in four rungs."""
    common = {"cases": CASES, "describe": as_call}
    return Exercise(
        name="my_restart",
        right=(
            "each broker was restarted, no order had to wait, and the controller moved"
            " once."
        ),
        hints=(
            (
                "One broker at a time: stop it, start it. Then, before you touch the"
                " next, something must be true of it."
            ),
            (
                "How long a broker needs until it has caught up depends on what it"
                " missed. Don't guess seconds."
            ),
            (
                'Put ("in sync",) between two brokers. And the order matters: when'
                " the active controller stops, another is elected. If you stop that"
                " one later, there is a second election. Which broker must be last?"
            ),
        ),
        call_seconds=4.0,
        rungs=(
            Rung(
                holds="each broker is stopped once and started again",
                broken=not_each_once,
                **common,
            ),
            Rung(
                holds="no order waits longer than two seconds",
                broken=an_order_waits,
                **common,
            ),
            Rung(holds="all are in sync at the end", broken=not_in_sync, **common),
            Rung(holds="the controller moves once", broken=controller_moves, **common),
        ),
    )


def as_call(case):
    return f"my_restart({case.told}, controller={case.controller})"


def plan_of(answer, case):
    """The plan, as a tuple of steps. Raises WrongKind for what is none."""
    found = plain(answer(case.told, case.controller))
    if not isinstance(found, list):
        raise WrongKind(
            f"it returned {short(found)}, and should return a list of steps: {STEPS}"
        )
    for step in found:
        whole = isinstance(step, list) and step and isinstance(step[0], str)
        known = whole and {"stop": 2, "start": 2, "in sync": 1, "wait": 2}.get(
            step[0]
        ) == len(step)
        if not known or not all(
            isinstance(each, int | float) and not isinstance(each, bool)
            for each in step[1:]
        ):
            raise WrongKind(
                f"{short(tuple(step) if isinstance(step, list) else step)} is no step:"
                f" {STEPS}"
            )
        if step[0] in ("stop", "start") and step[1] not in case.told:
            stays = f": {step[1]} stays up" if step[1] in case.brokers else ""
            raise WrongKind(f"there is no broker {step[1]} in {case.told}{stays}")
        if step[0] == "wait" and not 0 <= step[1] <= MOST_S:
            raise WrongKind(f"wait from 0 to {MOST_S} seconds, not {step[1]}")
    if len(found) > MOST_STEPS:
        raise WrongKind(
            f"a plan has {MOST_STEPS} steps at most, and this has {len(found)}"
        )
    return tuple(map(tuple, found))


def not_each_once(answer, case):
    plan = plan_of(answer, case)
    done = {"stop": "stopped", "start": "started"}
    for what, is_done in done.items():
        for broker in case.told:
            count = plan.count((what, broker))
            if count != 1:
                return f"broker {broker} is {is_done} {count} times, not once."
    wrong = outcome(plan, case)[0]
    if wrong is None:
        return None
    said, number = wrong
    return f"{said.format(case.brokers[number - 1])}.\nyour plan: {list(plan)}"


def an_order_waits(answer, case):
    plan = plan_of(answer, case)
    _, longest_s, *_ = outcome(plan, case)
    if longest_s <= LONGEST_S:
        return None
    return (
        f"an order waits longer than {LONGEST_S:g} s.\nyour plan:"
        f" {list(plan)}\n{why(plan)}"
    )


def why(plan):
    """What makes an order wait."""
    careful = all(
        ("in sync",) in plan[place : plan.index(later)]
        for place, step in enumerate(plan)
        if step[0] == "start"
        for later in plan[place:]
        if later[0] == "stop"
    )
    if careful:
        return "two brokers were away at the same time, and min.insync.replicas is 2"
    return (
        "a broker was stopped before the one that came back was in sync: one was left,"
        " and min.insync.replicas is 2"
    )


def not_in_sync(answer, case):
    plan = plan_of(answer, case)
    if outcome(plan, case)[-1]:
        return None
    return f"the plan ends while a broker isn't in sync yet.\nyour plan: {list(plan)}"


def controller_moves(answer, case):
    plan = plan_of(answer, case)
    elections = outcome(plan, case)[2]
    if elections <= 1:
        return None
    return (
        f"a controller was elected {elections} times; once would do.\nyour plan:"
        f" {list(plan)}\nbroker {case.controller} was the active controller when"
        " the plan began"
    )
