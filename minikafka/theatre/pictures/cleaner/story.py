"""The story of the log cleaner: the log's story, and in it the passes over one
compacted partition (cleaner.py draws it).

A pass has two halves: the map of each key's last offset, then the copy. The copy is
drawn beside the log until it takes the log's place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from minikafka.theatre.casting import letters
from minikafka.theatre.clock import in_short
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.log.state import PartitionLog, Reading, Segment, Written
from minikafka.theatre.pictures.log.story import SAYS, LogStory
from minikafka.theatre.play import AT_ONCE_MS, QUIETLY, Cast, Detail, Says, Space, Told
from minikafka.theatre.text import capital, counted, listed, span_of
from minikafka.trace import Event, moment

OF_THE_CLEANER = {
    "CompactionStarted": Says(
        "The cleaner begins a pass: {dirty_bytes} of {bytes} bytes in closed segments"
        " are dirty, {percent}%. {why_now} It stops before offset {end_offset}:"
        " {what_is_there}.",
        "pass {turn}",
    ),
    "KeysNoted": Says(
        "First half, the map: the cleaner reads {offsets_read} and notes the last"
        " offset of each key{entries}."
    ),
    "SegmentCopied": Says("Second half, the copy of {offsets_read}: {fates}."),
    "SegmentsCompacted": Says(
        "The copy replaces {many}: it has {records_after} of {records_before} records,"
        " {size_bytes_after} of {size_bytes_before} bytes."
    ),
    "CompactionFailed": Says(
        "The cleaner gives up on this log: {error}.", "given up", True
    ),
    "MarkerWritten": Says(
        "Offset {offset} is a marker: the transaction of producer {producer_id} is"
        " {outcome}."
    ),
}
FATES = {
    "key_comes_again": ("a later record has its key", "later records have their keys"),
    "tombstone_expired": (
        "a tombstone whose delete.retention.ms is over",
        "tombstones whose delete.retention.ms is over",
    ),
    "marker_expired": (
        "a marker whose records are gone and whose delete.retention.ms is over",
        "markers whose records are gone and whose delete.retention.ms is over",
    ),
    "aborted": ("its transaction was aborted", "their transaction was aborted"),
    "no_key": ("it has no key", "they have no key"),
}
MOST_NAMED = 6  # keys in a sentence


@dataclass
class Pass:
    """half: 1 while keys are noted, 2 while records are copied, 0 between passes.

    noted: letter of a key -> its last offset. into: the first offset of the segment
    that is written. leaving: what is not copied.
    """

    half: int = 0
    up_to: int = 0
    noted: dict[str, int] = field(default_factory=dict)
    keys: int = 0
    into: int | None = None
    copied: list[int] = field(default_factory=list)
    leaving: list[int] = field(default_factory=list)


class Went(NamedTuple):
    """A record was not copied: in which pass, and why (a key of FATES)."""

    turn: int
    why: str


class Gap(NamedTuple):
    """A reader asked for an offset that was gone, and got those after it."""

    reader: str
    asked: int
    got: Sequence[int]


class Unheard(NamedTuple):
    """A tombstone went before a reader came to it that knows its key. away_ms: since
    that reader had read last.
    """

    reader: str
    key: str | None
    offset: int
    away_ms: int


class CleanerStory(LogStory):
    """The story of one compacted partition and its cleaner."""

    name, title = "cleaner", "The log and its cleaner"
    says: ClassVar[Mapping[str, Says]] = SAYS | OF_THE_CLEANER

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        passes = [event for event in trace if event.kind == "CompactionStarted"]
        own = [event for event in passes if not event.detail["topic"].startswith("__")]
        found = (own or passes)[:1]
        if found and "topic" not in options:
            options["topic"] = found[0].detail["topic"]
        if "partitions" not in options:
            first = found[0].detail["partition"] if found else 0
            options["partitions"] = [first]
        super().__init__(trace, **options)
        self.min_ratio = found[0].detail["min_dirty_ratio"] if found else None
        self.turn = 0
        self.now = Pass()
        self.gone: set[int] = set()
        self.markers: dict[int, str] = {}  # offset -> how its transaction ended
        # offset of a tombstone or marker -> from when on a pass drops it, in ms
        self.horizons: dict[int, int] = {}
        self.known: dict[str, set[str | None]] = {}  # keys that a reader has read
        self.read_at: dict[str, int] = {}  # by reader, in ms
        self.gaps: list[Gap] = []
        self.gap_at: dict[str, int] = {}  # by reader, in ms
        self.reads_on = False
        # the offset that a reader asked for last and that was gone, the one that it
        # got, and the number of the event
        self.skips: list[int] = []
        self.unheard: list[Unheard] = []
        self.went: dict[int, Went] = {}  # by offset
        self.tombstones_stay_ms = 0  # delete.retention.ms
        self.clean_up_to = 0
        self.bytes: dict[int, int] = {}  # by the base offset of a segment
        written = [event for event in trace if event.kind == "MarkerWritten"]
        self.control = {
            event.detail["offset"] for event in written if self.is_mine(event)
        }
        self.letters = letters(self._keys(trace))

    def _keys(self, trace: Sequence[Event]) -> list[str | None]:
        """The keys of the records, without markers."""
        return [
            key
            for event in trace
            if event.kind == "RecordsAppended" and self.is_mine(event)
            for offset, key, *_ in event.detail.get("records", ())
            if offset not in self.control
        ]

    def cast(self) -> Cast:
        return super().cast() | {"min_ratio": self.min_ratio}

    def space(self) -> Space:
        """The log's space, and how far the cleaner is."""
        space = super().space()
        for log in space["partitions"]:
            for segment in log["segments"]:
                segment[2] = self._state_of(*segment)
        offsets = {
            "gone": sorted(self.gone),
            "leaving": sorted(self.now.leaving),
            "copied": sorted(self.now.copied),
        }
        horizons = sorted(self.horizons.items())
        return space | {
            **offsets,
            "skips": self.skips,
            "half": self.now.half,
            "up_to": self.now.up_to,
            "noted": sorted(self.now.noted.items()),
            "keys": self.now.keys,
            "into": self.now.into,
            "markers": [list(each) for each in sorted(self.markers.items())],
            "horizons": [[offset, moment(at, False)] for offset, at in horizons],
            "clean_bytes": self._bytes_of("clean"),
            "dirty_bytes": self._bytes_of("dirty"),
        }

    def _state_of(self, base: int, up_to: int, state: str) -> str:
        """A closed segment is clean or dirty."""
        if state != "closed":
            return state
        return "clean" if base < self.clean_up_to else "dirty"

    def _bytes_of(self, state: str) -> int:
        """The bytes of all segments in this state."""
        size = 0
        for log in self.logs.values():
            for segment in log.segments:
                if self._state_of(segment.base, segment.up_to, segment.state) == state:
                    size += self.bytes.get(segment.base, 0)
        return size

    @property
    def log(self) -> PartitionLog:
        """The log that is shown."""
        return self._log(self.chosen[0])

    # -- fold: the log

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        base = self.log.segments[-1].base
        self.bytes[base] = self.bytes.get(base, 0) + d["size_bytes"]
        offset = d["base_offset"]
        if offset in self.control:  # which marker it is, is told next
            self.log.append(offset, offset + 1)
            self.log.records[offset] = Written(offset, "", None, None, self.number)
            return QUIETLY
        told = super()._see_RecordsAppended(event, d)
        if self._is_tombstone(offset):
            told.sentence = told.sentence.replace("a record", "a tombstone", 1)
        return told

    def _is_tombstone(self, offset: int) -> bool:
        """Whether a record has a key and no value."""
        record = self.log.records.get(offset)
        return record is not None and record.value is None and record.key is not None

    def _see_MarkerWritten(self, event: Event, d: Detail) -> Told:
        self.markers[d["offset"]] = d["outcome"]
        return self.tell(event)

    def _see_SegmentDeleted(self, event: Event, d: Detail) -> Told:
        self.bytes.pop(d["base_offset"], None)
        return super()._see_SegmentDeleted(event, d)

    def see(self, event: Event) -> Told | None:
        """Nothing is told of a poll that only reads on, right after one with a gap."""
        self.reads_on = False
        told = super().see(event)
        return None if self.reads_on else told

    def _reads(self, event: Event, reading: Reading) -> Told:
        """Where offsets are missing, each that came is named."""
        name, partition, offsets, position = reading
        before = self._reader(name).next.get(partition)
        told = super()._reads(event, reading)
        asked = range(before or 0, position)
        missed = self._unheard(name, asked, offsets)
        has_gaps = len(offsets) != len(asked)
        is_soon = name in self.gap_at and self.at - self.gap_at[name] <= AT_ONCE_MS
        self.reads_on = is_soon and not (has_gaps or missed or self.live)
        if offsets and has_gaps and before is not None:
            self.gaps.append(Gap(name, before, offsets))
            lag = self.log.log_end_offset - position
            told.sentence = (
                f"{name} asks for offset {before} and gets {named(offsets)}. It is now"
                f" at offset {position}, with a lag of {lag}."
            )
            told.light = self._records([*offsets, *missed])
            if before and before in self.gone and not missed:
                self.gap_at[name] = self.at
                self.skips = [before, offsets[0], self.number]
                told.light = ["skips", "time", *told.light]
        for offset in missed:
            key = self.log.records[offset].key
            told.sentence += (
                f" The tombstone at offset {offset} is gone, so {name} never learns that"
                f" {key} was deleted."
            )
            away_ms = self.at - self.read_at[name]
            self.unheard.append(Unheard(name, key, offset, away_ms))
        self.read_at[name] = self.at
        return told

    def _unheard(self, name: str, asked: range, offsets: Sequence[int]) -> list[int]:
        """Tombstones that went before a reader came to them, of keys that it knows."""
        known = self.known.setdefault(name, set())
        records = self.log.records
        missed = [
            offset
            for offset in asked
            if offset in self.gone
            and self._is_tombstone(offset)
            and records[offset].key in known
        ]
        known.update(records[offset].key for offset in offsets if offset in records)
        return missed

    # -- fold: the cleaner

    def _see_CompactionStarted(self, event: Event, d: Detail) -> Told:
        self.turn += 1
        self.now = Pass(half=1, up_to=d["end_offset"])
        size = d["clean_bytes"] + d["dirty_bytes"]
        ratio = d["min_dirty_ratio"]
        why_now = f"More than {percent_of(ratio)}% is enough (the dirty ratio)."
        if d["overdue"]:
            why_now = "A record has waited for longer than max.compaction.lag.ms."
        is_active = d["end_offset"] == self.log.segments[-1].base
        what = "the active segment is not touched"
        return self.tell(
            event,
            turn=self.turn,
            bytes=size,
            percent=percent_of(d["dirty_bytes"] / max(size, 1)),
            why_now=why_now,
            what_is_there=what if is_active else "what comes after it is too young",
            light=self.first("a pass is lit", "gauge"),
        )

    def _see_KeysNoted(self, event: Event, d: Detail) -> Told:
        self.now.half = 1
        self.now.keys = d["keys"]
        entries = []
        for offset in d["offsets"]:
            record = self.log.records.get(offset)
            if record is not None:
                self.now.noted[record.letter] = offset
                entries.append(f"{record.key} {offset}")
        read = range(d["base_offset"], d["next_offset"])
        said = listed(entries, MOST_NAMED)
        return self.tell(
            event,
            offsets_read=span_of(read),
            entries=f": {said}" if entries else "",
            light=[*self._records(read), "map"],
        )

    def _see_SegmentCopied(self, event: Event, d: Detail) -> Told:
        self.now.half = 2
        self.now.into = d["into"]
        self.now.copied += d["copied_offsets"]
        gone = {offset: why for offset, why in d["gone_offsets"]}
        self.now.leaving += gone
        for offset, why in gone.items():
            self.went[offset] = Went(self.turn, why)
        self.tombstones_stay_ms = d["delete_retention_ms"]
        fates = []
        if d["copied_offsets"]:
            verb = "is" if len(d["copied_offsets"]) == 1 else "are"
            fates.append(f"{named(d['copied_offsets'])} {verb} copied")
        for why, (one, many) in FATES.items():
            offsets = [offset for offset, each in gone.items() if each == why]
            if offsets:
                verb, words = ("goes", one) if len(offsets) == 1 else ("go", many)
                fates.append(f"{named(offsets)} {verb}: {words}")
        fates += self._horizons_of(d)
        read = range(d["base_offset"], d["next_offset"])
        copies = [f"copy/{offset}" for offset in d["copied_offsets"]]
        return self.tell(
            event,
            offsets_read=span_of(read),
            fates="; ".join(fates) or "nothing is left",
            light=[*self._records(read), *copies, "map", "copy"],
        )

    def _horizons_of(self, d: Detail) -> list[str]:
        """The times at which tombstones and markers may be dropped, in words."""
        said = []
        for offset in d["horizons"]:
            at = self.at + d["delete_retention_ms"]
            self.horizons[offset] = at
            kind = "marker" if offset in self.markers else "tombstone"
            said.append(
                f"{offset}, a {kind}, may go from {moment(at, False)} on,"
                " delete.retention.ms after this pass"
            )
        return said

    def _see_SegmentsCompacted(self, event: Event, d: Detail) -> Told:
        base = d["base_offset"]
        end = d["next_offset"]
        inside = [
            segment for segment in self.log.segments if base <= segment.base < end
        ]
        self.gone.update(offset for offset in self.now.leaving if offset < end)
        replaced = Segment(base, end, "closed")
        kept = [each for each in self.log.segments if each not in inside]
        self.log.segments = sorted([*kept, replaced], key=lambda each: each.base)
        for segment in inside:
            self.bytes.pop(segment.base, None)
        self.bytes[base] = d["size_bytes_after"]
        self.clean_up_to = max(self.clean_up_to, end)
        told = self.tell(event, many=counted(len(inside), "segment", "one"))
        self.now = Pass(keys=self.now.keys, noted=self.now.noted)
        if end < self.now.up_to:
            self.now.half = 2
        return told

    # -- in the end

    def ends(self, last: Scene) -> None:
        """Add what a reader sees in the end."""
        has_gap = last["number"] in self.skips[2:]
        if self.live or ("light" in last and not has_gap):
            return
        if self.unheard:
            last["sentence"] = self._never_heard(self.unheard[0])
        elif self.gaps:
            last["sentence"] = self._kept_offsets(self.gaps[0])

    def _never_heard(self, unheard: Unheard) -> str:
        """Why a reader believes in what is deleted."""
        reader, key, offset, away_ms = unheard
        away = in_short(away_ms)
        stays = in_short(self.tombstones_stay_ms)
        return (
            f"{capital(reader)} was away for {away}. {capital(key or 'no key')}'s"
            f" tombstone, offset {offset}, may go {stays} after its first pass, and went"
            f" in pass {self.went[offset].turn}. Nothing is left to tell {reader}, so it"
            f" still has {key}."
        )

    def _kept_offsets(self, gap: Gap) -> str:
        """The sentence that says why offsets are missing, and that a gap isn't
        an error.
        """
        gone = sorted(self.gone)
        words = f"{counted(len(gone), 'record', 'One')} went, {named(gone)}"
        reasons = {self.went[offset].why for offset in gone}
        if len(reasons) == 1:
            one, many = FATES[reasons.pop()]
            words += f": {one if len(gone) == 1 else many}"
        return (
            f"{words}. The others keep their offsets: {gap.reader} asked for {gap.asked}"
            f" and got {named(gap.got)}, without an error."
        )

    def _records(self, offsets: Iterable[int]) -> list[str]:
        """Keys of the shapes of these records in the log."""
        return [f"record/{self.chosen[0]}/{offset}" for offset in offsets]


def percent_of(ratio: float) -> int:
    """Rounded, as people say it."""
    return round(100 * ratio)


def named(offsets: Sequence[int]) -> str:
    """Offsets in words, such as "3, 5 and 6"."""
    return listed(offsets, 12)
