"""Lesson 19: what a query does again, and a sink that may be killed."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


# --- again ---


@right(2)
def step_by_step(offsets, commits):
    found = {}
    done = {}
    for number in sorted(offsets):
        found = (
            {}
            if number in commits
            else {
                p: (done.get(p, 0), offsets[number][p])
                for p in offsets[number]
                if offsets[number][p] > done.get(p, 0)
            }
        )
        done = offsets[number]
    return found


@right(2)
def with_lists(offsets, commits):
    open_ones = set(offsets) - set(commits)
    if max(offsets, default=0) not in open_ones:
        return {}
    numbers = sorted(offsets)
    before = offsets[numbers[-2]] if len(numbers) > 1 else {}
    return {
        p: [before.get(p, 0), end]
        for p, end in offsets[numbers[-1]].items()
        if end != before.get(p, 0)
    }


@wrong(2, "it says {0: (0, 5)}, and {} is true.")
def whatever_was_planned_last(offsets, commits):
    return step_by_step(offsets, set())


@wrong(2, "it raised ValueError")
def there_is_always_a_plan(offsets, commits):
    newest = max(offsets)
    return {} if newest in commits else step_by_step(offsets, commits)


@wrong(2, "it says {0: (0, 9)}, and {0: (5, 9)} is true.")
def from_the_beginning(offsets, commits):
    newest = max(offsets, default=0)
    return (
        {}
        if newest in commits or not offsets
        else {p: (0, end) for p, end in offsets[newest].items()}
    )


@wrong(2, "it says {0: (5, 8)}, and {0: (5, 9)} is true.")
def the_end_is_the_last_offset(offsets, commits):
    return {
        p: (start, end - 1)
        for p, (start, end) in step_by_step(offsets, commits).items()
    }


@wrong(2, "it says {0: (6, 9)}, and {0: (5, 9)} is true.")
def after_the_last_one(offsets, commits):
    return {
        p: (start + 1, end)
        for p, (start, end) in step_by_step(offsets, commits).items()
    }


@wrong(2, "it returned 4, and should return a dict")
def how_many(offsets, commits):
    found = step_by_step(offsets, commits)
    return sum(end - start for start, end in found.values()) if found else {}


@wrong(2, "and should have a pair for each partition: (from, to).")
def only_the_ends(offsets, commits):
    return {p: end for p, (_, end) in step_by_step(offsets, commits).items()}


@wrong(2, "it raised KeyError")
def the_first_one_has_a_plan_before_it(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    return {p: (offsets[newest - 1][p], end) for p, end in offsets[newest].items()}


@wrong(2, "it raised KeyError: 1")
def partitions_never_change(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    before = offsets.get(newest - 1, dict.fromkeys(offsets[newest], 0))
    return {
        p: (before[p], end) for p, end in offsets[newest].items() if before[p] < end
    }


@wrong(2, "it says {1: (20, 20)}, and {} is true.")
def nothing_is_a_range(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    before = offsets.get(newest - 1, {})
    return {p: (before.get(p, 0), end) for p, end in offsets[newest].items()}


@wrong(2, "and {0: (80, 88)} is true.")
def as_the_folder_lists_them(offsets, commits):
    listed = list(offsets)
    if not listed or listed[-1] in commits:
        return {}
    before = offsets[listed[-2]] if len(listed) > 1 else {}
    return {
        p: (before.get(p, 0), end)
        for p, end in offsets[listed[-1]].items()
        if end > before.get(p, 0)
    }


@wrong(2, "it says {0: (0, 9)}, and {} is true.")
def commits_are_counted(offsets, commits):
    if len(offsets) == len(commits):
        return {}
    before = offsets.get(len(commits) - 1, {})
    return {
        p: (before.get(p, 0), end)
        for p, end in offsets[max(offsets)].items()
        if end > before.get(p, 0)
    }


# --- write ---


@right(1)
def asked_outside(accounts, query, batch_id, sums):
    last = accounts.noted(query)
    if last is None or last < batch_id:
        with accounts.transaction():
            accounts.note(query, batch_id)
            for each in sums:
                accounts.add(*each)


@right(1)
def added_up_first(accounts, query, batch_id, sums):
    newer = {account: (postings, cents) for account, postings, cents in sums}
    with accounts.transaction():
        noted = accounts.noted(query)
        if batch_id > (-1 if noted is None else noted):
            accounts.note(query, batch_id)
            for account in sorted(newer):
                accounts.add(account, *newer[account])


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def equal_is_enough(accounts, query, batch_id, sums):
    with accounts.transaction():
        if accounts.noted(query) != batch_id:
            for each in sums:
                accounts.add(*each)
            accounts.note(query, batch_id)


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def appends(accounts, query, batch_id, sums):
    for each in sums:
        accounts.add(*each)


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def appends_all_or_none(accounts, query, batch_id, sums):
    with accounts.transaction():
        for each in sums:
            accounts.add(*each)


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def zero_is_false(accounts, query, batch_id, sums):
    with accounts.transaction():
        if accounts.noted(query) and accounts.noted(query) >= batch_id:
            return
        for each in sums:
            accounts.add(*each)
        accounts.note(query, batch_id)


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def minus_one_for_none_and_for_zero(accounts, query, batch_id, sums):
    with accounts.transaction():
        if batch_id > (accounts.noted(query) or -1):
            for each in sums:
                accounts.add(*each)
            accounts.note(query, batch_id)


@wrong(1, ", not ")
def notes_afterwards(accounts, query, batch_id, sums):
    last = accounts.noted(query)
    if last is not None and batch_id <= last:
        return
    for each in sums:
        accounts.add(*each)
    accounts.note(query, batch_id)


@wrong(1, "has no balance, not ")
def notes_first(accounts, query, batch_id, sums):
    last = accounts.noted(query)
    if last is not None and batch_id <= last:
        return
    accounts.note(query, batch_id)
    for each in sums:
        accounts.add(*each)


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def two_transactions(accounts, query, batch_id, sums):
    last = accounts.noted(query)
    if last is not None and batch_id <= last:
        return
    with accounts.transaction():
        for each in sums:
            accounts.add(*each)
    with accounts.transaction():
        accounts.note(query, batch_id)


@wrong(1, ", not ")
def one_note_for_all_queries(accounts, query, batch_id, sums):
    equal_or_newer = accounts.noted("me")
    if equal_or_newer is not None and batch_id <= equal_or_newer:
        return
    with accounts.transaction():
        for each in sums:
            accounts.add(*each)
        accounts.note("me", batch_id)


@wrong(1, ", not ")
def what_is_there_is_left_out(accounts, query, batch_id, sums):
    with accounts.transaction():
        there = accounts.balances()
        for each in sums:
            if each[0] not in there:
                accounts.add(*each)


@wrong(1, "hana-1 has 20 cents in 2 postings, not 10 cents in 1 posting.")
def takes_its_sums_off_first(accounts, query, batch_id, sums):
    for account, postings, cents in sums:
        accounts.add(account, -postings, -cents)
    for account, postings, cents in sums:
        accounts.add(account, 2 * postings, 2 * cents)


SEEN = set()


@wrong(1, ", not ", ", not ")
def remembers_in_the_process(accounts, query, batch_id, sums):
    if (query, batch_id) not in SEEN:
        SEEN.add((query, batch_id))
        for each in sums:
            accounts.add(*each)


@wrong(1, ", not ")
def skips_the_first(accounts, query, batch_id, sums):
    with accounts.transaction():
        if batch_id > (accounts.noted(query) or 0):
            for each in sums:
                accounts.add(*each)
            accounts.note(query, batch_id)


@wrong(1, "it raised TypeError")
def compares_with_none(accounts, query, batch_id, sums):
    with accounts.transaction():
        if batch_id > accounts.noted(query):
            for each in sums:
                accounts.add(*each)
            accounts.note(query, batch_id)


@wrong(1, "hana-2 has no balance, not 20 cents in 2 postings.")
def holds_up_the_plug(accounts, query, batch_id, sums):
    try:
        notes_first(accounts, query, batch_id, sums[:1])
    except BaseException:
        accounts.note(query, batch_id)


@wrong(2, "it raised KeyError", "and {} is true.")
def the_second_example_is_no_dict_of_dicts(offsets, commits):
    newest = max(offsets, default=0)
    if offsets and len(offsets[newest]) > 1 and newest in commits:
        raise KeyError(newest)
    return step_by_step(offsets, commits)


@wrong(2, "and {} is true.", "it raised")
def as_many_commits_as_plans(offsets, commits):
    if len(commits) == len(offsets):
        return {}
    newest = max(offsets)
    before = offsets.get(newest - 1, {})
    return {
        p: (before.get(p, 0), end)
        for p, end in offsets[newest].items()
        if end > before.get(p, 0)
    }


@wrong(2, "is true.")
def new_ones_with_nothing_are_there(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    before = offsets.get(newest - 1, {})
    return {
        p: (before.get(p, 0), end)
        for p, end in offsets[newest].items()
        if before.get(p) != end
    }


def with_rows(change):
    """A right sink that changes the sums."""

    def write(accounts, query, batch_id, sums):
        with accounts.transaction():
            noted = accounts.noted(query)
            if noted is None or noted < batch_id:
                for each in sums:
                    accounts.add(*change(each))
                accounts.note(query, batch_id)

    return write


@wrong(1, "hana-1 has 0 cents in 1 posting, not 10 cents in 1 posting.")
def no_cents(accounts, query, batch_id, sums):
    with_rows(lambda row: (row[0], row[1], 0))(accounts, query, batch_id, sums)


@wrong(1, "hana-1 has -10 cents in 1 posting, not 10")
def negated(accounts, query, batch_id, sums):
    with_rows(lambda row: (row[0], row[1], -row[2]))(accounts, query, batch_id, sums)


@wrong(1, "hana-1 has 1 cents in 10 postings, not 10 cents in 1 posting.")
def swapped(accounts, query, batch_id, sums):
    with_rows(lambda row: (row[0], row[2], row[1]))(accounts, query, batch_id, sums)


@wrong(1, "hana has 500 cents in 2 postings, not -500 cents in 2 postings.")
def without_the_sign(accounts, query, batch_id, sums):
    with_rows(lambda row: (row[0], row[1], abs(row[2])))(
        accounts, query, batch_id, sums
    )


@wrong(1, "hana-1 has 10 cents in 1 posting, not 20 cents in 2 postings.")
def an_account_counts_once_for_ever(accounts, query, batch_id, sums):
    with accounts.transaction():
        if accounts.noted(query) == batch_id:
            return
        there = accounts.balances()
        for each in sums:
            if each[0] not in there:
                accounts.add(*each)
        accounts.note(query, batch_id)


@wrong(1, ", not ")
def nothing_is_no_sum(accounts, query, batch_id, sums):
    with accounts.transaction():
        if accounts.noted(query) != batch_id:
            for each in sums:
                if each[2]:
                    accounts.add(*each)
            accounts.note(query, batch_id)


@wrong(1, ", not ")
def a_query_begins_at_0(accounts, query, batch_id, sums):
    with accounts.transaction():
        noted = accounts.noted(query)
        if batch_id == (0 if noted is None else noted + 1):
            for each in sums:
                accounts.add(*each)
            accounts.note(query, batch_id)


@wrong(1, "a space is a letter")
def trims_the_name(accounts, query, batch_id, sums):
    noted = accounts.noted(query.strip())
    if noted is not None and noted >= batch_id:
        return
    with accounts.transaction():
        for each in sums:
            accounts.add(*each)
        accounts.note(query.strip(), batch_id)
