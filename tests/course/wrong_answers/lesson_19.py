"""Lesson 19: what a query does again, and a sink that may be killed."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


# --- again ---


@right(1)
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


@right(1)
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


@wrong(1, "it says {0: (0, 5)}, and {} is true.")
def whatever_was_planned_last(offsets, commits):
    return step_by_step(offsets, set())


@wrong(1, "it raised ValueError")
def there_is_always_a_plan(offsets, commits):
    newest = max(offsets)
    return {} if newest in commits else step_by_step(offsets, commits)


@wrong(1, "it says {0: (0, 9)}, and {0: (5, 9)} is true.")
def from_the_beginning(offsets, commits):
    newest = max(offsets, default=0)
    return (
        {}
        if newest in commits or not offsets
        else {p: (0, end) for p, end in offsets[newest].items()}
    )


@wrong(1, "it says {0: (5, 8)}, and {0: (5, 9)} is true.")
def the_end_is_the_last_offset(offsets, commits):
    return {
        p: (start, end - 1)
        for p, (start, end) in step_by_step(offsets, commits).items()
    }


@wrong(1, "it says {0: (6, 9)}, and {0: (5, 9)} is true.")
def after_the_last_one(offsets, commits):
    return {
        p: (start + 1, end)
        for p, (start, end) in step_by_step(offsets, commits).items()
    }


@wrong(1, "it returned 4, and should return a dict")
def how_many(offsets, commits):
    found = step_by_step(offsets, commits)
    return sum(end - start for start, end in found.values()) if found else {}


@wrong(1, "and should have a pair for each partition: (from, to).")
def only_the_ends(offsets, commits):
    return {p: end for p, (_, end) in step_by_step(offsets, commits).items()}


@wrong(1, "it raised KeyError")
def the_first_one_has_a_plan_before_it(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    return {p: (offsets[newest - 1][p], end) for p, end in offsets[newest].items()}


@wrong(1, "it raised KeyError: 1")
def partitions_never_change(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    before = offsets.get(newest - 1, dict.fromkeys(offsets[newest], 0))
    return {
        p: (before[p], end) for p, end in offsets[newest].items() if before[p] < end
    }


@wrong(1, "it says {1: (20, 20)}, and {} is true.")
def nothing_is_a_range(offsets, commits):
    newest = max(offsets, default=0)
    if not offsets or newest in commits:
        return {}
    before = offsets.get(newest - 1, {})
    return {p: (before.get(p, 0), end) for p, end in offsets[newest].items()}


@wrong(1, "and {0: (80, 88)} is true.")
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


@wrong(1, "it says {0: (0, 9)}, and {} is true.")
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


@right(2)
def asked_outside(bank, query, batch_id, postings):
    last = bank.noted(query)
    if last is None or last < batch_id:
        with bank.transaction():
            bank.note(query, batch_id)
            for posting in postings:
                bank.add(*posting)


@right(2)
def equal_is_enough(bank, query, batch_id, postings):
    with bank.transaction():
        if bank.noted(query) != batch_id:
            for posting in postings:
                bank.add(*posting)
            bank.note(query, batch_id)


@wrong(2, "t-1-1 is there once too often.")
def appends(bank, query, batch_id, postings):
    for posting in postings:
        bank.add(*posting)


@wrong(2, "t-1-1 is there once too often.")
def appends_all_or_none(bank, query, batch_id, postings):
    with bank.transaction():
        for posting in postings:
            bank.add(*posting)


@wrong(2, "t-1-1 is there once too often.")
def zero_is_false(bank, query, batch_id, postings):
    with bank.transaction():
        if bank.noted(query) and bank.noted(query) >= batch_id:
            return
        for posting in postings:
            bank.add(*posting)
        bank.note(query, batch_id)


@wrong(2, "t-1-1 is there once too often.")
def minus_one_for_none_and_for_zero(bank, query, batch_id, postings):
    with bank.transaction():
        if batch_id > (bank.noted(query) or -1):
            for posting in postings:
                bank.add(*posting)
            bank.note(query, batch_id)


@wrong(2, "is there once too often.")
def notes_afterwards(bank, query, batch_id, postings):
    last = bank.noted(query)
    if last is not None and batch_id <= last:
        return
    for posting in postings:
        bank.add(*posting)
    bank.note(query, batch_id)


@wrong(2, "t-1-1 is not in the bank.")
def notes_first(bank, query, batch_id, postings):
    last = bank.noted(query)
    if last is not None and batch_id <= last:
        return
    bank.note(query, batch_id)
    for posting in postings:
        bank.add(*posting)


@wrong(2, "t-1-1 is there once too often.")
def two_transactions(bank, query, batch_id, postings):
    last = bank.noted(query)
    if last is not None and batch_id <= last:
        return
    with bank.transaction():
        for posting in postings:
            bank.add(*posting)
    with bank.transaction():
        bank.note(query, batch_id)


@wrong(2, "is not in the bank.")
def one_note_for_all_queries(bank, query, batch_id, postings):
    equal_or_newer = bank.noted("me")
    if equal_or_newer is not None and batch_id <= equal_or_newer:
        return
    with bank.transaction():
        for posting in postings:
            bank.add(*posting)
        bank.note("me", batch_id)


@wrong(2, "is not in the bank.")
def by_posting(bank, query, batch_id, postings):
    for posting in postings:
        bank.put(*posting)


@wrong(2, "t-1-1 is not in the bank.")
def what_is_there_is_left_out(bank, query, batch_id, postings):
    with bank.transaction():
        for posting in dict.fromkeys(postings):
            if posting[0] not in bank.ids():
                bank.add(*posting)


SEEN = set()


@wrong(2, "is not in the bank.", "is there once too often.")
def remembers_in_the_process(bank, query, batch_id, postings):
    if (query, batch_id) not in SEEN:
        SEEN.add((query, batch_id))
        for posting in postings:
            bank.add(*posting)


@wrong(2, "is not in the bank.")
def skips_the_first(bank, query, batch_id, postings):
    with bank.transaction():
        if batch_id > (bank.noted(query) or 0):
            for posting in postings:
                bank.add(*posting)
            bank.note(query, batch_id)


@wrong(2, "it raised TypeError")
def compares_with_none(bank, query, batch_id, postings):
    with bank.transaction():
        if batch_id > bank.noted(query):
            for posting in postings:
                bank.add(*posting)
            bank.note(query, batch_id)


@wrong(2, "t-1-2 is not in the bank.")
def holds_up_the_plug(bank, query, batch_id, postings):
    try:
        notes_first(bank, query, batch_id, postings[:1])
    except BaseException:
        bank.note(query, batch_id)


@wrong(1, "it raised KeyError", "and {} is true.")
def the_second_example_is_no_dict_of_dicts(offsets, commits):
    newest = max(offsets, default=0)
    if offsets and len(offsets[newest]) > 1 and newest in commits:
        raise KeyError(newest)
    return step_by_step(offsets, commits)


@wrong(1, "and {} is true.", "it raised")
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


@wrong(1, "is true.")
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
    """A right sink that changes the rows."""

    def write(bank, query, batch_id, postings):
        with bank.transaction():
            if bank.noted(query) != batch_id:
                for posting in postings:
                    bank.add(*change(posting))
                bank.note(query, batch_id)

    return write


@wrong(
    2, "the bank has ('t-1-1', 'account-1', 0), and ('t-1-1', 'account-1', 10) came."
)
def no_cents(bank, query, batch_id, postings):
    with_rows(lambda row: (row[0], row[1], 0))(bank, query, batch_id, postings)


@wrong(2, "the bank has ('t-1-1', 'account-1', -10), and")
def negated(bank, query, batch_id, postings):
    with_rows(lambda row: (row[0], row[1], -row[2]))(bank, query, batch_id, postings)


@wrong(2, "the bank has ('t-1-1', '10', 'account-1'), and", "the bank has ('t-1-1',")
def swapped(bank, query, batch_id, postings):
    with_rows(lambda row: (row[0], row[2], row[1]))(bank, query, batch_id, postings)


@wrong(2, "the bank has ('t-1-1', 'hana', 500), and ('t-1-1', 'hana', -500) came.")
def without_the_sign(bank, query, batch_id, postings):
    with_rows(lambda row: (row[0], row[1], abs(row[2])))(
        bank, query, batch_id, postings
    )


@wrong(2, "t-1-1 is not in the bank.")
def an_id_counts_once_for_ever(bank, query, batch_id, postings):
    with bank.transaction():
        if bank.noted(query) == batch_id:
            return
        there = set(bank.ids())
        for posting in postings:
            if posting[0] not in there:
                bank.add(*posting)
        bank.note(query, batch_id)


@wrong(2, "is not in the bank.")
def nothing_is_no_posting(bank, query, batch_id, postings):
    with bank.transaction():
        if bank.noted(query) != batch_id:
            for posting in postings:
                if posting[2]:
                    bank.add(*posting)
            bank.note(query, batch_id)


@wrong(2, "is not in the bank.")
def a_query_begins_at_0(bank, query, batch_id, postings):
    with bank.transaction():
        noted = bank.noted(query)
        if batch_id == (0 if noted is None else noted + 1):
            for posting in postings:
                bank.add(*posting)
            bank.note(query, batch_id)


@wrong(2, "a space is a letter")
def trims_the_name(bank, query, batch_id, postings):
    noted = bank.noted(query.strip())
    if noted is not None and noted >= batch_id:
        return
    with bank.transaction():
        for posting in postings:
            bank.add(*posting)
        bank.note(query.strip(), batch_id)
