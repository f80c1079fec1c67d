"""What the claims share that are run on minikafka and on Apache Kafka, beside the
fixtures of conftest.py.
"""

import time

PATIENCE_SECONDS = 240


def take(consumer, count):
    """The next so many records; fewer when no more come."""
    records, deadline = [], time.monotonic() + PATIENCE_SECONDS
    while len(records) < count and time.monotonic() < deadline:
        for some in consumer.poll(
            timeout_ms=5000, max_records=count - len(records)
        ).values():
            records += some
    return records
