"""The controller quorum: terms, votes, and the metadata log.

story.py hears the events (votes.py: who voted for whom; records.py: the log's records
in words); play.py draws the controllers, ballot.py the votes.
"""
