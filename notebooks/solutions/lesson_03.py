"""Lesson 03, producers: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson
from minikafka.faults import Cut, Lose


# %% exercise 1
def plan(goal):
    """The faults that reach a goal, one each."""
    if goal == "twice":  # the broker has the orders, and nobody hears of it
        return [Lose("shop", 1, "Produce", nth=2, answer=True)]
    # the broker has nothing; the last batch that is taken back is the first to leave
    # again
    if goal == "overtaken":
        return [Lose("shop", 1, "Produce", nth=2)]
    # what is on its way arrives when the cut is over, after the program was told
    if goal == "failed":
        return [Cut("shop", 1, at_ms=1000, for_ms=200_000)]
    return []


# %% exercise 2
def my_batches(records, batch_size, linger_ms):
    """When batches leave: [(leaves_at_ms, [numbers of the records])]."""
    batches = []
    numbers, size, leaves_at = [], 0, 0  # the open batch

    def leave(at_ms):
        batches.append((at_ms, list(numbers)))
        numbers.clear()

    for number, (at_ms, size_bytes) in enumerate(records):
        if numbers and leaves_at <= at_ms:  # it left while nobody sent anything
            leave(leaves_at)
        # full: this record must take the next one
        if numbers and size + size_bytes > batch_size:
            leave(at_ms)
        if not numbers:  # this record begins a batch, and the clock of that batch
            size, leaves_at = 0, at_ms + linger_ms
        numbers.append(number)
        size += size_bytes
        if size == batch_size:  # a larger record lingers
            leave(at_ms)
    if numbers:
        leave(leaves_at)
    return batches


# %% exit ticket
lesson("03").exit_ticket(2, 3, 3, 2, 2)
