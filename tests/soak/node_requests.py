"""Hostile requests to the listener of the nodes: what nodes ask of each other, in valid
form, and then not quite.

Who sends them knows the cluster: its id, its voters, the epochs and offsets that are
current, the runs of the brokers. So a request gets past every check that a stranger's
fails, and one value of it is extreme.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.broker.broker import Broker
from minikafka.broker.handlers import HANDLERS
from minikafka.cluster.metadata import METADATA_TOPIC, Partition
from minikafka.cluster.quorum import TOPIC_ID
from minikafka.cluster.registration import fields as registration_fields
from minikafka.wire.messages import API
from tests.soak.clients import SERVED, Ask
from tests.soak.values import Values

EXTREME_EPOCHS = (-(2**31), -1, 0, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1)
JUMPS = (-1, 0, 0, 0, 1, 1, 2, 999, 1000, 1001, 1_000_000)
FAR_OFFSETS = (-(2**63), -1, 2**62, 2**63 - 1)
NODES = (1, 2, 3)
STRANGERS = (-(2**31), -2, -1, 0, 4, 77, 2**31 - 1)
# who may change the cluster for good; tests/soak/core.py has them
BY_ADMINISTRATORS = {
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "UpdateFeatures",
    "UnregisterBroker",
    "CreateTopics",
    "CreatePartitions",
    "DeleteTopics",
    "DeleteRecords",
    "AlterPartitionReassignments",
}
OF_CLIENTS = sorted(set(SERVED) - BY_ADMINISTRATORS)

Body = dict[str, Any]


class Known(NamedTuple):
    """What a sender knows. at: whom it asks. leader: the active controller, or whoever
    knows most.
    """

    values: Values
    at: Broker
    leader: Broker

    def choose(self, *options: Any) -> Any:
        return self.values.choose(*options)

    def node(self) -> int:
        """A node's id, mostly that of a voter."""
        return self.choose(*NODES, *NODES, *NODES, self.choose(*STRANGERS))

    def epoch(self) -> int:
        """An epoch, mostly near the quorum's current one."""
        jumped = self.at.quorum.epoch + self.choose(*JUMPS)
        return self.choose(jumped, jumped, jumped, self.choose(*EXTREME_EPOCHS))

    def other_epoch(self, current: int) -> int:
        return self.choose(
            current,
            current,
            current + self.choose(*JUMPS),
            self.choose(*EXTREME_EPOCHS),
        )

    def broker_epoch(self, node: int) -> int:
        known = self.leader.image.brokers.get(node)
        return self.choose(-1, 0, 2**63 - 1, *[known.broker_epoch if known else 5] * 5)

    def fetched_to(self) -> int:
        """What a follower says it has. Nobody can tell a voter's lie from its word, and
        records that count because of one are lost: so it says less than is there, or
        too much to be true.
        """
        return self.choose(0, 1, *FAR_OFFSETS)

    def cluster_id(self) -> str | None:
        own = self.at.cluster_id
        return self.choose(*[own] * 12, None, "", "another", own.lower())

    def partition(self) -> tuple[str, bytes, int, Partition]:
        """A random partition that exists."""
        found = [
            (topic.name, topic.topic_id, number, partition)
            for topic in self.leader.image.topics.values()
            for number, partition in topic.partitions.items()
        ]
        return self.values.random.choice(found)

    def directory(self) -> bytes:
        own = self.at.incarnation.directory_id
        return self.choose(*[bytes(16)] * 4, own, bytes([255] * 16))


# -- the quorum


def of_quorum(known: Known, partition: Body, voter: bool = True) -> Body:
    partitions = [{"partition_index": known.choose(*[0] * 12, 1, -1)} | partition]
    topics = [
        {
            "topic_name": known.choose(*[METADATA_TOPIC] * 12, "orders"),
            "partitions": partitions,
        }
    ]
    body = {
        "cluster_id": known.cluster_id(),
        "topics": topics * known.choose(*[1] * 12, 0, 2),
    }
    to_me = known.choose(*[known.at.node_id] * 12, known.node())
    return body | ({"voter_id": to_me} if voter else {})


def vote(known: Known) -> Body:
    last_epoch, last_offset = (
        known.at.quorum.replica.log.epochs.latest,
        known.at.quorum.end_offset,
    )
    return of_quorum(
        known,
        {
            "replica_epoch": known.epoch(),
            "replica_id": known.node(),
            "voter_directory_id": known.directory(),
            "last_offset_epoch": known.other_epoch(last_epoch),
            "pre_vote": known.choose(True, False),
            "last_offset": known.choose(last_offset, last_offset, *FAR_OFFSETS),
        },
    )


