"""Lesson 15: which records a share partition may hand out next."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right

MISSING = "may be handed out, but isn't in your list."
EXTRA = "is in your list, but may not be handed out."
COUNT = "would have delivery number"


class Record:
    """One record, as an object with a state."""

    def __init__(self, offset):
        self.offset, self.state, self.count = offset, "free", 0
        self.member, self.until = None, None

    def back(self, most):
        self.state = "free" if self.count < most else "gone"


@right(1)
def with_objects(first, end, steps, lock_s, most):
    records, now = [Record(offset) for offset in range(first, end)], 0
    for step in steps:
        now += step[1] if step[0] == "wait" else 0
        for record in records:
            in_hand = record.state == "held"
            match step:
                case ("wait", _) if in_hand and record.until <= now:
                    record.back(most)
                case ("gone", member) if in_hand and record.member == member:
                    record.back(most)
                case ("acquire", member) if record.state == "free":
                    record.state, record.member = "held", member
                    record.count += 1
                    record.until = now + lock_s
                    break
                case (said, member, offset) if (
                    in_hand and record.offset == offset and record.member == member
                ):
                    if said == "release":
                        record.back(most)
                    else:
                        record.state = "gone"
    return [(each.offset, each.count + 1) for each in records if each.state == "free"]


@right(1)
def as_an_iterator_of_lists(first, end, steps, lock_s, most):
    """Lists instead of pairs, and yielded."""
    for offset, count in with_objects(first, end, steps, lock_s, most):
        yield [offset, count]


def partition(first, end, steps, lock_s, most, **how):
    """As Kafka's, with one thing of it changed."""
    free, counts, held, now = list(range(first, end)), {}, {}, 0
    locked = {}  # when a record's first lock ends

    def back(offset):
        del held[offset]
        again = counts[offset] < most + how.get("more", 0)
        if again or how.get("always"):
            free.append(offset)
            if how.get("sorts", True):
                free.sort()

    for what, *given in steps:
        if what == "acquire" and free:
            has = [member for member, _ in held.values()]
            if how.get("one each") and given[0] in has:
                continue
            offset = free.pop(0)
            counts[offset] = counts.get(offset, 0) + 1
            ends = now + lock_s
            if how.get("first lock"):
                ends = locked.setdefault(offset, ends)
            held[offset] = (given[0], ends)
        elif what == "wait":
            now = now + given[0] if not how.get("each wait alone") else given[0]
            for offset, (_, ends) in list(held.items()):
                over = ends < now if how.get("later") else ends <= now
                if over and not how.get("no locks"):
                    back(offset)
        elif what == "gone" and not how.get("nobody goes"):
            for offset, (member, _) in list(held.items()):
                if how.get("like", lambda a, b: a == b)(member, given[0]):
                    counts[offset] -= how.get("forgiven", 0)
                    back(offset)
        elif what in ("accept", "release", "reject"):
            member, offset = given
            if offset not in held:
                continue
            same = how.get("like", lambda a, b: a == b)
            if not same(held[offset][0], member) and not how.get("anybody"):
                continue
            if what in how.get("returns", ("release",)):
                back(offset)
            else:
                del held[offset]
                if how.get("all before") and what == "accept":
                    before = [each for each in held if each < offset]
                    for each in before:
                        if held[each][0] == member:
                            del held[each]
    if not how.get("sorts", True):
        free.sort()
    return [(offset, counts.get(offset, 0) + how.get("plus", 1)) for offset in free]


@right(1)
def by_the_model(first, end, steps, lock_s, most):
    return partition(first, end, steps, lock_s, most)


def another(name, *words, **how):
    def answer(first, end, steps, lock_s, most):
        return partition(first, end, steps, lock_s, most, **how)

    answer.__name__ = name
    wrong(1, *words)(answer)


