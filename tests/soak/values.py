"""Hostile values: what a field of a request is filled with, by its type and its name in
the schema text.

A name that the broker would look up (a topic, a group, a member) is mostly one that
exists or once did, so that a request gets further than the first check; the rest are
the ends of each type's range, and what tends to break things.
"""

from collections import deque
from random import Random

from minikafka.broker.config_table import TOPIC_CONFIGS, run_time_broker_configs
from minikafka.wire.messages import encode_versioned
from minikafka.wire.schema import Field, Struct
from tests.soak.batches import Batches

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED_BITS = {"uint16": 16, "uint32": 32}
LONGEST = "x" * 32_767
MANY = 1000  # items of a long array
# frames.py puts a longer string than the protocol allows in its place
BEYOND = "@beyond@"

TOPICS = [f"topic-{number}" for number in range(12)]
GROUPS = [f"group-{number}" for number in range(6)]
TRANSACTIONS = [f"transaction-{number}" for number in range(4)]
INSTANCES = [f"instance-{number}" for number in range(4)]
INTERNAL = [
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
    "__cluster_metadata",
]
ODD = [
    "",
    ".",
    "..",
    "a.b",
    "a_b",
    "a b",
    "../up",
    "nul\0",
    "\x1b[31m",
    "é" * 120,
    "t" * 249,
    "t" * 250,
    "-0",
    "x-1",
]
CONFIG_NAMES = [
    *TOPIC_CONFIGS,
    *sorted(run_time_broker_configs()),
    "no.such.config",
    "num.partitions",
]
CONFIG_VALUES = [
    "",
    "-1",
    "0",
    "1",
    "100",
    "1048576",
    "9223372036854775807",
    "9223372036854775808",
    "-2",
    "0.5",
    "NaN",
]
CONFIG_VALUES += [
    "true",
    "compact",
    "delete",
    "compact,delete",
    "LogAppendTime",
    "CreateTime",
    "producer",
    " 1 ",
    "x",
]
PATTERNS = ["topic-.*", "", "(", "(a+)+$", ".*"]
SUBSCRIPTION = {"topics": TOPICS[:3], "user_data": None}
EMBEDDED = [
    encode_versioned("ConsumerProtocolSubscription", version, SUBSCRIPTION)
    for version in range(4)
]
EMBEDDED += [b"", b"\0", b"\xff" * 8, bytes(70_000)]


