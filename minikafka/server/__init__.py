"""The shell that gives a broker real sockets, real files and real time.

serve.py is the command, checks.py what it looks at first, processes.py the one that
runs a process for each broker; shell.py runs one node, peers.py its connections to
others, and door.py lets in only nodes where they listen to each other; connection.py is
one client's, and frames.py cuts frames out of what arrives; folder_disk.py holds files;
budget.py bounds the memory of all connections, open_files.py their number; addresses.py
finds a port and says who has it; log.py speaks to whoever looks after the server, with
the plain-words lines of --verbose from handshakes.py; embedded.py runs the server as a
child process, for tests and lessons; typed.py reads what stands behind options. All
protocol knowledge stays in the broker: the shell knows only that a frame has a size
before it.
"""
