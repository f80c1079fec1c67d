"""The log cleaner: what goes, what stays at its offset, and what a reader never hears.

story.py hears the events, and play.py sets the stage (log.py: the log, and the copy
below it; tables.py: every key's last offset as the cleaner notes it, and the values
that readers have; gauge.py: how much is dirty).
"""
