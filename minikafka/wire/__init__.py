"""Bytes to messages and back: what travels between nodes and what is stored in the log,
exactly as Apache Kafka writes it.

The one idea: versions end here. An API has up to twenty of them. For each field,
messages.txt says in which versions it exists, what it reads as where it doesn't, and
whether leaving it out loses anything. The functions that read and write a message are
compiled from that text (schema_text.py, schema.py, and a codec for each type in
primitives.py), so code above this room sees one message with all fields, whatever
version a client speaks.

Record batches are the other half (records.py): a header that every broker reads, and
records that it seldom has to read (unpacking.py, compression.py). They are the same
bytes on the wire and on disk, and pass through without being copied.

Start with messages.txt and with messages.py, which has the frames around a message;
internal_records.py frames the records of Kafka's own logs, errors.py has its error
codes. This room doesn't know what messages mean, keeps nothing between calls except
what it has compiled, and trusts no length that it reads.
"""
