"""The output of `kafka-topics.sh --describe`, for checks: as data, and as lines."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One partition's line. leader: a broker's number, or none. elr, last_known: columns
    that older brokers don't print.
    """

    number: int
    leader: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    last_known: tuple[int, ...] = ()


class Described(NamedTuple):
    """The output of --describe for a topic. has_head: whether the line about the topic
    is there; it is missing if only some partitions were asked for. is_brief: that line
    has neither id nor configs.
    """

    rows: tuple[Row, ...]
    min_isr: int
    topic: str = "orders"
    has_head: bool = True
    is_brief: bool = False


def topic_of(*rows: tuple[Any, ...], min_isr: int) -> Described:
    """A topic with these partitions: (leader, replicas, isr) of each."""
    numbered = []
    for number, row in enumerate(rows):
        numbered.append(Row(number, *row))
    return Described(tuple(numbered), min_isr)


NOBODY = "none"  # for a leader
TOPICS = ("orders", "refunds", "orders-eu", "Leader", "none", "Partition")


def a_topic(source: random.Random, least: int, wide: bool = False) -> Described:
    """A topic whose partitions have at least this many replicas in sync. wide: with
    more columns, and any broker's and any partition's number.
    """
    rows = []
    known = range(1, 6)
    if wide:
        known = source.choice((range(5), range(8, 14)))
    number = 0
    for _ in range(source.randint(1, 5)):
        row = _a_row(source, number, known, least)
        number += 1
        if wide:
            row = row._replace(elr=_out_of_sync(row))
            number += source.choice((0, 0, 3, 9))
        rows.append(row)
    # with two in sync at least, nobody refuses
    most = 2 if least == 2 else 3
    found = Described(tuple(rows), source.randint(1, most))
    if wide:
        topic = source.choice(TOPICS)
        has_head = source.random() < 0.7
        found = found._replace(topic=topic, has_head=has_head)
    return found


def _a_row(source: random.Random, number: int, known: Sequence[int], least: int) -> Row:
    """A partition on some of the known brokers, with at least this many replicas in
    sync.
    """
    replicas = source.sample(known, source.randint(max(2, least), 4))
    isr = source.sample(replicas, source.randint(least, len(replicas)))
    leader = NOBODY
    if isr and (least or source.random() < 0.7):
        leader = str(isr[0])
    return Row(number, leader, tuple(replicas), tuple(isr))


def _out_of_sync(row: Row) -> tuple[int, ...]:
    """The replicas that could lead still, of a partition that is led."""
    if row.leader == NOBODY:
        return ()
    return tuple(broker for broker in row.replicas if broker not in row.isr)


def a_smaller_topic(case: Described) -> Iterator[Described]:
    """A partition fewer, fewer that must be in sync, the plain name."""
    if len(case.rows) > 1:
        for place in range(len(case.rows)):
            others = case.rows[:place] + case.rows[place + 1 :]
            yield case._replace(rows=others)
    if case.min_isr > 1:
        yield case._replace(min_isr=case.min_isr - 1)
    if case.topic != "orders":
        yield case._replace(topic="orders")


def listed(brokers: Iterable[int]) -> str:
    """Broker ids joined by commas, as kafka-topics prints them: 1,2,3."""
    return ",".join(map(str, brokers))


def lines_of(case: Described) -> list[str]:
    """The lines as Apache Kafka 4.4 prints them; without Elr and LastKnownElr, as older
    versions do.
    """
    lines = []
    if case.has_head:
        lines.append(_head(case))
    for row in case.rows:
        line = (
            f"\tTopic: {case.topic}\tPartition: {row.number}\tLeader: {row.leader}"
            f"\tReplicas: {listed(row.replicas)}\tIsr: {listed(row.isr)}"
        )
        if row.elr is not None:
            last_known = listed(row.last_known)
            line += f"\tElr: {listed(row.elr)}\tLastKnownElr: {last_known}"
        lines.append(line)
    return lines


def _head(case: Described) -> str:
    copies = len(case.rows[0].replicas)
    counts = f"PartitionCount: {len(case.rows)}\tReplicationFactor: {copies}"
    if case.is_brief:
        return f"Topic: {case.topic}\t{counts}"
    topic_id = "DilTORZ0Ss-x8tX6hIj9_Q"
    configs = "min.insync.replicas=2"
    return f"Topic: {case.topic}\tTopicId: {topic_id}\t{counts}\tConfigs: {configs}"


def as_describe(case: Described) -> str:
    """The partitions in one line, as hints name a case."""
    lines = lines_of(case)
    if case.has_head:
        del lines[0]
    shown = [line.strip().replace("\t", "  ") for line in lines]
    return f"{'; '.join(shown)}, min_isr={case.min_isr}"
