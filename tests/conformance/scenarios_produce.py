"""Writing records: what is asked of both brokers (see same_answers.py)."""

import time

from minikafka.wire.records import encode_batch
from tests.conformance.raw import batch
from tests.conformance.same_answers import changed, numbered

MINUTE_MS = 60_000


def produce_checks_the_shape_of_a_batch(side):
    """Batches of the format of KIP-98, whole and broken."""
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
    """Sizes; times of KIP-32, and how far they may be off (KIP-937)."""
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
    """KIP-98: sequence numbers, duplicates, and epochs."""
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
    """KIP-98; KIP-360: who has an id already may ask for the next epoch."""
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


SCENARIOS = (
    produce_checks_the_shape_of_a_batch,
    produce_takes_what_it_may_take,
    produce_checks_sizes_and_times,
    produce_checks_the_request,
    produce_is_idempotent,
    acks_0_is_not_answered,
    init_producer_id,
)
