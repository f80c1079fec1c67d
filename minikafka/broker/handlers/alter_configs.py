"""Changes of configs while brokers run: what of them the broker that was asked decides,
and what the active controller.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from minikafka.broker import config_rules
from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, error_fields, results_of
from minikafka.broker.config import MIN_ISR, BrokerConfig, InForce
from minikafka.broker.config_table import TABLES, Config, Type, without_row
from minikafka.broker.forwarding import Split
from minikafka.broker.handlers.configs import check_own_id, identity, named
from minikafka.broker.loggers import Loggers
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.clock import Now
from minikafka.cluster import controller, features
from minikafka.cluster.metadata import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Image,
    MetadataRecord,
    config_records,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.trace import HIDDEN
from minikafka.wire.errors import Error, KafkaError

# operations of IncrementalAlterConfigs
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATIONS = ("SET", "DELETE", "APPEND", "SUBTRACT")
TWICE = "Each resource must appear at most once."
RESOURCES = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    CLIENT_METRICS_RESOURCE: "client metrics",
    GROUP_RESOURCE: "group",
}


@dataclass(eq=False, repr=False)
class AlterConfigHandlers:
    """Changes of configs. node_id: whose own configs may be changed here."""

    node_id: int
    image: Image
    config: BrokerConfig
    in_force: InForce
    loggers: Loggers
    active_controller: ActiveController

    def incremental_alter_configs(self, request: Call, now: Now) -> Answer | Wait:
        """IncrementalAlterConfigs (KIP-339): change some configs of a topic, a group or
        of brokers, leave the others. SET, DELETE, and for lists APPEND and SUBTRACT.

        - Each resource succeeds or fails as a whole, before anything is written.
        - Of a broker's configs those can change at run time for which the table says
          so; some of these change nothing, and are kept and told.
        - A broker is asked for its own, no matter who the controller is: the broker that
          was asked looks at that, the controller doesn't. It also reads the keystores and
          truststores that they name (KIP-226).
        - The levels of a broker's loggers (KIP-412) are this broker's affair, and the
          controller never hears of them. The old form can't change them.

        Versions: 0 and 1, the same fields; the last is flexible.
        """
        return self.altered(request, now, is_incremental=True)

    def alter_configs(self, request: Call, now: Now) -> Answer | Wait:
        """AlterConfigs (KIP-133), the old form: what isn't named is taken back.

        Versions: 0 to 2, the same fields; the last is flexible.
        """
        return self.altered(request, now, is_incremental=False)

    def altered(self, request: Call, now: Now, is_incremental: bool) -> Answer | Wait:
        """Each resource has its verdict; the good ones are committed together."""
        body = request.body
        times_named = Counter(map(identity, body.resources))
        is_forwarded = request.client.listener == CONTROLLER_LISTENER
        records: list[MetadataRecord] = []
        altered: list[Answer] = []

        def verdict(resource: Any) -> Answer:
            kind, name = identity(resource)
            check_named_once(resource, times_named)
            if not is_forwarded:
                self.check_own(resource)
                if sets_levels(resource, is_incremental):
                    self.set_levels(resource, body.validate_only)
                    return {"error_message": None}
                self.check_stores(resource, is_incremental)
            new = self.changes(resource, is_incremental)
            records.extend(config_records(kind, name, new))
            told = without_secrets(kind, new)
            altered.append({"resource": RESOURCES[kind], "name": name, "configs": told})
            return {"error_message": None}

        answer = {"responses": results_of(body.resources, named, verdict, say_why=True)}
        if body.validate_only:
            return answer
        return self.active_controller.commit_and_tell(
            records, now, answer, "ConfigsAltered", altered
        )

    def split(self, request: Call) -> Split:
        """The part of it that is passed on to the controller: everything except the
        configs of other brokers, and this one's loggers.
        """
        resources = request.body.resources
        is_incremental = request.api == "IncrementalAlterConfigs"
        times_named = Counter(map(identity, resources))

        def judge(resource: Any) -> Answer:
            check_named_once(resource, times_named)
            self.check_own(resource)
            if sets_levels(resource, is_incremental):
                self.set_levels(resource, request.body.validate_only)
            self.check_stores(resource, is_incremental)
            return {"error_message": None}

        judged_here = results_of(resources, named, judge, say_why=True)
        is_passed_on = []
        passed_on = []
        for resource, verdict in zip(resources, judged_here, strict=True):
            is_refused = verdict["error_code"] != Error.NONE
            is_done = sets_levels(resource, is_incremental)
            goes_on = not is_refused and not is_done
            is_passed_on.append(goes_on)
            if goes_on:
                passed_on.append(resource.to_dict())

        def whole(answer: Answer) -> Answer:
            decided = iter(answer["responses"])
            responses = []
            for verdict, goes_on in zip(judged_here, is_passed_on, strict=True):
                responses.append(next(decided) if goes_on else verdict)
            return answer | {"responses": responses}

        def refuse(error: KafkaError) -> Answer:
            return whole({"responses": [refused(each, error) for each in passed_on]})

        rest = request.body.to_dict() | {"resources": passed_on}
        return Split(rest, whole, refuse)

    def refuse(self, request: Call, error: KafkaError) -> Answer:
        """Neither API has an error for the whole: each resource says it."""
        resources = request.body.to_dict()["resources"]
        return {"responses": [refused(each, error) for each in resources]}

    def check_own(self, resource: Any) -> None:
        """A broker changes its own configs, those of all brokers, and no other's."""
        kind, name = identity(resource)
        if kind == BROKER_RESOURCE and name:
            check_own_id(self.node_id, name, "Node")

    def check_stores(self, resource: Any, is_incremental: bool) -> None:
        """Whether this broker's listeners could use the files that its own configs
        would name (DynamicBrokerConfig). Errors: INVALID_REQUEST.
        """
        kind, name = identity(resource)
        if kind == BROKER_RESOURCE and name:
            new = self.changes(resource, is_incremental)
            after = self.image.config(kind, name) | new
            self.config.check_stores(
                {key: text for key, text in after.items() if text is not None}
            )

    def set_levels(self, resource: Any, only_check: bool) -> None:
        """The levels of this broker's loggers (KIP-412), all or none."""
        check_keys(resource)
        for asked in resource.configs:
            if asked.config_operation != DELETE:
                check_not_null(asked)
        name = resource.resource_name
        is_another_nodes = name.isdecimal() and name != str(self.node_id)
        if is_another_nodes:
            why = f"Unexpected node id. Expected {self.node_id}, but received {name}"
            raise KafkaError(Error.INVALID_REQUEST, why)
        check_own_id(self.node_id, name, "Node")
        levels: dict[str, str | None] = {}
        for asked in resource.configs:
            operation = asked.config_operation
            if operation not in (SET, DELETE):
                raise refused_operation(asked, operation)
            level = asked.value if operation == SET else None
            self.loggers.check(asked.name, level)
            levels[asked.name] = level
        if not only_check:
            for logger, level in levels.items():
                self.loggers.set(logger, level)

    def changes(self, resource: Any, incremental: bool) -> dict[str, str | None]:
        """The changes for one resource: config -> its new text, or None to reset it to
        the default.
        """
        kind, name = identity(resource)
        self.check_alterable(kind, name)
        check_keys(resource)
        current = self.image.config(kind, name)
        new: dict[str, str | None] = {}
        if not incremental:
            new = dict.fromkeys(current)
        for asked in resource.configs:
            operation = SET
            if incremental:
                operation = asked.config_operation
            row = TABLES[kind].get(asked.name)
            if kind == CLIENT_METRICS_RESOURCE:
                row = None  # Apache Kafka's controller knows no types of these
            was = current.get(asked.name)
            new[asked.name] = change(asked, operation, was, row)
        to_set = {key: text for key, text in new.items() if text is not None}
        self.check_legal(resource, to_set)
        if kind == BROKER_RESOURCE:
            after = current | new
            config_rules.check_unknown(
                {key: text for key, text in after.items() if text is not None}
            )
        has_elr = features.level(self.image, features.ELR_FEATURE)
        if kind == BROKER_RESOURCE and has_elr:
            check_min_isr(name, new, to_set, incremental)
        return new

    def check_alterable(self, kind: int, name: str) -> None:
        """Whether there is such a resource, and whether its configs may change here."""
        if kind == TOPIC_RESOURCE:
            self.check_topic(name)
        elif kind == GROUP_RESOURCE:
            if not name:
                why = "Default group resources are not allowed."
                raise KafkaError(Error.INVALID_REQUEST, why)
        elif kind == CLIENT_METRICS_RESOURCE:
            if not name:
                why = "Subscription name can't be empty"
                raise KafkaError(Error.INVALID_REQUEST, why)
        elif kind != BROKER_RESOURCE:
            raise KafkaError(Error.INVALID_REQUEST, f"Unknown resource type {kind}")

    def check_topic(self, name: str) -> None:
        if not name:
            why = "Default topic resources are not allowed."
            raise KafkaError(Error.INVALID_REQUEST, why)
        if name not in self.image.topics:
            controller.check_topic_name(name)
            why = f"The topic '{name}' does not exist."
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)

    def check_legal(self, resource: Any, new: dict[str, str]) -> None:
        kind, name = identity(resource)
        if kind == TOPIC_RESOURCE:
            config_rules.check_topic_configs(new, self.config)
        elif kind == BROKER_RESOURCE:
            config_rules.check_broker_configs(new, bool(name), self.in_force)
        elif kind == GROUP_RESOURCE:
            config_rules.check_group_configs(new, self.config)
        else:
            config_rules.check_client_metrics_configs(new)


