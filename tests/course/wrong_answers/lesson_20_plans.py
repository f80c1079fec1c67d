"""Lesson 20: what a micro-batch of a source reads."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


def lost(what):
    from minikafka.course.kafka_source import DataLoss

    raise DataLoss(what)


def planned(
    start,
    end,
    first,
    new=None,
    check=lambda begin, stop, oldest: oldest <= begin <= stop,
):
    """(topic, partition as text, from, up to), also where nothing is new; start has no
    partition that end lacks.
    """
    for topic, numbers in end.items():
        for number, stop in numbers.items():
            begin = start.get(topic, {}).get(
                number, first[topic][number] if new is None else new
            )
            if not check(begin, stop, first[topic][number]):
                lost(topic)
            yield topic, number, begin, stop


def all_there(start, end):
    if any(
        number not in end.get(topic, {}) for topic in start for number in start[topic]
    ):
        lost("a partition")


def ranges(found):
    return [
        (topic, int(number), begin, stop)
        for topic, number, begin, stop in found
        if begin < stop
    ]


@right(3)
def in_steps(start, end, first):
    all_there(start, end)
    return ranges(planned(start, end, first))


@right(3)
def as_a_table(start, end, first):
    def flat(offsets):
        return {
            (topic, int(number)): at
            for topic, numbers in offsets.items()
            for number, at in numbers.items()
        }

    begins = flat(first) | flat(start)
    stops, oldest = flat(end), flat(first)
    if not begins.keys() <= stops.keys() or any(
        not oldest[at] <= begins[at] <= stops[at] for at in stops
    ):
        lost("something")
    return tuple(
        [*at, begins[at], stops[at]]
        for at in reversed(sorted(stops))
        if begins[at] != stops[at]
    )


@wrong(3, "it returned [('orders', 0, 0, 10)], and [('orders', 0, 5, 10)] is right.")
def all_of_it_again(start, end, first):
    return ranges(
        (topic, number, first[topic][number], end[topic][number])
        for topic in end
        for number in end[topic]
    )


@wrong(3, "it returned [('orders', 0, 5, 5)], and [] is right.")
def empty_ranges(start, end, first):
    all_there(start, end)
    return [
        (topic, int(number), begin, stop)
        for topic, number, begin, stop in planned(start, end, first)
    ]


@wrong(
    3,
    "the ranges are right, and ('orders', '0', 5, 10) should be ('orders', 0, 5, 10):"
    " numbers, not",
)
def as_text(start, end, first):
    return [
        (topic, str(number), begin, stop)
        for topic, number, begin, stop in in_steps(start, end, first)
    ]


@wrong(
    3,
    "it returned [{'topic': 'orders', 'partition': 0, 'from': 5, 'up to': ..., and"
    " should return a",
)
def as_dicts(start, end, first):
    keys = ("topic", "partition", "from", "up to")
    return [dict(zip(keys, each, strict=True)) for each in in_steps(start, end, first)]


@wrong(3, "it returned [], and [('orders', 1, 0, 7)] is right.")
def new_ones_are_left_out(start, end, first):
    all_there(start, end)
    return [
        each
        for each in in_steps(start, end, first)
        if str(each[1]) in start.get(each[0], {})
    ]


@wrong(3, "it returned [('orders', 1, 0, 7)], and [('orders', 1, 4, 7)] is right.")
def new_ones_from_0(start, end, first):
    all_there(start, end)
    return ranges(
        planned(
            start, end, first, new=0, check=lambda begin, stop, oldest: begin <= stop
        )
    )


@wrong(3, "it raised KeyError: '1'")
def new_ones_are_an_error(start, end, first):
    return ranges(
        (topic, number, start[topic][number], end[topic][number])
        for topic in end
        for number in end[topic]
    )


@wrong(
    3,
    "records are gone, and it returned [('orders', 0, 5, 10)]: it should raise"
    " DataLoss.",
)
def nothing_is_ever_lost(start, end, first):
    return ranges(planned(start, end, first, check=lambda begin, stop, oldest: True))


@wrong(
    3,
    "records are gone, and it returned [('orders', 0, 8, 10)]: it should raise"
    " DataLoss.",
)
def what_is_gone_is_skipped(start, end, first):
    all_there(start, end)
    found = planned(start, end, first, check=lambda begin, stop, oldest: begin <= stop)
    return ranges(
        (topic, number, max(begin, first[topic][number]), stop)
        for topic, number, begin, stop in found
    )


@wrong(3, "records are gone, and it returned []: it should raise DataLoss.")
def shorter_is_as_well(start, end, first):
    all_there(start, end)
    return ranges(
        planned(start, end, first, check=lambda begin, stop, oldest: oldest <= begin)
    )


@wrong(3, "records are gone, and it returned []: it should raise DataLoss.")
def partitions_may_go(start, end, first):
    return ranges(planned(start, end, first))


@wrong(3, "it raised ValueError: something is gone")
def another_error(start, end, first):
    from minikafka.course.kafka_source import DataLoss

    try:
        return in_steps(start, end, first)
    except DataLoss:
        raise ValueError("something is gone") from None


@wrong(3, "it raised DataLoss: old records; nothing is gone, and [] is right.")
def any_deletion_is_a_loss(start, end, first):
    if any(oldest > 0 for numbers in first.values() for oldest in numbers.values()):
        lost("old records")
    return in_steps(start, end, first)


@wrong(3, "it returned [], and [('payments', 0, 1, 2)] is right.")
def one_topic(start, end, first):
    topic = next(iter(end))
    return [each for each in in_steps(start, end, first) if each[0] == topic]


@wrong(
    3,
    "records are gone, and it returned [('orders', 0, 4, 9)]: it should raise DataLoss.",
)
def zero_is_new(start, end, first):
    all_there(start, end)
    found = []
    for topic, numbers in end.items():
        for number, stop in numbers.items():
            oldest = first[topic][number]
            begin = start.get(topic, {}).get(number) or oldest
            if not oldest <= begin <= stop:
                lost(topic)
            found.append((topic, number, begin, stop))
    return ranges(found)


@wrong(3, "it raised KeyError: 'first'", "it raised KeyError")
def not_the_first_example(start, end, first):
    if end == {"orders": {"0": 9}} and start == {"orders": {"0": 5}}:
        raise KeyError("first")
    return in_steps(start, end, first)


@wrong(3, "it raised KeyError")
def not_the_second_example(start, end, first):
    if first == {"orders": {"0": 0, "1": 2}}:
        raise KeyError("second")
    return in_steps(start, end, first)


@wrong(3, "is right.")
def one_digit(start, end, first):
    return [
        (topic, partition % 10, begin, stop)
        for topic, partition, begin, stop in in_steps(start, end, first)
    ]


@wrong(3, "records are gone, and it returned []: it should raise DataLoss.")
def an_end_of_0_is_no_end(start, end, first):
    all_there(start, end)
    found = planned(
        start, end, first, check=lambda begin, stop, oldest: not stop or begin <= stop
    )
    return ranges(
        each
        for each in found
        if each[2] >= first[each[0]][each[1]] or lost("old records")
    )


@wrong(
    3,
    "records are gone, and it returned [('orders', 0, 5, 9)]: it should raise DataLoss.",
)
def one_lost_record_is_none(start, end, first):
    all_there(start, end)
    return ranges(
        planned(
            start,
            end,
            first,
            check=lambda begin, stop, oldest: oldest - 1 <= begin <= stop,
        )
    )


@wrong(3, "records are gone, and it returned []: it should raise DataLoss.")
def a_partition_at_0_may_go(start, end, first):
    read = {
        topic: {number: at for number, at in numbers.items() if at}
        for topic, numbers in start.items()
    }
    all_there(read, end)
    return ranges(planned(start, end, first))
