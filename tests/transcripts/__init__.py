"""Distributed scenarios as texts to read: what is done to a cluster, and what its nodes
do then. `scenarios.py` plays them, the `.txt` files are what came of it, and
`python -m tests.transcripts.rewrite` writes these anew.
"""
