"""The controller quorum: terms, votes, and the metadata log.

story.py hears the events (votes.py: who voted for whom; records.py: the log's records
in words); play.py sets the stage with the log's copies, ballot.py draws the voters' cards
with their votes.
"""
