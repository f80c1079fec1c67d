"""A producer's records on their way: the fold of the pipeline's picture (play.py
draws it).

A record waits in a batch, the batch travels in a request, the broker writes it, an
answer comes back. A batch whose answer does not come goes back to the front and leaves
again. The story distinguishes what is in the log from what the producer knows about it,
because everything that goes wrong here goes wrong between the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import OfTopic, busiest_partitions
from minikafka.theatre.pictures.pipeline.batches import Batch, Left, Request, RequestKey
from minikafka.theatre.pictures.pipeline.cast import (
    Naming,
    busiest_producer,
    config_of,
    is_sent_in_a_batch,
)
from minikafka.theatre.pictures.pipeline.ending import in_short
from minikafka.theatre.pictures.pipeline.flight import Buffer, Flight, Served, Stuck
from minikafka.theatre.pictures.pipeline.records import Records
from minikafka.theatre.pictures.pipeline.says import (
    ANSWERS,
    LOG,
    REQUESTS,
    SAYS,
    SEND,
    all_turned,
    begins,
    done_where,
    leaves,
    unsure,
)
from minikafka.theatre.play import Detail, Says, Space, Told
from minikafka.theatre.text import capital, counted, lasting, quoted, span_of
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
        sent = [event for event in trace if is_sent_in_a_batch(event)]
        mine = self.choose(trace, topic, sent)
        self.chosen = busiest_partitions(mine, MOST_PARTITIONS)
        sent = [event for event in sent if event.detail["topic"] == self.topic]
        self.producer = producer or busiest_producer(sent)
        if self.producer:
            self.title = f"{self.producer}'s pipeline to {self.topic}"
        self.config = config_of(trace, self.producer)

        own = [event.detail for event in sent if event.node == self.producer]
        self.naming = Naming.of(own)
        self.legend = self.naming.legend
        self.records = Records(differ=self.naming.differ)
        # by number; a producer that starts again counts from the beginning
        self.batches: dict[int, Batch] = {}
        self.every: list[Batch] = []
        self.buffer = Buffer()
        self.flight = Flight()

        self.cut = False  # the connection is lost, and there is no other yet
        self.parted = False  # by hand: whatever is sent waits until that heals
        self.stuck: list[Stuck] = []  # what waited too long, now

    def see(self, event: Event) -> Told | None:
        """A message that is stuck is shown in the scene in which its time is up."""
        self.stuck = []
        return super().see(event)

    def space(self) -> Space:
        sent = self.records.sent
        space: Space = {
            "producer": self.producer,
            "config": self.config,
            "buffer": self.buffer.space(sent),
            "in_flight": self.flight.space(sent),
            "logs": self.records.logs_space(),
            "sent": len(sent),
            "requests": len(self.flight.made),
            "cut": self.cut or self.parted,
            "stuck": self.stuck,
            **self.records.told_space(),
            "down": self.away,
        }
        if self.parted:
            space["parted"] = True
        return space

    def is_mine(self, event: Event) -> bool:
        """Other producers' events are left out, but not the appends of their records,
        which are in the log, too.
        """
        d = event.detail
        if d.get("topic", self.topic) != self.topic:
            return False
        if event.kind in _THE_PRODUCERS and event.node != self.producer:
            return False
        if event.kind.startswith("Link"):
            return self.producer in (d["one"], d["other"])
        if event.kind in _OF_A_BATCH:
            return d["batch"] in self.batches
        return True

    # -- fold: what the producer does

    def _see_ClientStarted(self, event: Event, d: Detail) -> None:
        """A producer that starts again may have other settings."""
        self.config = d.get("config", {})

    def _do_TopicCreated(self, event: Event, d: Detail) -> None:
        """Its logs are shown before anything is in them."""
        self.records.logs = {partition: [] for partition in self.chosen}

    def _do_TopicDeleted(self, event: Event, d: Detail) -> None:
        self.records.logs.clear()

    def _see_PartitionChosen(self, event: Event, d: Detail) -> Told | None:
        """The program hands over a record; the batch for its partition takes it."""
        if "batch" not in d:
            return None
        self.flight.sweep()
        record = self.naming.record(key=d["key"], value=d["value"])
        number = self.records.send(record)
        batch = self.batches.get(d["batch"])
        if batch is None:
            batch = self._begin_batch(d)
            joins = begins(self.config.get("linger_ms"))
        else:
            joins = f"joins the batch with {self._called(batch)}"
        batch.records.append(number)

        what = quoted(record.value, 24) if record.value else ""
        return Told(
            sentence=f"send({what}) returns at once. The record {joins}.",
            marks=self.mark(SEND, record.letter),
        )

    def _called(self, batch: Batch) -> str:
        """In sentences a batch is told by its records: numbers of its own would be
        taken for theirs.
        """
        return self.records.called(batch.records)

    def _begin_batch(self, d: Detail) -> Batch:
        batch = Batch(number=d["batch"], partition=d["partition"], begun_ms=self.at)
        self.batches[batch.number] = batch
        self.every.append(batch)
        self.buffer.add(batch)
        return batch

    def _see_BatchFilled(self, event: Event, d: Detail) -> Told | None:
        batch = self.batches[d["batch"]]
        if batch not in self.buffer.batches:
            return None
        batch.state = "full"
        return self.tell(
            event, batch=self._called(batch), many=counted(d["count"], "record", "one")
        )

    def _see_BatchSent(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        batch.base_sequence = d["base_sequence"]
        batch.sent = event.id
        batch.attempts = d["attempt"]
        sentence = leaves(
            self._called(batch),
            why=d["why"],
            attempt=batch.attempts,
            is_before_others=self.buffer.is_before_others(batch),
        )
        self.buffer.remove(batch)
        request = self._request(batch, d)
        if request.nobody_waits:
            sentence += " acks=0: for the program it is done, whatever happens now."
            self.records.hear(batch.records, done=True)

        self.cut = self.flight.is_cut_off(request)
        [mark] = self.mark(REQUESTS, self.records.names(batch.records), self.cut)
        told = Told(sentence, marks=[mark])
        this = Left(self.number, event.at, len(self.flight.made))
        before = batch.left = batch.left or this
        # nothing else in between, which the wait would hide
        if not self.cut and this.request == before.request + 1:
            waited = lasting(this.at_ms - before.at_ms)
            mark |= {"since": before.number, "why": f"no answer for {waited}"}
            mark["in_short"] = [f"no answer, {waited}", waited]
        if self.cut:
            request.state = "lost"
            self._let_go(request)
            told.trouble = True
            told.sentence += (
                f" {capital(self.producer)} doesn't know yet that the connection is"
                " broken: it won't arrive."
            )
        elif batch.attempts > 1:
            told.chapter = self.once("tried again")
        else:
            told.chapter = self.once("the first request")
        return told

    def _request(self, batch: Batch, d: Detail) -> Request:
        """The request in which a batch leaves; others may be in it already."""
        self.flight.sweep()
        key = RequestKey(connection=d["connection"], correlation_id=d["correlation_id"])
        return self.flight.send(key, batch, attempt=d["attempt"], acks=d["acks"])

    def _let_go(self, request: Request) -> None:
        """With acks=0 what is lost now is lost for good."""
        if request.nobody_waits:
            self.records.lost.update(request.records)

    # -- fold: the network

    def _see_MessageLost(self, event: Event, d: Detail) -> Told | None:
        """A connection breaks with the message that is lost on it. A request that was
        lost is not written; without its answer nobody but the broker knows that.
        """
        if d.get("api") != "Produce":
            return None
        if self.producer not in (d["source"], d["target"]):
            return None
        connection = d["connection"]
        self.flight.broken.add(connection)
        on_it = self.flight.on(connection)
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
            sentence=(
                "The broker's answer is lost, and the connection with it. What can"
                f" {self.producer} know now?"
            ),
            chapter=self.once("an answer is lost"),
            trouble=True,
            marks=self.mark(ANSWERS, "lost", trouble=True),
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
            light.append("lamp/lost")
            light.append(f"wire/{first.number}")
        return Told(
            sentence=sentence,
            chapter=self.once("a request is lost"),
            trouble=True,
            because=first.sent,
            marks=self.mark(REQUESTS, "lost", trouble=True),
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
        keys.append(f"lamp/{lamp}")
        return self.first(f"light on {lamp}", *keys, "caption")

    def _do_LinkCut(self, event: Event, d: Detail) -> None:
        self.parted = True

    def _do_LinkHealed(self, event: Event, d: Detail) -> None:
        """Messages that were held back arrive, even a request for another
        connection.
        """
        self.parted = False
        self.cut = False

    def _see_RequestSent(self, event: Event, d: Detail) -> Told | None:
        """While the network is cut, a batch that is to be tried again needs another
        connection first, and each begins with ApiVersions.
        """
        begins_another = d["api"] == "ApiVersions" and event.node == self.producer
        if begins_another and self.parted and self.buffer.batches:
            return self.tell(event)
        return None

    # -- fold: the broker

    def _served(self, event: Event) -> Served | None:
        """Whatever of this producer the broker was serving when it told of this."""
        return self.flight.served(event.cause, event.detail["partition"])

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        partition = d["partition"]
        if partition not in self.chosen:
            return None
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        served = self._served(event)
        if served is None:
            writer = self.asker(event) or "Somebody else"
            return self._append_others(writer, partition, offsets)
        self.flight.arrive(served.request)
        return self._append(served.batch, offsets)

    def _append_others(self, writer: str, partition: int, offsets: range) -> Told:
        """Records of another producer, whose batches are not shown."""
        self.records.append_others(partition, offsets)
        many = len(offsets)
        return Told(
            sentence=f"{writer} writes {counted(many, 'record', 'one')}.",
            marks=self.mark(LOG, f"+{many}"),
        )

    def _append(self, batch: Batch, offsets: range) -> Told:
        """The batch is written at these offsets; something may be wrong with that."""
        found = self.records.append(batch.partition, batch.records, base=offsets.start)
        wrong = self.records.wrong(batch.records, found, batch.state)
        is_odd = bool(found.again or found.late)
        names = self.records.names(batch.records)
        told = Told(
            sentence=f"The broker writes {self._called(batch)}: {span_of(offsets)}.",
            because=batch.sent,
            marks=self.mark(LOG, names, is_odd),
        )
        if wrong is None:
            told.chapter = self.once("written")
            return told
        told.sentence += f" {wrong.words}"
        told.chapter = self.once(wrong.chapter)
        told.trouble = True
        told.light = self._light(wrong.lamp, batch, wrong.records)
        return told

    def _answered(self, event: Event, d: Detail) -> Told | None:
        """The broker writes nothing: it knows the batch, or refuses it."""
        served = self._served(event)
        if served is None:
            return None
        request, batch = served
        light: list[str] = []
        if event.kind == "BatchRefused":
            request.state = "refused"
            self._let_go(request)
        else:
            request.state = "known"
            batch.is_known = True
            light = self.first(
                "light on known",
                f"log/{batch.partition}/{d['base_offset']}",
                f"batch/{batch.number}",
                "caption",
            )
        return self.tell(
            event,
            batch=self._called(batch),
            base_sequence=batch.base_sequence,
            because=batch.sent,
            light=light,
        )

    _see_DuplicateRecognized = _see_BatchRefused = _answered

    # -- fold: what the producer learns

    def _see_BatchRetried(self, event: Event, d: Detail) -> Told:
        """There was no answer, or a retriable refusal: the batch goes back into the
        buffer.
        """
        batch = self.batches[d["batch"]]
        reason = d["reason"]
        if reason == "request_timeout_ms":
            self.stuck = self.flight.stuck(batch, self.records.sent)
        is_marked = self.flight.has_lost_the_answer_to(batch)
        self.flight.land(batch)
        self.buffer.take_back(batch)
        next_try = moment(event.at + d["backoff_ms"])
        batch.state = f"not before {next_try}"
        if reason != "refused":
            self.cut = True

        where = ""
        after = self.buffer.after(batch)
        if after:
            where = f", in front of {self._called(after)},"
        turned = self._turned_round()
        told = self.tell(
            event,
            batch=self._called(batch),
            reason_why=capital(d["why"]),
            unsure=unsure(self.producer, reason, is_in_front=bool(after)),
            where=where,
            turned=all_turned(len(turned)),
        )
        if is_marked:
            told.marks = []  # where the answer got lost
        if turned and self.once("turned round"):
            told.chapter = "the other way round"
            told.light = [f"batch/{each.number}" for each in turned]
        return told

    def _turned_round(self) -> list[Batch]:
        """The batches that were in flight, once all of them have come back in reverse
        order.
        """
        if self.flight.open:
            return []
        return self.buffer.turned_round()

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told:
        batch = self.batches[d["batch"]]
        self.flight.land(batch)
        self.records.hear(batch.records, done=True)
        where = done_where(base_offset=d["base_offset"], many=len(batch.records))
        return self.tell(event, batch=self._called(batch), where=where)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told:
        """The program is told that its records failed, whether or not the log holds
        them: the producer doesn't know.
        """
        batch = self.batches[d["batch"]]
        self.flight.land(batch)
        self.buffer.remove(batch)
        batch.state = "failed"
        batch.waited_ms = self.at - batch.begun_ms
        self.records.hear(batch.records, done=False)
        missing = self.records.missing(batch.records)
        self.records.lost.update(missing)

        but = ""
        light: list[str] = []
        if not missing:
            but = " But the log holds it."
            light = self._light("truth", batch, batch.records)
        return self.tell(
            event,
            batch=self._called(batch),
            reason_why=d["message"] or d["error"],
            but=but,
            light=light,
        )

    def ends(self, last: Scene) -> None:
        """Tell the result, once nothing is on its way any more, in the light of all
        that is wrong.
        """
        is_any_on_its_way = self.buffer.batches or self.flight.open
        if is_any_on_its_way or not self.records.sent:
            return
        words = in_short(
            self.records, self.every, requests=len(self.flight.made), shop=self.producer
        )
        if last["kind"] == "RecordsAcknowledged":
            last["sentence"] = words
        else:
            last["sentence"] += f" {words}"
        light = self.records.light()
        if light:
            why = [f"time/lane/{lane}" for lane in (REQUESTS, LOG, ANSWERS)]
            last["light"] = [*light, "caption", *why]

    # -- fold: nodes

    def _see_life(self, event: Event, life: str) -> Told:
        """A broker that crashes takes all connections with it; a producer, what it had
        in memory.
        """
        is_crash = life == "crashed"
        is_broker = event.node.startswith("broker")
        self.down[event.node] = life
        if is_broker and is_crash:
            self._lose_all_on_the_way()
        if event.node == self.producer:
            self._producer_lives(event.kind)
        lane = LOG if is_broker else SEND
        return self.tell(event, mark=(lane, life or "back", is_crash))

    def _producer_lives(self, kind: str) -> None:
        if kind == "NodeCrashed":
            for batch in self.buffer.batches:
                self.records.lost.update(batch.records)
            self.buffer.batches.clear()
        elif kind == "NodeRestarted":
            self.batches = {}
            self.flight.open = {}

    def _lose_all_on_the_way(self) -> None:
        """The broker is gone, and with it all connections."""
        for request in self.flight.open.values():
            self.cut = True
            if request.is_on_its_way:
                request.state = "lost"
                self._let_go(request)
