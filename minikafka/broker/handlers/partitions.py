"""Administrators' requests about partitions: another leader, other replicas. Each
partition has its own verdict, and the good ones are decided together. Also the folders
with a broker's logs, of which this broker has one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.calls import Call, error_fields, result_of
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import Now
from minikafka.cluster import controller, leadership
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.waiting import Answer, Wait
from minikafka.storage.disk import Disk, Space, as_storage_errors
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

ELECTIONS = {0: leadership.PREFERRED, 1: leadership.UNCLEAN}  # ElectionType
VOLUMES = 4  # the first version of DescribeLogDirs with the size of the volume
Place = tuple[str, int]  # topic, partition
Row = tuple[str, Answer]  # topic, one partition's


@dataclass(eq=False, repr=False)
class PartitionHandlers:
    """Leaders and replicas of partitions, and the folder with their logs."""

    disk: Disk
    image: Image
    replicas: ReplicaManager
    active_controller: ActiveController

    def elect_leaders(self, request: Call, now: Now) -> Answer | Wait:
        """ElectLeaders (KIP-183, KIP-460): the preferred replica leads, or, where
        nobody leads, anybody who is up.

        - Asked for all partitions, those that need no election are left out.

        Versions: 0 to 2.

        - 1 adds the kind of election.
        """
        body, image = request.body, self.image
        election = ELECTIONS.get(body.election_type)
        if election is None:
            why = f"Unknown election type {body.election_type}"
            raise KafkaError(Error.INVALID_REQUEST, why)
        records: list[MetadataRecord] = []

        def verdict(topic: str, number: int) -> Answer:
            value = self.active_controller.topic_value
            record = controller.elect_leader(image, topic, number, election, value)
            records.append(record)
            return {}

        if body.topic_partitions is None:
            everything = [(name, number) for name, number, _ in image.all_partitions()]
            rows = verdicts(everything, verdict, "partition_id")
        else:
            asked = places_in(body.topic_partitions, "topic", "partitions")
            rows = verdicts(asked, verdict, "partition_id")
        results = nested(rows, "topic", "partition_result")
        if body.topic_partitions is None:
            for topic in results:
                topic["partition_result"] = [
                    row
                    for row in topic["partition_result"]
                    if row["error_code"] != Error.ELECTION_NOT_NEEDED
                ]
        answer = {"replica_election_results": results}
        return self.active_controller.commit(records, now, lambda: answer)

    def alter_partition_reassignments(self, request: Call, now: Now) -> Answer | Wait:
        """AlterPartitionReassignments (KIP-455): partitions move to other replicas.

        - That takes until the new ones are in sync; the answer only says that it began.

        Versions: 0 to 1.

        - 1 may forbid another replication factor.
        """
        body = request.body
        records: list[MetadataRecord] = []
        targets = {}
        for topic in body.topics:
            for each in topic.partitions:
                targets[topic.name, each.partition_index] = each.replicas

        def verdict(topic: str, number: int) -> Answer:
            target = targets[topic, number]
            if not body.allow_replication_factor_change:
                self.check_factor(topic, number, target)
            value = self.active_controller.topic_value
            record = controller.reassign(self.image, topic, number, target, value)
            if record is not None:
                records.append(record)
            return {}

        answer = {
            "allow_replication_factor_change": body.allow_replication_factor_change,
            "responses": nested(verdicts(targets, verdict, "partition_index")),
        }
        return self.active_controller.commit(records, now, lambda: answer)

    def check_factor(self, topic: str, number: int, target: list[int] | None) -> None:
        """Whether a partition keeps its replication factor, or that which it is about to
        have. Errors: INVALID_REPLICATION_FACTOR.
        """
        partition = controller.partition_of(self.image, topic, number)
        factor = len({*partition.replicas} - {*partition.removing_replicas})
        if target is not None and len(target) != factor:
            why = f"The replication factor is changed from {factor} to {len(target)}"
            raise KafkaError(Error.INVALID_REPLICATION_FACTOR, why)

    def list_partition_reassignments(self, request: Call, now: Now) -> Answer:
        """ListPartitionReassignments (KIP-455): what is on its way.

        Version: 0.
        """
        wanted = None
        if request.body.topics is not None:
            wanted = set(places_in(request.body.topics, "name", "partition_indexes"))
        rows: list[Row] = []
        for name, number, partition in self.image.all_partitions():
            if not partition.is_reassigning:
                continue
            if wanted is None or (name, number) in wanted:
                row = {
                    "partition_index": number,
                    "replicas": list(partition.replicas),
                    "adding_replicas": list(partition.adding_replicas),
                    "removing_replicas": list(partition.removing_replicas),
                }
                rows.append((name, row))
        return {"topics": nested(rows)}

    def _space(self) -> Space | None:
        """The space on the volume with the logs. Errors: KAFKA_STORAGE_ERROR."""
        with as_storage_errors(str(self.disk)):
            return self.disk.space()

    def describe_log_dirs(self, request: Call, now: Now) -> Answer:
        """DescribeLogDirs (KIP-113, KIP-827): how many bytes each log takes, and how
        many records of it are not committed yet.

        - Topics null means all; what isn't here is left out.

        Versions: 1 to 5.

        - 4 brings the size of the volume, and what is free (-1 in memory without end).
        - 5 brings cordoned directories (there are none).
        """
        replicas = self.replicas.replicas
        wanted = set(replicas)
        if request.body.topics is not None:
            wanted &= set(places_in(request.body.topics, "topic", "partitions"))
        rows: list[Row] = []
        for topic, number in sorted(wanted):
            replica = replicas[topic, number]
            row = {
                "partition_index": number,
                "partition_size": replica.log.size_bytes,
                # what is missing up to the high watermark: only a copy that is being
                # moved to another folder lacks some, and there are none
                "offset_lag": 0,
            }
            rows.append((topic, row))
        result = {
            "error_code": Error.NONE,
            "log_dir": str(self.disk),
            "topics": nested(rows),
        }
        if request.version >= VOLUMES:
            space = self._space()
            if space is not None:
                result |= space._asdict()
        return {"results": [result]}

    def alter_replica_log_dirs(self, request: Call, now: Now) -> Answer:
        """AlterReplicaLogDirs (KIP-113): another folder for a replica.

        - There is one folder here: LOG_DIR_NOT_FOUND for any other.
        - Of several folders for one partition the last one counts.

        Versions: 1 and 2, the same fields.
        """
        folders: dict[Place, str] = {}
        for folder in request.body.dirs:
            for place in places_in(folder.topics, "name", "partitions"):
                folders[place] = folder.path
        rows = []
        for (topic, number), path in folders.items():
            error = self.moved(path, topic, number)
            rows.append((topic, {"partition_index": number, "error_code": error}))
        return {"results": nested(rows, "topic_name")}

    def moved(self, folder: str, topic: str, number: int) -> Error:
        """Whether a replica is now in a folder."""
        if folder != str(self.disk):
            return Error.LOG_DIR_NOT_FOUND
        if self.replicas.find_or_create(topic, number) is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        return Error.NONE

    def refuse_elect_leaders(self, request: Call, error: KafkaError) -> Answer:
        """ElectLeaders. Before version 1 only its partitions have errors."""
        rows: list[tuple[str, Any]] = []
        for topic in request.body.topic_partitions or []:
            for number in topic.partitions:
                rows.append(
                    (topic.topic, {"partition_id": number} | error_fields(error))
                )
        results = nested(rows, "topic", "partition_result")
        answer: Answer = {"replica_election_results": results}
        if request.version >= 1:
            answer["error_code"] = error.error
        return answer

    def refuse_alter_partition_reassignments(
        self, request: Call, error: KafkaError
    ) -> Answer:
        """AlterPartitionReassignments."""
        rows: list[tuple[str, Any]] = []
        for topic in request.body.topics:
            for partition in topic.partitions:
                named = {"partition_index": partition.partition_index}
                rows.append((topic.name, named | error_fields(error)))
        return error_fields(error) | {"responses": nested(rows)}


def places_in(
    topics: Iterable[Message], topic_field: str, partitions_field: str
) -> list[Place]:
    """The partitions that a request names."""
    places = []
    for topic in topics:
        name = getattr(topic, topic_field)
        for number in getattr(topic, partitions_field):
            places.append((name, number))
    return places


def verdicts(
    asked: Iterable[Place], verdict: Callable[[str, int], Answer], field: str
) -> Iterator[Row]:
    """The result for each partition. field: the one that names it."""
    for topic, number in asked:
        named = {field: number, "error_message": None}
        yield topic, result_of(named, partial(verdict, topic, number), say_why=True)
