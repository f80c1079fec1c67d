"""The controller's decisions and the image that follows from them."""

import pytest

from minikafka.cluster import controller, placer, registration
from minikafka.cluster.metadata import NO_LEADER, Image
from minikafka.wire.errors import Error, KafkaError

ID = b"t" * 16


def value(topic, name):
    """The value of a topic's config: Kafka's default."""
    return {"min.insync.replicas": 1, "unclean.leader.election.enable": False}[name]


def cluster(*broker_ids, racks=None):
    """An image with these brokers."""
    image = Image()
    for broker_id in broker_ids:
        endpoints = {"PLAINTEXT": ("localhost", 9090 + broker_id)}
        asked = registration.fields(
            broker_id, b"i" * 16, [b"d" * 16], endpoints, (racks or {}).get(broker_id)
        )
        commit(image, registration.records(asked, commit.offset))
        assert image.brokers[broker_id].fenced, "it is not ready yet (KIP-631)"
        commit(image, controller.unfence(image, broker_id, value))
    return image


def commit(image, records):
    for record in records:
        image.apply(record)
        commit.offset += 1


commit.offset = 0


def new_topic(image, *placement, **configs):
    named = {name.replace("_", "."): configs[name] for name in configs}
    return controller.create_topic(image, "orders", ID, placement, named)


def test_leaders_and_replicas_are_spread_over_the_brokers():
    placement = placer.place(
        cluster(1, 2, 3), partitions=6, replication_factor=2, first=1
    )
    assert placement == [[2, 3], [3, 1], [1, 2], [2, 3], [3, 1], [1, 2]]


def test_the_replicas_of_a_partition_are_in_different_racks():
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    for first in range(6):
        for replicas in placer.place(
            cluster(*racks, racks=racks), 6, replication_factor=3, first=first
        ):
            assert {racks[broker] for broker in replicas} == {"a", "b", "c"}


def test_a_partition_cannot_have_more_replicas_than_there_are_brokers():
    with pytest.raises(KafkaError) as refused:
        placer.place(cluster(1, 2), partitions=1, replication_factor=3, first=0)
    assert refused.value.error is Error.INVALID_REPLICATION_FACTOR


def test_a_broker_that_is_down_gets_replicas_where_there_are_too_few_others():
    """As in Apache Kafka: it joins when it comes back."""
    image = cluster(1, 2, 3)
    commit(image, controller.fence(image, [2], value).records)
    assert placer.place(image, 3, replication_factor=2, first=0) == [
        [1, 3],
        [3, 1],
        [1, 3],
    ]
    placement = placer.place(image, 2, replication_factor=3, first=0)
    assert placement == [[1, 3, 2], [3, 1, 2]]
    commit(image, new_topic(image, *placement))
    partitions = image.topics["orders"].partitions.values()
    assert [(one.leader, one.isr) for one in partitions] == [(1, (1, 3)), (3, (3, 1))]


def test_a_new_partition_has_somebody_who_leads_it():
    image = cluster(1, 2)
    commit(image, controller.fence(image, [2], value).records)
    placer.check_somebody_leads(image, [[2, 1]])
    commit(image, new_topic(image, [2, 1]))
    assert image.topics["orders"].partitions[0].leader == 1
    with pytest.raises(KafkaError, match="partition 1 are fenced"):
        placer.check_somebody_leads(image, [[1], [2]])
    commit(image, controller.fence(image, [1], value).records)
    with pytest.raises(KafkaError, match="All brokers are currently fenced"):
        placer.place(image, 1, replication_factor=1, first=0)


def test_a_partition_whose_turn_falls_on_a_broker_about_to_go_is_refused():
    image = cluster(1, 2)
    commit(image, controller.begin_shutdown(image, 1, value))
    assert image.may_lead() == {2}
    assert placer.place(image, 1, replication_factor=2, first=0) == [[1, 2]]
    with pytest.raises(KafkaError, match="in controlled shutdown") as refused:
        placer.place(image, 1, replication_factor=1, first=0)
    assert refused.value.error is Error.INVALID_REPLICATION_FACTOR


def test_when_a_leader_is_gone_the_next_in_sync_replica_leads_in_a_new_epoch():
    image = cluster(1, 2, 3)
    commit(image, new_topic(image, [1, 2], [2, 3], [1]))
    commit(image, controller.fence(image, [1], value).records)
    partitions = image.topics["orders"].partitions
    assert [partition.leader for partition in partitions.values()] == [2, 2, NO_LEADER]
    assert [partition.leader_epoch for partition in partitions.values()] == [1, 0, 1]


def test_a_removed_topic_takes_its_configs_with_it():
    image = cluster(1)
    commit(image, new_topic(image, [1], retention_ms="5"))
    assert image.config(2, "orders") == {"retention.ms": "5"}
    commit(image, controller.delete_topic(image.topic("orders")))
    assert (image.topics, image.topic_names, image.configs) == ({}, {}, {})


@pytest.mark.parametrize(
    "assignments",
    [{1: [1]}, {0: []}, {0: [1, 1]}, {0: [7]}, {0: [1], 1: [1, 2]}],
    ids=str,
)
def test_a_placement_chosen_by_a_client_is_checked(assignments):
    with pytest.raises(KafkaError) as refused:
        placer.check(cluster(1, 2), assignments)
    assert refused.value.error is Error.INVALID_REPLICA_ASSIGNMENT


def test_a_registration_change_must_name_the_brokers_epoch():
    image = cluster(1)
    [change] = controller.fence(image, [1], value).records
    change.fields["broker_epoch"] -= 1
    with pytest.raises(AssertionError, match="current epoch"):
        commit(image, [change])
