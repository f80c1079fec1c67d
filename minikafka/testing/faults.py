"""What goes wrong on the wire, as data, and when: the words are those of the simulation
(minikafka/faults.py).

    with kafka.fault(Lose("Produce", topic="orders", answer=True)) as fault:
        producer.send("orders", b"paid").get()
    assert fault.hits == 1

There a client is a node's name. Here it is a client id, and a fault that names none
meets every client. A fault meets requests that arrive before it is lifted.
"""

from dataclasses import KW_ONLY, dataclass, fields
from random import Random
from threading import Lock
from typing import Any

from minikafka.testing.answers import PLACES, check_can_answer
from minikafka.testing.client import until
from minikafka.wire.messages import API, Request

WAIT_SECONDS = 30.0
MOST_MS = 2**31 - 1  # an int32, as throttle_time_ms is in an answer


@dataclass(frozen=True, repr=False)
class WireFault:
    """Which requests it meets: those of an API, of a client id, to a broker, about a
    partition of a topic; None: of any. nth, times: the first one that it hits, counted
    from 1, and how many in a row; times=None: all that follow. chance_percent: it hits
    at random with this chance, instead of counting.
    """

    api: str
    _: KW_ONLY
    topic: str | None = None
    partition: int | None = None
    client_id: str | None = None
    broker: int | None = None
    nth: int = 1
    times: int | None = 1
    chance_percent: int | None = None

    def __post_init__(self) -> None:
        if self.api not in API:
            raise ValueError(f"{self.api!r} is no API of Kafka's")
        if (self.topic, self.partition) != (None, None) and self.api not in PLACES:
            raise ValueError(f"{self.api} names no topic")
        if self.partition is not None and self.topic is None:
            raise ValueError("a partition needs its topic")
        if self.nth < 1 or (self.times is not None and self.times < 1):
            raise ValueError("nth and times are counted from 1")
        if self.chance_percent is not None and not 0 <= self.chance_percent <= 100:
            raise ValueError("chance_percent: from 0 to 100")

    def __repr__(self) -> str:
        """The line to paste."""
        said = [repr(self.api)]
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            if value != each.default:
                said.append(f"{each.name}={value!r}")
        return f"{type(self).__name__}({', '.join(said)})"

    @property
    def meets_answers(self) -> bool:
        """Whether the broker does what it is asked, and the answer is met."""
        return False


@dataclass(frozen=True, repr=False)
class OnEitherWay(WireFault):
    """A fault that meets the request; answer=True: the broker does what it is asked
    and the fault meets its answer.
    """

    _: KW_ONLY
    answer: bool = False

    @property
    def meets_answers(self) -> bool:
        return self.answer


@dataclass(frozen=True, repr=False)
class Lose(OnEitherWay):
    """The request, or the answer, is lost with its connection."""


@dataclass(frozen=True, repr=False)
class Delay(OnEitherWay):
    """The request, or the answer, arrives extra_ms later, and so does what is behind it
    on its connection.
    """

    extra_ms: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ms("extra_ms", self.extra_ms)


@dataclass(frozen=True, repr=False)
class Answer(WireFault):
    """The request is answered with an error, given by its name. If it was to change
    something, the broker doesn't do it; done=True: it does, and answers otherwise.
    Errors: ValueError for an error that the API never answers.
    """

    error: str
    _: KW_ONLY
    done: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_can_answer(self.api, self.error)

    @property
    def meets_answers(self) -> bool:
        return self.done or self.api in READS


@dataclass(frozen=True, repr=False)
class Throttle(WireFault):
    """The answer asks the client to be silent for throttle_time_ms, and its connection
    is not read meanwhile (KIP-219).
    """

    throttle_time_ms: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ms("throttle_time_ms", self.throttle_time_ms)
        if "throttle_time_ms" not in API[self.api].response.struct.by_attribute:
            raise ValueError(f"{self.api} never throttles")

    @property
    def meets_answers(self) -> bool:
        return True


@dataclass(frozen=True, repr=False)
class Crash(OnEitherWay):
    """The broker dies when the request comes, or before it answers. power: its machine
    loses power as well. It stays down until broker(n).restart().
    """

    _: KW_ONLY
    power: bool = False


@dataclass(frozen=True, repr=False)
class Freeze(OnEitherWay):
    """The broker stands still when the request comes, or before it answers. It goes on
    after broker(n).thaw().
    """


def check_ms(name: str, ms: int) -> None:
    if not 0 <= ms <= MOST_MS:
        raise ValueError(f"{name}: from 0 to {MOST_MS}")


# what only looks is done, and its answer overwritten
READS = frozenset(
    {"Fetch", "FindCoordinator", "ListOffsets", "Metadata", "OffsetFetch"}
)


class Active:
    """A fault of a cluster, until it is lifted, at the end of its `with`. seen: how
    many requests it could have met; hits: how many it has.
    """

    def __init__(self, fault: WireFault, faults: "Faults", seed: int) -> None:
        self.fault = fault
        self.seen = 0
        self.hits = 0
        self._faults = faults
        self._random = Random(seed)

    def wait(self, hits: int = 1, timeout: float = WAIT_SECONDS) -> None:
        """Returns once it has hit so often. Errors: AssertionError, after `timeout`
        seconds.
        """
        until(
            lambda: self.hits >= hits or None,
            timeout,
            f"{self.fault} has hit {self.hits} time(s), not {hits}",
        )

    def lift(self) -> None:
        """It meets nothing any more."""
        self._faults.remove(self)

    def __enter__(self) -> "Active":
        return self

    def __exit__(self, *error: object) -> None:
        self.lift()

    def concerns(self, request: Request, broker: int) -> bool:
        """Whether it may meet a request of its API to this broker."""
        is_of_client = self.fault.client_id in (None, request.client_id)
        return is_of_client and self.fault.broker in (None, broker)

    def hit(self) -> bool:
        """Whether it hits the request that it meets now, which is counted."""
        self.seen += 1
        fault = self.fault
        if fault.chance_percent is not None:
            is_hit = self._random.random() * 100 < fault.chance_percent
        else:
            end = None if fault.times is None else fault.nth + fault.times
            is_hit = fault.nth <= self.seen and (end is None or self.seen < end)
        self.hits += is_hit
        return is_hit


class Faults:
    """All faults of a cluster. The list is replaced, never changed: brokers look at it
    in their own thread.
    """

    def __init__(self) -> None:
        self.active: tuple[Active, ...] = ()
        self._lock = Lock()  # those of a first use come and go in the brokers' thread

    def add(self, fault: Any, seed: int) -> Active:
        """Errors: TypeError for what is no fault of the wire."""
        if not isinstance(fault, WireFault):
            raise TypeError(
                f"{fault!r} is no fault of the wire: give Lose, Delay, Answer,"
                " Throttle, Crash or Freeze from minikafka.testing"
            )
        new = Active(fault, self, seed)
        self.begin(new)
        return new

    def begin(self, *new: Active) -> None:
        with self._lock:
            self.active = (*self.active, *new)

    def remove(self, old: Active) -> None:
        with self._lock:
            self.active = tuple(each for each in self.active if each is not old)

    def lift_all(self) -> None:
        self.active = ()
