"""Requests of share group members to their coordinator, and tools' requests about share
groups and their start offsets (KIP-932).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minikafka.broker.calls import Call, limit_repeats, results_of
from minikafka.broker.handlers.groups import client_of, operations
from minikafka.broker.handlers.share_acknowledge import check_feature
from minikafka.broker.handlers.share_states import pass_on
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import NodeClock, Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.coordinator import GroupCoordinator
from minikafka.coordinators.runtime import Decision
from minikafka.coordinators.share_group import ShareGroup, check_heartbeat
from minikafka.coordinators.share_group_state import TopicState
from minikafka.coordinators.share_groups import keys_of
from minikafka.coordinators.share_persister import (
    Results,
    SharePersister,
    Then,
    ask_for_all,
)
from minikafka.coordinators.share_states import UNKNOWN, ShareKey
from minikafka.wire.errors import Error, KafkaError

# Asks share coordinators: (group id, what the group decided, what is to end).
SecondHalf = Callable[[str, Answer, Wait], None]


@dataclass(eq=False, repr=False)
class ShareGroupHandlers:
    """Share groups, and where they begin."""

    image: Image
    clock: NodeClock
    replicas: ReplicaManager
    groups: GroupCoordinator
    persister: SharePersister

    def share_group_heartbeat(self, request: Call, now: Now) -> Wait:
        """ShareGroupHeartbeat (KIP-932): the one request of the share protocol. It
        joins, stays and leaves.

        - Member epoch 0 joins, -1 leaves.
        - Members share partitions, so nobody waits for anybody. A partition is assigned
          once its state is there.

        Version: 1.
        """
        check_feature(self.image)
        body = request.body
        check_heartbeat(body)
        client = client_of(request)

        def decide(groups: Any, _: Wait, now: Now) -> Decision:
            decision: Decision = groups.share.heartbeat(body, client, now)
            return decision

        return self.groups.ask(body.group_id, decide, now)

    def share_group_describe(self, request: Call, now: Now) -> Answer:
        """ShareGroupDescribe (KIP-932): share groups, with what each member reads.

        Version: 1.
        """
        body = request.body

        def named(group_id: str) -> Answer:
            return {"group_id": group_id}

        def shown(group_id: str) -> Answer:
            check_feature(self.image)
            groups = self.groups.state(group_id)
            group: Answer = groups.describe(group_id, ShareGroup)
            return group | operations(request, group_id)

        names = limit_repeats(body.group_ids)
        return {"groups": results_of(names, named, shown, say_why=True)}

    # -- where share partitions begin

    def describe_share_group_offsets(self, request: Call, now: Now) -> Answer | Wait:
        """DescribeShareGroupOffsets (KIP-932, KIP-1226): where the share partitions of
        groups begin, and how many records are left.

        - Null topics: all whose state is there.
        - A partition that nobody has read begins at -1.

        Versions: 0 to 1.

        - 1 adds the lag.
        """
        asked = [self.describe_group(group, now) for group in request.body.groups]

        def answer() -> Answer:
            groups = []
            for group, wait in zip(request.body.groups, asked, strict=True):
                named = {"group_id": group.group_id}
                if wait.error is not None:
                    error = wait.error
                    named |= {"error_code": error.error, "error_message": error.message}
                groups.append(named | (wait.answer or {}))
            return {"groups": groups}

        return all_of(asked, answer)

    def describe_group(self, group: Any, now: Now) -> Wait:
        """Describe the offsets of one group."""
        wait = Wait()
        unknown: list[Answer] = []
        try:
            check_feature(self.image)
            if group.topics is None:
                groups = self.groups.state(group.group_id)
                topics = groups.share.initialized_topics(group.group_id)
            else:
                topics, unknown = self.named_topics(group.topics)
        except KafkaError as error:
            wait.fail(error.with_traceback(None))
            return wait
        keys = keys_of(group.group_id, topics)

        def answered(results: Results, now: Now) -> None:
            wait.finish({"topics": [*self.summed_up(topics, results), *unknown]})

        ask_for_all(keys, self.persister.summary, answered, now)
        return wait

    def named_topics(
        self, asked: list[Any]
    ) -> tuple[dict[bytes, TopicState], list[Answer]]:
        """The topics that a request names, and what is answered for those that don't
        exist.
        """
        topics = {}
        unknown = []
        for topic in asked:
            found = self.image.topics.get(topic.topic_name)
            if found is not None:
                numbers = frozenset(topic.partitions)
                topics[found.topic_id] = TopicState(topic.topic_name, numbers)
                continue
            partitions = [
                {"partition_index": number, "start_offset": UNKNOWN}
                for number in topic.partitions
            ]
            unknown.append({"topic_name": topic.topic_name, "partitions": partitions})
        return topics, unknown

    def summed_up(
        self, topics: dict[bytes, TopicState], results: Results
    ) -> list[Answer]:
        """The answers of share coordinators about these topics, summed up."""
        by_topic: dict[bytes, list[Answer]] = {topic_id: [] for topic_id in topics}
        for key, result in results.items():
            answer: Answer = {
                "partition_index": key.partition,
                "start_offset": UNKNOWN,
                "leader_epoch": 0,
            }
            if not isinstance(result, KafkaError):
                answer["start_offset"] = result.start_offset
                answer["leader_epoch"] = result.leader_epoch
                answer["lag"] = self.lag_of(topics[key.topic_id].name, key, result)
            by_topic[key.topic_id].append(answer)
        return [
            {
                "topic_name": topics[topic_id].name,
                "topic_id": topic_id,
                "partitions": partitions,
            }
            for topic_id, partitions in by_topic.items()
        ]

    def lag_of(self, topic: str, key: ShareKey, found: Any) -> int:
        """How many records are left, as far as this node knows the partition's end; -1
        if it doesn't, or if the state makes no sense.
        """
        done = found.delivery_complete_count
        replica = self.replicas.find_or_create(topic, key.partition)
        if found.start_offset < 0 or done < 0 or replica is None:
            return UNKNOWN
        return max(0, replica.high_watermark - found.start_offset - done)

    def in_two_halves(
        self,
        request: Call,
        decide: Callable[..., Decision],
        second: SecondHalf,
        now: Now,
    ) -> Answer | Wait:
        """A group decides first, and share coordinators then carry it out. A request
        that names no topic is answered at once, but not if all of them were refused.
        """
        check_feature(self.image)
        group_id = request.body.group_id
        if group_id and not request.body.topics and request.whole is None:
            return {}
        whole = Wait()

        def decided(wait: Wait) -> None:
            if wait.error is not None:
                whole.fail(wait.error)
                return
            assert wait.answer is not None, "it has ended well"
            second(group_id, wait.answer, whole)

        self.groups.ask(group_id, decide, now).then(decided)
        return whole

    def alter_share_group_offsets(self, request: Call, now: Now) -> Answer | Wait:
        """AlterShareGroupOffsets (KIP-932): the share partitions of an empty group
        begin elsewhere, with nothing delivered.

        Version: 0.
        """

        def decide(groups: Any, *_: object) -> Decision:
            decision: Decision = groups.share.alter_offsets(request.body)
            return decision

        return self.in_two_halves(request, decide, self.initialize_states, now)

    def initialize_states(self, group_id: str, altered: Answer, whole: Wait) -> None:
        """The second half of AlterShareGroupOffsets: share coordinators initialize the
        states.
        """
        initialize: dict[ShareKey, int] = altered["initialize"]
        responses = altered["responses"]

        def ask(key: ShareKey, then: Then) -> None:
            offset = initialize[key]
            self.persister.initialize(key, altered["epoch"], offset, then)

        def ended(results: Results, now: Now) -> None:
            topics: dict[bytes, TopicState] = {}
            for topic in responses:
                for partition in topic["partitions"]:
                    number = partition["partition_index"]
                    key = ShareKey(group_id, topic["topic_id"], number)
                    result = results.get(key)
                    if isinstance(result, KafkaError):
                        partition["error_code"] = result.error
                        partition["error_message"] = result.message
                numbers = {
                    key.partition for key in results if key[1] == topic["topic_id"]
                }
                name = topic["topic_name"]
                topics[topic["topic_id"]] = TopicState(name, frozenset(numbers))
            if not any(isinstance(each, KafkaError) for each in results.values()):
                self.groups.states_are_made(group_id, topics, results, now)
            whole.finish({"responses": responses})

        if initialize:
            ask_for_all(list(initialize), ask, ended, self.clock.now)
        else:
            whole.finish({"responses": responses})

    def delete_share_group_offsets(self, request: Call, now: Now) -> Answer | Wait:
        """DeleteShareGroupOffsets (KIP-932): the state of topics that an empty group
        read goes.

        Version: 0.
        """

        def decide(groups: Any, *_: object) -> Decision:
            decision: Decision = groups.share.delete_offsets(request.body)
            return decision

        return self.in_two_halves(request, decide, self.delete_states, now)

    def delete_states(self, group_id: str, begun: Answer, whole: Wait) -> None:
        """The second half of DeleteShareGroupOffsets: share coordinators delete the
        states, and then the group forgets them.
        """
        topics: dict[bytes, TopicState] = begun["delete"]
        errors: list[Answer] = begun["errors"]
        if not topics:
            whole.finish({"responses": errors})
            return

        def ended(results: Results, now: Now) -> None:
            gone = dict(topics)
            responses = []
            for key, result in results.items():
                if isinstance(result, KafkaError) and key.topic_id in gone:
                    named = of_topic(key.topic_id, gone.pop(key.topic_id))
                    named |= {"error_code": result.error}
                    responses.append(named | {"error_message": result.error.message})
            responses += [of_topic(topic_id, state) for topic_id, state in gone.items()]
            answer = {"responses": [*responses, *errors]}

            def decide(groups: Any, *_: object) -> Decision:
                decision: Decision = groups.share.offsets_deleted(group_id, gone)
                return decision._replace(answer=answer)

            pass_on(self.groups.ask(group_id, decide, now), whole)

        keys = keys_of(group_id, topics)
        ask_for_all(keys, self.persister.delete, ended, self.clock.now)


def of_topic(topic_id: bytes, state: TopicState) -> Answer:
    return {"topic_id": topic_id, "topic_name": state.name, "error_code": Error.NONE}
