"""Which configs may be set: at start, and while brokers run.

Every name is known and every value legal by itself, which the table says; and what no
row can say: configs that bound each other, and values that have a form.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from minikafka.broker.config_table import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    INT_MAX,
    PER_BROKER,
    PER_LISTENER,
    READ_ONLY,
    TABLES,
    TOLD,
    TOPIC_CONFIGS,
    Config,
    Type,
    invalid,
    is_of_plugin,
    parse,
    without_row,
)
from minikafka.broker.durations import duration_ms
from minikafka.broker.listeners import PROTOCOL_MAP, of_listener, protocol_map
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Image,
)
from minikafka.cluster.quotas import unusable_quotas
from minikafka.coordinators.runtime import Configs
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError


class Rule(NamedTuple):
    """A rule that bounds and choices can't express: which values are legal, and the
    same in words, which may name the config and the value.
    """

    holds: Callable[[Any], object]
    words: str


BY_DURATION = "by_duration:"
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
TASK_ASSIGNOR = "streams.assignor.name"
REPLICA = re.compile("[0-9]+:[0-9]+|")
OF_LISTENER = "listener.name."
# the configs of a listener that may be set for all brokers at once
OF_ALL_BROKERS = (
    "max.connection.creation.rate",
    "max.connections",
    "num.network.threads",
)
LIMIT = re.compile(r"[^,:\s]+:([-+]?\d{1,10})")


def are_limits(text: str) -> bool:
    """A list of host:number, where each is an int."""
    found = [LIMIT.fullmatch(part) for part in text.split(",") if text]
    return all(each and -INT_MAX - 1 <= int(each[1]) <= INT_MAX for each in found)


def are_replicas(text: str) -> bool:
    """A list of partition:broker, or * for all. Parts may be empty."""
    parts = text.split(",")
    return "".join(parts) == "*" or all(map(REPLICA.fullmatch, parts))


def is_beginning(text: str) -> bool:
    """Where a share group may begin."""
    start, by_duration, ago = text.partition(BY_DURATION)
    if not by_duration:
        return text in ("earliest", "latest")
    try:
        duration_ms(ago)
    except ValueError:
        return False
    return not start


_GZIP_LEVEL = Rule(
    lambda level: level == -1 or 1 <= level <= 9,
    "Value must be between 1 and 9 or equal to -1",
)
_RETENTION = Rule(lambda time: time != 0, "Value must be -1 or at least 1")
_THROTTLED = Rule(
    are_replicas,
    "{name} must be the literal '*' or a list of replicas in the following format:"
    " [partitionId]:[brokerId],[partitionId]:[brokerId],...",
)
_BEGINNING = Rule(
    is_beginning,
    "Invalid value `{value}` for configuration {name}."
    " The value must be either 'earliest', 'latest' or of the format"
    " 'by_duration:<PnDTnHnMn.nS>'.",
)
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_AUTHORIZER = Rule(
    lambda name: name in ("", AUTHORIZER),
    f"there is one authorizer here: authorizer.class.name={AUTHORIZER}",
)
RULES = {
    "authorizer.class.name": _AUTHORIZER,
    "compression.gzip.level": _GZIP_LEVEL,
    "connections.max.idle.ms": Rule(
        lambda ms: ms < 0 or ms > 100, "Value must be negative or more than 100"
    ),
    "follower.replication.throttled.replicas": _THROTTLED,
    "group.consumer.assignors": Rule(lambda names: names != "", "must not be empty"),
    "leader.replication.throttled.replicas": _THROTTLED,
    "max.connections.per.ip.overrides": Rule(
        are_limits, "Value must be a list of host:number"
    ),
    "log.retention.hours": _RETENTION,
    "log.retention.minutes": _RETENTION,
    "log.retention.ms": _RETENTION,
    "share.auto.offset.reset": _BEGINNING,
}

# Which config bounds which: at most, and less than.
AT_MOST = {
    "group.min.session.timeout.ms": "group.max.session.timeout.ms",
    "log.cleaner.min.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
}
LESS_THAN = {
    "group.consumer.heartbeat.interval.ms": "group.consumer.session.timeout.ms",
    "group.streams.heartbeat.interval.ms": "group.streams.session.timeout.ms",
}
# How many there are changes little by little while a broker runs.
THREADS = frozenset(
    {
        "background.threads",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
# of one broker, and of all: how many, and how long with their names
MOST_UNKNOWN, MOST_UNKNOWN_SIZE = 100, 100_000


def checked(
    configs: Mapping[str, str], table: Mapping[str, Config], what: str
) -> dict[str, str]:
    """Check that every name is in the table and every value legal. Returns the configs
    as they will be stored. Errors: INVALID_CONFIG.
    """
    found = {}
    for name, text in configs.items():
        if name not in table:
            raise KafkaError(Error.INVALID_CONFIG, f"Unknown {what}: {printable(name)}")
        check_value(table[name], text)
        found[name] = text
    return found


def check_value(row: Config, text: str) -> None:
    """Check whether a value is legal by itself. Errors: INVALID_CONFIG."""
    value = parse(row, text)
    rule = RULES.get(row.name)
    if rule is not None and not rule.holds(value):
        shown = text
        if row.type is Type.LIST:
            shown = f"[{value.replace(',', ', ')}]"
        words = rule.words.format(name=row.name, value=printable(text))
        raise invalid(row, shown, words)


def is_legal(row: Config, text: str) -> bool:
    """Whether a value is legal by itself: what was stored before may not be."""
    try:
        check_value(row, text)
    except KafkaError:
        return False
    return True


# -- at start


def checked_at_start(properties: Mapping[str, str]) -> dict[str, str]:
    """Check the properties with which a broker is started. Errors: INVALID_CONFIG.
    Apache Kafka wants the defaults of groups to be within their bounds, too, and takes
    any unknown name: a plugin may read it.
    """
    found = {}
    for name, text in properties.items():
        of_one = of_listener(name)
        row = BROKER_CONFIGS.get(name if of_one is None else of_one.name)
        if row is None:
            continue
        check_value(row, text)
        if of_one is None:
            found[name] = text
    _refuse_told(found)
    for name, bound in AT_MOST.items():
        value, limit = _given(found, name), _given(found, bound)
        if value > limit:
            raise _out_of_order(f"{name} ({value}) must be at most {bound} ({limit})")
    for name, bound in LESS_THAN.items():
        value, limit = _given(found, name), _given(found, bound)
        if value >= limit:
            raise _out_of_order(f"{name} ({value}) must be less than {bound} ({limit})")
    if PROTOCOL_MAP in found:
        protocol_map(found[PROTOCOL_MAP])
    return dict(properties)


def _refuse_told(configs: Mapping[str, str]) -> None:
    for name in configs:
        if BROKER_CONFIGS[name].effect == TOLD:
            why = f"{name} follows from how the broker is started; it can't be given"
            raise KafkaError(Error.INVALID_CONFIG, why)


def _given(properties: Mapping[str, str], name: str) -> Any:
    row = BROKER_CONFIGS[name]
    return parse(row, properties[name]) if name in properties else row.default


def _out_of_order(what: str) -> KafkaError:
    return KafkaError(Error.INVALID_CONFIG, what)


# -- while brokers run


def check_topic_configs(configs: Mapping[str, Any], config: Configs) -> dict[str, str]:
    """The configs that a topic sets, as they will be stored. Errors: INVALID_CONFIG."""
    for name, text in configs.items():
        if text is None:
            why = f"Null value not supported for topic configs: {name}"
            raise KafkaError(Error.INVALID_CONFIG, why)
    legal = checked(configs, TOPIC_CONFIGS, "topic config name")
    shortest = _number_of(legal, "min.compaction.lag.ms")
    longest = _number_of(legal, "max.compaction.lag.ms")
    if shortest > longest:
        why = (
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) >"
            f" max.compaction.lag.ms ({longest})"
        )
        raise KafkaError(Error.INVALID_CONFIG, why)
    wants_tier = legal.get("remote.storage.enable", "").strip().lower() == "true"
    if wants_tier and not config["remote.log.storage.system.enable"]:
        why = (
            "Tiered Storage functionality is disabled in the broker. Topic cannot be"
            " configured with remote log storage."
        )
        raise KafkaError(Error.INVALID_CONFIG, why)
    return legal


def _number_of(topic_configs: Mapping[str, str], name: str) -> int:
    return int(topic_configs.get(name, TOPIC_CONFIGS[name].default))


def check_broker_configs(
    configs: Mapping[str, str], of_one: bool, config: Configs
) -> None:
    """Check whether a broker's configs may be set while it runs. of_one: for this one,
    not for all. Errors: INVALID_REQUEST.
    """
    known = {name: text for name, text in configs.items() if name in BROKER_CONFIGS}
    rows = [BROKER_CONFIGS[name] for name in known]
    rows = [row for row in rows if not is_of_plugin(row)]
    _refuse_those(rows, READ_ONLY, "Cannot update these configs dynamically")
    why = (
        "These security configs can be dynamically updated only per-listener using the"
        " listener prefix"
    )
    _refuse_those(rows, PER_LISTENER, why)
    try:
        checked(known, BROKER_CONFIGS, "broker config name")
        _check_of_listeners(configs)
        _refuse_told(known if of_one else {})
        for name, text in known.items():
            _check_bounds(name, name, text, config)
            _check_threads(name, text, config)
    except KafkaError as error:
        raise KafkaError(Error.INVALID_REQUEST, error.message) from None
    if not of_one:
        why = (
            "Cannot update these configs at default cluster level, broker id must be"
            " specified"
        )
        _refuse_those(rows + _of_listeners(configs), PER_BROKER, why)


def _check_of_listeners(configs: Mapping[str, str]) -> None:
    """Check whether the configs of single listeners are legal for all of them. Errors:
    INVALID_CONFIG.
    """
    for name, text in configs.items():
        of_one = of_listener(name)
        if of_one is not None and of_one.name in BROKER_CONFIGS:
            check_value(BROKER_CONFIGS[of_one.name], text)


def _of_listeners(configs: Mapping[str, str]) -> list[Config]:
    """The configs of single listeners that a broker has for itself."""
    found = []
    for name in configs:
        _, _, of_all = name.removeprefix(OF_LISTENER).partition(".")
        if name.startswith(OF_LISTENER) and of_all not in OF_ALL_BROKERS:
            found.append(without_row(name)._replace(update=PER_BROKER))
    return found


def _check_threads(name: str, text: str, config: Configs) -> None:
    """There are as many threads as before, though they do nothing here: at least half,
    at most double.
    """
    if name not in THREADS:
        return
    wanted, current = int(text), config[name]
    why = f"Dynamic thread count update validation failed for {name}={wanted}, value"
    if wanted < max(1, current // 2):
        least = f"should be at least half the current value {current}"
        raise _out_of_order(f"{why} {least}")
    if wanted > current * 2:
        most = f"should not be greater than double the current value {current}"
        raise _out_of_order(f"{why} {most}")


def check_unknown(configs: Mapping[str, str]) -> None:
    """Check a broker's unknown configs, of which Apache Kafka keeps any number. Errors:
    INVALID_REQUEST.
    """
    names = [name for name in configs if name not in BROKER_CONFIGS]
    size = sum(len(name) + len(configs[name]) for name in names)
    if len(names) > MOST_UNKNOWN or size > MOST_UNKNOWN_SIZE:
        why = (
            f"At most {MOST_UNKNOWN} configs with an unknown name are kept, with"
            f" {MOST_UNKNOWN_SIZE} characters in all"
        )
        raise KafkaError(Error.INVALID_REQUEST, why)


def _refuse_those(rows: list[Config], update: str, why: str) -> None:
    names = [row.name for row in rows if row.update == update]
    if names:
        raise KafkaError(Error.INVALID_REQUEST, f"{why}: [{', '.join(names)}]")


def check_group_configs(configs: Mapping[str, str], config: Configs) -> None:
    """Check the configs that a group sets: they must be within the brokers' limits.
    Errors: INVALID_CONFIG.
    """
    checked(configs, GROUP_CONFIGS, "group config name")
    for name, text in configs.items():
        _check_bounds(name, f"group.{name}", text, config)
    for kind in ("consumer", "share", "streams"):
        interval = f"{kind}.heartbeat.interval.ms"
        timeout = f"{kind}.session.timeout.ms"
        if interval not in configs and timeout not in configs:
            continue
        every_ms = int(configs.get(interval, config[f"group.{interval}"]))
        within_ms = int(configs.get(timeout, config[f"group.{timeout}"]))
        if within_ms <= every_ms:
            raise _out_of_order(f"{timeout} must be greater than {interval}")
    if configs.get(DEAD_LETTERS, "").startswith("__"):
        raise _out_of_order(f"{DEAD_LETTERS}: DLQ topic name must not start with '__'")
    assignors = config["group.streams.assignors"]
    assignor = configs.get(TASK_ASSIGNOR, assignors)
    if assignor != assignors:
        raise _out_of_order(
            f"{TASK_ASSIGNOR} '{printable(assignor)}' is not a registered task"
            f" assignor. Registered assignors are: [{assignors}]."
        )


def _check_bounds(name: str, of_broker: str, text: str, config: Configs) -> None:
    """group.consumer.min.session.timeout.ms bounds group.consumer.session.timeout.ms,
    for one.
    """
    kind, _, rest = of_broker.removeprefix("group.").partition(".")
    bounded = rest.removeprefix("num.")
    lowest = f"group.{kind}.min.{bounded}"
    highest = f"group.{kind}.max.{bounded}"
    if highest not in BROKER_CONFIGS:
        return
    least, most = config[lowest] if lowest in BROKER_CONFIGS else None, config[highest]
    is_too_low = least is not None and int(text) < least
    if not is_too_low and int(text) <= most:
        return
    if name == of_broker:
        word, bound = ("greater", lowest) if is_too_low else ("less", highest)
        raise _out_of_order(f"{name} must be {word} than or equal to {bound}")
    if least is None:
        raise _out_of_order(f"{name} must be less than or equal to {most}")
    raise _out_of_order(f"{name} must be in the range {least} to {most} inclusive.")


SELECTORS = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def check_client_metrics_configs(configs: Mapping[str, str]) -> None:
    """Check a subscription of clients' metrics (KIP-714). Errors: INVALID_REQUEST, or
    INVALID_CONFIG for a bad number or pattern.
    """
    for name, text in configs.items():
        if name not in CLIENT_METRICS_CONFIGS:
            why = f"Unknown client metrics configuration: {printable(name)}"
            raise KafkaError(Error.INVALID_REQUEST, why)
        row = CLIENT_METRICS_CONFIGS[name]
        value = parse(row._replace(lowest=None, highest=None), text)
        if name == "interval.ms" and not _is_within(row, value):
            why = (
                f"Invalid value {value} for {name}, interval must be between"
                f" {row.lowest} and {row.highest} (1 hour)"
            )
            raise KafkaError(Error.INVALID_REQUEST, why)
        if name == "match" and value:
            for pattern in value.split(","):
                _check_pattern(pattern)


def _is_within(row: Config, value: int) -> bool:
    assert row.lowest is not None and row.highest is not None, "the table bounds it"
    return row.lowest <= value <= row.highest


def _check_pattern(text: str) -> None:
    selector, separator, pattern = text.partition("=")
    is_pattern = separator and pattern and "=" not in pattern
    try:
        re.compile(pattern.strip())
    except (re.error, OverflowError, RecursionError):
        is_pattern = False
    if not is_pattern or selector.strip() not in SELECTORS:
        why = f"Illegal client matching pattern: {printable(text)}"
        raise KafkaError(Error.INVALID_CONFIG, why)


KINDS = {
    BROKER_RESOURCE: "broker",
    CLIENT_METRICS_RESOURCE: "client metrics",
    GROUP_RESOURCE: "group",
    TOPIC_RESOURCE: "topic",
}


def unusable_configs(image: Image) -> Iterator[str]:
    """Which stored configs and quotas are no longer legal, a sentence each."""
    for (resource_type, resource), configs in image.configs.items():
        table = TABLES[resource_type]
        whose = f"{KINDS[resource_type]} {resource or '(all)'}"
        for name, text in configs.items():
            if name in table and not is_legal(table[name], text):
                yield f"{whose}: {name}={text} is not legal, and the default holds"
    yield from unusable_quotas(image.users.quotas)
