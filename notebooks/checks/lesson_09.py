"""Lesson 09, replication: what a right answer does."""

from minikafka.course.experiments import lesson_09_runs
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, faults_for
from minikafka.course.judging.guard import plain
from minikafka.course.lessons import Question
from minikafka.faults import Crash, Cut, Delay, Freeze

EXIT_TICKET = (
    Question(
        "log ends at 120, 118 and 97, and the third broker is not in the ISR: the last"
        " record that a consumer gets",
        right=2,
        why=(
            "2. The smallest log end offset in the ISR is 118, so the high watermark is"
            " 118, and the last record below it has offset 117. Broker 9 is out of the"
            " ISR, so its 97 doesn't matter."
        ),
    ),
    Question(
        "a follower that gets to the end of the log every 20 s: how long acks=all waits",
        right=2,
        why=(
            "2. It is caught up at least every 30 s, so it stays in the ISR, and"
            " acks=all waits for the whole ISR. That goes on until you do something."
        ),
    ),
    Question(
        "Replicas: 4,5,6  Isr: 4  Elr: 6  with min.insync.replicas=2: what has"
        " happened",
        right=1,
        why=(
            "1. When 5 left, 4 and 6 were still in sync, and records could be committed"
            " without 5. When 6 left, nothing more could be committed, so 6 is"
            " eligible. In the other order it would be 5."
        ),
    ),
    Question(
        "a Java producer with defaults, and the answer gets lost: how often is the"
        " record in the log",
        right=1,
        why=(
            "1. The producer sends it again, and the leader knows its sequence number"
            " already. Idempotence is on by default in Java."
        ),
        lesson="03",
    ),
    Question(
        "the leader of a partition that A reads dies: who reads the partition then",
        right=1,
        why=(
            "1. A is alive and sends heartbeats to broker 8, so the group doesn't"
            " change. A asks for the new leader, and goes on reading there."
        ),
        lesson="05",
    ),
)


# --- 1: write a piece ---

LAG_MS = 30_000
LAGS_MS = (500, 9_000, LAG_MS, 60_000)
BROKERS = (2, 3, 4, 5, 10, 12, 100)

IN_SYNC = {
    "the first example": (
        [(0, "append", 2), (5, "fetch", 2, 2), (6, "fetch", 3, 1)],
        [2, 3],
        2,
        LAG_MS,
    ),
    "an in-sync follower asks again for what it had": (
        [(0, "append", 5), (5, "fetch", 2, 5), (9, "fetch", 2, 3)],
        [2],
        1,
        LAG_MS,
    ),
    "followers with larger numbers": (
        [(0, "append", 4), (5, "fetch", 12, 4), (6, "fetch", 30, 2)],
        [12, 30],
        1,
        500,
    ),
    "nobody has fetched": ([(0, "append", 2)], [2, 3], 1, LAG_MS),
    "one of two has it": ([(0, "append", 2), (5, "fetch", 2, 2)], [2, 3], 1, LAG_MS),
    "both have some": (
        [(0, "append", 5), (5, "fetch", 2, 5), (6, "fetch", 3, 3)],
        [2, 3],
        2,
        LAG_MS,
    ),
    "no followers": ([(0, "append", 3)], [], 1, LAG_MS),
}
LEAVING = {
    "the second example": (
        [(0, "append", 2), (5, "fetch", 2, 2), (30_001, "look")],
        [2, 3],
        2,
        LAG_MS,
    ),
    "another lag_time_max_ms": (
        [(0, "append", 2), (5, "fetch", 2, 2), (501, "look")],
        [2, 3],
        1,
        500,
    ),
    "behind for too long": (
        [(0, "append", 2), (5, "fetch", 2, 2), (30_001, "look")],
        [2, 3],
        1,
        LAG_MS,
    ),
    "behind for exactly so long": (
        [(0, "append", 2), (5, "fetch", 2, 2), (30_000, "look")],
        [2, 3],
        1,
        LAG_MS,
    ),
    "silent, but nothing is missing": (
        [(0, "append", 1), (5, "fetch", 2, 1), (90_000, "look")],
        [2],
        1,
        LAG_MS,
    ),
    "it fetches all the time, and is never at the end": (
        [
            (0, "append", 9),
            (9_000, "fetch", 2, 3),
            (29_000, "fetch", 2, 6),
            (31_000, "look"),
        ],
        [2],
        1,
        LAG_MS,
    ),
}
RETURNING = {
    "back at the high watermark": (
        [
            (0, "append", 2),
            (30_001, "look"),
            (40_000, "fetch", 2, 2),
            (50_000, "append", 1),
        ],
        [2],
        1,
        LAG_MS,
    ),
    "fetching, and not there yet": (
        [(0, "append", 4), (30_001, "look"), (40_000, "fetch", 2, 3)],
        [2],
        1,
        LAG_MS,
    ),
    "too few: it stands still": (
        [(0, "append", 2), (30_001, "look"), (31_000, "append", 1)],
        [2],
        2,
        LAG_MS,
    ),
    "a topic with fewer replicas than it asks for": (
        [(0, "append", 2), (5, "fetch", 2, 1)],
        [2],
        3,
        LAG_MS,
    ),
}


