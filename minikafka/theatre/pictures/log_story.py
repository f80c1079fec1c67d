"""What a trace tells about logs and their readers: the fold of the log's picture
(log.py draws it).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from minikafka.theatre.casting import OfTopic, busiest_partitions, legend, letters
from minikafka.theatre.drawing import actor_colour, actor_number
from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
    Told,
    picked,
)
from minikafka.theatre.text import capital, counted, quoted, span_of
from minikafka.trace import Event

SAYS = {
    "TopicCreated": Says(
        "Topic {topic} is created with {many}. Nothing is written yet."
    ),
    "PartitionsCreated": Says(
        "{topic} grows from {was} to {partitions} partitions. What is written stays.",
        "{partitions} partitions",
        mark=("log", "{was} → {partitions}"),
    ),
    "TopicDeleted": Says(
        "Topic {topic} is deleted, with all its records.", "topic deleted"
    ),
    "HighWatermarkAdvanced": Says(
        "The high watermark{where} is {high_watermark}: consumers may read up to there."
    ),
    "SegmentRolled": Says(
        "A new segment begins at offset {base_offset}{where}, the last is closed:"
        " {why}.",
        first="first roll",
        mark=("log", "roll"),
    ),
    "SegmentDeleted": Says(
        "The segment with {offsets}{where} is deleted as a whole: {why}.",
        mark=("log", "delete"),
    ),
    "LogStartOffsetAdvanced": Says(
        "The log start offset{where} moves to {log_start_offset}: {why}.",
        "the log start moves",
        mark=("log", "start {log_start_offset}"),
    ),
    "LogTruncated": Says(
        "The log{where} is cut: it ends at offset {log_end_offset} now.",
        "the log is cut",
        True,
    ),
    "LogRecovered": Says(
        "{node} recovers the log{where} up to offset {log_end_offset}: {dropped_bytes}"
        " bytes are dropped, because {why}.",
        "recovery",
    ),
    "BatchRefused": Says(
        "{node} refuses a batch from {asker} with {error}: {message}.",
        "{error}",
        True,
        mark=("written", "refused", True),
    ),
    "PositionReset": Says("{node} {verb} at offset {offset}{where}: {why}."),
    "PositionSought": Says(
        "{node} seeks: it stands before offset {offset}{where} now.",
        first="{node} seeks",
        mark=("{lane}", "seeks {offset}"),
    ),
    "FetchRefused": Says(
        "{who} asks for offset {offset}{where}{gone}. The broker answers"
        " {error}{number}.",
        "{error}",
        True,
    ),
    "ClientClosed": Says("{node} closes."),
    "NodeCrashed": Says("{node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeFrozen": Says(
        "{node} is frozen: it does nothing and hears nothing.", "{node} is frozen"
    ),
    "NodeThawed": Says("{node} goes on."),
    "NodeStopped": Says("{node} stops: {message}.", "{node} stops", True),
}
MOST_PARTITIONS = 6
# records this near to something interesting are in the scene; the others could not be
# drawn anyway
NEAR = 24
OWN_LANES = ("written", "log", "commits", "effects")


def lane_of(reader: str) -> str:
    """The key of a reader's lane: its name, with what no name holds where the picture
    has a lane of that key itself.
    """
    return f"{reader}\n" if reader in OWN_LANES else reader


@dataclass
class PartitionLog:
    """Offsets, segments and records; records that retention deleted stay known, to be
    drawn as gone.

    segments: base, end, active | closed | deleted. records: offset -> [offset, letter,
    key, value, number of the event]. written_by: offset -> id of the event that
    appended it.
    """

    partition: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int | None = None
    segments: list[list[Any]] = field(default_factory=lambda: [[0, 0, "active"]])
    records: dict[int, list[Any]] = field(default_factory=dict)
    written_by: dict[int, tuple[str, int]] = field(default_factory=dict)
    appended_at: int = -1
    seen: bool = False

    def append(self, base: int, up_to: int) -> None:
        if not self.seen and base > 0:  # the trace begins in the middle of a log's life
            self.log_start_offset, self.segments = base, [[base, base, "active"]]
        self.seen = True
        self.log_end_offset = up_to
        self.segments[-1][1] = up_to

    def roll(self, base: int) -> None:
        if self.segments[-1][0] == base:  # a fresh segment has replaced an empty one
            return
        self.segments[-1][1:] = [base, "closed"]
        self.segments.append([base, base, "active"])

    def delete_segment(self, base: int) -> None:
        for segment in self.segments:
            if segment[0] == base and segment[1] > base:
                segment[2] = "deleted"
        kept = [segment for segment in self.segments if segment[2] != "deleted"]
        gone = [segment for segment in self.segments if segment[2] == "deleted"]
        self.segments = gone[-2:] + kept
        self.log_start_offset = max(self.log_start_offset, gone[-1][1] if gone else 0)

    def truncate(self, end: int) -> None:
        self.log_end_offset = end
        self.segments = [segment for segment in self.segments if segment[0] < end] or [
            [end, end, "active"]
        ]
        self.segments[-1][1:] = [end, "active"]
        self.records = {
            offset: record for offset, record in self.records.items() if offset < end
        }

    def space(self, readers: Sequence[int]) -> dict[str, Any]:
        points = [
            self.log_start_offset,
            self.log_end_offset,
            *readers,
            *(segment[0] for segment in self.segments),
        ]
        near = sorted(
            {
                o
                for point in points
                for o in range(point - NEAR, point + NEAR)
                if o in self.records
            }
        )
        numbers = ("partition", "log_start_offset", "log_end_offset", "high_watermark")
        return picked(self, *numbers) | {
            "segments": [list(segment) for segment in self.segments],
            "records": [list(self.records[offset]) for offset in near],
        }


@dataclass
class Position:
    """A reader: where it stands in each partition, and whether it lives."""

    name: str
    colour: str
    state: str = ""  # "", closed, crashed, frozen
    next: dict[int, int] = field(default_factory=dict)
    # partition -> error, until it stands somewhere new
    refused: dict[int, str] = field(default_factory=dict)
    refusal: tuple[str, int] | None = None
    started: tuple[int, int] | None = None  # when, and at which offset


class LogStory(OfTopic):
    name, title = "log", "The log"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("chosen", "most", "rolls")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partitions: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        mine = self.choose(trace, topic)
        self.chosen = (
            list(partitions)
            if partitions is not None
            else busiest_partitions(mine, MOST_PARTITIONS)
        )
        self.letters = letters(
            record[1]
            for event in mine
            if event.kind == "RecordsAppended"
            for record in event.detail.get("records", ())
        )
        self.logs: dict[int, PartitionLog] = {}
        self.count = 0
        self.readers: dict[str, Position] = {}
        self.clients_speak = any(event.kind == "RecordsPolled" for event in trace)
        self.rolls = any(
            event.kind in ("SegmentRolled", "SegmentDeleted") for event in mine
        )
        self.moved_start: dict[int, tuple[str, int]] = {}
        which = (
            f"Partition {self.chosen[0]}" if len(self.chosen) == 1 else "The partitions"
        )
        self.title = f"{which} of {self.topic}" if self.topic else self.title
        self.most = _longest(mine)

    def cast(self) -> Cast:
        colours = {reader.name: reader.colour for reader in self.readers.values()}
        who = {"legend": legend(self.letters), "readers": colours}
        return super().cast() | who

    def space(self) -> Space:
        readers = self.readers.values()
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "partitions": [
                self.logs[p].space([r.next[p] for r in readers if p in r.next])
                for p in sorted(self.logs)
            ],
            "readers": [
                picked(reader, "name", "state")
                | {
                    "next": {
                        str(p): offset for p, offset in sorted(reader.next.items())
                    },
                    "lag": {
                        str(p): self._log(p).log_end_offset - offset
                        for p, offset in sorted(reader.next.items())
                    },
                    "refused": {
                        str(p): error for p, error in sorted(reader.refused.items())
                    },
                }
                for reader in readers
            ],
            "down": self.away,
        }

    # -- fold

    def details(self, event: Event) -> dict[str, Any]:
        partition = event.detail.get("partition")
        where = "" if partition is None else self._where(partition)
        asker = self.asker(event) or "a producer"
        return super().details(event) | {
            "where": where,
            "asker": asker,
            "lane": lane_of(event.node),
        }

    def _log(self, partition: int) -> PartitionLog:
        return self.logs.setdefault(partition, PartitionLog(partition))

    def _where(self, partition: int) -> str:
        return "" if len(self.chosen) == 1 else f" of partition {partition}"

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        for partition in (each for each in self.chosen if each < self.count):
            self._log(partition)
        return self.tell(event, many=counted(self.count, "partition", "one"))

    _see_PartitionsCreated = _see_TopicCreated

    def _do_TopicDeleted(self, event: Event, d: Detail) -> None:
        self.logs.clear()

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        log, first, last = self._log(d["partition"]), d["base_offset"], d["last_offset"]
        log.append(first, last + 1)
        for offset, key, value, _timestamp in d.get("records", ()):
            log.records[offset] = [
                offset,
                self.letters.get(key, "?"),
                key,
                value,
                self.number,
            ]
            log.written_by[offset] = event.id
        log.appended_at = event.at
        who = self.asker(event)
        where = f"partition {d['partition']}"
        if first == last and d.get("records"):
            key, value = d["records"][0][1:3]
            what = ("a record" if value is None else quoted(value, 30)) + (
                "" if key is None else f" with key {key}"
            )
            verb = (
                f"{who} writes {what} to {where}"
                if who
                else f"{capital(what)} is written to {where}"
            )
            sentence = f"{verb}: it gets offset {first}."
        else:
            many = f"{last - first + 1} records to {where}"
            sentence = (
                f"{who or 'A producer'} writes {many}: they get offsets {first} to"
                f" {last}."
            )
        if len(self.chosen) == 1:
            sentence += f" The log end offset is {last + 1}."
        return Told(
            sentence,
            self.once("first record"),
            marks=self.mark("written", self._written(d)),
        )

    def _written(self, d: Detail) -> str:
        first, last, records = d["base_offset"], d["last_offset"], d.get("records")
        many = f"+{last - first + 1}"
        if len(self.chosen) > 1:
            what = (
                records[0][2] if first == last and records and records[0][2] else many
            )
            return f"{what[:12]} → P{d['partition']}"
        return (
            "".join(self.letters[record[1]] for record in records)
            if records and last - first < 3
            else many
        )

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        log = self._log(d["partition"])
        log.high_watermark = d["high_watermark"]
        # the append that raised it is told next
        if log.high_watermark > log.log_end_offset:
            return None
        at_once = (
            event.at == log.appended_at and log.high_watermark == log.log_end_offset
        )
        return QUIETLY if at_once else self.tell(event)

    def _do_SegmentRolled(self, event: Event, d: Detail) -> None:
        self._log(d["partition"]).roll(d["base_offset"])

    def _see_SegmentDeleted(self, event: Event, d: Detail) -> Told:
        self._log(d["partition"]).delete_segment(d["base_offset"])
        self.moved_start[d["partition"]] = event.id
        told = self.tell(
            event, offsets=span_of(range(d["base_offset"], d["next_offset"]))
        )
        told.chapter = self.once(f"deletion at {event.at}") and "a segment is deleted"
        return told

    def _see_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> Told:
        log = self._log(d["partition"])
        if log.log_start_offset == d["log_start_offset"]:
            return QUIETLY
        log.log_start_offset = d["log_start_offset"]
        self.moved_start[d["partition"]] = event.id
        return self.tell(event)

    def _do_LogTruncated(self, event: Event, d: Detail) -> None:
        self._log(d["partition"]).truncate(d["log_end_offset"])

    def _see_LogRecovered(self, event: Event, d: Detail) -> Told | None:
        log = self._log(d["partition"])
        if log.log_end_offset == d["log_end_offset"] and not d["dropped_bytes"]:
            return None
        log.truncate(d["log_end_offset"])
        told = self.tell(event)
        told.trouble = d["dropped_bytes"] > 0
        return told

    # -- fold: readers

    def _reader(self, name: str) -> Position:
        colour = actor_colour(actor_number(name, [*self.readers, name]))
        return self.readers.setdefault(name, Position(name, colour))

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        return self._reads(
            event,
            event.node,
            d["partition"],
            [record[0] for record in d["records"]],
            d["position"],
        )

    def _see_RecordsFetched(self, event: Event, d: Detail) -> Told | None:
        """The broker's side, for a trace without clients (`serve --trace`): a
        connection is a reader.
        """
        if self.clients_speak or not event.cause:
            return None
        name = self.asker(event) or f"client {event.cause[0]}"
        # a broker that decodes nothing knows only where the batches begin
        up_to = d["next_offset" if "next_offset" in d else "offset"]
        return self._reads(
            event, name, d["partition"], list(range(d["offset"], up_to)), up_to
        )

    def _reads(
        self,
        event: Event,
        name: str,
        partition: int,
        offsets: Sequence[int],
        position: int,
    ) -> Told:
        reader, log = self._reader(name), self._log(partition)
        reader.next[partition] = position
        reader.refused.pop(partition, None)
        lag = log.log_end_offset - position
        span, where = span_of(offsets), self._where(partition)
        values = [log.records[o][3] for o in offsets if o in log.records]
        what = (
            f" {quoted(values[0], 30)},"
            if len(offsets) == 1 and values and values[0] is not None
            else ""
        )
        sentence = (
            f"{name} reads{what} {span}{where}. It stands before {position}: its lag is"
            f" {lag}."
        )
        if not offsets:
            sentence = (
                f"{name} stands before offset {position}{where}: its lag is {lag}."
            )
        short = (
            f"{offsets[0]}–{offsets[-1]}"
            if len(offsets) > 1
            else f"{offsets[0]}"
            if offsets
            else ""
        )
        if len(self.chosen) > 1:
            short = (
                f"P{partition}:{short}"
                if len(offsets) != 1 or not values or not values[0]
                else f"{values[0][:12]}"
            )
        because = log.written_by.get(offsets[0]) if offsets else None
        return Told(
            sentence,
            self.once(f"{name} reads"),
            because=because,
            marks=self.mark(lane_of(name), short),
        )

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        reader, lane = self._reader(event.node), lane_of(event.node)
        refused = reader.refused.pop(d["partition"], None)
        reader.next[d["partition"]] = d["offset"]
        start = (event.at, d["offset"])
        if start == reader.started:  # the same of another partition
            return QUIETLY
        if refused:
            return self.tell(
                event,
                verb="starts over",
                because=reader.refusal,
                mark=(lane, "starts over"),
            )
        reader.started, where = (
            start,
            ("" if len(self.chosen) == 1 else " of every partition"),
        )
        told = self.tell(event, verb="starts", where=where, mark=(lane, "starts"))
        told.chapter = self.once(f"{event.node} starts")
        return told

    def _do_PositionSought(self, event: Event, d: Detail) -> None:
        reader = self._reader(event.node)
        reader.next[d["partition"]] = d["offset"]
        reader.refused.pop(d["partition"], None)

    def _see_FetchRefused(self, event: Event, d: Detail) -> Told:
        name = self.asker(event) or "a reader"
        log, reader = self._log(d["partition"]), self._reader(name)
        reader.next[d["partition"]] = d["offset"]
        reader.refused[d["partition"]] = (
            "out of range" if "RANGE" in str(d["error"]) else str(d["error"])
        )
        reader.refusal = event.id
        why = ""
        if d["offset"] < log.log_start_offset:
            why = f", which is gone: the log starts at {log.log_start_offset}"
        elif d["offset"] > log.log_end_offset:
            why = f", beyond the log end offset {log.log_end_offset}"
        number = " (1)" if d["error"] == "OFFSET_OUT_OF_RANGE" else ""
        return self.tell(
            event,
            who=name,
            gone=why,
            number=number,
            because=self.moved_start.get(d["partition"]),
            mark=(lane_of(name), "refused", True),
        )

    # -- fold: nodes

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        state, reader = LIVES[event.kind], self.readers.get(event.node)
        if reader is not None:
            reader.state = state
            return self.tell(
                event, mark=(lane_of(event.node), state, state == "crashed")
            )
        if event.kind == "ClientClosed":
            return None
        self.down[event.node] = state
        return self.tell(
            event, mark=("log", f"{event.node} {state or 'back'}", state == "crashed")
        )


def _longest(mine: Sequence[Event]) -> int:
    """How many records the longest of these logs holds in the end."""
    appended: dict[int, list[Detail]] = {}
    for d in (event.detail for event in mine if event.kind == "RecordsAppended"):
        appended.setdefault(d["partition"], []).append(d)
    return max(
        (
            log[-1]["last_offset"] + 1 - log[0]["base_offset"]
            for log in appended.values()
        ),
        default=0,
    )
