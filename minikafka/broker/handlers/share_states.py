"""What brokers ask share coordinators: the state of share partitions (KIP-932;
coordinators/share_states.py).
"""

from typing import Any

from minikafka.broker.calls import Call
from minikafka.broker.parts import Parts
from minikafka.clock import Now
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.runtime import Decision
from minikafka.coordinators.share_persister import Results, ask_for_all
from minikafka.coordinators.share_states import ShareKey
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested


def asked_states(broker: Parts, request: Call, now: Now, decide: Any) -> Answer | Wait:
    """Each share partition of a request is decided on by itself."""
    body = request.body
    is_empty = any(not topic.partitions for topic in body.topics)
    if not body.topics or is_empty or not body.group_id.strip():
        return {"results": []}
    waits: dict[tuple[bytes, int], Wait] = {}
    for topic in body.topics:
        for asked in topic.partitions:
            key = ShareKey(body.group_id, topic.topic_id, asked.partition)
            waits[topic.topic_id, asked.partition] = ask_state(
                broker, key, asked, now, decide
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


def ask_state(broker: Parts, key: ShareKey, asked: Any, now: Now, decide: Any) -> Wait:
    def of_one(states: Any, _: Wait, now: Now) -> Decision:
        try:
            decision: Decision = decide(states, key, asked, now)
        except KafkaError as error:
            # what it says of a share partition is no error of the coordinator's
            said = {"error_code": error.error, "error_message": error.message}
            return Decision(answer=said)
        return decision

    return broker.sharing.coordinator.ask(str(key), of_one, now)


def initialize_state(broker: Parts, request: Call, now: Now) -> Answer | Wait:
    """InitializeShareGroupState (KIP-932): the state of share partitions begins, or
    begins anew.

    Version: 0.
    """

    def decide(states: Any, key: ShareKey, asked: Any, now: Now) -> Any:
        return states.initialize(key, asked, now)

    return asked_states(broker, request, now, decide)


def read_state(broker: Parts, request: Call, now: Now) -> Answer | Wait:
    """ReadShareGroupState (KIP-932): for who leads the partition now; who led it before
    is fenced.

    Version: 0.
    """

    def decide(states: Any, key: ShareKey, asked: Any, now: Now) -> Any:
        return states.read(key, asked, now)

    return asked_states(broker, request, now, decide)


def write_state(broker: Parts, request: Call, now: Now) -> Answer | Wait:
    """WriteShareGroupState (KIP-932, KIP-1226): what became of records.

    Versions: 0 to 1.

    - 1 counts those that are done with.
    """

    def decide(states: Any, key: ShareKey, asked: Any, now: Now) -> Any:
        return states.write(key, asked, now)

    return asked_states(broker, request, now, decide)


def delete_state(broker: Parts, request: Call, now: Now) -> Answer | Wait:
    """DeleteShareGroupState (KIP-932): the state of share partitions goes.

    Version: 0.
    """

    def decide(states: Any, key: ShareKey, asked: Any, now: Now) -> Any:
        return states.delete(key)

    return asked_states(broker, request, now, decide)


def summarize_state(broker: Parts, request: Call, now: Now) -> Answer | Wait:
    """ReadShareGroupStateSummary (KIP-932, KIP-1226): where share partitions begin.

    Versions: 0 to 1.

    - 1 counts those records that are done with.
    """

    def decide(states: Any, key: ShareKey, asked: Any, now: Now) -> Any:
        return states.summary(key)

    return asked_states(broker, request, now, decide)


# -- of groups that are deleted


def pass_on(wait: Wait, whole: Wait) -> None:
    """The one ends as the other does."""

    def ended(_: Wait) -> None:
        if wait.error is not None:
            whole.fail(wait.error)
        else:
            whole.finish(wait.answer or {})

    wait.then(ended)


def after_its_states(broker: Parts, group_id: str, wait: Wait) -> Wait:
    """DeleteGroups of one group. The state of a share group's partitions goes first, and
    then the group.
    """
    whole = Wait()

    def decide(groups: Any, *_: object) -> Decision:
        decision: Decision = groups.delete(group_id, state_has_gone=True)
        return decision

    def ended(results: Results, now: Now) -> None:
        for result in results.values():
            if isinstance(result, KafkaError):
                whole.fail(result)
        if not whole.is_done:
            pass_on(broker.groups.ask(group_id, decide, now), whole)

    def begun(_: Wait) -> None:
        if wait.error is None and wait.answer and "keys" in wait.answer:
            keys = wait.answer["keys"]
            ask_for_all(keys, broker.sharing.persister.delete, ended, broker.now)
        else:
            pass_on(wait, whole)

    wait.then(begun)
    return whole
