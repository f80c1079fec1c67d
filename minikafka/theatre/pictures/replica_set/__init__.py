"""The replica set: a partition's copies, who leads, and what producers were told.

story.py hears the events (actors.py: replicas; promises.py: answers to producers;
names.py: of records; close.py: the result). play.py sets the stage, told.py draws the
answers above the logs.
"""
