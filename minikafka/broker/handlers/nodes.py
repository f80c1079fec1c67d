"""Requests that nodes send each other, served only where they listen to each other; and
administrators' requests about nodes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, result_of, results_by_topic
from minikafka.broker.config import BrokerConfig
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.features import KRAFT_FEATURE, METADATA_FEATURE, level
from minikafka.cluster.metadata import METADATA_TOPIC, Image, MetadataRecord
from minikafka.cluster.quorum import READ_SIZE, Quorum
from minikafka.cluster.replica import Follower
from minikafka.cluster.snapshots import SnapshotId
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

NO_DIRECTORY = bytes(16)
METADATA_LOG = [(METADATA_TOPIC, [0])]  # as a request names it
ADDRESSES = 2  # the first version of DescribeQuorum with addresses
UNREGISTERS_CONTROLLERS = 33  # the metadata.version: 4.4-IV2


@dataclass(eq=False, repr=False)
class NodeHandlers:
    """Handles requests that nodes send each other."""

    config: BrokerConfig
    image: Image
    quorum: Quorum
    incarnation: Incarnation
    active_controller: ActiveController

    def vote(self, request: Call, now: Now) -> Answer:
        """Vote (KIP-595, KIP-996): would this voter, or does it, vote for the
        candidate. Version 2.
        """
        asked = self.of_metadata_log(request)
        if not self.is_for(request.body, asked):
            return quorum_answer(self.refused_voter())
        return quorum_answer(self.quorum.election.asked_for_vote(asked, now))

    def begin_quorum_epoch(self, request: Call, now: Now) -> Answer:
        """BeginQuorumEpoch (KIP-595): somebody leads the quorum. Version 1."""
        asked = self.of_metadata_log(request)
        if not self.is_for(request.body, asked):
            return quorum_answer(self.refused_voter())
        return quorum_answer(self.quorum.election.told_of_leader(asked, now))

    def end_quorum_epoch(self, request: Call, now: Now) -> Answer:
        """EndQuorumEpoch (KIP-595): the leader of the quorum resigns. Version 1."""
        asked = self.of_metadata_log(request)
        return quorum_answer(self.quorum.election.told_of_resignation(asked, now))

    def of_metadata_log(
        self,
        request: Call,
        topic_field: str = "topic_name",
        partition_field: str = "partition_index",
    ) -> Message:
        """The part of a request about the metadata log, which is the one partition of
        one topic, in this cluster. Apache Kafka accepts a request that names no
        cluster; nodes always name theirs. Errors: INCONSISTENT_CLUSTER_ID,
        INVALID_REQUEST.
        """
        if request.body.cluster_id != self.quorum.cluster_id:
            raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
        places = []
        partitions = []
        for topic in request.body.topics:
            for partition in topic.partitions:
                name = getattr(topic, topic_field)
                places.append((name, getattr(partition, partition_field)))
                partitions.append(partition)
        if places != [(METADATA_TOPIC, 0)]:
            raise KafkaError(Error.INVALID_REQUEST)
        return partitions[0]

    def is_for(self, body: Message, partition: Message) -> bool:
        """Whether the voter that a request names is this one: its id, and its directory
        if that is named (KIP-853).
        """
        directories = NO_DIRECTORY, self.incarnation.directory_id
        is_here = partition.voter_directory_id in directories
        return body.voter_id == self.incarnation.node_id and is_here

    def refused_voter(self) -> Answer:
        return {
            "partition_index": 0,
            "leader_id": self.quorum.leader_id,
            "leader_epoch": self.quorum.epoch,
            "error_code": Error.INVALID_VOTER_KEY,
        }

    def fetch_snapshot(self, request: Call, now: Now) -> Answer:
        """FetchSnapshot (KIP-630): a piece of a snapshot of the metadata, from its
        leader. Version 1.
        """
        asked = self.of_metadata_log(request, "name", "partition")
        snapshot = SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
        quorum = self.quorum
        answer: Answer = {
            "index": 0,
            "snapshot_id": snapshot._asdict(),
            "size": 0,
            "position": asked.position,
            "current_leader": {
                "leader_id": quorum.leader_id,
                "leader_epoch": quorum.epoch,
            },
            "unaligned_records": b"",
        }
        piece = partial(self.snapshot_piece, request.body, asked, snapshot, now)
        return quorum_answer(result_of(answer, piece), "name")

    def snapshot_piece(
        self, body: Message, asked: Message, snapshot: SnapshotId, now: Now
    ) -> Answer:
        quorum = self.quorum
        check_follower(self.incarnation.node_id, body.replica_id)
        quorum.check_leader(asked.current_leader_epoch)
        if asked.position < 0 or body.max_bytes < 0:
            raise KafkaError(Error.POSITION_OUT_OF_RANGE)
        most_bytes = min(body.max_bytes, READ_SIZE)
        piece = quorum.snapshots.piece(snapshot, asked.position, most_bytes)
        if piece is None:
            raise KafkaError(Error.SNAPSHOT_NOT_FOUND)
        records, size_bytes = piece
        if asked.position >= size_bytes:
            raise KafkaError(Error.POSITION_OUT_OF_RANGE)
        quorum.election.heard_from(body.replica_id, now)
        return {"unaligned_records": records, "size": size_bytes}

    def broker_registration(self, request: Call, now: Now) -> Answer | Wait:
        """BrokerRegistration (KIP-631): a broker gets its epoch. Version 4."""
        return self.active_controller.register(request.body.to_dict(), now)

    def broker_heartbeat(self, request: Call, now: Now) -> Answer | Wait:
        """BrokerHeartbeat (KIP-631): a broker lives; one that is ready is unfenced.
        Version 2.
        """
        if not self.quorum.is_leader:
            raise KafkaError(Error.NOT_CONTROLLER)
        return self.active_controller.heartbeat(request.body, now)

    def allocate_producer_ids(self, request: Call, now: Now) -> Answer | Wait:
        """AllocateProducerIds (KIP-730): the next block for a broker. Version 0."""
        body, image = request.body, self.image
        self.check_epoch(body)
        records = controller.allocate_producer_ids(
            image, body.broker_id, body.broker_epoch
        )
        answer = {
            "error_code": Error.NONE,
            "producer_id_start": image.next_producer_id,
            "producer_id_len": controller.PRODUCER_ID_BLOCK_SIZE,
        }
        return self.active_controller.commit(records, now, lambda: answer)

    def alter_partition(self, request: Call, now: Now) -> Answer | Wait:
        """AlterPartition (KIP-497): leaders name the replicas in sync; each partition
        has its own verdict. Version 3.
        """
        body, image = request.body, self.image
        self.check_epoch(body)
        records: list[MetadataRecord] = []
        judged_already: set[tuple[bytes, int]] = set()

        def verdict(topic: Any, asked: Any) -> Answer:
            number = asked.partition_index
            if (topic.topic_id, number) in judged_already:
                # the second change would be one of what was before the first
                raise KafkaError(Error.INVALID_REQUEST)
            judged_already.add((topic.topic_id, number))
            value = self.active_controller.topic_value
            change = controller.alter_isr(
                image, body.broker_id, topic.topic_id, asked, value
            )
            was = image.topic_by_id(topic.topic_id).partitions[number]
            answer: Answer = {
                "leader_id": was.leader,
                "leader_epoch": was.leader_epoch,
                "isr": list(was.isr),
                "partition_epoch": was.partition_epoch,
            }
            if change is not None:
                records.append(change)
                answer["partition_epoch"] += 1
                if "isr" in change.fields:
                    answer["isr"] = change.fields["isr"]
            return answer

        topics = results_by_topic(body.topics, "topic_id", partition_index, verdict)
        answer = {"error_code": Error.NONE, "topics": topics}
        return self.active_controller.commit(records, now, lambda: answer)

    def assign_replicas_to_dirs(self, request: Call, now: Now) -> Answer | Wait:
        """AssignReplicasToDirs (KIP-858): in which directory a broker has its replicas.
        It has one here, and says only which of them are lost. Version 0.
        """
        body = request.body
        self.check_epoch(body)
        records: list[MetadataRecord] = []

        def verdict(topic: Any, asked: Any) -> Answer:
            value = self.active_controller.topic_value
            change = controller.lose_replica(
                self.image, body.broker_id, topic.topic_id, asked.partition_index, value
            )
            if change is not None:
                records.append(change)
            return {}

        directories = []
        for directory in body.directories:
            if directory.id != controller.LOST_DIRECTORY:
                raise KafkaError(Error.INVALID_REQUEST)
            topics = results_by_topic(
                directory.topics, "topic_id", partition_index, verdict
            )
            directories.append({"id": directory.id, "topics": topics})
        answer = {"error_code": Error.NONE, "directories": directories}
        return self.active_controller.commit(records, now, lambda: answer)

    def check_epoch(self, body: Message) -> None:
        """Check that the broker that asks is this run of it. Errors:
        STALE_BROKER_EPOCH.
        """
        known = self.image.brokers.get(body.broker_id)
        if known is None or known.broker_epoch != body.broker_epoch:
            raise KafkaError(Error.STALE_BROKER_EPOCH)

    def describe_quorum(self, request: Call, now: Now) -> Answer:
        """DescribeQuorum (KIP-595, KIP-836, KIP-853): how far the voters and the
        observers of the metadata log are.

        - The active controller knows: what it has, and what the others asked for.
        - Times are those of its wall clock, -1 for a node that has not asked since it
          leads.

        Versions: 0 to 2.

        - 1 brings the times.
        - 2 brings addresses and messages.
        """
        if names_in(request.body) != METADATA_LOG:
            return refused_description(request.body)
        quorum = self.quorum
        voters = quorum.replica.partition.replicas
        own = Follower(
            caught_up_ms=now.monotonic_ms,
            log_end_offset=quorum.end_offset,
            fetched_ms=now.monotonic_ms,
        )
        followers = dict.fromkeys(voters, Follower(0))
        followers |= quorum.replica.followers
        followers[self.incarnation.node_id] = own
        observers = []
        for node, known in sorted(quorum.observers.items()):
            observers.append(progress(node, known, now))
        answer = {
            "partition_index": 0,
            "leader_id": quorum.leader_id,
            "leader_epoch": quorum.epoch,
            "high_watermark": quorum.high_watermark,
            "current_voters": [progress(node, followers[node], now) for node in voters],
            "observers": observers,
        }
        nodes = []
        if request.version >= ADDRESSES:
            nodes = self.voters_addresses()
        return quorum_answer(answer) | {"nodes": nodes}

    def voters_addresses(self) -> list[Answer]:
        """Where the voters listen to nodes. A node alone, which has no others to listen
        to, names its addresses for clients.
        """
        voters = self.quorum.replica.partition.replicas
        nodes = []
        if not self.config.peers:
            listeners = []
            for host, port in self.config.advertised.values():
                address = {"name": CONTROLLER_LISTENER, "host": host, "port": port}
                listeners.append(address)
            nodes.append({"node_id": self.incarnation.node_id, "listeners": listeners})
        for node, (host, port) in self.config.peers.items():
            if node in voters:
                listener = {"name": CONTROLLER_LISTENER, "host": host, "port": port}
                nodes.append({"node_id": node, "listeners": [listener]})
        return nodes

    def unregister_broker(self, request: Call, now: Now) -> Answer | Wait:
        """UnregisterBroker (KIP-631): a broker gone for good is forgotten; one that
        lives registers again. Version 0.
        """
        broker_id = request.body.broker_id
        if broker_id not in self.image.brokers:
            why = f"Broker ID {broker_id} is not currently registered"
            raise KafkaError(Error.BROKER_ID_NOT_REGISTERED, why)
        records = controller.unregister_broker(
            self.image, broker_id, self.active_controller.topic_value
        )
        answer = {"error_code": Error.NONE, "error_message": None}
        return self.active_controller.commit(records, now, lambda: answer)

    def unregister_controller(self, request: Call, now: Now) -> Answer:
        """UnregisterController (KIP-1312): a controller gone for good is forgotten.
        Here the controllers are the voters, who are named at the start and stay known.
        Version 0.
        """
        if level(self.image, METADATA_FEATURE) < UNREGISTERS_CONTROLLERS:
            why = (
                "The current MetadataVersion is too old to support controller"
                " unregistration."
            )
            raise KafkaError(Error.UNSUPPORTED_VERSION, why)
        controller_id = request.body.controller_id
        if controller_id not in self.quorum.replica.partition.replicas:
            why = f"Controller ID {controller_id} is not currently registered."
            raise KafkaError(Error.CONTROLLER_ID_NOT_REGISTERED, why)
        return {"error_code": Error.NONE, "error_message": None}

    def add_raft_voter(self, request: Call, now: Now) -> Answer:
        """AddRaftVoter (KIP-853): the voters are fixed when a node starts, so
        nobody joins later. Versions: 0 and 1, which may be answered before it is committed.
        """
        self.check_voter(request.body, "Add")
        if CONTROLLER_LISTENER not in {each.name for each in request.body.listeners}:
            why = (
                "Add voter request didn't include the endpoint for the default listener"
                f" {CONTROLLER_LISTENER}"
            )
            raise KafkaError(Error.INVALID_REQUEST, why)
        raise static_voters("adding")

    def remove_raft_voter(self, request: Call, now: Now) -> Answer:
        """RemoveRaftVoter (KIP-853): as little does anybody go. Version 0."""
        self.check_voter(request.body, "Remove")
        raise static_voters("removing")

    def check_voter(self, asked: Message, what: str) -> None:
        """Errors: INCONSISTENT_CLUSTER_ID, INVALID_REQUEST."""
        if asked.cluster_id not in (None, self.quorum.cluster_id):
            why = (
                f'The given id "{asked.cluster_id}" doesn\'t match the cluster id'
                f' "{self.quorum.cluster_id}"'
            )
            raise KafkaError(Error.INCONSISTENT_CLUSTER_ID, why)
        if asked.voter_id < 0 or asked.voter_directory_id == NO_DIRECTORY:
            why = f"{what} voter request didn't include a valid voter"
            raise KafkaError(Error.INVALID_REQUEST, why)


def quorum_answer(partition: Answer, topic_field: str = "topic_name") -> Answer:
    return {"topics": [{topic_field: METADATA_TOPIC, "partitions": [partition]}]}


def check_follower(node_id: int, replica_id: int) -> None:
    """Check that a request that claims to be a follower's names another node than
    this one. Errors: INVALID_REQUEST.
    """
    if replica_id < 0 or replica_id == node_id:
        raise KafkaError(Error.INVALID_REQUEST)


def partition_index(asked: Any) -> Answer:
    """How the answers about partitions name one."""
    return {"partition_index": asked.partition_index}


def names_in(body: Message) -> list[tuple[str, list[int]]]:
    """The topics and partitions that a DescribeQuorum asks for."""
    names = []
    for topic in body.topics:
        numbers = [each.partition_index for each in topic.partitions]
        names.append((topic.topic_name, numbers))
    return names


def refused_description(body: Message) -> Answer:
    """The error for all requested partitions, if one of them isn't the metadata
    log's.
    """
    error = Error.UNKNOWN_TOPIC_OR_PARTITION
    topics = []
    for topic in body.topics:
        partitions = []
        for each in topic.partitions:
            refused = each.to_dict()
            refused["error_code"] = error
            refused["error_message"] = error.message
            refused["current_voters"] = []
            refused["observers"] = []
            partitions.append(refused)
        topics.append({"topic_name": topic.topic_name, "partitions": partitions})
    return {"topics": topics}


def progress(node: int, known: Follower, now: Now) -> Answer:
    """How far a node has fetched the metadata log; -1 if it hasn't fetched yet."""
    if not known.fetched_ms:
        return {"replica_id": node, "log_end_offset": -1}
    offset_ms = now.wall_ms - now.monotonic_ms
    return {
        "replica_id": node,
        "log_end_offset": known.log_end_offset,
        "last_fetch_timestamp": known.fetched_ms + offset_ms,
        "last_caught_up_timestamp": known.caught_up_ms + offset_ms,
    }


def static_voters(doing: str) -> KafkaError:
    level = f"the {KRAFT_FEATURE} feature is 0"
    why = f"Cluster doesn't support {doing} voter because {level}"
    return KafkaError(Error.UNSUPPORTED_VERSION, why)
