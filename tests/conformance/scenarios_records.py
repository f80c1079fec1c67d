"""Writing, reading and deleting records: what is asked of both brokers (see
same_answers.py).
"""

import time

from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.conformance.raw import batch
from tests.conformance.same_answers import UNKNOWN_ID, changed, numbered

MINUTE_MS = 60_000


def produce_checks_the_shape_of_a_batch(side):
    good = batch(b"a", b"b")
    bad = {
        "no bytes": b"",
        "ten bytes": bytes(10),
        "two batches": good + good,
        "cut off": good[:-3],
        "bytes behind it": good + b"xyz",
        "a length beyond the end": changed(good, batch_length=10_000),
        "a length of ten": changed(good, batch_length=10),
        "a negative length": changed(good, batch_length=-5),
        "magic 0": changed(good, magic=0),
        "magic 1": changed(good, magic=1),
        "magic 3": changed(good, magic=3),
        "a wrong CRC": good[:-1] + bytes([good[-1] ^ 1]),
        "a base offset": changed(good, base_offset=5),
        "a smaller last offset delta": changed(good, last_offset_delta=0),
        "a larger last offset delta": changed(good, last_offset_delta=7),
        "a negative last offset delta": changed(good, last_offset_delta=-1),
        "fewer records than counted": changed(
            good, records_count=3, last_offset_delta=2
        ),
        "more records than counted": changed(
            good, records_count=1, last_offset_delta=0
        ),
        "no records": changed(
            good[:61], records_count=0, batch_length=49, last_offset_delta=-1
        ),
        "a negative count": changed(good, records_count=-1),
        "the control bit": changed(good, attributes=0x20),
        "the transactional bit": changed(good, attributes=0x10),
        "the LogAppendTime bit": changed(good, attributes=0x08),
        "the delete horizon bit": changed(good, attributes=0x40),
        "a larger max timestamp than there is": changed(
            good, max_timestamp=1_800_000_000_000
        ),
        "codec 5": changed(good, attributes=5),
        "codec 7": changed(good, attributes=7),
        "gzip that is none": changed(good, attributes=1),
        "zstd that is none": changed(good, attributes=4),
    }
    side.create_topic(partitions=len(bad))
    for partition, (what, records) in enumerate(bad.items()):
        side.produce(what, records, partition=partition)


def produce_takes_what_it_may_take(side):
    side.create_topic()
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        side.produce(codec, batch(b"a" * 100, compression=codec), 3, 6, 7, 9)
    records = [
        (1_700_000_000_000, b"k", None, [("h", None), ("", b"")]),
        (5, None, b"", []),
    ]
    side.produce(
        "null values, headers, times that go back", bytearray(encode_batch(records))
    )
    side.produce("any leader epoch", changed(batch(b"a"), base_sequence=-1))
    side.produce("no timestamp", batch(b"a", timestamp=-1))
    side.produce(
        "a sequence without a producer id",
        changed(batch(b"a"), base_sequence=4, producer_epoch=1),
    )
    side.fetch("what was stored", versions=(11,))


def produce_checks_sizes_and_times(side):
    side.create_topic(max_message_bytes=1000)
    side.produce("too large", batch(bytes(2000)))
    side.produce("just right", batch(bytes(1000 - 61 - 9)))
    side.create_topic(".old", message_timestamp_before_max_ms=1000)
    side.create_topic(".later", message_timestamp_after_max_ms=MINUTE_MS)
    now = int(time.time() * 1000)
    side.produce(
        "too old", batch(b"a", timestamp=now - MINUTE_MS), topic=side.name + ".old"
    )
    side.produce(
        "in the future",
        batch(b"a", timestamp=now + 3 * MINUTE_MS),
        topic=side.name + ".later",
    )
    side.produce(
        "one of three",
        batch(b"a", b"b", b"c", timestamp=now + 3 * MINUTE_MS),
        topic=side.name + ".later",
    )
    side.create_topic(
        ".append",
        message_timestamp_type="LogAppendTime",
        message_timestamp_after_max_ms=1,
    )
    side.produce(
        "stamped",
        batch(b"a", timestamp=now + 3 * MINUTE_MS),
        topic=side.name + ".append",
    )
    side.produce(
        "stamped already",
        changed(batch(b"a"), attributes=8),
        topic=side.name + ".append",
    )
    side.create_topic(".two", min_insync_replicas=2)
    side.produce("too few replicas", batch(b"a"), topic=side.name + ".two")
    side.produce("acks=1 does not ask", batch(b"a"), topic=side.name + ".two", acks=1)


