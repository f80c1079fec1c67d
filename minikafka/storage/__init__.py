"""One partition on disk, with Apache Kafka's file names and formats, so that its tools
read our files and we read its own.

Begin with log.py. A log is made of segments (segment.py), each with its indexes
(index.py) and in files whose names say where it begins (file_names.py); when the newest
one is full it is rolled (rolling.py). A log also keeps what it knows of its producers
(producer_state.py) and of its leaders (epochs.py). Old segments are deleted
(retention.py); the segments of a compacted topic are written anew (compaction.py), when
they are worth it (cleaner.py). What is about to be appended, and what is read again, is
checked (checks.py); a log that is there at a start is checked and repaired
(recovery.py). A data folder holds many logs (data_folder.py) and a few text files
(checkpoints.py); what a topic sets of a log is in config.py.

This room knows nothing of replication and consumers. It reads no clock and opens no
file: it is handed the time, and a disk (disk.py is the interface).
"""
