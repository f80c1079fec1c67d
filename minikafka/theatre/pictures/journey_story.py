"""The ways of records: who wrote each, what each reader saw so far, and what it never
will (log.py draws it).

Lost to a reader are records that retention deleted before it read them, and those that
a reset passed over.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.casting import groups_of_members
from minikafka.theatre.lanes import DAY_MS, in_days
from minikafka.theatre.pictures.log_story import LogStory
from minikafka.theatre.play import QUIETLY, Cast, Detail, Space, Told
from minikafka.theatre.text import capital, counted, key_part, quoted, span_of
from minikafka.trace import Event

NEAR = 36  # as many records a tray may hold
MANY = 12  # a poll of more is one thing in it


class JourneyStory(LogStory):
    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.in_days = in_days([event.at for event in trace])
        self.groups = groups_of_members(trace)
        self.one_key = len(self.letters) == 1 or (
            len(self.letters) == 2 and len(self.chosen) == 1
        )
        self.producers: list[str] = []
        # (partition, offset) -> (number of producer, when)
        self.written: dict[tuple[int, int], tuple[int, int]] = {}
        # [partition, offset, letter (None: lost), value, number, how many]
        self.saw: dict[str, list[list[Any]]] = {}
        # (reader, partition) -> [(first, up to)]
        self.lost: dict[tuple[str, int], list[tuple[int, int]]] = {}
        # (reader, key) -> the latest written of those it has read
        self.latest: dict[tuple[str, str], list[Any]] = {}

    def cast(self) -> Cast:
        return super().cast() | {
            "in_days": self.in_days,
            "loses": bool(self.lost),
            "one_key": self.one_key,
        }

    def space(self) -> Space:
        space = super().space() | {"producers": list(self.producers)}
        for log in space["partitions"]:
            p = log["partition"]
            for record in log["records"]:
                producer, at = self.written.get((p, record[0]), (0, self.at))
                record += [
                    producer,
                    round((self.at - at) / DAY_MS) if self.in_days else None,
                ]
            log["lost"] = [
                [*span, name]
                for (name, of), spans in self.lost.items()
                if of == p
                for span in spans
            ]
        for reader in space["readers"]:
            saw = self.saw.get(reader["name"], [])
            reader |= {
                "saw": saw[-NEAR:],
                "seen": sum(item[5] for item in saw if item[2] is not None),
            }
        return space

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        told = super()._see_RecordsAppended(event, d)
        who = self.asker(event) or "a producer"
        if who not in self.producers:
            self.producers.append(who)
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        self.written |= {
            (d["partition"], offset): (self.producers.index(who), self.at)
            for offset in offsets
        }
        return _of_record(told, d["partition"], offsets)

    def _written(self, d: Detail) -> str:
        one = (
            self.one_key
            and len(self.chosen) == 1
            and d["base_offset"] == d["last_offset"]
        )
        return str(d["base_offset"]) if one else super()._written(d)

    # -- what a reader saw

    def _reads(
        self,
        event: Event,
        name: str,
        partition: int,
        offsets: Sequence[int],
        position: int,
    ) -> Told:
        told = _of_record(
            super()._reads(event, name, partition, offsets, position),
            partition,
            offsets,
        )
        for offset in offsets:
            record = self._log(partition).records.get(
                offset, [offset, "", None, None, 0]
            )
            if len(offsets) <= MANY:
                self._put(name, partition, offset, record[1], record[3], 1)
            self._compare(told, name, partition, record)
        if len(offsets) > MANY:
            self._put(name, partition, offsets[0], "", None, len(offsets))
        spans = self.lost.get((name, partition), [])
        spans[:] = [
            (a, b) for a, b in spans if not any(a <= offset < b for offset in offsets)
        ]
        return told

    def _put(
        self,
        name: str,
        partition: int,
        offset: int,
        letter: str | None,
        value: str | None,
        count: int,
    ) -> None:
        self.saw.setdefault(name, []).append(
            [partition, offset, letter, value, self.number, count]
        )

    def _compare(
        self, told: Told, name: str, partition: int, record: list[Any]
    ) -> None:
        """Two records of one key, in two partitions, may be read in another order than
        they were written.
        """
        offset, _, key, value, number = record
        where, at, _, _, newer, later = self.latest.get(
            (name, key), [partition, *record]
        )
        if (
            where != partition
            and later > number
            and value
            and newer
            and self.once("out of order")
        ):
            wait = self.written[where, at][1] - self.written[partition, offset][1]
            told.sentence = (
                f"{name} reads {quoted(value, 30)} (offset {offset} of partition"
                f" {partition}) after {quoted(newer, 30)}, although {quoted(newer, 30)}"
                f" was written {wait / 1000:.0f} s later."
            )
            told.chapter, told.light = (
                "out of order",
                [
                    f"{partition}/{offset}",
                    f"{where}/{at}",
                ],
            )
        elif key is not None and number >= later:
            self.latest[name, key] = [partition, *record]

    # -- what it never will

    def _see_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> Told:
        return self._delete(
            super()._see_LogStartOffsetAdvanced(event, d), d["partition"]
        )

    def _see_SegmentDeleted(self, event: Event, d: Detail) -> Told:
        told = self._delete(super()._see_SegmentDeleted(event, d), d["partition"])
        if not self.lost and self.once("a segment is lit"):
            told.light = [
                f"segment/{d['partition']}/{d['base_offset']}",
                f"record/{d['partition']}",
            ]
        return told

    def _delete(self, told: Told, partition: int) -> Told:
        start = self._log(partition).log_start_offset
        for reader in list(self.readers.values()) if told is not QUIETLY else ():
            if reader.state != "closed":
                self._lose(
                    told,
                    reader.name,
                    partition,
                    reader.next.get(partition, start),
                    start,
                )
        return told

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        name, partition, to = event.node, d["partition"], int(d["offset"])
        reader, log = self._reader(name), self._log(partition)
        was, refused = reader.next.get(partition, to), partition in reader.refused
        told = super()._see_PositionReset(event, d)
        new = (
            told is not QUIETLY
            and len(self.chosen) == 1
            and name not in self.groups
            and was == to
        )
        if refused:
            self._lose(told, name, partition, was, to)
        elif new and log.log_start_offset < to == log.log_end_offset:
            told.sentence += (
                f" It will not get the {counted(to - log.log_start_offset, 'record')}"
                " before it."
            )
            told.light = [
                f"reader/{partition}/{key_part(name)}",
                f"tray/{key_part(name)}",
            ]
            told.light += [
                f"record/{partition}/{offset}"
                for offset in range(log.log_start_offset, to)
            ][-NEAR:]
        return told

    def _lose(
        self, told: Told, name: str, partition: int, first: int, up_to: int
    ) -> None:
        spans = self.lost.get((name, partition), [])
        first = max([first, *(end for _, end in spans)])
        if (
            first >= up_to
            or list(self.groups.values()).count(self.groups.get(name, "")) > 1
        ):
            # (members of a group hand positions over: none of them loses anything
            # alone)
            return
        count = up_to - first
        self.lost[name, partition] = [*spans, (first, up_to)]
        self._put(name, partition, first, None, None, count)
        there = first >= self._log(partition).log_start_offset
        verb = "is" if count == 1 else "are"
        span = (
            f" {capital(span_of(range(first, up_to)))} {verb} still there:"
            if there
            else ""
        )
        told.sentence += f"{span} {counted(count, 'record')} {verb} lost to {name}."
        told.trouble = True
        told.light = [
            *told.light,
            *(f"record/{partition}/{offset}" for offset in range(first, up_to)[:NEAR]),
        ]
        told.light += [
            f"lost/{partition}/{first}",
            f"reader/{partition}/{key_part(name)}",
            f"tray/{key_part(name)}",
        ]


def _of_record(told: Told, partition: int, offsets: Sequence[int]) -> Told:
    """Marks of one record share what its other shapes share."""
    if len(offsets) == 1:
        told.marks = [
            mark | {"same": f"{partition}/{offsets[0]}"} for mark in told.marks
        ]
    return told