for name, words, how in [
    ("what_is_released_is_gone", (MISSING,), {"returns": ()}),
    ("rejected_comes_again", (EXTRA,), {"returns": ("release", "reject")}),
    ("accepted_comes_again", (EXTRA,), {"returns": ("release", "accept")}),
    ("counts_what_was_not_what_comes", (COUNT,), {"plus": 0}),
    ("what_comes_back_goes_last", (MISSING, EXTRA, COUNT), {"sorts": False}),
    ("anybody_may_speak", (MISSING, EXTRA, COUNT), {"anybody": True}),
    ("locks_never_end", (MISSING,), {"no locks": True}),
    ("a_lock_ends_a_moment_later", (MISSING,), {"later": True}),
    ("nobody_goes", (MISSING,), {"nobody goes": True}),
    ("no_limit", (EXTRA,), {"always": True}),
    ("one_delivery_too_many", (EXTRA,), {"more": 1}),
    ("one_delivery_too_few", (MISSING,), {"more": -1}),
    ("accepts_all_before_like_a_commit", (MISSING,), {"all before": True}),
    ("a_member_has_one_record_at_a_time", (EXTRA,), {"one each": True}),
    ("the_lock_is_the_first_one", (MISSING, EXTRA, COUNT), {"first lock": True}),
    ("each_wait_begins_at_zero", (MISSING, EXTRA), {"each wait alone": True}),
    ("a_lost_connection_is_no_delivery", (COUNT,), {"forgiven": 1}),
    (
        "small_and_large_letters_are_one",
        (MISSING, EXTRA, COUNT),
        {"like": lambda a, b: a.lower() == b.lower()},
    ),
    (
        "names_that_begin_alike_are_one",
        (MISSING, EXTRA, COUNT),
        {"like": lambda a, b: a.startswith(b) or b.startswith(a)},
    ),
]:
    another(name, *words, **how)


@wrong(1, MISSING)
def from_offset_0(first, end, steps, lock_s, most):
    found = partition(0, end - first, steps, lock_s, most)
    return [(offset, count) for offset, count in found]


@wrong(1, MISSING)
def knows_only_what_was_acquired(first, end, steps, lock_s, most):
    acquired = sum(step[0] == "acquire" for step in steps)
    return partition(first, min(end, first + acquired), steps, lock_s, most)


@wrong(1, MISSING)
def only_the_next_one(first, end, steps, lock_s, most):
    return partition(first, end, steps, lock_s, most)[:1]


@wrong(1, MISSING, COUNT, EXTRA)
def the_release_is_the_last_step_only(first, end, steps, lock_s, most):
    """Forgets all that was released before something was accepted."""
    spoken = {(s[1], s[2]) for s in steps if s[0] in ("accept", "reject")}
    kept = [s for s in steps if s[0] != "release" or (s[1], s[2]) not in spoken]
    return partition(first, end, kept, lock_s, most)


@wrong(1, "each record once, in the order of the offsets")
def backwards(first, end, steps, lock_s, most):
    return partition(first, end, steps, lock_s, most)[::-1]


@wrong(1, "each record once, in the order of the offsets")
def the_first_one_twice(first, end, steps, lock_s, most):
    found = partition(first, end, steps, lock_s, most)
    return found[:1] + found


@wrong(1, "should return a list of pairs")
def a_dictionary(first, end, steps, lock_s, most):
    return dict(partition(first, end, steps, lock_s, most))


@wrong(1, "should return a list of pairs")
def offsets_alone(first, end, steps, lock_s, most):
    return [offset for offset, _ in partition(first, end, steps, lock_s, most)]


@wrong(1, "should return a list of pairs")
def forgets_to_return(first, end, steps, lock_s, most):
    partition(first, end, steps, lock_s, most)


@wrong(1, "it raised KeyError")
def everybody_has_what_he_speaks_of(first, end, steps, lock_s, most):
    held = {first + at: s[1] for at, s in enumerate(steps) if s[0] == "acquire"}
    for what, *given in steps:
        if what in ("accept", "release", "reject"):
            held[given[1]]
    return partition(first, end, steps, lock_s, most)


@wrong(1, "it changed its argument steps")
def empties_the_history(first, end, steps, lock_s, most):
    found = partition(first, end, steps, lock_s, most)
    steps.clear()
    return found


@wrong(1, EXTRA)
def with_the_end(first, end, steps, lock_s, most):
    return partition(first, end + 1, steps, lock_s, most)


@wrong(1, "it raised IndexError")
def there_is_always_one(first, end, steps, lock_s, most):
    acquired = [step for step in steps if step[0] == "acquire"]
    list(range(first, end))[len(acquired) - 1]
    return partition(first, end, steps, lock_s, most)


@wrong(1, MISSING, EXTRA, COUNT)
def who_is_gone_gets_nothing_again(first, end, steps, lock_s, most):
    gone, kept = set(), []
    for step in steps:
        if step[0] == "gone":
            gone.add(step[1])
        elif step[1] in gone:
            continue
        kept.append(step)
    return partition(first, end, kept, lock_s, most)
