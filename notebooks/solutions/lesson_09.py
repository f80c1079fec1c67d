"""Lesson 09, replication: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson
from minikafka.faults import Crash, Freeze


# %% exercise 1
def my_leader(history, followers, min_insync_replicas, lag_time_max_ms):
    """(high watermark, ISR) after each step, as a leader sees it. The leader is broker
    1.
    """
    log_end_offset, high_watermark = 0, 0
    has = {broker: 0 for broker in followers}  # each has all before this offset
    caught_up_ms = {broker: 0 for broker in followers}
    isr = [1, *followers]
    needed = min(min_insync_replicas, 1 + len(followers))
    after = []
    for at_ms, what, *details in history:
        if what == "append":
            log_end_offset += details[0]
        elif what == "fetch":
            broker, has[broker] = details
            if has[broker] == log_end_offset:
                caught_up_ms[broker] = at_ms
            if broker not in isr and has[broker] >= high_watermark:
                isr.append(broker)
        else:  # a look
            for broker in followers:
                is_behind = has[broker] < log_end_offset
                if (
                    broker in isr
                    and is_behind
                    and at_ms - caught_up_ms[broker] > lag_time_max_ms
                ):
                    isr.remove(broker)
        if len(isr) >= needed:  # else it stands still
            agreed = min(
                [log_end_offset] + [has[broker] for broker in isr if broker != 1]
            )
            high_watermark = max(high_watermark, agreed)
        after.append((high_watermark, sorted(isr)))
    return after


# %% exercise 2
# Broker 2 leads next, because it is the second of Replicas. It must not have fetched
# what broker 1 has acknowledged.
plan = [Freeze(2, at_ms=5005, for_ms=3000), Crash(1, at_ms=5030)]

# %% exit ticket
lesson("09").exit_ticket(2, 2, 1, 1, 1)
