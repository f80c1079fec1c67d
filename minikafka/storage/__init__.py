"""One partition on disk, with Apache Kafka's file names and formats, so that its tools read our files and we read its
own.

Begin with log.py. This room knows of one log on one disk; replication and consumers are for others. It reads no clock
and makes nothing up: time is handed in, and so is the disk.
"""
