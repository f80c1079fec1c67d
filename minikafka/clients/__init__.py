"""Kafka's clients as state machines: a producer and a consumer that speak real frames
and do no I/O.

The one idea is the broker's, turned round. A client puts `Connect`, `Send` and
`Disconnect` into its outbox; a shell carries them out and hands back frames, lost
connections and the time. There is no clock here, no random source, no socket and no
thread: the simulation provides them. Names, arguments and results are kafka-python's,
defaults the Java client's 4.4.

Begin with producer.py or consumer.py. Both are built on connection.py, which does what
every client needs: versions, replies in order, timeouts, and an image of the cluster
(metadata.py). Only request_state.py decides when a request may be sent, and whether it
is tried again; coordinator.py finds and connects to a coordinator.

A record that is sent gets a partition (partitioners.py), waits in a batch
(accumulator.py), may be part of a transaction (transactions.py), and its future
(future.py) gets the result. A consumer fetches (fetching.py; items.py reads the
answers) from positions (positions.py) that a change of leader may put in doubt
(truncation.py), and commits its progress (commits.py). membership.py is its place in a
group (heartbeating.py: how it stays alive there), with a file for each protocol:
classic_membership.py, where members agree on an assignment among themselves
(assigning.py), and consumer_membership.py (KIP-848). producer_config.py and
consumer_config.py have the settings; structs.py and errors.py have the types that
programs get back.

A share consumer (share_consumer.py, KIP-932) has records rather than partitions: its
place in the group is share_membership.py, its sessions with brokers share_sessions.py,
its records and their acknowledgements share_deliveries.py, its settings
share_config.py.

This room knows the protocol (wire/) and the assignors of coordinators/, but nothing
about the inside of a broker.
"""
