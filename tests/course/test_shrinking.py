"""A scenario that breaks an answer becomes as small as the check could have made it."""

import random

import pytest

from minikafka.course.judging.checks import Exercise, Rung, examine
from minikafka.course.judging.shrinking import Noted, smallest
from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def shrunk(scenario, breaks, seed=1):
    """The smallest scenario that breaks, and how many were tried."""
    source = random.Random(seed)
    while True:
        noted = Noted(source)
        case = scenario(noted)
        if breaks(case):
            break
    found, tried = [case], []

    def again(case):
        tried.append(case)
        if breaks(case):
            found.append(case)
        return breaks(case)

    smallest(scenario, noted.taken, again)
    return found[-1], tried


def numbers(source):
    return [source.randint(0, 1000) for _ in range(source.randint(1, 40))]


@pytest.mark.parametrize(
    ("breaks", "least"),
    [
        (lambda case: max(case) > 99, [100]),
        (lambda case: len(case) > 6, [0] * 7),
        (lambda case: sum(each > 500 for each in case) > 1, [501, 501]),
        (lambda case: True, [0]),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_lists_become_short_and_their_numbers_small(breaks, least, seed):
    assert shrunk(numbers, breaks, seed)[0] == least


def test_all_that_a_source_gives_becomes_smaller():
    def scenario(source):
        word = source.choice(["a", "shop", "warehouse"])
        some = source.sample(range(100), source.randint(1, 9))
        content = source.randbytes(source.randint(0, 80))
        return word, some, content, source.random() < 0.5, source.uniform(0, 9)

    def breaks(case):
        return len(case[1]) > 1 and len(case[2]) > 40

    found, _ = shrunk(scenario, breaks)
    assert found[0] == "a" and found[1] == [0, 1] and found[2] == bytes(41)


def test_what_is_tried_is_smaller_and_is_tried_once():
    found, tried = shrunk(numbers, lambda case: case.count(7) > 0)
    assert found == [7]
    assert len({repr(case) for case in tried}) == len(tried)


def test_a_scenario_that_draws_until_a_number_fits_comes_to_its_end():
    def scenario(source):
        while (found := source.randrange(1000)) < 900:
            pass
        return found

    assert shrunk(scenario, lambda case: True)[0] == 900


def test_a_noted_source_gives_what_the_source_itself_gives():
    def drawn(source):
        return (
            source.random(),
            source.randint(3, 900),
            source.sample(range(50), 7),
            source.choice("abc"),
            source.randbytes(5),
            source.uniform(2, 3),
            source.choices("abc", k=4),
            source.getrandbits(70),
        )

    assert drawn(Noted(random.Random(3))) == drawn(random.Random(3))


def test_a_check_shows_the_smallest_of_its_scenarios_without_being_told_how():
    def broken(answer, case):
        return None if answer(case) == sorted(case) else "not sorted."

    rung = Rung("sorted", broken, cases={}, scenario=numbers)
    exercise = Exercise("order", "yes.", ("", "", ""), (rung,))
    assert examine(exercise, lambda case: case, seed="1").case == [1, 0]
    found = examine(exercise, lambda case: sorted(set(case)), seed="1")
    assert found.case == [0, 0]


def test_an_answer_is_asked_no_more_often_than_the_rung_has_scenarios():
    asked = []

    def broken(answer, case):
        asked.append(case)
        return None if answer(case) else "no."

    rung = Rung("less", broken, cases={}, scenario=numbers, scenarios=10)
    exercise = Exercise("less", "yes.", ("", "", ""), (rung,))
    assert not examine(exercise, lambda case: sum(case) < 300, seed="1").right
    assert len(asked) <= 20


def only_old_tombstones(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    """Looks at the whole log, also at the active segment."""
    records = [record for segment in segments for record in segment]
    last = {record.key: record.offset for record in records}
    return [record for record in records if last[record.key] == record.offset]


def test_a_case_of_the_cleaner_has_two_records_and_small_numbers():
    """Lesson 08: a log of millions of milliseconds is hard to read."""
    found = verdict("08", 1, only_old_tombstones)
    segments, now_ms, lag_ms, retention_ms = found.case
    assert [len(segment) for segment in segments] == [1, 1]
    assert [record.offset for segment in segments for record in segment] == [0, 1]
    assert max(now_ms, lag_ms, retention_ms) <= 1000


def out_when_it_is_behind(history, followers, min_insync_replicas, lag_time_max_ms):
    end, ends, isr, found = 0, dict.fromkeys(followers, 0), {1, *followers}, []
    for _, what, *more in history:
        if what == "append":
            end += more[0]
        elif what == "fetch":
            ends[more[0]] = more[1]
        else:
            isr -= {each for each in followers if ends[each] < end}
        high = min([end, *(ends[each] for each in isr - {1})])
        high = max(high, found[-1][0] if found else 0)
        found.append((high, sorted(isr)))
    return found


def test_a_history_of_the_isr_has_the_two_steps_that_it_takes():
    """Lesson 09: a record comes, and a look comes too early."""
    history, followers, *_ = verdict("09", 1, out_when_it_is_behind).case
    assert [step[1] for step in history] == ["append", "look"]
    assert history[0][2] == 1 and len(followers) == 1
