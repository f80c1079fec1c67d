"""What a trace tells of a producer's records on their way: the fold of the pipeline's
picture (pipeline.py draws it).

A record waits in a batch, the batch travels in a request, the broker writes it, an
answer comes back. A batch whose answer does not come goes back to the front and leaves
again. The story keeps apart what the log holds and what the producer knows of it,
because everything that goes wrong here goes wrong between the two.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.casting import OfTopic, busiest_partitions, legend, letters
from minikafka.theatre.play import LIVES, Detail, Says, Space, Told, picked
from minikafka.theatre.text import capital, counted, quoted, span_of
from minikafka.trace import Event, moment

MOST_PARTITIONS = 3
SEND, REQUESTS, LOG, ANSWERS = "send", "requests", "log", "answers"
_OF_A_BATCH = (
    "BatchFilled",
    "BatchSent",
    "BatchRetried",
    "RecordsAcknowledged",
    "SendFailed",
)
_THE_PRODUCERS = ("ClientStarted", "PartitionChosen", *_OF_A_BATCH)
SAYS = {
    "TopicCreated": Says("Topic {topic} is created. Its log is empty."),
    "TopicDeleted": Says(
        "Topic {topic} is deleted, with all its records.", "topic deleted"
    ),
    "BatchFilled": Says(
        "Batch {batch} is full: {many}, {size_bytes} bytes. It need not linger.",
        first="a full batch",
        mark=(SEND, "full"),
    ),
    "DuplicateRecognized": Says(
        "The broker knows batch {batch}: this producer's sequence number"
        " {base_sequence} is at offset {base_offset}. It writes nothing and answers as"
        " it did before.",
        first="recognised",
        mark=(LOG, "known"),
    ),
    "BatchRefused": Says(
        "The broker refuses batch {batch} with {error}: {message}.",
        trouble=True,
        first="{error}",
        mark=(LOG, "refused", True),
    ),
    "RecordsAcknowledged": Says(
        "{node} hears that batch {batch} is written{where}.",
        first="acknowledged",
        mark=(ANSWERS, "ok"),
    ),
    "BatchRetried": Says(
        "{reason_why}{unsure} takes batch {batch} back and tries again in"
        " {backoff_ms} ms.",
        first="taken back",
        mark=(ANSWERS, "none", True),
    ),
    "SendFailed": Says(
        "{node} gives batch {batch} up: {reason_why}. The program is told that it"
        " failed.{but}",
        trouble=True,
        first="given up",
        mark=(ANSWERS, "failed", True),
    ),
    "NodeCrashed": Says("{node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says("{node} is back.", "{node} is back"),
    "NodeFrozen": Says(
        "{node} stands still: it does nothing and hears nothing.", "{node} stands still"
    ),
    "NodeThawed": Says("{node} goes on.", "{node} goes on"),
    "LinkCut": Says(
        "The network between {one} and {other} is cut: nothing passes.",
        "the network is cut",
        True,
    ),
    "LinkHealed": Says(
        "The network between {one} and {other} heals: what was held back arrives.",
        "it heals",
    ),
}


@dataclass(eq=False)
class Batch:
    """A batch as the producer holds it. records: numbers in the order of send()."""

    number: int
    partition: int
    records: list[int] = field(default_factory=list)
    state: str = "lingers"
    base_sequence: int = -1
    sent: tuple[str, int] | None = None

    def space(self, records: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """records: letter, key and value of every record sent."""
        where = {
            "batch": self.number,
            "partition": self.partition,
            "count": len(self.records),
        }
        return where | {
            "records": [[n, *records[n]] for n in self.records[:8]],
            "state": self.state,
        }


@dataclass
class Request:
    """One Produce request. batches: what it carries; open: those of them that are in
    flight still.

    state: on its way, written, known, refused, lost, answer lost.
    """

    key: tuple[Any, Any]
    attempt: int
    acks: Any
    batches: list[Batch] = field(default_factory=list)
    open: list[Batch] = field(default_factory=list)
    state: str = "on its way"

    def space(self, records: Sequence[Sequence[Any]]) -> dict[str, Any]:
        return picked(self, "state", "attempt", "acks") | {
            "batches": [batch.space(records) for batch in self.open]
        }


class PipelineStory(OfTopic):
    name, title = "pipeline", "The producer's pipeline"
    says = SAYS
    shows = ("producer", "chosen", "legend")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        producer: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        sent = [
            event
            for event in trace
            if event.kind == "PartitionChosen" and "batch" in event.detail
        ]
        mine = self.choose(trace, topic, sent)
        sent = [event for event in sent if event.detail["topic"] == self.topic]
        busiest = Counter(event.node for event in sent).most_common(1)
        self.producer = producer or (busiest[0][0] if busiest else "")
        self.chosen = busiest_partitions(mine, MOST_PARTITIONS)
        words = [
            (e.detail["value"], e.detail["key"])
            for e in sent
            if e.node == self.producer
        ]
        self.by_value = len({value for value, _ in words}) > 1 or not any(
            key for _, key in words
        )
        self.letters = letters(value if self.by_value else key for value, key in words)
        self.legend = "" if self.by_value else legend(self.letters, 4)
        self.title = (
            f"{self.producer}'s pipeline to {self.topic}"
            if self.producer
            else self.title
        )
        started = (
            e for e in trace if e.kind == "ClientStarted" and e.node == self.producer
        )
        self.config: dict[str, Any] = next(
            (event.detail.get("config", {}) for event in started), {}
        )
        self.records: list[list[Any]] = []  # of each record sent: letter, key, value
        # by number; a producer that starts again counts anew
        self.batches: dict[int, Batch] = {}
        self.buffer: list[Batch] = []  # batches that wait, the next to leave first
        self.in_flight: dict[tuple[Any, Any], Request] = {}
        # every request; one may arrive after it was given up
        self.made: dict[tuple[Any, Any], Request] = {}
        self.broken: set[Any] = set()  # connections on which nothing arrives any more
        # partition -> [offset, record or None, "" | again | late]
        self.logs: dict[int, list[list[Any]]] = {}
        self.copies: Counter[int] = Counter()
        self.lost: set[int] = set()
        self.late: set[int] = set()
        # what the program was told of a record: done, or failed
        self.heard: dict[int, bool] = {}
        self.cut = False  # the connection is lost, and there is no other yet
        self.parted = False  # by hand: whatever is sent waits until that heals
        # what waited too long, now: row in flight, batch, and where it got lost
        self.stuck: list[Any] = []

    def see(self, event: Event) -> Told | None:
        self.stuck = []
        return super().see(event)

    def space(self) -> Space:
        told, outcomes = self._told(), list(self.heard.values())
        said = {n: [letter, value] for n, (letter, _, value) in enumerate(self.records)}
        return (
            picked(self, "producer", "config")
            | {
                "buffer": [batch.space(self.records) for batch in self.buffer],
                "in_flight": [
                    request.space(self.records) for request in self.in_flight.values()
                ],
                # The latest records: offset, number of the record, letter, value, "" |
                # again | late.
                "logs": [
                    {
                        "partition": p,
                        "end": log[-1][0] + 1 if log else 0,
                        "records": [
                            [offset, n, *said.get(n, [None, None]), state]
                            for offset, n, state in log[-40:]
                        ],
                    }
                    for p, log in sorted(self.logs.items())
                ],
                "sent": len(self.records),
                "requests": len(self.made),
                "cut": self.cut or self.parted,
                "stuck": self.stuck,
                # the latest, and what is untrue
                "told": [each for each in told if each[3] or each[0] >= len(told) - 24],
                "untrue": sum(each[3] for each in told),
                "acknowledged": outcomes.count(True),
                "failed": outcomes.count(False),
                "twice": sum(1 for copies in self.copies.values() if copies > 1),
                "late": len(self.late),
                "lost": len([n for n in self.lost if not self.copies[n]]),
                "down": self.away,
            }
            | ({"parted": True} if self.parted else {})
        )

    def _told(self) -> list[list[Any]]:
        """What the program was told of each record, and whether it is untrue: failed
        and in the log, or done and lost. (Done before it is written is acks=0, and may
        come true.)
        """
        written, words = set(+self.copies), {True: "done", False: "failed", None: ""}
        wrong = {True: self.lost - written, False: written, None: set[int]()}
        told = [
            (n, letter, self.heard.get(n))
            for n, (letter, _, _) in enumerate(self.records)
        ]
        return [[n, letter, words[done], n in wrong[done]] for n, letter, done in told]

    # -- fold: what the producer does

    def is_mine(self, event: Event) -> bool:
        d, kind = event.detail, event.kind
        if d.get("topic", self.topic) != self.topic or (
            kind in _THE_PRODUCERS and event.node != self.producer
        ):
            return False
        if kind.startswith("Link"):
            return self.producer in (d["one"], d["other"])
        return kind not in _OF_A_BATCH or d["batch"] in self.batches

    def _sweep(self) -> None:
        """With acks=0 nobody waits: what is lost is in flight no longer once the next
        thing happens.
        """
        waits = [
            each
            for each in self.in_flight.values()
            if each.acks != 0 or each.state == "on its way"
        ]
        self.in_flight = {request.key: request for request in waits}

    def _names(self, records: Sequence[int]) -> str:
        """The letters of some records, for a mark."""
        return (
            " ".join(str(self.records[n][0]) for n in records)
            if len(records) <= 3
            else f"+{len(records)}"
        )

    def _see_ClientStarted(self, event: Event, d: Detail) -> None:
        self.config = d.get("config", {})

    def _do_TopicCreated(self, event: Event, d: Detail) -> None:
        self.logs = {partition: [] for partition in self.chosen}

    def _do_TopicDeleted(self, event: Event, d: Detail) -> None:
        self.logs.clear()

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told | None:
        if "batch" not in d:
            return None
        self._sweep()
        number = len(self.records)
        word = d["value"] if self.by_value else d["key"]
        self.records.append([self.letters[word], d["key"], d["value"]])
        batch = self.batches.get(d["batch"])
        what = quoted(d["value"], 24) if d["value"] else ""
        joins = f"joins batch {d['batch']}"
        if batch is None:
            batch = self.batches[d["batch"]] = Batch(d["batch"], d["partition"])
            self.buffer.append(batch)
            linger_ms = self.config.get("linger_ms")
            joins = f"begins batch {batch.number}"
            joins += (
                f", which may linger {linger_ms} ms for company" if linger_ms else ""
            )
        batch.records.append(number)
        sentence = f"send({what}) returns at once. The record {joins}."
        return Told(sentence, marks=self.mark(SEND, str(self.records[number][0])))

    def _see_BatchFilled(self, event: Event, d: Detail) -> Told | None:
        batch = self.batches[d["batch"]]
        if batch not in self.buffer:
            return None
        batch.state = "full"
        return self.tell(event, many=counted(d["count"], "record", "one"))

    def _see_BatchSent(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._sweep()
        key = (d["connection"], d["correlation_id"])
        request = self.in_flight[key] = self.made.setdefault(
            key, Request(key, d["attempt"], d["acks"])
        )
        request.batches.append(batch)
        request.open.append(batch)
        self.buffer = [each for each in self.buffer if each is not batch]
        batch.base_sequence, batch.sent = d["base_sequence"], event.id
        if d["attempt"] > 1:
            sentence, chapter = (
                f"Batch {batch.number} leaves once more, attempt {d['attempt']}.",
                "tried again",
            )
        else:
            many, chapter = counted(d["count"], "record", "one"), "the first request"
            sentence = f"Batch {batch.number} leaves with {many}: {d['why']}."
        if d["acks"] == 0:
            sentence += " acks=0: for the program it is done, whatever happens now."
            self.heard |= dict.fromkeys(batch.records, True)
        self.cut = d["connection"] in self.broken
        text = f"try {d['attempt']}" if d["attempt"] > 1 else self._names(batch.records)
        if self.cut:
            request.state = "lost"
            sentence += (
                f" {self.producer} doesn't know yet that the connection is broken: it"
                " won't arrive."
            )
            self._let_go(request)
        first = None if self.cut else self.once(chapter)
        return Told(
            sentence, first, self.cut, marks=self.mark(REQUESTS, text, self.cut)
        )

    def _let_go(self, request: Request) -> None:
        """With acks=0 what is lost now is lost for good."""
        self.lost.update(
            n for batch in request.batches for n in batch.records if request.acks == 0
        )

    def _see_MessageLost(self, event: Event, d: Detail) -> Told | None:
        if d.get("api") != "Produce" or self.producer not in (d["source"], d["target"]):
            return None
        on_it = [
            request
            for request in self.in_flight.values()
            if request.key[0] == d["connection"]
        ]
        self.broken.add(d["connection"])
        if not on_it:
            return None
        self.cut = True
        if d["answer"]:
            request = next(
                (each for each in on_it if each.state != "on its way"), on_it[0]
            )
            request.state = "answer lost"
            sentence = (
                "The broker's answer is lost, and the connection with it. What can"
                f" {self.producer} know now?"
            )
            return Told(
                sentence,
                self.once("an answer is lost"),
                True,
                marks=self.mark(ANSWERS, "lost", True),
            )
        request, light = on_it[-1], list[str]()
        request.state, first = "lost", request.batches[0]
        self._let_go(request)
        numbers, more = (
            ", ".join(str(batch.number) for batch in request.batches),
            "es" * (len(request.batches) > 1),
        )
        sentence = (
            f"The request with batch{more} {numbers} is lost, and the connection"
            " with it."
        )
        if request.acks == 0:
            sentence += " Nobody will ever know."
            light = [
                *self._light("truth", first, first.records),
                "lamp/lost",
                f"wire/{first.number}",
            ]
        marks = self.mark(REQUESTS, "lost", True)
        return Told(
            sentence, self.once("a request is lost"), True, first.sent, marks, light
        )

    def _light(self, lamp: str, batch: Batch, records: Sequence[int]) -> list[str]:
        """The first time, the keys of what a red lamp is about: records in the log, and
        what the program was told.
        """
        written = [
            offset
            for offset, n, _ in self.logs.get(batch.partition, ())
            if n in records
        ]
        keys = [f"log/{batch.partition}/{offset}" for offset in written]
        keys += [f"told/{n}" for n in records if lamp == "truth"]
        return self.first(f"light on {lamp}", *keys, f"lamp/{lamp}", "caption")

    # -- fold: the broker

    def _of(self, event: Event) -> tuple[Request, Batch] | None:
        """The request that the broker was serving, and its batch for the event's
        partition.
        """
        request = self.made.get(event.cause) if event.cause else None
        mine = (
            [
                batch
                for batch in request.batches
                if batch.partition == event.detail["partition"]
            ]
            if request
            else []
        )
        return (request, mine[0]) if request and mine else None

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = d["partition"]
        if partition not in self.chosen:
            return None
        log, of = self.logs.setdefault(partition, []), self._of(event)
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        if of is None:
            log += [[offset, None, ""] for offset in offsets]
            who, many = self.asker(event) or "Somebody else", len(offsets)
            return Told(
                f"{who} writes {counted(many, 'record', 'one')}.",
                marks=self.mark(LOG, f"+{many}"),
            )
        request, batch = of
        if request.state == "on its way":
            request.state = (
                "answer lost"
                if request.key[0] in self.broken and request.acks != 0
                else "written"
            )
        if request.acks == 0:
            self.in_flight.pop(request.key, None)
        highest = max(
            (n for _, n, _ in log if n is not None and n not in batch.records),
            default=-1,
        )
        again, late = (
            [n for n in batch.records if self.copies[n]],
            [n for n in batch.records if n < highest],
        )
        self.late.update(late)
        states = [
            (n, "again" if n in again else "late" if n in late else "")
            for n in batch.records
        ]
        log += [[offset, *state] for offset, state in enumerate(states, offsets[0])]
        self.copies.update(batch.records)
        sentence = f"The broker writes batch {batch.number}: {span_of(offsets)}."
        marks = self.mark(LOG, self._names(batch.records), bool(again or late))
        chapter, lamp, lit = "written", "", []
        if again:
            twice = "The record is" if len(again) == 1 else "Its records are"
            sentence += (
                f" To the broker this is a new batch like any other. {twice} in the log"
                " twice now."
            )
            chapter, lamp, lit = "written twice", "once", again
        elif batch.state == "failed":
            sentence += " The program was told that it failed."
            chapter, lamp, lit = "written after all", "truth", batch.records
        elif late:
            sentence += (
                f" It was sent before what is already there: {self.records[highest][0]}"
                " has overtaken it."
            )
            chapter, lamp, lit = "overtaken", "order", [highest, *late]
        light = self._light(lamp, batch, lit) if lamp else ()
        return Told(sentence, self.once(chapter), bool(lamp), batch.sent, marks, light)

    def _answered(self, event: Event, d: Detail) -> Told | None:
        """The broker writes nothing: it knows the batch, or refuses it."""
        of = self._of(event)
        if of is None:
            return None
        request, batch = of
        request.state = "refused" if event.kind == "BatchRefused" else "known"
        if request.state == "refused":
            self._let_go(request)
        return self.tell(
            event,
            batch=batch.number,
            base_sequence=batch.base_sequence,
            because=batch.sent,
        )

    _see_DuplicateRecognized = _see_BatchRefused = _answered

    # -- fold: what the producer learns

    def _leave(self, batch: Batch) -> None:
        """The batch is in flight no longer; a request that carries no other goes with
        it.
        """
        for request in [each for each in self.in_flight.values() if batch in each.open]:
            request.open.remove(batch)
            if not request.open:
                del self.in_flight[request.key]

    def _see_BatchRetried(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self.cut = self.cut or d["reason"] != "refused"
        if d["reason"] == "request_timeout_ms":
            rows = [
                (request, each)
                for request in self.in_flight.values()
                for each in request.open
            ]
            self.stuck = [
                [
                    row,
                    batch.space(self.records),
                    "answer lost" if request.state in ("written", "known") else "lost",
                ]
                for row, (request, each) in enumerate(rows)
                if each is batch
            ]
        self._leave(batch)
        batch.state = f"again at {moment(event.at + d['backoff_ms'])}"
        place = 0
        while (
            place < len(self.buffer)
            and 0 <= self.buffer[place].base_sequence < batch.base_sequence
        ):
            # sequence numbers keep the order; without them the last one taken back
            # leaves first
            place += 1
        self.buffer.insert(place, batch)
        unsure = f". Written or not? {self.producer} can't tell. It"
        unsure = (
            f", which may pass. {self.producer}" if d["reason"] == "refused" else unsure
        )
        return self.tell(event, reason_why=capital(d["why"]), unsure=unsure)

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._leave(batch)
        self.heard |= dict.fromkeys(batch.records, True)
        where = (
            f", from offset {d['base_offset']} on. Its futures are done"
            if d["base_offset"] >= 0
            else ""
        )
        return self.tell(event, where=where)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._leave(batch)
        self.buffer = [each for each in self.buffer if each is not batch]
        batch.state = "failed"
        self.heard |= dict.fromkeys(batch.records, False)
        missing = [n for n in batch.records if not self.copies[n]]
        self.lost.update(missing)
        light = [] if missing else self._light("truth", batch, batch.records)
        but = "" if missing else " But the log holds it."
        return self.tell(
            event, reason_why=d["message"] or d["error"], but=but, light=light
        )

    # -- fold: nodes

    def _do_LinkCut(self, event: Event, d: Detail) -> None:
        self.parted = event.kind == "LinkCut"

    _do_LinkHealed = _do_LinkCut

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
            self.lost.update(n for batch in self.buffer for n in batch.records)
            self.buffer.clear()
        elif event.kind == "NodeRestarted" and event.node == self.producer:
            self.batches, self.in_flight = {}, {}
        return self.tell(
            event, mark=(LOG if broker else SEND, state or "back", state == "crashed")
        )
