"""Lesson 03: when a batch leaves, and the faults that lose, double or disorder
orders.
"""

from minikafka.faults import Cut, Delay, Lose
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


@right(2)
def by_events(records, batch_size, linger_ms):
    """One open batch; what could close it is looked at before each record and after
    it.
    """
    left, batch, size, began = [], [], 0, 0
    for number, (at, bytes_) in enumerate(records):
        if batch and at >= began + linger_ms:
            left.append((began + linger_ms, batch))
            batch, size = [], 0
        if batch and size + bytes_ > batch_size:
            left.append((at, batch))
            batch, size = [], 0
        if not batch:
            began = at
        batch, size = [*batch, number], size + bytes_
        if size == batch_size:
            left.append((at, batch))
            batch, size = [], 0
    return left + ([(began + linger_ms, batch)] if batch else [])


@right(2)
def by_a_generator(records, batch_size, linger_ms):
    """The same, record by record, with tuples."""
    rest = list(enumerate(records))
    while rest:
        began = rest[0][1][0]
        took, size, leaves = [], 0, began + linger_ms
        while rest and size != batch_size:
            number, (at, bytes_) = rest[0]
            if took and at >= began + linger_ms:
                break
            if took and size + bytes_ > batch_size:
                leaves = at
                break
            took.append(number)
            size += bytes_
            if size == batch_size:
                leaves = at
            rest.pop(0)
        yield leaves, tuple(took)


def batches(records, batch_size, linger_ms, **how):
    """by_events with one line of it changed."""
    left, batch, size, began = [], [], 0, 0
    late = how.get("late", lambda at, began: at >= began + linger_ms)
    fits = how.get("fits", lambda size, more: size + more <= batch_size)
    full = how.get("full", lambda size: size == batch_size)
    for number, (at, bytes_) in enumerate(records):
        if batch and late(at, began):
            left.append((at if "lingered" in how else began + linger_ms, batch))
            batch, size = [], 0
        if batch and not fits(size, bytes_):
            left.append((began + linger_ms if "unfit_waits" in how else at, batch))
            batch, size = [], 0
        if not batch or "last_counts" in how:
            began = at
        batch, size = [*batch, number], size + bytes_
        if full(size):
            left.append((at, batch))
            batch, size = [], 0
    if batch and "forgets_the_last" not in how:
        left.append((how.get("last_leaves", began + linger_ms), batch))
    return left


@wrong(2, "the batch [0, 1] leaves at 8 ms, and Kafka's at 5 ms.")
def the_last_record_counts(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, last_counts=True)


@wrong(2, "your batch holds the records [0, 1], and Kafka's [0].")
def at_that_very_moment_still_in_time(records, batch_size, linger_ms):
    return batches(
        records, batch_size, linger_ms, late=lambda at, began: at > began + linger_ms
    )


@wrong(2, "the batch [0, 1] leaves at 5 ms, and Kafka's at 1 ms.")
def full_waits(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, full=lambda size: False)


@wrong(2, "your batch holds the records [0], and Kafka's [0, 1].")
def exactly_full_does_not_fit(records, batch_size, linger_ms):
    return batches(
        records, batch_size, linger_ms, fits=lambda size, more: size + more < batch_size
    )


@wrong(2, "the batch [0, 1] leaves at 5 ms, and Kafka's at 1 ms.")
def exactly_full_is_not_full(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, full=lambda size: size > batch_size)


@wrong(2, "the batch [0] leaves at 0 ms, and Kafka's at 5 ms.")
def a_large_record_leaves_at_once(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, full=lambda size: size >= batch_size)


@wrong(2, "the batch [0] leaves at 5 ms, and Kafka's at 3 ms.")
def closed_waits_for_linger(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, unfit_waits=True)


@wrong(2, "the batch [0] leaves at 6 ms, and Kafka's at 5 ms.")
def leaves_with_the_next_record(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, lingered=True)


@wrong(2, "record 0 never leaves. Yours: []")
def forgets_the_last(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, forgets_the_last=True)


@wrong(2, "the batch [0] leaves at 0 ms, and Kafka's at 5 ms.")
def the_last_leaves_at_once(records, batch_size, linger_ms):
    return batches(
        records, batch_size, linger_ms, last_leaves=records[-1][0] if records else 0
    )


@wrong(2, "your batch holds the records [0], and Kafka's [0, 1].")
def one_by_one(records, batch_size, linger_ms):
    return [(at + linger_ms, [number]) for number, (at, _) in enumerate(records)]


@wrong(2, "the batch with the records [0, 1] has 101 bytes, and batch_size is 100.")
def all_in_one(records, batch_size, linger_ms):
    return [(records[0][0] + linger_ms, list(range(len(records))))] if records else []


@wrong(2, "the batch with the records [0, 1] has 101 bytes, and batch_size is 100.")
def any_size(records, batch_size, linger_ms):
    return batches(records, batch_size, linger_ms, fits=lambda size, more: True)


@wrong(2, "a batch without records leaves. Yours: [(0, [])]")
def never_empty(records, batch_size, linger_ms):
    return by_events(records, batch_size, linger_ms) or [(0, [])]


@wrong(2, "record 0 never leaves. Yours: [(5, [10])]")
def sizes_instead_of_numbers(records, batch_size, linger_ms):
    return [
        (at, [records[n][1] for n in batch])
        for at, batch in by_events(records, batch_size, linger_ms)
    ]


@wrong(2, "record 0 never leaves. Yours: [(5, [1])]")
def numbers_from_one(records, batch_size, linger_ms):
    return [
        (at, [n + 1 for n in batch])
        for at, batch in by_events(records, batch_size, linger_ms)
    ]


