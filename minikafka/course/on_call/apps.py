"""The shop's programs as deployments: copies of one program, called pods, that are
started, stopped, scaled, and told what to do by environment variables.

A variable is a client's config (`max.poll.records`) or one of the program's own
(`work.ms`). Setting one restarts the pods, as `kubectl set env` does. A pod that ends
by itself is restarted, each time after a longer pause, as Kubernetes does. The programs
are in `programs.py`.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from minikafka.clients import consumer_config, producer_config
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.course.on_call.orders import Orders
from minikafka.course.on_call.tls import (
    HOST,
    OF_CLIENT,
    OF_CLIENTS,
    PORT,
    PROTOCOL,
    check_client,
)
from minikafka.course.on_call.usage import LONG_MAX, Refused, number_in, whole
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.handles import checked_config
from minikafka.wire.errors import KafkaError

GRACE_S = 30  # between the request to stop and kill -9
FIRST_BACK_OFF_S = 10  # from a pod's death to its next life; then twice as long,
MOST_BACK_OFF_S = 300  # up to this
WELL_S = 600  # a pod that has lived this long starts with the first pause again
FOR_EVER_S = 1_000_000
MOST_PODS = 12
WARNINGS = ("BackOff",)

# what a program's own variables may be
CHOICES = {
    "key": ("customer", "order"),
    "commit": ("before", "after"),
    "on.error": ("exit", "dead-letter"),
    "once": ("true", "false"),
}
NUMBERS = ("every.ms", "work.ms", "open.ms", "bytes")
MOST_OF_ANY = 10_000_000


class Failed(Exception):
    """A program can't continue, and exits."""


class Death(NamedTuple):
    """How a pod's life ended: Kubernetes' reason, and the exit code."""

    at_ms: int
    reason: str
    exit_code: int


class Happening(NamedTuple):
    """An event as Kubernetes notes it: kubectl get events. of: pod/NAME or
    deployment/NAME.
    """

    at_ms: int
    reason: str
    of: str
    message: str

    @property
    def kind(self) -> str:
        """The event's type, as Kubernetes has it: Warning or Normal."""
        return "Warning" if self.reason in WARNINGS else "Normal"


class Pod:
    """One copy of a program. address: its own, which its brokers see.

    lives: when each began. death: the end of the last that has ended. due_ms: when the
    next begins, while the pod is dead. pause_s: how long it is or was dead.
    is_turned_away: in this life a TLS handshake with a broker has failed.
    """

    def __init__(self, name: str, client: Any, address: str) -> None:
        self.name = name
        self.client = client
        self.address = address
        self.program: Any = None
        self.stopping = False
        self.lives: list[int] = []
        self.death: Death | None = None
        self.due_ms: int | None = None
        self.back_off_s = FIRST_BACK_OFF_S  # the pause after the next death
        self.pause_s = 0
        self.hand: set[int] = set()  # orders that it has polled and not handled yet
        self.sent: set[int] = set()  # orders that it has sent
        self.is_turned_away = False

    @property
    def is_up(self) -> bool:
        """Whether it runs, and isn't waiting for its next life."""
        return self.due_ms is None

    @property
    def restarts(self) -> int:
        """How often it was started again."""
        return len(self.lives) - 1

    def die(self, death: Death) -> None:
        """Its life has ended; the next one begins after a pause."""
        lived_ms = death.at_ms - self.lives[-1]
        if lived_ms >= WELL_S * 1000:
            self.back_off_s = FIRST_BACK_OFF_S
        self.death = death
        self.pause_s = self.back_off_s
        self.due_ms = death.at_ms + self.pause_s * 1000
        self.back_off_s = min(2 * self.pause_s, MOST_BACK_OFF_S)


class Platform(NamedTuple):
    """What all programs share. addresses: an iterator of addresses for new pods."""

    cluster: Cluster
    orders: Orders
    addresses: Iterator[str]


