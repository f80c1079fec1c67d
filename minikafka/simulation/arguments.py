"""The arguments that a learner may give, as data: a wrong value is refused with one
sentence at the call, before anything has happened.

    @checked(seconds=SECONDS)
    def run(self, seconds: float = 1) -> None: ...

A wrong type raises TypeError, a wrong value ValueError, each with the argument, the
value that was given, and what would be right.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from itertools import chain, cycle, takewhile
from typing import Any, NamedTuple, TypeVar

from minikafka.clients.share_deliveries import TYPES as ACKNOWLEDGEMENTS
from minikafka.clients.structs import ConsumerRecord
from minikafka.clients.transactions import GroupMetadata
from minikafka.faults import Fault
from minikafka.trace import Event, printable
from minikafka.wire import messages

Method = TypeVar("Method", bound=Callable[..., Any])

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
CENTURY_S = 100 * 366 * 86_400
# the wire allows 32,767; a member id is a client id and 37 more bytes
MOST_NAME_BYTES = 32_000


class Wanted(NamedTuple):
    """words: what would be right. types: others raise TypeError; bool doesn't count as
    a number. fits(value): if false, error is raised.
    """

    words: str
    types: tuple[type, ...]
    fits: Callable[[Any], bool] = lambda _: True
    error: type[Exception] = ValueError

    def check(self, name: str, value: object) -> None:
        is_stray_bool = isinstance(value, bool) and bool not in self.types
        is_of_type = isinstance(value, self.types) and not is_stray_bool
        if is_of_type and self.fits(value):
            return
        error = self.error if is_of_type else TypeError
        raise error(f"{name}={shown(value)}: give {self.words}")

    def or_none(self, meaning: str = "nothing") -> "Wanted":

        def fits(value: Any) -> bool:
            return value is None or self.fits(value)

        words = f"{self.words}, or None for {meaning}"
        return Wanted(words, (*self.types, type(None)), fits, self.error)


def shown(value: object) -> str:
    """The value that was given, for use in a sentence."""
    return printable(repr(value), 80)


def whole(low: int, high: int = INT_MAX) -> Wanted:
    words = f"a whole number from {low} to {high}"
    return Wanted(words, (int,), lambda value: low <= value <= high)


def several(
    words: str, fits: Callable[[Any], bool], types: tuple[type, ...] = (Collection,)
) -> Wanted:
    """A list or similar, in which every element (in a dictionary, every key) fits. A
    generator doesn't count, because it can be read only once.
    """
    return Wanted(words, types, lambda value: all(fits(each) for each in value))


def pairs(
    words: str, fits: Callable[[Any], bool], error: type[Exception] = ValueError
) -> Wanted:
    """A dictionary with partitions as keys, in which every value fits."""

    def all_fit(value: Mapping[Any, Any]) -> bool:
        return all(is_partition(key) and fits(each) for key, each in value.items())

    return Wanted(words, (Mapping,), all_fit, error)


def is_partition(given: object) -> bool:
    """TopicPartition("orders", 0), kafka-python's or ours, or ("orders", 0)."""
    if not isinstance(given, tuple) or len(given) != 2:
        return False
    topic, number = given
    return isinstance(topic, str) and type(number) is int and 0 <= number <= INT_MAX


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_event(value: object) -> bool:
    return isinstance(value, Event)


def _is_name(text: str) -> bool:
    """Whether the text fits into a string of the protocol."""
    try:
        return len(text.encode()) <= MOST_NAME_BYTES
    except UnicodeEncodeError:
        return False


def _is_latency(pair: Any) -> bool:
    if len(pair) != 2:
        return False
    shortest, longest = pair
    if type(shortest) is not int or type(longest) is not int:
        return False
    return 0 <= shortest <= longest <= INT_MAX


def _is_time(ms: Any) -> bool:
    return type(ms) in (int, float) and 0 <= ms <= LONG_MAX


def _is_offset(each: Any) -> bool:
    offset = getattr(each, "offset", each)
    return type(offset) is int and 0 <= offset <= LONG_MAX


def _is_commit(each: Any) -> bool:
    if not hasattr(each, "offset") or not _is_offset(each):
        return False
    metadata = getattr(each, "metadata", None)
    return metadata is None or isinstance(metadata, str)


def _is_header(pair: Any) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    name, _ = pair
    return isinstance(name, str) and _is_name(name)


def _are_headers(given: Any) -> bool:
    if given is None:
        return True
    pairs = given.items() if isinstance(given, Mapping) else given
    return all(map(_is_header, pairs))


