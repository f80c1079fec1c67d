"""The pictures: for each a story, which folds a trace into scenes, and a play, which
draws them.

A story's file ends in `_story`; the play has the picture's name. The rebalance, the
largest picture, is cut by what it shows: who is on the stage (rebalance_group.py), the
space above and the time below. What two pictures share belongs to the engine
(minikafka/theatre): rows of records, lanes of time, cards of brokers, shapes.
"""