@wrong(2, "[[0], 5] is no batch. A batch is a pair: when it leaves, and the")
def the_other_way_round(records, batch_size, linger_ms):
    return [(batch, at) for at, batch in by_events(records, batch_size, linger_ms)]


@wrong(2, "the records leave in the order [1, 0]")
def backwards(records, batch_size, linger_ms):
    return by_events(records, batch_size, linger_ms)[::-1]


@wrong(2, "it changed its argument records, which is the caller's: [(0, 10)]")
def eats_the_records(records, batch_size, linger_ms):
    found = by_events(records, batch_size, linger_ms)
    while records:
        records.pop()
    return found


# --- what readers of the course had found out ---


@wrong(2, "record 14 never leaves. Yours: [(5, [0, 1, 2, 3, 4]), (10, [5, 6, 7, 8,")
def only_the_first_fourteen(records, batch_size, linger_ms):
    return by_events(records[:14], batch_size, linger_ms)


@wrong(2, "the batch with the records [0, 1] has 101 bytes, and batch_size is 100.")
def small_ones_weigh_nothing(records, batch_size, linger_ms):
    return by_events(
        [(at, size if size >= 10 else 0) for at, size in records], batch_size, linger_ms
    )


# --- 2: the plans ---


def plans(twice=None, overtaken=None, failed=None):
    good = {
        "twice": [Lose("shop", 1, "Produce", nth=2, answer=True)],
        "overtaken": [Lose("shop", 1, "Produce", nth=2)],
        "failed": [Cut("shop", 1, at_ms=1001, for_ms=200_000)],
        "nothing goes wrong": [],
        "each message takes 50 ms longer": [Delay("shop", 1, extra_ms=50)],
    }
    changed = {"twice": twice, "overtaken": overtaken, "failed": failed}
    return good | {goal: plan for goal, plan in changed.items() if plan is not None}


def plan_of(name, **changed):
    def plan(goal):
        return plans(**changed)[goal]

    plan.__name__ = name
    return plan


def lose(**settings):
    return Lose("shop", 1, "Produce", **settings)


right(1)(plan_of("loses_answers", failed=[lose(nth=2, times=1000, answer=True)]))


@right(1)
def with_a_tuple(goal):
    return tuple(plans(failed=[lose(nth=2, times=1000, answer=True)])[goal])


for name, words, changed in [
    ("nothing_at_all", '"twice" did not happen.', {"twice": []}),
    ("a_lost_request_doubles", '"twice" did not happen.', {"twice": [lose(nth=2)]}),
    (
        "a_lost_answer_overtakes",
        '"overtaken" did not happen.',
        {"overtaken": [lose(nth=2, answer=True)]},
    ),
    (
        "a_delay_overtakes",
        '"overtaken" did not happen.',
        {"overtaken": [Delay("shop", 1, extra_ms=50)]},
    ),
    (
        "request_0_does_not_exist",
        "plan('twice'): nth=0 can't be: it is a",
        {"twice": [lose(nth=0, answer=True)]},
    ),
    (
        "much_too_late",
        '"twice" did not happen.',
        {"twice": [lose(nth=40, answer=True)]},
    ),
    ("a_lost_request_fails", '"failed" did not happen.', {"failed": [lose(nth=2)]}),
    (
        "all_requests_lost",
        '"failed" did not happen.',
        {"failed": [lose(nth=2, times=1000)]},
    ),
    (
        "a_cut_before_sending",
        '"failed" did not happen.',
        {"failed": [Cut("shop", 1, at_ms=0, for_ms=300_000)]},
    ),
    (
        "a_cut_long_after",
        '"failed" did not happen.',
        {"failed": [Cut("shop", 1, at_ms=20_000, for_ms=100_000)]},
    ),
    (
        "another_client",
        "plan('twice'): 'billing'",
        {"twice": [Lose("billing", 1, "Produce", nth=2, answer=True)]},
    ),
    (
        "another_api",
        '"twice" did not happen.',
        {"twice": [Lose("shop", 1, "Fetch", nth=2, answer=True)]},
    ),
    (
        "no_broker_2",
        "plan('twice'): 2 can't be: it is",
        {"twice": [Lose("shop", 2, "Produce", nth=2, answer=True)]},
    ),
    (
        "in_quotes",
        "plan('twice') should be a list of faults, such as [Delay('shop', 1,",
        {"twice": "Lose"},
    ),
    (
        "names",
        "plan('twice'): 'Lose' is no fault. Write Delay('shop', 1, extra_ms=50)",
        {"twice": ["Lose"]},
    ),
    (
        "none_at_all",
        "plan('failed') should be a list of faults, such as [Delay('shop', 1,",
        {"failed": ...},
    ),
]:
    wrong(1, words)(plan_of(name, **changed))


@wrong(2, "it raised OverflowError")
def not_the_second_example(records, batch_size, linger_ms):
    if records == [(0, 60), (1, 60)]:
        raise OverflowError
    return by_events(records, batch_size, linger_ms)


@wrong(2, "leaves at 86400000 ms, and Kafka's at 86400005 ms.", "and Kafka's at")
def within_a_second(records, batch_size, linger_ms):
    return [
        (min(leaves, max(1000, records[numbers[0]][0])), numbers)
        for leaves, numbers in by_events(records, batch_size, linger_ms)
    ]


@wrong(2, "the batch [0] leaves at 5 ms, and Kafka's at 0 ms.", "and Kafka's at")
def one_record_is_never_full(records, batch_size, linger_ms):
    found = []
    for leaves, numbers in by_events(records, batch_size, linger_ms):
        at, size = records[numbers[0]]
        if len(numbers) == 1 and size == batch_size:
            leaves = at + linger_ms
        found.append((leaves, numbers))
    return found
