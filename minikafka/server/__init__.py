"""The shell that gives a broker real sockets, real files and real time.

command.py is `minikafka serve`: it runs the brokers in this process (serve.py), or a
process for each broker (processes.py), with settings of its own (defaults.py);
checks.py checks options and folders first; shell.py runs one node, peers.py its
connections to other nodes, and node_handshake.py lets only nodes in where they listen
to each other; connection.py is one client's connection, which gives whole requests to
the node's turn (broker/turn.py) and sends the answers; frames.py cuts frames out of the
bytes that arrive; folder_disk.py holds files; budget.py bounds the memory of all
connections, open_files.py their number; metrics.py tells Prometheus what
broker/metrics.py reads from the node; addresses.py finds a port and names the program
that has it; log.py writes for the person who runs the server, and handshakes.py adds
the plain lines of --verbose; embedded.py runs the server as a child process, for tests
and lessons; typed.py reads the values of options. All protocol knowledge stays in the
broker: the shell knows only that a frame has its size in front.
"""
