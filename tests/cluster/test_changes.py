"""What a record of the metadata log changes: before and after."""

from dataclasses import replace

import pytest

from minikafka.cluster import metadata
from minikafka.cluster.metadata import (
    TOPIC_RESOURCE,
    BrokerChange,
    ConfigChange,
    FeatureChange,
    Image,
    MetadataRecord,
    Partition,
    PartitionChange,
    Topic,
    TopicChange,
    config_records,
    feature_records,
)

ORDERS = bytes(15) + b"\7"

OF_USERS = {
    "AccessControlEntryRecord",
    "RemoveAccessControlEntryRecord",
    "ClientQuotaRecord",
    "UserScramCredentialRecord",
    "RemoveUserScramCredentialRecord",
}


def registration(broker_epoch):
    fields = {
        "broker_id": 1,
        "broker_epoch": broker_epoch,
        "end_points": [{"name": "PLAINTEXT", "host": "one", "port": 9092}],
        "fenced": True,
        "rack": None,
        "incarnation_id": bytes(16),
    }
    return MetadataRecord("RegisterBrokerRecord", 3, fields)


def unfenced(broker_epoch):
    fields = {"broker_id": 1, "broker_epoch": broker_epoch, "fenced": -1}
    return MetadataRecord("BrokerRegistrationChangeRecord", 2, fields)


def topic():
    return MetadataRecord("TopicRecord", 0, {"name": "orders", "topic_id": ORDERS})


def removal():
    return MetadataRecord("RemoveTopicRecord", 0, {"topic_id": ORDERS})


def led_by(leader):
    fields = {"topic_id": ORDERS, "partition_id": 0, "leader": leader}
    return MetadataRecord("PartitionChangeRecord", 2, fields)


PARTITION = Partition((1, 2), (1, 2), leader=1, leader_epoch=0, partition_epoch=0)


@pytest.fixture
def image():
    return Image()


def apply(image, record):
    return image.apply(record)


def test_a_broker_registers_is_unfenced_and_registers_again(image):
    first = apply(image, registration(5))
    assert first == BrokerChange(1, None, image.brokers[1])
    assert first.is_registration
    second = apply(image, unfenced(5))
    assert second.before == first.after
    assert second.before.fenced and not second.after.fenced
    assert not second.is_registration
    third = apply(image, registration(9))
    assert third.before == second.after and third.is_registration


def test_a_broker_is_unregistered(image):
    registered = apply(image, registration(5)).after
    gone = MetadataRecord(
        "UnregisterBrokerRecord", 0, {"broker_id": 1, "broker_epoch": 5}
    )
    change = apply(image, gone)
    assert change == BrokerChange(1, registered, None)
    assert not change.is_registration


def test_a_topic_is_created_and_goes_with_its_partitions(image):
    created = apply(image, topic())
    assert created == TopicChange("orders", ORDERS, None, Topic("orders", ORDERS))
    apply(image, PARTITION.record(ORDERS, 0))
    gone = Topic("orders", ORDERS, {0: PARTITION})
    assert apply(image, removal()) == TopicChange("orders", ORDERS, gone, None)


def test_a_partition_is_created_and_gets_another_leader(image):
    apply(image, topic())
    created = apply(image, PARTITION.record(ORDERS, 0))
    assert created == PartitionChange("orders", ORDERS, 0, None, PARTITION)
    moved = apply(image, led_by(2))
    assert moved.before == PARTITION
    assert (moved.after.leader, moved.after.leader_epoch) == (2, 1)
    assert moved.after.partition_epoch == 1


def test_a_config_is_set_set_again_and_taken_back(image):
    def change(value):
        [record] = config_records(TOPIC_RESOURCE, "orders", {"retention.ms": value})
        return apply(image, record)

    def changed(before, after):
        return ConfigChange(TOPIC_RESOURCE, "orders", "retention.ms", before, after)

    assert change("5") == changed(None, "5")
    assert change("7") == changed("5", "7")
    assert change(None) == changed("7", None)
    assert image.configs == {}


def test_a_feature_gets_another_level(image):
    [record] = feature_records({"transaction.version": 2})
    assert apply(image, record) == FeatureChange("transaction.version", None, 2)
    assert apply(image, record) == FeatureChange("transaction.version", 2, 2)


def test_every_kind_of_record_tells_what_it_changed_but_what_no_part_acts_upon(image):
    """They are the controller's own affair."""
    records = [
        registration(5),
        unfenced(5),
        topic(),
        PARTITION.record(ORDERS, 0),
        led_by(2),
        removal(),
        *config_records(TOPIC_RESOURCE, "orders", {"retention.ms": "5"}),
        *feature_records({"transaction.version": 2}),
        MetadataRecord(
            "UnregisterBrokerRecord", 0, {"broker_id": 1, "broker_epoch": 5}
        ),
    ]
    assert {record.name for record in records} == metadata.APPLY.keys() - {
        "ProducerIdsRecord",
        *OF_USERS,
    }
    assert all(apply(image, record) is not None for record in records)
    ids = {"broker_id": 1, "broker_epoch": 5, "next_producer_id": 1000}
    assert apply(image, MetadataRecord("ProducerIdsRecord", 0, ids)) is None
    assert image.next_producer_id == 1000


# -- what must hold of metadata, whoever decided it


@pytest.mark.parametrize(
    "partition, rule",
    [
        (replace(PARTITION, leader=3), "a leader is one of the replicas"),
        (replace(PARTITION, isr=(1, 3)), "the ISR is within the replicas"),
        (replace(PARTITION, replicas=(1, 2, 2)), "one replica of a partition"),
    ],
)
def test_a_partition_that_cannot_be_is_loud(image, partition, rule):
    apply(image, topic())
    with pytest.raises(AssertionError, match=rule):
        apply(image, partition.record(ORDERS, 0))


def test_epochs_never_fall(image):
    apply(image, topic())
    apply(
        image, replace(PARTITION, leader_epoch=4, partition_epoch=9).record(ORDERS, 0)
    )
    for epochs, rule in (((3, 9), "a leader epoch"), ((4, 8), "a partition epoch")):
        leader_epoch, partition_epoch = epochs
        older = replace(
            PARTITION, leader_epoch=leader_epoch, partition_epoch=partition_epoch
        )
        with pytest.raises(AssertionError, match=f"{rule} never falls"):
            apply(image, older.record(ORDERS, 0))
    apply(image, registration(9))
    with pytest.raises(AssertionError, match="a broker's epoch never falls"):
        apply(image, registration(5))


def test_a_topic_that_has_gone_never_comes_back(image):
    apply(image, topic())
    apply(image, removal())
    with pytest.raises(AssertionError, match="never comes back"):
        apply(image, topic())
