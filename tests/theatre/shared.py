"""Runs of a share group beside a consumer group, each a second of real time, for its
picture.
"""

from functools import cache

from minikafka.course.experiments.lesson_15_share_runs import side_by_side
from tests.clients_sim.share_groups import explicit, poll, send, sharing


@cache
def slow():
    return tuple(side_by_side(slow=1).trace)


@cache
def poison():
    return tuple(side_by_side(poison=3).trace)


@cache
def rejected():
    return tuple(side_by_side(poison=3, says="reject").trace)


@cache
def killed():
    return tuple(side_by_side(killed=True).trace)


@cache
def hangs():
    """For longer than a lock."""
    return tuple(side_by_side(hangs_s=5.3).trace)


@cache
def hangs_long():
    """For longer than a session of the consumer group, too."""
    return tuple(side_by_side(hangs_s=8).trace)


@cache
def alone():
    """A share group by itself: one member has five records, renews the lock of one, and
    leaves with the others.
    """
    with sharing(records=8) as cluster:
        member = explicit(cluster, client_id="worker A", max_poll_records=5)
        first, *_ = poll(member)
        cluster.run(seconds=3)
        member.acknowledge(first, "renew")
        member.commit_sync()
        cluster.run(seconds=1)
        member.close()
        return tuple(cluster.trace)


@cache
def many():
    """So many records that not all have a place, and a leader that changes."""
    with sharing(brokers=3) as cluster:
        member = explicit(cluster, client_id="worker A", max_poll_records=3)
        send(cluster, 90)
        for turn in range(25):
            for record in poll(member):
                if turn != 4:
                    member.acknowledge(record)
                else:
                    member.acknowledge(record, "release")
        cluster.crash(cluster.leader("orders", 0))
        cluster.run(seconds=15)
        for record in poll(member):
            member.acknowledge(record)
        member.commit_sync()
        return tuple(cluster.trace)


RUNS = (slow, poison, rejected, killed, hangs, hangs_long, alone, many)
