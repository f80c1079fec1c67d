"""The dead letters of share groups (KIP-1191), in a simulated cluster. What Apache Kafka
writes into them is compared in tests/conformance/scenarios_share_groups.py.
"""

import pytest

from minikafka.clients.share_deliveries import REJECT
from minikafka.wire.errors import Error
from tests.clients_sim.share_groups import GROUP, LOCK_MS, explicit, poll, sharing

DEAD = "dlq.orders"
WANTS = "errors.deadletterqueue.group.enable"


@pytest.fixture
def cluster():
    cluster = sharing(records=3)
    cluster.create_topic(DEAD, configs={WANTS: "true"})
    names(cluster, DEAD)
    return cluster


def names(cluster, topic, **more):
    configs = {"errors.deadletterqueue.topic.name": topic}
    cluster.alter_group_configs(GROUP, configs | more)
    cluster.run(seconds=0.1)


def rejects(cluster):
    """A member rejects the first record, and accepts the others."""
    a = explicit(cluster)
    for record in poll(a):
        a.acknowledge(record, *([REJECT] if record.offset == 0 else []))
    a.commit_sync()
    cluster.run(seconds=1)
    return a


def letters(cluster, topic=DEAD):
    """Offset, deliveries and reason of each."""
    found = []
    for record in cluster.records(topic):
        told = {name: value.decode() for name, value in record.headers}
        found.append(
            tuple(
                told[f"__dlq.errors.{name}"]
                for name in ("offset", "delivery.count", "message")
            )
        )
    return found


def test_kip_1191_a_rejected_record_has_a_dead_letter(cluster):
    rejects(cluster)
    assert letters(cluster) == [("0", "1", "Offset rejected by client.")]


def test_kip_1191_a_record_whose_last_lock_ends_has_a_dead_letter(cluster):
    names(cluster, DEAD, **{"share.delivery.count.limit": 2})
    for _ in range(2):
        a = explicit(cluster)
        assert len(poll(a)) == 3
        cluster.freeze(a)
    cluster.run(seconds=LOCK_MS / 1000 + 1)
    why = "Offset delivery count exceeded the threshold."
    assert letters(cluster) == [(str(offset), "2", why) for offset in range(3)]
    assert poll(explicit(cluster), timeout_ms=1000) == []


def test_kip_1191_a_missing_topic_is_created_if_it_may_be(cluster):
    names(cluster, "dlq.new")
    cluster.alter_configs(
        1, {"errors.deadletterqueue.auto.create.topics.enable": "true"}
    )
    rejects(cluster)
    cluster.run(seconds=3)
    assert len(letters(cluster, "dlq.new")) == 1


@pytest.mark.parametrize("topic", ["dlq.none", "orders"])
def test_kip_1191_without_a_letter_the_record_is_archived_all_the_same(
    cluster, topic, capsys
):
    names(cluster, topic)
    a = rejects(cluster)
    cluster.run(seconds=LOCK_MS / 1000 + 1)
    assert poll(a, timeout_ms=1000) == []
    assert letters(cluster) == []


def test_kip_1191_share_version_1_has_no_dead_letters(cluster):
    update = {
        "feature": "share.version",
        "max_version_level": 1,
        "upgrade_type": 2,
    }
    answer = cluster.admin.ask("UpdateFeatures", {"feature_updates": [update]})
    assert answer.error_code == Error.NONE
    rejects(cluster)
    assert letters(cluster) == []
