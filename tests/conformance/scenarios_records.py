"""Reading and deleting records: what is asked of both brokers (see
same_answers.py).
"""

from minikafka.wire.records import batches, decode_batch
from tests.conformance.raw import batch
from tests.conformance.same_answers import UNKNOWN_ID, changed, numbered


def filled(side):
    """Two partitions with three batches of about 1,100 bytes each, ten records in all
    in the first one.
    """
    topic = side.create_topic(partitions=2)
    for partition in (0, 1):
        for values in ((bytes(500), bytes(500)), (bytes(1100),), (bytes(150),) * 7):
            assert (
                side.client.produce(
                    topic, batch(*values), partition=partition
                ).error_code
                == 0
            )
    return topic


def fetch_reads_whole_batches(side):
    filled(side)
    for offset in (0, 1, 2, 3, 4, 9, 10):
        side.fetch(f"from {offset}", offset)
    for offset in (-1, 11, 1000):
        side.fetch(f"out of range {offset}", offset)
    for limit in (0, 1, 1000, 1200, 2400):
        side.fetch(f"partition_max_bytes {limit}", partition_max_bytes=limit)
        side.fetch(
            f"partition_max_bytes {limit} from the middle", 4, partition_max_bytes=limit
        )
        side.fetch(f"max_bytes {limit}", max_bytes=limit)
    side.fetch("read committed", isolation_level=1)
    side.fetch("read committed at the end", 10, isolation_level=1)
    side.fetch("at the end, waiting", 10, max_wait_ms=30, min_bytes=1)
    side.fetch("more than there is, waiting", 3, max_wait_ms=30, min_bytes=1 << 20)
    side.fetch(
        "min_bytes above max_bytes", max_wait_ms=30, min_bytes=1 << 20, max_bytes=1
    )
    side.fetch("a negative wait", 10, max_wait_ms=-1, min_bytes=1)
    side.fetch("an error, waiting", 50, max_wait_ms=20_000, min_bytes=1)


def fetch_shares_the_bytes_between_partitions(side):
    """KIP-74: the request has a limit, too, and partitions are in order."""
    topic = filled(side)

    def ask(what, first, second, versions=(4, 11), order=(0, 1), **limits):
        places = [
            {"partition": 0, "fetch_offset": 0, "partition_max_bytes": first},
            {"partition": 1, "fetch_offset": 0, "partition_max_bytes": second},
        ]
        asked = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, **limits}
        topics = [{"topic": topic, "partitions": [places[number] for number in order]}]
        side.ask(what, "Fetch", *versions, replica_id=-1, topics=topics, **asked)

    ask("both", 1 << 20, 1 << 20)
    ask("second first", 1 << 20, 1 << 20, order=(1, 0))
    ask("a batch and nothing", 1, 1)
    ask("nothing and nothing", 0, 0)
    ask("nothing and a batch", 0, 1 << 20)
    ask("one and a whole one", 1, 1200)
    for limit in (0, 1, 1200, 2400, 3000, 4000, 5000):
        ask(f"at most {limit}", 1 << 20, 1 << 20, max_bytes=limit)
        ask(f"at most {limit}, second first", 2000, 2000, max_bytes=limit, order=(1, 0))
    ask("the same partition twice", 1 << 20, 1 << 20, order=(0, 0))


