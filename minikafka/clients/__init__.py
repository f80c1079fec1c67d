"""Kafka's clients as state machines: a producer and a consumer that speak real frames
and do no I/O.

The one idea is the broker's, turned round. A client puts `Connect`, `Send` and
`Disconnect` into its outbox; a shell carries them and hands back frames, lost
connections and the time. There is no clock here, no source of randomness, no socket and
no thread: the simulation brings them. Names, arguments and results are kafka-python's,
defaults the Java client's 4.3.

Begin with producer.py or consumer.py. Below both is connection.py, with what every
client does: versions, replies in order, time-outs, and an image of the cluster
(metadata.py). When a request may be sent, and whether it is tried again, is decided in
request_state.py alone; the way to a coordinator is in coordinator.py.

A record that is sent gets a partition (partitioners.py), waits in a batch
(accumulator.py), may be part of a transaction (transactions.py), and its future
(future.py) hears what became of it. A consumer fetches (fetching.py) from positions
(positions.py) that a change of leader may put in doubt (truncation.py), and commits how
far it has come (commits.py). Its place in a group is membership.py, with a file for
each protocol: classic_membership.py, where members agree on an assignment among
themselves (assigning.py), and consumer_membership.py (KIP-848). What a program may set
is in producer_config.py and consumer_config.py; what it is handed, in structs.py and
errors.py.

A share consumer (share_consumer.py, KIP-932) has records rather than partitions: its
place in the group is share_membership.py, its sessions with brokers share_sessions.py,
what it has and says of it share_deliveries.py, its settings share_config.py.

This room knows the protocol (wire/) and the assignors of coordinators/, and nothing of
what a broker is made of.
"""
