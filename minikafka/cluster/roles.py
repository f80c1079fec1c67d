"""A voter's roles in the election of the quorum's leader, and the events that lead from
one role to another (KIP-595, KIP-996).

    unattached
       |  timed_out: nobody leads: ask whether it would win
    prospective
       |  would_win: a majority would vote for it: stand in the next epoch
    candidate
       |  won: a majority voted for it
    leader
       |  resigned: it stops, or a majority no longer fetches from it
    unattached

    from each of them:
       |  leader_heard: somebody leads this epoch, or a later one
    follower
       |  leader_lost: it has resigned, or nothing is heard from it
    unattached

    from each of them:
       |  later_epoch: its role belonged to an older epoch
    unattached

The code runs the table, and the diagram is drawn from it (a test compares them). Four
more transitions aren't drawn: a voter that hears nothing for long asks again, whatever
its role; one that has given its vote away waits for the result; one that knows no leader
when it starts waits; and a sole voter leads at once.
"""

from minikafka.cluster.states import table

UNATTACHED, FOLLOWER, LEADER = "unattached", "follower", "leader"
PROSPECTIVE, CANDIDATE = "prospective", "candidate"
TIMED_OUT, WOULD_WIN, WON = "timed_out", "would_win", "won"
RESIGNED, LEADER_HEARD, LEADER_LOST = "resigned", "leader_heard", "leader_lost"
LATER_EPOCH, GAVE_VOTE, ALONE = "later_epoch", "gave_vote", "alone"

TRANSITIONS = table("""
    unattached   timed_out     prospective  nobody leads: ask whether it would win
    prospective  would_win     candidate    a majority would vote for it: stand in the next epoch
    candidate    won           leader       a majority voted for it
    leader       resigned      unattached   it stops, or a majority no longer fetches from it
    follower     leader_lost   unattached   it has resigned, or nothing is heard from it
    follower     timed_out     prospective  the leader is silent: ask whether it would win
    prospective  timed_out     prospective  too few answered: ask again
    candidate    timed_out     prospective  too few voted: ask again whether it would win
    unattached   gave_vote     unattached   wait for the result
    prospective  gave_vote     unattached   another voter stands: wait for the result
    unattached   leader_lost   unattached   it knows no leader, and waits
    unattached   alone         leader       a sole voter needs nobody
    any          leader_heard  follower     somebody leads this epoch, or a later one
    any          later_epoch   unattached   its role belonged to an older epoch
""")