class App:
    """own: its own variables with their values unless told otherwise. held: why its
    pods can't work now, if so.
    """

    kind = ""
    own: ClassVar[dict[str, str]] = {}
    known: ClassVar[dict[str, Any]] = {}

    def __init__(self, platform: Platform, name: str, topic: str, **env: str) -> None:
        self.cluster = platform.cluster
        self.orders = platform.orders
        self._addresses = platform.addresses
        self.name = name
        self.topic = topic
        self.env = {**self.own, **env}
        self.earlier: list[dict[str, str]] = []  # with which it was rolled out before
        self.happened: list[Happening] = []
        self.held = ""
        self.pods: list[Pod] = []
        self.log: list[tuple[int, str]] = []
        self._rollouts = 0
        self._started = 0  # pods since the last roll-out
        self.since_ms = self.cluster.now_ms

    # what kubectl does

    def scale(self, replicas: int) -> None:
        """Start or stop pods until there are this many. Errors: Refused beyond
        MOST_PODS.
        """
        if replicas > MOST_PODS:
            raise Refused(f"There is room for {MOST_PODS} pods at most.")
        before = len(self.pods)
        if replicas != before:
            change = "up" if replicas > before else "down"
            message = (
                f"Scaled {change} replica set {self.name} to {replicas} from {before}"
            )
            self._happens("ScalingReplicaSet", f"deployment/{self.name}", message)
        self._stop(self.pods[replicas:])
        while len(self.pods) < replicas:
            self._start()

    def roll_out(self, env: dict[str, str] | None = None) -> None:
        """All pods stop, and as many new ones start. env: with other values."""
        self.earlier.append(self.env)
        if env is not None:
            self.env = env
        replicas = len(self.pods)
        self.scale(0)
        self._rollouts += 1
        self._started = 0
        self.scale(replicas)

    def replace(self, pod: Pod) -> None:
        """Stop this pod, and start another one."""
        self._stop([pod])
        self._start()

    def set_env(self, changes: dict[str, str | None]) -> None:
        """Set other values, and roll the pods out. None unsets a variable."""
        check_client({name: value or "" for name, value in changes.items()})
        for name in changes:
            if not self._knows(name):
                raise Refused(self._unknown(name))
        wanted = {**self.own}
        for name, value in {**self.env, **changes}.items():
            if value is not None:
                wanted[name] = value
        self._check(wanted)
        self.roll_out(wanted)

    def kill(self, pod: Pod) -> None:
        """Linux runs out of memory, and kills this pod."""
        self.cluster.crash(pod.program)
        self._end(pod, "OOMKilled", 137)

    def restart_dead(self) -> None:
        """Restart the dead pods whose pause is over."""
        for pod in self.pods:
            if pod.due_ms is not None and pod.due_ms <= self.cluster.now_ms:
                pod.due_ms = None
                self._begins(pod)
                self.cluster.crash(pod.program)
                self.cluster.restart(pod.program)

    def in_hand(self) -> set[int]:
        """Orders that a living pod has polled and not handled yet."""
        found: set[int] = set()
        for pod in self.pods:
            if pod.is_up:
                found |= pod.hand
        return found

    def say(self, pod: Pod, line: str) -> None:
        """Add a line to the program's own log."""
        self.log.append((self.cluster.now_ms, f"{pod.name} {line}"))

    def turned_away(self, pod: Pod, broker: int) -> None:
        """A TLS handshake with a broker has failed: its client logs that."""
        pod.is_turned_away = True
        line = OF_CLIENT.format(
            kind=self.kind.capitalize(),
            client=pod.name,
            broker=broker,
            host=HOST.format(broker),
            port=PORT,
        )
        self.say(pod, line)

    # inside

    def _end(self, pod: Pod, reason: str, exit_code: int) -> None:
        """A pod has just died: note why, and schedule its restart."""
        death = Death(
            at_ms=self.cluster.now_ms,
            reason=reason,
            exit_code=exit_code,
        )
        pod.die(death)
        message = f"Back-off restarting failed container {self.name}"
        self._happens("BackOff", f"pod/{pod.name}", message)

    def _begins(self, pod: Pod) -> None:
        """A pod's container starts, for the first time or again."""
        pod.lives.append(self.cluster.now_ms)
        pod.is_turned_away = False
        self.say(pod, "starts")
        self._happens("Started", f"pod/{pod.name}", f"Started container {self.name}")

    def _happens(self, reason: str, of: str, message: str) -> None:
        """Add an event to those that `kubectl get events` shows."""
        happening = Happening(
            at_ms=self.cluster.now_ms,
            reason=reason,
            of=of,
            message=message,
        )
        self.happened.append(happening)

    def _start(self) -> None:
        """Start one more pod, under a new name."""
        letter = chr(ord("a") + self._rollouts)
        self._started += 1
        name = f"{self.name}-{letter}{self._started}"
        pod = Pod(name, self._client(name), next(self._addresses))
        self._begins(pod)
        self.pods.append(pod)
        pod.program = self.cluster.start(self._main(pod), pod.client)

    def _stop(self, pods: list[Pod]) -> None:
        """Ask pods to stop, and kill those that haven't ended after GRACE_S."""
        self.pods = [pod for pod in self.pods if pod not in pods]
        for pod in pods:
            pod.stopping = True
            message = f"Stopping container {self.name}"
            self._happens("Killing", f"pod/{pod.name}", message)
        running = [pod.program for pod in pods if pod.is_up]

        def have_ended() -> bool:
            return not any(program.alive for program in running)

        try:
            self.cluster.run_until(have_ended, seconds=GRACE_S)
        except KafkaTimeoutError:
            pass  # the grace period is over
        for pod in pods:
            if pod.program.alive:
                self.cluster.crash(pod.program)
            self.left(pod)

    def left(self, pod: Pod) -> None:
        """Called when a pod ends, for work that it had begun; by default it does
        nothing.
        """

    def _main(self, pod: Pod) -> Callable[[Any], None]:
        """The function that a pod runs: the app's program, with its errors handled."""

        def program(client: Any) -> None:
            try:
                if self.held:
                    raise Failed(self.held)
                self._run(pod, client)
            except (KafkaError, Failed) as error:
                client.close()
                self.say(pod, f"exits: {type(error).__name__}: {error}")
                self._end(pod, "Error", 1)
                self.cluster.sleep(FOR_EVER_S)

        program.__name__ = f"program {pod.name}"
        return program

    def _run(self, pod: Pod, client: Any) -> None:
        """The program. It returns once the pod should stop."""
        raise NotImplementedError

    def _client(self, name: str) -> Any:
        """The Kafka client that a pod works with."""
        config = self._config(self.env)
        return self.cluster.producer(client_id=name, **config)

    def _config(self, env: dict[str, str]) -> dict[str, Any]:
        """The variables that belong to the client."""
        found = {}
        for name, value in env.items():
            if name not in self.own and name not in OF_CLIENTS:
                found[name.replace(".", "_")] = _typed(value)
        return found

    def _knows(self, name: str) -> bool:
        """Whether there is such a variable."""
        if name in OF_CLIENTS:
            return PROTOCOL in self.env
        return name in self.own or name.replace(".", "_") in self.known

    def _unknown(self, name: str) -> str:
        """A sentence on a variable that isn't there."""
        others = [each for each in self.env if each not in self.own]
        mine = ", ".join([*self.own, *others])
        return (
            f"{self.name} does not know {name}. It has its own variables ({mine}), and"
            f" takes the configs of a Kafka {self.kind}."
        )

    def _check(self, env: dict[str, str]) -> None:
        """Refuse values with which the program would not start."""
        config = self._config(env)
        try:
            checked_config(self.kind, config)
            if self.kind == "producer":
                producer_config.checked(config)
            else:
                consumer_config.checked({**consumer_config.DEFAULTS, **config})
        except (TypeError, ValueError) as error:
            raise Refused(f"{self.name} would not start: {error}") from None
        for name in self.own:
            _check_own(name, env[name])


def _check_own(name: str, value: str) -> None:
    """Refuse what one of the program's own variables can't be."""
    allowed = CHOICES.get(name, (value,))
    if value not in allowed:
        raise Refused(f"{name} is {' or '.join(allowed)}, not {value!r}.")
    if name in NUMBERS:
        whole({name: value}, name, most=MOST_OF_ANY)


def _typed(value: str) -> Any:
    """A variable's text as the client's config wants it."""
    number = number_in(value, LONG_MAX)
    if number is not None:
        return number
    if value in ("true", "false"):
        return value == "true"
    return value
