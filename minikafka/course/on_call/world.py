"""Three brokers with load, on which things go wrong according to a plan; and what a
monitoring system records about them every ten seconds.
"""

from typing import Any, NamedTuple

from minikafka.clients.errors import IllegalStateError
from minikafka.course.measured import active_controllers, lag
from minikafka.course.on_call import fates
from minikafka.course.on_call.apps import App
from minikafka.course.on_call.orders import Orders
from minikafka.course.on_call.plans import Plan
from minikafka.course.on_call.programs import KINDS, Reader
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.simulation.processes import best_informed, leading
from minikafka.simulation.topics import TOPIC, raise_refusal
from minikafka.trace import Event

BROKERS = (1, 2, 3)
SAMPLE_MS = 10_000
FIRST_HOST = 10  # pods get the addresses after it
LEFT_HOST = "10.0.0.10"  # of a client that isn't a pod any more
DELETE_DELAY_MS = 60_000  # the default of file.delete.delay.ms
HEARD_MS = 2000  # until all brokers have heard of a deletion
MIN_ISR = "min.insync.replicas"
# Fewer partitions of Kafka's own topics, and longer polls of those that are idle: the
# same things happen, and less is computed.
CONFIGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "replica.fetch.wait.max.ms": "3000",
    "log.retention.check.interval.ms": "60000",
}
# what a broker's or a client's log has of what happens; the rest is forgotten
KEPT = {
    "BatchRefused",
    "BrokerFenced",
    "CommitFailed",
    "ControllerElected",
    "ControllerResigned",
    "GroupStateChanged",
    "IsrExpanded",
    "IsrShrunk",
    "LeaderElected",
    "LogStartOffsetAdvanced",
    "LogTruncated",
    "MemberLeft",
    "NodeCrashed",
    "NodeRestarted",
    "NodeShutDown",
    "NodeStopped",
    "PollOverdue",
    "PositionReset",
    "SendFailed",
    "TopicCreated",
    "TopicDeleted",
    "TransactionStateChanged",
    "VotesRequested",
}


class Sample(NamedTuple):
    """The measurements at one time. Kafka's names are in `metrics.py`."""

    at_ms: int
    under_replicated: int
    offline: int
    under_min_isr: int
    controllers: int
    isr_shrinks: int
    failed_produces: int
    lag: dict[str, int]
    waiting: int  # customers who wait for an answer for too long
    late: int  # accepted orders that wait for too long to be handled
    refused: int

    @property
    def unhappy(self) -> int:
        """Customers who wait, or have heard no."""
        return self.waiting + self.late + self.refused

    @property
    def is_outage(self) -> bool:
        """Whether there are such."""
        return self.unhappy > 0


class UnhealthyPartitions:
    """How many partitions lack a replica, a leader, or enough replicas in sync."""

    def __init__(self) -> None:
        self.under_replicated = 0
        self.offline = 0
        self.under_min_isr = 0

    def count(self, partition: Any, min_isr: int) -> None:
        """Count one more partition, if something is wrong with it."""
        replicas = len(partition.replicas)
        in_sync = len(partition.isr)
        self.under_replicated += in_sync < replicas
        self.offline += partition.leader < 0
        self.under_min_isr += in_sync < min(min_isr, replicas)


class Deleted(NamedTuple):
    """A segment that was deleted, and when the disk has its bytes back."""

    until_ms: int
    disk: MemoryDisk
    size: int


