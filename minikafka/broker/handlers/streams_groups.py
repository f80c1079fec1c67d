"""Requests of streams group members (KIP-1071) to their coordinator, and tools'
requests about such groups.
"""

from dataclasses import dataclass
from typing import Any

from minikafka.broker.calls import Call
from minikafka.broker.handlers.groups import client_of, described
from minikafka.broker.internal_topics import InternalTopics
from minikafka.clock import NodeClock, Now
from minikafka.cluster import features
from minikafka.cluster.acls import Operation
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.coordinator import GroupCoordinator
from minikafka.coordinators.runtime import Decision
from minikafka.coordinators.streams_group import StreamsGroup
from minikafka.coordinators.streams_group_messages import check_request, check_topics
from minikafka.coordinators.streams_topology import Status
from minikafka.wire.errors import Error, KafkaError

STREAMS_FEATURE = "streams.version"
HEARTBEATS_UNTIL_RETRY = 2  # of a topic that could not be created
MOST_FAILURES = 3  # that one answer tells
DESCRIPTION_NOT_STORED = 1  # a TopologyDescriptionStatus of StreamsGroupDescribe


@dataclass(eq=False, repr=False)
class StreamsGroupHandlers:
    """Groups of the streams protocol."""

    image: Image
    clock: NodeClock
    groups: GroupCoordinator
    internal_topics: InternalTopics

    def check_enabled(self) -> None:
        """Check that the cluster has the protocol switched on. Errors:
        UNSUPPORTED_VERSION.
        """
        is_known = STREAMS_FEATURE in features.FEATURES
        if is_known and not features.level(self.image, STREAMS_FEATURE):
            raise KafkaError(Error.UNSUPPORTED_VERSION)

    def streams_group_heartbeat(self, request: Call, now: Now) -> Wait:
        """StreamsGroupHeartbeat (KIP-1071): the one request of the streams protocol. It
        joins, stays, reports and leaves.

        - As ConsumerGroupHeartbeat, but what is assigned is tasks, and a member that
          joins says what the application reads, writes and keeps.
        - The answer's status tells what the application is in want of. Internal topics
          that are missing are created; the next heartbeat sees them.
        - Member epoch 0 joins, -1 leaves. There are no static members yet.

        Versions: 0 to 1.

        - 1 tells how far behind a copy of a task's state may be, and that client tags
          are missing.
        """
        body = request.body
        self.check_enabled()
        if body.topology is not None:
            check_topics(body.topology)
        check_request(body)
        client = client_of(request)

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            return groups.streams_heartbeat(body, client, now)

        def answered(wait: Wait) -> None:
            if wait.answer is not None:
                self.create_missing(request, wait.answer)

        wait = self.groups.ask(body.group_id, decide, now)
        wait.then(answered)
        return wait

    def create_missing(self, request: Call, answer: Answer) -> None:
        """Have the missing internal topics created, which an answer lists for this node
        alone; if that failed before, or the member may not create all of them, it is
        told so.
        """
        missing = answer.pop("missing")
        if not missing:
            return
        forbidden = not_to_create(request, [topic.name for topic in missing])
        if forbidden:
            names = ", ".join(forbidden)
            tell_missing(answer, f"; Unauthorized to CREATE on topics {names}.")
            return
        topics = [topic.creatable() for topic in missing]
        retry_ms = HEARTBEATS_UNTIL_RETRY * answer["heartbeat_interval_ms"]
        self.internal_topics.create(topics, retry_ms, self.clock.now)
        failures = self.internal_topics.failures(topic.name for topic in missing)
        if not failures:
            return
        told = [f"{name} ({why})" for name, why in failures.items()]
        text = ", ".join(told[:MOST_FAILURES])
        if len(told) > MOST_FAILURES:
            text += f" and {len(told) - MOST_FAILURES} more"
        tell_missing(answer, f"; Creation failed: {text}.")

    def streams_group_describe(self, request: Call, now: Now) -> Answer:
        """StreamsGroupDescribe (KIP-1071): streams groups with their topology, and with
        the tasks that each member has and is to have.

        Versions: 0 to 1.

        - 1 tells the assignor (KIP-1357), and may ask for the description of the
          topology, which nobody keeps here (KIP-1331).
        """
        self.check_enabled()
        answer = described(self.groups, request, StreamsGroup)
        if request.body.include_topology_description:
            for group in answer["groups"]:
                if group["error_code"] == Error.NONE:
                    group["topology_description_status"] = DESCRIPTION_NOT_STORED
        return answer

    def streams_group_topology_description_update(
        self, request: Call, now: Now
    ) -> Answer:
        """StreamsGroupTopologyDescriptionUpdate (KIP-1331): a member describes its
        topology for a plugin of the broker. There are no plugins here, so it is
        refused, as by Apache Kafka without one.

        Version: 0.
        """
        self.check_enabled()
        why = "The broker has no streams group topology description plugin configured."
        raise KafkaError(Error.UNSUPPORTED_VERSION, why)


def not_to_create(request: Call, topics: list[str]) -> list[str]:
    """Which of these topics a member may not have created."""
    access = request.access
    if access is None or access.allows_cluster(Operation.CREATE):
        return []
    return [name for name in topics if not access.allows_topic(Operation.CREATE, name)]


def tell_missing(answer: Answer, more: str) -> None:
    """Say more about the internal topics that are missing."""
    for status in answer["status"]:
        if status["status_code"] == Status.MISSING_INTERNAL_TOPICS:
            status["status_detail"] += more
