"""Micro-batches: what a Spark query plans, does, and notes as done.

story.py hears the events; play.py draws each batch on the axis of the topic's records.
"""
