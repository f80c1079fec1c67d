"""The shell that gives a broker real sockets, real files and real time.

serve.py runs one node; connection.py turns bytes into frames and back; addresses.py finds a port and says who has it;
handshakes.py writes the plain-words lines of --verbose; embedded.py runs the server as a child process, for tests and
lessons. All protocol knowledge stays in the broker: the shell knows only that a frame has a size before it.
"""