def fetch_knows_topics_partitions_and_epochs(side):
    """KIP-320: leader epochs; KIP-516: topic ids."""
    filled(side)
    for partition in (2, -1):
        side.fetch(f"partition {partition}", partition=partition)
    side.fetch("an unknown topic", topic=side.name + ".none", versions=(4, 11))
    side.fetch("an unknown id", topic_id=UNKNOWN_ID, versions=(13,))
    side.fetch("no id", topic_id=bytes(16), versions=(13,))
    for epoch in (0, 1, 99, -1):
        side.fetch(
            f"current_leader_epoch {epoch}",
            current_leader_epoch=epoch,
            versions=(9, 11, 12, 13),
        )
    for epoch in (0, 1, -1, -7):
        side.fetch(
            f"last_fetched_epoch {epoch}",
            5,
            last_fetched_epoch=epoch,
            versions=(12, 13),
        )
        side.fetch(
            f"last_fetched_epoch {epoch} beyond the end",
            15,
            last_fetched_epoch=epoch,
            versions=(12, 13),
        )
        side.fetch(
            f"last_fetched_epoch {epoch} at the end",
            10,
            last_fetched_epoch=epoch,
            versions=(12, 13),
        )
    fetch_of_an_empty_log(side)
    fetch_of_nothing(side)


def fetch_of_an_empty_log(side):
    side.create_topic(".empty")
    side.fetch("an empty log", topic=side.name + ".empty")
    side.fetch(
        "an empty log and an epoch",
        topic=side.name + ".empty",
        last_fetched_epoch=0,
        versions=(12, 13),
    )
    side.fetch("an empty log, out of range", 1, topic=side.name + ".empty")


def fetch_of_nothing(side):
    """No topic is named; with min_bytes the broker waits all the same."""
    versions = (4, 11, 13, 18)
    asked = {"max_bytes": 1000, "topics": []}
    at_once = {"max_wait_ms": 0, "min_bytes": 0}
    waiting = {"max_wait_ms": 20, "min_bytes": 1}
    side.ask("nothing", "Fetch", *versions, **at_once, **asked)
    side.ask("nothing, waiting", "Fetch", *versions, **waiting, **asked)


def fetch_keeps_sessions(side):
    """KIP-227."""
    for version in (7, 11, 13):
        a_fetch_session(side, version)


def a_fetch_session(side, version):
    topic = side.create_topic(f".{version}", partitions=2)
    named = {"topic_id": side.topic_id(topic)} if version >= 13 else {"topic": topic}
    for partition in (0, 1):
        side.client.produce(topic, batch(*[b"x"] * 10), partition=partition)

    size = {"partition_max_bytes": 1 << 20}

    def ask(what, session_id, epoch, *offsets, forget=(), **body):
        places = [
            {"partition": number, "fetch_offset": offset, **size}
            for number, offset in enumerate(offsets)
            if offset is not None
        ]
        asked = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20} | body
        topics = [named | {"partitions": places}] if places else []
        forgotten = [named | {"partitions": list(forget)}] if forget else []
        session = {"session_id": session_id, "session_epoch": epoch}
        return side.ask(
            what,
            "Fetch",
            version,
            topics=topics,
            forgotten_topics_data=forgotten,
            **session,
            **asked,
        )

    ask("an unknown session", 12345, 1, 0)
    ask("an unknown session ends", 12345, -1, 0)
    ask("an unknown session begins", 12345, 0, 10)
    ask("no session", 0, -1, 0)
    ask("epoch 1 of session 0", 0, 1, 0)
    ask("a session of nothing", 0, 0)
    mine = ask("begins", 0, 0, 10, 10).session_id
    ask("nothing new", mine, 1)
    ask("the epoch again", mine, 1)
    ask("an epoch too far", mine, 4)
    ask("goes back in one partition", mine, 2, None, 9)
    ask("still there", mine, 3)
    ask("forgets it", mine, 4, forget=[1])
    ask("forgets what is unknown", mine, 5, forget=[17])
    ask("an unknown partition", mine, 6, None, None, 0)
    ask("the error comes again", mine, 7)
    ask("forgets the error", mine, 8, forget=[2])
    ask("out of range", mine, 9, 99)
    ask("out of range again", mine, 10)
    ask("waits", mine, 11, 10, max_wait_ms=20, min_bytes=1)
    side.client.produce(topic, batch(b"news"))
    ask("news", mine, 12)
    deleted = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 3}]}]
    answer = side.client.ask("DeleteRecords", 1, timeout_ms=1000, topics=deleted)
    assert answer.topics[0].partitions[0].error_code == 0
    ask("behind the news", mine, 13, 11)
    ask("ends", mine, -1)
    ask("has ended", mine, 14)


