"""kafka-configs, with the lines of Apache Kafka 4.3.1's."""

from typing import Any, NamedTuple

from minikafka.course.on_call import asking
from minikafka.course.on_call.usage import Given, Refused, number_in, pairs
from minikafka.course.on_call.world import World
from minikafka.simulation.topics import config_changes
from minikafka.wire.errors import Error

TOPICS, BROKERS, GROUPS = 2, 4, 32  # types of resources
TYPES = {
    "topics": TOPICS,
    "brokers": BROKERS,
    "groups": GROUPS,
}
DEFAULT = 5  # a config's source
SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
DYNAMIC = (1, 2, 8)


class Entity(NamedTuple):
    """A resource with configs. kind: one of TYPES."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.removesuffix('s')} {self.name}"


def describe_configs(world: World, given: Given) -> str:
    """kafka-configs --describe"""
    entity = _entity(given)
    every = "--all" in given
    which = "All" if every else "Dynamic"
    lines = [f"{which} configs for {entity} are:"]
    for config in configs_of(world, TYPES[entity.kind], entity.name):
        if every or config.config_source in DYNAMIC:
            lines.append(_line(config))
    return "\n".join(lines)


def _line(config: Any) -> str:
    """One config, and where its value comes from."""
    synonyms = []
    for other in config.synonyms:
        source = SOURCES[other.source]
        synonyms.append(f"{source}:{other.name}={_as_java_has_it(other.value)}")
    is_sensitive = str(bool(config.is_sensitive)).lower()
    value = _as_java_has_it(config.value)
    setting = f"{config.name}={value} sensitive={is_sensitive}"
    return f"  {setting} synonyms={{{', '.join(synonyms)}}}"


def _as_java_has_it(value: str | None) -> str:
    """The value in Java's notation: null if there is none."""
    return "null" if value is None else value


def alter_configs(world: World, given: Given) -> str:
    """kafka-configs --alter: set and delete configs of an entity. Errors: Refused."""
    entity = _entity(given)
    changes: dict[str, str | None] = dict(pairs(given.get("--add-config", "")))
    for gone in filter(None, given.get("--delete-config", "").split(",")):
        changes[gone] = None
    if not changes:
        raise Refused("kafka-configs --alter needs --add-config or --delete-config.")
    resource = {
        "resource_type": TYPES[entity.kind],
        "resource_name": entity.name,
        "configs": config_changes(changes),
    }
    body = {
        "resources": [resource],
        "validate_only": False,
    }
    # a broker's own are asked of itself
    node = number_in(entity.name) if entity.kind == "brokers" else None
    [answer] = world.brokers.ask("IncrementalAlterConfigs", body, node).responses
    error = Error(answer.error_code)
    if error is not Error.NONE:
        words = answer.error_message or error.message
        return f"Error while executing config command with args: {words}"
    return f"Completed updating config for {entity}."


def _entity(given: Given) -> Entity:
    """The resource that the line names. Raises Refused."""
    kind = given["--entity-type"]
    if kind not in TYPES:
        raise Refused(f"--entity-type is {', '.join(TYPES)} here, not {kind!r}.")
    return Entity(kind, given["--entity-name"].removeprefix("kafka-"))


def configs_of(world: World, kind: int, name: str) -> list[Any]:
    """DescribeConfigs of one resource, by name."""
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configuration_keys": None,
    }
    body = {
        "resources": [resource],
        "include_synonyms": True,
    }
    node = None
    if kind == BROKERS:
        if name not in ("1", "2", "3"):
            raise Refused(f"There is no broker {name!r}: they are 1, 2 and 3.")
        node = int(name)
    [found] = world.brokers.ask("DescribeConfigs", body, node).results
    asking.check(found)
    return sorted(found.configs, key=lambda config: str(config.name))
