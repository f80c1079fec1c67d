"""One node: a broker and a controller in one, as a state machine without I/O.

Begin with broker.py, a node's life; parts.py wires it. Bytes and the time come in;
answers and requests to others are left in an outbox, and a shell (minikafka/simulation,
minikafka/server) carries them. A request (requests.py) goes by the table of handlers/
to the function with its API's name, and from there to the replicas
(replica_manager.py), to a coordinator (coordinators/) or to the controller
(active_controller.py). What happens within the node goes through node_events.py.

Requests to other nodes go through peers.py: a node fetches as a follower
(replica_fetcher.py), asks for another ISR as a leader (isr.py), and registers and sends
heartbeats (registration.py). What a node says of itself as metrics is in metrics.py,
and what it counts for them in counters.py.

This room may import all rooms of the core except the clients, and reads no clock, opens
no file, makes no random source and knows no socket.
"""
