"""Traces made by hand, of the kinds that brokers and clients emit."""

from minikafka.trace import REASONS, Event, Reason, Trace


class Story:
    """Nodes that tell what they do; at(ms) moves the time."""

    def __init__(self):
        self.events: list[Event] = []
        self.nodes: dict[str, Trace] = {}
        self.now = 0
        self.requests = 0

    def at(self, ms):
        self.now = ms
        return self

    def tell(self, node, kind, cause=None, why=None, reason=None, **detail):
        """reason: which of the kind's codes; the first of them, where the picture
        doesn't look at it.
        """
        trace = self.nodes.setdefault(node, Trace(node, [self.events.append]))
        trace.now = self.now
        if why is not None:
            detail["why"] = Reason(reason or min(REASONS[kind]), why)
        return trace.emit(kind, cause=cause, **detail)

    def request(self, client, api):
        self.requests += 1
        self.tell(
            client,
            "RequestSent",
            to="broker 1",
            api=api,
            version=9,
            connection=f"{client}-1",
            correlation_id=self.requests,
        )
        return (f"{client}-1", self.requests)

    def topic(self, name="orders", partitions=1):
        self.tell(
            "broker 1",
            "TopicCreated",
            topic=name,
            partitions=partitions,
            replication_factor=1,
            configs={},
        )

    def append(self, partition, base, *records, producer="shop", topic="orders"):
        """records: (key, value) pairs."""
        cause = self.request(producer, "Produce")
        told = [
            [base + n, key, value, self.now] for n, (key, value) in enumerate(records)
        ]
        last = base + len(records) - 1
        where = {"topic": topic, "partition": partition}
        size = 70 * len(records)
        self.tell(
            "broker 1",
            "RecordsAppended",
            cause,
            **where,
            base_offset=base,
            last_offset=last,
            size_bytes=size,
            records=told,
        )
        self.tell(
            "broker 1", "HighWatermarkAdvanced", cause, **where, high_watermark=last + 1
        )

    def reset(self, reader, offset, cause=None):
        """A reader of orders-0 finds its place."""
        self.tell(
            reader,
            "PositionReset",
            cause,
            topic="orders",
            partition=0,
            offset=offset,
            why="auto.offset.reset=earliest",
        )

    def refuse(self, reader, offset):
        """orders-0 doesn't have this offset any more."""
        cause = self.request(reader, "Fetch")
        return self.tell(
            "broker 1",
            "FetchRefused",
            cause,
            topic="orders",
            partition=0,
            offset=offset,
            error="OFFSET_OUT_OF_RANGE",
        )

    def poll(self, reader, partition, first, up_to, topic="orders"):
        records = [[offset, None, None] for offset in range(first, up_to)]
        self.tell(
            reader,
            "RecordsPolled",
            topic=topic,
            partition=partition,
            records=records,
            position=up_to,
        )

    def choose(
        self,
        partition,
        partitions,
        key,
        value,
        why=None,
        reason="murmur2",
        hashed=None,
        topic="orders",
        producer="shop",
        rule=None,
    ):
        why = why or f"murmur2(key) % {partitions}"
        self.tell(
            producer,
            "PartitionChosen",
            topic=topic,
            partition=partition,
            partitions=partitions,
            key=key,
            value=value,
            why=why,
            reason=reason,
            hash=hashed,
            rule=rule,
        )


