"""kafka-configs, with the lines of Apache Kafka 4.4.0's."""

from typing import Any, NamedTuple

from minikafka.course.on_call import asking
from minikafka.course.on_call.shell import Said
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
DYNAMIC_DEFAULT = 3


ALIASES = {
    "--topic": "topics",
    "--broker": "brokers",
    "--group": "groups",
}
OTHERS = {
    "users": (
        "There are no quotas, and no users: this cluster asks nobody who they are."
    ),
    "clients": "There are no quotas for clients on this cluster.",
    "ips": "There are no limits for addresses on this cluster.",
    "client-metrics": "No client sends its metrics to this cluster.",
}
BROKER_DEFAULTS = "brokers in the cluster"
NOT_DONE = "Error while executing config command"
FAILED = "java.util.concurrent.ExecutionException: "
NO_TOPIC = "The topic '{}' doesn't exist and doesn't have dynamic config."


class Entity(NamedTuple):
    """A resource with configs. kind: one of TYPES. name: "" for the brokers'
    defaults.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        if not self.name:
            return BROKER_DEFAULTS
        return f"{self.kind.removesuffix('s')} {self.name}"

    @property
    def config(self) -> str:
        """Whose configs the tool changes."""
        return f"{'' if self.name else 'default '}config for {self}"


def describe_configs(world: World, given: Given) -> str:
    """kafka-configs --describe"""
    lines = []
    for entity in _entities(world, given):
        lines += _described(world, entity, "--all" in given)
    return "\n".join(lines)


def _entities(world: World, given: Given) -> list[Entity]:
    """The resources that the line names: without a name, all of a kind."""
    entity = _entity(given, is_named=False)
    if entity.name or "--entity-default" in given or "--broker-defaults" in given:
        return [entity]
    if entity.kind == "topics":
        names = asking.topic_names(world.brokers)
    elif entity.kind == "brokers":
        names = [*map(str, asking.live_brokers(world.brokers)), ""]
    else:
        raise Refused("Which group? kafka-configs --describe --group GROUP.")
    return [Entity(entity.kind, name) for name in names]


def _described(world: World, entity: Entity, every: bool) -> list[str]:
    """Its configs, and a line above them."""
    if entity.kind == "topics" and entity.name not in asking.topic_names(world.brokers):
        return [NO_TOPIC.format(entity.name)]
    which = "All" if every else "Dynamic"
    if not entity.name:
        which = "Default"
    lines = [f"{which} configs for {entity} are:"]
    for config in configs_of(world, TYPES[entity.kind], entity.name):
        is_its = config.config_source in DYNAMIC
        if not entity.name:
            is_its = config.config_source == DYNAMIC_DEFAULT
        if is_its or (every and entity.name):
            lines.append(_line(config))
    if world.tls is not None:
        return [world.tls.with_port(line) for line in lines]
    return lines


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


def alter_configs(world: World, given: Given) -> str | Said:
    """kafka-configs --alter: set and delete configs of an entity. Errors: Refused."""
    entity = _entity(given, is_named=True)
    changes: dict[str, str | None] = dict(pairs(given.get("--add-config", "")))
    for gone in filter(None, given.get("--delete-config", "").split(",")):
        changes[gone] = None
    if not changes:
        raise Refused("kafka-configs --alter needs --add-config or --delete-config.")
    # a broker's own are asked of itself
    node = number_in(entity.name) if entity.kind == "brokers" and entity.name else None
    if node is not None and world.tls is not None:
        why = world.tls.refusal(node, changes)
        if why:
            return Said("", f"{NOT_DONE}\n{FAILED}{why}")
    resource = {
        "resource_type": TYPES[entity.kind],
        "resource_name": entity.name,
        "configs": config_changes(changes),
    }
    body = {
        "resources": [resource],
        "validate_only": False,
    }
    [answer] = world.brokers.ask("IncrementalAlterConfigs", body, node).responses
    error = Error(answer.error_code)
    if error is not Error.NONE:
        words = f"{asking.java_class(error)}: {answer.error_message or error.message}"
        return Said("", f"{NOT_DONE}\n{FAILED}{words}")
    return f"Completed updating {entity.config}."


def _entity(given: Given, is_named: bool) -> Entity:
    """The resource that the line names. Raises Refused."""
    for option, kind in ALIASES.items():
        if option in given:
            return Entity(kind, _name(kind, given[option]))
    if "--broker-defaults" in given:
        return Entity("brokers", "")
    kind = given.get("--entity-type", "")
    if kind in OTHERS:
        raise Refused(OTHERS[kind])
    if kind not in TYPES:
        raise Refused(f"--entity-type is {', '.join(TYPES)} here, not {kind!r}.")
    if "--entity-default" in given and kind != "brokers":
        raise Refused(
            "Defaults are the brokers': --entity-type brokers --entity-default."
        )
    if "--entity-default" in given:
        return Entity(kind, "")
    if is_named and "--entity-name" not in given:
        raise Refused("--entity-name is missing, for example --entity-name orders.")
    return Entity(kind, _name(kind, given.get("--entity-name", "")))


def _name(kind: str, name: str) -> str:
    """A broker's is its number."""
    return name.removeprefix("kafka-") if kind == "brokers" else name


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
    if kind == BROKERS and name:
        if name not in ("1", "2", "3"):
            raise Refused(f"There is no broker {name!r}: they are 1, 2 and 3.")
        node = int(name)
    [found] = world.brokers.ask("DescribeConfigs", body, node).results
    asking.check(found)
    return sorted(found.configs, key=lambda config: str(config.name))
