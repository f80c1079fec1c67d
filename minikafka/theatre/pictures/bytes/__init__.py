"""Bytes beside their fields: what a frame is in hexadecimal, and what a reader makes of it.

story.py says which bytes belong to which field; play.py draws both.
"""
