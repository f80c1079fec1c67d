"""Lesson 15, queue or log: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson


# %% exercise 1
def my_share_partition(first, end, steps, lock_s, most):
    """What may be handed out after these steps: (offset, delivery count)."""
    free = set(range(first, end))
    held = {}  # offset -> (who has it, when its lock expires)
    deliveries = dict.fromkeys(free, 0)
    now = 0

    def comes_back(offset):
        del held[offset]
        if deliveries[offset] < most:  # else it is archived
            free.add(offset)

    for what, *given in steps:
        if what == "acquire" and free:
            offset = min(free)
            free.remove(offset)
            deliveries[offset] += 1
            held[offset] = (given[0], now + lock_s)
        elif what == "wait":
            now += given[0]
            for offset, (_, lock_ends) in list(held.items()):
                if lock_ends <= now:
                    comes_back(offset)
        elif what == "gone":
            for offset, (member, _) in list(held.items()):
                if member == given[0]:
                    comes_back(offset)
        elif what in ("accept", "release", "reject"):
            member, offset = given
            if offset not in held or held[offset][0] != member:
                continue  # only the member that has it can say something
            if what == "release":
                comes_back(offset)
            else:
                del held[offset]
    return [(offset, deliveries[offset] + 1) for offset in sorted(free)]


# %% exit ticket
lesson("15").exit_ticket(2, 1, 3, 1, 2)
