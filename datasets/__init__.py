"""Data sets for the lessons: made by a seed, never fetched. README.md is the data
sheet.

A data set is a module: generate(count, seed) yields its events, STREAMS names them,
COUNTED says what count counts.
"""

NAMES = ("customers_cdc", "metrics", "orders", "transfers", "user_events")