def list_offsets(side):
    """KIP-79: by time; KIP-734: the largest one; KIP-320: the leader epoch."""
    side.create_topic(partitions=3)
    produce = side.client.produce
    for stamp in (1000, 3000, 2000):
        produce(side.name, batch(b"a", b"b", timestamp=stamp))
    produce(side.name, batch(b"c", timestamp=-1), partition=2)
    versions = (1, 4, 5, 7, 8, 9, 11)
    for asked in (
        -1,
        -2,
        -3,
        -4,
        -5,
        -6,
        -7,
        -100,
        0,
        999,
        1000,
        1001,
        1002,
        2000,
        2500,
        3001,
        3002,
        2**62,
    ):
        side.offsets(f"at {asked}", asked, *versions)
        side.offsets(f"at {asked} of nothing", asked, *versions, partition=1)
        side.offsets(
            f"at {asked} of a record without time", asked, *versions, partition=2
        )
        side.offsets(f"at {asked} committed", asked, 2, 7, isolation_level=1)
    for epoch in (0, 1, 99, -7):
        side.offsets(f"epoch {epoch}", -1, 4, 7, current_leader_epoch=epoch)
    for partition in (3, -1):
        side.offsets(f"partition {partition}", -1, partition=partition)
    for replica in (-2, -3, 0, 1, 5):
        side.offsets(f"replica {replica}", -1, replica_id=replica)
    place = {"partition_index": 0, "timestamp": -1}
    for what, topic, places in (
        ("an unknown topic", side.name + ".none", [place]),
        ("an unknown topic, -3", side.name + ".none", [place | {"timestamp": -3}]),
        ("an unknown topic, -7", side.name + ".none", [place | {"timestamp": -7}]),
        ("no partition, -7", side.name, [{"partition_index": 9, "timestamp": -7}]),
        ("a partition twice", side.name, [place, place | {"timestamp": -2}]),
    ):
        side.ask(
            what,
            "ListOffsets",
            replica_id=-1,
            topics=[{"name": topic, "partitions": places}],
        )
    side.ask("nothing", "ListOffsets", replica_id=-1, topics=[])


def compression_of_the_topic(side):
    """compression.type: what the producer compressed otherwise is compressed anew, and
    nothing else of it changes.
    """
    sent = [
        batch(b"a" * 100, b"b", b"c", timestamp=1000 + number, compression=codec)
        for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd"))
    ]
    for wanted in ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"):
        topic = side.create_topic(f".{wanted}", compression_type=wanted)
        for records in sent:
            assert side.client.produce(topic, records).error_code == 0
        for offset in range(0, 15, 3):
            header, stored = next(batches(side.client.fetch(topic, offset).records))
            told = (
                header.compression,
                header.records_count,
                header.base_offset,
                header.max_timestamp,
            )
            values = [record.value for record in decode_batch(stored)]
            side.answers[f"{wanted}, {offset}"] = {
                "told": repr(told),
                "values": repr(values),
            }
    small = side.create_topic(
        ".small", compression_type="uncompressed", max_message_bytes=1000
    )
    side.produce(
        "too large, unpacked", batch(bytes(5000), compression="gzip"), topic=small
    )
    side.produce("no gzip inside", changed(batch(b"x"), attributes=1), topic=small)