class World:
    """What clients have learnt from answers: what exists now or did a while ago."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.topic_ids: dict[str, bytes] = {}
        # (group, member id, generation or epoch)
        self.members: deque = deque([("group-0", "", 0)], 20)
        self.producers: deque = deque([(0, 0)], 10)  # (producer id, epoch)
        self.sessions: deque = deque([(0, 0)], 10)  # (session id, next epoch)

    def learn(self, api, body, answer):
        """Remember ids, epochs and names from an answer, for later requests."""
        if api == "Metadata":
            self.topic_ids = {
                topic.name: topic.topic_id
                for topic in answer.topics
                if topic.name in TOPICS
            }
        elif api == "JoinGroup" and answer.member_id:
            self.members.append(
                (body.get("group_id", ""), answer.member_id, answer.generation_id)
            )
        elif api == "ConsumerGroupHeartbeat" and answer.member_id:
            self.members.append(
                (body.get("group_id", ""), answer.member_id, answer.member_epoch)
            )
        elif api == "InitProducerId":
            self.producers.append((answer.producer_id, answer.producer_epoch))
        elif api == "Fetch" and answer.session_id:
            self.sessions.append(
                (answer.session_id, max(1, body.get("session_epoch", 0) + 1))
            )


class Values:
    """Fills fields and whole requests."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random
        self.batches = Batches(world)

    def body(self, struct: Struct, version: int) -> dict:
        """A request, or a struct in one: each field something of its type."""
        return {
            f.attribute: self.of(struct, f, version)
            for f in struct.fields
            if version in f.versions
        }

    def of(self, struct: Struct, f: Field, version: int):
        """A random value for one field at a version."""
        if version in f.nullable and self.random.random() < 0.1:
            return None
        if not f.array:
            return self.one(struct, f, version)
        if self.random.random() < 0.005:
            return self.many(struct, f, version)
        items = [
            self.one(struct, f, version)
            for _ in range(self.choose(0, 1, 1, 1, 1, 2, 3))
        ]
        if items and self.random.random() < 0.2:
            items += items[: self.random.randint(1, 3)]  # the same again
        return items

    def many(self, struct: Struct, f: Field, version: int) -> list:
        """A long array: of names that nobody knows, or of one thing again and again."""
        item = self.one(struct, f, version)
        if f.type == "string":
            return [f"unknown-{number}" for number in range(MANY)]
        names = (
            [g.attribute for g in f.struct.fields if g.type == "string" and not g.array]
            if f.struct
            else []
        )
        named = [name for name in names if name in item]
        return [
            item | {name: f"unknown-{number}" for name in named[:1]} if named else item
            for number in range(MANY)
        ]

    def one(self, struct: Struct, f: Field, version: int):
        """One value that is no array."""
        if f.struct:
            return self.body(f.struct, version)
        pool = POOLS.get((struct.name, f.attribute)) or POOLS.get(f.attribute)
        if pool and self.random.random() < 0.9:
            value = pool(self)
            if value is not None or version in f.nullable:
                return value
        return self.of_type(f.type)

    def of_type(self, kind: str):
        """A value of a type, without a thought for what it means."""
        if kind in BITS:
            return self.integer(BITS[kind])
        if kind in UNSIGNED_BITS:
            return self.random.choice([0, 1, 2 ** UNSIGNED_BITS[kind] - 1])
        if kind == "bool":
            return self.random.random() < 0.5
        if kind == "float64":
            return self.random.choice([0.0, -1.0, float("nan"), float("inf")])
        if kind == "uuid":
            return self.topic_id()
        if kind == "string":
            return self.text()
        return self.batches.any() if kind == "records" else self.random.choice(EMBEDDED)

    def integer(self, bits: int) -> int:
        """The ends of the range, zero, and their neighbours."""
        most = 2 ** (bits - 1) - 1
        return self.random.choice(
            [-1, 0, 1, 2, most, most - 1, -most - 1, -most, most // 2, -2, -3]
        )

    def text(self) -> str:
        dice = self.random.random()
        if dice < 0.04:
            return BEYOND if dice < 0.01 else LONGEST
        return self.random.choice(
            [*ODD, *INTERNAL, f"new-{self.random.randrange(1000)}"]
        )

    def topic(self) -> str:
        return self.random.choice(TOPICS) if self.random.random() < 0.8 else self.text()

    def topic_id(self) -> bytes:
        ids = list(self.world.topic_ids.values())
        return self.random.choice(
            [*ids, *ids, *ids, bytes(16), bytes(15) + b"\1", b"\xff" * 16]
        )

    def group(self) -> str:
        return self.random.choice(GROUPS) if self.random.random() < 0.9 else self.text()

    def member_id(self) -> str:
        return self.random.choice(
            ["", "nobody", *(member[1] for member in self.world.members)]
        )

    def generation(self) -> int:
        return self.random.choice(
            [*(member[2] for member in self.world.members), 0, -1, -2, 1, 2**31 - 1]
        )

    def config_name(self) -> str:
        return self.random.choice(CONFIG_NAMES)

    def choose(self, *values):
        return self.random.choice(values)


def numbers(*usual):
    """A field whose values are mostly one of these numbers."""
    return lambda values: values.choose(*usual)


# What a field is filled with, by its name; where one name means several things, by
# struct and name.
POOLS = {
    "topic": Values.topic,
    "topics": Values.topic,
    "name": Values.topic,
    "topic_name": Values.topic,
    "topic_names": Values.topic,
    "resource_name": lambda values: values.choose(values.topic(), "1", "", "2"),
    "subscribed_topic_names": Values.topic,
    "subscribed_topic_regex": numbers(None, *PATTERNS),
    ("JoinGroupRequestProtocol", "name"): numbers(
        "range", "range", "range", "x", "sticky"
    ),
    ("AlterableConfig", "name"): Values.config_name,
    ("AlterableConfig", "value"): numbers(*CONFIG_VALUES),
    ("CreatableTopicConfig", "name"): numbers(*TOPIC_CONFIGS),
    ("CreatableTopicConfig", "value"): numbers(*CONFIG_VALUES),
    ("DescribeGroupsRequest", "groups"): Values.group,
    "configuration_keys": Values.config_name,
    "group_id": Values.group,
    "group_ids": Values.group,
    "groups_names": Values.group,
    "key": Values.group,
    "coordinator_keys": Values.group,
    "member_id": Values.member_id,
    "group_instance_id": numbers(None, None, *INSTANCES),
    "instance_id": numbers(None, None, *INSTANCES),
    "generation_id": Values.generation,
    "generation_id_or_member_epoch": Values.generation,
    "member_epoch": Values.generation,
    "protocol_type": numbers(
        "consumer", "consumer", "consumer", "consumer", "connect", ""
    ),
    "protocol_name": numbers("range", "range", "sticky", ""),
    "server_assignor": numbers(None, "uniform", "range", "nothing"),
    "partition": numbers(0, 0, 0, 1, 2, 3, -1, 2**31 - 1),
    "partition_index": numbers(0, 0, 0, 1, 2, 3, -1, 2**31 - 1),
    "index": numbers(0, 0, 0, 1, 2, 3, -1, 2**31 - 1),
    "partitions": numbers(0, 0, 1, 2, -1, 2**31 - 1),
    "partition_indexes": numbers(0, 0, 1, 2, -1, 2**31 - 1),
    "num_partitions": numbers(-1, 0, 1, 2, 3, 4, -(2**31), 2**31 - 1, 20_001),
    "count": numbers(-1, 0, 1, 2, 3, 4, 5, -(2**31), 2**31 - 1, 20_001),
    "replication_factor": numbers(-1, 1, 1, 1, 0, 2, 3, 2**15 - 1),
    # who is unregistered: the only broker would lead nothing for a while
    "broker_id": numbers(7, 0, -1, 2),
    "broker_ids": numbers(1, 1, 1, 0, -1, 2),
    "acks": numbers(-1, -1, 1, 0, 2, -2),
    "timeout_ms": numbers(0, 1, 1000, -1),
    "max_wait_ms": numbers(0, 0, 10, 100, 500, 5000, -1),
    "session_timeout_ms": numbers(100, 1000, 6000, 0, 1_800_000, 1_800_001),
    "rebalance_timeout_ms": numbers(100, 1000, 6000, 0, -1, 2**31 - 1),
    "min_bytes": numbers(0, 1, 1, 1000, -1),
    "max_bytes": numbers(0, 1, 1000, 1 << 20),
    "partition_max_bytes": numbers(0, 1, 1000, 1 << 20),
    "fetch_offset": numbers(0, 0, 1, 5, 100, -1, 2**63 - 1),
    "offset": numbers(0, 1, 2, -1, -2, 2**63 - 1),
    "committed_offset": numbers(0, 1, 100, -1, 2**63 - 1),
    "timestamp": numbers(-1, -2, -3, -4, 0, 1_767_225_600_000, 2**63 - 1, -(2**63)),
    "session_id": lambda values: values.choose(*values.world.sessions)[0],
    "session_epoch": lambda values: values.choose(
        (0, -1), (0, 0), *values.world.sessions
    )[1],
    "producer_id": lambda values: values.choose((-1, 0), *values.world.producers)[0],
    "producer_epoch": lambda values: values.choose((0, -1), *values.world.producers)[1],
    "transactional_id": numbers(None, None, "", *TRANSACTIONS),
    "resource_type": numbers(2, 2, 2, 4, 4, 0, 1, 8, -1),
    "config_operation": numbers(0, 0, 0, 1, 2, 3, -1, 4),
}
