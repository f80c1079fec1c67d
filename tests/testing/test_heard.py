"""What a test that fails tells of the requests that its brokers heard, and of what came
of them.
"""

import confluent_kafka
import pytest

from minikafka.testing import Answer, Lose
from minikafka.testing.telling import MOST_LINES

AFTER_TIME = 11
PATIENCE_S = 60


def settings(kafka, **more):
    common = {"bootstrap.servers": kafka.bootstrap_servers, "client.id": "till"}
    return {**common, "log_level": 0, **more}


def producing(kafka, **more):
    return confluent_kafka.Producer(settings(kafka, **more))


def send(kafka, topic, value=b"paid", **more):
    producer = producing(kafka, **more)
    producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0


def consuming(kafka, topic, client):
    """A consumer that has read the one record there is."""
    consumer = confluent_kafka.Consumer(
        settings(kafka)
        | {"client.id": client, "group.id": "billing", "auto.offset.reset": "earliest"}
        | {"enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    assert consumer.poll(PATIENCE_S).value() == b"paid"
    return consumer


def told(kafka):
    """The lines, without their times."""
    return [line[AFTER_TIME:].strip() for line in str(kafka.heard).splitlines()]


def test_requests_are_told_with_their_errors_and_faults(kafka):
    topic = kafka.topic()
    refuse = Answer("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic)
    lose = Lose("Produce", topic=topic)
    with kafka.fault(refuse), kafka.fault(lose):
        send(kafka, topic)
    assert told(kafka) == [
        f"topic {topic} created with 1 partition(s)",
        f"till: Produce {topic}-0: NOT_LEADER_OR_FOLLOWER, met {refuse}",
        f"till: Produce {topic}-0: no answer, met {lose}",
        f"till: Produce {topic}-0",
        f"offset 0 appended to {topic}-0: paid",
    ]


def test_what_a_test_looks_at_is_left_out(kafka):
    topic = kafka.topic()
    send(kafka, topic)
    kafka.heard.begin()
    assert len(kafka.records(topic)) == 1
    kafka.group("billing").describe()
    assert told(kafka) == []


def test_a_request_that_is_too_large_to_be_kept_is_told_by_its_name(kafka):
    topic = kafka.topic()
    kafka.heard.begin()
    send(kafka, topic, b"x" * 100_000)
    assert told(kafka) == [
        "till: Produce of more than 8 kB",
        f"offset 0 appended to {topic}-0: {'x' * 40}",
    ]


def test_what_was_before_is_forgotten(kafka):
    topic = kafka.topic()
    send(kafka, topic)
    kafka.heard.begin()
    assert told(kafka) == []


def test_no_events_are_built_if_nobody_listens(kafka, monkeypatch):
    topic = kafka.topic()
    kafka.heard.end()
    monkeypatch.setattr("minikafka.trace.Event", None)
    send(kafka, topic)
    assert kafka.records(topic).values == [b"paid"]


def test_a_record_is_there_twice_because_its_answer_was_lost(kafka):
    topic = kafka.topic()
    kafka.heard.begin()
    with kafka.fault(Lose("Produce", topic=topic, answer=True)) as lose:
        send(kafka, topic)
    assert told(kafka) == [
        f"till: Produce {topic}-0: no answer, met {lose.fault}",
        f"offset 0 appended to {topic}-0: paid",
        f"till: Produce {topic}-0",
        f"offset 1 appended to {topic}-0: paid",
    ]


def test_kip_98_a_batch_that_is_there_already_is_told_as_such(kafka):
    topic = kafka.topic()
    with kafka.fault(Lose("Produce", topic=topic, answer=True)):
        send(kafka, topic, **{"enable.idempotence": True})
    assert told(kafka)[-2:] == [
        f"till: Produce {topic}-0",
        f"batch for {topic}-0 is there already, from offset 0",
    ]


def test_a_rebalance_loses_a_commit(kafka):
    topic = kafka.topic()
    send(kafka, topic)
    kafka.heard.begin()
    slow = consuming(kafka, topic, "slow")
    kafka.clock.advance(seconds=50)
    heir = consuming(kafka, topic, "heir")
    with pytest.raises(confluent_kafka.KafkaException, match="UNKNOWN_MEMBER_ID"):
        slow.commit(asynchronous=False)
    lines = told(kafka)
    heir.close()
    slow.close()
    story = [
        "group billing: slow is a member now",
        f"slow: OffsetFetch {topic}-0 without an offset",
        f"{topic}-0 read from offset 0 up to 1",
        "the brokers' time is moved on by 50 s",
        "broker 1: group billing: slow is out: no heartbeat for 45.00 s",
        "group billing: heir is a member now",
        f"heir: OffsetFetch {topic}-0 without an offset",
        f"{topic}-0 read from offset 0 up to 1",
        "UNKNOWN_MEMBER_ID",
    ]
    rest = iter(lines)
    for words in story:
        assert any(words in line for line in rest), (words, lines)


def test_a_producer_is_fenced(kafka):
    topic = kafka.topic()
    producer = producing(kafka, **{"transactional.id": "copier-1"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"one")
    producer.flush(PATIENCE_S)
    kafka.heard.begin()
    kafka.fence("copier-1")
    producer.produce(topic, b"two")
    with pytest.raises(confluent_kafka.KafkaException, match="_FENCED"):
        producer.commit_transaction(PATIENCE_S)
    came = "a producer with its transactional id came"
    assert told(kafka) == [
        "the test: InitProducerId copier-1",
        f"transaction copier-1: Ongoing -> PrepareAbort ({came})",
        f"broker 1: {topic}-0: the transaction of producer 0 is aborted at offset 1",
        "the test: InitProducerId copier-1",
        f"transaction copier-1: CompleteAbort -> Empty ({came})",
        f"till: Produce copier-1 {topic}-0: INVALID_PRODUCER_EPOCH",
        f"batch for {topic}-0 refused with INVALID_PRODUCER_EPOCH: Producer attempted to"
        " produce with an old epoch.",
    ]


def test_a_broker_is_killed_and_another_one_leads(three):
    topic = three.topic()
    send(three, topic, b"one")
    leader = three.leader(topic)
    three.heard.begin()
    three.broker(leader).kill()
    send(three, topic, b"two")
    crashed, *fenced, leads, _, appended = told(three)
    assert crashed == f"broker {leader}: crashed"
    assert f"broker {leader} is fenced" in "".join(fenced)
    assert leads == f"broker {three.leader(topic)}: leads {topic}-0 in epoch 1"
    assert appended == f"offset 1 appended to {topic}-0: two"


def test_what_only_goes_on_is_told_once(kafka):
    topic = kafka.topic()
    producer = producing(kafka)
    kafka.heard.begin()
    for number in range(50):
        producer.produce(topic, str(number))
        producer.flush(PATIENCE_S)
    often, appended = told(kafka)
    assert often.startswith(f"till: Produce {topic}-0, 50 times until ")
    assert appended == f"offsets 0 to 49 appended to {topic}-0: 0, 1, 2, …"


def test_a_request_that_is_refused_again_and_again_is_told_once(kafka):
    topic = kafka.topic()
    kafka.heard.begin()
    refuse = Answer("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=3)
    with kafka.fault(refuse):
        send(kafka, topic)
    refused, *_ = told(kafka)
    words = f"till: Produce {topic}-0: NOT_LEADER_OR_FOLLOWER, met {refuse}, 3 times"
    assert refused.startswith(words)


def test_trouble_is_told_however_long_ago_it_was(kafka):
    topics = [kafka.topic() for _ in range(MOST_LINES)]
    refuse = Answer("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topics[0])
    with kafka.fault(refuse):
        for topic in topics:
            send(kafka, topic)
    lines = told(kafka)
    assert len(lines) <= MOST_LINES + 2
    assert any(str(refuse) in line for line in lines)
    assert lines[-1] == f"offset 0 appended to {topics[-1]}-0: paid"
    assert any("more, left out" in line for line in lines)
