"""A Kafka broker as a state machine without I/O. Start at broker.py; handlers/ has one row an API in its table."""
