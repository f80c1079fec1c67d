"""The transaction timeline: requests, markers, and what two readers are given.

story.py hears the events (cast.py: what is shown; log.py: a partition; says.py and
ending.py: the words). play.py draws the partitions (rows.py, which the gate's picture
uses, too) and the lanes (time.py).
"""
