"""Brokers' requests to share coordinators: the states of share partitions (KIP-932;
coordinators/share_states.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.broker.calls import Call
from minikafka.broker.sharing import Sharing
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.runtime import Decision
from minikafka.coordinators.share_states import ShareKey, ShareStates
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested

# Decides on one share partition: its states, its key, what is asked of it, and when.
Decide = Callable[[ShareStates, ShareKey, Any, Now], Decision]


@dataclass(eq=False, repr=False)
class ShareStateHandlers:
    """The states of share partitions."""

    sharing: Sharing

    def asked_states(self, request: Call, now: Now, decide: Decide) -> Answer | Wait:
        """Each share partition of a request is decided on by itself."""
        body = request.body
        is_empty = any(not topic.partitions for topic in body.topics)
        if not body.topics or is_empty or not body.group_id.strip():
            return {"results": []}
        waits: dict[tuple[bytes, int], Wait] = {}
        for topic in body.topics:
            for asked in topic.partitions:
                key = ShareKey(body.group_id, topic.topic_id, asked.partition)
                waits[topic.topic_id, asked.partition] = self.ask_state(
                    key, asked, now, decide
                )

        def answer() -> Answer:
            results = []
            for (topic_id, number), wait in waits.items():
                named: Answer = {"partition": number, "error_code": Error.NONE}
                if wait.error is not None:
                    error = wait.error
                    named |= {"error_code": error.error, "error_message": error.message}
                results.append((topic_id, named | (wait.answer or {})))
            return {"results": nested(results, "topic_id")}

        return all_of(list(waits.values()), answer)

    def ask_state(self, key: ShareKey, asked: Any, now: Now, decide: Decide) -> Wait:
        def of_one(states: ShareStates, _: Wait, now: Now) -> Decision:
            try:
                return decide(states, key, asked, now)
            except KafkaError as error:
                # what it says of a share partition is no error of the coordinator's
                said = {"error_code": error.error, "error_message": error.message}
                return Decision(answer=said)

        return self.sharing.coordinator.ask(str(key), of_one, now)

    def initialize_share_group_state(self, request: Call, now: Now) -> Answer | Wait:
        """InitializeShareGroupState (KIP-932): create the state of share partitions, or
        reset it.

        Version: 0.
        """

        def decide(
            states: ShareStates, key: ShareKey, asked: Any, now: Now
        ) -> Decision:
            return states.initialize(key, asked, now)

        return self.asked_states(request, now, decide)

    def read_share_group_state(self, request: Call, now: Now) -> Answer | Wait:
        """ReadShareGroupState (KIP-932): the partition's new leader reads its state;
        the previous leader is fenced.

        Version: 0.
        """

        def decide(
            states: ShareStates, key: ShareKey, asked: Any, now: Now
        ) -> Decision:
            return states.read(key, asked, now)

        return self.asked_states(request, now, decide)

    def write_share_group_state(self, request: Call, now: Now) -> Answer | Wait:
        """WriteShareGroupState (KIP-932, KIP-1226): what became of records.

        Versions: 0 to 1.

        - 1 counts those that are done with.
        """

        def decide(
            states: ShareStates, key: ShareKey, asked: Any, now: Now
        ) -> Decision:
            return states.write(key, asked, now)

        return self.asked_states(request, now, decide)

    def delete_share_group_state(self, request: Call, now: Now) -> Answer | Wait:
        """DeleteShareGroupState (KIP-932): the state of share partitions goes.

        Version: 0.
        """

        def decide(
            states: ShareStates, key: ShareKey, asked: Any, now: Now
        ) -> Decision:
            return states.delete(key)

        return self.asked_states(request, now, decide)

    def read_share_group_state_summary(self, request: Call, now: Now) -> Answer | Wait:
        """ReadShareGroupStateSummary (KIP-932, KIP-1226): where share partitions begin.

        Versions: 0 to 1.

        - 1 counts those records that are done with.
        """

        def decide(
            states: ShareStates, key: ShareKey, asked: Any, now: Now
        ) -> Decision:
            return states.summary(key)

        return self.asked_states(request, now, decide)


def pass_on(wait: Wait, whole: Wait) -> None:
    """The one ends as the other does."""

    def ended(_: Wait) -> None:
        if wait.error is not None:
            whole.fail(wait.error)
        else:
            whole.finish(wait.answer or {})

    wait.then(ended)
