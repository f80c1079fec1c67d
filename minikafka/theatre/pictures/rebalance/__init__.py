"""The rebalance: who assigns, who reads, and what nobody reads. The largest picture.

story.py hears events and moves the group on; play.py draws:

    coordinator.py        above: the coordinator as a bar, with what nobody reads
    members.py            the members under it, as cards or as lines
    draw_timeline.py      below: the axis of time, with its lanes, and the rows under them
    draw_lanes.py         the group's phases, and for each partition the member that reads it
    draw_lengths.py       under the lanes: waits, silences, rows that were written outside Kafka
    draw_two_owners.py    the moment of two owners, from close by
    two_runs.py           two rebalances, one below the other

The story's parts: cast (members and partitions), group, member, spans and lengths are
the state; coordinator_events, member_events, record_events and effect_events are told,
each by a teller; event_words and group_words are the sentences; snapshot is one moment
for the play.
"""
