"""Which errors an API answers, where in an answer they are, and which partitions a
request names.

The errors are those that Apache Kafka 4.4's broker can give a client: KafkaApis,
GroupCoordinator and TransactionCoordinator, and what their responses' comments list.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

NO_ID = bytes(16)
Names = Callable[[bytes], str | None]  # a topic's name by its id


class Layout(NamedTuple):
    """Where topics and their partitions are: the fields' names. number: a partition's,
    or None, if the list has the numbers themselves. partitions: None: it names topics
    only.
    """

    topics: str
    partitions: str | None = "partitions"
    number: str | None = "partition_index"


# in requests
PLACES = {
    "AddPartitionsToTxn": Layout("v3_and_below_topics", number=None),
    "CreateTopics": Layout("topics", None),
    "DeleteTopics": Layout("topics", None),
    "Fetch": Layout("topics", number="partition"),
    "ListOffsets": Layout("topics"),
    "Metadata": Layout("topics", None),
    "OffsetCommit": Layout("topics"),
    "Produce": Layout("topic_data", "partition_data", "index"),
    "TxnOffsetCommit": Layout("topics"),
}
# in answers
ANSWERED = {
    "AddPartitionsToTxn": Layout(
        "results_by_topic_v3_and_below", "results_by_partition"
    ),
    "CreateTopics": Layout("topics", None),
    "DeleteTopics": Layout("responses", None),
    "Fetch": Layout("responses"),
    "ListOffsets": Layout("topics"),
    "Metadata": Layout("topics", None),
    "OffsetCommit": Layout("topics"),
    "Produce": Layout("responses", "partition_responses", "index"),
    "TxnOffsetCommit": Layout("topics"),
}
# fields that have no news beside an error
BLANK: dict[str, dict[str, Any]] = {
    "Fetch": {"high_watermark": -1, "last_stable_offset": -1, "records": b""},
    "FindCoordinator": {"node_id": -1, "host": "", "port": -1},
    "InitProducerId": {"producer_id": -1, "producer_epoch": -1},
    "JoinGroup": {"generation_id": -1, "members": [], "leader": ""},
    "ListOffsets": {"offset": -1, "timestamp": -1, "leader_epoch": -1},
    "Metadata": {"partitions": []},
    "OffsetFetch": {"topics": []},
    "Produce": {"base_offset": -1},
    "SyncGroup": {"assignment": b""},
}

_DENIED_TOPIC = "TOPIC_AUTHORIZATION_FAILED"
_OF_LEADERS = (
    "UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER FENCED_LEADER_EPOCH"
    f" UNKNOWN_LEADER_EPOCH KAFKA_STORAGE_ERROR UNKNOWN_TOPIC_ID {_DENIED_TOPIC}"
)
_OF_COORDINATORS = (
    "COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS NOT_COORDINATOR"
)
_OF_GROUPS = f"{_OF_COORDINATORS} INVALID_GROUP_ID GROUP_AUTHORIZATION_FAILED"
_OF_MEMBERS = f"{_OF_GROUPS} UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID"
_OF_GENERATIONS = f"{_OF_MEMBERS} ILLEGAL_GENERATION REBALANCE_IN_PROGRESS"
_OF_PRODUCERS = (
    f"{_OF_COORDINATORS} CONCURRENT_TRANSACTIONS INVALID_PRODUCER_EPOCH PRODUCER_FENCED"
    " INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE REQUEST_TIMED_OUT"
    " TRANSACTIONAL_ID_AUTHORIZATION_FAILED TRANSACTION_ABORTABLE"
)
_OF_COMMITS = (
    f"{_OF_GENERATIONS} OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE"
    f" UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID STALE_MEMBER_EPOCH {_DENIED_TOPIC}"
)
_OF_ADMINS = (
    "NOT_CONTROLLER REQUEST_TIMED_OUT CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST"
    f" POLICY_VIOLATION THROTTLING_QUOTA_EXCEEDED {_DENIED_TOPIC}"
)

_LISTS = {
    "AddOffsetsToTxn": f"{_OF_PRODUCERS} INVALID_GROUP_ID GROUP_AUTHORIZATION_FAILED",
    "AddPartitionsToTxn": (
        f"{_OF_PRODUCERS} UNKNOWN_TOPIC_OR_PARTITION OPERATION_NOT_ATTEMPTED"
        f" {_DENIED_TOPIC}"
    ),
    "ConsumerGroupHeartbeat": (
        f"{_OF_GROUPS} UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH UNSUPPORTED_ASSIGNOR"
        " UNRELEASED_INSTANCE_ID GROUP_MAX_SIZE_REACHED INVALID_REQUEST"
        f" INVALID_REGULAR_EXPRESSION {_DENIED_TOPIC}"
    ),
    "CreateTopics": (
        f"{_OF_ADMINS} TOPIC_ALREADY_EXISTS INVALID_TOPIC_EXCEPTION INVALID_PARTITIONS"
        " INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG"
    ),
    "DeleteTopics": (
        f"{_OF_ADMINS} UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID"
        " TOPIC_DELETION_DISABLED INVALID_TOPIC_EXCEPTION"
    ),
    "EndTxn": _OF_PRODUCERS,
    "Fetch": (
        f"{_OF_LEADERS} OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE UNKNOWN_SERVER_ERROR"
        " OFFSET_NOT_AVAILABLE REPLICA_NOT_AVAILABLE UNSUPPORTED_COMPRESSION_TYPE"
    ),
    "FindCoordinator": (
        "COORDINATOR_NOT_AVAILABLE INVALID_REQUEST INVALID_GROUP_ID"
        " GROUP_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    ),
    "Heartbeat": _OF_GENERATIONS,
    "InitProducerId": f"{_OF_PRODUCERS} INVALID_TRANSACTION_TIMEOUT",
    "JoinGroup": (
        f"{_OF_MEMBERS} INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT"
        " GROUP_MAX_SIZE_REACHED MEMBER_ID_REQUIRED"
    ),
    "LeaveGroup": _OF_MEMBERS,
    "ListOffsets": f"{_OF_LEADERS} OFFSET_NOT_AVAILABLE LEADER_NOT_AVAILABLE",
    "Metadata": (
        "UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE INVALID_TOPIC_EXCEPTION"
        f" UNKNOWN_TOPIC_ID {_DENIED_TOPIC}"
    ),
    "OffsetCommit": _OF_COMMITS,
    "OffsetFetch": f"{_OF_GROUPS} UNKNOWN_MEMBER_ID STALE_MEMBER_EPOCH",
    "Produce": (
        f"{_OF_LEADERS} CORRUPT_MESSAGE MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE"
        " NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND INVALID_REQUIRED_ACKS"
        " INVALID_TIMESTAMP INVALID_RECORD UNSUPPORTED_FOR_MESSAGE_FORMAT"
        " POLICY_VIOLATION REQUEST_TIMED_OUT UNKNOWN_SERVER_ERROR"
        " INVALID_TOPIC_EXCEPTION UNKNOWN_PRODUCER_ID OUT_OF_ORDER_SEQUENCE_NUMBER"
        " INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE"
        " CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE CLUSTER_AUTHORIZATION_FAILED"
        " TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    ),
    "SyncGroup": f"{_OF_GENERATIONS} INCONSISTENT_GROUP_PROTOCOL",
    "TxnOffsetCommit": f"{_OF_COMMITS} {_OF_PRODUCERS}",
}
ERRORS = {api: frozenset(names.split()) for api, names in _LISTS.items()}


def check_can_answer(api: str, error: str) -> None:
    """Errors: ValueError, if this API never answers this error."""
    if api not in ERRORS:
        raise ValueError(f"Answer is there for {', '.join(sorted(ERRORS))}; not {api}")
    if error not in ERRORS[api]:
        raise ValueError(
            f"{api} never answers {error!r}, but {', '.join(sorted(ERRORS[api]))}"
        )


def places(api: str, body: Message, names: Names) -> list[tuple[str, int | None]]:
    """The topics and partitions that a request names."""
    if api not in PLACES:
        return []
    found = []
    for topic, number, _ in walk(PLACES[api], body, names):
        found.append((topic, number))
    if api == "DeleteTopics":
        found += [(name, None) for name in body.topic_names]
    return found


def walk(
    layout: Layout, body: Message, names: Names
) -> Iterator[tuple[str, int | None, Any]]:
    """The topics of a message, or their partitions, and the part that is about each."""
    for topic in getattr(body, layout.topics) or ():
        name = topic_name(topic, names)
        if layout.partitions is None:
            yield name, None, topic
            continue
        for part in getattr(topic, layout.partitions):
            number = part if layout.number is None else getattr(part, layout.number)
            yield name, number, part


def topic_name(about: Message, names: Names) -> str:
    """The name of the topic that a part of a message is about; empty: it's unknown."""
    fields = about.to_dict()
    name = fields.get("name") or fields.get("topic")
    return name or names(fields.get("topic_id", NO_ID)) or ""


