"""Every number that a request can carry, at the ends of its type: each numeric field of
each API's schema, in a request that is plain otherwise.
"""

import math
import sys
from collections.abc import Iterator

from minikafka.broker.config_table import NUMBERS as TYPES
from minikafka.broker.config_table import Config
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from minikafka.storage.checkpoints import uuid_text
from minikafka.wire.messages import API
from minikafka.wire.schema import Struct
from tests.soak.asking import Ask
from tests.soak.clients import SERVED
from tests.soak.core import Core
from tests.soak.frames import encoded
from tests.soak.traffic import Send, Traffic
from tests.soak.values import (
    BITS,
    EMBEDDED,
    GROUPS,
    POOLS,
    TOPICS,
    TRANSACTIONS,
    UNSIGNED_BITS,
    Values,
)

DOUBLES = [
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    5e-324,
    -5e-324,
    1e-7,
    0.5,
    sys.float_info.max,
    -sys.float_info.max,
]
Path = tuple[str, ...]


def ends(kind: str) -> list:
    """Of a type's range, and around zero; none: it is no number."""
    if kind in BITS:
        most = 2 ** (BITS[kind] - 1) - 1
        return [-most - 1, -most, -2, -1, 0, 1, most - 1, most]
    if kind in UNSIGNED_BITS:
        return [0, 1, 2 ** UNSIGNED_BITS[kind] - 1]
    return DOUBLES if kind == "float64" else []


def numbers(struct: Struct, version: int, *path: str) -> Iterator[tuple[Path, list]]:
    """Each numeric field of a message, wherever in it, with the ends of its type."""
    for f in struct.fields:
        if version not in f.versions:
            continue
        if f.struct:
            yield from numbers(f.struct, version, *path, f.attribute)
        elif ends(f.type):
            yield (*path, f.attribute), ends(f.type)


# As a config may say it, or an administrator who slips.
NINES = "9" * 400
TEXTS = [
    *("NaN", "Infinity", "1e400", "5e-324", "0.5", NINES, f"-{NINES}", "9" * 5000),
    *("-1", "0", "1", f"{2**15 - 1}", f"{2**15}", f"{2**31 - 1}", f"{2**31}"),
    *(f"{-(2**31)}", f"{2**63 - 1}", f"{2**63}", f"{-(2**63)}"),
]
# Configs that have a number somewhere in them.
FORMS = {
    "follower.replication.throttled.replicas": "1:{}",
    "leader.replication.throttled.replicas": "{}:1",
    "max.connections.per.ip.overrides": "127.0.0.1:{}",
    "share.auto.offset.reset": "by_duration:PT{}S",
}
SET, DELETE = 0, 1
# What is asked of a node under a config of a kind of resource.
DOES = {
    TOPIC_RESOURCE: ("Produce", "Fetch"),
    BROKER_RESOURCE: (
        *("Produce", "Fetch", "CreateTopics", "InitProducerId", "JoinGroup"),
        *("ShareGroupHeartbeat", "DescribeConfigs"),
    ),
    GROUP_RESOURCE: ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "ShareFetch"),
    CLIENT_METRICS_RESOURCE: ("DescribeConfigs",),
}
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
# What gets a request past the first check, by its field's name; where one name means
# several things, by struct and name. A list stands for the whole array.
PLAIN = {
    "cluster_id": None,
    "endpoint_type": 1,
    "entity_name": None,
    "entity_type": "client-id",
    "feature": "group.version",
    "iterations": 4096,
    "match": None,
    "match_type": 1,
    "member_epoch": 0,
    "member_id": MEMBER,
    "partition_max_bytes": 1 << 20,
    "max_bytes": 1 << 20,
    "rebalance_timeout_ms": 1000,
    "replica_id": -1,
    "resource_types": [2],
    "response_partition_limit": 10,
    "server_assignor": None,
    "subscribed_topic_regex": None,
    "topic_partitions": [],
    "transaction_timeout_ms": 1000,
    "transactional_id": "transaction-0",
    ("AlterableConfig", "name"): "retention.ms",
    ("AlterableConfig", "value"): "60000",
    ("CreatableTopic", "assignments"): [],
    ("CreatableTopic", "name"): "new",
    ("CreatableTopic", "num_partitions"): 1,
    ("CreatableTopicConfig", "name"): "retention.ms",
    ("CreatableTopicConfig", "value"): "60000",
    ("CreatePartitionsTopic", "assignments"): None,
    ("CreatePartitionsTopic", "count"): 2,
    ("DeleteTopicState", "name"): None,
    ("JoinGroup", "member_id"): "",
    ("OpData", "key"): "producer_byte_rate",
    ("OffsetCommit", "generation_id_or_member_epoch"): -1,
    ("OffsetCommit", "member_id"): "",
    ("Produce", "transactional_id"): None,
    ("ScramCredentialDeletion", "mechanism"): 1,
    ("ScramCredentialUpsertion", "mechanism"): 1,
}


def texts(row: Config) -> list[str]:
    """What a config is set to; nothing: there is no number in it."""
    form = FORMS.get(row.name, "{}" if row.type in TYPES else "")
    return [form.format(text) for text in TEXTS] if form else []