def _is_listener(given: Any) -> bool:
    if given is None:
        return True
    calls = ("on_partitions_assigned", "on_partitions_revoked", "on_partitions_lost")
    return any(callable(getattr(given, call, None)) for call in calls)


def _is_prediction(given: Any) -> bool:
    if given is None:
        return True
    return all(hasattr(given, name) for name in ("question", "options", "mine"))


def _is_serializer(given: Any) -> bool:
    if given is None or callable(given):
        return True
    return hasattr(given, "serialize") or hasattr(given, "deserialize")


TEXT = Wanted(f"a text of at most {MOST_NAME_BYTES} bytes", (str,), _is_name)
FLAG = Wanted("True or False", (bool,))
WHOLE = Wanted("a whole number", (int,))
NUMBER = whole(0)
COUNT = whole(1)
OFFSET = whole(0, LONG_MAX)
SECONDS = Wanted(
    "a number of virtual seconds from 0 to a hundred years",
    (int, float),
    lambda s: 0 <= s <= CENTURY_S,
)
MS = Wanted(
    "a whole number of virtual ms from 0 to a hundred years",
    (int,),
    lambda ms: 0 <= ms <= CENTURY_S * 1000,
)
ANY_MS = Wanted(
    "a number of virtual ms from 0 to a hundred years", (int, float), MS.fits
)
SKEW_MS = Wanted(
    "a whole number of ms, at most a hundred years",
    (int,),
    lambda ms: abs(ms) <= CENTURY_S * 1000,
)
WAIT_S = SECONDS.or_none("as long as it takes")
WAIT_MS = ANY_MS.or_none("as long as it takes")
LATENCY_MS = Wanted(
    "two whole numbers of virtual ms, the shortest and the longest: (1, 3)",
    (tuple, list),
    _is_latency,
)
CONFIGS = several(
    'a dictionary of Kafka\'s names, such as {"retention.ms": 60000}',
    _is_text,
    (Mapping,),
)
FUNCTION = Wanted("a function", (Callable,))  # type: ignore[arg-type]
SERIALIZER = Wanted(
    "a function, an object with serialize or deserialize, or None",
    (object,),
    _is_serializer,
)
LISTENER = Wanted(
    "an object with on_partitions_assigned and on_partitions_revoked",
    (object,),
    _is_listener,
)
TOPIC_OR_BROKER = Wanted(
    "a topic's name or a broker's id", (str, int), lambda each: _is_name(str(each))
)
TOPICS = several('the topics\' names: "orders" or ["orders", "payments"]', _is_text)
PARTITION = Wanted('a partition: TopicPartition("orders", 0)', (tuple,), is_partition)
PARTITIONS = several(
    'a list of partitions: [TopicPartition("orders", 0)]', is_partition
)
TIMES = pairs('{TopicPartition("orders", 0): ms since 1970}', _is_time)
OFFSETS = pairs(
    '{TopicPartition("orders", 0): offset}, with offsets from 0 on', _is_offset
)
COMMITS = pairs(
    "{TopicPartition: OffsetAndMetadata(offset, metadata)}", _is_commit, TypeError
).or_none("positions")
GROUP = Wanted(
    "consumer.group_metadata() or the group's id",
    (GroupMetadata, str),
    lambda group: _is_name(str(group)),
)
HEADERS = Wanted(
    '(name, value) pairs: [("source", b"shop")]',
    (Collection, type(None)),
    _are_headers,
    TypeError,
)
RECORD = Wanted("a record that poll() brought", (ConsumerRecord,))
ACKNOWLEDGEMENT = Wanted(
    " or ".join(f'"{each}"' for each in ACKNOWLEDGEMENTS),
    (str,),
    lambda said: said in ACKNOWLEDGEMENTS,
)
TOPIC_NAME = Wanted(
    'topics as texts, one after the other: consumer("orders", "payments")',
    (str,),
    _is_name,
)
# as in kafka-python
PLACE = Wanted(
    OFFSET.words, (object,), lambda each: type(each) is int and OFFSET.fits(each)
)
FAULTS = Wanted(
    "a list of faults from minikafka.faults: [Crash(1, at_ms=2000)]", (Iterable,)
)
API = Wanted(
    "the name of one of Kafka's APIs, such as Produce",
    (str,),
    lambda name: name in messages.API,
)

# What the fields of faults may hold, but for the names of nodes; None is allowed where
# it is the default.
OF_FAULTS = {
    "at_ms": MS,
    "for_ms": MS,
    "extra_ms": MS,
    "restart_after_ms": MS,
    "by_ms": SKEW_MS,
    "call": COUNT,
    "nth": COUNT,
    "times": COUNT,
    "chance_percent": whole(0, 100),
    "answer": FLAG,
    "power": FLAG,
    "silent": FLAG,
    "api": API,
}

