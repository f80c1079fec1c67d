"""Where a producer's batches are: in its buffer, or in flight, in requests that nobody
has answered yet.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.pictures.pipeline.batches import Batch, Request, RequestKey
from minikafka.theatre.pictures.pipeline.records import Sent
from minikafka.theatre.play import Space

FEWEST_TURNED = 3  # two batches in the other order may be chance


class Stuck(NamedTuple):
    """A batch that waited too long for its answer. row: of those in flight. lost: what
    of it got lost.
    """

    row: int
    batch: Space
    lost: str


class Served(NamedTuple):
    """The batch that a broker was serving. batch: the one in the request for the
    partition that the broker's event names.
    """

    request: Request
    batch: Batch


class Buffer:
    """Batches that wait, the next to leave first."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)

    def remove(self, batch: Batch) -> None:
        if batch in self.batches:
            self.batches.remove(batch)

    def take_back(self, batch: Batch) -> None:
        """Sequence numbers keep the order; without them the last one taken back leaves
        first.
        """
        place = 0
        for each in self.batches:
            if not 0 <= each.base_sequence < batch.base_sequence:
                break
            place += 1
        self.batches.insert(place, batch)

    def is_before_others(self, batch: Batch) -> bool:
        """Whether it is the next to leave, and not the only one."""
        if len(self.batches) < 2:
            return False
        return self.batches[0] is batch

    def after(self, batch: Batch) -> Batch | None:
        """The one that leaves next after this one."""
        place = self.batches.index(batch) + 1
        if place == len(self.batches):
            return None
        return self.batches[place]

    def turned_round(self) -> list[Batch]:
        """Those that have come back, where they leave in the other order now."""
        back = [batch for batch in self.batches if batch.sent]
        numbers = [batch.number for batch in back]
        is_turned = numbers == sorted(numbers, reverse=True)
        if len(back) < FEWEST_TURNED or not is_turned:
            return []
        return back

    def space(self, sent: Sequence[Sent]) -> list[Space]:
        return [batch.space(sent) for batch in self.batches]


class Flight:
    """A producer's requests. open: those in flight. made: every one, because one may
    arrive after it was given up. broken: connections on which nothing arrives any more.
    """

    def __init__(self) -> None:
        self.open: dict[RequestKey, Request] = {}
        self.made: dict[Any, Request] = {}
        self.broken: set[Any] = set()

    def send(
        self, key: RequestKey, batch: Batch, *, attempt: int, acks: Any
    ) -> Request:
        """A batch leaves, perhaps beside others in the same request; returns that."""
        request = self.made.get(key)
        if request is None:
            request = Request(key, attempt, acks)
            self.made[key] = request
        request.carry(batch)
        self.open[key] = request
        return request

    def sweep(self) -> None:
        """With acks=0 nobody waits: what is lost is in flight no longer once the next
        thing happens.
        """
        for key, request in list(self.open.items()):
            if request.nobody_waits and not request.is_on_its_way:
                del self.open[key]

    def arrive(self, request: Request) -> None:
        """A request has come to the broker; whether an answer comes back is settled
        where the connection is broken.
        """
        if request.is_on_its_way:
            answer_is_lost = self.is_cut_off(request) and not request.nobody_waits
            request.state = "answer lost" if answer_is_lost else "written"
        if request.nobody_waits:
            self.open.pop(request.key, None)

    def land(self, batch: Batch) -> None:
        """The batch is no longer in flight; neither is its request, if it carries no
        other batch.
        """
        for request in list(self.open.values()):
            if batch not in request.open:
                continue
            request.open.remove(batch)
            if not request.open:
                del self.open[request.key]

    def has_lost_the_answer_to(self, batch: Batch) -> bool:
        return any(
            batch in each.open and each.state == "answer lost"
            for each in self.open.values()
        )

    def is_cut_off(self, request: Request) -> bool:
        return request.key.connection in self.broken

    def on(self, connection: Any) -> list[Request]:
        """The requests in flight on this connection."""
        requests = self.open.values()
        return [each for each in requests if each.key.connection == connection]

    def served(self, cause: Any, partition: int) -> Served | None:
        """The request that was the cause of what a broker did to a partition."""
        request = self.made.get(cause)
        if request is None:
            return None
        batch = request.for_partition(partition)
        if batch is None:
            return None
        return Served(request, batch)

    def stuck(self, batch: Batch, sent: Sequence[Sent]) -> list[Stuck]:
        """The batch in each row where it is in flight."""
        stuck = []
        row = 0
        for request in self.open.values():
            has_arrived = request.state in ("written", "known")
            lost = "answer lost" if has_arrived else "lost"
            for each in request.open:
                if each is batch:
                    stuck.append(Stuck(row, batch.space(sent), lost))
                row += 1
        return stuck

    def space(self, sent: Sequence[Sent]) -> list[Space]:
        return [request.space(sent) for request in self.open.values()]
