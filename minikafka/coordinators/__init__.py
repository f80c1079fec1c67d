"""Coordinators: state that lives in an internal topic.

Whoever leads a partition of `__consumer_offsets`, `__transaction_state` or
`__share_group_state` answers for the groups, the transactional ids, or the share
partitions in it. The state is nothing but that partition, read from its beginning:
runtime.py appends records, waits until they are committed, applies them, and drops
everything on resignation.

All coordinators have one shape: `decide(state, request, now)` returns records and a
response and changes nothing; `apply(state, record)` changes the state, live as in
replay. classic_group.py and consumer_group.py (KIP-848) are the two group protocols,
offsets.py what groups commit, transactions.py who ends which transaction. assignors.py
is pure, and clients use it, too.

A state has a hard part, which is in records, and a soft one, which a new coordinator
does without: who is alive, who waits for whom. The hard part of a classic group is in
classic_agreement.py, the soft one in classic_timers.py and classic_rebalance.py; what
both are made of, in classic_state.py, and what members ask, in classic_group.py. Of a
consumer group, consumer_group_state.py holds all that records say, consumer_member.py
one member of it, reconciliation.py a member's next step, subscriptions.py who reads
what, server_assignors.py the target; and transaction_states.py a transactional id.

Streams groups (KIP-1071) and share groups (KIP-932) are made like consumer groups:
streams_group.py and share_group.py decide, streams_group_state.py and
share_group_state.py hold what records say. A share group's other half is what became of
its records: leaders of partitions ask through share_persister.py, share_coordinator.py
is asked, and share_states.py keeps it; share_limits.py says how much may be in flight.
What holds of all three is in group_rules.py: epochs, and whom they refuse in which
words; and until when they wait for a member, in member_timers.py.

What a node coordinates, and where handlers ask, is in coordinator.py; what nodes ask
each other for the sake of transactions, in transaction_requests.py; and what both may
touch of the node, in ports.py.

Only cluster and what is below it may come in here, and nothing of a connection: a
request comes as a decoded message, and its answer leaves through a `Wait`.
"""
