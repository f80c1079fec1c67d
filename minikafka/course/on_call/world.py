"""A night on call: three brokers and the shop's programs on one clock, and what a
monitoring system records about them every ten seconds.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from minikafka.course.on_call import asking
from minikafka.course.on_call.apps import App, Platform
from minikafka.course.on_call.brokers import BROKERS, Brokers
from minikafka.course.on_call.monitoring import SAMPLE_MS, Sample, sample
from minikafka.course.on_call.orders import Orders
from minikafka.course.on_call.plans import Plan
from minikafka.course.on_call.programs import KINDS, Reader
from minikafka.course.on_call.tls import KEYSTORE, ClientsListener, Failure
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.topics import raise_refusal

FIRST_HOST = 11  # of the pods
LEFT_HOST = "10.0.0.10"  # of a client that isn't a pod any more
# Fewer partitions of Kafka's own topics, and longer polls of those that are idle: the
# same things happen, and less is computed.
CONFIGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "replica.fetch.wait.max.ms": "3000",
    "log.retention.check.interval.ms": "60000",
}


class Due(NamedTuple):
    """Something that happens at a time of the night."""

    at_ms: int
    do: Callable[[], Any]


def _nobody_watches() -> None:
    """What a world does with a new sample unless somebody watches."""


class World:
    """messages: what people have written. spare_bytes: how many are left for disks.
    watch: called after each sample. tls: the listener for clients, if it has one.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.orders = Orders()
        self.samples: list[Sample] = []
        self.messages: list[str] = []
        self.spare_bytes = plan.spare_bytes
        self.cluster = Cluster(
            brokers=len(BROKERS),
            seed=plan.seed,
            configs={**CONFIGS, **plan.brokers},
        )
        self.brokers = Brokers(self.cluster)
        self.watch: Callable[[], None] = _nobody_watches
        self.tls: ClientsListener | None = None
        if KEYSTORE in plan.brokers:
            keystore = plan.brokers[KEYSTORE]
            self.tls = ClientsListener(self.brokers, keystore, self._turned_away)
            self.cluster.network.admits = self.tls.admits
        self._due: list[Due] = []
        for topic in plan.topics:
            self._create(topic)
        addresses = (f"10.0.0.{host}" for host in count(FIRST_HOST))
        self._platform = Platform(self.cluster, self.orders, addresses)
        self.apps: dict[str, App] = {}
        for given in plan.apps:
            self._deploy(given)

    @property
    def now_ms(self) -> int:
        """Virtual ms since midnight."""
        return self.cluster.now_ms

    @property
    def readers(self) -> list[Reader]:
        """The programs that are consumer groups."""
        return [app for app in self.apps.values() if isinstance(app, Reader)]

    def address_of(self, client_id: str) -> str:
        """The address of the pod with this client id."""
        for app in self.apps.values():
            for pod in app.pods:
                if pod.name == client_id:
                    return pod.address
        return LEFT_HOST

    def _turned_away(self, failure: Failure) -> None:
        """Tell a pod that it doesn't accept a broker's certificate."""
        for app in self.apps.values():
            for pod in app.pods:
                if pod.name == failure.client:
                    app.turned_away(pod, failure.broker)

    # time

    def schedule(self, at_ms: int, do: Callable[[], Any]) -> None:
        """Let something happen at a time. Call it in the order of these times."""
        self._due.append(Due(at_ms, do))

    def run(self, seconds: float) -> None:
        """Let time pass: what is scheduled happens, dead pods are restarted, and every
        ten seconds everything is measured.
        """
        end_ms = self.now_ms + round(seconds * 1000)
        while self.now_ms < end_ms:
            self._do_what_is_due()
            wait_ms = min([end_ms, *self._stops()]) - self.now_ms
            self.cluster.run_ms(max(1, wait_ms))
            if self.now_ms % SAMPLE_MS == 0:
                self.measure()
        self._do_what_is_due()

    def _stops(self) -> list[int]:
        """The times at which to stop: the next sample, the next scheduled thing, and
        the restarts of dead pods.
        """
        stops = [(self.now_ms // SAMPLE_MS + 1) * SAMPLE_MS]
        if self._due:
            stops.append(self._due[0].at_ms)
        for app in self.apps.values():
            stops += [pod.due_ms for pod in app.pods if pod.due_ms is not None]
        return stops

    def _do_what_is_due(self) -> None:
        """Free deleted files, restart pods that are due, and do what is scheduled."""
        self.brokers.deleted.pass_time(self.now_ms)
        for app in self.apps.values():
            app.restart_dead()
        while self._due and self._due[0].at_ms <= self.now_ms:
            self._due.pop(0).do()

    def measure(self) -> None:
        """Add one more sample."""
        measured = sample(
            self.brokers,
            self.orders,
            self.readers,
            self.plan.late_ms,
            self.samples,
        )
        self.samples.append(measured)
        self.watch()

    # at the beginning

    def _create(self, topic: dict[str, Any]) -> None:
        """Create a topic of the plan."""
        body = asking.create_topics_body(
            name=topic["name"],
            partitions=topic.get("partitions", -1),
            replicas=topic["replicas"],
            configs=topic.get("configs", {}),
        )
        [created] = self.brokers.ask("CreateTopics", body).topics
        raise_refusal(created, "create")
        if "__consumer_offsets" not in self.brokers.image().topics:
            self.brokers.ask("FindCoordinator", {"coordinator_keys": ["-"]})

    def _deploy(self, given: dict[str, Any]) -> None:
        """Start a program of the plan, with its pods."""
        kind = KINDS[given["kind"]]
        name = given["name"]
        env = {key: str(value) for key, value in given.get("env", {}).items()}
        app = kind(self._platform, name, given["topic"], **env)
        self.apps[name] = app
        app.scale(given.get("replicas", 1))
