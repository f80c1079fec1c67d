"""The producer's pipeline: batches, requests, the log, and the answers.

story.py hears the events (records.py: what was sent and what was told; batches.py,
flight.py: who carries it; cast.py: what is shown; says.py, ending.py: the words).
play.py sets the stage (rows.py: batches in the buffer and in flight; wire.py: on the
wire; logs.py: what arrived, and what the program is told).
"""
