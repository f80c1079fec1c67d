"""A sweep: one program, killed at each of its calls.

story.py counts the runs and their faults, play.py draws them.
"""
