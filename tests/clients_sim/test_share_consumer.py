"""Members of a share group (KIP-932), in a simulated cluster: the names of Java's
KafkaShareConsumer, and what it does.
"""

import pytest

from minikafka.clients import heartbeating as states
from minikafka.clients.errors import IllegalStateError
from minikafka.clients.share_deliveries import runs
from minikafka.wire.errors import Error, KafkaError
from tests.clients_sim.share_groups import (
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


def way(cluster, consumer):
    return [
        event.detail["state"]
        for event in events(cluster, "MemberStateChanged")
        if event.node == consumer.name
    ]


def said(cluster):
    """What members told brokers, and what these answered."""
    return [
        (event.detail["batches"], event.detail["error"])
        for event in events(cluster, "ShareRecordsSaid")
    ]


# -- records and what is said of them


def test_kip_932_a_poll_accepts_what_the_poll_before_brought(cluster):
    a = member(cluster)
    assert offsets(poll(a)) == [(offset, 1) for offset in range(6)]
    assert poll(a, timeout_ms=1000) == []
    assert said(cluster) == [([[0, 5, "accept"]], "NONE")]


def test_kip_932_each_record_goes_to_one_member(cluster):
    a, b = member(cluster, max_poll_records=3), member(cluster)
    first, second = poll(a), poll(b)
    assert offsets(first) == [(0, 1), (1, 1), (2, 1)]
    assert offsets(second) == [(3, 1), (4, 1), (5, 1)]


def test_kip_932_the_program_says_of_each_record_what_became_of_it(cluster):
    a = explicit(cluster)
    for record, type in zip(poll(a), ["accept", "release", "reject"] * 2, strict=True):
        a.acknowledge(record, type)
    assert a.commit_sync() == {("orders", 0): None}
    assert offsets(poll(a)) == [(1, 2), (4, 2)], "what was released, and nothing else"


def test_kip_932_what_is_said_of_records_rides_along_with_the_next_fetch(cluster):
    a = explicit(cluster)
    for record in poll(a):
        a.acknowledge(record)
    send(cluster, 1)
    poll(a)
    sent = [event.detail["api"] for event in events(cluster, "RequestSent")]
    assert "ShareFetch" in sent
    assert "ShareAcknowledge" not in sent
    assert said(cluster) == [([[0, 5, "accept"]], "NONE")]


def test_kip_932_with_records_unsaid_an_explicit_member_polls_in_vain(cluster):
    a = explicit(cluster)
    first, *_ = poll(a)
    a.acknowledge(first)
    with pytest.raises(IllegalStateError, match="nothing yet of 5 record"):
        a.poll()


def test_kip_932_only_an_explicit_member_acknowledges(cluster):
    a = member(cluster)
    [first, *_] = poll(a)
    with pytest.raises(IllegalStateError, match="acknowledges implicitly"):
        a.acknowledge(first)


def test_kip_932_only_what_the_last_poll_brought_is_acknowledged(cluster):
    a = explicit(cluster)
    records = poll(a)
    for record in records:
        a.acknowledge(record)
    a.commit_sync()
    with pytest.raises(IllegalStateError, match="does not have the record at offset 0"):
        a.acknowledge(records[0], "reject")


def test_kip_932_a_lock_ends_and_what_is_said_then_does_not_count(cluster, capsys):
    a, b = explicit(cluster), explicit(cluster)
    late = poll(a)
    assert poll(b, timeout_ms=1000) == []
    cluster.run_ms(LOCK_MS)
    assert offsets(poll(b)) == [(offset, 2) for offset in range(6)]
    for record in late:
        a.acknowledge(record)
    [error] = a.commit_sync().values()
    assert error.error is Error.INVALID_RECORD_STATE
    assert "was refused (INVALID_RECORD_STATE)" in capsys.readouterr().out


def test_kip_1222_who_renews_a_lock_gets_the_record_again_and_nobody_else(cluster):
    a, b = explicit(cluster), explicit(cluster)
    records = poll(a)
    for _ in range(3):
        cluster.run_ms(LOCK_MS - 1000)
        for record in records:
            a.acknowledge(record, "renew")
        again = poll(a)
        assert offsets(again) == offsets(records), "no delivery more"
        records = again
        assert poll(b, timeout_ms=0) == []
    for record in records:
        a.acknowledge(record)
    assert a.commit_sync() == {("orders", 0): None}


@pytest.mark.parametrize(
    ("mode", "most"), [("record_limit", 2), ("batch_optimized", 6)]
)
def test_kip_1206_a_limit_in_records_is_strict_where_the_member_says_so(mode, most):
    cluster = sharing()
    producer = cluster.producer()
    for number in range(6):
        producer.send("orders", value=str(number))
    producer.flush()
    a = member(cluster, max_poll_records=2, share_acquire_mode=mode)
    assert offsets(poll(a)) == [(0, 1), (1, 1)]
    [event] = events(cluster, "ShareRecordsAcquired")
    assert event.detail["batches"] == [[0, most - 1, 1]]


def test_a_record_that_cannot_be_deserialized_is_released(cluster):
    def of_text(value):
        return int(value) if value != b"0" else {}[value]

    a = member(cluster, value_deserializer=of_text)
    with pytest.raises(KeyError):
        poll(a)
    assert poll(a)[0].value == 1
    a.commit_sync()
    assert [[0, 0, "release"]] in [batches for batches, _ in said(cluster)]


def test_offsets_without_a_record_are_told_as_gaps():
    cluster = sharing()
    producer = cluster.producer(transactional_id="t")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("orders", value="one")
    producer.commit_transaction()
    a = member(cluster)
    assert offsets(poll(a)) == [(0, 1)]
    a.commit_sync()
    [moved] = events(cluster, "ShareStartOffsetMoved")
    assert moved.detail["offset"] == 2, "over the marker, too"


def test_what_is_said_of_neighbours_is_said_once():
    assert runs({3: "accept", 1: "accept", 2: "release", 4: "accept"}) == [
        (1, 1, "accept"),
        (2, 2, "release"),
        (3, 4, "accept"),
    ]


# -- leaving, and what goes wrong


def test_kip_932_a_member_that_closes_accepts_nothing_and_gives_back_all(cluster):
    a, b = member(cluster), member(cluster)
    poll(a)
    a.close()
    assert offsets(poll(b)) == [(offset, 2) for offset in range(6)]
    assert way(cluster, a) == ["joining", "stable", "leaving", "unjoined"]


def test_kip_932_a_member_that_closes_tells_what_its_program_has_said(cluster):
    a = explicit(cluster)
    for record in poll(a)[:4]:
        a.acknowledge(record)
    a.close()
    assert offsets(poll(member(cluster))) == [(4, 2), (5, 2)]


def test_kip_932_what_a_crashed_member_had_comes_back_at_once(cluster):
    a, b = member(cluster), member(cluster)
    poll(a)
    cluster.crash(a)
    assert offsets(poll(b, timeout_ms=1500)) == [(offset, 2) for offset in range(6)]


def test_kip_932_what_a_frozen_member_had_comes_back_when_its_locks_end(cluster):
    a, b = member(cluster), member(cluster)
    poll(a)
    poll(b, timeout_ms=0)
    cluster.freeze(a)
    before_ms = cluster.now_ms
    assert offsets(poll(b)) == [(offset, 2) for offset in range(6)]
    assert cluster.now_ms - before_ms > LOCK_MS - 1000


def test_kip_932_a_member_whose_session_ended_joins_again(cluster):
    a = member(cluster)
    poll(a)
    cluster.freeze(a, seconds=60)
    cluster.run(seconds=61)
    send(cluster, 1)
    assert (6, 1) in offsets(poll(a) + poll(a, timeout_ms=5000))
    assert way(cluster, a) == ["joining", "stable", "fenced", "joining", "stable"]


def test_kip_932_a_member_that_does_not_poll_is_out_until_it_polls(cluster):
    a = member(cluster, max_poll_interval_ms=8000)
    poll(a)
    cluster.run(seconds=9)
    assert a.core.membership.state == states.STALE
    assert len(events(cluster, "PollOverdue")) == 1
    poll(a)
    assert a.core.membership.state == states.STABLE


def test_kip_932_a_session_that_was_cut_begins_anew(cluster, capsys):
    a = explicit(cluster)
    records = poll(a)
    cluster.reset(a, 1)
    for record in records:
        a.acknowledge(record)
    assert offsets(poll(a)) == [(offset, 2) for offset in range(6)]
    assert "was refused" in capsys.readouterr().out


def test_kip_932_members_find_the_leader_that_comes_next():
    cluster = sharing(brokers=3, records=6)
    a = member(cluster)
    assert len(poll(a)) == 6
    assert a.commit_sync() == {("orders", 0): None}
    cluster.crash(cluster.leader("orders", 0))
    cluster.run(seconds=15)
    send(cluster, 2)
    assert offsets(poll(a, timeout_ms=30_000)) == [(6, 1), (7, 1)]


def test_a_topic_that_is_made_anew_is_read_anew(cluster):
    a = member(cluster)
    assert len(poll(a)) == 6
    a.commit_sync()
    cluster.delete_topic("orders")
    cluster.create_topic("orders")
    send(cluster, 1)
    assert offsets(poll(a, timeout_ms=20_000)) == [(0, 1)]


def test_a_member_that_may_not_be_one_is_out_for_good():
    cluster = sharing(configs={"group.share.max.size": 1})
    a, b = member(cluster), member(cluster)
    poll(a, timeout_ms=3000)
    with pytest.raises(KafkaError, match="GROUP_MAX_SIZE_REACHED"):
        poll(b, timeout_ms=3000)
    assert b.core.membership.state == states.FATAL
    b.close()