def delete_records(side):
    """KIP-107."""
    side.create_topic(partitions=2)
    for stamp in (1000, 2000, 3000):
        side.client.produce(side.name, batch(b"a", b"b", timestamp=stamp))

    def delete(what, offset, partition=0, topic=None):
        place = {"partition_index": partition, "offset": offset}
        topics = [{"name": topic or side.name, "partitions": [place]}]
        side.ask(what, "DeleteRecords", timeout_ms=1000, topics=topics)

    def look(when):
        for asked in (-2, -1, -3, 0, 1500, 3001):
            side.offsets(f"{when}: at {asked}", asked, 1, 5, 7)
        for offset in (0, 2, 3, 6):
            side.fetch(f"{when}: from {offset}", offset, versions=(4, 11))

    for offset in (7, -2, 0):
        delete(f"up to {offset}", offset)
    delete("within a batch", 3)
    look("within a batch")
    delete("less", 1)
    side.produce("and on", batch(b"c"))
    delete("everything", -1)
    look("everything")
    delete("of nothing", -1, 1)
    delete("beyond nothing", 1, 1)
    for partition in (2, -1):
        delete(f"partition {partition}", 0, partition)
    delete("an unknown topic", 0, 0, side.name + ".none")
    side.ask("nothing", "DeleteRecords", timeout_ms=1000, topics=[])


def a_log_of_many_segments(side):
    topic = side.create_topic(segment_bytes=1 << 20)
    for stamp in range(7):
        assert (
            side.client.produce(
                topic, batch(bytes(400_000), timestamp=1000 * stamp)
            ).error_code
            == 0
        )
    for offset in range(8):
        side.fetch(
            f"from {offset}", offset, versions=(4, 11), partition_max_bytes=3 << 20
        )
        side.fetch(f"a part from {offset}", offset, versions=(4, 11), max_bytes=900_000)
    for asked in (-1, -2, -3, 0, 1500, 2000, 4001, 6000, 6001):
        side.offsets(f"at {asked}", asked)
    deleted = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 3}]}]
    side.ask("delete", "DeleteRecords", timeout_ms=1000, topics=deleted)
    for asked in (-2, -3, 0, 2000, 3000):
        side.offsets(f"deleted, at {asked}", asked)


def a_topic_made_again(side):
    """KIP-516: it has its name and another id."""
    topic = side.create_topic()
    old_id, mine = side.topic_id(topic), side.producer_id()
    for sequence in range(3):
        side.client.produce(topic, numbered(mine, sequence))
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20}
    of_one = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    place = {"partitions": [of_one]}
    by_name = {"topic": topic} | place
    by_id = {"topic_id": old_id} | place
    nobodys = {"topic_id": UNKNOWN_ID} | place

    def begin(version, *topics):
        asked = {"session_epoch": 0, "topics": topics}
        return side.client.ask("Fetch", version, **limits, **asked).session_id

    def go_on(what, version, session_id, epoch, *topics):
        asked = {"session_id": session_id, "session_epoch": epoch, "topics": topics}
        side.ask(f"{what}, in a session", "Fetch", version, **limits, **asked)

    sessions = {11: begin(11, by_name), 13: begin(13, by_id)}
    of_two = begin(13, by_id, nobodys)
    deleted = side.client.ask("DeleteTopics", 4, topic_names=[topic], timeout_ms=5000)
    assert deleted.responses[0].error_code == 0
    side.settle()
    side.fetch("deleted", topic_id=old_id, versions=(4, 11, 13))
    for version, session_id in sessions.items():
        go_on("deleted", version, session_id, 1)
    side.create_topic()
    side.fetch("made again", versions=(4, 11, 13))
    side.fetch("made again, by the old id", topic_id=old_id, versions=(13,))
    for version, session_id in sessions.items():
        go_on("made again", version, session_id, 2)
    go_on("beside an unknown id", 13, of_two, 1)
    go_on("asked for again", 13, of_two, 2, by_id)
    side.produce("goes on", numbered(mine, 3), 9)
    side.offsets("what was stored", -1)


SCENARIOS = (
    compression_of_the_topic,
    fetch_reads_whole_batches,
    fetch_shares_the_bytes_between_partitions,
    fetch_knows_topics_partitions_and_epochs,
    fetch_keeps_sessions,
    list_offsets,
    delete_records,
    a_log_of_many_segments,
    a_topic_made_again,
)
