"""The ways of records: who wrote each, what each reader saw so far, and what it never
will (log.py draws it).

Lost to a reader are records that retention deleted before it read them, and those that
a reset passed over.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.casting import groups_of_members
from minikafka.theatre.clock import MINUTE_MS, SECOND_MS, in_days, in_short
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.log.state import PartitionLog, Reading, Written
from minikafka.theatre.pictures.log.story import GROWS, LogStory, lane_of
from minikafka.theatre.play import QUIETLY, Cast, Detail, Space, Told
from minikafka.theatre.text import capital, counted, key_part, quoted, span_of
from minikafka.trace import DAY_MS, HOUR_MS, Event

NEAR = 36  # as many records a tray may hold
MANY = 12  # a poll of more is one thing in it
# why records are lost to a reader: retention took them, or a reset went past them
DELETED, SKIPPED = "deleted", "skipped"


class Seen(NamedTuple):
    """A record that a reader was handed, or as many records from the offset on.
    letter: of its key, None where they are lost to the reader, and then the value says
    why. number: of the event.
    """

    partition: int
    offset: int
    letter: str | None
    value: str | None
    number: int
    records: int

    @property
    def is_lost(self) -> bool:
        """Whether the reader never gets it."""
        return self.letter is None

    @property
    def same(self) -> str:
        """The name that it shares with the record in the log."""
        return f"{self.partition}/{self.offset}"


class Lost(NamedTuple):
    """Records of a partition that a reader never gets, and why."""

    first: int
    up_to: int
    reader: str
    why: str

    @property
    def records(self) -> int:
        """How many records were lost."""
        return self.up_to - self.first


class Source(NamedTuple):
    """The producer of a record, by its number, and the time."""

    producer: int
    at: int


class Chosen(NamedTuple):
    """A choice by the hash of a key: its partition, among this many."""

    partitions: int
    partition: int


class Kept(NamedTuple):
    """Records older than retention allows that are still there. limit: in words."""

    first: int
    up_to: int
    limit: str


class LookUp(NamedTuple):
    """A search by time in a partition. offset: of the first record that isn't earlier,
    -1 where there is none.
    """

    partition: int
    asked: str
    offset: int


class Compared(NamedTuple):
    """A record that a search by time has looked at."""

    offset: int
    asked: str
    is_found: bool


class JourneyStory(LogStory):
    """The log's story, with the ways of its records."""

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.in_days = in_days([event.at for event in trace])
        self.groups = groups_of_members(trace)
        is_alone = len(self.chosen) == 1
        self.one_key = len(self.letters) == 1 or (len(self.letters) == 2 and is_alone)
        self.producers: list[str] = []
        self.written: dict[tuple[int, int], Source] = {}  # by partition and offset
        self.saw: dict[str, list[Seen]] = {}
        # by reader and partition
        self.lost: dict[tuple[str, int], list[Lost]] = {}
        # reader -> the position it would have if it had begun at the earliest record
        self.passed: dict[str, int] = {}
        # reader -> the event at which it was handed records last, and when
        self.handed: dict[str, tuple[int, int]] = {}
        self.skips: set[str] = set()  # readers whose reset went past records to the end
        # (reader, key) -> the latest written of those it has read, and its partition
        self.latest: dict[tuple[str, str], tuple[int, Written]] = {}
        self.by_hash: list[Chosen] = []  # of the first key, each number of partitions
        self.first_key: str | None = None
        self.look_up: LookUp | None = None  # the latest
        self.retention_ms: int | None = None  # as soon as it has deleted something
        self.keeps = False  # something that is older

    def cast(self) -> Cast:
        return super().cast() | {
            "in_days": self.in_days,
            "loses": bool(self.lost),
            "keeps": self.keeps,
            "looks_up": self.look_up is not None,
            "one_key": self.one_key,
        }

    def space(self) -> Space:
        """The log's, and of each record who wrote it, of each reader what it saw."""
        space = super().space() | {
            "producers": list(self.producers),
            "by_hash": [list(chosen) for chosen in self.by_hash],
        }
        unknown = Source(0, self.at)
        for log in space["partitions"]:
            partition = log["partition"]
            for record in log["records"]:
                source = self.written.get((partition, record[0]), unknown)
                days = self._days_since(source.at) if self.in_days else None
                record += [source.producer, days]
            log["lost"] = [
                list(span)
                for (_, number), spans in self.lost.items()
                if number == partition
                for span in spans
            ]
            kept = self._kept(self._log(partition))
            log["kept"] = list(kept) if kept else None
            log["compared"] = [list(each) for each in self._compared(partition)]
        for reader in space["readers"]:
            saw = self.saw.get(reader["name"], [])
            reader["saw"] = [list(item) for item in saw[-NEAR:]]
            reader["seen"] = sum(item.records for item in saw if not item.is_lost)
            reader["passed"] = self.passed.get(reader["name"])
            if reader["name"] in self.skips:
                reader["reset"] = "latest"
        return space

    def _days_since(self, at: int) -> int:
        """Rounded, as ages are told."""
        return round((self.at - at) / DAY_MS)

    def _see_PartitionChosen(self, event: Event, d: Detail) -> None:
        """Note the choice, which the append that follows will show."""
        if d["reason"] != "murmur2":
            return
        self.first_key = self.first_key or d["key"]
        chosen = Chosen(d["partitions"], d["partition"])
        if d["key"] == self.first_key and chosen not in self.by_hash:
            self.by_hash.append(chosen)

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        told = super()._see_RecordsAppended(event, d)
        who = self.asker(event) or "a producer"
        if who not in self.producers:
            self.producers.append(who)
        source = Source(self.producers.index(who), self.at)
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        for offset in offsets:
            self.written[d["partition"], offset] = source
        return _of_record(told, d["partition"], offsets)

    def _written(self, d: Detail) -> Sequence[str]:
        """A single record of the one key is told by its offset."""
        is_one = d["base_offset"] == d["last_offset"]
        if is_one and self.one_key and len(self.chosen) == 1:
            return [str(d["base_offset"])]
        return super()._written(d)

    # -- what a reader saw

    def _reads(self, event: Event, reading: Reading) -> Told:
        """Records that were handed over are in the reader's tray, and no longer lost to
        it.
        """
        name, partition, offsets, _ = reading
        told = super()._reads(event, reading)
        self.passed.pop(name, None)
        self.handed[name] = self.number, self.at
        told = _of_record(told, partition, offsets)
        records = self._log(partition).records
        is_many = len(offsets) > MANY

        for offset in offsets:
            record = records.get(offset, Written(offset, "", None, None, 0))
            if not is_many:
                letter = record.letter
                value = record.value
                self._put(
                    name,
                    Seen(
                        partition=partition,
                        offset=offset,
                        letter=letter,
                        value=value,
                        number=self.number,
                        records=1,
                    ),
                )
            self._compare(told, name, partition, record)
        if is_many:
            first = offsets[0]
            count = len(offsets)
            self._put(
                name,
                Seen(
                    partition=partition,
                    offset=first,
                    letter="",
                    value=None,
                    number=self.number,
                    records=count,
                ),
            )

        spans = self.lost.get((name, partition), [])
        spans[:] = [span for span in spans if not _is_among(offsets, span)]
        return told

    def _put(self, name: str, item: Seen) -> None:
        """Something more in a reader's tray."""
        self.saw.setdefault(name, []).append(item)

    def _compare(self, told: Told, name: str, partition: int, record: Written) -> None:
        """Two records of one key, in two partitions, may be read in another order than
        they were written.
        """
        key = record.key
        if key is None:
            return
        where, latest = self.latest.get((name, key), (partition, record))
        is_older = where != partition and latest.number > record.number
        if is_older and record.value and latest.value and self.once("out of order"):
            self._out_of_order(told, name, (partition, record), (where, latest))
        elif record.number >= latest.number:
            self.latest[name, key] = (partition, record)

    def _out_of_order(
        self,
        told: Told,
        name: str,
        now: tuple[int, Written],
        before: tuple[int, Written],
    ) -> None:
        """A record is read after another of its key that was written later."""
        partition, record = now
        where, latest = before
        begin = self.written[partition, record.offset].at
        wait = self.written[where, latest.offset].at - begin
        older = quoted(record.value or "", 30)
        newer = quoted(latest.value or "", 30)
        place = f"offset {record.offset} of partition {partition}"
        told.sentence = (
            f"{name} reads {older} ({place}) after {newer}, although {newer}"
            f" was written {wait / 1000:.0f} s later."
        )
        told.chapter = "out of order"
        told.light = [f"{partition}/{record.offset}", f"{where}/{latest.offset}"]
        if len(self.by_hash) > 1:
            told.light += ["hash", "hash/1", GROWS]

    # -- a search by time

    def _see_OffsetFound(self, event: Event, d: Detail) -> Told:
        asked = _time_of_day(d["timestamp"])
        partition = d["partition"]
        offset = d["offset"]
        self.look_up = LookUp(partition, asked, offset)
        if offset < 0:
            return self.tell(event, asked=asked, found="there is none")

        compared = [f"record/{partition}/{each}" for each in range(offset + 1)]
        return self.tell(
            event,
            asked=asked,
            found=f"it is offset {offset}",
            light=[*compared[-NEAR:], f"compared/{partition}"],
        )

    def _compared(self, partition: int) -> list[Compared]:
        """From the start of the log up to what was found."""
        look_up = self.look_up
        if look_up is None or look_up.partition != partition:
            return []
        log = self._log(partition)
        offsets = range(log.log_start_offset, look_up.offset + 1)
        compared = []
        for offset in offsets[-NEAR:]:
            is_found = offset == look_up.offset
            compared.append(Compared(offset, look_up.asked, is_found))
        return compared

    # -- what is older than retention allows

    def _kept(self, log: PartitionLog) -> Kept | None:
        """The records of the log that are kept: a segment is deleted as a whole.
        Records that are lost to a reader are another matter.
        """
        if self.retention_ms is None or self.lost:
            return None
        old = []
        for offset in range(log.log_start_offset, log.log_end_offset):
            source = self.written.get((log.partition, offset))
            if source and self.at - source.at > self.retention_ms:
                old.append(offset)
        if not old:
            return None
        self.keeps = True
        return Kept(old[0], old[-1] + 1, in_short(self.retention_ms))

    def ends(self, last: Scene) -> None:
        """Where something is older than retention allows, why it is still there."""
        if self.live or not self.in_days or len(self.chosen) != 1:
            return
        [partition] = self.chosen
        log = self._log(partition)
        kept = self._kept(log)
        if kept is None:
            return
        segment = next(each for each in log.segments if kept.first < each.up_to)
        youngest = segment.up_to - 1
        days = self._days_since(self.written[partition, kept.first].at)
        days_of_youngest = self._days_since(self.written[partition, youngest].at)

        last["sentence"] = (
            f"The oldest record, offset {kept.first}, is {days} days old. Its segment"
            f" goes only when all records in it are older than {kept.limit}, and offset"
            f" {youngest} is only {days_of_youngest} days old."
        )
        last["light"] = [
            *_keys_of_records(partition, range(kept.first, kept.up_to)),
            f"record/{partition}/{youngest}",
            f"kept/{partition}",
        ]

    # -- what it never will

    def _see_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> Told:
        told = super()._see_LogStartOffsetAdvanced(event, d)
        return self._delete(told, d["partition"])

    def _see_SegmentDeleted(self, event: Event, d: Detail) -> Told:
        self.retention_ms = d.get("retention_ms", self.retention_ms)
        told = self._delete(super()._see_SegmentDeleted(event, d), d["partition"])
        if not self.lost and self.once("a segment is lit"):
            partition = d["partition"]
            segment = f"segment/{partition}/{d['base_offset']}"
            told.light = [segment, f"record/{partition}"]
        return told

    def _delete(self, told: Told, partition: int) -> Told:
        """Deleted records are lost to every reader that hadn't got that far."""
        if told is QUIETLY:
            return told
        start = self._log(partition).log_start_offset
        for reader in list(self.readers.values()):
            if reader.state != "closed":
                first = reader.next.get(partition, start)
                self._lose(told, reader.name, partition, first, start)
        return told

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        name = event.node
        partition = d["partition"]
        to = int(d["offset"])
        reader = self._reader(name)
        log = self._log(partition)
        was = reader.next.get(partition, to)
        is_refused = partition in reader.refused
        told = super()._see_PositionReset(event, d)

        goes_to_the_end = log.log_start_offset < to == log.log_end_offset
        if is_refused:
            if goes_to_the_end:
                self.skips.add(name)
            self._lose(told, name, partition, was, to)
            return told

        is_alone = len(self.chosen) == 1 and name not in self.groups
        if told is not QUIETLY and is_alone and was == to and goes_to_the_end:
            before = range(log.log_start_offset, to)
            many = counted(len(before), "record")
            told.sentence = told.sentence.removesuffix(".")
            told.sentence += f", so {name} won't get the {many} before that."
            reader_keys = _keys_of_reader(name, partition)
            self.passed[name] = log.log_start_offset
            told.light = [*reader_keys, *_keys_of_records(partition, before[-NEAR:])]
            told.light.append("passed")
        return told

    def _see_FetchRefused(self, event: Event, d: Detail) -> Told:
        """A reader came back too late: its lane shows for how many days it was away."""
        told = super()._see_FetchRefused(event, d)
        number, at = self.handed.get(self.asker(event) or "", (0, 0))
        if number and self.in_days:
            days = f"{self._days_since(at)} days"
            for mark in told.marks:
                mark |= {"since": number, "why": f"away, {days}", "in_short": [days]}
        return told

    def _lose(
        self, told: Told, name: str, partition: int, first: int, up_to: int
    ) -> None:
        """Records that a reader will never get, if it didn't lose them before."""
        spans = self.lost.get((name, partition), [])
        first = max([first, *(span.up_to for span in spans)])
        if first >= up_to or self._shares_a_group(name):
            return
        is_there = first >= self._log(partition).log_start_offset
        why = SKIPPED if is_there else DELETED
        span = Lost(first, up_to, name, why)
        self.lost[name, partition] = [*spans, span]
        self._put(
            name,
            Seen(
                partition=partition,
                offset=first,
                letter=None,
                value=why,
                number=self.number,
                records=span.records,
            ),
        )
        verb = "is" if span.records == 1 else "are"
        offsets = range(first, up_to)
        if is_there:
            told.sentence += f" {capital(span_of(offsets))} {verb} still there:"
        told.sentence += f" {counted(span.records, 'record')} {verb} lost to {name}."
        told.trouble = True
        told.light = [
            *told.light,
            *_keys_of_records(partition, offsets[:NEAR]),
            f"lost/{partition}/{first}",
            *_keys_of_reader(name, partition),
            f"time/lane/{key_part(lane_of(name))}",
        ]

    def _shares_a_group(self, name: str) -> bool:
        """Members of a group hand positions over: none of them loses anything alone."""
        group = self.groups.get(name, "")
        return list(self.groups.values()).count(group) > 1


def _time_of_day(timestamp: int) -> str:
    """The time as a reader asks for it; with seconds only if there are any."""
    hours = timestamp // HOUR_MS % 24
    minutes = timestamp // MINUTE_MS % 60
    seconds = timestamp // SECOND_MS % 60
    words = f"{hours:02}:{minutes:02}"
    return f"{words}:{seconds:02}" if seconds else words


def _keys_of_records(partition: int, offsets: Sequence[int]) -> list[str]:
    """Keys of shapes: these records in the log."""
    return [f"record/{partition}/{offset}" for offset in offsets]


def _keys_of_reader(name: str, partition: int) -> list[str]:
    """Its place in the log, and its tray."""
    part = key_part(name)
    return [f"reader/{partition}/{part}", f"tray/{part}"]


def _is_among(offsets: Sequence[int], span: Lost) -> bool:
    """Whether some of these are lost records."""
    return any(span.first <= offset < span.up_to for offset in offsets)


def _of_record(told: Told, partition: int, offsets: Sequence[int]) -> Told:
    """Marks of one record share what its other shapes share."""
    if len(offsets) == 1:
        same = f"{partition}/{offsets[0]}"
        told.marks = [mark | {"same": same} for mark in told.marks]
    return told
