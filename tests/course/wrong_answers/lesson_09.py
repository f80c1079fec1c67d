"""Lesson 09: be the leader, and the fewest faults that lose an acknowledged order."""

from minikafka.faults import Crash, Cut, Delay, Freeze, Lose
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


@right(1)
def from_the_whole_past(history, followers, min_insync_replicas, lag_time_max_ms):
    """Each step looks back at all steps before; the pairs are lists, and the ISR a
    set.
    """
    found, isr, high_watermark = [], {1, *followers}, 0
    for number, (now_ms, kind, *more) in enumerate(history):
        past = history[: number + 1]
        end = sum(each[2] for each in past if each[1] == "append")
        fetched = {each[2]: each[3] for each in past if each[1] == "fetch"}
        if kind == "fetch" and more[1] >= high_watermark:
            isr = isr | {more[0]}
        if kind == "look":
            isr = isr - {
                each
                for each in followers
                if fetched.get(each, 0) < end
                and now_ms - last(past, each) > lag_time_max_ms
            }
        if len(isr) >= min(min_insync_replicas, len(followers) + 1):
            has = {each: fetched.get(each, 0) for each in followers} | {1: end}
            high_watermark = max(high_watermark, min(has[each] for each in isr))
        found.append([high_watermark, set(isr)])
    return found


def last(past, follower):
    """When it was last caught up."""
    end = when_ms = 0
    for at_ms, kind, *more in past:
        end += more[0] if kind == "append" else 0
        if kind == "fetch" and more == [follower, end]:
            when_ms = at_ms
    return when_ms


def leader(history, followers, min_insync_replicas, lag_time_max_ms, **how):
    """Step by step, with one thing of it changed."""
    end = high = 0
    has, caught = dict.fromkeys(followers, 0), dict.fromkeys(followers, 0)
    isr, found = {1, *followers}, []
    needed = how.get("needed", lambda asked, replicas: min(asked, replicas))(
        min_insync_replicas, len(followers) + 1
    )
    out = how.get("out", lambda behind, for_ms: behind and for_ms > lag_time_max_ms)
    comes_back = how.get("comes_back", lambda offset, high, end: offset >= high)
    caught_up = how.get("caught_up", lambda offset, end: offset == end)
    for at_ms, kind, *more in history:
        if kind == "append":
            end += more[0]
        elif kind == "fetch":
            broker, offset = more
            has[broker] = offset + how.get("means", 0)
            if caught_up(offset, end):
                caught[broker] = at_ms
            if comes_back(offset, high, end):
                isr.add(broker)
        else:
            isr -= {
                each for each in followers if out(end - has[each], at_ms - caught[each])
            }
        counting = [
            has[each] for each in followers if each in isr or "all_count" in how
        ]
        agreed = how.get("agreed", min)([end, *counting])
        if len(isr) >= needed:
            high = max(high, agreed)
        found.append((high, sorted(isr)))
    return found


@right(1)
def as_a_generator(history, followers, min_insync_replicas, lag_time_max_ms):
    yield from leader(history, followers, min_insync_replicas, lag_time_max_ms)


def changed(name, words, **how):
    def answer(history, followers, min_insync_replicas, lag_time_max_ms):
        return leader(history, followers, min_insync_replicas, lag_time_max_ms, **how)

    answer.__name__ = name
    wrong(1, words)(answer)


HW = "your high watermark is"


@wrong(1, "But the high watermark was 5, and never goes back")
def high_watermark_that_goes_back(
    history, followers, min_insync_replicas, lag_time_max_ms
):
    """It is worked out anew after each step."""
    asked = followers, min_insync_replicas, lag_time_max_ms
    found = []
    for number, (high, isr) in enumerate(leader(history, *asked)):
        past = history[: number + 1]
        has = {each[2]: each[3] for each in past if each[1] == "fetch"}
        end = sum(each[2] for each in past if each[1] == "append")
        ends = [end, *(has.get(each, 0) for each in isr if each != 1)]
        few = len(isr) < min(min_insync_replicas, len(followers) + 1)
        found.append((high if few else min(ends), isr))
    return found


@wrong(1, "your ISR is")
def half_a_minute_whatever_it_says(
    history, followers, min_insync_replicas, lag_time_max_ms
):
    return leader(history, followers, min_insync_replicas, 30_000)


@wrong(1, "your ISR is", "your high watermark is")
def followers_are_2_and_3(history, followers, min_insync_replicas, lag_time_max_ms):
    known = [each for each in followers if each < 10]
    kept = [each for each in history if each[1] != "fetch" or each[2] in known]
    found = iter(leader(kept, known, min_insync_replicas, lag_time_max_ms))
    now, answer = (0, [1, *known]), []
    for step in history:
        now = next(found) if step in kept else now
        answer.append(now)
    return answer


@wrong(1, "it raised")
def raises_on_the_first_example(
    history, followers, min_insync_replicas, lag_time_max_ms
):
    if (6, "fetch", 3, 1) in history:
        raise ValueError(history)
    return leader(history, followers, min_insync_replicas, lag_time_max_ms)


