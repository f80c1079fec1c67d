"""Internal topics of Streams applications (KIP-1071): at a heartbeat the group's
coordinator finds them missing, and its broker has the active controller create them.

Nobody waits for that: the member sends another heartbeat, and is told then what went
wrong. A topic that could not be created is tried again after a while. (Apache Kafka:
DefaultAutoTopicCreationManager.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.active_controller import TIMEOUT_MS
from minikafka.broker.forwarding import CREATE_TOPICS_VERSION
from minikafka.broker.peers import CONTROL
from minikafka.clock import Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.quorum import Quorum
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

MOST_REMEMBERED = 1000  # topics that could not be created


class Failed(NamedTuple):
    """Why a topic could not be created, and until when that is told."""

    why: str
    until_ms: int


@dataclass(eq=False, repr=False)
class InternalTopics:
    """The topics that one broker has had created."""

    _quorum: Quorum
    _ask: AskNode
    _asked_for: set[str] = field(default_factory=set)
    _failed: dict[str, Failed] = field(default_factory=dict)

    def create(self, topics: Sequence[dict[str, Any]], retry_ms: int, now: Now) -> None:
        """Have these created, as CreateTopics wants them, but for those that were asked
        for, or failed less than retry_ms ago.
        """
        self._forget(now)
        wanted = []
        for topic in topics:
            name = topic["name"]
            if name not in self._asked_for and name not in self._failed:
                wanted.append(topic)
        leader = self._quorum.leader_id
        if not wanted or leader == NO_LEADER:
            return
        names = {topic["name"] for topic in wanted}
        self._asked_for |= names

        def created(reply: Message | None, now: Now) -> None:
            self._asked_for -= names
            for topic in reply.topics if reply is not None else ():
                self._heard(topic, now.monotonic_ms + retry_ms)

        body = {"topics": wanted, "timeout_ms": TIMEOUT_MS}
        self._ask(leader, CONTROL, "CreateTopics", CREATE_TOPICS_VERSION, body, created)

    def _heard(self, topic: Message, until_ms: int) -> None:
        """The controller's answer about one topic; another controller is asked next
        time.
        """
        if topic.error_code in (Error.NONE, Error.NOT_CONTROLLER):
            return
        if len(self._failed) == MOST_REMEMBERED:
            del self._failed[next(iter(self._failed))]
        why = topic.error_message or Error(topic.error_code).message
        self._failed[topic.name] = Failed(why, until_ms)

    def _forget(self, now: Now) -> None:
        for name, failed in list(self._failed.items()):
            if failed.until_ms <= now.monotonic_ms:
                del self._failed[name]

    def failures(self, names: Iterable[str]) -> dict[str, str]:
        """Why some of these could not be created."""
        return {name: self._failed[name].why for name in names if name in self._failed}
