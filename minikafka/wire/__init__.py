"""Bytes to messages and back: what travels between nodes and what lies in the log,
exactly as Apache Kafka writes it.

The one idea: versions end here. An API has up to twenty of them, and messages.txt says
of each field in which it exists, what it reads as where it doesn't, and whether leaving
it out loses anything. From that text the functions that read and write a message are
compiled (text.py, schema.py, and a codec for each type in primitives.py), so that code
above this room sees one message with all fields, whatever a client speaks.

Record batches are the other half (records.py): a header that every broker reads, and
records that it seldom has to (unpacking.py, compression.py). They are the same bytes on
the wire and on disk, and pass through without being copied.

Start with messages.txt and messages.py, which has the frames around a message;
internal_records.py frames the records of Kafka's own logs, errors.py has its error
codes. This room knows nothing of what messages mean, remembers nothing from one call to
the next but what it has compiled, and believes no length that it reads.
"""