def exercise_1():
    """What a leader knows of its followers, in three rungs: all in sync; who leaves;
    who comes back, and too few.
    """
    common = {"broken": differs, "smaller": simpler, "describe": as_call}
    return Exercise(
        name="my_leader",
        right="your leader moves its high watermark as Kafka's does.",
        hints=(
            (
                "Keep four things from step to step: the log end offset, each"
                " follower's offset, when each follower was last caught up, and the"
                " ISR. After every step work out the high watermark from them."
            ),
            (
                "A follower is caught up at a fetch that asks for the log end offset."
                " At a look it leaves if its offset is smaller than the log end offset"
                " AND it was last caught up more than lag_time_max_ms ago."
            ),
            (
                "Two things are easily forgotten. The leader is in the ISR, too, so its"
                " own log end offset is one of those you take the smallest of. And the"
                " high watermark stays where it is while the ISR has fewer members than"
                " min_insync_replicas, or than the partition has replicas, if that's fewer."
            ),
        ),
        rungs=(
            Rung(
                holds="the high watermark, while all are in sync",
                scenario=lambda source: a_history(source, looks=False),
                cases=IN_SYNC,
                **common,
            ),
            Rung(
                holds="who leaves the ISR, and what is committed without it",
                scenario=lambda source: a_history(
                    source, most_min_insync_replicas=1, returns=False
                ),
                cases=LEAVING,
                **common,
            ),
            Rung(
                holds=(
                    "who comes back, and that nothing new is committed while too few"
                    " are in sync"
                ),
                scenario=a_history,
                cases=RETURNING,
                **common,
            ),
        ),
    )


def kafkas_leader(history, followers, min_insync_replicas, lag_time_max_ms):
    """(high watermark, ISR) after each step. The leader is broker 1."""
    end, high_watermark, found = 0, 0, []
    isr, ends, caught_up_ms = (
        {1, *followers},
        dict.fromkeys(followers, 0),
        dict.fromkeys(followers, 0),
    )
    needed = min(min_insync_replicas, 1 + len(followers))
    for at_ms, what, *more in history:
        if what == "append":
            end += more[0]
        elif what == "fetch":
            broker, ends[broker] = more
            if ends[broker] == end:
                caught_up_ms[broker] = at_ms
            if ends[broker] >= high_watermark:
                isr.add(broker)
        else:
            isr -= {
                broker
                for broker in followers
                if ends[broker] < end and at_ms - caught_up_ms[broker] > lag_time_max_ms
            }
        if len(isr) >= needed:
            agreed = min([end, *(ends[broker] for broker in isr if broker != 1)])
            high_watermark = max(high_watermark, agreed)
        found.append((high_watermark, sorted(isr)))
    return found


