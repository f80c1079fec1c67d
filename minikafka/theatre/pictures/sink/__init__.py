"""Sinks: the fate of records outside Kafka.

story.py hears the events (cast.py: readers, and what is in their hands and sinks;
ending.py: the result). play.py draws one moment (stage.py) and the lanes (time.py).
"""
