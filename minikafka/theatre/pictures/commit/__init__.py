"""The commit point: what comes next, what comes again, and what is lost.

story.py hears the events (fates.py: of the records; memory.py: what each reader has;
says.py: the sentences), and play.py sets the stage (log.py: the partition; readers.py:
the cards under it).
"""
