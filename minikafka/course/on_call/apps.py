"""The shop's programs, as deployments: copies of one program, called pods, that are
started, stopped, scaled, and told what to do by environment variables.

A variable is a client's config (`max.poll.records`) or one of the program's own
(`work.ms`). Whoever sets one starts the pods anew, as `kubectl set env` does.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from minikafka.clients import consumer_config, producer_config
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.structs import OffsetAndMetadata
from minikafka.course.on_call.commands import Refused
from minikafka.course.on_call.orders import Place
from minikafka.simulation.handles import checked_config
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

GRACE_S = 30  # between the request to stop and kill -9
RESTART_S = 10  # from a pod's death to its next life
FOR_EVER_S = 1_000_000
MOST_PODS = 12


class Poison(Exception):
    """A record that the program can't read."""


class Pod:
    """One copy of a program. died_ms: when, if it is to be started again."""

    def __init__(self, name: str, client: Any) -> None:
        self.name = name
        self.client = client
        self.program: Any = None
        self.stopping = False
        self.died_ms: int | None = None
        self.restarts = 0
        self.hand: set[int] = set()  # orders that it has polled and not handled yet


class App:
    """own: its own variables with their values unless told otherwise."""

    kind = ""
    own: ClassVar[dict[str, str]] = {}
    known: ClassVar[dict[str, Any]] = {}

    def __init__(self, world: "World", name: str, topic: str, **env: str) -> None:
        self.world = world
        self.name = name
        self.topic = topic
        self.env = {
            **self.own,
            **env,
        }
        self.pods: list[Pod] = []
        self.log: list[tuple[int, str]] = []
        self._rollouts = 0

    # what kubectl does

    def scale(self, replicas: int) -> None:
        """So many pods."""
        if replicas > MOST_PODS:
            raise Refused(f"There is room for {MOST_PODS} pods at most.")
        self._stop(self.pods[replicas:])
        del self.pods[replicas:]
        while len(self.pods) < replicas:
            self._start()

    def roll_out(self) -> None:
        """All pods stop, and as many new ones start."""
        replicas = len(self.pods)
        self.scale(0)
        self._rollouts += 1
        self.scale(replicas)

    def set_env(self, changes: dict[str, str]) -> None:
        """Other values, and a roll-out."""
        wanted = {
            **self.env,
            **changes,
        }
        for name in changes:
            if name not in self.own and name.replace(".", "_") not in self.known:
                mine = ", ".join([*self.own, *self.env.keys() - self.own.keys()])
                raise Refused(
                    f"{self.name} does not know {name}. It has its own variables"
                    f" ({mine}), and takes the configs of a Kafka {self.kind}."
                )
        self._check(wanted)
        self.env = wanted
        self.roll_out()

    def kill(self, pod: Pod, why: str) -> None:
        """The process ends at once, and is started again in a while."""
        self.world.cluster.crash(pod.program)
        self._died(pod, why)

    def restart_dead(self) -> None:
        """Those whose time has come."""
        cluster = self.world.cluster
        for pod in self.pods:
            due = pod.died_ms is not None and (
                cluster.now_ms >= pod.died_ms + RESTART_S * 1000
            )
            if due:
                pod.died_ms = None
                pod.restarts += 1
                cluster.crash(pod.program)
                cluster.restart(pod.program)

    def in_hand(self) -> set[int]:
        """Orders that a living pod has before it."""
        found: set[int] = set()
        for pod in self.pods:
            if pod.died_ms is None:
                found |= pod.hand
        return found

    def say(self, pod: Pod, line: str) -> None:
        """A line of the program's own log."""
        self.log.append((self.world.cluster.now_ms, f"{pod.name} {line}"))

    # inside

    def _start(self) -> None:
        """One more pod, with a name that no pod had before."""
        letter = chr(ord("a") + self._rollouts)
        pod = Pod(f"{self.name}-{letter}{len(self.pods) + 1}", None)
        pod.client = self._client(pod.name)
        self.pods.append(pod)
        pod.program = self.world.cluster.start(self._main(pod), pod.client)

    def _stop(self, pods: list[Pod]) -> None:
        """They are asked to stop, and killed when their time is over."""
        for pod in pods:
            pod.stopping = True
        alive = [pod for pod in pods if pod.died_ms is None]
        try:
            self.world.cluster.run_until(
                lambda: not any(pod.program.alive for pod in alive), seconds=GRACE_S
            )
        except KafkaTimeoutError:
            pass  # it had its time
        for pod in pods:
            if pod.program.alive:
                self.world.cluster.crash(pod.program)

    def _died(self, pod: Pod, why: str) -> None:
        """It has ended by itself, or was killed; it is started again later."""
        pod.died_ms = self.world.cluster.now_ms
        self.say(pod, why)

    def _main(self, pod: Pod) -> Callable[[Any], None]:
        """What a pod runs: the app's program, and what becomes of its errors."""

        def program(client: Any) -> None:
            try:
                self._run(pod, client)
            except (KafkaError, Poison) as error:
                client.close()
                self._died(pod, f"exits: {type(error).__name__}: {error}")
                self.world.cluster.sleep(FOR_EVER_S)

        program.__name__ = f"program {pod.name}"
        return program

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It ends when the pod is to stop."""
        raise NotImplementedError

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        raise NotImplementedError

    def _config(self, env: dict[str, str]) -> dict[str, Any]:
        """Those variables that are the client's."""
        return {
            name.replace(".", "_"): _typed(value)
            for name, value in env.items()
            if name not in self.own
        }

    def _check(self, env: dict[str, str]) -> None:
        """Refuse values with which the program would not start."""
        config = self._config(env)
        try:
            checked_config(self.kind, config)
            if self.kind == "producer":
                producer_config.checked(config)
            else:
                consumer_config.checked(
                    {
                        **consumer_config.DEFAULTS,
                        **config,
                    }
                )
        except (TypeError, ValueError) as error:
            raise Refused(f"{self.name} would not start: {error}") from None
        for name, allowed in CHOICES.items():
            if name in self.own and env[name] not in allowed:
                raise Refused(f"{name} is {' or '.join(allowed)}, not {env[name]!r}.")
        for name in NUMBERS:
            if name in self.own and not env[name].isdigit():
                raise Refused(f"{name} is a whole number, not {env[name]!r}.")