def retention():
    """The mock-up's story: three segments, three readers, retention removes the first
    segment under a late reader.
    """
    story = Story()
    story.topic()
    for offset, key in enumerate("abacbabccababcaab"):
        story.at(1000 + 700 * offset)
        if offset in (5, 12):
            story.tell(
                "broker 1",
                "SegmentRolled",
                topic="orders",
                partition=0,
                base_offset=offset,
                why="segment.ms=4000 has passed",
            )
        story.append(0, offset, (key, f"order {offset}"))
        if offset == 2:
            story.reset("late reader", 0)
            story.poll("late reader", 0, 0, 2)
        if offset == 6:
            story.reset("billing", 0)
        if offset > 6 and offset % 3 == 0:
            story.poll("billing", 0, offset - 9, offset - 6)
        if offset > 12:
            story.poll("audit", 0, offset - 1, offset)
    story.at(30_990)
    story.tell(
        "broker 1",
        "SegmentDeleted",
        topic="orders",
        partition=0,
        base_offset=0,
        next_offset=5,
        size_bytes=350,
        why="retention.ms=20000 has passed",
    )
    story.tell(
        "broker 1",
        "LogStartOffsetAdvanced",
        topic="orders",
        partition=0,
        log_start_offset=5,
        why="retention.ms=20000",
    )
    story.at(31_000)
    refused = story.refuse("late reader", offset=2)
    story.at(31_005)
    story.reset("late reader", 5, refused)
    story.at(31_400)
    story.poll("late reader", 0, 5, 17)
    return story.events


def alice():
    """Lesson 00: `paid` is read before `created`, because a partition was added in
    between.
    """
    story = Story()
    story.topic(partitions=3)
    story.at(1000).choose(2, 3, "alice", "created", hashed=0x1F2F3F4F)
    story.append(2, 0, ("alice", "created"))
    story.at(1400).choose(0, 3, "bob", "created", hashed=0x2F2F3F4F)
    story.append(0, 0, ("bob", "created"))
    story.at(2000).tell(
        "broker 1", "PartitionsCreated", topic="orders", partitions=4, was=3
    )
    story.at(2600).choose(3, 4, "alice", "paid", hashed=0x1F2F3F4F)
    story.append(3, 0, ("alice", "paid"))
    story.at(3100)
    for partition in range(4):
        story.tell(
            "reader",
            "PositionReset",
            topic="orders",
            partition=partition,
            offset=0,
            why="auto.offset.reset=earliest",
        )
    story.at(3105).poll("reader", 3, 0, 1)
    story.at(3110).poll("reader", 0, 0, 1)
    story.at(3115).poll("reader", 2, 0, 1)
    return story.events


def long_log(records=600):
    """A log far longer than the page, one batch of three at a time."""
    story = Story()
    story.topic()
    for base in range(0, records, 3):
        story.at(1000 + 40 * base)
        if base and base % 150 == 0:
            story.tell(
                "broker 1",
                "SegmentRolled",
                topic="orders",
                partition=0,
                base_offset=base,
                why="segment.bytes=16384 are full",
            )
        story.append(
            0,
            base,
            *((f"customer-{(base + n) * 7 % 13}", f"v{base + n}") for n in range(3)),
        )
        if base % 60 == 0:
            story.poll("billing", 0, base // 2, base // 2 + 30)
    return story.events


def growing():
    """Seven keys and three records without key, before and after a partition is added.
    The hashes are murmur2's own.
    """
    story = Story()
    story.topic(partitions=3)
    hashes = {
        "alice": 1951417749,
        "bob": 2246822606,
        "carol": 271431602,
        "dave": 1727131798,
        "erin": 708372308,
    }
    for at, count in ((1000, 3), (9000, 4)):
        if count == 4:
            story.at(5000).tell(
                "broker 1", "PartitionsCreated", topic="orders", partitions=4, was=3
            )
        for number, (key, hashed) in enumerate(hashes.items()):
            story.at(at + 10 * number).choose(
                (hashed & 0x7FFFFFFF) % count,
                count,
                key,
                f"with {count}",
                hashed=hashed,
            )
        story.at(at + 60)
        for number in range(3):
            why = "no key: stays with this partition until batch.size bytes went there"
            story.choose(1, count, None, f"free {number}", why, "sticky")
        story.at(at + 70).append(
            1,
            0 if count == 3 else 3,
            (None, "free 0"),
            (None, "free 1"),
            (None, "free 2"),
        )
    return story.events