def a_history(source, looks=True, most_min_insync_replicas=3, returns=True):
    """Appends, fetches and looks at rising times. returns: followers that left may come
    back.
    """
    most = 3 if looks else 2
    followers = source.sample(BROKERS, source.randint(1, most))
    lag_ms = source.choice(LAGS_MS)
    needed = source.randint(1, most_min_insync_replicas)
    ends, left, silent = dict.fromkeys(followers, 0), set(), source.choice(followers)
    at_ms, end, history = 0, 0, []
    for _ in range(source.randint(3, 14 if source.random() < 0.9 else 50)):
        at_ms += source.choice(
            (1, lag_ms // 60 + 1, lag_ms // 3, lag_ms // 2, lag_ms)
            if looks
            else (1, 5, 500)
        )
        kind = source.choice(
            ("append", "fetch", "fetch", "look")
            if looks
            else ("append", "fetch", "fetch")
        )
        broker = source.choice(followers)
        if kind == "fetch" and (
            broker in left or (looks and broker == silent and source.random() < 0.6)
        ):
            kind = "look"
        if kind == "append":
            count = source.randint(1, 4)
            end += count
            history.append((at_ms, "append", count))
        elif kind == "fetch":
            # now and then one asks again for what it had already
            least = 0 if source.random() < 0.1 else ends[broker]
            ends[broker] = end if source.random() < 0.5 else source.randint(least, end)
            history.append((at_ms, "fetch", broker, ends[broker]))
        else:
            history.append((at_ms, "look"))
            if not returns:
                left = set(followers) - set(
                    kafkas_leader(history, followers, needed, lag_ms)[-1][1]
                )
    return history, followers, needed, lag_ms


def simpler(case):
    """Without a follower, without a step, with one record in place of many."""
    history, followers, *more = case
    for broker in sorted(followers, reverse=True):
        others = [each for each in followers if each != broker]
        shorter = [step for step in history if step[1:3] != ("fetch", broker)]
        if others and shorter:
            yield shorter, others, *more
    for number, (at_ms, what, *rest) in enumerate(history):
        before, after = history[:number], history[number + 1 :]
        if before or after:
            yield possible([*before, *after]), followers, *more
        if what == "append" and rest[0] > 1:
            fewer = [*before, (at_ms, what, 1), *after]
            yield possible(fewer), followers, *more


def possible(history):
    """The fetches ask for no offset that isn't there."""
    end, found = 0, []
    for step in history:
        if step[1] == "append":
            end += step[2]
        elif step[1] == "fetch":
            step = (*step[:3], min(step[3], end))
        found.append(step)
    return found


def as_call(case):
    history, followers, needed, lag_ms = case
    return (
        f"my_leader({history}, followers={followers}, min_insync_replicas={needed},"
        f" lag_time_max_ms={lag_ms})"
    )


def differs(answer, case):
    history, followers, needed, lag_ms = case
    found = plain(answer(history, followers, needed, lag_ms))
    truth = kafkas_leader(*case)
    if not isinstance(found, list) or len(found) != len(history):
        return (
            f"it returned {found!r}, and should return a list with a pair for each of"
            f" the {len(history)} steps"
        )
    for number, (mine, kafkas) in enumerate(zip(found, truth, strict=True)):
        if (
            not isinstance(mine, list)
            or len(mine) != 2
            or not isinstance(mine[1], list | set | frozenset)
        ):
            return (
                f"{mine!r} is no pair. A pair is the high watermark, and the brokers of"
                " the ISR: (2, [1, 2, 3])"
            )
        step = f"after step {number + 1}, {history[number]}, "
        if set(mine[1]) != set(kafkas[1]) or len(mine[1]) != len(kafkas[1]):
            return (
                f"{step}your ISR is {sorted(mine[1], key=str)}, and Kafka's"
                f" {kafkas[1]}."
            )
        if isinstance(mine[0], bool) or mine[0] != kafkas[0]:
            return (
                f"{step}your high watermark is {mine[0]!r}, and Kafka's"
                f" {kafkas[0]}.\n{why(case, number, kafkas)}"
            )
    return None


def why(case, number, kafkas):
    """What the high watermark depends on after this step."""
    history, followers, asked, _ = case
    seen = history[: number + 1]
    end = sum(more[0] for _, what, *more in seen if what == "append")
    ends = (
        {1: end}
        | dict.fromkeys(followers, 0)
        | {more[0]: more[1] for _, what, *more in seen if what == "fetch"}
    )
    needed = min(asked, 1 + len(followers))
    if len(kafkas[1]) < needed:
        return (
            f"the ISR {kafkas[1]} has fewer than {needed} members, so nothing new"
            " is committed"
        )
    shown = ", ".join(
        f"broker {broker} has all before {ends[broker]}" for broker in kafkas[1]
    )
    in_isr = f"in the ISR {kafkas[1]}: {shown}"
    if min(ends[broker] for broker in kafkas[1]) < kafkas[0]:
        return f"{in_isr}. But the high watermark was {kafkas[0]}, and never goes back"
    if needed < asked:
        return f"{in_isr}. There are fewer than {asked} replicas, so {needed} will do"
    return in_isr


# --- 2: break a protocol ---

# with each of them broker 1 leads, and 2 and 3 follow; the controllers differ
SEEDS = (0, 2, 16, 17, 18)
EXAMPLE = "Freeze(3, at_ms=5005, for_ms=3000)"
PLACES = (1, 2, 3, "broker 1", "broker 2", "broker 3")
take_faults = faults_for(EXAMPLE, Crash, Freeze, Cut, Delay, places=PLACES)


def no_call(answer):
    """The plan, without what only a program can do."""
    faults = take_faults(answer)
    if any(isinstance(fault, Crash) and fault.at_ms is None for fault in faults):
        raise WrongKind("a broker's crash needs a time: Crash(1, at_ms=5030)")
    return faults


def exercise_2():
    """At most two faults after which an order is gone that was acknowledged with acks=1."""
    return Exercise(
        name="plan",
        takes=no_call,
        right="an order that the shop thinks is safe is lost.",
        hints=(
            (
                "A broker has to die while it alone has a record. Which broker is that,"
                " and what must the others not have done before?"
            ),
            (
                "Another broker has to become the leader. Followers fetch within a few"
                " ms, so something must keep them from fetching. All of them? Which one"
                " leads next?"
            ),
            (
                "The next leader is the first of Replicas that is in the ISR: broker 2,"
                " whatever broker 3 has. So broker 2 must stop fetching before the"
                " orders come, and broker 1 must die after it has acknowledged one. The"
                " first record may still get out, in the answer to a fetch that already"
                " waits at the leader; the second one can't."
            ),
        ),
        rungs=(
            Rung(
                holds="an acknowledged order is lost, in each of five runs",
                broken=nothing_lost,
                cases={f"seed {seed}": seed for seed in SEEDS},
                describe=lambda seed: f"five_orders(plan, acks=1, seed={seed})",
            ),
            Rung(
                holds="by two faults at most",
                broken=too_many,
                cases={"this plan": None},
            ),
        ),
    )


def nothing_lost(faults, seed):
    cluster = lesson_09_runs.five_orders(faults, acks=1, seed=seed)
    gone, acknowledged = (
        lesson_09_runs.lost(cluster),
        lesson_09_runs.acknowledged(cluster),
    )
    cluster.close()
    if gone:
        return None
    if gone is None:
        return (
            "nobody leads at the end, so nothing is lost yet: the broker that has the"
            " records may come back."
        )
    if not acknowledged:
        return "no order was acknowledged, so none could be lost."
    return (
        "no acknowledged order is lost.\nacknowledged, and in the leader's log:"
        f" {', '.join(acknowledged)}"
    )


def too_many(faults, _):
    if len(faults) <= 2:
        return None
    return f"your plan has {len(faults)} faults. Two are enough."
