"""The hostile day against the core: no socket, a disk in memory, a clock that jumps; a
seed replays it exactly.
"""

import json
import time
from collections import deque
from random import Random
from typing import Any, NamedTuple

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import Close, Done, Notice, Reconfigured, Reply
from minikafka.clock import Now
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.trace import Event, Trace
from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import decode_response, encode_request
from minikafka.wire.primitives import DecodeError
from tests.soak.batches import WALL_MS
from tests.soak.frames import meaning
from tests.soak.traffic import Drop, Pass, Restart, Send, Step, Traffic
from tests.soak.witness import Failure, Witness

HOUR_MS = 3_600_000
MOST_TICKS_PER_SECOND = 200  # of virtual time: a node that wants more spins
LEADS_WITHIN_MS = 10_000
KEPT_STEPS = 12
# garbage in __consumer_offsets fails one of its partitions, with a notice
FORESEEN = (KafkaError, DecodeError)
WITNESS = "witness"
WRITES_EVERY = 50  # requests
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.max.size": "8",
    "log.cleaner.backoff.ms": "500",
    "log.retention.check.interval.ms": "5000",
    "max.incremental.fetch.session.cache.slots": "5",
    "offsets.topic.num.partitions": "3",
}


class Due(NamedTuple):
    """A request inside the broker. at_ms: when it must have been answered; None: in the
    silence after the next rebalances.
    """

    api: str
    version: int
    correlation_id: int
    at_ms: int | None


def heard(event: Event) -> None:
    """Somebody listens to the trace: each event is a sentence and JSON."""
    str(event)
    json.dumps(event.to_json())


