"""What the first clients of a fresh Apache Kafka meet: it makes the topics of its
coordinators when somebody asks for one, says meanwhile that none is there, and then
for a while that this broker isn't the coordinator yet, or is still reading the topic.
A broker without producer ids asks the controller for some, and says meanwhile that it
is loading.

An error goes away some time after the first request that has met it, so a client meets
each, however slow it is. The times are near those of Apache Kafka 4.4 on two cores,
which differ from run to run.
"""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from minikafka.testing.faults import Active, Answer, Faults
from minikafka.wire.messages import Request

GROUP, TRANSACTION = 0, 1  # key types of FindCoordinator
IDEMPOTENCE = 2  # which needs no coordinator
OF_GROUPS = ("ConsumerGroupHeartbeat", "JoinGroup", "OffsetCommit", "OffsetFetch")


class Step(NamedTuple):
    """These APIs answer an error until `ms` after one of them has done so."""

    apis: tuple[str, ...]
    error: str
    ms: int


STEPS = {
    GROUP: (
        Step(("FindCoordinator",), "COORDINATOR_NOT_AVAILABLE", 40),
        Step(OF_GROUPS, "NOT_COORDINATOR", 600),
        Step(OF_GROUPS, "COORDINATOR_LOAD_IN_PROGRESS", 40),
    ),
    TRANSACTION: (
        Step(("FindCoordinator",), "COORDINATOR_NOT_AVAILABLE", 40),
        Step(("InitProducerId",), "NOT_COORDINATOR", 25),
        Step(("InitProducerId",), "COORDINATOR_LOAD_IN_PROGRESS", 50),
    ),
    IDEMPOTENCE: (Step(("InitProducerId",), "COORDINATOR_LOAD_IN_PROGRESS", 50),),
}


class FirstUse:
    """The steps of one kind of use, from the first on, as faults."""

    def __init__(self, faults: Faults, kind: int) -> None:
        self.kind = kind
        self._faults = faults
        self._steps: Iterator[Step] = iter(STEPS[kind])
        self._active: list[Active] = []
        self._next()

    def _next(self) -> None:
        for each in self._active:
            each.lift()
        step = next(self._steps, None)
        self._active = []
        if step is not None:
            self._active = [
                FirstFault(Answer(api, step.error, times=None), self._faults, self)
                for api in step.apis
            ]
            self._faults.begin(*self._active)
            self._ms = step.ms

    def hit(self) -> None:
        """A client has met the error, which goes away in a while."""
        if not any(each.hits for each in self._active):
            asyncio.get_running_loop().call_later(self._ms / 1000, self._next)


class FirstFault(Active):
    """One API's part of a step."""

    def __init__(self, fault: Answer, faults: Faults, use: FirstUse) -> None:
        super().__init__(fault, faults, seed=0)
        self._use = use

    def concerns(self, request: Request, broker: int) -> bool:
        """Only what belongs to this kind of use."""
        body, kind = request.body, self._use.kind
        if self.fault.api == "FindCoordinator":
            return bool(body.key_type == kind)
        if self.fault.api == "InitProducerId":
            return (body.transactional_id is None) == (kind == IDEMPOTENCE)
        return True

    def hit(self) -> bool:
        """It does."""
        self._use.hit()
        return super().hit()