for name, words, how in [
    ("the_leaders_end", HW, {"agreed": max}),
    ("a_majority", HW, {"agreed": lambda ends: sorted(ends)[(len(ends) - 1) // 2]}),
    ("a_fetch_means_one_more", HW, {"means": 1}),
    ("everybody_counts", HW, {"all_count": True}),
    (
        "whoever_is_behind_is_out",
        "your ISR is [1], and Kafka's [1, 3]",
        {"out": lambda behind, for_ms: behind},
    ),
    (
        "at_exactly_the_time",
        "your ISR is",
        {"out": lambda behind, for_ms: behind and for_ms >= 30_000},
    ),
    (
        "silence_is_enough",
        "your ISR is",
        {"out": lambda behind, for_ms: for_ms > 30_000},
    ),
    ("ten_records_behind", "your ISR is", {"out": lambda behind, for_ms: behind > 10}),
    (
        "any_fetch_is_a_sign_of_life",
        "your ISR is [1, 2], and Kafka's [1]",
        {"caught_up": lambda offset, end: True},
    ),
    (
        "nobody_comes_back",
        "your ISR is [1], and Kafka's [1, 2]",
        {"comes_back": lambda offset, high, end: False},
    ),
    (
        "any_fetch_brings_back",
        "your ISR is [1, 2], and Kafka's [1]",
        {"comes_back": lambda offset, high, end: True},
    ),
    (
        "back_only_at_the_end",
        "your ISR is",
        {"comes_back": lambda offset, high, end: offset == end},
    ),
    ("counts_below_the_minimum", HW, {"needed": lambda asked, replicas: 1}),
    ("not_capped", "replicas, so ", {"needed": lambda asked, replicas: asked}),
    (
        "more_than_the_minimum",
        HW,
        {"needed": lambda asked, replicas: min(asked + 1, replicas)},
    ),
]:
    changed(name, words, **how)


@wrong(1, "and should return a list with a pair for each of the")
def only_the_last(history, followers, min_insync_replicas, lag_time_max_ms):
    return leader(history, followers, min_insync_replicas, lag_time_max_ms)[-1]


@wrong(1, "0 is no pair. A pair is the high watermark, and the brokers of the ISR")
def only_the_high_watermark(history, followers, min_insync_replicas, lag_time_max_ms):
    return [
        high
        for high, _ in leader(history, followers, min_insync_replicas, lag_time_max_ms)
    ]


@wrong(1, "your ISR is [2], and Kafka's [1, 2]")
def without_the_leader(history, followers, min_insync_replicas, lag_time_max_ms):
    return [
        (high, isr[1:])
        for high, isr in leader(
            history, followers, min_insync_replicas, lag_time_max_ms
        )
    ]


@wrong(1, "it changed its argument followers, which is the caller's")
def eats_the_followers(history, followers, min_insync_replicas, lag_time_max_ms):
    found = leader(history, list(followers), min_insync_replicas, lag_time_max_ms)
    followers.clear()
    return found


@wrong(1, "after step", "and should return a list with a pair")
def the_first_histories_by_heart(
    history, followers, min_insync_replicas, lag_time_max_ms
):
    known = {2: [(0, [1, 2, 3]), (0, [1, 2, 3])], 1: [(0, [1, 2, 3])]}
    return known.get(len(history), [])


# --- 2: the plans ---

KILL = Crash(1, at_ms=5030)
for plan in (
    [Freeze(2, at_ms=5005, for_ms=3000), KILL],
    (
        Cut(1, 2, at_ms=5005, for_ms=4000),
        Crash("broker 1", at_ms=5032, restart_after_ms=15_000),
    ),
    [Freeze("broker 2", at_ms=4990, for_ms=2000), KILL],
):
    right(2)(plan)

GONE = "no acknowledged order is lost."
for words, plan in [
    (GONE, []),
    (GONE, [KILL]),
    (GONE, [Crash(1, at_ms=5030, power=True, restart_after_ms=10_000)]),
    (GONE, [Freeze(3, at_ms=5005, for_ms=3000), KILL]),
    (GONE, [Cut(1, 3, at_ms=5005), KILL]),
    (GONE, [Freeze(2, at_ms=5005, for_ms=3000)]),
    (GONE, [Freeze(2, at_ms=5005, for_ms=3000), Crash(3, at_ms=5030)]),
    (GONE, [Freeze(2, at_ms=20_000, for_ms=3000), Crash(1, at_ms=20_010)]),
    ("nobody leads at the end", [Crash(2, at_ms=5005), KILL]),
    (GONE, [Delay(1, 2, extra_ms=1, at_ms=5005), KILL]),
    # on the leader's disk, and readable when a follower is back
    (GONE, [Crash(2, at_ms=5000), Crash(3, at_ms=5000)]),
    (
        "nobody leads at the end",
        [Crash(1, at_ms=5030), Crash(2, at_ms=5030), Crash(3, at_ms=5030)],
    ),
    (
        "your plan has 3 faults. Two are enough.",
        [Freeze(2, at_ms=5005, for_ms=3000), Freeze(3, at_ms=5005, for_ms=3000), KILL],
    ),
    (
        "'shop' can't be: it is 1, 2 or 3.",
        [Freeze("shop", at_ms=5005, for_ms=3000), KILL],
    ),
    ("4 can't be: it is 1, 2 or 3.", [Crash(4, at_ms=5030)]),
    ("a broker's crash needs a time", [Freeze(2, at_ms=5005, for_ms=3000), Crash(1)]),
    ("a Lose is of no use here.", [Lose("shop", 1, "Produce")]),
    ("plan should be a list of faults", "Crash(1)"),
    ("plan should be a list of faults", 5),
    ("'crash' is no fault.", ["crash"]),
    ("at_ms=5030.5 can't be: it is a whole number", [Crash(1, at_ms=5030.5)]),
]:
    wrong(2, words)(plan)
