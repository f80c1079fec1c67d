"""The pictures: for each a story, which folds a trace into scenes, and a play, which
draws them.

A story's file ends in `_story`; the play has the picture's name, and the names of all
other files for the two begin with it, too (pipeline_wire.py). The rebalance is the
largest picture: its actors (rebalance_cast.py), the current state of the group and its
members, the events that tell about them (of the coordinator, the members, the records),
and the drawing: the space above with its cards, the time below. The replica set and the
controller quorum have a common part (log_copies.py). Parts that more pictures share
belong to the engine (minikafka/theatre): rows of records, lanes of time, cards of
brokers, shapes.
"""