OF_CLIENTS = {
    "client_id": TEXT.or_none("a name of its own"),
    "request_timeout_ms": MS,
    "retry_backoff_ms": MS,
    "reconnect_backoff_ms": MS,
    "metadata_max_age_ms": MS,
}
OF_PRODUCERS = OF_CLIENTS | {
    "enable_idempotence": FLAG.or_none("as far as the rest allows"),
    "linger_ms": MS,
    "batch_size": NUMBER,
    "buffer_memory": COUNT,
    "max_in_flight_requests_per_connection": COUNT,
    "max_request_size": COUNT,
    "key_serializer": SERIALIZER,
    "value_serializer": SERIALIZER,
    "retries": NUMBER,
    "retry_backoff_max_ms": MS,
    "delivery_timeout_ms": MS,
    "max_block_ms": MS,
    "transactional_id": TEXT.or_none("no transactions"),
    "transaction_timeout_ms": COUNT,
}
OF_CONSUMERS = OF_CLIENTS | {
    "group_id": TEXT.or_none("no group"),
    "group_instance_id": TEXT.or_none("a dynamic member"),
    "group_remote_assignor": TEXT.or_none("the coordinator's choice"),
    "enable_auto_commit": FLAG,
    "auto_commit_interval_ms": COUNT,
    "session_timeout_ms": COUNT,
    "heartbeat_interval_ms": COUNT,
    "max_poll_interval_ms": COUNT,
    "max_poll_records": COUNT,
    "processing_ms": MS,
    "fetch_min_bytes": NUMBER,
    "fetch_max_wait_ms": NUMBER,
    "fetch_max_bytes": NUMBER,
    "max_partition_fetch_bytes": NUMBER,
    "check_crcs": FLAG,
    "key_deserializer": SERIALIZER,
    "value_deserializer": SERIALIZER,
    "consumer_timeout_ms": WAIT_MS,
    "allow_auto_create_topics": FLAG,
}
OF_SHARE_CONSUMERS = OF_CLIENTS | {
    "group_id": TEXT,
    "share_acknowledgement_mode": TEXT,
    "share_acquire_mode": TEXT,
    "max_poll_interval_ms": COUNT,
    "max_poll_records": COUNT,
    "fetch_min_bytes": NUMBER,
    "fetch_max_wait_ms": NUMBER,
    "fetch_max_bytes": COUNT,
    "check_crcs": FLAG,
    "key_deserializer": SERIALIZER,
    "value_deserializer": SERIALIZER,
    "allow_auto_create_topics": FLAG,
}
ONE_THAT_FITS = TEXT.or_none("the one that fits")
NUMBERS = several("partition numbers: [0, 1]", _is_number)
ANOTHER_TRACE = several("another trace", _is_event, (Sequence,))
OF_PICTURES = {
    "topic": ONE_THAT_FITS,
    "group": ONE_THAT_FITS,
    "table": ONE_THAT_FITS,
    "producer": ONE_THAT_FITS,
    "partition": NUMBER.or_none("the busiest"),
    "since_ms": MS,
    "names": several("two names", _is_text),
    "partitions": NUMBERS.or_none("the busiest"),
    "beside": ANOTHER_TRACE.or_none(),
    "surprise": FUNCTION.or_none(),
    "prediction": Wanted("what predict(...) returned", (object,), _is_prediction),
}


def check(wanted: Mapping[str, Wanted], given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if name in wanted:
            wanted[name].check(name, value)


def check_fault(fault: Fault) -> None:
    """Raise an error for a fault whose fields make no sense."""
    given = {}
    for name, value in vars(fault).items():
        default = getattr(type(fault), name, ...)
        if value != default:
            given[name] = value
    check(OF_FAULTS, given)


def checked(**wanted: Wanted) -> Callable[[Method], Method]:
    """A decorator that checks these arguments before the method begins."""

    def around(method: Method) -> Method:
        parameters = signature(method).parameters
        assert set(wanted) <= set(parameters), f"{method.__name__} has other arguments"
        rest = []
        for each in parameters.values():
            if each.kind is Parameter.VAR_POSITIONAL:
                rest.append(each.name)
        _, *names = takewhile(lambda name: name not in rest, parameters)

        @wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            positional = chain(names, cycle(rest))
            for name, value in zip(positional, args, strict=False):
                if name in wanted:
                    wanted[name].check(name, value)
            check(wanted, kwargs)
            return method(self, *args, **kwargs)

        return call  # type: ignore[return-value]

    return around
