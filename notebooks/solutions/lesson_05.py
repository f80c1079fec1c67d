"""Lesson 05, consumer groups: one solution an exercise. Each part replaces the stub in
the solved edition.
"""

from minikafka import lesson
from minikafka.faults import Freeze


# %% exercise 1
def my_assignor(members, partitions):
    """Each topic in blocks to the members that read it, as Kafka's range does: the
    first ones get one more if needed.
    """
    shares = {name: [] for name in members}
    for topic, count in sorted(partitions.items()):
        # sorted, so that every leader gives the same answer
        readers = sorted(name for name in members if topic in members[name].topics)
        start = 0
        for position, name in enumerate(readers):
            end = start + count // len(readers) + (position < count % len(readers))
            shares[name] += [(topic, partition) for partition in range(start, end)]
            start = end
    return shares


# %% exercise 2
# A's signs of life: a commit at 24.434 s, and the next one at 26.435 s. Just before
# that one, at 26.400 s, the last is 1.966 s old. 45 s - 1.966 s are left, and a little
# for the network.
faults = [Freeze("consumer A", at_ms=26_400, for_ms=43_100)]


# %% exit ticket
lesson("05").exit_ticket(2, 3, 2, 3, 1)