def without_secrets(kind: int, new: dict[str, str | None]) -> dict[str, str | None]:
    """The changes as the trace may show them: that a secret is set, but not its
    value.
    """
    told = dict(new)
    for name, text in new.items():
        row = TABLES[kind].get(name) or without_row(name)
        if row.is_sensitive and text is not None:
            told[name] = HIDDEN
    return told


def refused(resource: Answer, error: KafkaError) -> Answer:
    named = {key: resource[key] for key in ("resource_type", "resource_name")}
    return named | error_fields(error)


def sets_levels(resource: Any, is_incremental: bool) -> bool:
    """Whether a resource names the loggers of the broker that was asked."""
    return is_incremental and resource.resource_type == BROKER_LOGGER_RESOURCE


def check_named_once(resource: Any, times_named: Counter[tuple[int, str]]) -> None:
    if times_named[identity(resource)] > 1:
        raise KafkaError(Error.INVALID_REQUEST, TWICE)


def refused_operation(asked: Any, operation: int) -> KafkaError:
    """The error for an operation that isn't allowed on a logger."""
    if operation not in (APPEND, SUBTRACT):
        why = f"Unknown operation {operation} for {asked.name}"
        return KafkaError(Error.INVALID_REQUEST, why)
    what = f"{OPERATIONS[operation]} operation is not allowed"
    return KafkaError(Error.INVALID_REQUEST, f"{what} for the BROKER_LOGGER resource")


