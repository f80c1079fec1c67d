"""A client's image of the cluster: brokers, the topics it uses, partitions and their
leaders.

It is read again when a topic is missing, when an answer showed that it is stale, and
every metadata_max_age_ms (5 minutes). A client that uses no topic reads it again when
it needs a broker that isn't in it, because that broker may have come since. In between,
a client does not notice that partitions were added.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.clients.request_state import OnResponse, RequestState, Timed
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

Address = tuple[str, int]


class Partition(NamedTuple):
    """leader is None while there is none; leader_epoch is -1 when unknown."""

    leader: int | None
    leader_epoch: int


UNKNOWN = Partition(None, -1)


def newer(known: Partition, answer: Message) -> Partition:
    """The newer of two states. A broker that was cut off from the others still answers
    with an older leader epoch, which is ignored (KIP-320).
    """
    leader = None if answer.leader_id < 0 else answer.leader_id
    if known.leader_epoch > answer.leader_epoch >= 0:
        return known
    return Partition(leader, answer.leader_epoch)


class Metadata:
    """One client's image of the cluster, and the request that reads it. changed():
    called each time it was read.
    """

    def __init__(
        self,
        client: Timed,
        max_age_ms: int,
        allow_auto_create_topics: bool,
        changed: Callable[[], None],
    ) -> None:
        self.brokers: dict[int, Address] = {}
        self.wanted: dict[str, None] = {}  # a dict keeps the order, a set would not
        self.errors: dict[str, Error] = {}  # by topic, from the last answer
        self.topic_names: dict[bytes, str] = {}  # by topic id
        self._topics: dict[str, dict[int, Partition]] = {}
        self._client = client
        self._changed = changed
        self._state = RequestState(client)
        self._max_age_ms = max_age_ms
        self._allow_auto_create_topics = allow_auto_create_topics
        self._is_stale = False
        self._lacks_broker = False
        # when to ask even if nobody finds it stale; None: never
        self._asks_at: int | None = None
        self._may_ask_at = 0

    def want(self, topic: str) -> bool:
        """Include this topic in requests from now on. Returns true if its partitions
        are known already.
        """
        self.wanted.setdefault(topic)
        if topic not in self._topics:
            self.refresh()
        return topic in self._topics

    def refresh(self) -> None:
        """Ask again as soon as the backoff allows."""
        self._is_stale = True

    def lacks_broker(self) -> None:
        """A broker is needed that isn't in the image: ask, even if no topic is
        wanted.
        """
        self._lacks_broker = True
        self.refresh()

    def doubt(self, error: Error) -> None:
        """Ask again if this refusal of a request may mean that another broker is the
        leader now.
        """
        if error.retriable:
            self.refresh()

    def due_at(self) -> int | None:
        """When to ask next, in ms; None if nobody needs it, or a request is in
        flight.
        """
        is_wanted = bool(self.wanted) or self._lacks_broker or not self.brokers
        if self._state.in_flight or not is_wanted:
            return None
        return self._may_ask_at if self._is_stale else self._asks_at

    def ask(self, send: Callable[[str, dict[str, Any], OnResponse], None]) -> None:
        """Read the image. send(api, body, on_response): to a node that is ready."""
        self._is_stale = False
        self._lacks_broker = False
        self._state.back_off()
        self._may_ask_at = self._state.at_ms

        def failed() -> None:
            self._is_stale = False
            self._asks_at = self._state.at_ms

        body = {
            "topics": [{"name": topic} for topic in self.wanted],
            "allow_auto_topic_creation": self._allow_auto_create_topics,
        }
        send("Metadata", body, self._state.sent(self._update, failed))

    def partitions(self, topic: str) -> dict[int, Partition] | None:
        """{number: Partition} in order of the numbers, or None if the topic is not
        known.
        """
        return self._topics.get(topic)

    def partition(self, topic: str, number: int) -> Partition:
        return self._topics.get(topic, {}).get(number, UNKNOWN)

    def _update(self, response: Message) -> None:
        self._asks_at = self._client.now_ms + self._max_age_ms
        self.brokers = {
            broker.node_id: (broker.host, broker.port) for broker in response.brokers
        }
        for topic in response.topics:
            error = Error(topic.error_code)
            self.errors[topic.name] = error
            if error is Error.NONE:
                self._update_topic(topic)
            else:
                self._topics.pop(topic.name, None)
        if not all(map(self._is_final, self.wanted)):
            self.refresh()
        self._changed()

    def _update_topic(self, topic: Message) -> None:
        """A topic that was deleted and created again starts with nothing known
        about it.
        """
        is_known = self.topic_names.get(topic.topic_id) == topic.name
        known = self._topics.get(topic.name, {}) if is_known else {}
        partitions = {}
        for each in sorted(topic.partitions, key=lambda each: each.partition_index):
            number = each.partition_index
            partitions[number] = newer(known.get(number, UNKNOWN), each)
        self._topics[topic.name] = partitions
        self.topic_names[topic.topic_id] = topic.name

    def _is_final(self, topic: str) -> bool:
        """Whether asking about the topic again would change nothing."""
        error = self.errors.get(topic, Error.NONE)
        if error is not Error.NONE:
            return not error.retriable
        partitions = self._topics.get(topic)
        if not partitions:
            return False
        return all(each.leader is not None for each in partitions.values())
