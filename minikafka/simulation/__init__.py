"""A whole cluster in one process, on a virtual clock: the real broker and clients, a
network that obeys a seed.

The one idea: nothing here is a model of Kafka. Brokers and clients are the very ones
that run on TCP; only their surroundings are simulated. Time (clock.py) moves when
somebody waits, the network (network.py) and the disks (memory_disk.py) fail when a seed
or a plan says so, and mishaps.py is for what a learner does to them by hand. Each
broker and client is a process (processes.py) that may crash, freeze and start again.

Begin with cluster.py: notebooks use its `Cluster`. kernel.py is its loop: a caller that
must wait lets the cluster move on, one due thing at a time. Programs (programs.py) are
plain functions, each in a fibre (fibres.py, fibres_in_browser.py) that gives way at
every blocking call; their effects outlive them in a table (tables.py).

A learner's calls go through handles: producer_handle.py, consumer_handle.py,
member_handle.py and share_consumer_handle.py, with handles.py for what they have in
common; topics.py and groups.py for the cluster's topics and groups, through an admin
client (admin.py). Each argument is checked before anything happens (arguments.py,
serializers.py, partitioning.py), and a cluster prints itself as a small table
(overview.py). The calls are recorded (calls.py), so that a run can be repeated up to
any moment.

Same seed and same calls: the same trace, on every platform. So: time in integers, only
random.Random.random(), no dependence on the order of sets, no hash(). This room may
import the core and the theatre; it opens no socket and no file.
"""
