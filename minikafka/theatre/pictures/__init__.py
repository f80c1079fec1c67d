"""The pictures, a folder each: a story.py, which folds a trace into scenes, a play.py,
which draws them, and parts named by what they are.

The log's story is LogStory with the ways of records added (journey.py). The fork, the
replica set and the controller quorum have brokers with copies of a log in common
(log_copies.py, log_partition.py), and the first two draw them alike (log_rows.py).
Parts that more pictures share belong to the engine (minikafka/theatre): rows of
records, lanes of time, cards of brokers, shapes.
"""
