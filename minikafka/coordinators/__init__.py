"""Coordinators: state that lives in an internal topic.

Whoever leads a partition of `__consumer_offsets` or `__transaction_state` answers for
the groups and transactional ids in it. The state is nothing but that partition, read
from its beginning: runtime.py appends records, waits until they are committed, applies
them, and drops everything on resignation.

All coordinators have one shape: `decide(state, request, now)` returns records and a
response and changes nothing; `apply(state, record)` changes the state, live as in
replay. classic_group.py and consumer_group.py (KIP-848) are the two group protocols,
offsets.py what groups commit, transactions.py who ends which transaction.
assignors.py is pure, and clients use it, too.
"""
