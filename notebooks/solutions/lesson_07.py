"""Lesson 07, lag and capacity: one solution an exercise. Each part replaces the stub in
the solved edition.
"""

from minikafka import lesson


# %% exercise 1
def members_needed(rate, backlog, recover_s, processing_ms, partitions):
    """The fewest members that keep up and catch up; None if a member for each partition
    isn't enough.
    """
    # in one partition, until the time is over
    orders_each = (backlog + rate * recover_s) / partitions
    orders_done = recover_s * 1000 / processing_ms  # by one member in that time
    for members in range(1, partitions + 1):
        # partitions of the member with the most: rounded up
        busiest = -(-partitions // members)
        if busiest * orders_each <= orders_done:
            return members
    return None  # more members than partitions would stand idle


# %% exercise 2
# Each partition has its own member. Fifteen minutes' orders wait, and a minute brings
# new ones: 15 * 4 / (10 - 4) = 10 minutes for the first two, 15 * 7 / (10 - 7) = 35 for
# the third. The last one counts.
minutes = 35


# %% exit ticket
lesson("07").exit_ticket(1, 2, 3, 3, 2)
