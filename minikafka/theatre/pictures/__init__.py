"""The pictures: for each a story, which folds a trace into scenes, and a play, which
draws them.

A story's file ends in `_story`; the play has the picture's name, and whatever else the
two need begins with it, too (pipeline_wire.py). The rebalance is the largest picture:
who is on the stage (rebalance_cast.py), the group and its members as they are now, who
tells of them (the coordinator, the members, the records), and what is drawn: the space
above with its cards, the time below. The replica set and the controller quorum are told
alike where they are alike (log_copies.py). What more pictures share belongs to the
engine (minikafka/theatre): rows of records, lanes of time, cards of brokers, shapes.
"""
