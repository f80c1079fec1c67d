"""Coordinators: state that lives in an internal topic.

The broker that leads a partition of `__consumer_offsets`, `__transaction_state` or
`__share_group_state` coordinates the groups, the transactional ids, or the share
partitions in it. The state is exactly what one gets by reading that partition from its
beginning: runtime.py appends records, waits until they are committed, applies them, and
drops everything on resignation.

All coordinators have one shape: `decide(state, request, now)` returns records and a
response and changes nothing; `apply(state, record)` changes the state, live as in
replay. classic_group.py and consumer_group.py (KIP-848) are the two group protocols,
offsets.py has the committed offsets, transactions.py the transactions. assignors.py is
pure, and clients use it, too.

A state has a hard part, which is in records, and a soft part, which a new coordinator
does without: which members are alive, and who waits for whom. For a classic group the
hard part is in classic_agreement.py, the soft part in classic_timers.py and
classic_rebalance.py, the data types of both in classic_state.py, and the members'
requests in classic_group.py. For a consumer group, consumer_group_state.py holds
everything that is in records, consumer_member.py one member, reconciliation.py a
member's next step, subscriptions.py the topics it reads, server_assignors.py the
target. transaction_states.py holds a transactional id.

Streams groups (KIP-1071) and share groups (KIP-932) are built like consumer groups:
streams_group.py and share_group.py decide, streams_group_state.py and
share_group_state.py hold the state that is in records. A share group's other half is
the state of its messages: leaders of partitions send requests through
share_persister.py, share_coordinator.py receives them, and share_states.py keeps the
state; share_limits.py says how much may be in flight. modern_group.py,
modern_group_state.py and modern_member.py have what the three do in the same way
(epochs, targets, records), group_rules.py has their rules and how a request is refused,
and member_timers.py says how long they wait for a member.

coordinator.py has the partitions that a node coordinates, and is what handlers call;
transaction_requests.py has the requests that nodes send each other about transactions.

Only cluster and the rooms below it may be imported here, and nothing about connections:
a request arrives as a decoded message, and its answer leaves through a `Wait`.
"""