CHOICES = {
    "key": ("customer", "order"),
    "commit": ("before", "after"),
    "on.error": ("exit", "dead-letter"),
    "once": ("true", "false"),
}
# longer polls of those that are idle: less is computed, and nothing comes later
LIGHT = {
    "enable.auto.commit": "false",
    "fetch.max.wait.ms": "5000",
}
NUMBERS = ("every.ms", "work.ms", "open.ms", "bytes", "megamart")


class Shop(App):
    """Sends an order every so often. A customer is named by the plan: how many orders
    of a hundred are megamart's.
    """

    kind = "producer"
    own: ClassVar = {
        "every.ms": "3000",
        "key": "customer",
        "megamart": "0",
    }
    known = producer_config.DEFAULTS

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        return self.world.cluster.producer(client_id=name, **self._config(self.env))

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It ends when the pod is to stop."""
        cluster, orders = self.world.cluster, self.world.orders
        while not pod.stopping:
            number = len(orders.asked)
            orders.asked[number] = cluster.now_ms
            customer = self._customer(number)
            key = customer if self.env["key"] == "customer" else f"order {number}"
            sent = client.send(
                self.topic,
                key=key,
                value=f"order {number} {customer}",
            )
            sent.add_callback(self._accepted(number))
            sent.add_errback(self._refused(number, pod))
            cluster.sleep(int(self.env["every.ms"]) / 1000)
        client.close(timeout=GRACE_S)

    def _customer(self, number: int) -> str:
        """Who orders: the same number, the same customer."""
        if number * 37 % 100 < int(self.env["megamart"]):
            return "megamart"
        return NAMES[number * 7 % len(NAMES)]

    def _accepted(self, number: int) -> Callable[[Any], None]:
        """What is noted when the order is acknowledged."""

        def note(told: Any) -> None:
            at_ms = self.world.cluster.now_ms
            place = Place(
                at_ms,
                told.partition,
                told.offset,
            )
            self.world.orders.accepted[number] = place

        return note

    def _refused(self, number: int, pod: Pod) -> Callable[[Any], None]:
        """What is noted when it has failed for good."""

        def note(error: Any) -> None:
            self.world.orders.refused[number] = type(error).__name__
            self.say(pod, f"order {number} failed: {error}")

        return note


NAMES = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan")


class Reader(App):
    """A consumer group that handles each order: that takes work.ms.

    commit: before or after the work. on.error: what becomes of a record that it can't
    read. once: whether it knows the orders that it has handled, and does none twice.
    """

    kind = "consumer"
    own: ClassVar = {
        "work.ms": "200",
        "commit": "after",
        "on.error": "exit",
        "once": "false",
    }
    known = consumer_config.DEFAULTS

    def __init__(self, world: "World", name: str, topic: str, **env: str) -> None:
        known = {
            "auto.offset.reset": "earliest",
            **env,
        }
        super().__init__(
            world,
            name,
            topic,
            **known,
        )

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        config = {
            **LIGHT,
            "group.id": self.name,
            **self.env,
        }
        return self.world.cluster.consumer(client_id=name, **self._config(config))

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It ends when the pod is to stop."""
        handled: dict[Any, OffsetAndMetadata] = {}
        client.subscribe(
            [self.topic],
            listener=_Revoked(
                self,
                pod,
                client,
                handled,
            ),
        )
        while not pod.stopping:
            polled = client.poll(timeout_ms=1000)
            pod.hand = set(_numbers(polled))
            if polled and self.env["commit"] == "before":
                self._commit(
                    pod,
                    client,
                    None,
                )
            for partition, records in polled.items():
                for record in records:
                    if pod.stopping:
                        break
                    self._handle(pod, record)
                    handled[partition] = OffsetAndMetadata(
                        record.offset + 1,
                        "",
                        -1,
                    )
            if handled and self.env["commit"] == "after":
                self._commit(
                    pod,
                    client,
                    handled,
                )
        client.close(autocommit=False)

    def _handle(self, pod: Pod, record: Any) -> None:
        """One record: the work, and what it does."""
        what, _, rest = record.value.decode().partition(" ")
        done = self.world.orders.done[self.name]
        number = int(rest.split()[0]) if what == "order" else -1
        if self.env["once"] == "true" and done[number]:
            pod.hand.discard(number)
            return
        self.world.cluster.sleep(int(self.env["work.ms"]) / 1000)
        if what == "order":
            done[number] += 1
            pod.hand.discard(number)
        elif what == "payout":
            self.world.orders.false[self.name].add(rest)
        elif self.env["on.error"] == "exit":
            raise Poison(
                f"{record.topic}-{record.partition} offset {record.offset}: can't"
                " be read as an order"
            )
        else:
            where = f"{record.topic}-{record.partition} offset {record.offset}"
            self.say(pod, f"put {where} into dead-letters")

    def _commit(self, pod: Pod, client: Any, handled: Any) -> None:
        """Commit what was handled; None: what was polled."""
        try:
            client.commit(None if handled is None else dict(handled))
        except KafkaError as error:
            self.say(pod, f"commit failed: {error}")
        if handled is not None:
            handled.clear()


