"""Traces made by hand: one partition, a group, a table outside Kafka."""

from tests.theatre.traces import Story

HERE = {"topic": "orders", "partition": 0}


class Commits(Story):
    """The story of a group, billing, on orders-0."""

    def orders(self, count):
        self.topic()
        for offset in range(count):
            self.at(100 * offset).append(
                0, offset, ("abc"[offset % 3], f"order {offset}")
            )
        return self

    def starts(self, offset, why="the committed offset of the group", reader="billing"):
        self.tell(
            reader,
            "PartitionsAssigned",
            group="billing",
            member=f"{reader}-1",
            generation=1,
            partitions=[["orders", 0]],
            owned=[["orders", 0]],
        )
        self.tell(reader, "PositionReset", **HERE, offset=offset, why=why)

    def sends(self, offset, how="sync", reader="billing"):
        return self.tell(
            reader,
            "CommitSent",
            group="billing",
            offsets=[["orders", 0, offset]],
            how=how,
        )

    def notes(self, offset, was=None, cause=None):
        self.tell(
            "broker 1",
            "OffsetCommitted",
            cause,
            group="billing",
            member="billing-1",
            **HERE,
            offset=offset,
            was=was,
        )

    def commit(self, offset, how="sync", reader="billing"):
        self.notes(offset, cause=self.sends(offset, how, reader))
        self.now += 2
        self.tell(
            reader,
            "CommitAcknowledged",
            group="billing",
            offsets=[["orders", 0, offset]],
        )

    def write(self, offset, reader="billing", table="payments"):
        self.tell(
            reader,
            "EffectWritten",
            table=table,
            key=f"o-{offset}",
            value="20",
            **HERE,
            offset=offset,
        )

    def crash(self, reader="billing"):
        self.tell(reader, "NodeCrashed")

    def back(self, offset, after_ms=46_000, reader="billing"):
        self.at(self.now + 1000).tell(reader, "NodeRestarted")
        self.at(self.now + after_ms).starts(offset, reader=reader)


def commit_after(crash_after_write=3):
    """Polls, writes, commits, one record after the other; crashes once between writing
    and committing.
    """
    story = Commits().orders(6)
    story.at(1000).starts(0, 'auto_offset_reset is "earliest"')
    for offset in range(crash_after_write + 1):
        story.at(2000 + 1000 * offset).poll("billing", 0, offset, offset + 1)
        story.at(story.now + 100).write(offset)
        if offset < crash_after_write:
            story.at(story.now + 100).commit(offset + 1)
    story.at(story.now + 50).crash()
    story.back(crash_after_write)
    for offset in range(crash_after_write, 6):
        story.at(story.now + 1000).poll("billing", 0, offset, offset + 1)
        story.at(story.now + 100).write(offset)
        story.at(story.now + 100).commit(offset + 1)
    return story.events


def commit_first():
    """Polls, commits, writes; crashes between committing record 2 and writing it."""
    story = Commits().orders(5)
    story.at(1000).starts(0, 'auto_offset_reset is "earliest"')
    for offset in range(3):
        story.at(2000 + 1000 * offset).poll("billing", 0, offset, offset + 1)
        story.at(story.now + 100).commit(offset + 1)
        if offset < 2:
            story.at(story.now + 100).write(offset)
    story.at(story.now + 50).crash()
    story.back(3)
    for offset in (3, 4):
        story.at(story.now + 1000).poll("billing", 0, offset, offset + 1)
        story.at(story.now + 100).commit(offset + 1)
        story.at(story.now + 100).write(offset)
    return story.events


def piling_up():
    """Three partitions; one reader dies, another is slow: lag rises, then falls."""
    story = Commits()
    story.topic(partitions=3)
    ends, read = [0, 0, 0], [0, 0, 0]
    for reader, partitions in (("a", [0, 1]), ("b", [2])):
        story.at(500).tell(
            reader,
            "PartitionsAssigned",
            group="billing",
            member=reader,
            generation=1,
            partitions=[["orders", p] for p in partitions],
            owned=[],
        )
    owner = {0: "a", 1: "a", 2: "b"}
    for tick in range(60):
        story.at(1000 + 250 * tick)
        for partition in range(3):
            if tick < 40:
                story.append(partition, ends[partition], ("k", "v"))
                ends[partition] += 1
            if (
                owner[partition]
                and read[partition] < ends[partition]
                and (partition or tick % 2)
            ):
                step = min(3, ends[partition] - read[partition])
                story.poll(
                    owner[partition], partition, read[partition], read[partition] + step
                )
                read[partition] += step
                if tick % 4 == 0:
                    story.tell(
                        "broker 1",
                        "OffsetCommitted",
                        group="billing",
                        member="m",
                        topic="orders",
                        partition=partition,
                        offset=read[partition],
                        was=0,
                    )
        if tick == 12:
            story.tell("b", "NodeCrashed")
            owner[2] = None
        if tick == 40:
            story.tell(
                "a",
                "PartitionsAssigned",
                group="billing",
                member="a",
                generation=2,
                partitions=[["orders", 2]],
                owned=[["orders", p] for p in range(3)],
            )
            owner[2] = "a"
    return story.events
