"""The fork: two leaders, one log, and what is cut off when they meet again.

story.py hears the events (actors.py: brokers and producers; close.py: the result in a
few words); play.py sets the stage and draws what parts the logs, hands.py the producers
beside them.
"""
