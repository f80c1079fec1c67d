"""The rebalance: who assigns, who reads, and what nobody reads. The largest picture.

story.py hears events and moves the group on; play.py draws:

    coordinator.py        above: the coordinator as a bar, with what nobody reads
    members.py            the members under it, as cards or as lines
    timeline.py           below: the axis of time with lanes and rows, what colours mean
    lanes.py              the group's phases, and for each partition its reader
    rows.py               waits, silences, and what was written outside Kafka
    close.py              the moment of two owners, from close by
    two_runs.py           two rebalances, one below the other

The story's parts: cast (members and partitions), group, member, spans and lengths are
the state; coordinator_events, member_events, record_events and effect_events are told,
each by a teller; event_words and group_words are the sentences; snapshot is one moment
for the play.
"""
