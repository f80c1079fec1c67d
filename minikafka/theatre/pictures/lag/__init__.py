"""Lag over time: two lines, the gap between them, and the readers.

story.py hears the events (followed.py: each partition as its group sees it; spells.py:
stretches of time; ends.py: the last sentence). play.py sets the stage (chart.py: the
lines above; partition.py and pile.py: a partition's lane; scales.py: the levers of a
live run; sums.py: numbers for these; words.py: their words).
"""
