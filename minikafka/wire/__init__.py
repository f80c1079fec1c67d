"""Bytes to messages and back: what travels between nodes and what lies in the log, exactly as Apache Kafka writes it.

Start with messages.py, the schema of every request, response and record. This room knows nothing of what messages mean.
"""
