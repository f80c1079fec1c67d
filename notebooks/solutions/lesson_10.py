"""Lesson 10, failover: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson


# %% exercise 1
def my_keep(log, end_of):
    """How many records of its log a replica keeps. end_of asks the leader."""
    keep = len(log)
    while keep:
        asked, _ = log[keep - 1]
        epoch, end = end_of(asked)
        # What stays is before the leader's end of that epoch, and of no larger epoch.
        mine = [each for each, _ in log[:end] if each <= epoch]
        keep = min(keep, len(mine))
        if epoch == asked:
            break
    return keep


# %% exercise 2
def my_restart(brokers, controller):
    """One broker at a time, the active controller last."""
    plan = []
    for broker in sorted(brokers, key=lambda each: each == controller):
        plan += [("stop", broker), ("start", broker), ("in sync",)]
    return plan


# %% exit ticket
lesson("10").exit_ticket(2, 1, 2, 2, 2)
