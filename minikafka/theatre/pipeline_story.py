"""What a trace tells of a producer's records on their way: the fold of the pipeline's picture (pipeline.py draws it).

A record waits in a batch, the batch travels in a request, the broker writes it, an answer comes back. A batch whose
answer does not come goes back to the front and leaves again. The story keeps apart what the log holds and what the
producer knows of it, because everything that goes wrong here goes wrong between the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minikafka.theatre.casting import busiest_partitions, busiest_topic, legend, letters
from minikafka.theatre.pipeline_batches import Batch, Futures, Request
from minikafka.theatre.play import LIVES, Cast, Detail, Says, Space, Story, Told
from minikafka.theatre.text import capital, counted, quoted
from minikafka.trace import Event, moment

MOST_PARTITIONS = 3
SEND, REQUESTS, LOG, ANSWERS = "send", "requests", "log", "answers"
SAYS = {
    "TopicCreated": Says("Topic {topic} is created. Its log is empty."),
    "TopicDeleted": Says("Topic {topic} is deleted, with all its records.", "topic deleted"),
    "BatchFilled": Says("Batch {number} is full: {many}, {size_bytes} bytes. It need not linger.",
                        first="a full batch", mark=(SEND, "full")),
    "DuplicateRecognized": Says(
        "The broker knows batch {number}: this producer's sequence number {base_sequence} is at offset {base_offset}. "
        "It writes nothing and answers as it did before.", first="recognised", mark=(LOG, "known")),
    "RecordsAcknowledged": Says("{producer} hears that batch {number} is written{where}.", first="acknowledged",
                                mark=(ANSWERS, "ok")),
    "BatchRetried": Says("{reason_why}{unsure} takes batch {number} back and tries again in {backoff_ms} ms.",
                         first="taken back", mark=(ANSWERS, "none", True)),
    "SendFailed": Says("{producer} gives batch {number} up: {reason_why}. The program is told that it failed.{but}",
                       trouble=True, first="given up", mark=(ANSWERS, "failed", True)),
    "NodeCrashed": Says("{node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeFrozen": Says("{node} stands still: it does nothing and hears nothing.", "{node} stands still"),
    "NodeThawed": Says("{node} goes on.", "{node} goes on"),
}  # fmt: skip


class PipelineStory(Story):
    name = "pipeline"
    says = SAYS

    def __init__(self, trace: Sequence[Event], *, topic: str | None = None, producer: str | None = None,
                 **options: Any) -> None:  # fmt: skip
        super().__init__(trace, **options)
        sent = [event for event in trace if event.kind == "PartitionChosen" and "batch" in event.detail]
        self.topic = topic or busiest_topic(sent) or busiest_topic(trace)
        sent = [event for event in sent if event.detail["topic"] == self.topic]
        busiest = Counter(event.node for event in sent).most_common(1)
        self.producer = producer or (busiest[0][0] if busiest else "")
        mine = [event for event in trace if event.detail.get("topic") == self.topic]
        self.chosen = busiest_partitions(mine, MOST_PARTITIONS)
        words = [(e.detail["value"], e.detail["key"]) for e in sent if e.node == self.producer]
        self.by_value = len({value for value, _ in words}) > 1 or not any(key for _, key in words)
        self.letters = letters(value if self.by_value else key for value, key in words)
        self.title = f"{self.producer}'s pipeline to {self.topic}" if self.producer else "The producer's pipeline"
        started = (e for e in trace if e.kind == "ClientStarted" and e.node == self.producer)
        self.config: dict[str, Any] = next((event.detail.get("config", {}) for event in started), {})
        self.records: list[list[Any]] = []  # of each record sent: letter, key, value
        self.batches: dict[int, Batch] = {}  # by number; a producer that starts again counts anew
        self.buffer: list[Batch] = []  # batches that wait, the next to leave first
        self.in_flight: dict[tuple[Any, Any], Request] = {}
        self.made: dict[tuple[Any, Any], Request] = {}  # every request; one may arrive after it was given up
        self.broken: set[Any] = set()  # connections on which nothing arrives any more
        self.logs: dict[int, list[list[Any]]] = {}  # partition -> [offset, record or None, "" | again | late]
        self.copies: Counter[int] = Counter()
        self.lost: dict[int, None] = {}
        self.late: dict[int, None] = {}
        self.futures = Futures()
        self.cut = False  # the connection is lost, and there is no other yet
        self.stuck: list[Any] = []  # what waited too long, now: row in flight, batch, and where it got lost
        self.acknowledged = self.failed = self.requests_sent = 0

    def cast(self) -> Cast:
        keys = "" if self.by_value else legend(self.letters, 4)
        return super().cast() | self.shown("producer", "chosen") | {"legend": keys}

    def see(self, event: Event) -> Told | None:
        self.stuck = []
        return super().see(event)

    def space(self) -> Space:
        untrue = self.futures.untrue(self.copies, self.lost)
        return {
            "producer": self.producer,
            "config": dict(self.config),
            "buffer": [batch.space(self.records) for batch in self.buffer],
            "in_flight": [request.space(self.records) for request in self.in_flight.values()],
            "logs": [{"partition": p, "end": log[-1][0] + 1 if log else 0, "records": self._cells(log)}
                     for p, log in sorted(self.logs.items())],
            "sent": len(self.records),
            "requests": self.requests_sent,
            "cut": self.cut,
            "stuck": self.stuck,
            "told": self.futures.space([letter for letter, _, _ in self.records], untrue),
            "untrue": len(untrue),
            "acknowledged": self.acknowledged,
            "failed": self.failed,
            "twice": sum(1 for copies in self.copies.values() if copies > 1),
            "late": len(self.late),
            "lost": len([n for n in self.lost if not self.copies[n]]),
            "down": self.away,
        }  # fmt: skip

    def _cells(self, log: list[list[Any]]) -> list[list[Any]]:
        """The latest records: offset, number of the record, letter, value, "" | again | late."""
        said = {n: [letter, value] for n, (letter, _, value) in enumerate(self.records)}
        return [[offset, n, *said.get(n, [None, None]), state] for offset, n, state in log[-40:]]

    # -- fold: what the producer does

    def is_mine(self, event: Event) -> bool:
        if event.detail.get("topic", self.topic) != self.topic:
            return False
        if event.kind in _OF_A_BATCH and event.detail["batch"] not in self.batches:
            return False
        return event.kind not in _THE_PRODUCERS or event.node == self.producer

    def _sweep(self) -> None:
        """With acks=0 nobody waits: what is lost is in flight no longer once the next thing happens."""
        over = [key for key, request in self.in_flight.items() if request.acks == 0 and request.state != "on its way"]
        for key in over:
            del self.in_flight[key]

    def _names(self, records: Sequence[int]) -> str:
        """The letters of some records, for a mark."""
        return " ".join(str(self.records[n][0]) for n in records) if len(records) <= 3 else f"+{len(records)}"

    def _see_ClientStarted(self, event: Event, d: Detail) -> None:
        self.config = d.get("config", {})

    def _see_TopicCreated(self, event: Event, d: Detail) -> Told:
        self.logs = {partition: [] for partition in self.chosen}
        return self.tell(event)

    def _see_TopicDeleted(self, event: Event, d: Detail) -> Told:
        self.logs.clear()
        return self.tell(event)

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told | None:
        if "batch" not in d:
            return None
        self._sweep()
        number = len(self.records)
        word = d["value"] if self.by_value else d["key"]
        self.records.append([self.letters[word], d["key"], d["value"]])
        batch = self.batches.get(d["batch"])
        what = quoted(d["value"], 24) if d["value"] else ""
        if batch is None:
            batch = self.batches[d["batch"]] = Batch(d["batch"], d["partition"])
            self.buffer.append(batch)
            linger_ms = self.config.get("linger_ms")
            joins = f"begins batch {batch.number}"
            joins += f", which may linger {linger_ms} ms for company" if linger_ms else ""
        else:
            joins = f"joins batch {batch.number}"
        batch.records.append(number)
        sentence = f"send({what}) returns at once. The record {joins}."
        return Told(sentence, marks=self.mark(SEND, str(self.records[number][0])))

    def _see_BatchFilled(self, event: Event, d: Detail) -> Told | None:
        batch = self.batches[d["batch"]]
        if batch not in self.buffer:
            return None
        batch.state = "full"
        return self.tell(event, number=batch.number, many=counted(d["count"], "record", "one"))

    def _see_BatchSent(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._sweep()
        key = (d["connection"], d["correlation_id"])
        if key not in self.in_flight:
            self.in_flight[key] = self.made[key] = Request(key, d["attempt"], d["acks"])
            self.requests_sent += 1
        request = self.in_flight[key]
        request.batches.append(batch)
        request.open.append(batch)
        if batch in self.buffer:
            self.buffer.remove(batch)
        batch.base_sequence, batch.sent = d["base_sequence"], event.id
        records = counted(d["count"], "record", "one")
        if d["attempt"] > 1:
            sentence, chapter = f"Batch {batch.number} leaves once more, attempt {d['attempt']}.", "tried again"
        else:
            sentence, chapter = f"Batch {batch.number} leaves with {records}: {d['why']}.", "the first request"
        if d["acks"] == 0:
            sentence += " acks=0: for the program it is done, whatever happens now."
            self.acknowledged += d["count"]
            self.futures.tell(batch.records, True)
        self.cut = d["connection"] in self.broken
        text = f"try {d['attempt']}" if d["attempt"] > 1 else self._names(batch.records)
        if self.cut:
            request.state = "lost"
            sentence += f" {self.producer} doesn't know yet that the connection is broken: it won't arrive."
            self._let_go(request)
        first = None if self.cut else self.once(chapter)
        return Told(sentence, first, self.cut, marks=self.mark(REQUESTS, text, self.cut))

    def _let_go(self, request: Request) -> None:
        """With acks=0 what is lost now is lost for good."""
        if request.acks == 0:
            for batch in request.batches:
                self.lost.update(dict.fromkeys(batch.records))

    def _see_MessageLost(self, event: Event, d: Detail) -> Told | None:
        if d.get("api") != "Produce" or self.producer not in (d["source"], d["target"]):
            return None
        on_it = [request for request in self.in_flight.values() if request.key[0] == d["connection"]]
        self.broken.add(d["connection"])
        if not on_it:
            return None
        self.cut = True
        if d["answer"]:
            request = next((each for each in on_it if each.state != "on its way"), on_it[0])
            request.state = "answer lost"
            sentence = f"The broker's answer is lost, and the connection with it. What can {self.producer} know now?"
            return Told(sentence, self.once("an answer is lost"), True, marks=self.mark(ANSWERS, "lost", True))
        request, light = on_it[-1], list[str]()
        request.state, first = "lost", request.batches[0]
        self._let_go(request)
        numbers = [str(batch.number) for batch in request.batches]
        which = f"batch{'es' * (len(numbers) > 1)} {', '.join(numbers)}"
        sentence = f"The request with {which} is lost, and the connection with it."
        if request.acks == 0:
            sentence += " Nobody will ever know."
            light = [*self._light("truth", first, first.records), "lamp/lost", f"wire/{first.number}"]
        marks = self.mark(REQUESTS, "lost", True)
        return Told(sentence, self.once("a request is lost"), True, first.sent, marks, light)

    def _light(self, lamp: str, batch: Batch, records: Sequence[int]) -> list[str]:
        """The first time, the keys of what a red lamp is about: records in the log, and what the program was told."""
        if not self.once(f"light on {lamp}"):
            return []
        written = [offset for offset, n, _ in self.logs.get(batch.partition, ()) if n in records]
        cells = [f"log/{batch.partition}/{offset}" for offset in written]
        return [*cells, *(f"told/{n}" for n in records if lamp == "truth"), f"lamp/{lamp}", "caption"]

    # -- fold: the broker

    def _of(self, event: Event, partition: int) -> tuple[Request | None, Batch | None]:
        """The request that the broker was serving, and its batch for this partition."""
        request = self.made.get(event.cause) if event.cause else None
        batches = request.batches if request else []
        return request, next((batch for batch in batches if batch.partition == partition), None)

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = d["partition"]
        if partition not in self.chosen:
            return None
        log = self.logs.setdefault(partition, [])
        request, batch = self._of(event, partition)
        count = d["last_offset"] - d["base_offset"] + 1
        if request is None or batch is None:
            log += [[offset, None, ""] for offset in range(d["base_offset"], d["last_offset"] + 1)]
            who = self.asker(event) or "Somebody else"
            return Told(f"{who} writes {counted(count, 'record', 'one')}.", marks=self.mark(LOG, f"+{count}"))
        if request.state == "on its way":
            request.state = "answer lost" if request.key[0] in self.broken and request.acks != 0 else "written"
        if request.acks == 0:
            self.in_flight.pop(request.key, None)
        highest = max((n for _, n, _ in log if n is not None and n not in batch.records), default=-1)
        again = [n for n in batch.records if self.copies[n]]
        late = [n for n in batch.records if n < highest]
        self.late.update(dict.fromkeys(late))
        for offset, n in enumerate(batch.records, d["base_offset"]):
            log.append([offset, n, "again" if self.copies[n] else "late" if n < highest else ""])
            self.copies[n] += 1
        offsets = f"offset {d['base_offset']}" if count == 1 else f"offsets {d['base_offset']} to {d['last_offset']}"
        sentence = f"The broker writes batch {batch.number}: {offsets}."
        marks = self.mark(LOG, self._names(batch.records), bool(again or late))
        chapter, lamp, lit = "written", "", []
        if again:
            twice = "The record is" if len(again) == 1 else "Its records are"
            sentence += f" To the broker this is a new batch like any other. {twice} in the log twice now."
            chapter, lamp, lit = "written twice", "once", again
        elif batch.state == "failed":
            sentence += " The program was told that it failed."
            chapter, lamp, lit = "written after all", "truth", batch.records
        elif late:
            sentence += f" It was sent before what is already there: {self.records[highest][0]} has overtaken it."
            chapter, lamp, lit = "overtaken", "order", [highest, *late]
        light = self._light(lamp, batch, lit) if lamp else ()
        return Told(sentence, self.once(chapter), bool(lamp), batch.sent, marks, light)

    def _see_DuplicateRecognized(self, event: Event, d: Detail) -> Told | None:
        request, batch = self._of(event, d["partition"])
        if request is None or batch is None:
            return None
        request.state = "known"
        return self.tell(event, number=batch.number, base_sequence=batch.base_sequence, because=batch.sent)

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told | None:
        request, batch = self._of(event, d["partition"])
        if request is None or batch is None:
            return None
        request.state = "refused"
        self._let_go(request)
        sentence = f"The broker refuses batch {batch.number} with {d['error']}: {d['message']}."
        return Told(sentence, self.once(d["error"]), True, batch.sent, self.mark(LOG, "refused", True))

    # -- fold: what the producer learns

    def _leave(self, batch: Batch) -> None:
        """The batch is in flight no longer; a request that carries no other goes with it."""
        for key, request in list(self.in_flight.items()):
            if batch in request.open:
                request.open.remove(batch)
                if not request.open:
                    del self.in_flight[key]

    def _see_BatchRetried(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self.cut = self.cut or d["reason"] != "refused"
        if d["reason"] == "request_timeout_ms":
            rows = [(request, each) for request in self.in_flight.values() for each in request.open]
            self.stuck = [
                [row, batch.space(self.records), "answer lost" if request.state in ("written", "known") else "lost"]
                for row, (request, each) in enumerate(rows) if each is batch
            ]  # fmt: skip
        self._leave(batch)
        batch.state = f"again at {moment(event.at + d['backoff_ms'])}"
        place = 0
        while place < len(self.buffer) and 0 <= self.buffer[place].base_sequence < batch.base_sequence:
            place += 1  # sequence numbers keep the order; without them the last one taken back leaves first
        self.buffer.insert(place, batch)
        unsure = f". Written or not? {self.producer} can't tell. It"
        unsure = f", which may pass. {self.producer}" if d["reason"] == "refused" else unsure
        return self.tell(event, number=batch.number, reason_why=capital(d["why"]), unsure=unsure)

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._leave(batch)
        self.acknowledged += d["count"]
        self.futures.tell(batch.records, True)
        where = f", from offset {d['base_offset']} on. Its futures are done" if d["base_offset"] >= 0 else ""
        return self.tell(event, producer=self.producer, number=batch.number, where=where)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._leave(batch)
        if batch in self.buffer:
            self.buffer.remove(batch)
        batch.state = "failed"
        self.failed += d["count"]
        self.futures.tell(batch.records, False)
        missing = [n for n in batch.records if not self.copies[n]]
        self.lost.update(dict.fromkeys(missing))
        light = [] if missing else self._light("truth", batch, batch.records)
        return self.tell(event, producer=self.producer, number=batch.number, reason_why=d["message"] or d["error"],
                         but="" if missing else " But the log holds it.", light=light)  # fmt: skip

    # -- fold: nodes

    def _see_life(self, event: Event, d: Detail) -> Told:
        state, broker = LIVES[event.kind], event.node.startswith("broker")
        self.down[event.node] = state
        if state == "crashed" and broker:
            for request in self.in_flight.values():
                self.cut = True
                if request.state == "on its way":
                    request.state = "lost"
                    self._let_go(request)
        elif state == "crashed" and event.node == self.producer:
            self.lost.update(dict.fromkeys(n for batch in self.buffer for n in batch.records))
            self.buffer.clear()
        elif event.kind == "NodeRestarted" and event.node == self.producer:
            self.batches.clear()
            self.in_flight.clear()
        return self.tell(event, mark=(LOG if broker else SEND, state or "back", state == "crashed"))


_OF_A_BATCH = ("BatchFilled", "BatchSent", "BatchRetried", "RecordsAcknowledged", "SendFailed")
_THE_PRODUCERS = ("ClientStarted", "PartitionChosen", *_OF_A_BATCH)