def _numbers(polled: Any) -> Iterator[int]:
    """Of the orders among these records."""
    for records in polled.values():
        for record in records:
            what, _, rest = record.value.decode().partition(" ")
            if what == "order":
                yield int(rest.split()[0])


class _Revoked:
    """Commits what was handled before partitions go to somebody else."""

    def __init__(self, app: Reader, pod: Pod, client: Any, handled: Any) -> None:
        self._app, self._pod, self._client = app, pod, client
        self._handled = handled

    def on_partitions_revoked(self, partitions: Any) -> None:
        """They go to somebody else, in order."""
        if self._handled and self._app.env["commit"] == "after":
            self._app._commit(
                self._pod,
                self._client,
                self._handled,
            )

    def on_partitions_lost(self, partitions: Any) -> None:
        """They have gone already: nothing can be committed."""
        self._handled.clear()

    def on_partitions_assigned(self, partitions: Any) -> None:
        """Nothing is to be done."""
        pass


class Payouts(App):
    """Writes some payouts a minute, in a transaction that is open for open.ms."""

    kind = "producer"
    own: ClassVar = {"open.ms": "20000"}
    known = producer_config.DEFAULTS

    def __init__(self, world: "World", name: str, topic: str, **env: str) -> None:
        super().__init__(
            world,
            name,
            topic,
            **env,
        )
        self.committed: set[str] = set()
        self._written = 0

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        return self.world.cluster.producer(client_id=name, **self._config(self.env))

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It ends when the pod is to stop."""
        cluster = self.world.cluster
        client.init_transactions()
        while not pod.stopping:
            client.begin_transaction()
            names = []
            for partition in range(cluster.partition_count(self.topic)):
                self._written += 1
                names.append(str(self._written))
                client.send(
                    self.topic, value=f"payout {names[-1]}", partition=partition
                )
            client.flush()
            cluster.sleep(int(self.env["open.ms"]) / 1000)
            client.commit_transaction()
            self.committed.update(names)
            cluster.sleep(40)
        client.close()


class Noise(App):
    """Writes so many bytes every so often, which nobody misses."""

    kind = "producer"
    own: ClassVar = {
        "every.ms": "2000",
        "bytes": "4000",
    }
    known = producer_config.DEFAULTS

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        return self.world.cluster.producer(client_id=name, **self._config(self.env))

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It ends when the pod is to stop."""
        while not pod.stopping:
            client.send(self.topic, value="click " + int(self.env["bytes"]) * "x")
            self.world.cluster.sleep(int(self.env["every.ms"]) / 1000)
        client.close(timeout=GRACE_S)


KINDS: dict[str, type[App]] = {
    "shop": Shop,
    "reader": Reader,
    "payouts": Payouts,
    "noise": Noise,
}


def _typed(value: str) -> Any:
    """A variable's text as the client's config wants it."""
    if value.lstrip("-").isdigit():
        return int(value)
    return {
        "true": True,
        "false": False,
    }.get(value, value)