def with_error(
    api: str,
    body: Message,
    error: str,
    names: Names,
    wanted: Callable[[str, int | None], bool],
) -> Message:
    """The answer with an error in it, in the places that are wanted."""
    code = Error[error]
    if api in ANSWERED:
        for topic, number, about in walk(ANSWERED[api], body, names):
            if wanted(topic, number):
                say(api, about, code)
        return body
    # newer versions answer for several groups at once
    several = {"FindCoordinator": "coordinators", "OffsetFetch": "groups"}
    listed = getattr(body, several[api]) if api in several else ()
    for about in listed or (body,):
        say(api, about, code)
    return body


def say(api: str, about: Message, code: Error) -> None:
    field = "partition_error_code" if api == "AddPartitionsToTxn" else "error_code"
    setattr(about, field, code)
    for name, value in BLANK.get(api, {}).items():
        setattr(about, name, value)


def refusal(api: str, request: Message, error: str) -> dict[str, Any]:
    """The answer to a request that a broker refuses as a whole."""
    code = Error[error]
    if api not in ANSWERED:
        return {"error_code": code, **BLANK.get(api, {})}
    asked, answered = PLACES[api], ANSWERED[api]
    topics = []
    for topic in getattr(request, asked.topics) or ():
        fields = topic.to_dict()
        one = {each: fields[each] for each in ("name", "topic_id") if each in fields}
        if asked.partitions is None or answered.partitions is None:
            topics.append(one | {"error_code": code})
            continue
        field = "partition_error_code" if api == "AddPartitionsToTxn" else "error_code"
        parts = []
        for number in numbers(asked, getattr(topic, asked.partitions)):
            assert answered.number is not None
            parts.append({answered.number: number, field: code, **BLANK.get(api, {})})
        topics.append(one | {answered.partitions: parts})
    if api == "DeleteTopics":
        topics += [{"name": name, "error_code": code} for name in request.topic_names]
    return {answered.topics: topics}


def numbers(asked: Layout, parts: Iterable[Any]) -> list[int]:
    if asked.number is None:
        return [*parts]
    return [getattr(part, asked.number) for part in parts]
