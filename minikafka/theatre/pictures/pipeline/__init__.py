"""The producer's pipeline: batches, requests, the log, and the answers.

story.py hears the events (records.py: what was sent and what was told; batches.py: who
carries it; cast.py: what is shown; says.py, ending.py, words.py: the words). play.py
sets the stage (columns.py, rows.py: where batches are; flight.py: in the buffer and in
flight; wire.py: on the wire; logs.py: what arrived).
"""
