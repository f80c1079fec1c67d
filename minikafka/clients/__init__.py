"""Kafka's clients as state machines: a producer and a consumer that speak real frames
and do no I/O.

Names, arguments and results are kafka-python's, defaults the Java client's 4.3. A
client puts `Connect`, `Send` and `Disconnect` into its outbox; the shell carries them
and hands back frames, lost connections and the time (see connection.py). Here is no
clock, no source of randomness, no socket and no thread: the simulation brings them.
"""
