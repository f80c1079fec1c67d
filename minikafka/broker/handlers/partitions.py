"""What administrators ask of partitions: another leader, other replicas. Each partition
has its own verdict, and those that are good are decided together. And the folders that
hold a broker's logs: it has one here.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from minikafka.broker.calls import Broker, Call, judged
from minikafka.clock import Now
from minikafka.cluster import controller, leadership
from minikafka.cluster.metadata import MetadataRecord
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested

ELECTIONS = {0: leadership.PREFERRED, 1: leadership.UNCLEAN}  # ElectionType

Row = tuple[str, Answer]  # topic, one partition's


def elect_leaders(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """ElectLeaders (KIP-183, KIP-460): the preferred replica leads, or, where nobody
    leads, anybody who is up. Asked for all partitions, those that need no election are
    left out. Versions: 0 to 2; 1 adds the kind of election.
    """
    body, image = request.body, broker.image
    election = ELECTIONS.get(body.election_type)
    if election is None:
        raise KafkaError(
            Error.INVALID_REQUEST, f"Unknown election type {body.election_type}"
        )
    records: list[MetadataRecord] = []

    def verdict(topic: str, number: int) -> Answer:
        records.append(
            controller.elect_leader(
                image, topic, number, election, broker.active_controller.topic_value
            )
        )
        return {}

    if body.topic_partitions is None:
        asked = [(name, number) for name, number, _ in image.all_partitions()]
    else:
        asked = [
            (topic.topic, number)
            for topic in body.topic_partitions
            for number in topic.partitions
        ]
    answer = nested(
        verdicts(asked, verdict, "partition_id"), "topic", "partition_result"
    )
    for topic in answer if body.topic_partitions is None else ():
        rows = topic["partition_result"]
        topic["partition_result"] = [
            row for row in rows if row["error_code"] != Error.ELECTION_NOT_NEEDED
        ]
    return broker.active_controller.decide(
        records, now, lambda: {"replica_election_results": answer}
    )


def reassign(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """AlterPartitionReassignments (KIP-455): partitions move to other replicas, which
    takes until the new ones are in sync; the answer only says that it began. Versions:
    0 to 1; 1 may forbid another replication factor.
    """
    body, image = request.body, broker.image
    records: list[MetadataRecord | None] = []
    targets = {
        (topic.name, each.partition_index): each.replicas
        for topic in body.topics
        for each in topic.partitions
    }

    def verdict(topic: str, number: int) -> Answer:
        target = targets[topic, number]
        partition = controller.partition_of(image, topic, number)
        stay = len(partition.replicas) - len(partition.adding_replicas)
        if (
            target is not None
            and not body.allow_replication_factor_change
            and len(target) != stay
        ):
            raise KafkaError(
                Error.INVALID_REPLICATION_FACTOR,
                f"The replication factor is changed from {stay}",
            )
        records.append(
            controller.reassign(
                image, topic, number, target, broker.active_controller.topic_value
            )
        )
        return {}

    answer = {
        "allow_replication_factor_change": body.allow_replication_factor_change,
        "responses": nested(verdicts(targets, verdict, "partition_index")),
    }
    return broker.active_controller.decide(
        [record for record in records if record], now, lambda: answer
    )


def verdicts(
    asked: Iterable[tuple[str, int]], verdict: Callable[[str, int], Answer], number: str
) -> Iterator[Row]:
    """What is answered for each partition. number: the field that names it."""
    for at in asked:
        yield (
            at[0],
            judged(
                {number: at[1], "error_message": None},
                partial(verdict, *at),
                say_why=True,
            ),
        )


def list_reassignments(broker: Broker, request: Call, now: Now) -> Answer:
    """ListPartitionReassignments (KIP-455): what is on its way. Version 0."""
    asked = request.body.topics
    wanted = (
        None
        if asked is None
        else {
            (topic.name, number)
            for topic in asked
            for number in topic.partition_indexes
        }
    )
    rows: list[Row] = []
    for name, number, partition in broker.image.all_partitions():
        if partition.is_reassigning and (wanted is None or (name, number) in wanted):
            fields = ("replicas", "adding_replicas", "removing_replicas")
            lists = {field: list(getattr(partition, field)) for field in fields}
            rows.append((name, {"partition_index": number, **lists}))
    return {"topics": nested(rows)}


def describe_log_dirs(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeLogDirs (KIP-113, KIP-827): how many bytes each log takes, and how many
    records of it don't count yet.

    Topics null means all; what isn't here is left out. Versions: 1 to 5; 4 brings the
    size of the volume (-1 here: not known), 5 cordoned directories (there are none).
    """
    asked = request.body.topics
    wanted = (
        None
        if asked is None
        else {(one.topic, number) for one in asked for number in one.partitions}
    )
    rows: list[Row] = []
    replicas = broker.replicas.replicas
    for topic, number in sorted(
        replicas.keys() if wanted is None else wanted & replicas.keys()
    ):
        replica = replicas[topic, number]
        size_bytes, lag = (
            replica.log.size_bytes,
            replica.log.log_end_offset - replica.high_watermark,
        )
        rows.append(
            (
                topic,
                {
                    "partition_index": number,
                    "partition_size": size_bytes,
                    "offset_lag": max(lag, 0),
                },
            )
        )
    return {
        "results": [
            {
                "error_code": Error.NONE,
                "log_dir": broker.log_dir,
                "topics": nested(rows),
            }
        ]
    }


def alter_log_dirs(broker: Broker, request: Call, now: Now) -> Answer:
    """AlterReplicaLogDirs (KIP-113): LOG_DIR_NOT_FOUND for any other folder. Versions:
    1 and 2, the same fields.
    """

    def verdict(path: str, topic: str, number: int) -> Error:
        if path != broker.log_dir:
            return Error.LOG_DIR_NOT_FOUND
        return (
            Error.NONE
            if broker.replicas.find(topic, number)
            else Error.UNKNOWN_TOPIC_OR_PARTITION
        )

    results: dict[str, list[Answer]] = {}
    for folder in request.body.dirs:
        for topic in folder.topics:
            results.setdefault(topic.name, []).extend(
                {
                    "partition_index": number,
                    "error_code": verdict(folder.path, topic.name, number),
                }
                for number in topic.partitions
            )
    return {
        "results": [
            {"topic_name": topic, "partitions": partitions}
            for topic, partitions in results.items()
        ]
    }
