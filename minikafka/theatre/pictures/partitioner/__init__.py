"""The partitioner: a record's key goes in, the number of a partition comes out.

story.py hears the events (records.py: rules and records; says.py: the sentences);
play.py draws the machine (machine.py) and the keys' ways (ways.py).
"""
