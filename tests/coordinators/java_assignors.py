"""Apache Kafka's own assignors on a JVM, called through py4j: `with JavaAssignors() as
java: java.client_side(...)`.

Nothing is compiled. A call takes a tenth of a millisecond and a group needs a hundred,
so members go over as the bytes of their Subscription or record, and answers come back
as Java prints them. Member ids are words, topics t0 to t9.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Self

from minikafka.clients.assigning import subscription_user_data
from minikafka.coordinators.assignors import Assignment, Member, Partition
from minikafka.wire.internal_records import encode_coordinator_record
from minikafka.wire.messages import encode_versioned
from tests.jvm import Jvm

TOPICS = [f"t{n}" for n in range(10)]
CLIENT_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
SERVER_ASSIGNORS = {"range": "RangeAssignor", "uniform": "UniformAssignor"}


class JavaAssignors(Jvm):
    """A JVM with the assignors' names looked up."""

    # forgetting an object would be another call; the JVM doesn't live long
    parameters = {"enable_memory_management": False}

    def __enter__(self) -> Self:
        super().__enter__()
        self._look_up_names(self.gateway.jvm)
        return self

    def _look_up_names(self, jvm: Any) -> None:
        """Once: each part of a Java name costs a call."""
        kafka, util = jvm.org.apache.kafka, jvm.java.util
        self.hash_map, self.hash_set, self.optional = (
            util.HashMap,
            util.HashSet,
            util.Optional,
        )
        self.nothing = util.Optional.empty()
        self.wrap = jvm.java.nio.ByteBuffer.wrap
        client, group = kafka.clients.consumer, kafka.coordinator.group
        self.deserialize = client.internals.ConsumerProtocol.deserializeSubscription
        self.client_assignors = {
            name: getattr(client, java) for name, java in CLIENT_ASSIGNORS.items()
        }
        self.server_assignors = {
            name: getattr(group.assignor, java)
            for name, java in SERVER_ASSIGNORS.items()
        }
        self.accessor = kafka.common.protocol.ByteBufferAccessor
        self.target_record = group.generated.ConsumerGroupTargetAssignmentMemberValue
        self.from_record = group.modern.Assignment.fromRecord
        self.server_member = group.modern.MemberSubscriptionAndAssignmentImpl
        self.group_spec = group.modern.GroupSpecImpl
        types = group.api.assignor.SubscriptionType
        self.same_topics, self.different_topics = types.HOMOGENEOUS, types.HETEROGENEOUS
        self.describer = group.modern.SubscribedTopicDescriberImpl
        self.coordinator_image = (
            kafka.coordinator.common.runtime.KRaftCoordinatorMetadataImage
        )
        self.image, self.topics_image = (
            kafka.image.MetadataImage,
            kafka.image.TopicsImage,
        )
        self.topic_image = kafka.image.TopicImage
        empty = self.image.EMPTY
        self.image_before = (empty.provenance(), empty.features(), empty.cluster())
        self.image_after = (
            empty.configs(),
            empty.clientQuotas(),
            empty.producerIds(),
            empty.acls(),
            empty.scram(),
        )
        self.image_after += (empty.delegationTokens(),)
        self.topic_ids = {
            topic: kafka.common.Uuid(0, n + 1) for n, topic in enumerate(TOPICS)
        }
        self.topic_of_id = {
            topic_id.toString(): topic for topic, topic_id in self.topic_ids.items()
        }
        self.json = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        owners = "java.util.HashMap<java.lang.Integer,java.lang.String>"
        self.owners_type = self.json.getTypeFactory().constructFromCanonical(owners)

    def client_side(
        self, members: Mapping[str, Member], partitions: Mapping[str, int]
    ) -> dict[str, Assignment]:
        """What each of the Java client's assignors answers to a group's leader, by
        name.
        """
        subscriptions, counts = self.hash_map(), self.hash_map()
        for member_id, member in members.items():
            subscriptions.put(member_id, self._subscription(member))
        for topic, count in partitions.items():
            counts.put(topic, count)
        return {
            name: read_client_assignment(
                assignor().assign(counts, subscriptions).toString()
            )
            for name, assignor in self.client_assignors.items()
        }

    def _subscription(self, member: Member) -> Any:
        """With sticky's user data, which the others don't read."""
        body = {
            "topics": list(member.topics),
            "user_data": subscription_user_data(
                "sticky", member.owned, member.generation
            ),
            "owned_partitions": [
                {"topic": t, "partitions": numbers}
                for t, numbers in by_topic(member.owned).items()
            ],
            "generation_id": member.generation,
        }
        subscription = self.deserialize(
            self.wrap(encode_versioned("ConsumerProtocolSubscription", 3, body))
        )
        if member.instance_id is not None:
            subscription.setGroupInstanceId(self.optional.of(member.instance_id))
        return subscription

    def server_side(
        self, members: Mapping[str, Member], partitions: Mapping[str, int]
    ) -> tuple[list[str], dict[str, Assignment]]:
        """What each of the broker's assignors answers, by name; and in which order Java
        has the members.
        """
        java_members, owners = self.hash_map(), self.hash_map()
        for member_id, member in members.items():
            java_members.put(member_id, self._server_member(member))
        owner = {
            partition: member_id
            for member_id, member in members.items()
            for partition in member.owned
        }
        for topic, numbers in by_topic(sorted(owner)).items():
            text = ",".join(
                f'"{number}":"{owner[topic, number]}"' for number in numbers
            )
            owners.put(
                self.topic_ids[topic],
                self.json.readValue(f"{{{text}}}", self.owners_type),
            )
        same = len({frozenset(member.topics) for member in members.values()}) == 1
        spec = self.group_spec(
            java_members, self.same_topics if same else self.different_topics, owners
        )
        describer = self._describer(partitions)
        order = java_members.keySet().toString().strip("[]").split(", ")
        return order, {
            name: self.read_server_assignment(
                assignor().assign(spec, describer).members().toString()
            )
            for name, assignor in self.server_assignors.items()
        }

    def _server_member(self, member: Member) -> Any:
        parts = [
            {
                "topic_id": (TOPICS.index(topic) + 1).to_bytes(16, "big"),
                "partitions": numbers,
            }
            for topic, numbers in by_topic(member.owned).items()
        ]
        name, key = (
            "ConsumerGroupTargetAssignmentMember",
            {
                "group_id": "",
                "member_id": "",
            },
        )
        _, value = encode_coordinator_record(name, key, {"topic_partitions": parts})
        record = self.target_record(self.accessor(self.wrap(value[2:])), 0)
        instance_id = (
            self.nothing
            if member.instance_id is None
            else self.optional.of(member.instance_id)
        )
        return self.server_member(
            self.nothing,
            instance_id,
            self._ids(member.topics),
            self.from_record(record),
        )

    def _describer(self, partitions: Mapping[str, int]) -> Any:
        """What tells an assignor how many partitions a topic has: from an image of the
        metadata.
        """
        topics = self.topics_image.EMPTY
        for topic, count in partitions.items():
            topics = topics.including(self._topic_image(topic, count))
        return self.describer(
            self.coordinator_image(
                self.image(*self.image_before, topics, *self.image_after)
            )
        )

    @cache  # noqa: B019
    def _topic_image(self, topic: str, count: int) -> Any:
        """An assignor counts the partitions and doesn't look into them."""
        numbers = "{" + ",".join(f'"{number}":""' for number in range(count)) + "}"
        return self.topic_image(
            topic, self.topic_ids[topic], self.json.readValue(numbers, self.owners_type)
        )

    @cache  # noqa: B019
    def _ids(self, topics: tuple[str, ...]) -> Any:
        ids = self.hash_set()
        for topic in topics:
            ids.add(self.topic_ids[topic])
        return ids

    def read_server_assignment(self, text: str) -> Assignment:
        """{m1=MemberAssignment(partitions={AA..AQ=[1, 0], AA..Ag=RangeSet(from=0
        (inclusive), to=2 (exclusive))})}.
        """
        assignment: Assignment = {}
        for member, share in re.findall(
            r"(\w+)=MemberAssignment\(partitions=\{(.*?)\}\)", text
        ):
            assignment[member] = []
            for topic_id, start, end, numbers in re.findall(
                r"([\w-]{22})=(?:RangeSet\(from=(\d+) \(inclusive\), to=(\d+)"
                r" \(exclusive\)\)|\[([^]]*)\])",
                share,
            ):
                found = (
                    range(int(start), int(end))
                    if end
                    else map(int, numbers.split(", "))
                )
                assignment[member] += [
                    (self.topic_of_id[topic_id], number) for number in found
                ]
        return assignment


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


def read_client_assignment(text: str) -> Assignment:
    """{m1=[t1-0, t1-1], m2=[]} as Java prints a map of lists."""
    return {
        member: [
            (topic, int(number)) for topic, number in re.findall(r"(\w+)-(\d+)", share)
        ]
        for member, share in re.findall(r"(\w+)=\[([^]]*)\]", text)
    }