class Plain(Values):
    """What an honest client would say, and always the same; one item of each array."""

    def of(self, struct, f, version):
        value = self.one(struct, f, version)
        is_whole = isinstance(value, list) or (value is None and version in f.nullable)
        return [value] if f.array and not is_whole else value

    def one(self, struct, f, version):
        for known in ((struct.name, f.attribute), f.attribute):
            if known in PLAIN:
                value = PLAIN[known]
                if value is not None or version in f.nullable:
                    return value
        if f.struct:
            return self.body(f.struct, version)
        known = POOLS.get((struct.name, f.attribute)) or POOLS.get(f.attribute)
        if known is None:
            return self.of_type(f.type)
        # its own where it has one: the topic that it knows
        value = getattr(type(self), known.__name__, known)(self)
        return self.of_type(f.type) if value is None else value

    def of_type(self, kind):
        if kind == "float64":
            return 1e9
        if ends(kind):
            return 0
        if kind == "uuid":
            return self.world.topic_ids.get(TOPICS[0], bytes(16))
        plain = {"bool": False, "string": "x", "bytes": EMBEDDED[0]}
        return self.batches.good() if kind == "records" else plain[kind]

    def choose(self, *values):
        return values[0]

    def topic(self):
        return TOPICS[0]

    def group(self):
        return GROUPS[0]

    def generation(self):
        return 0

    def put(self, struct, version, body, path, value):
        """Into the one item of each array on the way."""
        name, *rest = path
        f = struct.by_attribute[name]
        if rest:
            inner = body[name]
            if not inner:
                inner = self.body(f.struct, version)
                body[name] = [inner] if f.array else inner
            inner = body[name][0] if f.array else inner
            self.put(f.struct, version, inner, rest, value)
        else:
            body[name] = [value] if f.array else value


class AtTheEnds(Traffic):
    """One client at a time asks one thing, out of a list; each has a connection of its
    own.
    """

    def __init__(self) -> None:
        super().__init__(seed=1, restarts=False)
        self.plain = Plain(self.world)

    def ask(self, ask: Ask) -> Send:
        self.sent += 1
        frame = encoded(ask, self.sent)
        self.busy[self.sent] = Send(self.sent, ask, self.sent, frame, intact=True)
        return self.busy[self.sent]

    def answered(self, client, answer):
        ask = self.busy.pop(client).ask
        if answer is not None:
            self.world.learn(ask.api, ask.body, answer)


class EveryNumber(Core):
    """A node that is asked all of it."""

    def __init__(self) -> None:
        super().__init__(seed=2)  # an even one: somebody listens to its trace
        self.traffic = AtTheEnds()

    def ask(self, ask: Ask) -> None:
        self.step(self.traffic.ask(ask))

    def begin(self) -> None:
        """The first topic and the first group exist, and are known."""
        topic = {"name": TOPICS[0], "num_partitions": 1, "replication_factor": 1}
        self.ask(Ask("CreateTopics", 5, {"topics": [topic]}))
        self.ask(Ask("Metadata", 12, {"topics": None}))
        share = f"{GROUPS[0]}:{uuid_text(self.traffic.world.topic_ids[TOPICS[0]])}:0"
        for key_type, key in enumerate((GROUPS[0], TRANSACTIONS[0], share)):
            body = {"coordinator_keys": [key], "key_type": key_type}
            self.ask(Ask("FindCoordinator", 6, body))
        self._pass(1000)
        version = SERVED["InitProducerId"][-1]
        body = self.traffic.plain.body(API["InitProducerId"].request.struct, version)
        self.ask(Ask("InitProducerId", version, body))

    def may_have(self, kind: int, name: str, config: str, text: str) -> bool:
        """Whether a resource may have this config. If so clients do what it is about,
        an honest one writes, and it is taken back.
        """
        if not self._alter(kind, name, config, SET, text):
            return False
        for api in DOES[kind]:
            version = SERVED[api][-1]
            body = self.traffic.plain.body(API[api].request.struct, version)
            self.ask(Ask(api, version, body))
        self._pass(200)
        self.witness.write()
        is_back = self._alter(kind, name, config, DELETE, None)
        # this one is always set for all brokers (KIP-966)
        assert is_back or self._alter(kind, name, config, SET, "1")
        return True

    def _alter(self, kind, name, config, operation, text) -> bool:
        change = {"name": config, "config_operation": operation, "value": text}
        one = {"resource_type": kind, "resource_name": name, "configs": [change]}
        answer = self._ask("IncrementalAlterConfigs", 1, {"resources": [one]})
        return answer.responses[0].error_code == 0

    def end(self) -> None:
        """All that was written is there, also when the node is started again."""
        self.witness.read()
        self._restart("stop")

    def every_number_of(self, api: str) -> None:
        """In the first and in the last version. After each an honest client writes."""
        shape = API[api].request.struct
        for version in sorted({SERVED[api][0], SERVED[api][-1]}):
            for path, values in numbers(shape, version):
                for value in values:
                    body = self.traffic.plain.body(shape, version)
                    self.traffic.plain.put(shape, version, body, path, value)
                    self.ask(Ask(api, version, body))
                    self._pass_until_it_leads()
                    self.witness.write()