def begin_quorum_epoch(known: Known) -> Body:
    told = {
        "leader_id": known.node(),
        "leader_epoch": known.epoch(),
        "voter_directory_id": known.directory(),
    }
    return of_quorum(known, told)


def end_quorum_epoch(known: Known) -> Body:
    candidates = [
        {"candidate_id": known.node(), "candidate_directory_id": bytes(16)}
        for _ in range(known.choose(0, 1, 2, 500))
    ]
    told = {
        "leader_id": known.node(),
        "leader_epoch": known.epoch(),
        "preferred_candidates": candidates,
    }
    return of_quorum(known, told, voter=False)


def fetch_snapshot(known: Known) -> Body:
    ids = [{"end_offset": 5, "epoch": 1}, {"end_offset": -1, "epoch": -1}]
    ids += [of._asdict() for of in known.at.quorum.snapshots.ids] * 3
    asked = {
        "partition": known.choose(*[0] * 12, 1, -1),
        "current_leader_epoch": known.epoch(),
        "snapshot_id": known.choose(*ids),
        "position": known.choose(0, 0, 10, *FAR_OFFSETS),
    }
    body = {"cluster_id": known.cluster_id(), "replica_id": known.node()}
    body["max_bytes"] = known.choose(0, 1, 1000, 1 << 20, -1, 2**31 - 1)
    return body | {"topics": [{"name": METADATA_TOPIC, "partitions": [asked]}]}


# -- records


def fetch(known: Known) -> Body:
    follower = known.node()
    topics = []
    for _ in range(known.choose(1, 1, 1, 2, 3)):
        _, topic_id, number, partition = known.partition()
        epoch = partition.leader_epoch
        if known.values.random.random() < 0.5:
            topic_id, number, epoch = (
                TOPIC_ID,
                known.choose(*[0] * 9, 1, -1),
                known.at.quorum.epoch,
            )
        asked = {
            "partition": number,
            "current_leader_epoch": known.other_epoch(epoch),
            "fetch_offset": known.fetched_to(),
            "last_fetched_epoch": known.other_epoch(epoch),
            "log_start_offset": known.choose(0, *FAR_OFFSETS),
            "partition_max_bytes": known.choose(0, 1000, 1 << 20, -1),
            "high_watermark": known.choose(0, *FAR_OFFSETS),
        }
        topics.append(
            {"topic_id": topic_id, "partitions": [asked] * known.choose(1, 1, 1, 2)}
        )
    forgotten = [
        {"topic_id": topic["topic_id"], "partitions": [0, 1, -1]} for topic in topics
    ]
    session = known.choose(
        (0, -1), (0, -1), (0, -1), (0, 0), *known.values.world.sessions
    )
    return {
        "cluster_id": known.cluster_id(),
        "topics": topics,
        "session_id": session[0],
        "session_epoch": session[1],
        "replica_state": {
            "replica_id": follower,
            "replica_epoch": known.broker_epoch(follower),
        },
        "max_wait_ms": known.choose(0, 0, 10, 500),
        "min_bytes": known.choose(0, 1, 1000),
        "max_bytes": 1 << 20,
        "forgotten_topics_data": known.choose([], [], forgotten),
        "isolation_level": known.choose(0, 0, 1, 7),
    }


def ends_of_epochs(known: Known) -> Body:
    name, _, number, partition = known.partition()
    epochs = {
        "current_leader_epoch": known.other_epoch(partition.leader_epoch),
        "leader_epoch": known.other_epoch(partition.leader_epoch),
    }
    name = known.choose(name, name, METADATA_TOPIC)
    topics = [{"topic": name, "partitions": [{"partition": number} | epochs]}]
    return {"replica_id": known.node(), "topics": topics}


# -- what brokers ask of the controller


def alter_partition(known: Known) -> Body:
    topics = []
    for _ in range(known.choose(1, 1, 2)):
        _, topic_id, number, partition = known.partition()
        isr = [
            {"broker_id": node, "broker_epoch": known.broker_epoch(node)}
            for node in partition.replicas
        ]
        asked = {
            "partition_index": number,
            "leader_epoch": known.other_epoch(partition.leader_epoch),
            "new_isr_with_epochs": known.choose(
                isr, isr[:1], isr * 2, [], [{"broker_id": known.node()}]
            ),
            "leader_recovery_state": known.choose(0, 0, 0, 1, -1),
            "partition_epoch": known.other_epoch(partition.partition_epoch),
        }
        topics.append(
            {"topic_id": topic_id, "partitions": [asked] * known.choose(1, 1, 1, 2)}
        )
    node = known.choose(partition.leader, known.node())
    return {
        "broker_id": node,
        "broker_epoch": known.broker_epoch(node),
        "topics": topics,
    }


