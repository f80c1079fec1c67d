"""Bytes to messages and back: what travels between nodes and what lies in the log,
exactly as Apache Kafka writes it.

Start with messages.txt, the schema of every request, response and record;
internal_records.py frames those of Kafka's own logs. This room knows nothing of what
messages mean.
"""
