"""The gate: an open transaction, and all that waits behind it.

story.py hears the events (cast.py: producers and what readers were given); play.py
draws them.
"""
