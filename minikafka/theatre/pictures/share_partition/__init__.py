"""The share partition: one log, a share group, and a consumer group beside it (KIP-932).

story.py hears the events (records.py: each record's state; cast.py: members and names;
beside.py: the consumer group; says.py: the sentences). play.py draws the log (rows.py)
and who had which record when (time.py).
"""
