"""Many nodes, one cluster: what they must agree on, and how they do it.

There are two kinds of replicated logs, and one algorithm. The metadata log is kept by a
quorum (quorum.py; election.py elects its leader, and quorum_state.py has the state that
survives a restart); its records are folded into an image of the cluster (metadata.py)
that every node has. A topic partition is kept by its replicas (replica.py): a leader
appends, followers fetch, and the high watermark says what is committed.

The active controller decides: controller.py takes the image and a request and returns
records. leadership.py has the rules by which a partition gets its leader, placer.py
those by which it gets its replicas, registration.py those by which a broker joins.
Nothing here writes to a network or waits: others are told through small protocols, and
a request that must wait is a Wait (waiting.py).
"""