def check_keys(resource: Any) -> None:
    keys = [asked.name for asked in resource.configs]
    if len(set(keys)) < len(keys):
        raise KafkaError(Error.INVALID_REQUEST, "Error due to duplicate config keys")


def check_not_null(asked: Any) -> None:
    if asked.value is None:
        why = f"Null value not supported for : {asked.name}"
        raise KafkaError(Error.INVALID_REQUEST, why)


def check_min_isr(
    name: str, new: dict[str, str | None], to_set: dict[str, str], incremental: bool
) -> None:
    """With eligible leader replicas all brokers agree on how many must be in sync
    (KIP-966).
    """
    is_of_one_broker = bool(name)
    if is_of_one_broker and MIN_ISR in new:
        why = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
        raise KafkaError(Error.INVALID_CONFIG, why)
    is_named = MIN_ISR in new or not incremental
    is_taken_back = is_named and MIN_ISR not in to_set
    if not is_of_one_broker and is_taken_back:
        why = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
        raise KafkaError(Error.INVALID_CONFIG, why)


def change(
    asked: Any, operation: int, current: str | None, row: Config | None
) -> str | None:
    """One config's new text, None: back to the default. row: what is known of it."""
    if operation == DELETE:
        return None
    check_not_null(asked)
    if operation == SET:
        return str(asked.value)
    if operation not in (APPEND, SUBTRACT):
        why = f"Unknown operation {operation} for {asked.name}"
        raise KafkaError(Error.INVALID_REQUEST, why)
    if row is None or row.type is not Type.LIST:
        what = f"Can't {OPERATIONS[operation]} to key {asked.name}"
        why = f"{what} because its type is not LIST."
        raise KafkaError(Error.INVALID_CONFIG, why)
    if current is None:
        current = row.default
    parts = [part for part in current.split(",") if part]
    for part in named_parts(str(asked.value)):
        if operation == SUBTRACT and part in parts:
            parts.remove(part)
        elif operation == APPEND and part not in parts:
            parts.append(part)
    return ",".join(parts)


def named_parts(text: str) -> list[str]:
    """The parts of a list, as Java splits it: without empty ones at its end."""
    parts = text.split(",")
    while text and parts and not parts[-1]:
        parts.pop()
    return parts
