"""A coordinator of one streams group without a broker, and members that behave."""

from dataclasses import dataclass, field

from minikafka.coordinators.streams_group import StreamsGroup
from minikafka.coordinators.streams_group_messages import check_request
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import API
from minikafka.wire.schema import Message
from tests.coordinators import modern_groups
from tests.coordinators.modern_groups import Topics, through_bytes
from tests.coordinators.purity import unchanged

CONFIG = {
    "group.streams.assignment.interval.ms": 0,
    "group.streams.heartbeat.interval.ms": 5000,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.max.size": 100,
    "group.streams.num.standby.replicas": 0,
    "group.streams.session.timeout.ms": 45_000,
}
STORE = "count-store-changelog"


class Coordinator(modern_groups.Coordinator):
    def __init__(self, topics: Topics, **config: object) -> None:
        named = {f"group.streams.{name}": value for name, value in config.items()}
        given = {name.replace("_", "."): value for name, value in named.items()}
        super().__init__(topics, CONFIG | given)

    def new_group(self) -> StreamsGroup:
        trace = Trace("broker 1", [self.events.append])
        return StreamsGroup("count", self.config, self.topics.image, trace)

    def heartbeat(self, **fields: object) -> Message:
        """The answer, through bytes; KafkaError if it is refused."""
        api = API["StreamsGroupHeartbeat"]
        body = through_bytes(api.request, 0, {"group_id": "count", **fields})
        check_request(body)
        client = f"client of {body.member_id}", "/127.0.0.1"
        with unchanged(self.group):
            draft = self.group.heartbeat(body, client, self.now)
        self.commit(draft)
        answer = dict(draft.answer)
        self.missing = [topic.name for topic in answer.pop("missing")]
        return through_bytes(api.response, 0, answer)

    def runners(self) -> dict[tuple[str, int], list[str]]:
        """Who may run a task, or was told to give it up and has not said that it
        did.
        """
        runners: dict[tuple[str, int], list[str]] = {}
        for member in self.group.state.members.values():
            for task in (*member.tasks.active, *member.pending.active):
                runners.setdefault(task, []).append(member.member_id)
        return runners


@dataclass
class Thread:
    """A well-behaved member: it revokes what it is told, and says so with its next
    heartbeat. active, standby: what it has.
    """

    coordinator: Coordinator
    member_id: str
    process_id: str = ""
    topics: tuple[str, ...] = ("orders",)
    rebalance_timeout_ms: int = 60_000
    epoch: int = 0
    active: set[tuple[str, int]] = field(default_factory=set)
    standby: set[tuple[str, int]] = field(default_factory=set)
    told: Message | None = None

    def beat(self, lost: bool = False, slow: bool = False) -> Message | None:
        """One heartbeat. lost: the coordinator hears it, the answer is lost. slow: it
        does not revoke yet. Fenced, it drops all and is new.
        """
        fields = {
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "active_tasks": rows(self.active),
            "standby_tasks": rows(self.standby),
            "warmup_tasks": [],
        }
        if self.epoch == 0:
            fields |= {
                "rebalance_timeout_ms": self.rebalance_timeout_ms,
                "process_id": self.process_id or f"process of {self.member_id}",
                "topology": topology(self.topics),
            }
        try:
            answer = self.coordinator.heartbeat(**fields)
        except KafkaError as error:
            fenced = error.error.name in ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
            if fenced and not lost:
                self.epoch, self.active, self.standby = 0, set(), set()
            raise
        if lost:
            return None
        self.epoch = answer.member_epoch
        if answer.active_tasks is not None:
            active, standby = flat(answer.active_tasks), flat(answer.standby_tasks)
            self.active = self.active | active if slow else active
            self.standby = self.standby | standby if slow else standby
            self.told = answer
        elif not slow and self.told is not None:
            self.active = flat(self.told.active_tasks)
            self.standby = flat(self.told.standby_tasks)
        return answer

    def leave(self) -> Message:
        self.active, self.standby = set(), set()
        return self.coordinator.heartbeat(member_id=self.member_id, member_epoch=-1)

    @property
    def numbers(self) -> list[int]:
        return sorted(number for _, number in self.active)


def topology(topics: tuple[str, ...], epoch: int = 0) -> dict:
    """One subtopology that reads these and keeps a count."""
    store = {"name": STORE, "partitions": 0, "replication_factor": 0}
    subtopology = {
        "subtopology_id": "0",
        "source_topics": list(topics),
        "state_changelog_topics": [store],
    }
    return {"epoch": epoch, "subtopologies": [subtopology]}


def rows(tasks: set[tuple[str, int]]) -> list[dict]:
    return [
        {"subtopology_id": name, "partitions": [number]}
        for name, number in sorted(tasks)
    ]


def flat(listed: list[Message]) -> set[tuple[str, int]]:
    return {(row.subtopology_id, number) for row in listed for number in row.partitions}
