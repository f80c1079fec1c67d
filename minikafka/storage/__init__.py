"""One partition on disk, with Apache Kafka's file names and formats: its tools can read
our files, and we can read the files it wrote.

Begin with log.py. A log is made of segments (segment.py), each with its indexes
(index.py), in files whose names say at which offset it begins (file_names.py). When the
newest segment is full it is rolled (rolling.py). A log also remembers its producers
(producer_state.py) and its leaders' epochs (epochs.py). Old segments are deleted
(retention.py); the segments of a compacted topic are rewritten (compaction.py) when
enough of them is dirty (cleaner.py). Batches are checked before they are appended and
when they are read again (checks.py); a log that is already on disk at a start is
checked and repaired (recovery.py). A data folder holds many logs (data_folder.py) and a
few text files (checkpoints.py); config.py has the topic configs that concern a log.

This room knows nothing of replication and consumers. It reads no clock and opens no
file: it is given the time, and a disk (disk.py is the interface).
"""
