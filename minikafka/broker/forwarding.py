"""A broker's requests to the active controller for its clients, wherever that is:
changes that only the controller may decide, producer ids, and topics that are needed.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.active_controller import TIMEOUT_MS, ActiveController
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.peers import CONTROL
from minikafka.clock import Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.timers import NEVER_MS, Timers
from minikafka.cluster.waiting import METADATA, Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

RETRY_BACKOFF_MS = 100
PRODUCER_IDS_VERSION, CREATE_TOPICS_VERSION = 0, 7


class Split(NamedTuple):
    """A request that the active controller must answer, but for a part. rest: what it
    is asked. whole: makes of its answer the one to the whole request. refuse: makes it
    of an error, where the API's usual answer won't do.
    """

    rest: Answer
    whole: Callable[[Answer], Answer]
    refuse: Callable[[KafkaError], Answer] | None = None


def is_of_no_controller(answer: Answer) -> bool:
    """Whether it says NOT_CONTROLLER: of the whole request, or of an item, which is
    then said of each.
    """
    if answer.get("error_code") == Error.NOT_CONTROLLER:
        return True
    items = [each for each in answer.values() if isinstance(each, list)]
    return any(
        is_of_no_controller(item)
        for each in items
        for item in each
        if isinstance(item, dict)
    )


@dataclass(eq=False, repr=False)
class Forwarding:
    """One node's questions to the active controller."""

    _incarnation: Incarnation
    _quorum: Quorum
    _controller: ActiveController
    _ask: AskNode
    _timers: Timers
    _producer_ids: range = range(0)
    _waiting_for_ids: list[Wait] = field(default_factory=list)
    # what the controller could not be asked, and when to try again
    _again: deque[tuple[int, Wait]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._next_again = self._timers.new()

    def tick(self, now: Now) -> None:
        """Ask again what could not be asked."""
        while self._next_again.at_ms <= now.monotonic_ms:
            _, wait = self._again.popleft()
            self._next_again.set(self._again[0][0] if self._again else NEVER_MS)
            wait.finish({})

    def to_decide(
        self, api: str, version: int, split: Callable[[], Split], now: Now
    ) -> Wait | None:
        """A request that only the active controller decides is forwarded to it, or
        waits until this node, which is it, knows all that its predecessor decided.
        None: it is decided here and now. split(): what of it is forwarded.
        """
        if not self._quorum.is_leader:
            return self.forward(api, version, split(), now)
        if not self._quorum.is_settled:
            return self._controller.settled(now)
        return None

    def forward(self, api: str, version: int, asked: Split, now: Now) -> Wait:
        """A request that the active controller must answer, from a client of a broker
        that is not it: asked there in this broker's name, and answered as it is
        answered, but for a part that this broker answers itself. (Apache Kafka wraps it
        in an Envelope, KIP-590, for the sake of the client's principal. There are no
        principals here.)
        """
        quorum, until_ms = self._quorum, now.monotonic_ms + TIMEOUT_MS
        if quorum.leader_id == NO_LEADER:
            until_there_is_one = Wait(
                [METADATA],
                until_ms,
                lambda *_: {} if quorum.leader_id != NO_LEADER else None,
                again=True,
            )
            until_there_is_one.refuse = asked.refuse
            return until_there_is_one
        wait = Wait((), until_ms)
        wait.refuse = asked.refuse

        def passed_back(reply: Message | None, now: Now) -> None:
            answer = None if reply is None else reply.to_dict()
            if answer is None or is_of_no_controller(answer):
                wait.again = True
                self._again.append((now.monotonic_ms + RETRY_BACKOFF_MS, wait))
                self._next_again.set(self._again[0][0])
            else:
                wait.finish(asked.whole(answer))

        self._ask(
            quorum.leader_id,
            CONTROL,
            api,
            version,
            asked.rest,
            passed_back,
        )
        return wait

    def next_producer_id(self, now: Now) -> int | Wait:
        """A producer id that was never given before (KIP-730: out of a block that the
        controller hands out). Without one left: what the request must wait for before
        it asks again.
        """
        if self._producer_ids:
            producer_id, self._producer_ids = (
                self._producer_ids[0],
                self._producer_ids[1:],
            )
            return producer_id
        wait = Wait((), now.monotonic_ms + TIMEOUT_MS, again=True)
        self._waiting_for_ids.append(wait)
        if len(self._waiting_for_ids) == 1:
            self._ask_for_ids(now)
        return wait

    def _ask_for_ids(self, now: Now) -> None:
        def allocated(reply: Message | None, now: Now) -> None:
            waiting, self._waiting_for_ids = self._waiting_for_ids, []
            assert not self._producer_ids, "a block is used up before the next one"
            if reply is not None and not reply.error_code:
                self._producer_ids = range(
                    reply.producer_id_start,
                    reply.producer_id_start + reply.producer_id_len,
                )
            for wait in waiting:
                if self._producer_ids:
                    wait.finish({})
                else:
                    # whatever the reason: try again
                    wait.fail(KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS))

        leader = self._quorum.leader_id
        if leader == NO_LEADER:
            allocated(None, now)
            return
        body = {
            "broker_id": self._incarnation.node_id,
            "broker_epoch": self._incarnation.broker_epoch,
        }
        self._ask(
            leader,
            CONTROL,
            "AllocateProducerIds",
            PRODUCER_IDS_VERSION,
            body,
            allocated,
        )

    def create(
        self, topics: Sequence[dict[str, Any]], now: Now, answer: Callable[[], Answer]
    ) -> Answer | Wait:
        """Have the active controller create topics that somebody asked for; answer():
        once it has, or does not say, or is no controller any more.
        """
        quorum = self._quorum
        leader = quorum.leader_id
        if leader == NO_LEADER:
            return answer()

        def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
            return answer() if expired or quorum.leader_id != leader else None

        wait = Wait([METADATA], now.monotonic_ms + TIMEOUT_MS, attempt)
        body = {"topics": topics, "timeout_ms": TIMEOUT_MS}
        self._ask(
            leader,
            CONTROL,
            "CreateTopics",
            CREATE_TOPICS_VERSION,
            body,
            lambda *_: wait.finish(answer()),
        )
        return wait
