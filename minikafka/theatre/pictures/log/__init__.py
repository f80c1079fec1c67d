"""The log: who wrote each record, where it is, and who has read it.

story.py hears the events (state.py: of each partition and reader; journey.py: the ways
of records), and play.py sets the stage (producers.py: who writes; partition.py: the
records, and what is lost of them; trays.py: what each reader saw).
"""
