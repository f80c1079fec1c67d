"""What a trace tells about logs and their readers: the fold of the log's picture (log.py draws it)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.casting import busiest_partitions, busiest_topic
from minikafka.theatre.drawing import actor_colour, actor_number
from minikafka.theatre.keys import legend, letters
from minikafka.theatre.partition import PartitionLog
from minikafka.theatre.play import QUIETLY, Cast, Detail, Space, Story, Told
from minikafka.theatre.text import capital, quoted
from minikafka.trace import Event

MOST_PARTITIONS = 6
OWN_LANES = ("written", "log", "commits", "effects")


def lane_of(reader: str) -> str:
    """The key of a reader's lane: its name, with what no name holds where the picture has a lane of that key itself."""
    return f"{reader}\n" if reader in OWN_LANES else reader


@dataclass
class Position:
    """A reader: where it stands in each partition, and whether it lives."""

    name: str
    colour: str
    state: str = ""  # "", closed, crashed, frozen
    next: dict[int, int] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)  # partition -> error, until it stands somewhere new
    refusal: tuple[str, int] | None = None
    started: tuple[int, int] | None = None  # when, and at which offset


class LogStory(Story):
    name = "log"

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partitions: Sequence[int] | None = None,
        **options: Any,
    ):
        super().__init__(trace, **options)
        self.topic = topic or busiest_topic(trace)
        mine = [event for event in trace if event.detail.get("topic") == self.topic]
        self.chosen = list(partitions) if partitions is not None else busiest_partitions(mine, MOST_PARTITIONS)
        self.letters = letters(
            record[1] for event in mine if event.kind == "RecordsAppended" for record in event.detail.get("records", ())
        )
        self.logs: dict[int, PartitionLog] = {}
        self.count = 0
        self.readers: dict[str, Position] = {}
        self.clients_speak = any(event.kind == "RecordsPolled" for event in trace)
        self.rolls = any(event.kind in ("SegmentRolled", "SegmentDeleted") for event in mine)
        self.down: dict[str, str] = {}
        self.moved_start: dict[int, tuple[str, int]] = {}
        one = len(self.chosen) == 1
        self.title = f"Partition {self.chosen[0]} of {self.topic}" if one else f"The partitions of {self.topic}"
        if not self.topic:
            self.title = "The log"
        self.most = _longest(mine)

    def cast(self) -> Cast:
        return super().cast() | {
            "chosen": self.chosen,
            "most": self.most,
            "rolls": self.rolls,
            "legend": legend(self.letters),
            "readers": {reader.name: reader.colour for reader in self.readers.values()},
        }

    def space(self) -> Space:
        readers = self.readers.values()
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "partitions": [self.logs[p].space([r.next[p] for r in readers if p in r.next]) for p in sorted(self.logs)],
            "readers": [
                {
                    "name": reader.name,
                    "state": reader.state,
                    "next": {str(p): offset for p, offset in sorted(reader.next.items())},
                    "lag": {str(p): self._log(p).log_end_offset - offset for p, offset in sorted(reader.next.items())},
                    "refused": {str(p): error for p, error in sorted(reader.refused.items())},
                }
                for reader in readers
            ],
            "down": {node: state for node, state in sorted(self.down.items()) if state},
        }

    # -- fold

    def is_mine(self, event: Event) -> bool:
        d = event.detail
        if d.get("topic", self.topic) != self.topic:
            return False
        return d["partition"] in self.chosen if "partition" in d else bool(self.chosen)

    def _log(self, partition: int) -> PartitionLog:
        return self.logs.setdefault(partition, PartitionLog(partition))

    def _where(self, partition: int) -> str:
        return "" if len(self.chosen) == 1 else f" of partition {partition}"

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        for partition in self.chosen:
            if partition < self.count:
                self._log(partition)
        many = "one partition" if self.count == 1 else f"{self.count} partitions"
        return Told(f"Topic {self.topic} is created with {many}. Nothing is written yet.")

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        for partition in self.chosen:
            if partition < self.count:
                self._log(partition)
        text = f"{d['was']} → {d['partitions']}"
        return Told(
            f"{self.topic} grows from {d['was']} to {d['partitions']} partitions. What is written stays.",
            chapter=f"{d['partitions']} partitions",
            marks=self.mark("log", text),
        )

    def _see_TopicDeleted(self, event: Event, d: Detail) -> Told:
        self.logs.clear()
        return Told(f"Topic {self.topic} is deleted, with all its records.", chapter="topic deleted")

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        log, first, last = self._log(d["partition"]), d["base_offset"], d["last_offset"]
        log.append(first, last + 1)
        for offset, key, value, _timestamp in d.get("records", ()):
            log.records[offset] = [offset, self.letters.get(key, "?"), key, value, self.number]
            log.written_by[offset] = event.id
        log.appended_at = event.at
        who = self.asker(event)
        where = f"partition {d['partition']}"
        if first == last and d.get("records"):
            key, value = d["records"][0][1:3]
            what = ("a record" if value is None else quoted(value, 30)) + ("" if key is None else f" with key {key}")
            verb = f"{who} writes {what} to {where}" if who else f"{capital(what)} is written to {where}"
            sentence = f"{verb}: it gets offset {first}."
        else:
            many = f"{last - first + 1} records to {where}"
            sentence = f"{who or 'A producer'} writes {many}: they get offsets {first} to {last}."
        if len(self.chosen) == 1:
            sentence += f" The log end offset is {last + 1}."
        return Told(sentence, self.once("first record"), marks=self.mark("written", self._written(d)))

    def _written(self, d: Detail) -> str:
        first, last, records = d["base_offset"], d["last_offset"], d.get("records")
        if len(self.chosen) > 1:
            what = records[0][2] if first == last and records and records[0][2] else f"+{last - first + 1}"
            return f"{what[:12]} → P{d['partition']}"
        return (
            "".join(self.letters[record[1]] for record in records)
            if records and last - first < 3
            else f"+{last - first + 1}"
        )

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        log = self._log(d["partition"])
        log.high_watermark = d["high_watermark"]
        if log.high_watermark > log.log_end_offset:  # the append that raised it is told next
            return None
        if event.at == log.appended_at and log.high_watermark == log.log_end_offset:
            return QUIETLY
        return Told(
            f"The high watermark{self._where(d['partition'])} is {log.high_watermark}: consumers may read up to there."
        )

    def _see_SegmentRolled(self, event: Event, d: Detail) -> Told:
        self._log(d["partition"]).roll(d["base_offset"])
        return Told(
            f"A new segment begins at offset {d['base_offset']}{self._where(d['partition'])}, the last is closed: "
            f"{d['why']}.",
            self.once("first roll"),
            marks=self.mark("log", "roll"),
        )

    def _see_SegmentDeleted(self, event: Event, d: Detail) -> Told:
        self._log(d["partition"]).delete_segment(d["base_offset"])
        self.moved_start[d["partition"]] = event.id
        offsets = span_of(range(d["base_offset"], d["next_offset"]))
        return Told(
            f"The segment with {offsets}{self._where(d['partition'])} is deleted as a whole: {d['why']}.",
            self.once(f"deletion at {event.at}") and "a segment is deleted",
            marks=self.mark("log", "delete"),
        )

    def _see_LogStartOffsetAdvanced(self, event: Event, d: Detail) -> Told:
        log = self._log(d["partition"])
        already = log.log_start_offset == d["log_start_offset"]
        log.log_start_offset = d["log_start_offset"]
        if already:
            return QUIETLY
        self.moved_start[d["partition"]] = event.id
        return Told(
            f"The log start offset{self._where(d['partition'])} moves to {d['log_start_offset']}: {d['why']}.",
            "the log start moves",
            marks=self.mark("log", f"start {d['log_start_offset']}"),
        )

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        self._log(d["partition"]).truncate(d["log_end_offset"])
        return Told(
            f"The log{self._where(d['partition'])} is cut: it ends at offset {d['log_end_offset']} now.",
            "the log is cut",
            True,
        )

    def _see_LogRecovered(self, event: Event, d: Detail) -> Told | None:
        log = self._log(d["partition"])
        if log.log_end_offset == d["log_end_offset"] and not d["dropped_bytes"]:
            return None
        log.truncate(d["log_end_offset"])
        return Told(
            f"{event.node} recovers the log{self._where(d['partition'])} up to offset {d['log_end_offset']}: "
            f"{d['dropped_bytes']} bytes are dropped, because {d['why']}.",
            "recovery",
            d["dropped_bytes"] > 0,
        )

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told:
        return Told(
            f"{event.node} refuses a batch from {self.asker(event) or 'a producer'} with {d['error']}: {d['message']}.",
            d["error"], True, marks=self.mark("written", "refused", True),
        )  # fmt: skip

    # -- fold: readers

    def _reader(self, name: str) -> Position:
        if name not in self.readers:
            colour = actor_colour(actor_number(name, [*self.readers, name]))
            self.readers[name] = Position(name, colour)
        return self.readers[name]

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        return self._reads(event, event.node, d["partition"], [record[0] for record in d["records"]], d["position"])

    def _see_RecordsFetched(self, event: Event, d: Detail) -> Told | None:
        """The broker's side, for a trace without clients (`serve --trace`): a connection is a reader."""
        if self.clients_speak or not event.cause:
            return None
        name = self.asker(event) or f"client {event.cause[0]}"
        # a broker that decodes nothing knows only where the batches begin
        up_to = d["next_offset" if "next_offset" in d else "offset"]
        return self._reads(event, name, d["partition"], list(range(d["offset"], up_to)), up_to)

    def _reads(self, event: Event, name: str, partition: int, offsets: Sequence[int], position: int) -> Told:
        reader, log = self._reader(name), self._log(partition)
        reader.next[partition] = position
        reader.refused.pop(partition, None)
        lag = log.log_end_offset - position
        span = span_of(offsets)
        values = [log.records[o][3] for o in offsets if o in log.records]
        what = f" {quoted(values[0], 30)}," if len(offsets) == 1 and values and values[0] is not None else ""
        sentence = f"{name} reads{what} {span}{self._where(partition)}. It stands before {position}: its lag is {lag}."
        if not offsets:
            sentence = f"{name} stands before offset {position}{self._where(partition)}: its lag is {lag}."
        short = f"{offsets[0]}–{offsets[-1]}" if len(offsets) > 1 else f"{offsets[0]}" if offsets else ""
        if len(self.chosen) > 1:
            short = f"P{partition}:{short}" if len(offsets) != 1 or not values or not values[0] else f"{values[0][:12]}"
        because = log.written_by.get(offsets[0]) if offsets else None
        return Told(sentence, self.once(f"{name} reads"), because=because, marks=self.mark(lane_of(name), short))

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        reader = self._reader(event.node)
        refused = reader.refused.pop(d["partition"], None)
        reader.next[d["partition"]] = d["offset"]
        start = (event.at, d["offset"])
        if start == reader.started:  # the same of another partition
            return QUIETLY
        where = self._where(d["partition"])
        if not refused:
            reader.started, where = start, "" if len(self.chosen) == 1 else " of every partition"
        return Told(
            f"{event.node} {'starts over' if refused else 'starts'} at offset {d['offset']}{where}: {d['why']}.",
            None if refused else self.once(f"{event.node} starts"),
            because=reader.refusal if refused else None,
            marks=self.mark(lane_of(event.node), "starts over" if refused else "starts"),
        )

    def _see_PositionSought(self, event: Event, d: Detail) -> Told:
        reader = self._reader(event.node)
        reader.next[d["partition"]] = d["offset"]
        reader.refused.pop(d["partition"], None)
        return Told(
            f"{event.node} seeks: it stands before offset {d['offset']}{self._where(d['partition'])} now.",
            self.once(f"{event.node} seeks"),
            marks=self.mark(lane_of(event.node), f"seeks {d['offset']}"),
        )

    def _see_FetchRefused(self, event: Event, d: Detail) -> Told:
        name = self.asker(event) or "a reader"
        log, reader = self._log(d["partition"]), self._reader(name)
        reader.next[d["partition"]] = d["offset"]
        reader.refused[d["partition"]] = "out of range" if "RANGE" in str(d["error"]) else str(d["error"])
        reader.refusal = event.id
        why = ""
        if d["offset"] < log.log_start_offset:
            why = f", which is gone: the log starts at {log.log_start_offset}"
        elif d["offset"] > log.log_end_offset:
            why = f", beyond the log end offset {log.log_end_offset}"
        number = " (1)" if d["error"] == "OFFSET_OUT_OF_RANGE" else ""
        return Told(
            f"{name} asks for offset {d['offset']}{self._where(d['partition'])}{why}. "
            f"The broker answers {d['error']}{number}.",
            d["error"], True, because=self.moved_start.get(d["partition"]),
            marks=self.mark(lane_of(name), "refused", True),
        )  # fmt: skip

    # -- fold: nodes

    def _see_ClientClosed(self, event: Event, d: Detail) -> Told | None:
        return self._state(event, "closed", f"{event.node} closes.", None) if event.node in self.readers else None

    def _see_NodeCrashed(self, event: Event, d: Detail) -> Told:
        return self._state(event, "crashed", f"{event.node} crashes.", f"{event.node} crashes")

    def _see_NodeRestarted(self, event: Event, d: Detail) -> Told:
        return self._state(event, "", f"{event.node} is back.", f"{event.node} is back")

    def _see_NodeFrozen(self, event: Event, d: Detail) -> Told:
        return self._state(
            event, "frozen", f"{event.node} is frozen: it does nothing and hears nothing.", f"{event.node} is frozen"
        )

    def _see_NodeThawed(self, event: Event, d: Detail) -> Told:
        return self._state(event, "", f"{event.node} goes on.", None)

    def _see_NodeStopped(self, event: Event, d: Detail) -> Told:
        return self._state(event, "stopped", f"{event.node} stops: {d['message']}.", f"{event.node} stops")

    def _state(self, event: Event, state: str, sentence: str, chapter: str | None) -> Told:
        if event.node in self.readers:
            self.readers[event.node].state = state
            marks = self.mark(lane_of(event.node), state, state == "crashed")
        else:
            self.down[event.node] = state
            marks = self.mark("log", f"{event.node} {state or 'back'}", state == "crashed")
        return Told(sentence, chapter, state in ("crashed", "stopped"), marks=marks)


def span_of(offsets: Sequence[int]) -> str:
    if not offsets:
        return "nothing"
    return f"offset {offsets[0]}" if len(offsets) == 1 else f"offsets {offsets[0]} to {offsets[-1]}"


def _longest(mine: Sequence[Event]) -> int:
    """How many records the longest of these logs holds in the end."""
    ends: dict[int, tuple[int, int]] = {}
    for event in mine:
        if event.kind == "RecordsAppended":
            first, _ = ends.get(event.detail["partition"], (event.detail["base_offset"], 0))
            ends[event.detail["partition"]] = (first, event.detail["last_offset"] + 1)
    return max((last - first for first, last in ends.values()), default=0)