class Core:
    """One node under one seed's traffic. With every other seed somebody listens to its
    trace.
    """

    def __init__(self, seed: int) -> None:
        self.traffic = Traffic(seed)
        self.disk = MemoryDisk()
        self.now = Now(0, WALL_MS)
        self.due: dict[int | str, Due] = {}
        self.steps: deque[tuple[int, Step]] = deque(maxlen=KEPT_STEPS)
        self.starts = 0
        self.slowest = (0.0, "nothing")
        self._seed = seed
        self._start()
        self.witness = Witness(self._ask)

    def run(self, requests: int) -> None:
        """So many requests, and an end in peace. Failure, or whatever the broker
        raises.
        """
        while self.traffic.sent < requests:
            self.step(self.traffic.next())
        self.step(Restart("stop"))

    def close(self) -> None:
        """Nothing is held that does not go by itself."""

    def summary(self) -> str:
        seconds, api = self.slowest
        return f"{self.starts} starts; the slowest request, {api}, took {seconds:.2f} s"

    def step(self, step: Step) -> None:
        self.steps.append((self.now.monotonic_ms, step))
        match step:
            case Send():
                self._send(step)
            case Drop(client):
                self._drop(client)
            case Pass(ms):
                self._pass(ms)
            case Restart(how):
                self._pass(HOUR_MS)
                self._check_silence()
                self._restart(how)

    # -- the node

    def _start(self) -> None:
        self.starts += 1
        config = BrokerConfig({"PLAINTEXT": ("localhost", 9092)}, PROPERTIES)
        listeners = [] if self._seed % 2 else [heard]
        trace = Trace("broker 1", listeners)
        self.broker = Broker(
            1, config, self.disk, Random(self._seed * 1000 + self.starts), trace
        )
        self.broker.start(self.now)
        for _ in range(10_000):
            if self.broker.ready or self.broker.why_failed:
                break
            self.broker.tick(self.now)
        self._drain()
        if not self.broker.ready:
            raise Failure(f"start {self.starts} failed: {self.broker.why_failed}")
        self.broker.connected(WITNESS, "PLAINTEXT", "127.0.0.1")

    def _restart(self, how: str) -> None:
        if how == "stop":
            self.broker.stop(self.now)
            self._drain()
            if self.due:
                raise Failure(
                    f"a clean stop left requests without an answer: {self.due}"
                )
        self.due.clear()
        self.traffic.forget()
        self.disk.crash()
        self._start()
        self.witness.read()

    # -- what befalls it

    def _send(self, send: Send) -> None:
        if send.client not in self.broker.requests.clients:
            self.broker.connected(send.client, "PLAINTEXT", "127.0.0.1")
        meant = meaning(send.ask, send.frame, send.intact)
        at_ms = None if meant.of_a_group else self.now.monotonic_ms + meant.wait_ms
        self.due[send.client] = Due(
            send.ask.api, meant.version, send.correlation_id, at_ms
        )
        began = time.process_time()
        self.broker.receive(send.client, bytearray(send.frame), self.now)
        self.slowest = max(self.slowest, (time.process_time() - began, send.ask.api))
        self._drain()
        self._pass(self.traffic.random.choice([0, 0, 0, 1, 3]))
        if self.traffic.sent % WRITES_EVERY == 0:
            self._pass_until_it_leads()
            self.witness.write()

    def _pass_until_it_leads(self) -> None:
        """Who unregisters the only broker takes every partition its leader, until the
        broker has registered anew.
        """
        deadline_ms = self.now.monotonic_ms + LEADS_WITHIN_MS
        while not self.broker.image.may_lead():
            if self.now.monotonic_ms >= deadline_ms:
                raise Failure("it was unregistered, and leads nothing since")
            self._pass(100)

    def _ask(self, api: str, version: int, body: dict[str, Any]) -> Any:
        """The witness's requests."""
        self.due[WITNESS], self._told = (
            Due(api, version, 0, self.now.monotonic_ms),
            None,
        )
        self.broker.receive(
            WITNESS,
            bytearray(b"".join(encode_request(api, version, 0, WITNESS, body))),
            self.now,
        )
        self._drain()
        if self._told is None:
            raise Failure(f"an honest client's {api} was not answered")
        return self._told

    def _drop(self, client: int) -> None:
        self.due.pop(client, None)
        self.traffic.dropped(client)
        if client in self.broker.requests.clients:
            self.broker.disconnected(client)
            self._drain()

    def _pass(self, ms: int) -> None:
        """Let the clock run, ticking whenever the broker wants to be ticked."""
        end, ticks = self.now.monotonic_ms + ms, 0
        while (at := self.broker.next_deadline()) <= end:
            if at <= self.now.monotonic_ms:
                raise Failure(
                    f"next_deadline {at} is not later than now, {self.now.monotonic_ms}"
                )
            self._tick(at)
            ticks += 1
            if ticks > 1000 + MOST_TICKS_PER_SECOND * ms // 1000:
                raise Failure(f"{ticks} ticks in {ms} ms: the node spins")
        self._tick(end)
        for client, due in self.due.items():
            if due.at_ms is not None and due.at_ms < self.now.monotonic_ms:
                raise Failure(f"{due} of client {client} has no answer")

    def _tick(self, at: int) -> None:
        self.now = Now(at, self.now.wall_ms + at - self.now.monotonic_ms)
        self.broker.tick(self.now)
        self._drain()

    def _check_silence(self) -> None:
        """After an hour without a request every session is over: nobody waits for a
        rebalance any more.
        """
        for client, due in self.due.items():
            if due.at_ms is None:
                raise Failure(
                    f"{due} of client {client} has no answer after an hour of silence"
                )
        if len(self.broker.requests.waiting) != len(self.due):
            raise Failure(
                f"{len(self.broker.requests.waiting)} requests are parked for {len(self.due)}"
                " that wait"
            )

    # -- what comes out

    def _drain(self) -> None:
        if self.broker.why_failed:
            raise Failure(f"the node stopped: {self.broker.why_failed}")
        effects, self.broker.outbox[:] = list(self.broker.outbox), []
        for effect in effects:
            if isinstance(effect, Notice):
                if effect.error is not None and not isinstance(effect.error, FORESEEN):
                    raise Failure(f"notice: {effect.line}") from effect.error
                continue
            if isinstance(effect, Reconfigured):
                continue
            client = effect.connection
            if client not in self.due:
                raise Failure(f"{effect} is for client {client}, who waits for nothing")
            self._ended(client, self.due.pop(client), effect)

    def _ended(self, client: int, due: Due, effect: Reply | Done | Close) -> None:
        answer = None
        if isinstance(effect, Reply):
            correlation_id, answer = decode_response(
                due.api, due.version, b"".join(effect.frame)
            )
            if correlation_id != due.correlation_id:
                raise Failure(
                    f"{due} was answered with correlation id {correlation_id}"
                )
        if client == WITNESS:
            self._told = answer
            return
        self.traffic.answered(client, answer)
        if isinstance(effect, Close):
            self.traffic.dropped(client)
            self.broker.disconnected(client)
