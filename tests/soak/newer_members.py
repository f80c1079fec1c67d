"""Members of share groups and of streams groups, as scripts (clients.py)."""

from tests.soak.asking import Ask, Script
from tests.soak.values import TOPICS, Values

SHARING, STREAMING = "sharing", "streaming"
EARLIEST = {
    "name": "share.auto.offset.reset",
    "config_operation": 0,
    "value": "earliest",
}
OF_THE_GROUP = {"resource_type": 32, "resource_name": SHARING, "configs": [EARLIEST]}
FROM_THE_START = Ask("IncrementalAlterConfigs", 1, {"resources": [OF_THE_GROUP]})


def share_member(values: Values) -> Script:
    """A member of a share group (KIP-932): joins, fetches, says what became of its
    records, leaves or dies.
    """
    who = {"group_id": SHARING, "member_id": f"member-{values.random.randrange(3)}"}
    topic = values.choose(*TOPICS)
    told = yield Ask("Metadata", 12, {"topics": [{"name": topic}]})  # creates it
    topic_id = told.topics[0].topic_id if told and told.topics else bytes(16)
    yield FROM_THE_START
    epoch = session_epoch = 0
    acquired: list[dict] = []
    for _ in range(values.random.randint(2, 12)):
        beat = who | {"member_epoch": epoch, "subscribed_topic_names": [topic]}
        answer = yield Ask("ShareGroupHeartbeat", 1, beat)
        if answer is None:
            return
        epoch = answer.member_epoch if answer.error_code == 0 else 0
        place = {"partition_index": 0, "acknowledgement_batches": acquired}
        topics = [{"topic_id": topic_id, "partitions": [place]}]
        of_session = who | {"share_session_epoch": session_epoch, "topics": topics}
        if acquired and values.random.random() < 0.5:
            answer = yield Ask("ShareAcknowledge", 1, of_session)
            acquired = []
        else:
            limits = {
                "max_wait_ms": values.choose(0, 50, 500),
                "min_bytes": 1,
                "max_records": values.choose(1, 5, 500),
                "batch_size": 5,
                "forgotten_topics_data": [],
            }
            answer = yield Ask("ShareFetch", 1, of_session | limits)
            acquired = accepted(values, answer)
        is_fine = answer is not None and answer.error_code == 0
        session_epoch = session_epoch + 1 if is_fine else 0
    yield Ask("ShareGroupHeartbeat", 1, who | {"member_epoch": -1})


def accepted(values: Values, answer) -> list[dict]:
    """What a member says of all that it has acquired: mostly that it is done."""
    batches = []
    for topic in answer.responses if answer else []:
        for partition in topic.partitions:
            for each in partition.acquired_records:
                batch = {
                    "first_offset": each.first_offset,
                    "last_offset": each.last_offset,
                    "acknowledge_types": [values.choose(1, 1, 2, 3)],
                }
                batches.append(batch)
    return batches


def streams_member(values: Values) -> Script:
    """A member of a streams group (KIP-1071), with one subtopology."""
    who = {"group_id": STREAMING, "member_id": f"member-{values.random.randrange(3)}"}
    subtopology = {
        "subtopology_id": "0",
        "source_topics": [values.choose(*TOPICS)],
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    epoch = 0
    for _ in range(values.random.randint(1, 10)):
        beat = who | {"member_epoch": epoch, "endpoint_information_epoch": 0}
        if epoch == 0:
            beat |= {
                "rebalance_timeout_ms": 3000,
                "process_id": "process",
                "topology": {"epoch": 0, "subtopologies": [subtopology]},
                "active_tasks": [],
                "standby_tasks": [],
                "warmup_tasks": [],
                "client_tags": [],
            }
        answer = yield Ask("StreamsGroupHeartbeat", 0, beat)
        if answer is None:
            return
        epoch = answer.member_epoch if answer.error_code == 0 else 0
    yield Ask("StreamsGroupHeartbeat", 0, who | {"member_epoch": -1})
