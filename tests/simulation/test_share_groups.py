"""Share groups in a notebook's cluster: what a learner types, and the lines that help."""

import pytest

from minikafka import Cluster
from minikafka.clients.errors import IllegalStateError
from minikafka.wire.errors import KafkaError
from tests.clients_sim.share_groups import (
    GROUP,
    LOCK_MS,
    events,
    explicit,
    member,
    offsets,
    poll,
    send,
    sharing,
)


@pytest.fixture
def cluster():
    return sharing(records=6)


def hint(capsys):
    return capsys.readouterr().out.strip()


def test_a_group_shows_its_members_and_what_they_fetch_from(cluster):
    a = member(cluster)
    poll(a)
    group = cluster.group(GROUP)
    assert (group.type, group.state) == ("share", "Stable")
    [one] = group.members
    assert (one.client, one.partitions) == (a.name, [("orders", 0)])
    assert GROUP in repr(cluster)


def test_more_members_than_partitions_all_have_work(cluster):
    workers = [member(cluster, max_poll_records=2) for _ in range(3)]
    for worker in workers:
        poll(worker, timeout_ms=1)
    cluster.run(seconds=3)
    given = [offsets(poll(worker)) for worker in workers]
    assert sorted(given) == [[(0, 1), (1, 1)], [(2, 1), (3, 1)], [(4, 1), (5, 1)]]


def test_a_slow_record_holds_up_nobody_else(cluster):
    written = cluster.table("done")

    def works(worker, name):
        while True:
            for records in worker.poll(timeout_ms=1000).values():
                for record in records:
                    cluster.sleep(4 if record.value == b"0" else 0.1)
                    written.add(record.value.decode(), name)

    for name in ("a", "b"):
        cluster.start(works, member(cluster, max_poll_records=1), name)
    cluster.run(seconds=5)
    assert sorted(row.key for row in written) == ["1", "2", "3", "4", "5"]
    cluster.run(seconds=5)
    assert sorted(row.key for row in written) == ["0", "1", "2", "3", "4", "5"]


def test_a_group_begins_where_its_config_says_and_a_poll_that_got_nothing_says_so(
    capsys,
):
    cluster = Cluster(seed=7)
    cluster.create_topic("orders")
    send(cluster, 3)
    a = cluster.share_consumer("orders", group_id="others")
    assert a.poll(timeout_ms=100) == {}
    assert "is joining share group others" in hint(capsys)
    assert a.poll(timeout_ms=10_000) == {}
    assert 'share.auto.offset.reset is "latest"' in hint(capsys)
    cluster.alter_group_configs("more", {"share.auto.offset.reset": "earliest"})
    b = cluster.share_consumer("orders", group_id="more")
    assert len(poll(b)) == 3


def test_a_config_of_a_group_that_is_none_is_refused(cluster):
    with pytest.raises(KafkaError, match="INVALID_CONFIG"):
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "middle"})


def test_a_poll_says_what_is_missing(cluster, capsys):
    a = member(cluster, "payments")
    a.poll()
    assert hint(capsys) == "there is no topic payments"
    cluster.crash(1)
    a.poll()
    assert hint(capsys) == "broker 1 is not up: cluster.restart(1)"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: a.acknowledge("no record"), TypeError, "record='no record': give"),
        (lambda a: a.poll(timeout_ms="1 s"), TypeError, "timeout_ms='1 s': give"),
        (lambda a: a.poll(max_records=0), ValueError, "max_records=0: give"),
        (lambda a: a.subscribe([1]), ValueError, r"topics=\[1\]: give"),
        (lambda a: a.commit_sync(-1), ValueError, "timeout_ms=-1: give"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(cluster, call, error, words):
    with pytest.raises(error, match=f"^{words}"):
        call(member(cluster))


def test_what_may_be_said_of_a_record_is_said(cluster):
    a = explicit(cluster)
    [first, *_] = poll(a)
    with pytest.raises(ValueError, match=r"^type='done': give"):
        a.acknowledge(first, "done")


def test_a_member_without_topics_polls_in_vain(cluster):
    a = cluster.share_consumer(group_id=GROUP)
    with pytest.raises(IllegalStateError, match="reads nothing yet"):
        a.poll()
    a.subscribe("orders")
    assert a.subscription() == {"orders"}
    assert len(poll(a)) == 6
    a.unsubscribe()
    with pytest.raises(IllegalStateError, match="reads nothing yet"):
        a.poll()
    assert offsets(poll(member(cluster)))[0] == (0, 2), "what it had came back"


def test_a_restarted_member_is_another_one(cluster):
    a = explicit(cluster)
    [first, *_] = poll(a)
    was = a.core.membership.member_id
    cluster.crash(a)
    cluster.restart(a)
    assert a.core.membership.member_id != was
    with pytest.raises(IllegalStateError, match="does not have the record"):
        a.acknowledge(first)
    assert offsets(poll(a)) == [(offset, 2) for offset in range(6)]


def test_the_same_calls_give_the_same_trace(cluster):
    a, b = explicit(cluster), member(cluster)
    for record in poll(a):
        a.acknowledge(record, "release")
    a.commit_sync()
    poll(b)
    b.close()
    assert cluster.replay().trace == cluster.trace


def test_the_trace_tells_how_long_a_lock_lasts_and_what_was_said_of_each_record(
    cluster,
):
    a, b = explicit(cluster), explicit(cluster)
    poll(b, most=1, timeout_ms=1)
    for record, said in zip(poll(a), ("accept", "release", "reject"), strict=False):
        a.acknowledge(record, said)
    a.commit_sync()
    a.close()
    acquired = events(cluster, "ShareRecordsAcquired")[0].detail
    assert (acquired["lock_ms"], acquired["most_deliveries"]) == (LOCK_MS, 5)
    told = [event.detail for event in events(cluster, "ShareRecordsAcknowledged")]
    said = [
        (offset, words)
        for detail in told
        for (first, last, _, _), words in zip(
            detail["batches"], detail["said"], strict=True
        )
        for offset in range(first, last + 1)
    ]
    assert said[:3] == [(0, "accept"), (1, "release"), (2, "reject")]
    assert said[3:] == [(offset, None) for offset in (3, 4, 5)], "a's session is over"


def test_the_trace_tells_which_locks_are_new_ones(cluster):
    a = explicit(cluster)
    first, second, *_ = poll(a)
    a.acknowledge(first, "renew")
    a.acknowledge(second, "accept")
    a.commit_sync()
    [renewed] = events(cluster, "ShareLocksRenewed")
    assert renewed.detail["batches"] == [[0, 0]]
    assert renewed.detail["lock_ms"] == LOCK_MS
    [told] = events(cluster, "ShareRecordsAcknowledged")
    assert told.detail["said"] == ["accept"]
