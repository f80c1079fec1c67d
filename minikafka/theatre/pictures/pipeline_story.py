"""What a trace tells of a producer's records on their way: the fold of the pipeline's
picture (pipeline.py draws it).

A record waits in a batch, the batch travels in a request, the broker writes it, an
answer comes back. A batch whose answer does not come goes back to the front and leaves
again. The story keeps apart what the log holds and what the producer knows of it,
because everything that goes wrong here goes wrong between the two.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import OfTopic, busiest_partitions, legend, letters
from minikafka.theatre.pictures.pipeline_batches import Batch, Request, RequestKey
from minikafka.theatre.pictures.pipeline_ending import in_short
from minikafka.theatre.pictures.pipeline_records import Records, Sent
from minikafka.theatre.pictures.pipeline_says import ANSWERS, LOG, REQUESTS, SAYS, SEND
from minikafka.theatre.play import LIVES, Detail, Says, Space, Told, picked
from minikafka.theatre.text import capital, counted, quoted, span_of
from minikafka.trace import Event, moment

MOST_PARTITIONS = 3
_OF_A_BATCH = (
    "BatchFilled",
    "BatchSent",
    "BatchRetried",
    "RecordsAcknowledged",
    "SendFailed",
)
_THE_PRODUCERS = ("ClientStarted", "PartitionChosen", *_OF_A_BATCH)


class PipelineStory(OfTopic):
    name = "pipeline"
    title = "The producer's pipeline"
    says: ClassVar[Mapping[str, Says]] = SAYS
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
        sent = [event for event in trace if _is_sent_in_a_batch(event)]
        mine = self.choose(trace, topic, sent)
        sent = [event for event in sent if event.detail["topic"] == self.topic]
        self.producer = producer or _busiest(sent)
        self.chosen = busiest_partitions(mine, MOST_PARTITIONS)
        if self.producer:
            self.title = f"{self.producer}'s pipeline to {self.topic}"
        own = [event.detail for event in sent if event.node == self.producer]
        self._choose_letters(own)
        self.config: dict[str, Any] = _config_of(trace, self.producer)
        values = [detail["value"] for detail in own]
        self.records = Records(differ=len(set(values)) == len(values))
        # by number; a producer that starts again counts anew
        self.batches: dict[int, Batch] = {}
        self.every: list[Batch] = []
        self.buffer: list[Batch] = []  # batches that wait, the next to leave first
        self.in_flight: dict[RequestKey, Request] = {}
        # every request; one may arrive after it was given up
        self.made: dict[Any, Request] = {}
        self.broken: set[Any] = set()  # connections on which nothing arrives any more
        self.cut = False  # the connection is lost, and there is no other yet
        self.parted = False  # by hand: whatever is sent waits until that heals
        # what waited too long, now: row in flight, batch, and where it got lost
        self.stuck: list[Any] = []

    def _choose_letters(self, sent: Sequence[Detail]) -> None:
        """Records are told apart by their values; by their keys where values are all
        alike.
        """
        values = [d["value"] for d in sent]
        keys = [d["key"] for d in sent]
        values_differ = len(set(values)) > 1
        self.by_value = values_differ or not any(keys)
        self.letters = letters(values if self.by_value else keys)
        self.legend = "" if self.by_value else legend(self.letters, 4)

    def see(self, event: Event) -> Told | None:
        self.stuck = []
        return super().see(event)

    def space(self) -> Space:
        sent = self.records.sent
        in_flight = self.in_flight.values()
        space = picked(self, "producer", "config")
        space["buffer"] = [batch.space(sent) for batch in self.buffer]
        space["in_flight"] = [request.space(sent) for request in in_flight]
        space["logs"] = self.records.logs_space()
        space["sent"] = len(sent)
        space["requests"] = len(self.made)
        space["cut"] = self.cut or self.parted
        space["stuck"] = self.stuck
        space |= self.records.told_space()
        space["down"] = self.away
        if self.parted:
            space["parted"] = True
        return space

    def is_mine(self, event: Event) -> bool:
        d = event.detail
        kind = event.kind
        if d.get("topic", self.topic) != self.topic:
            return False
        if kind in _THE_PRODUCERS and event.node != self.producer:
            return False
        if kind.startswith("Link"):
            return self.producer in (d["one"], d["other"])
        return kind not in _OF_A_BATCH or d["batch"] in self.batches

    # -- fold: what the producer does

    def _see_ClientStarted(self, event: Event, d: Detail) -> None:
        self.config = d.get("config", {})

    def _do_TopicCreated(self, event: Event, d: Detail) -> None:
        self.records.logs = {partition: [] for partition in self.chosen}

    def _do_TopicDeleted(self, event: Event, d: Detail) -> None:
        self.records.logs.clear()

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told | None:
        if "batch" not in d:
            return None
        self._sweep()
        key = d["key"]
        value = d["value"]
        letter = self.letters[value if self.by_value else key]
        number = self.records.send(Sent(letter, key, value))
        batch = self.batches.get(d["batch"])
        if batch is None:
            batch = self._begin_batch(d)
            joins = "begins a batch"
            linger_ms = self.config.get("linger_ms")
            if linger_ms:
                joins += f", which may linger {linger_ms} ms for company"
        else:
            joins = f"joins the batch with {self._called(batch)}"
        batch.records.append(number)
        what = quoted(value, 24) if value else ""
        sentence = f"send({what}) returns at once. The record {joins}."
        return Told(sentence, marks=self.mark(SEND, letter))

    def _called(self, batch: Batch) -> str:
        """In sentences a batch is told by its records: numbers of its own would be
        taken for theirs.
        """
        return self.records.called(batch.records)

    def _begin_batch(self, d: Detail) -> Batch:
        batch = Batch(d["batch"], d["partition"], begun_ms=self.at)
        self.batches[batch.number] = batch
        self.every.append(batch)
        self.buffer.append(batch)
        return batch

    def _sweep(self) -> None:
        """With acks=0 nobody waits: what is lost is in flight no longer once the next
        thing happens.
        """
        for key, request in list(self.in_flight.items()):
            if request.nobody_waits and not request.is_on_its_way:
                del self.in_flight[key]

    def _see_BatchFilled(self, event: Event, d: Detail) -> Told | None:
        batch = self.batches[d["batch"]]
        if batch not in self.buffer:
            return None
        batch.state = "full"
        return self.tell(
            event,
            batch=self._called(batch),
            many=counted(d["count"], "record", "one"),
        )

    def _see_BatchSent(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        attempt = d["attempt"]
        self._sweep()
        key = RequestKey(d["connection"], d["correlation_id"])
        request = self.made.setdefault(key, Request(key, attempt, d["acks"]))
        request.carry(batch)
        self.in_flight[key] = request
        is_first = self.buffer[:1] == [batch] and len(self.buffer) > 1
        self._leave_buffer(batch)
        batch.base_sequence = d["base_sequence"]
        batch.sent = event.id
        batch.attempts = attempt
        chapter = "the first request"
        who = f"The batch with {self._called(batch)}"
        sentence = f"{who} leaves: {d['why']}."
        mark = self.records.names(batch.records)
        if attempt > 1:
            chapter = "tried again"
            if is_first:
                who += ", the first in the buffer,"
            sentence = f"{who} leaves once more: attempt {attempt}."
        if request.nobody_waits:
            sentence += " acks=0: for the program it is done, whatever happens now."
            self.records.hear(batch.records, done=True)
        self.cut = request.key.connection in self.broken
        marks = self.mark(REQUESTS, mark, self.cut)
        if not self.cut:
            return Told(sentence, self.once(chapter), marks=marks)
        request.state = "lost"
        self._let_go(request)
        sentence += (
            f" {capital(self.producer)} doesn't know yet that the connection is broken:"
            " it won't arrive."
        )
        return Told(sentence, trouble=True, marks=marks)

    def _leave_buffer(self, batch: Batch) -> None:
        self.buffer = [each for each in self.buffer if each is not batch]

    def _let_go(self, request: Request) -> None:
        """With acks=0 what is lost now is lost for good."""
        if request.nobody_waits:
            self.records.lost.update(request.records)

    # -- fold: the network

    def _see_MessageLost(self, event: Event, d: Detail) -> Told | None:
        ends = (d["source"], d["target"])
        if d.get("api") != "Produce" or self.producer not in ends:
            return None
        connection = d["connection"]
        self.broken.add(connection)
        requests = self.in_flight.values()
        on_it = [each for each in requests if each.key.connection == connection]
        if not on_it:
            return None
        self.cut = True
        if d["answer"]:
            return self._lose_answer(on_it)
        return self._lose(on_it[-1])

    def _lose_answer(self, on_it: Sequence[Request]) -> Told:
        """on_it: the requests in flight on the connection that is lost."""
        arrived = [request for request in on_it if not request.is_on_its_way]
        request = arrived[0] if arrived else on_it[0]
        request.state = "answer lost"
        return Told(
            "The broker's answer is lost, and the connection with it. What can"
            f" {self.producer} know now?",
            self.once("an answer is lost"),
            trouble=True,
            marks=self.mark(ANSWERS, "lost", True),
        )

    def _lose(self, request: Request) -> Told:
        request.state = "lost"
        self._let_go(request)
        first = request.batches[0]
        what = self.records.called(request.records)
        sentence = f"The request with {what} is lost, and the connection with it."
        light: list[str] = []
        if request.nobody_waits:
            sentence += " Nobody will ever know."
            light = self._light("truth", first, first.records)
            light += ["lamp/lost", f"wire/{first.number}"]
        return Told(
            sentence,
            self.once("a request is lost"),
            trouble=True,
            because=first.sent,
            marks=self.mark(REQUESTS, "lost", True),
            light=light,
        )

    def _light(self, lamp: str, batch: Batch, records: Sequence[int]) -> list[str]:
        """The first time, the keys of what a red lamp is about: records in the log, and
        what the program was told.
        """
        partition = batch.partition
        offsets = self.records.offsets_of(partition, records)
        keys = [f"log/{partition}/{offset}" for offset in offsets]
        if lamp == "truth":
            keys += [f"told/{number}" for number in records]
        return self.first(f"light on {lamp}", *keys, f"lamp/{lamp}", "caption")

    def _do_LinkCut(self, event: Event, d: Detail) -> None:
        self.parted = event.kind == "LinkCut"

    _do_LinkHealed = _do_LinkCut

    # -- fold: the broker

    def _served(self, event: Event) -> tuple[Request, Batch] | None:
        """The request that the broker was serving, and its batch for the event's
        partition.
        """
        request = self.made.get(event.cause) if event.cause else None
        if request is None:
            return None
        batch = request.for_partition(event.detail["partition"])
        return (request, batch) if batch else None

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = d["partition"]
        if partition not in self.chosen:
            return None
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        served = self._served(event)
        if served is None:
            self.records.append_others(partition, offsets)
            who = self.asker(event) or "Somebody else"
            many = len(offsets)
            sentence = f"{who} writes {counted(many, 'record', 'one')}."
            return Told(sentence, marks=self.mark(LOG, f"+{many}"))
        request, batch = served
        self._arrive(request)
        found = self.records.append(partition, batch.records, offsets[0])
        is_odd = bool(found.again or found.late)
        marks = self.mark(LOG, self.records.names(batch.records), is_odd)
        what = self._called(batch)
        sentence = f"The broker writes {what}: {span_of(offsets)}."
        wrong = self.records.wrong(batch.records, found, batch.state)
        if wrong is None:
            written = self.once("written")
            return Told(sentence, written, because=batch.sent, marks=marks)
        light = self._light(wrong.lamp, batch, wrong.records)
        return Told(
            f"{sentence} {wrong.words}",
            self.once(wrong.chapter),
            trouble=True,
            because=batch.sent,
            marks=marks,
            light=light,
        )

    def _arrive(self, request: Request) -> None:
        """A request has come to the broker; whether an answer comes back is settled
        where the connection is broken.
        """
        if request.is_on_its_way:
            is_broken = request.key.connection in self.broken
            answer_is_lost = is_broken and not request.nobody_waits
            request.state = "answer lost" if answer_is_lost else "written"
        if request.nobody_waits:
            self.in_flight.pop(request.key, None)

    def _answered(self, event: Event, d: Detail) -> Told | None:
        """The broker writes nothing: it knows the batch, or refuses it."""
        served = self._served(event)
        if served is None:
            return None
        request, batch = served
        request.state = "known"
        light: list[str] = []
        if event.kind == "BatchRefused":
            request.state = "refused"
            self._let_go(request)
        else:
            batch.is_known = True
            at = f"log/{batch.partition}/{d['base_offset']}"
            light = self.first("light on known", at, f"batch/{batch.number}", "caption")
        return self.tell(
            event,
            batch=self._called(batch),
            base_sequence=batch.base_sequence,
            because=batch.sent,
            light=light,
        )

    _see_DuplicateRecognized = _see_BatchRefused = _answered

    # -- fold: what the producer learns

    def _leave_flight(self, batch: Batch) -> None:
        """The batch is in flight no longer; a request that carries no other goes with
        it.
        """
        for request in list(self.in_flight.values()):
            if batch in request.open:
                request.open.remove(batch)
                if not request.open:
                    del self.in_flight[request.key]

    def _see_BatchRetried(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        reason = d["reason"]
        if reason == "request_timeout_ms":
            self.stuck = self._where_it_stuck(batch)
        self._leave_flight(batch)
        batch.state = f"not before {moment(event.at + d['backoff_ms'])}"
        place = self._take_back(batch)
        where = ""
        if place < len(self.buffer) - 1:
            where = f", in front of {self._called(self.buffer[place + 1])},"
        unsure = f". Written or not? {capital(self.producer)} can't tell. It"
        if where:
            unsure = f". {capital(self.producer)}"
        if reason == "refused":
            unsure = f", which may pass. {capital(self.producer)}"
        else:
            self.cut = True
        back = self._turned_round()
        told = self.tell(
            event,
            batch=self._called(batch),
            reason_why=capital(d["why"]),
            unsure=unsure,
            where=where,
            turned=f" All {len(back)} are back, the last one in front." if back else "",
        )
        if back and self.once("turned round"):
            told.chapter = "the other way round"
            told.light = [f"batch/{each.number}" for each in back]
        return told

    def _turned_round(self) -> list[Batch]:
        """What was in flight, once all of it has come back in the other order."""
        back = [batch for batch in self.buffer if batch.sent]
        numbers = [batch.number for batch in back]
        is_turned = numbers == sorted(numbers, reverse=True)
        if self.in_flight or len(back) < 3 or not is_turned:
            return []
        return back

    def _where_it_stuck(self, batch: Batch) -> list[Any]:
        """Rows in flight, and where the batch got lost."""
        stuck: list[Any] = []
        row = 0
        for request in self.in_flight.values():
            arrived = request.state in ("written", "known")
            where = "answer lost" if arrived else "lost"
            for each in request.open:
                if each is batch:
                    stuck.append([row, batch.space(self.records.sent), where])
                row += 1
        return stuck

    def _take_back(self, batch: Batch) -> int:
        """Into the buffer, at a place that it returns. Sequence numbers keep the order;
        without them the last one taken back leaves first.
        """
        place = 0
        for each in self.buffer:
            if not 0 <= each.base_sequence < batch.base_sequence:
                break
            place += 1
        self.buffer.insert(place, batch)
        return place

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self._leave_flight(batch)
        self.records.hear(batch.records, done=True)
        where = ""
        if d["base_offset"] >= 0:
            where = f", from offset {d['base_offset']} on"
            if len(batch.records) == 1:
                where = f" at offset {d['base_offset']}"
            where += ", and tells the program: done"
        return self.tell(event, batch=self._called(batch), where=where)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        why = d["message"] or d["error"]
        self._leave_flight(batch)
        self._leave_buffer(batch)
        batch.state = "failed"
        batch.waited_ms = self.at - batch.begun_ms
        self.records.hear(batch.records, done=False)
        missing = self.records.missing(batch.records)
        self.records.lost.update(missing)
        what = self._called(batch)
        if missing:
            return self.tell(event, batch=what, reason_why=why, but="")
        light = self._light("truth", batch, batch.records)
        but = " But the log holds it."
        return self.tell(event, batch=what, reason_why=why, but=but, light=light)

    def ends(self, last: Scene) -> None:
        """What came of it, where nothing is on its way any more."""
        if self.buffer or self.in_flight or not self.records.sent:
            return
        words = in_short(self.records, self.every, len(self.made), self.producer)
        is_answer = last["kind"] == "RecordsAcknowledged"
        last["sentence"] = words if is_answer else f"{last['sentence']} {words}"

    # -- fold: nodes

    def _see_life(self, event: Event, d: Detail) -> Told:
        state = LIVES[event.kind]
        is_broker = event.node.startswith("broker")
        is_crash = state == "crashed"
        self.down[event.node] = state
        if is_broker and is_crash:
            self._lose_all_on_the_way()
        elif event.node == self.producer and is_crash:
            for batch in self.buffer:
                self.records.lost.update(batch.records)
            self.buffer.clear()
        elif event.node == self.producer and event.kind == "NodeRestarted":
            self.batches = {}
            self.in_flight = {}
        lane = LOG if is_broker else SEND
        return self.tell(event, mark=(lane, state or "back", is_crash))

    def _lose_all_on_the_way(self) -> None:
        """The broker is gone, and with it all connections."""
        for request in self.in_flight.values():
            self.cut = True
            if request.is_on_its_way:
                request.state = "lost"
                self._let_go(request)


def _is_sent_in_a_batch(event: Event) -> bool:
    return event.kind == "PartitionChosen" and "batch" in event.detail


def _busiest(sent: Sequence[Event]) -> str:
    """Who sent most."""
    busiest = Counter(event.node for event in sent).most_common(1)
    return busiest[0][0] if busiest else ""


def _config_of(trace: Sequence[Event], producer: str) -> dict[str, Any]:
    """As the producer told it when it started."""
    for event in trace:
        if event.kind == "ClientStarted" and event.node == producer:
            found: dict[str, Any] = event.detail.get("config", {})
            return found
    return {}
