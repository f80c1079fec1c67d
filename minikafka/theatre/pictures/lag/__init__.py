"""Lag over time: written and committed records, and the readers in between.

story.py hears the events (followed.py: of each partition; sums.py: of all; spells.py:
stretches of time; words.py, ends.py: how it is put), and play.py sets the stage
(run.py: what all of it shares; chart.py: all partitions; partition.py: each of them;
pile.py: the lag as things; scales.py: the levers).
"""
