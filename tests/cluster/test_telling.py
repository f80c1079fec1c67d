"""What replicas tell the trace of each other, and that one alone has nothing to
tell.
"""

import json

from minikafka import Cluster
from minikafka.trace import Event
from tests.theatre import replicas

OF_SEVERAL = {
    "ReplicaOpened",
    "FollowerFetched",
    "LogDiverged",
    "ProduceAnswered",
    "LeaderFollowed",
    "IsrAsked",
    "ControllerFollowed",
    "MetadataAppended",
    "MetadataReplicated",
    "MetadataCommitted",
}


def kinds(trace, kind):
    return [event for event in trace if event.kind == kind]


def test_a_broker_alone_tells_nothing_of_leaders_and_followers():
    with Cluster(seed=3) as cluster:
        cluster.create_topic("orders")
        cluster.producer(acks="all").send("orders", value="a").get()
        trace = list(cluster.trace)
    assert not OF_SEVERAL & {event.kind for event in trace}
    [appended] = kinds(trace, "RecordsAppended")
    assert "epochs" not in appended.detail


def test_three_brokers_tell_all_of_it_in_plain_json():
    trace = [*replicas.acks_1(), *replicas.too_few_in_sync()]
    assert {event.kind for event in trace} >= OF_SEVERAL
    for event in trace:
        assert (
            str(event)
            and Event.from_json(json.loads(json.dumps(event.to_json()))) == event
        )


def test_kip_101_records_are_told_with_their_leaders_epoch_also_where_they_are_copied():
    trace = replicas.acks_1()
    appended = {
        tuple(event.detail["epochs"][0]) for event in kinds(trace, "RecordsAppended")
    }
    assert appended == {(0, 0), (0, 1), (0, 2), (1, 2)}
    back = [
        event for event in kinds(trace, "RecordsReplicated") if event.node == "broker 1"
    ]
    assert [event.detail["epochs"] for event in back] == [[[1, 2]]]


def test_kip_279_where_two_logs_parted_is_told_before_the_truncation():
    trace = replicas.acks_1()
    [diverged], [truncated] = kinds(trace, "LogDiverged"), kinds(trace, "LogTruncated")
    assert (diverged.detail["epoch"], diverged.detail["end_offset"]) == (0, 2)
    assert diverged.node == truncated.node and trace.index(diverged) < trace.index(
        truncated
    )


def test_a_fetch_is_told_only_where_it_says_something_new():
    told = [
        (event.detail["follower"], event.detail["offset"])
        for event in kinds(replicas.acks_1(), "FollowerFetched")
        if event.node == "broker 1"
    ]
    assert len(told) == len(set(told))


def test_metadata_records_are_told_by_name_with_their_fields():
    records = [
        each
        for event in kinds(replicas.acks_1(), "MetadataAppended")
        for each in event.detail["records"]
    ]
    named = {name: fields for _, name, fields in records}
    assert (
        named["TopicRecord"]["name"] == "orders"
        and named["PartitionRecord"]["leader"] == 1
    )
    assert [offset for offset, _, _ in records] == list(range(len(records)))