def registration(known: Known) -> Body:
    node = known.node()
    registered = known.leader.image.brokers.get(node)
    incarnation, directories = bytes([7] * 16), [bytes([9] * 16)]
    if registered is not None and known.values.random.random() < 0.5:
        incarnation, directories = (
            registered.incarnation_id,
            registered.fields["log_dirs"],
        )
    hosts = (
        "localhost",
        "localhost",
        "localhost",
        "",
        "x" * 32_000,
        "a b",
        "nul\0",
        "\x1b[31m",
    )
    port = known.choose(9092, 9092, 0, 65535)
    listeners = known.choose("PLAINTEXT", "PLAINTEXT", "PLAINTEXT", "CONTROLLER", "")
    body = registration_fields(
        node, incarnation, directories, {listeners: (known.choose(*hosts), port)}
    )
    body["listeners"] = body["listeners"] * known.choose(1, 1, 1, 0, 2, 200)
    body["log_dirs"] = body["log_dirs"] * known.choose(1, 1, 1, 0, 2)
    body["features"] = known.choose(
        body["features"], body["features"], [], body["features"] * 200
    )
    body["rack"] = known.choose(None, None, "a", "x" * 32_000)
    previous = known.broker_epoch(node)
    return body | {
        "cluster_id": known.cluster_id() or "",
        "previous_broker_epoch": previous,
    }


def heartbeat(known: Known) -> Body:
    node = known.node()
    return {
        "broker_id": node,
        "broker_epoch": known.broker_epoch(node),
        "want_fence": known.choose(True, False, False),
        "current_metadata_offset": known.choose(
            known.at.quorum.applied_offset - 1, 0, *FAR_OFFSETS
        ),
        "want_shut_down": known.choose(True, False, False),
    }


def producer_ids(known: Known) -> Body:
    node = known.node()
    return {"broker_id": node, "broker_epoch": known.broker_epoch(node)}


def markers(known: Known) -> Body:
    found = []
    for _ in range(known.choose(1, 1, 2, 5)):
        name, _, number, _ = known.partition()
        topics = [{"name": name, "partition_indexes": [number] * known.choose(1, 1, 2)}]
        # A marker for a producer that has nothing open may be of any later epoch, and
        # then the producer is fenced.
        producer_id, epoch = known.choose(
            (0, 0), (1000, 0), (-1, -1), (77_777, 2**15 - 1)
        )
        found.append(
            {
                "producer_id": producer_id,
                "producer_epoch": known.choose(epoch, epoch, 0, -1),
                "transaction_result": known.choose(True, False),
                "topics": topics,
                "coordinator_epoch": known.choose(-1, 0, 0, 1, *EXTREME_EPOCHS),
                "transaction_version": known.choose(0, 2, -1),
            }
        )
    return {"markers": found}


def joins(known: Known) -> Body:
    name, _, number, _ = known.partition()
    one = {
        "transactional_id": known.choose("transaction-0", "transaction-1", ""),
        "producer_id": known.choose(-1, 0, 1000),
        "producer_epoch": known.choose(-1, 0, 2**15 - 1),
        "verify_only": known.choose(True, False),
        "topics": [{"name": name, "partitions": [number]}],
    }
    return {"transactions": [one] * known.choose(1, 1, 2)}


OF_NODES: dict[str, Callable[[Known], Body]] = {
    "Vote": vote,
    "BeginQuorumEpoch": begin_quorum_epoch,
    "EndQuorumEpoch": end_quorum_epoch,
    "FetchSnapshot": fetch_snapshot,
    "Fetch": fetch,
    "OffsetForLeaderEpoch": ends_of_epochs,
    "AlterPartition": alter_partition,
    "BrokerRegistration": registration,
    "BrokerHeartbeat": heartbeat,
    "AllocateProducerIds": producer_ids,
    "WriteTxnMarkers": markers,
    "AddPartitionsToTxn": joins,
}


def new_request(known: Known) -> Ask:
    """One request: of nodes, mostly."""
    values = known.values
    if values.random.random() < 0.2:
        api = values.choose(*OF_CLIENTS)
        version = values.choose(*SERVED[api])
        return Ask(api, version, values.body(API[api].request.struct, version))
    api = values.choose(*OF_NODES)
    _, newest = HANDLERS[API[api].key].versions
    return Ask(api, newest, OF_NODES[api](known))
