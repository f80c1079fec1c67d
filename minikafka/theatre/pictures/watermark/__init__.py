"""Event time and watermark: windows, micro-batches, and the orders that come late.

story.py hears the events; play.py draws them.
"""
