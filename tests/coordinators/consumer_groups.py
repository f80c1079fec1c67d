"""A coordinator of one consumer group without a broker, and members that behave."""

from dataclasses import dataclass, field

from minikafka.coordinators.consumer_group import ConsumerGroup
from minikafka.coordinators.consumer_group_messages import check_request
from minikafka.coordinators.expressions import Expressions
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import API
from minikafka.wire.schema import Message
from tests.coordinators import modern_groups
from tests.coordinators.modern_groups import Topics, through_bytes
from tests.coordinators.purity import unchanged

CONFIG = {
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.assignors": "uniform,range",
    "group.consumer.heartbeat.interval.ms": 5000,
    "group.consumer.max.size": 100,
    "group.consumer.session.timeout.ms": 45_000,
}


class Coordinator(modern_groups.Coordinator):
    def __init__(self, topics: Topics, **config: object) -> None:
        given = {name.replace("_", "."): value for name, value in config.items()}
        super().__init__(topics, CONFIG | given)

    def new_group(self, live: bool = True) -> ConsumerGroup:
        return ConsumerGroup(
            "billing",
            self.config,
            self.topics.image,
            Expressions(),
            Trace("broker 1", [self.events.append]),
            live,
        )

    def not_yet_loaded(self) -> ConsumerGroup:
        return self.new_group(live=False)

    def heartbeat(self, version: int = 1, **fields: object) -> Message:
        """The answer, through bytes; KafkaError if it is refused. lost=True: nothing
        comes back.
        """
        request = API["ConsumerGroupHeartbeat"].request
        body = through_bytes(request, version, {"group_id": "billing", **fields})
        check_request(body, version, self.config["group.consumer.assignors"].split(","))
        with unchanged(self.group):
            draft = self.group.heartbeat(
                body, "client of " + body.member_id, "/127.0.0.1", self.now
            )
        self.commit(draft)
        return through_bytes(
            API["ConsumerGroupHeartbeat"].response, version, draft.answer
        )

    def check_commit(
        self, member_id: str, epoch: int, partitions: list, version: int = 9
    ) -> None:
        """Whether an OffsetCommit for [(topic, number)] counts; KafkaError if it
        doesn't.
        """
        parts = [
            {
                "name": topic,
                "partitions": [{"partition_index": number, "committed_offset": 1}],
            }
            for topic, number in partitions
        ]
        body = {
            "group_id": "billing",
            "generation_id_or_member_epoch": epoch,
            "member_id": member_id,
            "topics": parts,
        }
        self.group.check_commit(
            through_bytes(API["OffsetCommit"].request, version, body),
            version,
            transactional=False,
        )

    def holders(self) -> dict[tuple[str, int], list[str]]:
        """Who may use a partition, or was told to give it up and has not said that it
        did.
        """
        holders: dict[tuple[str, int], list[str]] = {}
        for member in self.group.state.members.values():
            for topic_id, number in {
                **member.assigned_partitions,
                **member.partitions_pending_revocation,
            }:
                name = self.topics.image.topic_names.get(topic_id, topic_id.hex())
                holders.setdefault((name, number), []).append(member.member_id)
        return holders

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]


@dataclass
class Consumer:
    """A well-behaved member: it revokes what it is told, and says so with its next
    heartbeat.

    told: what it is to have, as it was told last; owned: what it has.
    """

    coordinator: Coordinator
    member_id: str
    topics: tuple[str, ...] = ("orders",)
    instance_id: str | None = None
    pattern: str | None = None
    assignor: str | None = None
    rebalance_timeout_ms: int = 60_000
    epoch: int = 0
    owned: list[tuple[str, int]] = field(default_factory=list)
    must_say: bool = True  # everything, as after an error
    told: list[tuple[str, int]] = field(default_factory=list)

    def fields(self) -> dict:
        fields = {
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
        }
        if self.must_say or self.epoch == 0:
            fields.update(
                rebalance_timeout_ms=self.rebalance_timeout_ms,
                subscribed_topic_names=list(self.topics),
                subscribed_topic_regex=self.pattern,
                server_assignor=self.assignor,
            )
        return {**fields, "topic_partitions": self.said()}

    def said(self) -> list[dict]:
        ids = {
            name: topic.topic_id
            for name, topic in self.coordinator.topics.image.topics.items()
        }
        return [
            {"topic_id": ids[name], "partitions": [number]}
            for name, number in sorted(self.owned)
            if name in ids
        ]

    def beat(self, lost: bool = False, slow: bool = False) -> Message | None:
        """One heartbeat. lost: the coordinator hears it, the answer is lost. slow: it
        does not revoke yet.

        Fenced, it drops all and rejoins.
        """
        try:
            answer = self.coordinator.heartbeat(**self.fields())
        except KafkaError as error:
            if (
                error.error.name in ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
                and not lost
            ):
                self.epoch, self.owned, self.told, self.must_say = 0, [], [], True
            raise
        if lost:
            self.must_say = True
            return None
        self.epoch, self.must_say = answer.member_epoch, False
        if answer.assignment is not None:
            names = self.coordinator.topics.image.topic_names
            self.told = sorted(
                (names[topic.topic_id], number)
                for topic in answer.assignment.topic_partitions
                for number in topic.partitions
                if topic.topic_id in names
            )
        self.owned = sorted({*self.owned, *self.told}) if slow else self.told
        return answer

    def leave(self, epoch: int = -1) -> Message:
        fields = {
            "member_id": self.member_id,
            "member_epoch": epoch,
            "instance_id": self.instance_id,
        }
        self.epoch, self.owned, self.told, self.must_say = 0, [], [], True
        return self.coordinator.heartbeat(**fields)

    @property
    def numbers(self) -> list[int]:
        return [number for _, number in self.owned]