def produce_checks_the_request(side):
    topic = side.create_topic()
    for acks in (2, -2, 100):
        side.produce(f"acks {acks}", batch(b"a"), acks=acks)
    side.produce("acks 1", batch(b"a"), acks=1)
    for partition in (-1, 1):
        side.produce(f"partition {partition}", batch(b"a"), partition=partition)
    side.produce("an unknown topic", batch(b"a"), topic=side.name + ".none")
    side.produce("an illegal topic", batch(b"a"), topic="a b")
    one = {"index": 0, "records": batch(b"a")}
    request = {"acks": -1, "timeout_ms": 5000}
    side.ask("no topics", "Produce", **request, topic_data=[])
    data = [{"name": topic, "partition_data": [one]}]
    side.ask(
        "a transactional id",
        "Produce",
        **request,
        transactional_id="t",
        topic_data=data,
    )
    side.ask("a timeout of 0", "Produce", acks=-1, timeout_ms=0, topic_data=data)
    data = [{"name": topic, "partition_data": [one, one | {"index": 3}]}]
    side.ask("two partitions", "Produce", **request, topic_data=data)


def produce_is_idempotent(side):
    side.create_topic()
    mine = side.producer_id()
    for sequence in range(7):
        side.produce(f"{sequence}", numbered(mine, sequence), 9)
    for sequence in (6, 2, 1, 0, 8, 9):
        side.produce(f"again, or a gap: {sequence}", numbered(mine, sequence), 3, 8, 9)
    side.produce("an overlap", numbered(mine, 6, values=(b"a", b"b")), 9)
    side.produce("a newer epoch with 3", numbered(mine, 3, epoch=2), 9)
    side.produce("a newer epoch with 0", numbered(mine, 0, epoch=2), 9)
    side.produce("the newer epoch's duplicate", numbered(mine, 0, epoch=2), 9)
    side.produce("the older epoch", numbered(mine, 7, epoch=0), 3, 9)
    side.produce("acks 1", numbered(mine, 1, epoch=2), 9, acks=1)
    unknown = 987_654
    side.produce("an unknown producer with 5", numbered(unknown, 5), 9)
    side.produce("its next one", numbered(unknown, 6), 9)
    side.produce("no sequence", numbered(mine, -1, epoch=2), 9)
    side.produce("a negative epoch", numbered(mine, 2, epoch=-1), 9)
    side.produce(
        "an unknown one with a negative epoch", numbered(unknown + 1, 2, epoch=-1), 9
    )
    last = 2**31 - 1
    side.produce("the last number", numbered(unknown + 2, last), 9)
    side.produce("and around", numbered(unknown + 2, 0), 9)
    side.produce(
        "across the end", numbered(unknown + 3, last, values=(b"a", b"b", b"c")), 9
    )
    side.produce("behind it", numbered(unknown + 3, 2), 9)
    side.produce(
        "across the end again",
        numbered(unknown + 3, last, values=(b"a", b"b", b"c")),
        9,
    )
    side.offsets("what was stored", -1)


def acks_0_is_not_answered(side):
    side.create_topic()
    side.client.produce(side.name, batch(b"a"), acks=0)
    side.fetch("what was stored", versions=(11,))
    side.client.produce(side.name, batch(b"a"), acks=0, partition=7)
    assert side.client.is_closed_by_the_broker()


def init_producer_id(side):
    side.producer_id()
    side.ask(
        "without a transactional id",
        "InitProducerId",
        transactional_id=None,
        transaction_timeout_ms=1000,
    )
    side.ask(
        "an empty transactional id",
        "InitProducerId",
        transactional_id="",
        transaction_timeout_ms=1000,
    )
    asked = {"transactional_id": None, "transaction_timeout_ms": 1000}
    side.ask(
        "the next epoch",
        "InitProducerId",
        3,
        4,
        producer_id=12345,
        producer_epoch=3,
        **asked,
    )
    side.ask(
        "an epoch alone",
        "InitProducerId",
        3,
        4,
        producer_id=-1,
        producer_epoch=3,
        **asked,
    )
    side.ask(
        "an id alone", "InitProducerId", 3, 4, producer_id=5, producer_epoch=-1, **asked
    )
    side.ask(
        "no timeout", "InitProducerId", transactional_id=None, transaction_timeout_ms=-1
    )


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
    produce_checks_the_shape_of_a_batch,
    produce_takes_what_it_may_take,
    produce_checks_sizes_and_times,
    produce_checks_the_request,
    produce_is_idempotent,
    acks_0_is_not_answered,
    init_producer_id,
    fetch_reads_whole_batches,
    fetch_shares_the_bytes_between_partitions,
    fetch_knows_topics_partitions_and_epochs,
    fetch_keeps_sessions,
    list_offsets,
    delete_records,
    a_log_of_many_segments,
    a_topic_made_again,
)