class World:
    """The cluster, the programs, the orders, the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.orders = Orders()
        self.samples: list[Sample] = []
        self.events: list[Event] = []
        self.held: dict[int, str] = {}  # brokers that can't be started, and why
        self.messages: list[str] = []
        self._deleted: list[Deleted] = []
        self._leaving: list[Deleted] = []  # of topics that were deleted a moment ago
        self._addresses = 0  # that pods have
        self.spare_bytes = plan.spare_bytes  # that disks can be given
        self.cluster = Cluster(
            brokers=len(BROKERS),
            seed=plan.seed,
            configs={**CONFIGS, **plan.brokers},
        )
        self._asking = self.cluster._topics._admin
        self.cluster._listeners[:] = [self._note]
        self.cluster.trace.clear()
        self._steps = list(plan.steps)
        self._refused = 0  # of orders, when it was measured last
        for topic in plan.topics:
            self._create(topic)
        self.apps: dict[str, App] = {}
        for given in plan.apps:
            self._deploy(given)

    @property
    def now_ms(self) -> int:
        """Virtual ms since midnight."""
        return self.cluster.now_ms

    def clock(self, at_ms: int | None = None) -> str:
        """A time of the night, as logs have it."""
        if at_ms is None:
            at_ms = self.now_ms
        minutes, seconds = divmod(at_ms // 1000, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours:02}:{minutes:02}:{seconds:02}"

    def ask(self, api: str, body: dict[str, Any], node: int | None = None) -> Any:
        """A request of an admin client's, which takes its time."""
        return self._asking.ask(api, body, node)

    def new_address(self) -> str:
        """An address for a pod that no other has or had."""
        self._addresses += 1
        return f"10.0.0.{FIRST_HOST + self._addresses}"

    def address_of(self, client_id: str) -> str:
        """The address of the pod with this client id."""
        for app in self.apps.values():
            for pod in app.pods:
                if pod.name == client_id:
                    return pod.address
        return LEFT_HOST

    def is_up(self, broker: int) -> bool:
        """Whether this broker's process runs."""
        return self.cluster._brokers[broker].state == "up"

    def is_down(self, broker: int) -> bool:
        """Whether the broker's process has ended."""
        return self.cluster._brokers[broker].state == "down"

    def disk(self, broker: int) -> MemoryDisk:
        """The disk of a broker's machine, whether the broker runs or not."""
        return self.cluster._brokers[broker].disk

    def cluster_id(self) -> str | None:
        """The cluster id, the same on all brokers."""
        return self.cluster._brokers[1].broker.config.cluster_id

    def image(self) -> Any:
        """The image of the best informed broker; None while no broker is up."""
        try:
            return best_informed(self.cluster._brokers).image
        except IllegalStateError:
            return None

    def readers(self) -> list[Reader]:
        """The programs that are consumer groups."""
        return [app for app in self.apps.values() if isinstance(app, Reader)]

    # time

    def run(self, seconds: float) -> None:
        """Let time pass: the plan goes on, dead pods are restarted, and every ten
        seconds everything is measured.
        """
        end_ms = self.now_ms + round(seconds * 1000)
        while self.now_ms < end_ms:
            self._do_what_is_due()
            wait_ms = min([end_ms, *self._stops()]) - self.now_ms
            self.cluster.run_ms(max(1, wait_ms))
            if self.now_ms % SAMPLE_MS == 0:
                self.sample()
        self._do_what_is_due()

    def _stops(self) -> list[int]:
        """When something is to be done next: a sample, a step, a pod's next life."""
        stops = [(self.now_ms // SAMPLE_MS + 1) * SAMPLE_MS]
        if self._steps:
            stops.append(self._steps[0].at_ms)
        for app in self.apps.values():
            stops += [pod.due_ms for pod in app.pods if pod.due_ms is not None]
        return stops

    def _do_what_is_due(self) -> None:
        """Restart pods that are due, and continue the plan."""
        from minikafka.course.on_call import tools

        self._take_leaving()
        self._free_deleted()
        for app in self.apps.values():
            app.restart_dead()
        while self._steps and self._steps[0].at_ms <= self.now_ms:
            tools.do(self, self._steps.pop(0).line)

    def _note(self, event: Event) -> None:
        """Keep what a log would have."""
        if event.kind in KEPT:
            self.events.append(event)
        if event.kind == "SegmentDeleted":
            self._keep_deleted(event)
        if event.kind == "TopicDeleted":
            self._keep_topic(event.detail["topic"])

    def _keep_deleted(self, event: Event) -> None:
        """A segment that is deleted stays on the disk for file.delete.delay.ms."""
        disk = self.disk(int(event.node.removeprefix("broker ")))
        size = event.detail["size_bytes"]
        disk.take(size)
        deleted = Deleted(
            until_ms=event.at + DELETE_DELAY_MS,
            disk=disk,
            size=size,
        )
        self._deleted.append(deleted)

    def _keep_topic(self, topic: str) -> None:
        """The same for a topic's folders, on the disks of all brokers that are up: they
        will be removed in a moment, and their bytes are there until later.
        """
        for broker in filter(self.is_up, BROKERS):
            disk = self.disk(broker)
            size = 0
            for path, file in disk.files().items():
                folder, _, _ = path.partition("/")
                if folder.rpartition("-")[0] == topic:
                    size += file.size
            deleted = Deleted(
                until_ms=self.now_ms + DELETE_DELAY_MS,
                disk=disk,
                size=size,
            )
            self._leaving.append(deleted)

    def _take_leaving(self) -> None:
        """Count what deleted topics leave behind, as soon as the brokers have removed
        it, so that nothing counts twice.
        """
        latest_ms = self.now_ms + DELETE_DELAY_MS - HEARD_MS
        while self._leaving and self._leaving[0].until_ms <= latest_ms:
            deleted = self._leaving.pop(0)
            deleted.disk.used_bytes += deleted.size
            self._deleted.append(deleted)
        self._deleted.sort(key=lambda deleted: deleted.until_ms)

    def _free_deleted(self) -> None:
        """Those whose time has come are gone."""
        while self._deleted and self._deleted[0].until_ms <= self.now_ms:
            deleted = self._deleted.pop(0)
            deleted.disk.give_back(deleted.size)

    # what is measured

    def sample(self) -> None:
        """One more row of the monitoring system's."""
        since_ms = self.samples[-1].at_ms if self.samples else 0
        news = self._kinds_since(since_ms)
        unwell = self._unwell()
        lags = {}
        late = 0
        for app in self.readers():
            lags[app.name] = self.lag(app.name)
            late += self._late(app)
        refused = len(self.orders.refused)
        self.samples.append(
            Sample(
                at_ms=self.now_ms,
                under_replicated=unwell.under_replicated,
                offline=unwell.offline,
                under_min_isr=unwell.under_min_isr,
                controllers=active_controllers(self.cluster),
                isr_shrinks=news.count("IsrShrunk"),
                failed_produces=news.count("BatchRefused"),
                lag=lags,
                waiting=self.orders.waiting(self.now_ms),
                late=late,
                refused=refused - self._refused,
            )
        )
        self._refused = refused

    def _kinds_since(self, since_ms: int) -> list[str]:
        """The kinds of events after a time, newest first."""
        kinds = []
        for event in reversed(self.events):
            if event.at <= since_ms:
                break
            kinds.append(event.kind)
        return kinds

    def _unwell(self) -> UnhealthyPartitions:
        """The partitions as the best informed broker sees them."""
        found = UnhealthyPartitions()
        image = self.image()
        if image is None:
            return found
        for topic in image.topics.values():
            min_isr = self.min_isr(topic.name)
            for partition in topic.partitions.values():
                found.count(partition, min_isr)
        return found

    def min_isr(self, topic: str) -> int:
        """min.insync.replicas of a topic, as the brokers go by it."""
        return int(self.config(topic, MIN_ISR) or 1)

    def config(self, topic: str, name: str) -> str | None:
        """A topic's config, as the brokers go by it; None without the topic."""
        broker = best_informed(self.cluster._brokers)
        if topic not in broker.image.topics:
            return None
        found = broker.config.value(broker.image, broker.node_id, TOPIC, topic, name)
        return str(found.value)

    def leader_of(self, topic: str, partition: int) -> Any:
        """The leading replica of a partition. Raises IllegalStateError without one."""
        return leading(self.cluster._brokers, topic, partition)

    def leaders_of(self, topic: str) -> list[Any]:
        """The leading replica of each partition."""
        count = self.cluster.partition_count(topic)
        return [self.leader_of(topic, number) for number in range(count)]

    def lag(self, group: str) -> int:
        """The lag in all partitions that have a leader; while nobody can tell, the last
        known value.
        """
        now = lag(self.cluster, group)
        if now is not None:
            return now
        return self.samples[-1].lag[group] if self.samples else 0

    def _late(self, app: Reader) -> int:
        """Accepted orders that wait too long, and can still be handled."""
        late = self.orders.late(app.name, self.now_ms, self.plan.late_ms)
        if not late:  # asking what is lost takes longer
            return 0
        return len(late - fates.lost(self, app))

    # at the beginning

    def _create(self, topic: dict[str, Any]) -> None:
        """replicas: of each partition the brokers, the first leads; or how many."""
        body = create_topic(
            name=topic["name"],
            partitions=topic.get("partitions", -1),
            replicas=topic["replicas"],
            configs=topic.get("configs", {}),
        )
        [created] = self.ask("CreateTopics", body).topics
        raise_refusal(created, "create")
        if "__consumer_offsets" not in self.image().topics:
            self.ask("FindCoordinator", {"coordinator_keys": ["-"]})

    def _deploy(self, given: dict[str, Any]) -> None:
        """A program of the plan, with its pods."""
        kind = KINDS[given["kind"]]
        name = given["name"]
        env = {key: str(value) for key, value in given.get("env", {}).items()}
        app = kind(self, name, given["topic"], **env)
        self.apps[name] = app
        app.scale(given.get("replicas", 1))


def create_topic(
    *,
    name: str,
    partitions: int,
    replicas: int | list[list[int]],
    configs: dict[str, str],
) -> dict[str, Any]:
    """The body of a CreateTopics request."""
    assignments = []
    factor = replicas
    if isinstance(replicas, list):
        partitions = factor = -1
        for number, brokers in enumerate(replicas):
            assignments.append(
                {
                    "partition_index": number,
                    "broker_ids": brokers,
                }
            )
    values = [
        {
            "name": key,
            "value": str(each),
        }
        for key, each in configs.items()
    ]
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": assignments,
        "configs": values,
    }
    return {
        "topics": [topic],
        "timeout_ms": 30_000,
        "validate_only": False,
    }
