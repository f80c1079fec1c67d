"""Cluster: what notebooks work with. Brokers, clients and programs on a virtual clock,
and a picture of what happened.

    cluster = Cluster(brokers=1, seed=7)
    cluster.create_topic("orders", partitions=3)
    producer = cluster.producer()
    producer.send("orders", key="alice", value="paid")
    cluster.run(seconds=1)                      # virtual seconds, real milliseconds
    consumer = cluster.consumer("orders", auto_offset_reset="earliest")
    consumer.poll(timeout_ms=1000)

Time passes only while something waits: run(), poll(), flush(), a future's get(), and
calls that ask a broker, such as create_topic().
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from random import Random
from typing import Any, Concatenate, ParamSpec, TypeVar

from minikafka.broker.config import BrokerConfig
from minikafka.clients.connection import Client
from minikafka.clients.consumer import Consumer
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.clients.producer import Producer
from minikafka.clients.share_consumer import ShareConsumer
from minikafka.faults import Fault, Plan
from minikafka.simulation.admin import Admin, AdminHandle
from minikafka.simulation.arguments import (
    CONFIGS,
    FAULTS,
    FUNCTION,
    LATENCY_MS,
    MS,
    OF_PICTURES,
    SECONDS,
    TEXT,
    TOPIC_NAME,
    WHOLE,
    check,
    check_fault,
    checked,
)
from minikafka.simulation.calls import Book, TopLevelCall, recorded
from minikafka.simulation.clock import Clock
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.environment import Environment
from minikafka.simulation.groups import ConsumerGroups
from minikafka.simulation.handles import Handle, checked_config, name_of
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.mishaps import Mishaps, crash_program
from minikafka.simulation.network import Network
from minikafka.simulation.overview import Overview
from minikafka.simulation.partitioning import partitioner
from minikafka.simulation.processes import CONTROLLER_PORT, BrokerProcess, ClientProcess
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.simulation.programs import Program, never
from minikafka.simulation.share_consumer_handle import ShareConsumerHandle
from minikafka.simulation.tables import Table
from minikafka.simulation.topics import Topics
from minikafka.trace import Event, Trace, printable
from minikafka.wire.errors import Error, KafkaError

MOST_VOTERS = 3  # of the metadata quorum; other brokers only follow it
CLUSTER_ID = "minikafka-in-a-notebook"[:22]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def held_by(
    part: str, method: Callable[Concatenate[Any, Arguments], Result]
) -> Callable[Concatenate[Any, Arguments], Result]:
    """A method of the cluster that is forwarded to its `part`, with the same arguments
    and the same help.
    """

    @wraps(method)
    def call(
        cluster: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        return method(getattr(cluster, part), *args, **kwargs)

    return call


class Cluster:
    """brokers: how many. seed: same seed and same calls, same trace. faults: a plan
    from minikafka.faults.

    latency_ms: shortest and longest time that a message takes. configs: broker configs
    with Kafka's names. racks: the brokers' racks, in turn (broker.rack).
    """

    call_name = "cluster"

    @checked(
        brokers=WHOLE,
        seed=WHOLE,
        faults=FAULTS,
        latency_ms=LATENCY_MS,
        configs=CONFIGS.or_none(),
    )
    def __init__(
        self,
        brokers: int = 1,
        seed: int = 0,
        *,
        faults: Iterable[Fault] = (),
        latency_ms: tuple[int, int] = (1, 3),
        configs: Mapping[str, Any] | None = None,
        racks: Sequence[str] = (),
    ) -> None:
        self.seed = seed
        self.trace: list[Event] = []
        self._made_with: dict[str, Any] = {
            "brokers": brokers,
            "seed": seed,
            "latency_ms": latency_ms,
            "configs": configs,
            "racks": racks,
        }
        self._plan = Plan(faults)
        for fault in self._plan.faults:
            check_fault(fault)
        self.listeners = [self.trace.append]
        self._clock = Clock()
        self.kernel = Kernel(self._clock, crash_program)
        self.book = Book(
            now_ms=lambda: self._clock.now_ms,
            in_program=lambda: self.kernel.program() is not None,
            interrupts=self.kernel.interrupts,
        )
        self.network = Network(
            self._clock,
            self._random("network"),
            self._plan,
            self._trace_of("network"),
            latency_ms,
        )
        self.clients: dict[str, Handle] = {}
        self._tables: dict[str, Table] = {}
        self.brokers: dict[int, BrokerProcess] = {}
        self._start_brokers(brokers, configs or {}, racks)
        core = Admin("admin", self.bootstrap(), self._trace_of("admin"))
        self.admin = AdminHandle(core, self.kernel, self.network)
        self._topics = Topics(self.book, self.brokers, self.admin)
        self._groups = ConsumerGroups(self.book, self.brokers, self.admin)
        self._mishaps = Mishaps(
            self.book, self.kernel, self.network, self.brokers, self.clients
        )
        self._overview = Overview(
            seed,
            self.kernel,
            self.brokers,
            self.clients,
            self._topics,
            self._groups,
            self.trace,
        )
        self.environment = Environment(
            self.book,
            self.kernel,
            self._topics,
            self._trace_of("cluster"),
            self._overview.why_nothing_came,
        )
        self.futures = self.environment.futures
        for at_ms, fault in self._plan.timed():
            self._clock.schedule(at_ms, partial(self._mishaps.begin, fault))

    # topics: changing them takes some virtual ms, looking at them takes none

    create_topic = held_by("_topics", Topics.create_topic)
    create_partitions = held_by("_topics", Topics.create_partitions)
    delete_topic = held_by("_topics", Topics.delete_topic)
    delete_records = held_by("_topics", Topics.delete_records)
    alter_configs = held_by("_topics", Topics.alter_configs)
    topics = held_by("_topics", Topics.topics)
    records = held_by("_topics", Topics.records)
    leader = held_by("_topics", Topics.leader)
    partition = held_by("_topics", Topics.partition)
    partition_count = held_by("_topics", Topics.partition_count)
    log_offsets = held_by("_topics", Topics.log_offsets)
    check_topic = held_by("_topics", Topics.check_topic)

    # consumer groups

    groups = held_by("_groups", ConsumerGroups.groups)
    group = held_by("_groups", ConsumerGroups.group)
    committed_offsets = held_by("_groups", ConsumerGroups.committed_offsets)
    lag = held_by("_groups", ConsumerGroups.lag)
    alter_group_configs = held_by("_groups", ConsumerGroups.alter_group_configs)
    alter_offsets = held_by("_groups", ConsumerGroups.alter_offsets)
    delete_group = held_by("_groups", ConsumerGroups.delete_group)

    wait_for_future = held_by("environment", Environment.wait_for_future)

    # what goes wrong

    crash = held_by("_mishaps", Mishaps.crash)
    stop = held_by("_mishaps", Mishaps.stop)
    freeze = held_by("_mishaps", Mishaps.freeze)
    thaw = held_by("_mishaps", Mishaps.thaw)
    restart = held_by("_mishaps", Mishaps.restart)
    cut = held_by("_mishaps", Mishaps.cut)
    heal = held_by("_mishaps", Mishaps.heal)
    reset = held_by("_mishaps", Mishaps.reset)
    slow = held_by("_mishaps", Mishaps.slow)

    # clients and programs

    @recorded
    def producer(self, **config: Any) -> ProducerHandle:
        """A new producer. config: kafka-python's names, the Java client's defaults
        (acks="all", linger_ms=5, ...).
        """
        checked_config("producer", config)
        name = self._client_name("producer", config)
        trace = self._trace_of(name)
        random = self._random(name)

        def core() -> Producer:
            chosen = {"partitioner": partitioner(config.get("partitioner"))}
            all_of_it = config | chosen
            bootstrap = self.bootstrap()
            return Producer(name, bootstrap, trace, random.random, **all_of_it)

        return self._add_client(ProducerHandle, name, trace, core)  # type: ignore[return-value]

    @checked(topics=TOPIC_NAME)
    @recorded
    def consumer(self, *topics: str, **config: Any) -> ConsumerHandle:
        """A new consumer of these topics; without topics, subscribe() or assign()
        later.

        With group_id="billing" it shares their partitions with the group's other
        members, otherwise it reads all of them. By default it begins at the end:
        auto_offset_reset="latest" is Kafka's default.
        """
        checked_config("consumer", config)
        name = self._client_name("consumer", config)
        trace = self._trace_of(name)
        draw = self._random(name).random

        def core() -> Consumer:
            bootstrap = self.bootstrap()
            return Consumer(name, bootstrap, trace, *topics, random=draw, **config)

        return self._add_client(ConsumerHandle, name, trace, core)  # type: ignore[return-value]

    @checked(topics=TOPIC_NAME)
    @recorded
    def share_consumer(self, *topics: str, **config: Any) -> ShareConsumerHandle:
        """A new member of a share group (KIP-932), named by group_id="workers": the
        group's members fetch from the same partitions, and each record goes to one of
        them.

        config: Java's names in snake case. Where a group begins is a config of the
        group: alter_group_configs("workers", {"share.auto.offset.reset": "earliest"}).
        By default it begins at the end.
        """
        checked_config("share consumer", config)
        name = self._client_name("share consumer", config)
        trace = self._trace_of(name)
        draw = self._random(name).random

        def core() -> ShareConsumer:
            bootstrap = self.bootstrap()
            return ShareConsumer(name, bootstrap, trace, *topics, random=draw, **config)

        return self._add_client(ShareConsumerHandle, name, trace, core)  # type: ignore[return-value]

    @checked(program=FUNCTION)
    @recorded
    def start(self, program: Callable[..., Any], *args: Any, **kwargs: Any) -> Program:
        """Let a plain function run in the cluster, from the next run on.

        Each blocking call in it lets the others move on.
        """
        taken = [each.name for each in self.kernel.programs.all]
        base = name_of(program)
        name = base
        while name in taken:
            name = f"{base} {taken.count(base) + 1}"
            taken.append(base)
        started = Program(name, program, args, kwargs, self._trace_of(name))
        started.crash_at_call = self._plan.crash_at_call(name)
        self.kernel.programs.begin(started)
        return started

    @checked(name=TEXT)
    def table(self, name: str) -> Table:
        """A store outside Kafka with this name, for the effects of programs. It
        survives whatever happens in the cluster.
        """
        if name not in self._tables:
            self._tables[name] = Table(self.environment, name)
        return self._tables[name]

    # time

    @property
    def now_ms(self) -> int:
        """Virtual ms since the cluster began."""
        return self._clock.now_ms

    @checked(seconds=SECONDS)
    @recorded
    def run(self, seconds: float = 1) -> None:
        """Let this many virtual seconds pass. In a program: wait that long.

        Days of a busy cluster take real minutes, and a program that loops without a
        blocking call never gives way: interrupt the kernel then (Ctrl-C, or the stop
        button). The cluster can be used afterwards.
        """
        self._pass_ms(round(seconds * 1000))

    sleep = run

    @checked(ms=MS)
    @recorded
    def run_ms(self, ms: int) -> None:
        """The same as run(), in virtual milliseconds."""
        self._pass_ms(ms)

    @checked(condition=FUNCTION, seconds=SECONDS)
    def run_until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Let time pass until condition() is true. Raises KafkaTimeoutError if that
        takes longer than `seconds`.
        """
        began_ms = self._clock.now_ms
        inside = self.book.inside
        self.book.inside = True
        try:
            self.kernel.programs.enter("run_until")
            reached = self.kernel.wait(condition, round(seconds * 1000))
        finally:
            self.book.inside = inside
            if not inside and self.kernel.program() is None:
                waited_ms = self._clock.now_ms - began_ms
                call = TopLevelCall(began_ms, "cluster", "run_ms", (waited_ms,), {})
                self.book.calls.append(call)
        if not reached:
            raise KafkaTimeoutError(
                f"the condition did not come true within {seconds:g} virtual seconds"
            )

    def _pass_ms(self, ms: int) -> None:
        self.kernel.programs.enter("sleep")
        self.kernel.wait(never, ms)

    # what happened

    @checked(name=TEXT.or_none("the one that fits"))
    def play(
        self,
        prediction: Any = None,
        name: str | None = None,
        *,
        surprise: Any = None,
        answer: Any = None,
        **options: Any,
    ) -> Any:
        """The picture of what happened: the one that fits best, or play("log"), or
        play(q1, surprise=..., answer=...).

        surprise(event): whether the picture stops before this event. answer: the right
        option, or a function of the trace that computes it. options: the picture's own.
        """
        from minikafka.theatre import fitting, picture

        if isinstance(prediction, str):
            name = prediction
            prediction = None
        check(OF_PICTURES, {"prediction": prediction, "surprise": surprise, **options})
        chosen = name or fitting(self.trace)
        return picture(
            chosen,
            self.trace,
            seed=self.seed,
            prediction=prediction,
            surprise=surprise,
            answer=answer,
            **options,
        )

    @property
    def calls(self) -> list[TopLevelCall]:
        """The calls made at top level so far."""
        return self.book.calls

    @checked(until_ms=MS.or_none("all of it"))
    def replay(self, until_ms: int | None = None) -> "Cluster":
        """Repeat the run from the seed, up to a moment: a new cluster, which can then
        go on differently.
        """
        again = Cluster(**self._made_with, faults=self._plan.faults)
        again.repeat(self, self._clock.now_ms if until_ms is None else until_ms)
        return again

    def repeat(self, old: "Cluster", until_ms: int, since_ms: int = 0) -> None:
        """Repeat the recorded calls of another cluster here, each at its time, up to a
        moment. since_ms: only calls from then on, if this one has got that far already.

        Arguments that are the old cluster, its clients or programs are replaced by this
        one's. A global name in a program keeps its old value, so a program that is to
        be run again must get cluster and clients as arguments. A call that raised an
        error then raises it again now, and is passed over.
        """
        for call in old.calls:
            if call.at_ms >= until_ms:
                break
            args = [self._same(each, old) for each in call.args]
            kwargs = {name: self._same(each, old) for name, each in call.kwargs.items()}
            if call.method in ("run", "run_ms", "sleep"):
                ms = (
                    args[0]
                    if call.method == "run_ms"
                    else round((args[0] if args else kwargs.get("seconds", 1)) * 1000)
                )
                end_ms = min(call.at_ms + ms, until_ms)
                if end_ms >= since_ms:
                    self.run_ms(max(end_ms - self.now_ms, 0))
                continue
            if call.at_ms < since_ms:
                continue
            # the change took less time than what was there before
            if call.at_ms > self.now_ms:
                self.run_ms(call.at_ms - self.now_ms)
            target = self._target(call)
            with contextlib.suppress(Exception):
                getattr(target, call.method)(*args, **kwargs)

    def _target(self, call: TopLevelCall) -> Any:
        """What has the method of a call."""
        if isinstance(call.target, tuple):
            return self.table(call.target[1])
        return self if call.target == "cluster" else self.clients[call.target]

    def _same(self, value: Any, old: "Cluster") -> Any:
        """What is here in place of an argument of a call to the old cluster."""
        if value is old:
            return self
        if isinstance(value, Handle):
            return self.clients[value.name]
        if isinstance(value, Program):
            programs = self.kernel.programs.all
            return next(each for each in programs if each.name == value.name)
        if isinstance(value, Table):
            return self.table(value.name)
        if isinstance(value, Future):
            places = [each is value for each in old.futures]
            return self.futures[places.index(True)]
        return value

    def __repr__(self) -> str:
        return self._overview.table()

    @recorded
    def close(self) -> None:
        """End everything, and free what programs still hold. Close a cluster on which
        many programs have run.
        """
        self.kernel.programs.close()
        for handle in self.clients.values():
            handle._process.state = "down"
            handle._process.deadline = None
        for broker in self.brokers.values():
            broker.state = "down"
            broker.deadline = None

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # internals

    def _trace_of(self, node: str) -> Trace:
        trace = Trace(node, self.listeners)
        trace.now = self._clock.now_ms
        return trace

    def _random(self, node: str) -> Random:
        """Each node has its own random source, so that one more client changes nothing
        for the others.
        """
        return Random(f"{self.seed} {node}")

    def bootstrap(self) -> list[tuple[str, int]]:
        """The addresses that clients are given to begin with."""
        return [(f"broker-{node_id}", 9092) for node_id in self.brokers]

    def _start_brokers(
        self, count: int, configs: Mapping[str, Any], racks: Sequence[str]
    ) -> None:
        """Start all brokers, and wait until they are ready. A single broker has no
        peers.
        """
        node_ids = range(1, count + 1)
        peers = {}
        if count > 1:
            for node_id in node_ids:
                peers[node_id] = (f"broker-{node_id}", CONTROLLER_PORT)
        for node_id in node_ids:
            properties = {name: str(value) for name, value in configs.items()}
            if racks:
                properties["broker.rack"] = racks[(node_id - 1) % len(racks)]
            self._add_broker(node_id, properties, peers)

        def are_ready() -> bool:
            return all(each.broker.ready for each in self.brokers.values())

        self.kernel.advance(are_ready, 60_000)

    def _add_broker(
        self,
        node_id: int,
        properties: dict[str, str],
        peers: dict[int, tuple[str, int]],
    ) -> None:
        name = f"broker {node_id}"
        address = (f"broker-{node_id}", 9092)
        voters = sorted(peers)[:MOST_VOTERS]
        config = BrokerConfig(
            {"PLAINTEXT": address},
            properties,
            peers,
            tuple(voters),
            CLUSTER_ID if peers else None,
        )
        if config.unknown:  # a typing error: a cluster here has no plugins
            why = f"Unknown broker config name: {printable(config.unknown[0])}"
            raise KafkaError(Error.INVALID_CONFIG, why)
        process = BrokerProcess(
            node_id,
            config,
            self._random(name),
            self._clock,
            self.network,
            self._trace_of(name),
            address,
            self._plan.skew_ms(name),
        )
        self.brokers[node_id] = process
        self.kernel.agenda.add(process)

    def _client_name(self, kind: str, config: dict[str, Any]) -> str:
        others = ["admin", "cluster", "network"]
        others += [f"broker {node_id}" for node_id in self.brokers]
        base = str(config.get("client_id") or "")
        name = base
        number = 1 + sum(1 for each in self.clients if each.startswith(f"{kind} "))
        while not name or name in self.clients or name in others:
            name = f"{base or kind} {number}"
            number += 1
        return name

    def _add_client(
        self,
        handle: type[Handle],
        name: str,
        trace: Trace,
        new_core: Callable[[], Client],
    ) -> Handle:
        program = self.kernel.program()
        trace.now = self._clock.now_ms
        process = ClientProcess(name, new_core(), self._clock, self.network, trace)
        process.skew_ms = self._plan.skew_ms(name)
        made = handle(self.environment, process, new_core)
        self.clients[name] = made
        self.kernel.agenda.add(process)
        if program is not None:
            program.made.append(made)
        return made
