"""Logs and their readers: the fold of the log's picture (log.py draws it)."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from minikafka.theatre.actors import actor_colour, actor_number
from minikafka.theatre.casting import OfTopic, busiest_partitions, legend, letters
from minikafka.theatre.pictures.log.state import (
    PartitionLog,
    Position,
    Reading,
    Written,
)
from minikafka.theatre.play import (
    QUIETLY,
    Cast,
    Detail,
    EventId,
    Says,
    Space,
    Told,
    picked,
)
from minikafka.theatre.text import capital, counted, quoted, span_of
from minikafka.trace import Event

GROWS = "grows"  # the mark where the topic gets more partitions
SAYS = {
    "TopicCreated": Says(
        "Topic {topic} is created with {many}. Nothing is written yet."
    ),
    "PartitionsCreated": Says(
        "Topic {topic} grows from {was} to {partitions} partitions. Records already"
        " written stay where they are.",
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
        "A new segment begins at offset {base_offset}{where}, and the old one is closed:"
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
    "OffsetFound": Says(
        "{node} asks for the first record{where} of {asked} or later: {found}.",
        first="{node} asks for {asked}",
        mark=("{lane}", "≥ {asked}?"),
    ),
    "PositionSought": Says(
        "{node} seeks, and is now at offset {offset}{where}.",
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
OWN_LANES = ("written", "log", "commits", "effects")


def lane_of(reader: str) -> str:
    """The key of a reader's lane: its name, with what no name holds where the picture
    has a lane of that key itself.
    """
    return f"{reader}\n" if reader in OWN_LANES else reader


class LogStory(OfTopic):
    """The story of a topic's partitions and their readers."""

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
        if partitions is None:
            partitions = busiest_partitions(mine, MOST_PARTITIONS)
        self.chosen = list(partitions)
        appended = [event for event in mine if event.kind == "RecordsAppended"]
        self.letters = letters(
            key for event in appended for _, key, *_ in event.detail.get("records", ())
        )
        self.logs: dict[int, PartitionLog] = {}
        self.count = 0
        self.readers: dict[str, Position] = {}
        self.clients_speak = any(event.kind == "RecordsPolled" for event in trace)
        kinds = {event.kind for event in mine}
        self.rolls = bool(kinds & {"SegmentRolled", "SegmentDeleted"})
        self.moved_start: dict[int, EventId] = {}
        if self.topic:
            self.title = f"{self._which()} of {self.topic}"
        self.most = _longest(appended)

    def _which(self) -> str:
        """The subject of the picture, for its title."""
        if len(self.chosen) == 1:
            return f"Partition {self.chosen[0]}"
        return "The partitions"

    def cast(self) -> Cast:
        colours = {reader.name: reader.colour for reader in self.readers.values()}
        who = {"legend": legend(self.letters), "readers": colours}
        return super().cast() | who

    def space(self) -> Space:
        return {
            "topic": self.topic,
            "partition_count": self.count,
            "partitions": [
                self._log_space(log) for _, log in sorted(self.logs.items())
            ],
            "readers": [self._reader_space(each) for each in self.readers.values()],
            "down": self.away,
        }

    def _log_space(self, log: PartitionLog) -> Space:
        """A log, with the records near its readers in full."""
        places = [reader.next for reader in self.readers.values()]
        here = [next_[log.partition] for next_ in places if log.partition in next_]
        return log.space(here)

    def _reader_space(self, reader: Position) -> Space:
        """A reader's positions, and its lag."""
        places = sorted(reader.next.items())
        lags = {
            str(partition): self._log(partition).log_end_offset - offset
            for partition, offset in places
        }
        refused = sorted(reader.refused.items())
        return picked(reader, "name", "state") | {
            "next": {str(partition): offset for partition, offset in places},
            "lag": lags,
            "refused": {str(partition): error for partition, error in refused},
        }

    # -- fold

    def details(self, event: Event) -> Detail:
        """Where it happened, who asked for it, and whose lane it is in."""
        partition = event.detail.get("partition")
        return super().details(event) | {
            "where": "" if partition is None else self._where(partition),
            "asker": self.asker(event) or "a producer",
            "lane": lane_of(event.node),
        }

    def _log(self, partition: int) -> PartitionLog:
        """The log of a partition, which may be new."""
        return self.logs.setdefault(partition, PartitionLog(partition))

    def _where(self, partition: int) -> str:
        """Which partition is meant, where there are several."""
        if len(self.chosen) == 1:
            return ""
        return f" of partition {partition}"

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.count = d["partitions"]
        for partition in (each for each in self.chosen if each < self.count):
            self._log(partition)
        return self.tell(event, many=counted(self.count, "partition", "one"))

    def _see_PartitionsCreated(self, event: Event, d: Detail) -> Told:
        told = self._see_TopicCreated(event, d)
        told.marks = [mark | {"same": GROWS} for mark in told.marks]
        return told

    def _do_TopicDeleted(self, event: Event, d: Detail) -> None:
        self.logs.clear()

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        log = self._log(d["partition"])
        first = d["base_offset"]
        last = d["last_offset"]
        log.append(first, last + 1)

        for offset, key, value, _timestamp in d.get("records", ()):
            letter = self.letters.get(key, "?")
            log.records[offset] = Written(offset, letter, key, value, self.number)
            log.written_by[offset] = event.id

        log.appended_at = event.at
        sentence = _appended(d, self.asker(event))
        if len(self.chosen) == 1:
            sentence += f" The log end offset is now {last + 1}."
        text, *fewer = self._written(d)
        marks = self.mark("written", text, fewer="".join(fewer) or None)
        return Told(sentence, self.once("first record"), marks=marks)

    def _written(self, d: Detail) -> Sequence[str]:
        """The words on the mark of an append, and fewer, where there is little room."""
        records = d.get("records")
        count = d["last_offset"] - d["base_offset"] + 1
        many = f"+{count}"

        if len(self.chosen) > 1:
            value = records[0][2] if count == 1 and records else None
            what = (value or many)[:12]
            return [f"{what} → P{d['partition']}", what]
        if records and count <= 3:
            return ["".join(self.letters[key] for _, key, *_ in records)]
        return [many]

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        log = self._log(d["partition"])
        log.high_watermark = d["high_watermark"]
        # the append that raised it is told next
        if log.high_watermark > log.log_end_offset:
            return None
        is_at_the_end = log.high_watermark == log.log_end_offset
        is_at_once = event.at == log.appended_at and is_at_the_end
        return QUIETLY if is_at_once else self.tell(event)

    def _do_SegmentRolled(self, event: Event, d: Detail) -> None:
        self._log(d["partition"]).roll(d["base_offset"])

    def _see_SegmentDeleted(self, event: Event, d: Detail) -> Told:
        partition = d["partition"]
        base = d["base_offset"]
        end = d["next_offset"]
        self._log(partition).delete_segment(base)
        self.moved_start[partition] = event.id
        told = self.tell(event, offsets=span_of(range(base, end)))
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
        """A reader by its name, which may be new."""
        colour = actor_colour(actor_number(name, [*self.readers, name]))
        return self.readers.setdefault(name, Position(name, colour))

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        offsets = [offset for offset, *_ in d["records"]]
        reading = Reading(event.node, d["partition"], offsets, d["position"])
        return self._reads(event, reading)

    def _see_RecordsFetched(self, event: Event, d: Detail) -> Told | None:
        """The broker's side, for a trace without clients (`serve --trace`): a
        connection is a reader.
        """
        if self.clients_speak or not event.cause:
            return None
        name = self.asker(event) or f"client {event.cause[0]}"
        # a broker that decodes nothing knows only where the batches begin
        up_to = d["next_offset" if "next_offset" in d else "offset"]
        offsets = range(d["offset"], up_to)
        return self._reads(event, Reading(name, d["partition"], offsets, up_to))

    def _reads(self, event: Event, reading: Reading) -> Told:
        name, partition, offsets, position = reading
        reader = self._reader(name)
        log = self._log(partition)
        reader.next[partition] = position
        reader.refused.pop(partition, None)
        lag = log.log_end_offset - position
        where = self._where(partition)
        known = [log.records[offset] for offset in offsets if offset in log.records]
        # of a single record
        value = known[0].value if known and len(offsets) == 1 else None

        if offsets:
            what = "" if value is None else f" {quoted(value, 30)},"
            sentence = f"{name} reads{what} {span_of(offsets)}{where},"
            sentence += f" and is now at offset {position}, with a lag of {lag}."
        else:
            sentence = f"{name} is at offset {position}{where}, with a lag of {lag}."
        return Told(
            sentence,
            self.once(f"{name} reads"),
            because=log.written_by.get(offsets[0]) if offsets else None,
            marks=self.mark(lane_of(name), self._read(partition, offsets, value)),
        )

    def _read(self, partition: int, offsets: Sequence[int], value: str | None) -> str:
        """The words on the mark of a read. value: of a single record."""
        several = len(self.chosen) > 1
        if several and value:
            return value[:12]
        short = ""
        if offsets:
            first = offsets[0]
            last = offsets[-1]
            short = f"{first}–{last}" if len(offsets) > 1 else f"{first}"
        return f"P{partition}:{short}" if several else short

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        reader = self._reader(event.node)
        lane = lane_of(event.node)
        partition = d["partition"]
        offset = d["offset"]
        refused = reader.refused.pop(partition, None)
        reader.next[partition] = offset
        start = (event.at, offset)
        if start == reader.started:  # the same of another partition
            return QUIETLY
        if refused:
            verb = "starts over"
            because = reader.refusal
            return self.tell(event, verb=verb, because=because, mark=(lane, verb))

        reader.started = start
        where = "" if len(self.chosen) == 1 else " of every partition"
        told = self.tell(event, verb="starts", where=where, mark=(lane, "starts"))
        told.chapter = self.once(f"{event.node} starts")
        return told

    def _do_PositionSought(self, event: Event, d: Detail) -> None:
        reader = self._reader(event.node)
        reader.next[d["partition"]] = d["offset"]
        reader.refused.pop(d["partition"], None)

    def _see_FetchRefused(self, event: Event, d: Detail) -> Told:
        name = self.asker(event) or "a reader"
        partition = d["partition"]
        offset = d["offset"]
        error = str(d["error"])
        log = self._log(partition)
        reader = self._reader(name)
        reader.next[partition] = offset
        reader.refused[partition] = "out of range" if "RANGE" in error else error
        reader.refusal = event.id

        gone = ""
        if offset < log.log_start_offset:
            gone = f", which is gone: the log starts at {log.log_start_offset}"
        elif offset > log.log_end_offset:
            gone = f", beyond the log end offset {log.log_end_offset}"
        return self.tell(
            event,
            who=name,
            gone=gone,
            number=" (1)" if error == "OFFSET_OUT_OF_RANGE" else "",
            because=self.moved_start.get(partition),
            mark=(lane_of(name), "refused", True),
        )

    # -- fold: nodes

    def _see_life(self, event: Event, life: str) -> Told | None:
        reader = self.readers.get(event.node)
        is_trouble = life == "crashed"

        if reader is not None:
            reader.state = life
            return self.tell(event, mark=(lane_of(event.node), life, is_trouble))
        if event.kind == "ClientClosed":
            return None
        self.down[event.node] = life
        words = f"{event.node} {life or 'back'}"
        return self.tell(event, mark=("log", words, is_trouble))


def _appended(d: Detail, who: str | None) -> str:
    """A sentence that says which producer wrote what where."""
    first = d["base_offset"]
    last = d["last_offset"]
    where = f"partition {d['partition']}"

    if first != last or not d.get("records"):
        many = f"{last - first + 1} records to {where}"
        offsets = f"offsets {first} to {last}"
        return f"{who or 'A producer'} writes {many}, at {offsets}."

    _, key, value, *_ = d["records"][0]
    what = "a record" if value is None else quoted(value, 30)
    if key is not None:
        what += f" with key {key}"
    place = f"{where}, at offset {first}"
    if who:
        return f"{who} writes {what} to {place}."
    return f"{capital(what)} is written to {place}."


def _longest(appended: Sequence[Event]) -> int:
    """How many records the longest of these logs holds in the end."""
    first: dict[int, int] = {}
    end: dict[int, int] = {}
    for event in appended:
        partition = event.detail["partition"]
        first.setdefault(partition, event.detail["base_offset"])
        end[partition] = event.detail["last_offset"] + 1
    return max((end[partition] - first[partition] for partition in first), default=0)
