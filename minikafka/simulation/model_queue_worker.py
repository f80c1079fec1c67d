"""A worker on the model queue: a consumer whose work takes virtual time."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from minikafka.simulation.model_queue import Channel, QueueBroker
from minikafka.simulation.model_queue_parts import BasicProperties, Deliver

ACK, REQUEUE, REJECT, DIE = "ack", "requeue", "reject", "die"


class Job(NamedTuple):
    """A message that a worker holds."""

    method: Deliver
    properties: BasicProperties
    text: str


class Done(NamedTuple):
    """The outcome of a worker's job, and when."""

    began_ms: int
    ended_ms: int
    worker: str
    job: Job
    outcome: str


def accepts(job: Job) -> str:
    return ACK


class QueueWorker:
    """Does one job after the other; messages pushed meanwhile wait in its hands.

    takes_ms(job): how long the work takes. outcome(job): "ack", "requeue", "reject", or
    "die", which closes its channel. done: the jobs it has finished.
    """

    def __init__(
        self,
        broker: QueueBroker,
        name: str,
        queue: str,
        *,
        takes_ms: Callable[[Job], int],
        outcome: Callable[[Job], str] = accepts,
        prefetch_count: int = 1,
    ) -> None:
        self.broker = broker
        self.name = name
        self.done: list[Done] = []
        self.channel: Channel = broker.channel(name)
        self._takes_ms = takes_ms
        self._outcome = outcome
        self._in_hand: deque[Job] = deque()
        self._is_busy = False
        self.channel.basic_qos(prefetch_count)
        self.channel.basic_consume(queue, self._receive)

    def die(self) -> None:
        """Its connection breaks, and the messages that it holds go back."""
        self.channel.close()
        self._in_hand.clear()

    def _receive(
        self,
        channel: Channel,
        method: Deliver,
        properties: BasicProperties,
        body: bytes,
    ) -> None:
        self._in_hand.append(Job(method, properties, body.decode()))
        self._begin()

    def _begin(self) -> None:
        if self._is_busy or not self._in_hand:
            return
        self._is_busy = True
        job = self._in_hand.popleft()
        began_ms = self.broker.now_ms
        ends_ms = began_ms + self._takes_ms(job)
        self.broker.clock.schedule(ends_ms, partial(self._end, job, began_ms))

    def _end(self, job: Job, began_ms: int) -> None:
        if not self.channel.is_open:
            return
        self._is_busy = False
        outcome = self._outcome(job)
        now_ms = self.broker.now_ms
        self.done.append(Done(began_ms, now_ms, self.name, job, outcome))
        tag = job.method.delivery_tag
        if outcome == ACK:
            self.channel.basic_ack(tag)
        elif outcome == DIE:
            self.die()
        else:
            self.channel.basic_nack(tag, requeue=outcome == REQUEUE)
        self._begin()
